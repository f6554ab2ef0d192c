/*
 * profile_root.h - a profile whose stacks begin with the thread, or the pool of
 * threads, that allocated.
 *
 * So every form, difference and sum is by thread without knowing of threads: a
 * stack becomes as many as it has threads, each with an outermost frame "thread
 * 4711 worker-1" (of jemalloc's own numbers "thread #7 worker-1"), or "pool
 * worker-*", or both.
 */
#ifndef HW_PROFILE_ROOT_H
#define HW_PROFILE_ROOT_H

#include <stdbool.h>

struct error;
struct profile;
struct view_options;

/* "pool worker-*": a frame's name begins so. */
#define PROFILE_POOL      "pool "
#define PROFILE_NO_POOL   "unknown pool"
#define PROFILE_NO_THREAD "unknown thread"

/* The roots that options ask for: PROFILE_BY_*. */
unsigned profile_roots(const struct view_options *options);

/* Makes *out, the profile by thread or by pool as options ask, which the caller
 * frees.  *out is NULL if options ask for neither, or profile has these roots
 * already, or is empty.  It borrows profile's names, and does not have what was
 * ever allocated.  -1 with *err: no memory, the threads of profile are not
 * known, or options count what was ever allocated. */
int profile_root(const struct profile *profile,
                 const struct view_options *options, struct profile **out,
                 struct error *err);

/* Why the threads of a profile without parts are not known. */
const char *profile_no_threads(const struct profile *profile);

#endif
