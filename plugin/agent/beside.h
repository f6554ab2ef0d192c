/*
 * beside.h - starts heapwired from the agent, where nothing else starts it.
 *
 * While no heapwired is connected, and none holds the state directory's lock,
 * the agent starts one: at once, then after a pause that grows.  The new
 * process is not the host's child: the host gets no SIGCHLD, and its wait calls
 * find nothing.  Its messages during the start go to start.log.
 */
#ifndef HW_BESIDE_H
#define HW_BESIDE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    BESIDE_OPTIONS_MAX = 32,
    BESIDE_PAUSE_MIN_MS = 1000,
    BESIDE_PAUSE_MAX_MS = 60000
};

struct beside {
    const char *settings; /* borrowed: agent_settings.h */
    int directory;        /* the channel's */
    int64_t due_ms;       /* monotonic: time of the next attempt; 0: none */
    int64_t pause_ms;     /* the latest pause between attempts */
};

/* Checks the settings.  0, or an errno that says why they cannot work. */
int beside_check(const char *settings);

void beside_begin(struct beside *beside, const char *settings, int directory);
/* Starts heapwired when that is due.  Returns the milliseconds until the next
 * call is due, or -1. */
int beside_tick(struct beside *beside, bool connected);
/* Asks a heapwired that an agent started to end. */
void beside_end(const struct beside *beside);

#endif
