/*
 * jemalloc.h - the jemallocs of the process, which of them is the database's,
 * and what profiles the heap.
 *
 * Used by the agent's thread alone, but for jemalloc_find.  Return values are 0
 * or what mallctl returned (an errno).
 */
#ifndef HW_JEMALLOC_H
#define HW_JEMALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent_protocol.h"

struct given_tables;
struct known;
struct loaded_object;

/* ---- mallctl.c ----
 * A jemalloc's mallctl, called with typed values.  0, or what mallctl returned
 * (an errno).  Callable in a fork's child. */

typedef int mallctl_fn(const char *name, void *old, size_t *old_size, void *new,
                       size_t new_size);

/* Also EINVAL when the value has another size. */
int mallctl_read(mallctl_fn *mallctl, const char *name, void *out, size_t size);
/* False if it cannot be read. */
bool mallctl_read_bool(mallctl_fn *mallctl, const char *name);
int mallctl_write_bool(mallctl_fn *mallctl, const char *name, bool value);

/* The time at which a jemalloc's figures were refreshed; zeroed: they are
 * refreshed at the next call. */
struct mallctl_epoch {
    int64_t at_ms;   /* monotonic */
    uint64_t number; /* the program may refresh them, too */
};

/*
 * Refreshes the figures unless they are younger than a second: a refresh adds
 * up every arena under a lock that the program's own mallctl calls take, too.
 */
int mallctl_refresh(mallctl_fn *mallctl, struct mallctl_epoch *epoch);

/* ---- forks.c ---- */

/* Nothing could read or stop sampling in a child without an agent, so
 * prof.active is switched off in the children that the database forks, and back
 * on in a child with an agent.  Children of vfork() share their parent's memory
 * and stay as they are.
 *
 * Registers the handlers for a jemalloc that can profile.  Call it after the
 * first use of that jemalloc, whose own fork handlers must come before ours. */
void fork_watch(mallctl_fn *mallctl);
/* In a child with an agent: restores the parent's prof.active. */
void fork_keep(void);

/* Call it before a filter that may kill for prctl: a jemalloc that asks each
 * sampled thread for its name (opt.prof_sys_thread_name) does not sample this
 * thread, or any, from then on.  names_go_on: if the filter was refused. */
void names_stop(bool all_threads);
void names_go_on(void);

/* ---- jemalloc_find.c ----
 * Every jemalloc in this process, and which one is the database's.  Finds
 * functions by name, or with heapwire-run's findings in the file, and checks
 * them against the loaded object before any call.  libc only, no heap. */

enum { ALLOCATORS_MAX = 16, ALLOCATORS_SEEN = 512, ALLOCATOR_HOW_MAX = 16 };

struct allocator {
    mallctl_fn *mallctl; /* NULL: cannot be called */
    char mallctl_name[AGENT_NAME_MAX];
    char variable[AGENT_NAME_MAX]; /* read by this build */
    char version[AGENT_NAME_MAX];
    char how[ALLOCATOR_HOW_MAX]; /* how it was found: "exported", "scan", ... */
    char object[AGENT_PATH_MAX];
    char note[AGENT_TEXT_MAX]; /* why it cannot be called */
    bool in_program;           /* in the executable itself */
    bool own; /* in the program, or in a file that heapwire-run named */
    bool preloaded;
    bool exported;                  /* dlsym finds it */
    bool serves_malloc, serves_new; /* of the process */
    bool config_prof, opt_prof;
    bool counted;             /* it counts: the figures below are of epoch */
    uint64_t bytes, resident; /* stats.allocated and stats.resident */
    struct mallctl_epoch epoch;
};

struct allocators {
    struct allocator list[ALLOCATORS_MAX];
    size_t count;
    int chosen;               /* index of the database's; -1: none */
    char why[AGENT_TEXT_MAX]; /* why none was chosen, or what is missing */
};

/* Searches all loaded objects.  known is AGENT_ENV_JEMALLOC's text, wanted
 * AGENT_ENV_ALLOCATOR's, or NULL.  Call it on the main thread before main,
 * while no object can be loaded or unloaded. */
void allocators_find(struct allocators *all, const char *known,
                     const char *wanted);

/* Adds the jemallocs of one object.  handle (or NULL) keeps the object loaded;
 * the first from_run entries of known are heapwire-run's. */
void allocators_probe(struct allocators *all,
                      const struct loaded_object *object, void *handle,
                      const struct known *known, size_t known_count,
                      size_t from_run);
void allocators_choose(struct allocators *all, const char *wanted);

/* Adds the jemalloc that the program has named, without looking up symbols. */
void allocators_give(struct allocators *all, mallctl_fn *mallctl,
                     const char *prefix);

/* Read the bytes in use: the first function as last refreshed; the second
 * refreshes them, at most once a second. */
void allocator_read_bytes(struct allocator *allocator);
void allocator_refresh_bytes(struct allocator *allocator);

/* ---- jemalloc_late.c ---- */

/* Objects that were loaded after the program's start.  Used by the agent's
 * thread alone, which holds no lock meanwhile, and waits for the loader's only
 * where a file brings a jemalloc. */
enum { LATE_SEEN_MAX = 1024 };

struct late {
    unsigned long long adds; /* dlpi_adds at the last scan */
    bool recheck;            /* an object was not ready: look again */
    uint64_t seen[LATE_SEEN_MAX];
    size_t seen_count;
};

/* Marks all objects loaded now as known. */
void late_begin(struct late *late);

/*
 * Adds the jemallocs of new objects (with a zeroed struct: of all) once the
 * loader has finished with them, and keeps these objects loaded.  known and
 * wanted as in allocators_find; an earlier choice stays.  True if it added one.
 */
bool late_scan_objects(struct late *late, struct allocators *all,
                       const char *known, const char *wanted);

/* ---- jemalloc.c ---- */

enum { JEMALLOC_PREFIX_MAX = AGENT_NAME_MAX / 2 };

/* The jemalloc that heapwire_use() named. */
struct jemalloc_given {
    mallctl_fn *mallctl; /* NULL: not named */
    char prefix[JEMALLOC_PREFIX_MAX];
};

/* Bytes; -1: not known. */
struct lever_figures {
    int64_t rss, resident, active, dirty, muzzy, tcache;
    int64_t background_thread; /* whether they are on */
};

/* Figures around the last AGENT_LEVER. */
struct lever_pulled {
    struct lever_figures before, after;
    int64_t took_us;
};

struct jemalloc {
    struct allocators all;
    struct late late;
    mallctl_fn *mallctl; /* the chosen jemalloc's; NULL: none is usable */
    bool config_prof, opt_prof;
    const struct profiler *profiler; /* once profiling_begin() chose it */
    /* Wall clock: since when it has samples, that is, when it was first on
     * after a start or a reset; switching it off keeps the samples, and this.
     * 0: it was not on. */
    int64_t active_since_ms;
    int64_t until_ms; /* monotonic: when it must be switched off; 0: never */
    bool switched_on; /* we switched it on, and it is on */
    uint32_t changes, resets;
    uint64_t
        unsampled_then; /* threads born by then are never sampled; 0: none */
    int64_t note_ms;    /* monotonic: time of the count in note */
    char note[AGENT_TEXT_MAX];
    struct mallctl_epoch epoch; /* of the statistics, rss and rss_file */
    uint64_t rss, rss_file;     /* bytes, by the kernel; 0: unknown */
    bool of_dump;               /* taken for a dump, and not written yet */
    struct lever_pulled pulled;
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

/* Why it cannot profile, or a remark on its profiles; may be empty. */
const char *jemalloc_note(struct jemalloc *jemalloc);

/* path must lead to a memfd: a dump holds locks that fork() needs.  Refreshes
 * the statistics first: statistics_write() gives those next. */
int jemalloc_dump(struct jemalloc *jemalloc, const char *path);

/* What samples, for profiling.c; used where the status is AGENT_OK. */
struct profiler {
    int (*read_active)(const struct jemalloc *jemalloc, bool *active);
    int (*write_active)(struct jemalloc *jemalloc, bool active);
    int (*reset)(const struct jemalloc *jemalloc, uint32_t lg_sample);
    uint32_t (*log_sample)(const struct jemalloc *jemalloc);
    bool writes_dumps; /* jemalloc_dump() has the profile; else a segment has it
                        */
};
extern const struct profiler jemalloc_profiler; /* its own profiling */

/* ---- recorder.c ---- */

/* Whether a preloaded recorder (plugin/recorder) records this process, or the
 * one that has forked it. */
bool recorder_is_own(void);
bool recorder_is_parents(void);
/* Whether the program's own malloc is redirected to it; and why not, where
 * heapwire-run has planned that, or "". */
bool recorder_is_patched(void);
const char *recorder_note(void);
/* Call it in a daemonising child, on its first thread; and (recorder_adopt)
 * once its elders have ended: the recorder records this process from then
 * on. */
void recorder_forked(void);
void recorder_adopt(const pid_t elders[2]);
/* Call it before a filter that kills for a system call of the sampling: no
 * thread, or not the calling one, takes samples any more. */
void recorder_stop(bool stopped);
void recorder_exclude_thread(void); /* the calling one: no samples of it */
/* Its stacks are walked by these tables from now on; NULL: by none.  False: the
 * recorder cannot. */
bool recorder_walk_by(const struct given_tables *tables);
extern const struct profiler recorder_profiler; /* of ours: in its segment */

/* ---- backtrace.c ----
 * Walks the stacks of jemalloc's own samples by unwind tables, where jemalloc
 * has a hook for that (5.3). */

/* Walks by these tables from now on.  0, or what mallctl returned: ENOENT,
 * there is no hook. */
int backtrace_hook(mallctl_fn *mallctl, const struct given_tables *tables);
/* Restores the hook that was there before. */
void backtrace_unhook(mallctl_fn *mallctl);
/* The number of stacks that the earlier hook took since the start; false: there
 * are no tables, so it takes all of them. */
bool backtrace_count_by_library(uint64_t *count);
/* Stops using tables, before a filter: as recorder_stop. */
void backtrace_stop(void);

/* ---- profiling.c, on unwind tables ----
 * The unwind tables that heapwired gave (given_tables.h), for whatever samples.
 * Called by the agent's thread, after profiling_begin(). */

/* Uses all that are there from now on.  0, or an errno: ENOENT, none is there,
 * or this jemalloc has no hook. */
int tables_use(struct jemalloc *jemalloc);
/* Leaves out those that have turned out wrong, or whose object was unloaded. */
void tables_use_given(struct jemalloc *jemalloc);
void tables_leave(struct jemalloc *jemalloc);
/* A remark on them for the greeting; "" mostly. */
void tables_note(char *out, size_t size);

/* ---- profiling.c ----
 * Whether the heap is profiled, since when and for how long: by the recorder
 * where it records this process, in which no jemalloc is asked to; otherwise by
 * jemalloc. */

/* Call it when the agent starts: profiling that is on already counts as on
 * since then; if it was not on from the program's start, as on since a moment
 * later. */
void profiling_begin(struct jemalloc *jemalloc, int64_t started_ms);
/* AGENT_OK, or why nobody can sample. */
enum agent_status profiling_status(const struct jemalloc *jemalloc);
void profiling_hello(struct jemalloc *jemalloc, struct agent_hello *hello);
int profiling_get_active(struct jemalloc *jemalloc, bool *active);
/* Switches profiling.  After seconds profiling_expire ends it, unless an
 * earlier request lasts longer; 0: no end. */
int profiling_set_active(struct jemalloc *jemalloc, bool active,
                         uint32_t seconds);
/* Ends profiling when its time is over.  Returns the milliseconds until the
 * next call is due, or -1. */
int profiling_expire(struct jemalloc *jemalloc);
/* Ends profiling if the agent switched it on. */
void profiling_leave(struct jemalloc *jemalloc);
/* Forgets all samples; lg_sample from now on, or AGENT_LG_SAMPLE_SAME. */
int profiling_reset(struct jemalloc *jemalloc, uint32_t lg_sample);

/* ---- statistics.c ----
 * jemalloc's statistics as text: lines "name value", named as mallctl names
 * them.  Used by the agent's thread alone. */

/* Refreshes jemalloc's figures, unless they are at most a second old. */
int statistics_refresh(struct jemalloc *jemalloc);

/* Writes the figures to fd, those of the last dump once, else at most a second
 * old, with their age and the kernel's figures of that moment.  Leaves out what
 * this jemalloc lacks.  0 or an errno. */
int statistics_write(struct jemalloc *jemalloc, int fd);

/* ---- lever_write.c ---- */

/* The figures as refreshed: at most a second old, or of now where
 * jemalloc->epoch.at_ms is 0. */
void levers_read(struct jemalloc *jemalloc, struct lever_figures *out);
/* jemalloc->pulled and the levers that are in force, to fd.  0 or an errno. */
int levers_write(struct jemalloc *jemalloc, int fd);

/* allocator_list.c: every jemalloc of the process, as text, to fd: a line each,
 * "key=value" between tabs, in which no other control byte is: object, mallctl,
 * version, variable, found (exported, symtab, scan, ...), note; and as 0 or 1
 * chosen, callable, config_prof, opt_prof, active, malloc, new (whether it
 * serves those of the process); allocated, resident (bytes).  Unknown values
 * are left out.  0 or an errno. */
int allocator_list_write(struct jemalloc *jemalloc, int fd);

#endif
