/*
 * given_tables.h - the unwind tables that heapwired has given to this process.
 *
 * For the agent's thread alone.  Lists and tables are never freed, since
 * threads may be walking by them: there is a ceiling, after which no more is
 * accepted.
 */
#ifndef HW_GIVEN_TABLES_H
#define HW_GIVEN_TABLES_H

#include <stdbool.h>
#include <stdint.h>

struct given_tables; /* own_calls.h */

/*
 * Takes the table in a file that is sealed against shrinking and writing, for
 * the object that is loaded at an address; the descriptor stays the caller's.
 * 0, also where that object has one already; or an errno: ENOENT, nothing is
 * loaded there; EPERM, the file is not sealed; EINVAL, it is not that object's
 * table; ENOSPC, ENOMEM.
 */
int given_tables_add(int fd, uint64_t address);

/* Whether some object of the last list has been unloaded since, or differed
 * from the library's unwinder; or one was added. */
bool given_tables_changed(void);

/* The list of all that are usable now; NULL: there is none, or no room. */
const struct given_tables *given_tables_list(void);

/* How many objects differed; *path: the last of them, "" for the program. */
uint32_t given_tables_differed(const char **path);

#endif
