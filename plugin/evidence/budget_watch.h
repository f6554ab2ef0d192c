/*
 * budget_watch.h - when the node checks its budgets (budgets.h).
 *
 * At each automatic snapshot; and where there are budgets, every so often, by
 * the newest snapshot of the heap that somebody has taken since, or else by a
 * profile that is taken for that.  Where two in a row took long, the next one
 * waits until they are BUDGET_WATCH_SHARE of the time or less: the first one
 * may have had to find names, which are cached then.  Of one thread; never
 * waits for an answer.
 */
#ifndef HW_BUDGET_WATCH_H
#define HW_BUDGET_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot.h"
#include "waker.h"

struct budgets;
struct controller;
struct marks_now;
struct marks_rules;
struct node_status;
struct seat;

enum {
    BUDGET_WATCH_SHARE = 1000,        /* one part of the time: 0.1 % of a CPU */
    BUDGET_WATCH_RETRY_MS = 60 * 1000 /* a snapshot is asked for again */
};

struct budget_watch {
    struct budgets *budgets;
    struct controller *controller;
    struct waker waker; /* for an answer */
    void (*log)(const char *line);
    struct seat *profile;      /* asked for */
    uint64_t asked_ms, due_ms; /* monotonic */
    uint64_t cost_ms;          /* of the last one; 0: there was none */
    uint64_t every_ms;         /* of the rules, at the last check */
    uint64_t snapshot_ms;      /* monotonic: one was asked for; 0: none */
    uint64_t changes;          /* budgets_changes(), at the last check */
    uint64_t seen;             /* the serial of the last kept snapshot */
    int64_t checked_ms;        /* wall clock */
    int32_t pid;               /* the database, at the last check */
    uint64_t start_ticks;
    bool failed; /* the last profile, as was logged */
};

/* Call it with a zeroed struct; log may be NULL.  -1: no memory. */
int budget_watch_open(struct budget_watch *watch, struct controller *controller,
                      const char *state_dir, struct waker waker,
                      void (*log)(const char *line));
void budget_watch_close(struct budget_watch *watch); /* zeroed is fine */

/* Asks for a profile where one is due, unless memory is too full.  True: a
 * budget was crossed, and a snapshot is wanted for this reason. */
bool budget_watch_check(struct budget_watch *watch,
                        const struct node_status *status,
                        const struct marks_now *now,
                        const struct marks_rules *rules,
                        char reason[SNAPSHOT_REASON_MAX + 1]);
/* Checks the budgets by the profile, once it has come. */
void budget_watch_take(struct budget_watch *watch);
/* A kept snapshot of the heap was taken. */
void budget_watch_see(struct budget_watch *watch,
                      const struct snapshot *snapshot);

#endif
