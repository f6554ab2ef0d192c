/*
 * file_store.h - a directory of files that are kept up to a ceiling.
 *
 * A file appears under its name whole and synced, or not at all.  No symbolic
 * link is followed; only regular files whose names are of the store's kind are
 * read, replaced, removed or given to another owner.  Other processes may use
 * the directory, too.  Not thread-safe, but file_store_read() and
 * file_store_has() may run concurrently with any function except open and
 * close.
 */
#ifndef HW_FILE_STORE_H
#define HW_FILE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct stat;

enum { FILE_STORE_NAME = 256 /* with its NUL */ };

/* The names of its files: a stem and an ending. */
struct file_kind {
    const char *what;           /* "a snapshot's file" */
    const char *const *endings; /* NULL at the end */
    bool (*is_stem)(const char *text, size_t size);
};

struct file_store {
    int fd; /* -1: none */
    char *path;
    const struct file_kind *kind;
    uid_t owner; /* of the directory when it was opened */
};

/* Makes the directory (0700) or checks that it belongs to this user and is
 * closed to others. */
int file_store_open(struct file_store *store, const char *path,
                    const struct file_kind *kind, struct error *err);
void file_store_close(struct file_store *store);
/* Makes the directory again if it was deleted. 1: made; 0: it was there. */
int file_store_renew(struct file_store *store, struct error *err);

struct file_found {
    const char *name;
    size_t stem;        /* bytes of its stem */
    const char *ending; /* the kind's own */
    int fd;             /* for reading, until found() returns */
    uint64_t bytes;
    int64_t made_ms, used_ms; /* wall clock */
};

/* Calls found for each file of the kind and unusable for each other one, and
 * removes what a killed process was writing. */
struct file_scan {
    void (*found)(void *arg, const struct file_found *file);
    /* or NULL */
    void (*unusable)(void *arg, const char *name, const char *why);
    void *arg;
};
int file_store_scan(const struct file_store *store,
                    const struct file_scan *scan, struct error *err);

/* The wall clock of a file's last change. */
int64_t file_made_ms(const struct stat *st);

/* Opens a file for reading and fills st. */
int file_store_read(const struct file_store *store, const char *name,
                    struct stat *st, struct error *err);
/* false: there certainly is none. */
bool file_store_has(const struct file_store *store, const char *name);
/* A missing one counts as removed. */
int file_store_remove(const struct file_store *store, const char *name,
                      struct error *err);
/* Fails if a file has the new name. */
int file_store_rename(const struct file_store *store, const char *from,
                      const char *to, struct error *err);
/* Gives the directory and its owner's files to another user; only that user may
 * read them then. */
int file_store_give(const struct file_store *store, uid_t uid, gid_t gid,
                    struct error *err);
/* Free bytes and size of its file system; false: unknown. */
bool file_store_free_space(const struct file_store *store, uint64_t *left,
                           uint64_t *all);

/* A file that is being written. */
struct file_writer {
    const struct file_store *store;
    int fd;
    char name[FILE_STORE_NAME], tmp[FILE_STORE_NAME];
};

int file_writer_open(struct file_writer *w, const struct file_store *store,
                     const char *name, struct error *err);
/* ER_DISK_FULL: there is no space left; file_writer_commit may say so, too. */
int file_writer_write(struct file_writer *w, const void *data, size_t size,
                      struct error *err);
/* Syncs the file and gives it its name.  An older file of that name is
 * replaced, or without replace an error. */
int file_writer_commit(struct file_writer *w, bool replace, int64_t *made_ms,
                       struct error *err);
/* Removes what was not committed. */
void file_writer_close(struct file_writer *w);

/* ---- which files go: pure ---- */

enum { FILE_STAYS = -1, FILE_GOES = 0 /* goes whatever room there is */ };

struct eviction_candidate {
    int priority;  /* files of a lower priority go first; or FILE_STAYS,
                    * FILE_GOES */
    int64_t since; /* within a priority the smallest goes first */
    uint64_t bytes;
};

/* Sets the priority of the files to remove to FILE_GOES, until at most
 * max_files with max_bytes together are left.  false: FILE_STAYS makes that
 * impossible. */
bool file_store_evict(struct eviction_candidate *candidates, size_t count,
                      size_t max_files, uint64_t max_bytes);

#endif
