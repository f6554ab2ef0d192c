/*
 * allocators.h - finds the jemallocs of a database in its files before it runs,
 * and decides their options.
 */
#ifndef HW_ALLOCATORS_H
#define HW_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "locate.h"

struct environment;
struct error;

enum allocator_origin {
    ALLOCATOR_OWN,       /* in the program */
    ALLOCATOR_LINKED,    /* in a shared library of it */
    ALLOCATOR_USERS,     /* in what the user preloads */
    ALLOCATOR_PRELOADED, /* in what heapwire-run preloads */
    ALLOCATOR_NAMED /* by the settings allocator or mallctl: loaded later */
};

struct allocator {
    char *path; /* owned */
    enum allocator_origin origin;
    struct locate file;
};

struct allocators {
    struct allocator *list; /* files that bring a jemalloc */
    size_t count;
    enum locate_kind kind;            /* the program's */
    unsigned marks;                   /* of the program, too */
    char build_id[ELF_BUILD_ID_TEXT]; /* of the program, too; "": none */
    char *other;                      /* a file with another malloc; NULL */
    char *asan; /* AddressSanitizer's, which wants to be loaded first; NULL */
    /* the program has its own malloc: nothing can stand in front of it */
    bool own_malloc;
    size_t files_scanned; /* how many files were examined */
    uint64_t took_ms;
};

/* Looks at the program, what it links, and what env preloads.  -1 with *err;
 * fini is due in any case. */
int allocators_find(struct allocators *a, const char *program,
                    const struct environment *env, struct error *err);
void allocators_fini(struct allocators *a);

/* Looks at one more file; warns if it is preloaded and has no jemalloc. */
int allocators_add(struct allocators *a, const char *path,
                   enum allocator_origin origin, struct error *err);

/* Applies the setting allocator, if it is a path: -1 also if that has no
 * jemalloc. */
int allocators_name(struct allocators *a, const char *path, struct error *err);

/* Applies the setting mallctl, [FILE:]ADDRESS or [FILE:]SYMBOL. */
int allocators_give(struct allocators *a, const char *program,
                    const char *setting, struct error *err);

/* True: nothing can be preloaded into the program. */
bool allocators_static(const struct allocators *a);

/* Can one of them profile, and be prepared for it? */
bool allocators_profile(const struct allocators *a);

/* The beginning of a malloc_conf for a jemalloc with these marks: without
 * options that are not compiled in or that own sets (NULL: none), which follows
 * it.  "": nothing. */
enum { ALLOCATOR_OPTIONS_MAX = 128 };
void allocators_options(unsigned marks, const char *own, bool active,
                        char out[ALLOCATOR_OPTIONS_MAX]);

/* Prepares the profiler, and switches it on if active, through each jemalloc's
 * own variable and AGENT_ENV_PROFILING. */
int allocators_prepare(const struct allocators *a, bool active,
                       struct environment *env, struct error *err);
/* AGENT_ENV_JEMALLOC: their places, for the agent. */
int allocators_export(const struct allocators *a, struct environment *env,
                      struct error *err);

/* On stderr, a line each: which cannot be called, why, and what to do. */
void allocators_warn(const struct allocators *a);

/* On stdout, for --explain. */
void allocators_explain(const struct allocators *a,
                        const struct environment *env);

#endif
