/* milestone.h - reports milestones of the database's start to heapwire-run. */
#ifndef HW_MILESTONE_H
#define HW_MILESTONE_H

#include "agent_protocol.h"

/* Does nothing unless heapwire-run asked for it and this is the database. */
void milestone_tell(char *const *envp, enum agent_milestone milestone);

#endif
