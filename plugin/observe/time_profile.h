/*
 * time_profile.h - a profile of a process's time, and its threads' stacks with
 * names: what the parts of this folder make together.
 */
#ifndef HW_TIME_PROFILE_H
#define HW_TIME_PROFILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap_dump.h"
#include "sampler.h"

struct error;
struct profile;
struct symbolizer;
struct thread_list;
struct unwind_tables;

/* Shared by all observations. */
struct observe_names {
    struct symbolizer *symbolizer;
    pthread_mutex_t lock; /* guards symbolizer; held while it works */
};

enum observe_stage { OBSERVE_SAMPLING = 1, OBSERVE_NAMING, OBSERVE_MAKING };

/* One observation. */
struct observing {
    struct unwind_tables *tables; /* used by one observation at a time */
    struct observe_names *names;
    const atomic_bool *cancelled;
    int stop_fd;        /* becomes readable when the work is to stop */
    int32_t pid;        /* the database's, as this process sees it */
    const char *exe;    /* name of the process's program; "" unknown */
    atomic_uint *stage; /* enum observe_stage, for other threads to look at */
    bool memfd;         /* see struct code_map */
    /* Called before the process is looked at, and after.  The first returns
     * true if the process was made dumpable for it; the second undoes that, as
     * what follows may take long. */
    bool (*make_readable)(void *arg);
    void (*restore_closed)(void *arg);
    void *arg;
};

/* kind: PROFILE_CPU or PROFILE_WALL.  NULL with *err. */
struct profile *time_profile_take(const struct observing *observing,
                                  enum profile_kind kind,
                                  const struct sampler_options *options,
                                  struct error *err);

/* kernel: with their calls in the kernel.  A reference; NULL with *err. */
struct thread_list *observe_threads_take(const struct observing *observing,
                                         bool kernel, struct error *err);

#endif
