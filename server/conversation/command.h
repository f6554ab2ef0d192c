/* command.h - what a packet means in the session's state. */
#ifndef HW_COMMAND_H
#define HW_COMMAND_H

struct conversation;

/* For session_accept: logins, commands and statements. */
extern const struct conversation conversation;

#endif
