/*
 * budgets.h - how much memory a function or a pool of threads may hold, and
 * since when it holds more.
 *
 * A budget is of a function's name as heap_functions has it; a '*' at its end
 * stands for any ending.  What counts is the memory in use of all stacks with
 * such a function in them, each once.  Or it is of a pool, named as the root of
 * its stacks is by profile_root.h, "pool worker-*": what counts is what its
 * threads allocated.  A budget is crossed when that is above
 * its limit, and again only after it was BUDGET_FALL_PERCENT below it, or in
 * another database process: estimates go up and down.
 *
 * Budgets lie in the file "budgets" in the state directory, which is written
 * anew as a whole at each change.  Functions are callable from any thread;
 * budgets_set, budgets_remove, and budgets_see may wait for the
 * disk.
 */
#ifndef HW_BUDGETS_H
#define HW_BUDGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"
#include "snapshot.h"

struct budgets;
struct buffer;
struct error;
struct profile;

enum {
    BUDGETS_MAX = 64,      /* as a set of them is 64 bits */
    BUDGET_NAME_MAX = 255, /* bytes */
    BUDGET_SHOWN = 64,     /* bytes of a name in an error */
    BUDGET_FALL_PERCENT = 10,
    BUDGET_LINE_MAX = 512,
    BUDGETS_FILE_MAX = 64 * 1024
};

/* The prefix by which a user says that a name is a function's. */
#define BUDGET_FUNCTION "function "

#define BUDGETS_FILE "budgets"
#define BUDGETS_NEW  "budgets.new" /* while it is being written */

enum budget_state {
    BUDGET_UNSEEN, /* not checked since heapwired's start or its setting */
    BUDGET_WITHIN,
    BUDGET_OVER,
    BUDGET_OFF,       /* profiling is off: the amount is not known */
    BUDGET_ABSENT,    /* there is no database, or it does not answer */
    BUDGET_FAILED,    /* the check failed: the log says why */
    BUDGET_THREADLESS /* of a pool, but the profile has no threads */
};

struct budget {
    char name[BUDGET_NAME_MAX + 1];
    uint64_t limit; /* bytes */
    /* The last crossing, as it is kept in the file. */
    bool over;          /* true until it has fallen again */
    int64_t crossed_ms; /* wall clock; 0: never */
    uint64_t crossings; /* so far */
    int32_t pid;        /* of the process that crossed it */
    uint64_t start_ticks;
    char snapshot[SNAPSHOT_NAME_MAX + 1]; /* taken then; "": none yet */
    /* The last check. */
    enum budget_state state;
    int64_t checked_ms; /* wall clock; 0: never */
    double now, margin; /* bytes, as profile_margin; while WITHIN or OVER */
};

/* ---- pure ---- */

/* "500M", "2G", "1T", "64K" or a number of bytes: 1 to INT64_MAX.  -1 with
 * *err. */
int budget_limit_parse(struct span text, uint64_t *out, struct error *err);
/* Checks the name of a function, with or without '*', or of a pool.  -1 with
 * *err: it is empty, too long, has control characters, or no pool can be called
 * so. */
int budget_check_name(struct span name, struct error *err);
/* The name without "function ", which only says its kind. */
struct span budget_plain_name(struct span name);
/* Whether a user's name says of what kind it is: "function " or "pool ". */
bool budget_names_kind(struct span name);
/* Decides the kind of a name that does not say it: it becomes a pool's if a
 * pool of that name has memory in use, and no function has.  -1 with *err:
 * neither has, or both. */
int budget_find_kind(const struct profile *profile, struct budget *budget,
                     struct error *err);
/* Whether a name that does not say its kind may be a pool's: by its length. */
bool budget_may_be_pool(const struct budget *budget);
/* The name of its pool; NULL: the budget is of a function. */
const char *budget_pool(const struct budget *budget);
/* Whether it is a budget of this function; a pool's never is. */
bool budget_matches(const struct budget *budget, const char *name);

/* Sets now and margin of each by what profile has in use, and state to UNSEEN,
 * or THREADLESS.  -1 with *err. */
int budget_measure(const struct profile *profile, struct budget *list,
                   size_t count, struct error *err);

enum budget_transition { BUDGET_STAYS, BUDGET_CROSSES, BUDGET_FALLS };

/* Judges now, which is of a profile taken at taken_ms of that process. */
enum budget_transition budget_step(struct budget *budget, int64_t taken_ms,
                                   const struct agent_hello *hello);

/* Writes one line of the file, with its newline; reads it back: false if it is
 * malformed. */
void budget_format(const struct budget *budget, struct buffer *out);
bool budget_parse(struct span line, struct budget *out);

/* ---- those of the node ---- */

/* dir NULL: in memory alone.  Damaged lines are passed over, and a file in
 * another format is set aside, each with a line to log (or NULL).  NULL: no
 * memory. */
struct budgets *budgets_open(const char *dir, void (*log)(const char *line));
void budgets_close(struct budgets *budgets); /* NULL is fine */

/* Replaces a budget of the same name, and forgets its crossings.  -1 with *err,
 * and nothing changed: there are BUDGETS_MAX already, or the file cannot be
 * written. */
int budgets_set(struct budgets *budgets, struct span name, uint64_t limit,
                struct error *err);
/* Removes the function's budget of that name, or else the pool's.  -1 with
 * *err: there is none, or the file cannot be written. */
int budgets_remove(struct budgets *budgets, struct span name,
                   struct error *err);
/* Copies at most max budgets, in order of their names; returns how many. */
size_t budgets_list(struct budgets *budgets, struct budget *out, size_t max);
/* Counts changes by budgets_set and budgets_remove. */
uint64_t budgets_changes(struct budgets *budgets);

/* Checks all budgets against a profile of the heap, and logs what crosses or
 * falls.  named: the snapshot is kept, and becomes that of each crossing that
 * has none yet.  -1 with *err. */
int budgets_see(struct budgets *budgets, const struct snapshot *snapshot,
                bool named, struct error *err);
/* Budgets cannot be checked now: sets their state to OFF, ABSENT or FAILED. */
void budgets_miss(struct budgets *budgets, enum budget_state state);
/* Whether a crossing still lacks its snapshot; reason is then that
 * snapshot's. */
bool budgets_want_snapshot(struct budgets *budgets,
                           char reason[SNAPSHOT_REASON_MAX + 1]);

#endif
