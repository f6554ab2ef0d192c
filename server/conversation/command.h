/* command.h - what a packet means in the state a session is in. */
#ifndef HW_COMMAND_H
#define HW_COMMAND_H

#include "reader.h"

struct session;

/* One packet, whole and in order; the payload is borrowed for the call. */
void command_run(struct session *session, struct span packet);

#endif
