/*
 * heapwire.h - starts and stops heapwire's agent in the calling program.
 *
 * The agent is one thread of this process: it serves heapwired on a socket in
 * the state directory.  All functions may be called from any thread, also
 * before main, but not from a signal handler.  They never wait longer than two
 * seconds, print nothing, and return 0 or an errno.
 *
 * A program that changes its user or group ids after PR_SET_KEEPCAPS calls
 * heapwire_stop() before and heapwire_start() after: glibc changes the agent's
 * thread, too, and aborts where that thread may not.  When the main thread
 * gives up capabilities or sets no_new_privs, the agent's thread does the same
 * within two seconds.  It ends when the main thread installs a seccomp filter,
 * or when an earlier filter may forbid the calls that this needs.
 *
 * A library that contains the agent stays loaded from the first start on.
 */
#ifndef HEAPWIRE_H
#define HEAPWIRE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEAPWIRE_API __attribute__((visibility("default")))

/* jemalloc's mallctl(). */
typedef int heapwire_mallctl(const char *name, void *old, size_t *old_size,
                             void *value, size_t value_size);

/*
 * Names the jemalloc to profile, before the start, in a program without dynamic
 * symbols (linked statically).  prefix is what that jemalloc was configured
 * with: "" where its function is called mallctl, "je_" for je_mallctl.  The
 * call reads its "version" only.  NULL: look it up by name again.
 *
 * A program linked with glibc by -static must not be started with prof:true:
 * jemalloc's unwinder aborts there (jemalloc issue 2454).  It has statistics,
 * and no profiles.
 *
 * EALREADY   the agent is running
 * EAGAIN     another thread is in one of these functions
 * EINVAL     that is not the mallctl of a jemalloc, or the prefix is too long
 */
HEAPWIRE_API int heapwire_use(heapwire_mallctl *mallctl, const char *prefix);

/*
 * Starts the agent.  settings are lines NAME=value; NULL: the variables of the
 * environment that are called HEAPWIRE_...  They are copied.
 *
 *     HEAPWIRE_STATE_DIR   needed: an absolute path, a directory that only its
 *                          owner may write to
 *     HEAPWIRE_HEAPWIRED   the path of heapwired, which the agent is to start
 *                          and start again, as long as no other serves that
 *                          directory; what it says while it starts is in
 *                          start.log there
 *     HEAPWIRE_OPTION      an option of it, as --config=FILE or --listen=none;
 *                          as many of these lines as there are options
 *     HEAPWIRE_DUMPABLE    "no": never makes the program dumpable, not even for
 *                          the seconds that a profile of time takes
 *
 * EALREADY   it runs in this process
 * EAGAIN     another thread is in one of these functions
 * EINVAL     not lines of that kind, or no absolute path where one is needed
 * E2BIG      more than 16 KiB of settings
 * EBUSY      another process serves that directory
 * EPERM      others may write to that directory, or it is another user's
 * ETIMEDOUT  it has not answered within two seconds; it may come yet
 * others     opening the directory or creating the thread failed: ENOENT, ...
 */
HEAPWIRE_API int heapwire_start(const char *settings);

/*
 * Ends the agent: profiling that was switched on through it is off, its
 * descriptors and its socket are gone, and it may be started again; a heapwired
 * that it started ends soon.  0 also where none runs.
 *
 * EAGAIN     another thread is in one of these functions
 * ETIMEDOUT  it has not ended within two seconds, because it writes a profile:
 *            it ends afterwards, and another call can wait for that
 */
HEAPWIRE_API int heapwire_stop(void);

#ifdef __cplusplus
}
#endif

#endif
