/*
 * jemalloc.h - the database's jemalloc, once it is found: its profiler.
 *
 * Used by the agent's thread alone, but for jemalloc_find.  Return values are
 * 0 or what mallctl returned (an errno).
 */
#ifndef HW_JEMALLOC_H
#define HW_JEMALLOC_H

#include <stdbool.h>
#include <stdint.h>

#include "agent_protocol.h"
#include "jemalloc_find.h"

enum { JEMALLOC_PREFIX_MAX = AGENT_NAME_MAX / 2 };

/* The jemalloc that heapwire_use() named. */
struct jemalloc_given {
    mallctl_fn *mallctl; /* NULL: not named */
    char prefix[JEMALLOC_PREFIX_MAX];
};

struct jemalloc {
    struct allocators all;
    struct late late;
    mallctl_fn *mallctl; /* the chosen jemalloc's; NULL: none is usable */
    bool config_prof, opt_prof;
    /* Wall clock: when it first was since there were no samples; switching it
     * off keeps them, and this.  0: it was not. */
    int64_t active_since_ms;
    int64_t until_ms; /* monotonic: when to switch it off; 0: never */
    bool ours;        /* we switched it on, and it is on */
    uint32_t changes, resets;
    uint64_t
        unsampled_then; /* threads born by then are never sampled; 0: none */
    int64_t note_ms;    /* monotonic: time of the count in note */
    char note[AGENT_TEXT_MAX];
    struct mallctl_epoch epoch; /* of the statistics, rss and rss_file */
    uint64_t rss, rss_file;     /* bytes, by the kernel; 0: unknown */
    bool of_dump; /* these were taken for a dump, and not written yet */
};

/* Finds the named jemalloc, or searches all loaded objects.  Call it on the
 * main thread before main: in a forked child dlsym may hang on a loader lock
 * without an owner. */
void jemalloc_find(struct jemalloc *jemalloc,
                   const struct jemalloc_given *given, const char *known,
                   const char *wanted);

/* In a running program: searches newly loaded objects, or, with a zeroed
 * struct, all of them. */
void jemalloc_find_late(struct jemalloc *jemalloc, const char *known,
                        const char *wanted);

/* Excludes the calling thread from profiles. */
void jemalloc_hide_thread(struct jemalloc *jemalloc);

/* AGENT_OK if this jemalloc can profile, or the reason why not. */
enum agent_status jemalloc_status(const struct jemalloc *jemalloc);
/* Details beyond the status, in words; may be empty. */
const char *jemalloc_note(struct jemalloc *jemalloc);

void jemalloc_hello(struct jemalloc *jemalloc, struct agent_hello *hello);
/* The agent starts: profiling that is on already counts as on since then; if it
 * was not from the program's start on, as on since a moment later. */
void jemalloc_found_active(struct jemalloc *jemalloc, int64_t started_ms);
int jemalloc_get_active(struct jemalloc *jemalloc, bool *active);
/* Switches profiling.  After seconds jemalloc_expire ends it, unless an earlier
 * request lasts longer; 0: no end. */
int jemalloc_set_active(struct jemalloc *jemalloc, bool active,
                        uint32_t seconds);
/* Ends profiling when its time is over.  Returns the milliseconds until the
 * next call is due, or -1. */
int jemalloc_expire(struct jemalloc *jemalloc);
/* Ends profiling if the agent switched it on. */
void jemalloc_leave(struct jemalloc *jemalloc);
/* Forgets all samples. */
int jemalloc_reset(struct jemalloc *jemalloc, uint32_t lg_sample);

/* path must lead to a memfd: a dump holds locks that fork() needs.  Refreshes
 * the statistics first: statistics.h gives those next. */
int jemalloc_dump(struct jemalloc *jemalloc, const char *path);

#endif
