/*
 * recorder_switch.h - the recorder of this process (plugin/recorder), where
 * heapwire-run has preloaded it: profiling is switched in its segment.
 *
 * Then no jemalloc is asked to profile.  Without it all of this is inert.
 */
#ifndef HW_RECORDER_SWITCH_H
#define HW_RECORDER_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

/* Whether this process records: not in a forked child. */
bool recorder_switch_is_there(void);
/* It is such a child. */
bool recorder_switch_is_parents(void);

/* Whether the program's own malloc is led to it. */
bool recorder_switch_patched(void);
/* Why not, where heapwire-run has planned it; or "". */
const char *recorder_switch_why(void);

/* All that follow: where it is there. */
bool recorder_switch_active(void);
void recorder_switch_set(bool active);
uint32_t recorder_switch_lg_sample(void);
/* Forgets all samples; lg_sample from now on, or AGENT_LG_SAMPLE_SAME. */
void recorder_switch_reset(uint32_t lg_sample);

#endif
