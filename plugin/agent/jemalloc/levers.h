/*
 * levers.h - changes of jemalloc that are put back after a time.
 *
 * A lever has a deadline, and the values that were there before it.  One that
 * is pulled again gets another deadline and another value; the values that are
 * put back stay those from before the first.  Values that the program has
 * changed itself since are left alone.
 *
 * All of this is kept in the process, because heapwired may be gone by then.
 * Used by the agent's thread alone, but for levers_forked.  libc only, no heap.
 */
#ifndef HW_LEVERS_H
#define HW_LEVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent_protocol.h"
#include "jemalloc.h"

/* The levers that last, as enum node_lever in the controller; as requests they
 * are AGENT_DECAY and AGENT_BACKGROUND of enum agent_lever. */
enum lever_lasting { LEVER_DECAY, LEVER_BACKGROUND, LEVERS_LASTING };

/* How the levers reach the jemalloc; tests pass a fake. */
struct lever_host {
    mallctl_fn *mallctl;
    /* Switches its background threads: 0, or an errno (lever_host.c). */
    int (*background)(const struct lever_host *host, bool on);
    void (*watch)(mallctl_fn *mallctl); /* for its children: fork_watch */
    unsigned calls; /* enum confined_call: that a thread of ours may make */
    bool own_table;
};

struct lever_state {
    bool in_force;
    char by[AGENT_BY_MAX]; /* who pulled it last */
    int64_t since_ms;      /* wall clock: first pulled */
    int64_t until_ms;      /* likewise */
    int64_t set[2];        /* dirty and muzzy ms; or whether on */
    int64_t was[2];        /* of new arenas; or whether on */
    int64_t ended_ms;      /* wall clock: when the last one ended; 0: never */
    bool by_itself;        /* its time was over; else it was undone */
    bool end_reported;     /* its end was reported */
    int error;             /* errno: why it cannot be undone; tried again */
};

/* 0, or what mallctl returned: ENOENT, this jemalloc has no such lever. */
int levers_purge(const struct lever_host *host);
int levers_decay(const struct lever_host *host, int64_t dirty_ms,
                 int64_t muzzy_ms, uint32_t seconds, const char *by);
int levers_background(const struct lever_host *host, bool on, uint32_t seconds,
                      const char *by);
/* Undoes all that are in force. */
int levers_undo(const struct lever_host *host);
/* Undoes those whose time is over.  Milliseconds until the next call is due, or
 * -1. */
int levers_expire(const struct lever_host *host);
struct lever_state levers_state(enum lever_lasting lever);
void levers_mark_reported(void); /* heapwired was told all that ended so far */
bool levers_any(void);           /* whether one is in force */

/* In a fork's child, once jemalloc's locks are usable: puts back what the
 * parent's agent would have put back.  jemalloc itself switches its background
 * threads off there. */
void levers_forked(void);

#endif
