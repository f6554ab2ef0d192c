/*
 * seccomp_filter.h - whether our thread can live under a seccomp filter.
 *
 * The filter is a program, which is read for each call that the thread,
 * libc and jemalloc on it, make.  What depends on arguments counts as its
 * worst.  One thread at a time, with little stack.
 */
#ifndef HW_SECCOMP_FILTER_H
#define HW_SECCOMP_FILTER_H

#include <stdbool.h>

struct sock_fprog;

/* False if a call that is needed is not allowed.  Of *calls (enum
 * confined_call) those that are not allowed are taken away. */
bool seccomp_filter_allows(const struct sock_fprog *filter, unsigned *calls);

#endif
