/*
 * facts.h - what heapwire doctor knows, and what it makes of it.
 *
 * node_facts.c asks the node, machine_facts.c looks at this machine, and
 * explain_facts.c lets heapwire-run look at a program.  The checks are pure and
 * make findings of these.  A fact is a text; one that is not known has no text.
 */
#ifndef HW_FACTS_H
#define HW_FACTS_H

#include <stdbool.h>
#include <stddef.h>

enum fact {
    /* from the node */
    FACT_NODE_ERROR, /* why it cannot be asked */
    FACT_STATE,      /* profiler, from here on */
    FACT_SINCE,
    FACT_PROFILING,
    FACT_REASON,
    FACT_SOURCE,
    FACT_RISKS,
    FACT_PROGRAM,
    FACT_GUARD_REASON,
    FACT_ALLOCATOR, /* the row of allocators that is chosen */
    FACT_CALLABLE,
    FACT_ALLOCATOR_NOTE,
    FACT_BACKGROUND_THREAD,
    FACT_DIRTY_DECAY_MS,
    FACT_CGROUP_LIMIT, /* memory, from here on */
    FACT_RSS,
    FACT_ANSWERED,
    FACT_MEMORY_ERROR,
    FACT_DAEMON_PID,
    FACT_DESCRIPTORS,
    FACT_DESCRIPTORS_MAX,
    FACT_FAILED_SNAPSHOTS,
    FACT_STATE_DIR, /* settings, from here on */
    FACT_LINGER,
    FACT_KEEP_BYTES,
    FACT_AT_PERCENT,
    FACT_DEBUGINFOD_URLS,
    FACT_CPU_HEAD, /* what a profile of processor time says of itself */
    FACT_CPU_ERROR,
    FACT_THREADS,
    FACT_THREADS_BLIND, /* how many of them have no stack */
    FACT_THREADS_WHY,   /* why, of one of them */
    FACT_THREADS_ERROR,
    FACT_FUNCTIONS, /* how many functions the heap has */
    FACT_NAMELESS,  /* how many of them are module+0x... */
    FACT_NAMELESS_MODULE,
    FACT_NODES,
    FACT_NODES_DOWN,
    FACT_NODES_ERROR,  /* the error of one that does not answer */
    FACT_CLOCK_OFF_MS, /* the node's clock minus this machine's */
    /* from this machine */
    FACT_SAME_MACHINE, /* "1": heapwired runs here */
    FACT_PERF_PARANOID,
    FACT_YAMA,
    FACT_HEAPWIRED_CAPS, /* CapEff, hexadecimal */
    FACT_CGROUP_VERSION,
    FACT_THP,
    FACT_OVERCOMMIT,
    FACT_CLOCKSOURCE,
    FACT_SPACE_BYTES, /* free space for the state directory */
    FACT_SPACE_TMPFS, /* "1" */
    FACT_DEBUGINFOD,
    FACT_DEBUG_FILES, /* "1": /usr/lib/debug/.build-id is there */
    /* from a program that does not run yet */
    FACT_EXPLAIN_ERROR,
    FACT_EXPLAIN_SOURCE,
    FACT_EXPLAIN_KIND,
    FACT_EXPLAIN_JEMALLOC,
    FACT_EXPLAIN_ADVICE,
    FACT_EXPLAIN_WARNING,
    FACTS
};

enum { FACT_MAX = 1024 };

struct facts {
    char text[FACTS][FACT_MAX];
    bool known[FACTS];
};

void facts_set(struct facts *facts, enum fact fact, const char *text);
const char *facts_get(const struct facts *facts, enum fact fact); /* or NULL */

enum verdict { VERDICT_OK, VERDICT_WARNING, VERDICT_STOPS };

struct finding {
    enum verdict verdict;
    const char *feature;
    char why[FACT_MAX + 256], act[512]; /* act "" means nothing to do */
};

enum { FINDINGS_MAX = 40 };

/* Writes all that can be said of these facts; answers how many findings there
 * are. */
size_t facts_check(const struct facts *facts, struct finding *findings);

/* Reads what `heapwire-run --explain` printed, and what it warned of. */
void facts_read_explained(struct facts *facts, char *printed, char *warned);

/* given is client_ask()'s. */
void facts_ask_node(struct facts *facts, const char *const *given);
/* Call this after the node was asked, if one is. */
void facts_add_machine(struct facts *facts);
/* command is what heapwire-run would start, with NULL behind it. */
void facts_add_program(struct facts *facts, char *const *command);

#endif
