/*
 * needed.h - the shared libraries that a program links, found as the loader
 * finds them: RPATH and RUNPATH with $ORIGIN, LD_LIBRARY_PATH, ld.so.cache, the
 * standard directories.
 */
#ifndef HW_NEEDED_H
#define HW_NEEDED_H

#include <stdbool.h>

struct error;

enum { NEEDED_MAX = 512 }; /* objects that are looked at */

struct needed {
    const char *program;
    const char *preloads;     /* LD_PRELOAD; NULL: none */
    const char *library_path; /* LD_LIBRARY_PATH; NULL: none */
    /* Called once for the program, each preloaded library, and each library
     * that these link, with the file open.  0 goes on; anything else ends the
     * walk and is returned. */
    int (*see)(void *arg, const char *path, int fd, bool preloaded,
               struct error *err);
    void *arg;
};

/* Skips libraries that are not found. */
int needed_walk(const struct needed *needed, struct error *err);

#endif
