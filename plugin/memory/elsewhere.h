/*
 * elsewhere.h - what lies in jemallocs of the database that are not profiled: a
 * library may bring its own (DuckDB, polars and pyarrow in Python).
 *
 * Pure.
 */
#ifndef HW_ELSEWHERE_H
#define HW_ELSEWHERE_H

#include "stats.h"

struct buffer;

/*
 * One is worth a warning from so many bytes on, if they are a twentieth of all
 * that jemallocs have allocated: DuckDB in Python holds 1 MB when idle.
 */
enum {
    ELSEWHERE_WORTH_BYTES = 4 << 20,
    ELSEWHERE_WORTH_PART = 20,
    ELSEWHERE_TEXT_MAX = 1024 /* with the NUL */
};

/* Of all jemallocs that are not chosen and count; not known: there are none. */
struct stats_figure elsewhere_allocated(const struct stats *stats);
struct stats_figure elsewhere_resident(const struct stats *stats);
/* Whether one that is not chosen has no figures. */
bool elsewhere_uncounted(const struct stats *stats);

/* Appends "212.0 MB are in _duckdb.so's jemalloc, which cannot be profiled" for
 * each that is worth it or does not count, between "; ".  The whole has less
 * than ELSEWHERE_TEXT_MAX bytes. */
void elsewhere_write(const struct stats *stats, struct buffer *out);

#endif
