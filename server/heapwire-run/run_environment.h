/*
 * run_environment.h - which jemallocs the database has, which one to preload,
 * and the environment that it and its agent get.
 */
#ifndef HW_RUN_ENVIRONMENT_H
#define HW_RUN_ENVIRONMENT_H

struct environment;
struct error;
struct run;

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
