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

#endif
