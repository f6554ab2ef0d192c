/*
 * handover.h - what a thread that steps aside leaves to the next one.
 *
 * No thread of ours may be there while the host changes its ids or its sandbox,
 * and afterwards the socket's directory may be out of reach: so the state is
 * copied, and the descriptors wait in a socket of the host's table for as long
 * as the host's call takes.
 *
 * open and close: the host's thread, before the end of one and after the start
 * of the next.
 */
#ifndef HW_HANDOVER_H
#define HW_HANDOVER_H

#include <stdbool.h>

struct agent;

/* state_dir: NULL, or where no other process may take the lock meanwhile. */
void handover_open(const char *state_dir);
int handover_socket(void); /* -1: none */
void handover_close(void);

/* The thread's last act; false: nothing could be left.  It needs no socket in a
 * shared descriptor table. */
bool handover_give(struct agent *agent);
/* The next thread's: the state, without the descriptors of a table of its own;
 * false: nothing was left. */
bool handover_read(struct agent *agent);
/* Where no thread comes: what was left, or NULL.  It is forgotten, and its
 * descriptors of a table of its own are nobody's. */
struct agent *handover_drop(void);
/* The descriptors, in the thread's own table.  0, or an errno. */
int handover_take(struct agent *agent);

void handover_forget(void);

#endif
