/*
 * supervise.h - run the database and heapwired until the database ends.
 *
 * Single-threaded: signals are blocked and waited for, nothing runs in a
 * handler.
 */
#ifndef HW_SUPERVISE_H
#define HW_SUPERVISE_H

struct plan {
    /* The database. */
    const char *program; /* what is executed */
    char *const *argv, *const *envp;
    const char *exe; /* its executable's real path; NULL: not known */
    /* heapwired; NULL: none. */
    const char *heapwired;
    char *const *heapwired_argv, *const *heapwired_envp;
};

/* The exit status: the database's, 128 + n after signal n, or 126 or 127 when
 * it could not be run. */
int supervise(const struct plan *plan);

#endif
