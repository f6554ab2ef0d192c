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

/* How a user says that a name is a function's. */
#define BUDGET_FUNCTION "function "

#define BUDGETS_FILE "budgets"
#define BUDGETS_NEW  "budgets.new" /* while it is being written */

enum budget_state {
    BUDGET_UNSEEN, /* since this heapwired, or since it was set */
    BUDGET_WITHIN,
    BUDGET_OVER,
    BUDGET_OFF,       /* profiling is: nobody knows */
    BUDGET_ABSENT,    /* likewise: the database is, or does not answer */
    BUDGET_FAILED,    /* likewise: the log has why */
    BUDGET_THREADLESS /* likewise: of a pool, and the profile has no threads */
};

struct budget {
    char name[BUDGET_NAME_MAX + 1];
    uint64_t limit; /* bytes */
    /* The last crossing; kept in the file. */
    bool over;          /* and it has not fallen since */
    int64_t crossed_ms; /* wall clock; 0: never */
    uint64_t crossings; /* so far */
    int32_t pid;        /* of the process that did */
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
/* A function's name or such a beginning of it, or a pool's.  -1 with *err: it
 * is empty, too long, has control characters, or no pool can be called so. */
int budget_check_name(struct span name, struct error *err);
/* As users may write it: without "function ", which only says its kind. */
struct span budget_plain_name(struct span name);
/* Whether a user's name says of what kind it is: "function " or "pool ". */
bool budget_names_kind(struct span name);
/* Decides of a name that does not: it becomes a pool's if one of that name has
 * memory in use, and no function has.  -1 with *err: neither has, or both. */
int budget_find_kind(const struct profile *profile, struct budget *budget,
                     struct error *err);
/* Whether a name that does not say its kind may be a pool's: by its length. */
bool budget_may_be_pool(const struct budget *budget);
/* The pool that it is of; NULL: it is of a function. */
const char *budget_pool(const struct budget *budget);
/* Of a function's name; a pool's never does. */
bool budget_matches(const struct budget *budget, const char *name);

/* Sets now and margin of each by what profile has in use, and state to UNSEEN,
 * or THREADLESS.  -1 with *err. */
int budget_measure(const struct profile *profile, struct budget *list,
                   size_t count, struct error *err);

enum budget_transition { BUDGET_STAYS, BUDGET_CROSSES, BUDGET_FALLS };

/* What now means, in a profile taken then of that process. */
enum budget_transition budget_step(struct budget *budget, int64_t taken_ms,
                                   const struct agent_hello *hello);

/* One line of the file, with its newline; and back: false if malformed. */
void budget_format(const struct budget *budget, struct buffer *out);
bool budget_parse(struct span line, struct budget *out);

/* ---- those of the node ---- */

/* dir NULL: in memory alone.  A damaged line is passed over, and a file that is
 * none set aside, each with a line to log (or NULL).  NULL: no memory. */
struct budgets *budgets_open(const char *dir, void (*log)(const char *line));
void budgets_close(struct budgets *budgets); /* NULL is fine */

/* Replaces that of the same name, which then was never crossed.  -1 with *err,
 * and nothing changed: BUDGETS_MAX are there, or the file cannot be written. */
int budgets_set(struct budgets *budgets, struct span name, uint64_t limit,
                struct error *err);
/* The function's of that name, or else the pool's.  -1 with *err: there is
 * none, or the file cannot be written. */
int budgets_remove(struct budgets *budgets, struct span name,
                   struct error *err);
/* By name; at most max. */
size_t budgets_list(struct budgets *budgets, struct budget *out, size_t max);
/* Counts changes by budgets_set and budgets_remove. */
uint64_t budgets_changes(struct budgets *budgets);

/* Looks at a profile of the heap: logs what crosses and falls.  named: it is a
 * kept snapshot, which is then that of each crossing that lacks one.  -1 with
 * *err. */
int budgets_see(struct budgets *budgets, const struct snapshot *snapshot,
                bool named, struct error *err);
/* They cannot be looked at: OFF, ABSENT or FAILED. */
void budgets_miss(struct budgets *budgets, enum budget_state state);
/* Whether a crossing still lacks its snapshot, and the reason of that. */
bool budgets_want_snapshot(struct budgets *budgets,
                           char reason[SNAPSHOT_REASON_MAX + 1]);

#endif
