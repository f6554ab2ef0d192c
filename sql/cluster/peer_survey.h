/*
 * peer_survey.h - asks all other members how they are, at this moment.
 *
 * A node that does not answer in time is reported as such; the survey does not
 * fail.  This node is not asked.
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

/* One node's answer; its texts belong to the survey and are clean. */
struct peer_say {
    const char *error; /* it did not answer, and why; or NULL, and */
    const char *state, *since, *profiling, *reason, *started;
    unsigned cpus; /* 0: not known */
};

struct peer_survey;

/* Asks.  NULL with *err. */
struct peer_survey *peer_survey_new(const struct sql_session *session,
                                    struct waker waker, struct error *err);
void peer_survey_free(struct peer_survey *survey); /* NULL is fine */
/* Any thread, one at a time: DONE, or WAIT and the waker will be called. */
enum step peer_survey_step(struct peer_survey *survey);
/* Once done; NULL: it was not asked. */
const struct peer_say *peer_survey_find(const struct peer_survey *survey,
                                        uint64_t id);

#endif
