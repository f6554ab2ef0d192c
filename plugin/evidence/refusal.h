/*
 * refusal.h - the reason of the last refused snapshot that was logged.
 *
 * Attempts follow each other as fast as the rules allow: the same refusal is
 * not logged each time.
 */
#ifndef HW_REFUSAL_H
#define HW_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "errors.h"

enum { REFUSAL_EVERY_MS = 600 * 1000 }; /* then the same is logged again */

/* Zeroed: nothing was refused. */
struct refusal {
    char why[ERROR_TEXT_MAX];
    uint64_t at_ms; /* monotonic */
};

/* Whether this refusal is to be logged; true notes it as logged. */
static inline bool
refusal_note(struct refusal *refusal, const char *why, uint64_t now_ms)
{
    if (strncmp(refusal->why, why, sizeof(refusal->why) - 1) == 0 &&
        now_ms - refusal->at_ms < REFUSAL_EVERY_MS)
        return false;
    snprintf(refusal->why, sizeof(refusal->why), "%s", why);
    refusal->at_ms = now_ms;
    return true;
}

#endif
