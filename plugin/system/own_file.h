/*
 * own_file.h - files in a directory that belongs to us, or to the user that we
 * gave it to.
 *
 * The directory's owner must not trick root into writing elsewhere, so files
 * are opened and made with the owner's rights.
 */
#ifndef HW_OWN_FILE_H
#define HW_OWN_FILE_H

#include <stdbool.h>
#include <sys/types.h>

/* dir/name, made 0600 where flags have O_CREAT.  -1 with errno; EPERM when it
 * is not a regular file with one name, closed to others, owned by the
 * directory's owner or by us.  Root accepts any owner: the directory may have
 * changed hands. */
int own_file_open(const char *dir, const char *name, int flags);

/* True if that errno of own_file_open means that something else has the name.
 */
bool own_file_is_foreign(int error);

/* Renames dir/name to dir/name.damaged, replacing an older one.  -1 with
 * errno. */
int own_file_set_aside(const char *dir, const char *name);

/*
 * Files that are being written under a name of their own.
 *
 * The writer holds a lock on the file until it closes it: the lock shows others
 * that it is still being written.  A process id would not, where containers
 * share a directory.
 */

#define TMP_FILE_ENDING ".tmp"

/* Makes a new file in dir, for this caller alone; its name, which begins with
 * stem, goes into name (room of size). -1 with errno. */
int tmp_file_make(int dir, const char *stem, mode_t mode, char *name,
                  size_t size);

/* Removes the file unless it is being written.  0: removed or in use; -1 with
 * errno: it cannot be removed. */
int tmp_file_clean(int dir, const char *name);

#endif
