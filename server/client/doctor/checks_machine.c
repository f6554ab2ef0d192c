/*
 * checks_machine.c - judges the facts of this machine, and those of a program
 * that does not run yet.
 *
 * Each check is a function and a row of the table at the end.  A check is pure
 * and answers false if a fact that it needs is not known: doctor runs as
 * anybody and may see little, and a guess would be worse than silence.  A
 * warning names the command that mends it, if there is one.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

enum {
    CAP_SYS_ADMIN_BIT = 21,
    CAP_PERFMON_BIT = 38,
    CLOCK_OFF_MS = 2000, /* more is reported */
    STRICT = 2           /* the value of vm.overcommit_memory */
};

/* ---- the machine ---- */

static bool
check_kernel_names(const struct facts *x, struct finding *f)
{
    const char *caps = facts_get(x, FACT_HEAPWIRED_CAPS);
    uint64_t bits = caps ? strtoull(caps, NULL, 16) : 0;
    int64_t paranoid;

    if (!fact_number(x, FACT_PERF_PARANOID, &paranoid))
        return false;
    if (paranoid <= 1)
        return judge(f, VERDICT_OK, NULL,
                     "kernel.perf_event_paranoid is %" PRId64, paranoid);
    if (bits >> CAP_PERFMON_BIT & 1 || bits >> CAP_SYS_ADMIN_BIT & 1)
        return judge(f, VERDICT_OK, NULL,
                     "kernel.perf_event_paranoid is %" PRId64
                     ", which does not bind heapwired: it has CAP_PERFMON",
                     paranoid);
    return judge(f, VERDICT_WARNING,
                 "sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON for "
                 "heapwired",
                 "kernel.perf_event_paranoid is %" PRId64 "%s: no profile "
                 "'cpu:10:kernel'",
                 paranoid,
                 caps ? ", and heapwired has no CAP_PERFMON"
                      : ", and heapwired may run as a user other than root");
}

static bool
check_yama(const struct facts *x, struct finding *f)
{
    int64_t scope;

    if (!fact_number(x, FACT_YAMA, &scope))
        return false;
    if (scope >= 2)
        return judge(f, VERDICT_WARNING,
                     "sysctl kernel.yama.ptrace_scope=1 (from 3: at the next "
                     "boot), or heapwired as root",
                     "kernel.yama.ptrace_scope is %" PRId64
                     ": only root may enter or stop a running process",
                     scope);
    return judge(f, VERDICT_OK, NULL,
                 "kernel.yama.ptrace_scope is %" PRId64 "%s", scope,
                 scope == 1 ? ": --attach needs root, or heapwire-run as the "
                              "parent"
                            : "");
}

static bool
check_machine(const struct facts *x, struct finding *f)
{
    if (!facts_get(x, FACT_STATE) || facts_get(x, FACT_SAME_MACHINE))
        return false;
    return judge(f, VERDICT_WARNING,
                 "run heapwire doctor there, as root or heapwired's user",
                 "the node's heapwired does not run here, or is hidden: what "
                 "its machine allows was not checked");
}

static bool
check_huge_pages(const struct facts *x, struct finding *f)
{
    if (!facts_get(x, FACT_THP))
        return false;
    if (fact_has(x, FACT_THP, "[always]"))
        return judge(f, VERDICT_WARNING,
                     "echo madvise >/sys/kernel/mm/transparent_hugepage/"
                     "enabled",
                     "transparent huge pages are on for all memory: RSS "
                     "counts 2 MB where 4 KB are used, and free pages come "
                     "back late");
    return judge(f, VERDICT_OK, NULL, "%s", x->text[FACT_THP]);
}

static bool
check_overcommit(const struct facts *x, struct finding *f)
{
    int64_t mode;

    if (!fact_number(x, FACT_OVERCOMMIT, &mode))
        return false;
    if (mode == STRICT)
        return judge(f, VERDICT_WARNING,
                     "sysctl vm.overcommit_memory=0, or a larger "
                     "vm.overcommit_ratio",
                     "vm.overcommit_memory is 2: malloc fails at the "
                     "machine's commit limit, where RSS is far below it");
    return judge(f, VERDICT_OK, NULL, "vm.overcommit_memory is %" PRId64, mode);
}

static bool
check_clock(const struct facts *x, struct finding *f)
{
    static const char *const fast[] = {"tsc",
                                       "kvm-clock",
                                       "arch_sys_counter",
                                       "hyperv_clocksource_tsc_page",
                                       "xen",
                                       "timebase",
                                       "tod"};
    const char *source = facts_get(x, FACT_CLOCKSOURCE);
    int64_t off = 0;
    bool is_fast = false;

    (void)fact_number(x, FACT_CLOCK_OFF_MS, &off);
    if (off > CLOCK_OFF_MS || off < -CLOCK_OFF_MS)
        return judge(f, VERDICT_WARNING, "chronyc tracking, on both",
                     "the node's clock is %.1f s %s this machine's: times of "
                     "snapshots and deaths do not fit logs",
                     (double)(off < 0 ? -off : off) / 1000,
                     off < 0 ? "behind" : "before");
    for (size_t i = 0; source && i < sizeof(fast) / sizeof(fast[0]); i++)
        is_fast = is_fast || strcmp(source, fast[i]) == 0;
    if (!source)
        return false;
    if (!is_fast)
        return judge(f, VERDICT_WARNING, "see dmesg for why tsc was dropped",
                     "the clock is %s, which costs a system call each time: a "
                     "recorder and jemalloc's decay read it often",
                     source);
    return judge(f, VERDICT_OK, NULL, "%s", source);
}

/* ---- a program that does not run yet ---- */

static bool
check_program(const struct facts *x, struct finding *f)
{
    const char *source = facts_get(x, FACT_EXPLAIN_SOURCE);

    if (facts_get(x, FACT_EXPLAIN_ERROR))
        return judge(f, VERDICT_STOPS, NULL, "%s", x->text[FACT_EXPLAIN_ERROR]);
    if (!source)
        return false;
    if (strncmp(source, "none", 4) == 0)
        return judge(f, VERDICT_STOPS, x->text[FACT_EXPLAIN_ADVICE], "%s",
                     source);
    return judge(f, VERDICT_OK, NULL, "%s", source);
}

static bool
check_program_kind(const struct facts *x, struct finding *f)
{
    const char *kind = facts_get(x, FACT_EXPLAIN_KIND);

    if (!kind)
        return false;
    if (strncmp(kind, "static", 6) == 0 || strstr(kind, "musl") ||
        strncmp(kind, "no 64-bit", 9) == 0)
        return judge(f, VERDICT_STOPS,
                     "link it dynamically against glibc; time profiles and "
                     "threads work without",
                     "the program is %s: no agent can be preloaded", kind);
    return judge(f, VERDICT_OK, NULL, "%s", kind);
}

static bool
check_program_jemalloc(const struct facts *x, struct finding *f)
{
    const char *jemalloc = facts_get(x, FACT_EXPLAIN_JEMALLOC);

    if (!jemalloc)
        return false;
    if (strcmp(jemalloc, "none") == 0)
        return judge(f, VERDICT_WARNING,
                     "heapwire-run --profiling-source jemalloc preloads one "
                     "(Debian: libjemalloc2)",
                     "there is none: no malloc_stats, malloc_bins, "
                     "malloc_arenas");
    if (strstr(jemalloc, "cannot profile"))
        return judge(f, VERDICT_WARNING, x->text[FACT_EXPLAIN_ADVICE], "%s",
                     jemalloc);
    return judge(f, VERDICT_OK, NULL, "%s", jemalloc);
}

static bool
check_program_warning(const struct facts *x, struct finding *f)
{
    const char *warning = facts_get(x, FACT_EXPLAIN_WARNING);

    return warning && *warning &&
           judge(f, VERDICT_WARNING, NULL, "%s", warning);
}

const struct check checks_of_machine[] = {
    {"heap profile", check_program},
    {"the agent", check_program_kind},
    {"jemalloc", check_program_jemalloc},
    {"the start", check_program_warning},
    {"kernel's functions", check_kernel_names},
    {"ptrace", check_yama},
    {"huge pages", check_huge_pages},
    {"overcommit", check_overcommit},
    {"the clock", check_clock},
    {"this machine", check_machine},
    {NULL, NULL},
};
