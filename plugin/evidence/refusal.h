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

#include "errors.h"

enum { REFUSAL_EVERY_MS = 600 * 1000 /* the same is logged again */ };

/* Zeroed: nothing was refused. */
struct refusal {
    char why[ERROR_TEXT_MAX];
    uint64_t at_ms; /* monotonic */
};

/* Whether this refusal is to be logged; true notes it as logged. */
bool refusal_is_reportable(struct refusal *refusal, const char *why,
                           uint64_t now_ms);

#endif
