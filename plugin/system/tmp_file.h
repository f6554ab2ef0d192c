/*
 * tmp_file.h - files that are being written under a name of their own.
 *
 * Each is locked by who writes it, until it is closed: others tell by that
 * whether it is still being written.  A process-id would tell less, where
 * containers share a directory.
 */
#ifndef HW_TMP_FILE_H
#define HW_TMP_FILE_H

#include <sys/types.h>

#define TMP_FILE_ENDING ".tmp"

enum { TMP_FILE_ROOM = 64 }; /* that a name takes beyond its stem, at most */

/* Makes, for writing, a file in dir whose name begins with stem and that nobody
 * else writes; its name into name (room of size).  -1 with errno. */
int tmp_file_make(int dir, const char *stem, mode_t mode, char *name,
                  size_t size);

/* Removes it, if nobody writes it any more; 0: it is gone, or is somebody's.
 * -1 with errno: it is in the way. */
int tmp_file_clean(int dir, const char *name);

#endif
