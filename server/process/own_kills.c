/* own_kills.c - see own_kills.h. */
#include "own_kills.h"

enum { OWN_MAX = 3 /* heapwired, its keeper and its symboliser */ };

void
own_kills_start(struct own_kills *own, uint64_t now_ms,
                struct stats_figure kills)
{
    own->before = own->next = kills;
    own->step_ms = now_ms;
}

void
own_kills_follow(struct own_kills *own, uint64_t now_ms,
                 struct stats_figure kills)
{
    if (now_ms - own->step_ms < OWN_KILLS_STEP_MS)
        return;
    own->before = own->next;
    own->next = kills;
    own->step_ms = now_ms;
}

uint64_t
own_kills_of(const struct own_kills *own, struct stats_figure kills,
             bool database_killed)
{
    uint64_t others = own->before.value + (database_killed ? 1 : 0);

    if (!kills.known || !own->before.known || kills.value <= others)
        return 0;
    return kills.value - others < OWN_MAX ? kills.value - others : OWN_MAX;
}
