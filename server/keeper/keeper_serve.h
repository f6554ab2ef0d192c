/*
 * keeper_serve.h - the keeper itself: see keeper.h.
 *
 * Only this process reads the configuration file, the files of secrets and the
 * keys.  It has no descriptor but its socket, leaves no core, cannot be traced
 * by others of its user, and ends with heapwired.
 */
#ifndef HW_KEEPER_SERVE_H
#define HW_KEEPER_SERVE_H

#include <stdbool.h>

struct arguments;

/* Was this program started as a keeper? */
bool keeper_is_meant(const char *name);
/* Before anything is read or allocated. */
void keeper_harden(void);
/* Answers on KEEPER_FD until heapwired is gone; the exit status. */
int keeper_serve(const struct arguments *arguments);

#endif
