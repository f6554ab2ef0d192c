/*
 * daemon_check.h - finds what would stop a start, before anything starts;
 * reports on stderr.
 */
#ifndef HW_DAEMON_CHECK_H
#define HW_DAEMON_CHECK_H

struct account;
struct config;
struct config_faults;
struct error;

void daemon_say_faults(const struct config_faults *faults);
int daemon_say(const struct error *err); /* -1 */
/* Where the state directory is, if that is not its usual place. */
void daemon_say_note(const struct config *config);
/* *account: the user that config names, if it names one. */
int daemon_check_user(const struct config *config, struct account *account,
                      struct error *err);

#endif
