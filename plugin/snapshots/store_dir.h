/*
 * store_dir.h - the directory that holds the snapshots' files.
 *
 *     NAME.snapshot   a whole snapshot
 *     NAME.pinned     likewise, never evicted
 *     NAME.tmp        one that is being written
 *
 * A file appears under its name whole and synced, or not at all.  Nothing is
 * followed out of the directory, nothing overwritten, and nothing removed that
 * we did not write.  Not thread-safe.
 */
#ifndef HW_STORE_DIR_H
#define HW_STORE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "snapshot.h"

struct buffer;
struct error;

struct store_dir {
    int fd; /* -1: none */
    char *path;
};

/* What a scan finds: a readable file, or why it is not one. */
struct store_file {
    char name[SNAPSHOT_NAME_MAX + 1];
    bool pinned;
    int64_t written_ms;
    uint64_t size;
    const void *head; /* the first SNAPSHOT_FILE_HEAD_MAX bytes, or fewer */
    size_t head_size;
};

/* Makes it (0700) or checks that it is ours alone. */
int store_dir_open(struct store_dir *dir, const char *path, struct error *err);
void store_dir_close(struct store_dir *dir);

/* Calls found for each file of a snapshot and odd for each other file (file:
 * its name there), and removes what a killed heapwired was writing. */
struct store_dir_scan {
    void (*found)(void *arg, const struct store_file *file);
    void (*odd)(void *arg, const char *file, const char *why);
    void *arg;
};
int store_dir_scan(struct store_dir *dir, const struct store_dir_scan *scan,
                   struct error *err);

/* *full: there is no space left. */
int store_dir_write(struct store_dir *dir, const char *name,
                    const struct buffer *bytes, int64_t *written_ms, bool *full,
                    struct error *err);
int store_dir_read(struct store_dir *dir, const char *name, bool pinned,
                   struct buffer *out, struct error *err);
int store_dir_remove(struct store_dir *dir, const char *name, bool pinned,
                     struct error *err);
int store_dir_pin(struct store_dir *dir, const char *name, bool pinned,
                  struct error *err);
/* Bytes that could be written there; UINT64_MAX: unknown. */
uint64_t store_dir_room(const struct store_dir *dir);

/* Gives them to another user; only that user may read them then. */
int store_dir_give(struct store_dir *dir, uid_t uid, gid_t gid,
                   struct error *err);
int store_dir_give_file(struct store_dir *dir, const char *name, bool pinned,
                        uid_t uid, gid_t gid, struct error *err);

#endif
