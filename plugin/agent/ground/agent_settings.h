/*
 * agent_settings.h - the agent's settings: "NAME=value" NUL ... NUL.
 *
 * Each comes from the environment or from heapwire_start()'s lines, and its
 * name begins with AGENT_ENV_PREFIX.  No locks, no heap; works before libc is
 * ready.
 */
#ifndef HW_AGENT_SETTINGS_H
#define HW_AGENT_SETTINGS_H

#include "agent_protocol.h"

/* Both replace settings.  0; E2BIG if they do not fit; EINVAL for a malformed
 * line or without a usable state directory. */
int agent_settings_take_lines(char settings[AGENT_SETTINGS_MAX],
                              const char *lines);
int agent_settings_take_environment(char settings[AGENT_SETTINGS_MAX],
                                    char *const *envp);

/* The value of the first setting of that name, or NULL. */
const char *agent_settings_get(const char *settings, const char *name);
/* The next value of that name after value, or NULL. */
const char *agent_settings_next(const char *value, const char *name);

#endif
