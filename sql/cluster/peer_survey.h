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

struct await;
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
                                    struct await *await, struct error *err);
void peer_survey_free(struct peer_survey *survey); /* NULL is fine */
/* Blocks until all have answered or failed.  -1 with *err: the wait is over. */
int peer_survey_wait(struct peer_survey *survey, struct await *await,
                     struct error *err);
/* The node's answer, after that; NULL: the node was not asked. */
const struct peer_say *peer_survey_find(const struct peer_survey *survey,
                                        uint64_t id);

#endif
