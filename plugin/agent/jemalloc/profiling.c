/*
 * profiling.c - the switch of profiling, its time and its history; see
 * jemalloc.h.
 *
 * Several can switch it: users through heapwired, the program itself by
 * mallctl, a deadline, heapwired's absence.  The state is therefore read again
 * at each question instead of being believed, and only profiling that the agent
 * has switched on ends with the agent.  A deadline lies here, in the database,
 * since heapwired may be gone when it comes.
 */
#include "jemalloc.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "agent_tools.h"
#include "given_tables.h"

enum { RETRY_MS = 1000 };

enum agent_status
profiling_status(const struct jemalloc *jemalloc)
{
    if (!jemalloc->profiler->writes_dumps)
        return AGENT_OK;
    if (!jemalloc->mallctl)
        return *jemalloc->all.why ? AGENT_UNUSABLE : AGENT_NO_JEMALLOC;
    if (!jemalloc->config_prof)
        return AGENT_NO_PROF;
    return jemalloc->opt_prof ? AGENT_OK : AGENT_PROF_OFF;
}

int
profiling_get_active(struct jemalloc *jemalloc, bool *active)
{
    int error = jemalloc->profiler->read_active(jemalloc, active);

    if (error != 0)
        return error;
    /* the program may have switched it itself */
    if (!*active) {
        jemalloc->until_ms = 0;
        jemalloc->switched_on = false;
    } else if (jemalloc->active_since_ms == 0) {
        jemalloc->active_since_ms = agent_wall_ms();
    }
    return 0;
}

void
profiling_begin(struct jemalloc *jemalloc, int64_t started_ms)
{
    bool active;

    jemalloc->profiler =
        recorder_is_own() ? &recorder_profiler : &jemalloc_profiler;
    if (profiling_status(jemalloc) != AGENT_OK ||
        jemalloc->profiler->read_active(jemalloc, &active) != 0 || !active)
        return;
    jemalloc->active_since_ms = started_ms;
    if (jemalloc->profiler->writes_dumps &&
        !mallctl_read_bool(jemalloc->mallctl, "opt.prof_active"))
        /* the program switched it on before us: a time later than the agent's
         * start tells heapwired that it was off at first */
        jemalloc->active_since_ms++;
}

/* The time at which profiling must end; 0: never.  A request never shortens an
 * earlier one: the later end, or none, stays. */
static int64_t
end_after(const struct jemalloc *jemalloc, bool was_active, uint32_t seconds)
{
    int64_t until_ms = agent_monotonic_ms() + (int64_t)seconds * 1000;

    if (seconds == 0 || (was_active && jemalloc->until_ms == 0))
        return 0;
    return jemalloc->until_ms > until_ms ? jemalloc->until_ms : until_ms;
}

int
profiling_set_active(struct jemalloc *jemalloc, bool active, uint32_t seconds)
{
    bool was;
    int error = profiling_get_active(jemalloc, &was);

    if (error == 0)
        error = jemalloc->profiler->write_active(jemalloc, active);
    if (error != 0)
        return error;
    jemalloc->changes += was != active;
    jemalloc->switched_on = active && (jemalloc->switched_on || !was);
    jemalloc->until_ms = active ? end_after(jemalloc, was, seconds) : 0;
    return profiling_get_active(jemalloc, &was);
}

int
profiling_expire(struct jemalloc *jemalloc)
{
    int64_t left;

    if (jemalloc->until_ms == 0)
        return -1;
    left = jemalloc->until_ms - agent_monotonic_ms();
    if (left > 0)
        return left < INT_MAX ? (int)left : INT_MAX;
    if (profiling_set_active(jemalloc, false, 0) == 0)
        return -1;
    jemalloc->until_ms = agent_monotonic_ms() + RETRY_MS;
    return RETRY_MS;
}

void
profiling_leave(struct jemalloc *jemalloc)
{
    if (jemalloc->switched_on)
        profiling_set_active(jemalloc, false, 0);
}

int
profiling_reset(struct jemalloc *jemalloc, uint32_t lg_sample)
{
    int error = jemalloc->profiler->reset(jemalloc, lg_sample);
    bool active;

    if (error != 0)
        return error;
    jemalloc->resets++;
    jemalloc->active_since_ms = 0;
    return profiling_get_active(jemalloc, &active);
}

static void
name_jemalloc(const struct jemalloc *jemalloc, struct agent_hello *hello)
{
    const struct allocator *chosen = &jemalloc->all.list[jemalloc->all.chosen];

    memcpy(hello->mallctl, chosen->mallctl_name, sizeof(hello->mallctl));
    hello->mallctl_address = (uint64_t)(uintptr_t)jemalloc->mallctl;
    memcpy(hello->malloc_conf_name, chosen->variable,
           sizeof(hello->malloc_conf_name));
    memcpy(hello->version, chosen->version, sizeof(hello->version));
    hello->config_prof = jemalloc->config_prof;
    hello->opt_prof = jemalloc->opt_prof;
}

void
profiling_hello(struct jemalloc *jemalloc, struct agent_hello *hello)
{
    bool active = false;

    hello->allocator = profiling_status(jemalloc);
    hello->secure = getauxval(AT_SECURE) != 0;
    if (jemalloc->mallctl)
        name_jemalloc(jemalloc, hello);
    hello->lg_sample = jemalloc->profiler->log_sample(jemalloc);
    if (!jemalloc->profiler->writes_dumps) {
        hello->config_prof = 1;
        hello->opt_prof = AGENT_PROF_RECORDED;
    } else if (recorder_is_parents() && !jemalloc->opt_prof) {
        hello->opt_prof = AGENT_PROF_FORKED;
    }
    if (hello->allocator != AGENT_OK)
        return;
    profiling_get_active(jemalloc, &active);
    hello->active = active;
    hello->changes = jemalloc->changes;
    hello->resets = jemalloc->resets;
    hello->active_since_ms = active ? jemalloc->active_since_ms : 0;
    if (jemalloc->until_ms != 0)
        hello->active_until_ms =
            agent_wall_ms() + jemalloc->until_ms - agent_monotonic_ms();
}

/* ---- unwind tables: handed to whatever samples ---- */

int
tables_use(struct jemalloc *jemalloc)
{
    const struct given_tables *tables = given_tables_list();

    if (jemalloc->profiler->writes_dumps)
        return tables ? backtrace_hook(jemalloc->mallctl, tables) : ENOENT;
    return recorder_walk_by(tables) && tables ? 0 : ENOENT;
}

void
tables_use_given(struct jemalloc *jemalloc)
{
    if (!jemalloc->profiler || profiling_status(jemalloc) != AGENT_OK ||
        !given_tables_changed())
        return; /* without a profiler, profiling_begin() comes later */
    if (tables_use(jemalloc) != 0)
        tables_leave(jemalloc);
}

void
tables_leave(struct jemalloc *jemalloc)
{
    if (jemalloc->profiler && !jemalloc->profiler->writes_dumps)
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
