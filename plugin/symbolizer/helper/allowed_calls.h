/* allowed_calls.h - what the helper may ask of the kernel. */
#ifndef HW_ALLOWED_CALLS_H
#define HW_ALLOWED_CALLS_H

/* From now on the process, with all threads to come, may read files, compute,
 * and talk over the descriptors that it has: all else fails with EPERM.  Needs
 * PR_SET_NO_NEW_PRIVS; -1 where the kernel has no filters or refuses another.
 */
int allowed_calls_only(void);

#endif
