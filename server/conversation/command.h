/* command.h - what a packet means in the state a session is in. */
#ifndef HW_COMMAND_H
#define HW_COMMAND_H

struct conversation;

/* What server_init is given: logins, commands and statements. */
extern const struct conversation conversation;

#endif
