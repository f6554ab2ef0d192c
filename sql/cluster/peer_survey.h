/*
 * peer_survey.h - asks all other members for their state at this moment.
 *
 * A node that does not answer in time is reported as such; the survey itself
 * does not fail.  It does not ask this node.
 */
#ifndef HW_PEER_SURVEY_H
#define HW_PEER_SURVEY_H

#include <stdbool.h>
#include <stdint.h>

#include "cursor.h"
#include "waker.h"

struct error;
struct sql_session;

enum { PEER_SURVEY_MS = 2000 };

/* One node's answer; its texts are clean and belong to the survey. */
struct peer_say {
    const char *error; /* why it did not answer; NULL: the rest is valid */
    const char *state, *since, *profiling, *reason, *started;
    unsigned cpus; /* 0: not known */
};

struct peer_survey;

/* Starts the questions.  NULL with *err. */
struct peer_survey *peer_survey_new(const struct sql_session *session,
                                    struct waker waker, struct error *err);
void peer_survey_free(struct peer_survey *survey); /* NULL is fine */
/* DONE, or WAIT, after which the waker is called.  Any thread, one at a
 * time. */
enum step peer_survey_step(struct peer_survey *survey);
/* The node's answer, once the survey is done; NULL: the node was not asked. */
const struct peer_say *peer_survey_find(const struct peer_survey *survey,
                                        uint64_t id);

#endif
