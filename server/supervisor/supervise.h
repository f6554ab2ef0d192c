/*
 * supervise.h - run the database and heapwired until the database ends, and
 * heapwired for some time more if that was no clean end.
 *
 * Single-threaded: signals are blocked and waited for, nothing runs in a
 * handler.
 */
#ifndef HW_SUPERVISE_H
#define HW_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct notify_relay;
struct start_watch;

struct plan {
    /* The database. */
    const char *program; /* what is executed */
    char *const *argv, *const *envp;
    const char *exe; /* its executable's real path; NULL: not known */
    /* Its start: the options and preloads that may keep it from its main, the
     * time limit for that, and the environment without them. */
    bool prof;
    const char *jemalloc; /* NULL: we preload none */
    uint64_t start_ms;
    struct start_watch *start; /* NULL: not watched */
    char *const *plain_envp;
    char *const *bare_envp; /* the environment without anything of ours */
    struct notify_relay *notify;
    /* heapwired; NULL: none. */
    const char *heapwired;
    char *const *heapwired_argv, *const *heapwired_envp;
    int segment;           /* the recorder's, for heapwired; -1: none */
    const char *state_dir; /* for the record of its end */
    uid_t user;            /* the user that heapwired becomes; -1: unknown */
    uint64_t linger_ms;    /* 0: heapwired ends with the database */
    uint64_t beat_ms;      /* between its signs of life; 0: none are expected */
};

/* The exit status: the database's, 128 + n after signal n, or 126 or 127 when
 * it could not be run. */
int supervise(const struct plan *plan);

#endif
