/*
 * daemon.h - heapwired as a whole: from a configuration to a running node.
 */
#ifndef HW_DAEMON_H
#define HW_DAEMON_H

struct arguments;

/* Checks everything, starts nothing; prints the effective values.  The exit
 * status: 0, or EX_CONFIG with one line per fault on stderr. */
int daemon_check(const struct arguments *arguments);

/* Serves until SIGTERM or SIGINT.  The exit status: EX_CONFIG, EX_TEMPFAIL when
 * another heapwired serves the state directory, EX_OSERR, 0. */
int daemon_run(const struct arguments *arguments);

#endif
