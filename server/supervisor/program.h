/*
 * program.h - the database's command: where it is.
 */
#ifndef HW_PROGRAM_H
#define HW_PROGRAM_H

#include <stdbool.h>

struct error;

/* As the shell finds name: by PATH unless it has a slash.  NULL with *err and
 * *exit_status 126 or 127; else to be freed with mem_free. */
char *program_find(const char *name, int *exit_status, struct error *err);

bool program_is_script(const char *path); /* #! */

/* Set-uid, set-gid or with file capabilities that the caller lacks: the loader
 * then ignores LD_PRELOAD and jemalloc MALLOC_CONF. */
bool program_secure(const char *path);

#endif
