/* refusal.c - see refusal.h. */
#include "refusal.h"

#include <stdio.h>
#include <string.h>

bool
refusal_is_reportable(struct refusal *refusal, const char *why, uint64_t now_ms)
{
    if (strncmp(refusal->why, why, sizeof(refusal->why) - 1) == 0 &&
        now_ms - refusal->at_ms < REFUSAL_EVERY_MS)
        return false;
    snprintf(refusal->why, sizeof(refusal->why), "%s", why);
    refusal->at_ms = now_ms;
    return true;
}
