/*
 * jemalloc.h - the database's jemalloc, once it is found: its profiler.
 *
 * Used by the agent's thread alone, but for jemalloc_find.  Return values are
 * 0 or what mallctl returned (an errno).
 */
#ifndef HW_JEMALLOC_H
#define HW_JEMALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent_protocol.h"
#include "jemalloc_find.h"
#include "jemalloc_late.h"

enum { JEMALLOC_PREFIX_MAX = AGENT_NAME_MAX / 2 };

/* By a program that knows which one it has. */
struct jemalloc_given {
    mallctl_fn *mallctl; /* NULL: none was */
    char prefix[JEMALLOC_PREFIX_MAX];
};

struct jemalloc {
    struct allocators all;
    struct late late;
    mallctl_fn *mallctl; /* of the chosen one; NULL: none can be used */
    bool config_prof, opt_prof;
    int64_t active_since_ms; /* wall clock; 0 while inactive */
    int64_t until_ms;        /* monotonic: switch it off then; 0: do not */
    bool ours;               /* we switched it on, and it is on */
    uint32_t changes, resets;
    uint64_t unsampled_then; /* threads of before are not sampled; 0: all are */
    int64_t note_ms;         /* monotonic: they were counted, into: */
    char note[AGENT_TEXT_MAX];
    struct mallctl_epoch epoch; /* statistics are as of then, and so are: */
    uint64_t rss, rss_file;     /* bytes, the kernel's; 0: not known */
};

/* Takes the one that the program has given, or looks at all that is loaded.
 * Before main on the main thread: a fork's child takes over what was found, for
 * dlsym may hang there on a loader lock that no thread will release. */
void jemalloc_find(struct jemalloc *jemalloc,
                   const struct jemalloc_given *given, const char *known,
                   const char *wanted);

/* In a program that runs: looks at what was loaded since, or, with a zeroed
 * struct, at all that is loaded. */
void jemalloc_find_late(struct jemalloc *jemalloc, const char *known,
                        const char *wanted);

/* Takes the calling thread out of the profiles. */
void jemalloc_hide_thread(struct jemalloc *jemalloc);

/* AGENT_OK when profiles can be had, or why not. */
enum agent_status jemalloc_status(const struct jemalloc *jemalloc);
/* In words, what the status alone does not tell; may be empty. */
const char *jemalloc_note(struct jemalloc *jemalloc);

void jemalloc_hello(struct jemalloc *jemalloc, struct agent_hello *hello);
int jemalloc_get_active(struct jemalloc *jemalloc, bool *active);
/* seconds: off again by jemalloc_expire after so many, or later if it is on
 * for longer; 0: never. */
int jemalloc_set_active(struct jemalloc *jemalloc, bool active,
                        uint32_t seconds);
/* Switches off what is due.  Milliseconds until there is something to do, or
 * -1. */
int jemalloc_expire(struct jemalloc *jemalloc);
/* Switches off what we switched on. */
void jemalloc_leave(struct jemalloc *jemalloc);
/* Forgets all samples. */
int jemalloc_reset(struct jemalloc *jemalloc, uint32_t lg_sample);

/* path must lead to a memfd: a dump holds locks that fork() needs. */
int jemalloc_dump(struct jemalloc *jemalloc, const char *path);

#endif
