/* pace.c - see pace.h. */
#include "pace.h"

#include "marks.h"

void
pace_look(struct pace *pace, struct marks_now *now)
{
    uint64_t past_ms = now->now_ms - pace->at_ms, growth = 0;

    now->growth = 0;
    if (pace->at_ms != 0 && past_ms < PACE_MIN_MS / 2)
        return;
    if (pace->at_ms != 0 && past_ms <= 2 * (uint64_t)PACE_MAX_MS &&
        now->used > pace->used)
        growth = (uint64_t)((double)(now->used - pace->used) * 1000 /
                            (double)past_ms);
    now->growth = growth < pace->growth ? growth : pace->growth;
    *pace = (struct pace){now->now_ms, now->used, growth};
}

uint64_t
pace_next_ms(const struct pace *pace, const struct marks_now *now)
{
    struct marks_now fast = *now;
    uint64_t step_ms;

    fast.growth = pace->growth;
    step_ms = marks_left_ms(&fast) / PACE_LOOKS;

    if (step_ms > PACE_MAX_MS)
        return PACE_MAX_MS;
    return step_ms < PACE_MIN_MS ? PACE_MIN_MS : step_ms;
}

bool
pace_is_urgent(const struct marks_now *now)
{
    return now->total > 0 &&
           (double)now->used * 100 >= PACE_URGENT_PERCENT * (double)now->total;
}
