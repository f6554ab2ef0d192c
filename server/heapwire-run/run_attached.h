/*
 * run_attached.h - --attach: heapwire in and beside a database that runs
 * already.
 */
#ifndef HW_RUN_ATTACHED_H
#define HW_RUN_ATTACHED_H

struct run;

/* The exit status; a fault costs one line, and nothing is attached. */
int run_attached(struct run *run, char **envp);

#endif
