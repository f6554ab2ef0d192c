/* own_table.h - a descriptor table of the thread's own. */
#ifndef HW_OWN_TABLE_H
#define HW_OWN_TABLE_H

#include <stdbool.h>

/* Leaves the host's: closes all descriptors but the standard ones, and kept
 * (-1: none).  calls: enum confined_call; false: it may not. */
bool own_table_enter(unsigned calls, int kept);

/* Opens /dev/null as 0-2 where the host has closed them, so that ours get other
 * numbers; with replace, also in place of the host's. */
int own_table_null(bool replace);

#endif
