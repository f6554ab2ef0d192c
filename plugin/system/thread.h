/*
 * thread.h - threads that have a name and get no signals.
 */
#ifndef HW_THREAD_H
#define HW_THREAD_H

#include <pthread.h>
#include <stddef.h>

struct error;

struct thread_start {
    const char *name; /* at most 15 bytes: what top shows */
    size_t stack_bytes;
    void *(*body)(void *arg);
    void *arg;
};

/* To be joined.  -1 with *err. */
int thread_start(pthread_t *thread, const struct thread_start *start,
                 struct error *err);

/* Cores that this process may use; at least 1. */
unsigned thread_cores(void);

#endif
