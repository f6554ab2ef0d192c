/* agent_absence.c - see agent_absence.h. */
#include "agent_absence.h"

#include <stddef.h>
#include <stdio.h>

#include "agent_protocol.h"
#include "clock.h"
#include "deaths.h"
#include "node_status.h"

enum {
    DEATHS_LOOKED_AT = 4,
    ENDING_MS = 5000, /* for the parent's record of the end */
    ABSENCE_MS = 20000
};

/* Its parent may write the record a little later, or never. */
static void
look_for_ending(const char *state_dir, struct node_status *status)
{
    struct death last[DEATHS_LOOKED_AT];
    size_t count;

    if (*status->ending || clock_wall_ms() - status->since_ms > ENDING_MS)
        return;
    count = deaths_read(state_dir, last, DEATHS_LOOKED_AT);
    for (size_t i = 0; i < count; i++)
        if (last[i].pid == status->hello.pid && !last[i].unknown &&
            last[i].at_ms >= status->hello.started_ms)
            death_describe(&last[i], status->ending, sizeof(status->ending));
}

/* The record is written a little after the end, within the first seconds of the
 * database. */
static void
look_for_restart(const char *state_dir, struct node_status *status)
{
    struct death last;

    if (*status->note || clock_wall_ms() - status->since_ms > ABSENCE_MS ||
        deaths_read(state_dir, &last, 1) != 1 ||
        last.restarted != DEATH_WITHOUT_HEAPWIRE)
        return;
    snprintf(status->note, sizeof(status->note),
             "%s was started again without heapwire in it, for with it it died "
             "of signal %d before it served (heapwire.deaths has more)",
             last.program, (int)last.code);
}

void
agent_absence_look(const char *state_dir, struct node_status *status)
{
    if (status->state == NODE_GONE)
        look_for_ending(state_dir, status);
    else if (status->state == NODE_ABSENT)
        look_for_restart(state_dir, status);
}

bool
agent_absence_restarted(const char *state_dir, const struct agent_hello *hello)
{
    struct death last;

    return deaths_read(state_dir, &last, 1) == 1 &&
           last.restarted == DEATH_WITHOUT_OPTIONS &&
           last.at_ms <= hello->started_ms;
}
