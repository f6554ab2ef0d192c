/*
 * remote.h - another process's memory: what is mapped, what is exported.
 *
 * Symbols are read from its memory, not from files: whatever its mount
 * namespace, and whatever was upgraded on disk since it started.
 */
#ifndef HW_REMOTE_H
#define HW_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

enum { REMOTE_MAPS_MAX = 64 << 20, REMOTE_CODE_MAX = 16 << 20 };

struct mapping {
    uint64_t start, end, offset, inode;
    bool executable;
    const char *path; /* "", or the kernel's: "[stack]" */
};

struct remote {
    pid_t pid;
    int memory; /* /proc/<pid>/mem; -1 */
    char *text; /* of /proc/<pid>/maps */
    struct mapping *list;
    size_t count;
};

/* -1 with *err; close is due in any case. */
int remote_open(struct remote *r, pid_t pid, struct error *err);
void remote_close(struct remote *r);
/* Looks at its mappings again. */
int remote_look(struct remote *r, struct error *err);

/* Exactly size bytes, or -1 with errno. */
int remote_read(const struct remote *r, uint64_t at, void *out, size_t size);
int remote_write(const struct remote *r, uint64_t at, const void *data,
                 size_t size);

/* NULL: nothing is mapped there. */
const struct mapping *remote_find(const struct remote *r, uint64_t address);
/* The base name of a mapped file; "" of anything else. */
const char *mapping_name(const struct mapping *m);

/* The first mapping of the first file whose base name begins with prefix; NULL.
 */
const struct mapping *remote_object(const struct remote *r, const char *name);

/* The address of an exported function, of the object that begins with this
 * mapping; 0: there is none.  For a function with several versions, within (0:
 * any) is an address inside the wanted one. */
uint64_t remote_symbol(const struct remote *r, const struct mapping *object,
                       const char *name, uint64_t within);

/* Where the object's code has these bytes; 0: nowhere. */
uint64_t remote_search(const struct remote *r, const struct mapping *object,
                       const void *bytes, size_t size);

#endif
