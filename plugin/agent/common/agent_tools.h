/*
 * agent_tools.h - the agent's small tools: messages, clocks, /proc,
 * environment, settings.
 *
 * libc only, no heap: they run on the host's threads, and before libc is ready.
 */
#ifndef HW_AGENT_TOOLS_H
#define HW_AGENT_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent_protocol.h"

/* Writes one line "heapwire: ..." to the host's stderr, in a single write. */
void agent_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Disables messages from now on: the host may have opened a data file as
 * descriptor 2. */
void agent_quiet(void);

int64_t agent_monotonic_ms(void);
int64_t agent_wall_ms(void);

/* Fills in pid, start, boot and executable of this process. */
void agent_identify(struct agent_hello *hello);

/* The variable's value in an environment, or in one entry of it; NULL if
 * absent.  Works before libc is ready. */
const char *agent_env(char *const *envp, const char *name);
const char *agent_env_value(const char *entry, const char *name);
/* Copies the variable's value at the program's start, cut off at size; getenv()
 * would race with the host's setenv().  False if not set. */
bool agent_initial_env(const char *name, char *out, size_t size);

/* True if this process executes the file at path; false for NULL. */
bool agent_runs_file(const char *path);

/* Writes all bytes, however often that is interrupted.  0, or an errno. */
int agent_write_all(int fd, const char *bytes, size_t size);

/* Reads at most size - 1 bytes of a small file and a NUL behind them.  Returns
 * the length, or -1. */
int agent_read_small(const char *path, char *out, int size);

/* The agent's settings: "NAME=value" NUL ... NUL.  Each comes from the
 * environment or from heapwire_start()'s lines, and its name begins with
 * AGENT_ENV_PREFIX.  They work before libc is ready.  Both replace settings. 0;
 * E2BIG if they do not fit; EINVAL for a malformed line or without a usable
 * state directory. */
int agent_settings_take_lines(char settings[AGENT_SETTINGS_MAX],
                              const char *lines);
int agent_settings_take_environment(char settings[AGENT_SETTINGS_MAX],
                                    char *const *envp);
/* The value of the first setting of that name, or NULL. */
const char *agent_settings_get(const char *settings, const char *name);
/* The next value of that name after value, or NULL. */
const char *agent_settings_next(const char *value, const char *name);

#endif
