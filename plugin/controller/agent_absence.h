/* agent_absence.h - what the records of the state directory say of a database
 * that has no agent, or had none that came to its main. */
#ifndef HW_AGENT_ABSENCE_H
#define HW_AGENT_ABSENCE_H

#include <stdbool.h>

struct agent_hello;
struct node_status;

/* Fills status->ending, of one that is gone, and status->note, where there may
 * be none for good; each only in the first seconds, and once. */
void agent_absence_look(const char *state_dir, struct node_status *status);

/* Whether the one that greeted was started without prof, because the one before
 * did not reach its main. */
bool agent_absence_restarted(const char *state_dir,
                             const struct agent_hello *hello);

#endif
