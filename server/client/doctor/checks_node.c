/*
 * checks_node.c - judges what a node says of itself.
 *
 * Each check is a function and a row of the table at the end; all are pure.  If
 * heapwire itself says why and what to do (profiler.reason, allocators.note,
 * threads.why, a profile's head), its words are given.  One cause should give
 * one finding, so checks stay silent about what follows from a database that
 * does not run.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "checks.h"

enum { DESCRIPTORS_LOW = 1024 };

#define SPACE_LEAST (64LL << 20)

/* Answers whether the database is gone or absent, which check_database() has
 * told. */
static bool
lacks_process(const struct facts *x)
{
    return facts_get(x, FACT_STATE) &&
           (fact_is(x, FACT_STATE, "gone") || fact_is(x, FACT_STATE, "absent"));
}

static bool
has_recorder(const struct facts *x)
{
    return fact_is(x, FACT_SOURCE, "interposed") ||
           fact_is(x, FACT_SOURCE, "patched");
}

/* ---- the node ---- */

static bool
check_node(const struct facts *x, struct finding *f)
{
    if (facts_get(x, FACT_NODE_ERROR))
        return judge(f, VERDICT_STOPS,
                     fact_has(x, FACT_NODE_ERROR, "Can't connect")
                         ? "start heapwire-run, or wait for heapwired's "
                           "restart; for a program that does not run yet: "
                           "heapwire doctor -- COMMAND"
                         : "for a program that does not run yet: heapwire "
                           "doctor -- COMMAND",
                     "it cannot be asked: %s", x->text[FACT_NODE_ERROR]);
    if (!facts_get(x, FACT_STATE))
        return false;
    return judge(f, VERDICT_OK, NULL, "it answers");
}

static bool
check_database(const struct facts *x, struct finding *f)
{
    const char *state = facts_get(x, FACT_STATE), *since;

    if (!state)
        return false;
    since = x->text[FACT_SINCE];
    if (strcmp(state, "connected") == 0)
        return judge(f, VERDICT_OK, NULL, "%s is connected since %s UTC",
                     x->text[FACT_PROGRAM], since);
    if (strcmp(state, "unresponsive") == 0)
        return judge(f, VERDICT_STOPS,
                     "SELECT name, state, wchan, folded FROM threads tells "
                     "what it waits for; kept snapshots and time profiles "
                     "work meanwhile",
                     "the database does not answer since %s UTC: no fresh "
                     "heap profile, no jemalloc figures",
                     since);
    if (strcmp(state, "absent") == 0)
        return judge(f, VERDICT_STOPS,
                     "start it by heapwire-run -- COMMAND, or enter a running "
                     "one: heapwire-run --attach PID",
                     "no database has connected yet");
    return judge(f, VERDICT_STOPS,
                 "SELECT * FROM deaths tells how it ended; start it again",
                 "the database is gone since %s UTC", since);
}

static bool
check_profile(const struct facts *x, struct finding *f)
{
    const char *reason = facts_get(x, FACT_REASON);

    if (!facts_get(x, FACT_PROFILING) ||
        (facts_get(x, FACT_STATE) && !fact_is(x, FACT_STATE, "connected")))
        return false; /* check_database() has told it */
    if (reason && *reason)
        return judge(f, VERDICT_STOPS,
                     "heapwire doctor -- COMMAND shows what its next start "
                     "can have; --profiling-source interposed or patched "
                     "needs no jemalloc that profiles",
                     "%s", reason);
    if (*x->text[FACT_GUARD_REASON] &&
        !fact_has(x, FACT_PROFILING, "active,") &&
        !fact_is(x, FACT_PROFILING, "active"))
        return judge(f, VERDICT_WARNING,
                     "see profiler.overhead and the setting "
                     "profiler.budget_percent, then enable_prof() again",
                     "the node has switched profiling off: %s",
                     x->text[FACT_GUARD_REASON]);
    if (fact_is(x, FACT_PROFILING, "inactive"))
        return judge(f, VERDICT_WARNING,
                     "heapwire on ALL 'System.print(HeapProf.getInstance()"
                     ".enable_prof())'; from the start: --profiling on",
                     "profiling is off: what is allocated now is in no later "
                     "profile");
    if (has_recorder(x))
        return judge(f, VERDICT_OK, NULL, "%s, by heapwire's recorder (%s)",
                     x->text[FACT_PROFILING], x->text[FACT_SOURCE]);
    return judge(f, VERDICT_OK, NULL, "%s, by %s", x->text[FACT_PROFILING],
                 *x->text[FACT_SOURCE] ? x->text[FACT_SOURCE] : "nobody");
}

static bool
check_risks(const struct facts *x, struct finding *f)
{
    const char *risks = facts_get(x, FACT_RISKS);

    if (!risks)
        return false;
    if (!*risks)
        return judge(f, VERDICT_OK, NULL, "none are known");
    return judge(f, VERDICT_WARNING,
                 "weigh them before enable_prof() in production; a recorder "
                 "(--profiling-source interposed) has none of jemalloc's",
                 "%s", risks);
}

static bool
check_statistics(const struct facts *x, struct finding *f)
{
    if (!facts_get(x, FACT_ALLOCATOR)) {
        if (!fact_is(x, FACT_STATE, "connected"))
            return false;
        return judge(f, VERDICT_WARNING,
                     "heapwire-run --profiling-source jemalloc preloads one "
                     "(Debian: libjemalloc2)",
                     "no jemalloc is known in the database: no malloc_stats, "
                     "malloc_bins, malloc_arenas");
    }
    if (fact_is(x, FACT_CALLABLE, "0"))
        return judge(f, VERDICT_STOPS, NULL, "%s cannot be called: %s",
                     x->text[FACT_ALLOCATOR],
                     *x->text[FACT_ALLOCATOR_NOTE]
                         ? x->text[FACT_ALLOCATOR_NOTE]
                         : "the node does not say why");
    return judge(f, VERDICT_OK, NULL, "%s tells them", x->text[FACT_ALLOCATOR]);
}

static bool
check_ages(const struct facts *x, struct finding *f)
{
    const char *source = facts_get(x, FACT_SOURCE);

    if (!source || (!*source && !fact_is(x, FACT_STATE, "connected")))
        return false; /* nobody knows any more who sampled the heap */
    if (has_recorder(x))
        return judge(f, VERDICT_OK, NULL, "the recorder tells them");
    return judge(f, VERDICT_WARNING,
                 "start the database by heapwire-run --profiling-source "
                 "interposed (or patched: a jemalloc linked into the program)",
                 "jemalloc's own profile does not tell how old memory is, and "
                 "of a hung or dead database only kept snapshots remain");
}

static bool
check_release(const struct facts *x, struct finding *f)
{
    if (!facts_get(x, FACT_BACKGROUND_THREAD))
        return false;
    if (fact_is(x, FACT_BACKGROUND_THREAD, "0"))
        return judge(f, VERDICT_WARNING,
                     "now, for an hour: Jemalloc.getInstance()"
                     ".background_threads(true, 3600); for good: start it with "
                     "background_thread:true in the variable that its jemalloc "
                     "reads (SELECT variable FROM allocators)",
                     "jemalloc's background threads are off: an idle arena "
                     "keeps its free pages, whatever dirty_decay_ms says "
                     "(%s), and RSS stays where it was",
                     x->text[FACT_DIRTY_DECAY_MS]);
    return judge(f, VERDICT_OK, NULL,
                 "jemalloc's background threads give free pages back "
                 "(dirty_decay_ms %s)",
                 x->text[FACT_DIRTY_DECAY_MS]);
}

/* ---- time and threads ---- */

static bool
check_processor(const struct facts *x, struct finding *f)
{
    if (lacks_process(x))
        return false;
    if (facts_get(x, FACT_CPU_ERROR))
        return judge(
            f, VERDICT_STOPS,
            "sql/REFERENCE.md, \"Profiles of time\", lists what forbids "
            "it and what would allow it",
            "%s", x->text[FACT_CPU_ERROR]);
    if (!facts_get(x, FACT_CPU_HEAD))
        return false;
    if (fact_has(x, FACT_CPU_HEAD, "by ptrace"))
        return judge(f, VERDICT_WARNING,
                     "--cap-add PERFMON of a container, or sysctl "
                     "kernel.perf_event_paranoid=2: perf stops nothing",
                     "%s", x->text[FACT_CPU_HEAD]);
    return judge(f, VERDICT_OK, NULL, "%s", x->text[FACT_CPU_HEAD]);
}

static bool
check_stacks(const struct facts *x, struct finding *f)
{
    int64_t all = 0, blind = 0;

    if (lacks_process(x))
        return false;
    if (facts_get(x, FACT_THREADS_ERROR))
        return judge(f, VERDICT_STOPS,
                     "sql/REFERENCE.md, \"Profiles of time\", lists what would "
                     "allow it",
                     "%s", x->text[FACT_THREADS_ERROR]);
    if (!fact_number(x, FACT_THREADS, &all))
        return false;
    (void)fact_number(x, FACT_THREADS_BLIND, &blind);
    if (blind == 0)
        return judge(f, VERDICT_OK, NULL,
                     "the stacks of all %" PRId64 " threads are complete", all);
    return judge(f, blind == all ? VERDICT_STOPS : VERDICT_WARNING, NULL,
                 "%" PRId64 " of %" PRId64 " threads have none, or one that "
                 "ends too soon, as: %s",
                 blind, all, x->text[FACT_THREADS_WHY]);
}

static bool
check_names(const struct facts *x, struct finding *f)
{
    const char *urls = facts_get(x, FACT_DEBUGINFOD_URLS), *by_itself = "";
    int64_t all = 0, nameless = 0;
    char act[sizeof(f->act)];

    if (!fact_number(x, FACT_FUNCTIONS, &all) || all == 0 ||
        !fact_number(x, FACT_NAMELESS, &nameless))
        return false;
    if (nameless == 0)
        return judge(f, VERDICT_OK, NULL,
                     "all %" PRId64 " functions of the heap have one", all);
    if (urls && (!*urls || strcmp(urls, "none") == 0))
        by_itself = ", or set debuginfod_urls in [symbols]";
    else if (!urls && facts_get(x, FACT_DEBUGINFOD))
        by_itself = ", or take them by debuginfod-find debuginfo";
    snprintf(act, sizeof(act),
             "install the debug symbols of that build (Debian: PACKAGE-dbgsym)"
             "%s; heapwire-prof --index gives a stripped program no names",
             by_itself);
    return judge(f, VERDICT_WARNING, act,
                 "%" PRId64 " of %" PRId64 " functions of the heap have no "
                 "name but module+0x..., most in %s%s",
                 nameless, all, x->text[FACT_NAMELESS_MODULE],
                 facts_get(x, FACT_DEBUG_FILES)
                     ? ""
                     : "; there is no /usr/lib/debug/.build-id here");
}

/* ---- memory and evidence ---- */

static bool
check_cgroup_limit(const struct facts *x, struct finding *f)
{
    const char *limit = facts_get(x, FACT_CGROUP_LIMIT);
    const char *version = facts_get(x, FACT_CGROUP_VERSION);
    const char *percent =
        *x->text[FACT_AT_PERCENT] ? x->text[FACT_AT_PERCENT] : "80, 90, 95";
    bool none = strcmp(percent, "none") == 0;

    if (facts_get(x, FACT_MEMORY_ERROR))
        return judge(f, VERDICT_STOPS, NULL, "%s", x->text[FACT_MEMORY_ERROR]);
    if (!facts_get(x, FACT_ANSWERED) || lacks_process(x))
        return false;
    if (!limit)
        return judge(f, VERDICT_WARNING,
                     "a limit of its own (MemoryMax= of systemd, --memory of "
                     "a container), or the setting snapshots.growth or "
                     "snapshots.every",
                     "no cgroup of the database has a limit%s%s%s%s%s",
                     version ? ", cgroup v" : "", version ? version : "",
                     none ? "" : ": snapshots at ", none ? "" : percent,
                     none ? "" : " % are of the machine's memory");
    return judge(f, VERDICT_OK, NULL, "%s bytes%s%s", limit,
                 version ? ", cgroup v" : "", version ? version : "");
}

static bool
check_evidence(const struct facts *x, struct finding *f)
{
    int64_t linger;

    if (!fact_number(x, FACT_LINGER, &linger))
        return false;
    if (linger == 0)
        return judge(f, VERDICT_WARNING, "linger = 900 in [node]",
                     "linger is 0: heapwired ends with the database, and "
                     "nobody answers why it died until the next start");
    return judge(f, VERDICT_OK, NULL,
                 "heapwired answers for %" PRId64 " s after a death", linger);
}

static bool
check_space(const struct facts *x, struct finding *f)
{
    bool tmpfs = facts_get(x, FACT_SPACE_TMPFS) != NULL;
    int64_t space, keep = 0, failed = 0;

    (void)fact_number(x, FACT_FAILED_SNAPSHOTS, &failed);
    (void)fact_number(x, FACT_KEEP_BYTES, &keep);
    if (!fact_number(x, FACT_SPACE_BYTES, &space)) {
        if (failed > 0)
            return judge(f, VERDICT_WARNING, "see heapwired.log",
                         "%" PRId64 " snapshots could not be kept", failed);
        return false;
    }
    if (space < SPACE_LEAST)
        return judge(f, space >> 20 > 0 ? VERDICT_WARNING : VERDICT_STOPS,
                     "free some, or move state_dir",
                     "%s has %" PRId64 " MB left: %ssnapshots cannot be kept",
                     x->text[FACT_STATE_DIR], space >> 20,
                     space >> 20 > 0 ? "large " : "");
    if (failed > 0 || space < keep)
        return judge(
            f, VERDICT_WARNING, "free some, or lower snapshots.keep_bytes",
            "%s has %" PRId64 " MB left of %" PRId64
            " MB that snapshots may take; %" PRId64 " could not be kept so far",
            x->text[FACT_STATE_DIR], space >> 20, keep >> 20, failed);
    return judge(f, VERDICT_OK, NULL, "%s has %" PRId64 " MB left%s",
                 x->text[FACT_STATE_DIR], space >> 20,
                 tmpfs ? " (in memory: a boot forgets what is kept there)"
                       : "");
}

static bool
check_descriptors(const struct facts *x, struct finding *f)
{
    int64_t used, most;

    if (!fact_number(x, FACT_DESCRIPTORS, &used))
        return false;
    if (!fact_number(x, FACT_DESCRIPTORS_MAX, &most))
        return judge(f, VERDICT_OK, NULL,
                     "%" PRId64 " descriptors are open, no limit", used);
    if (used > most / 5 * 4 || most < DESCRIPTORS_LOW)
        return judge(f, VERDICT_WARNING,
                     "LimitNOFILE= of systemd, or ulimit -n, for heapwired",
                     "heapwired has %" PRId64 " of %" PRId64
                     " descriptors open: connections are refused beyond",
                     used, most);
    return judge(f, VERDICT_OK, NULL,
                 "%" PRId64 " of %" PRId64 " descriptors are open", used, most);
}

static bool
check_cluster(const struct facts *x, struct finding *f)
{
    int64_t all, down = 0;

    if (!fact_number(x, FACT_NODES, &all) || all < 2)
        return false;
    (void)fact_number(x, FACT_NODES_DOWN, &down);
    if (down > 0)
        return judge(f, down + 1 >= all ? VERDICT_STOPS : VERDICT_WARNING,
                     "SELECT id, address, state, last_error FROM nodes",
                     "%" PRId64 " of %" PRId64
                     " nodes do not answer, or their databases do "
                     "not, as: %s",
                     down, all, x->text[FACT_NODES_ERROR]);
    return judge(f, VERDICT_OK, NULL, "all %" PRId64 " nodes answer", all);
}

const struct check checks_of_node[] = {
    {"the node", check_node},
    {"the database", check_database},
    {"heap profile", check_profile},
    {"risks of profiling", check_risks},
    {"jemalloc's statistics", check_statistics},
    {"ages, churn", check_ages},
    {"giving memory back", check_release},
    {"names of functions", check_names},
    {"processor profile", check_processor},
    {"stacks of threads", check_stacks},
    {"memory limit", check_cgroup_limit},
    {"evidence of a death", check_evidence},
    {"kept snapshots", check_space},
    {"connections", check_descriptors},
    {"the cluster", check_cluster},
    {NULL, NULL},
};
