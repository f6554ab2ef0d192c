/* run.h - one run of heapwire-run, and what the database and heapwired get. */
#ifndef HW_RUN_H
#define HW_RUN_H

#include <limits.h>

#include "allocators.h"
#include "confined.h"
#include "environment.h"
#include "options.h"
#include "patch_plan.h"
#include "supervise.h"

struct error;

/* One run; the plan borrows from it. */
struct run {
    struct options options;
    /* plain: the database's, without options and preloads that may keep it from
     * starting; bare: without the agent, too. */
    struct environment database, plain, bare, heapwired;
    struct start_watch start;
    struct notify_relay notify;
    char *program, *exe, *name, *user; /* name: of exe, as it is called */
    struct allocators allocators;
    char heapwired_path[PATH_MAX], library[PATH_MAX], jemalloc[PATH_MAX];
    char recorder[PATH_MAX];    /* libheapwire-recorder.so; "": there is none */
    char patch[PATCH_TEXT_MAX]; /* the plan for its malloc; "": none */
    const char *heapwired_argv[OPTIONS_ARGV];
    struct plan plan;
    char filters[CONFINED_TEXT]; /* probe_filters() */
};

/* A line on stderr: the text, then the consequence. */
void run_print_line(const char *text, const char *then);

/* Finds heapwired and libheapwire.so.  -1 with *err. */
int run_find_parts(struct run *run, struct error *err);

/* Puts heapwired into the plan, after its options were checked. */
void run_plan_heapwired(struct run *run);
int run_plan_heartbeat(struct run *run, struct error *err);

/* ---- run.c ---- */

/* Finds the jemallocs; a setting that cannot be applied costs one line. */
int run_find_allocators(struct run *run, struct error *err);
/* Sets what the agent needs, and removes settings for another database's
 * agent, if its script started us. */
int run_prepare_agent(struct run *run, struct environment *env,
                      struct error *err);
/* All that the database gets, and the plan of its start.  -1 with *err. */
int run_prepare_environments(struct run *run, struct error *err);
/* --explain: prints what would be done; the exit status. */
int run_explain(struct run *run);

#endif
