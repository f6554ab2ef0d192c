/*
 * stats_allocators.h - the agent's list of the jemallocs in the database, read.
 *
 * Pure.  The format is agent/jemalloc/jemalloc.h's.
 */
#ifndef HW_STATS_ALLOCATORS_H
#define HW_STATS_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats.h"

struct buffer;
struct error;

enum {
    STATS_ALLOCATORS_MAX = 64,
    STATS_ALLOCATORS_TEXT_MAX = 256 << 10 /* bytes that an agent may send */
};

/* Texts missing in the agent's list are "", flags false. */
struct stats_allocator {
    const char *object, *mallctl, *version, *variable, *found, *note;
    bool chosen, callable, config_prof, opt_prof, active;
    bool serves_malloc, serves_new;
    bool counted;                 /* allocated is known */
    uint64_t allocated, resident; /* resident 0: an older agent */
};

/* Parses the list into stats, which keeps the texts.  -1 with *err: no such
 * list, or no memory. */
int stats_allocators_parse(struct stats *stats, const char *text, size_t size,
                           struct error *err);

/*
 * "Elsewhere" is what lies in jemallocs of the database that are not profiled:
 * a library may bring its own (DuckDB, polars and pyarrow in Python).
 *
 * Such a jemalloc is worth a warning if it holds at least 4 MB and a twentieth
 * of what all jemallocs have allocated: DuckDB in Python holds 1 MB when idle.
 */
enum {
    ELSEWHERE_WORTH_BYTES = 4 << 20,
    ELSEWHERE_WORTH_PART = 20,
    ELSEWHERE_TEXT_MAX = 1024 /* with the NUL */
};

/* Sums over the jemallocs that are not chosen and have figures; unknown if
 * there are none. */
struct stats_figure elsewhere_allocated(const struct stats *stats);
struct stats_figure elsewhere_resident(const struct stats *stats);
/* Whether one that is not chosen has no figures. */
bool elsewhere_uncounted(const struct stats *stats);

/* Appends "212.0 MB are in _duckdb.so's jemalloc, which cannot be profiled" for
 * each that is worth it or does not count, between "; ".  The whole has less
 * than ELSEWHERE_TEXT_MAX bytes. */
void elsewhere_write(const struct stats *stats, struct buffer *out);

#endif
