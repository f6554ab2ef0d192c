/*
 * debug_fetcher.h - fetches debug information from debuginfod servers, for
 * objects that have none on this machine.
 *
 * One at a time, in the background, by a program of its own (symbolizer/fetch):
 * nobody waits for it, and the next profile has the names.  Files are kept in a
 * directory, "<build-id>.debug" each, up to a ceiling of bytes; what no server
 * has, or what was no debug information, is not requested again for
 * DEBUG_MISS_MS.  All functions are callable from any thread.  Its lock is the
 * last in the order of locks.
 */
#ifndef HW_DEBUG_FETCHER_H
#define HW_DEBUG_FETCHER_H

#include <stdint.h>
#include <sys/types.h>

struct debug_fetcher;
struct error;
struct symbolizer_asked;

enum {
    DEBUG_FILES_MAX = 128,
    DEBUG_REQUESTS_MAX = 32, /* pending ones; more are dropped, and come
                              * again */
    DEBUG_MISSES_MAX = 256,
    DEBUG_MISS_MS = 3600 * 1000 /* then a miss is asked for again */
};

struct debug_fetcher_options {
    const char *dir;     /* made with mode 0700 if missing */
    const char *program; /* path of heapwire-debuginfod */
    const char *urls;    /* in the form of DEBUGINFOD_URLS */
    uint64_t bytes;      /* of all files together, and of one */
    uint32_t timeout_s;
    void (*log)(const char *line); /* NULL: no log */
};

/* NULL with *err. */
struct debug_fetcher *
debug_fetcher_start(const struct debug_fetcher_options *options,
                    struct error *err);
/* Gives up what is being fetched.  NULL is fine. */
void debug_fetcher_stop(struct debug_fetcher *fetcher);

/* For struct symbolizer_debug, with the fetcher (or NULL) as arg. */
void debug_fetcher_asked(void *arg, const struct symbolizer_asked *asked);

/* Gives the files to another user, as whom the process continues.  A NULL
 * fetcher is fine. */
int debug_fetcher_give(struct debug_fetcher *fetcher, uid_t uid, gid_t gid,
                       struct error *err);

#endif
