/* milestone.h - tells heapwire-run how far the database's start has come. */
#ifndef HW_MILESTONE_H
#define HW_MILESTONE_H

#include "agent_protocol.h"

/* Nothing where heapwire-run did not ask, or this is not the database. */
void milestone_tell(char *const *envp, enum agent_milestone milestone);

#endif
