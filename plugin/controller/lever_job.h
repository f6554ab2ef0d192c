/*
 * lever_job.h - uses the agent's levers for a user, and logs the end of each.
 *
 * The agent has the deadlines and the old values, and puts them back whatever
 * becomes of heapwired.  Call it with the agent: jobs.h.
 */
#ifndef HW_LEVER_JOB_H
#define HW_LEVER_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller.h"

struct agent_client;
struct buffer;
struct error;

/* -1 with *err; 1235: that jemalloc, or that agent, has no such lever. */
int lever_job_run(struct agent_client *client,
                  const struct lever_request *request, const char *by,
                  void (*log)(const char *line), struct lever_report *out,
                  struct error *err);

/* Call it after a greeting: logs levers that have ended since, also while
 * heapwired was away, and updates those in force; asks the agent only where
 * that may have changed. */
void lever_job_check(struct agent_client *client,
                     void (*log)(const char *line));

/* Milliseconds until the next lever's time is over, 0 at least; -1: none is in
 * force. */
int64_t lever_job_next(const struct node_status *status, int64_t wall_ms);

/* Parses the agent's text (lever_write.c); false: it is malformed.  Pure. */
bool lever_report_parse(const char *text, size_t size,
                        struct lever_report *out);

/* ---- lever_text.c: for people, pure ---- */

/* Writes one line: what that lever may do to the database with these figures.
 * decay: the times that are set there (-1: never); NULL: not known. */
void lever_write_risk(const struct lever_request *request,
                      const struct lever_counts *counts, const int64_t decay[2],
                      struct buffer *out);
/* Writes the risk, each figure before and after, and until when it lasts. */
void lever_write_result(const struct lever_request *request,
                        const struct lever_report *report, struct buffer *out);
/* Writes the values that it sets or puts back: "dirty_decay_ms 0,
 * muzzy_decay_ms -1 (never)", "on". */
void lever_write_values(enum node_lever lever, const int64_t values[2],
                        struct buffer *out);
/* Writes what is in force, until when and by whom, as a part of a line. */
void lever_write_in_force(enum node_lever lever,
                          const struct lever_in_force *force,
                          struct buffer *out);
/* Writes a line for each lever: what is in force, or how the last one ended. */
void lever_write_state(const struct lever_in_force force[NODE_LEVERS],
                       struct buffer *out);
/* "decay()", ... */
const char *lever_name(enum agent_lever lever);
/* "decay", "background_threads" */
const char *lever_label(enum node_lever lever);
/* The reason why it could not be put back. */
const char *lever_error(const struct lever_in_force *force);

#endif
