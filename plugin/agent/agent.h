/*
 * agent.h - the agent's state: how it was started, and what its thread has.
 *
 * start.c starts the one thread, serve.c is that thread, operations.c does what
 * heapwired asks; the rest are their tools.  All state of the thread lies on
 * its stack, so a fork leaves nothing half-written behind.  libc only.
 */
#ifndef HW_AGENT_H
#define HW_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent_protocol.h"
#include "beside.h"
#include "channel.h"
#include "jemalloc.h"
#include "likeness.h"
#include "mapped_files.h"

struct agent_start {
    char settings[AGENT_SETTINGS_MAX]; /* agent_settings.h */
    struct jemalloc_given given;       /* set by the program itself; or empty */
    struct jemalloc jemalloc; /* found before main; if late, by the thread */
    bool late;                /* the program runs already */
    bool silent;              /* write nothing to stderr */
    bool child;        /* after a fork: wait until no other process serves */
    unsigned refused;  /* enum confined_call: by filters that came later */
    bool no_new_privs; /* the host has them; set at any time */
    bool unfit;        /* a filter comes under which it cannot live */
    pid_t elders[2];   /* of a child: it serves once they have ended; 0: none */
};

struct agent {
    const struct agent_start *start;
    struct channel channel;
    struct jemalloc jemalloc;
    bool look_due; /* look for newly loaded objects */
    struct mapped_files files;
    struct agent_hello self;     /* as of the start: chroot hides /proc */
    struct shared_fds_file root; /* the root directory, likewise */
    struct likeness likeness;
    struct beside beside;
    int null; /* /dev/null, in a table of its own; -1: none */
    int wake; /* signalfd: readable when the thread must end; -1: none */
    bool own_table;
    int filters;        /* seccomp filters of this thread (confined.h) */
    int opened_filters; /* those under which the channel was opened */
    unsigned calls;     /* enum confined_call: allowed under these filters */
    int64_t started_ms;
    int64_t guard_ms; /* how long heapwired may be away; 0: for ever */
    int64_t heard_ms; /* monotonic: heapwired's latest request or connection */
    bool away;        /* guard_ms has passed, and profiling is off */
    int64_t unguarded_ms; /* wall clock: switched off for that; or 0 */
};

#endif
