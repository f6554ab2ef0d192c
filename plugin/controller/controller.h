/*
 * controller.h - the node's profiler as heapwired sees it.
 *
 * Owns the agent's connection (one request outstanding) and the symboliser.  A
 * request is a flight (flight.h), which others may join; the caller gets a seat
 * in it, whose waker is called when there is an answer.  One dump runs at a
 * time; requests that arrive while one runs join the next.  All functions are
 * callable from any thread, and only controller_wait waits for the node.
 */
#ifndef HW_CONTROLLER_H
#define HW_CONTROLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent_protocol.h"
#include "stats_allocators.h"
#include "flight.h"
#include "overhead_limit.h"
#include "risks.h"
#include "snapshot.h"
#include "stats.h"
#include "store.h"
#include "waker.h"

struct controller;
struct debug_fetcher;
struct error;
struct index_service;
struct memory_map;
struct stats;

struct controller_options {
    const char *state_dir;  /* holds agent.sock */
    const char *symbolizer; /* path of heapwire-symbolizer */
    uint32_t node_id;
    int segment; /* of the database's recorder; borrowed; -1: none */
    struct store_options store;
    const char *index_dir;       /* of symbol indexes; NULL: none are made */
    const char *unwind_dir;      /* of unwind tables; NULL: in memory alone */
    uint64_t index_bytes;        /* of all indexes, and of all tables */
    struct debug_fetcher *debug; /* borrowed; NULL: nothing is fetched */
    uint32_t reader_mb;          /* what symbolising keeps of DWARF; 0: 256 */
    double budget_percent;       /* of profiling: struct overhead_settings */
    uint32_t guard_s; /* it ends after so long without us; 0: never */
    bool unprepared;  /* databases are started without prof:true */
    bool attached;    /* the database ran before us */
    bool dumpable;    /* it may be made dumpable, to be read */
    void (*log)(const char *line); /* messages outside of statements; NULL: none
                                    */
};

enum node_state {
    NODE_ABSENT, /* no agent seen yet */
    NODE_CONNECTED,
    NODE_UNRESPONSIVE, /* connected, has not answered in time */
    NODE_GONE          /* the database ended */
};

/* Changes of the database's jemalloc that are in force for a time (the agent's
 * levers.h). */
enum node_lever { NODE_DECAY, NODE_BACKGROUND, NODE_LEVERS };

struct lever_in_force {
    bool in_force;
    int64_t since_ms, until_ms; /* wall clock */
    int64_t set[2], was[2];     /* dirty and muzzy ms; or whether on */
    int64_t ended_ms;           /* wall clock: of the last one; 0: none did */
    bool by_itself;             /* its time was over; false: undone by a user */
    bool end_reported;          /* an earlier heapwired was told of its end */
    int64_t error;              /* errno of putting it back; 0: not overdue */
    char by[AGENT_BY_MAX];
};

/* Bytes; and 1 where background threads are on. */
struct lever_counts {
    struct stats_figure rss, resident, active, dirty, muzzy, tcache;
    struct stats_figure background_thread;
};

/* What a lever did, and all that are in force. */
struct lever_report {
    struct lever_counts before, after;
    int64_t took_us;
    struct lever_in_force
        replaced; /* of the same kind, where one was in force */
    struct lever_in_force force[NODE_LEVERS];
};

struct lever_request {
    enum agent_lever lever;
    int64_t dirty_ms, muzzy_ms; /* -1: never */
    bool on;
    uint32_t seconds; /* 1 to AGENT_LEVER_MAX_S */
};

enum { NODE_ENDING_MAX = 256, NODE_ABSENCE_MAX = 384, NODE_CHILDREN_MAX = 192 };

/* A process that was started, and may have no agent. */
struct node_arrival {
    int32_t pid; /* 0: none */
    uint64_t start_ticks;
};

struct node_status {
    enum node_state state;
    int64_t since_ms; /* wall clock: in this state */
    bool stopped;     /* by a signal, while NODE_UNRESPONSIVE */
    char absence_why[NODE_ABSENCE_MAX]; /* the reason, while NODE_ABSENT; or
                                              "" */
    struct node_arrival unserved; /* may live on while another is NODE_GONE */
    /* "was killed by ...", while NODE_GONE, once a record of that is found in
     * deaths.h's file, which not every parent of a database writes; or "". */
    char ending[NODE_ENDING_MAX];
    bool profiled;       /* since this database connected, or a reset */
    uint64_t samples;    /* of the last profile; while profiled */
    int64_t profiled_ms; /* wall clock: that profile */
    /* Samples since the last reset, where the recorder takes them. */
    struct stats_figure taken;
    /* Those of them whose stack the library's unwinder walked; not known:
     * all. */
    struct stats_figure by_library;
    uint64_t failed_snapshots; /* since heapwired started */
    struct agent_hello hello;  /* the latest; zeroed while NODE_ABSENT */
    struct overhead_report overhead;
    /* Wall clock: when the agent switched profiling off because heapwired was
     * away; 0: it did not, or profiling is on again. */
    int64_t unguarded_ms;
    /* Wall clock: when another process took the place of one in which profiling
     * was on, as after a reload; 0: none did, or profiling is on again. */
    int64_t replaced_ms;
    struct risk_options risks;
    bool unprepared; /* the configuration has profiling = off */
    bool attached;   /* heapwired attached to it while it ran */
    bool restarted;  /* with prof:true it did not reach its main: deaths.h */
    /* From the agent's greeting: why hello.allocator is not AGENT_OK, or a
     * remark about profiles; while NODE_ABSENT, why a database that is there
     * cannot be served; or "". */
    char note[AGENT_TEXT_MAX];
    char children[NODE_CHILDREN_MAX]; /* forked, and not served; or "" */
    /* The memory in jemallocs that are not profiled, as last seen; or "". */
    char elsewhere[ELSEWHERE_TEXT_MAX];
    struct lever_in_force levers[NODE_LEVERS]; /* as last seen */
    uint32_t knows; /* enum agent_knows; 0: none, an older agent */
    int32_t peer;   /* the database's pid as we see it; 0: it is out of sight */
};

/* Starts the threads.  NULL with *err. */
struct controller *controller_start(const struct controller_options *options,
                                    struct error *err);
/* Wakes and joins; every seat must have been left.  NULL is fine. */
void controller_stop(struct controller *controller);

void controller_status(struct controller *controller, struct node_status *out);
/* Sets the reason to report while no database is connected; "": unknown.  pid:
 * of this process; 0: of none. */
void controller_set_absence(struct controller *controller, int32_t pid,
                            const char *why);

enum job_kind {
    JOB_GET_ACTIVE, /* result.active */
    JOB_ENABLE,     /* for request.seconds; 0: until it is switched off */
    JOB_DISABLE,
    /* Forgets all samples; request.lg_sample from now on.  Kept snapshots of
     * this process cannot be compared with later ones then: see request.force.
     */
    JOB_RESET,
    JOB_PROFILE,  /* result.snapshot, not kept */
    JOB_SNAPSHOT, /* result.snapshot, kept under its name */
    JOB_RECENT,   /* result.snapshot, of at most CONTROLLER_RECENT_MS ago */
    /* result.stats, of at most CONTROLLER_RECENT_MS ago; the kernel's figures
     * alone without jemalloc; where the agent does not answer, its failure and
     * the last known figures. */
    JOB_STATS,
    JOB_RECORDED, /* result.snapshot, of request.recording, kept */
    /* result.mappings, of at most CONTROLLER_RECENT_MS ago, with its failure
     * where there is nothing to read. */
    JOB_MAPPINGS,
    JOB_RANGES, /* only remembers what is mapped: map_seen.h */
    JOB_ACCESS, /* the observer's: result.active: it is dumpable by us */
    JOB_LEVER   /* request.lever, in the owner's name: result.lever */
};

enum { CONTROLLER_RECENT_MS = 1000 };

/* A copy of a recorder's segment, of a process that may have ended: making a
 * profile of it asks nobody. */
struct recording {
    int segment; /* a copy of it; -1: none */
    struct agent_hello hello;
    int64_t taken_ms;              /* wall clock */
    uint64_t monotonic_ms;         /* likewise, of clock_ms() */
    struct snapshot_memory memory; /* of about then */
    bool ended;                    /* it is of a process that has ended since */
    bool copied;                   /* the copy is older than that end */
};

/* Texts are copied; fields that a kind does not use are 0. */
struct job_request {
    enum job_kind kind;
    const char *owner; /* the user, who shares the queue; NULL: none */
    const char *name;  /* of JOB_SNAPSHOT; NULL: one is made up */
    enum snapshot_cause cause;
    const char *reason; /* or NULL */
    uint32_t seconds;   /* at most AGENT_SECONDS_MAX */
    uint32_t lg_sample; /* 0: as it is; else AGENT_LG_SAMPLE_MIN to _MAX */
    bool force;         /* JOB_RESET: lg_sample from 1; kept snapshots or not */
    struct lever_request lever;
    /* JOB_RECORDED: the job owns its segment once it is submitted. */
    const struct recording *recording;
};

struct job_result {
    bool active;
    struct snapshot *snapshot;   /* the taker's reference, or NULL */
    struct stats *stats;         /* likewise */
    struct memory_map *mappings; /* likewise */
    struct lever_report lever;
};

/* NULL with *err when the node cannot serve the request at all (gone,
 * unresponsive, no jemalloc, ...).  A seat may share a recent answer: it has
 * that already, and its waker is not called, so poll before waiting. */
struct seat *controller_submit(struct controller *controller,
                               const struct job_request *request,
                               struct waker waker, struct error *err);

/* FLIGHT_DONE fills *result, with references of its own; FLIGHT_FAILED *err. */
enum flight_state controller_poll_job(struct seat *seat,
                                      struct job_result *result,
                                      struct error *err);
/* Blocks until there is an answer, the await's deadline has come, or it is
 * cancelled.  The seat's waker must be the await's; the seat is left.  0
 * with *result, or -1 with *err.  seat NULL: -1, with the *err of
 * controller_submit. */
int controller_wait(struct seat *seat, struct await *await,
                    struct job_result *result, struct error *err);

/* The kept snapshots; they live as long as the controller. */
struct store *controller_store(struct controller *controller);
/* The symbol indexes; NULL: none are made. */
struct index_service *controller_indexes(struct controller *controller);

#endif
