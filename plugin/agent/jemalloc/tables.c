/*
 * tables.c - hands unwind tables to whatever samples: jemalloc by its hook, or
 * the recorder.  See jemalloc.h.
 */
#include "jemalloc.h"

#include <errno.h>
#include <stdio.h>

#include "given_tables.h"

int
tables_use(struct jemalloc *jemalloc)
{
    const struct given_tables *tables = given_tables_list();

    if (jemalloc->profiler->dumps)
        return tables ? backtrace_hook(jemalloc->mallctl, tables) : ENOENT;
    return recorder_walk_by(tables) && tables ? 0 : ENOENT;
}

void
tables_use_given(struct jemalloc *jemalloc)
{
    if (!jemalloc->profiler || profiling_status(jemalloc) != AGENT_OK ||
        !given_tables_changed())
        return; /* or nobody was chosen yet */
    if (tables_use(jemalloc) != 0)
        tables_leave(jemalloc);
}

void
tables_leave(struct jemalloc *jemalloc)
{
    if (jemalloc->profiler && !jemalloc->profiler->dumps)
        recorder_walk_by(NULL);
    else if (jemalloc->mallctl)
        backtrace_unhook(jemalloc->mallctl);
}

void
tables_note(char *out, size_t size)
{
    const char *path = "";
    uint32_t count = given_tables_differed(&path);

    if (count > 0)
        snprintf(out, size,
                 "the unwind tables of %u object%s (%s) differ from what the "
                 "unwinder finds: they are not used",
                 count, count == 1 ? "" : "s", *path ? path : "the program");
}
