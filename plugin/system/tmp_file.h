/*
 * tmp_file.h - files that are being written under a name of their own.
 *
 * The writer holds a lock on the file until it closes it: the lock shows others
 * that it is still being written.  A process id would not, where containers
 * share a directory.
 */
#ifndef HW_TMP_FILE_H
#define HW_TMP_FILE_H

#include <sys/types.h>

#define TMP_FILE_ENDING ".tmp"

enum { TMP_FILE_ROOM = 64 }; /* that a name takes beyond its stem, at most */

/* Makes a new file in dir, for this caller alone; its name, which begins with
 * stem, goes into name (room of size). -1 with errno. */
int tmp_file_make(int dir, const char *stem, mode_t mode, char *name,
                  size_t size);

/* Removes the file unless it is being written.  0: removed or in use; -1 with
 * errno: it cannot be removed. */
int tmp_file_clean(int dir, const char *name);

#endif
