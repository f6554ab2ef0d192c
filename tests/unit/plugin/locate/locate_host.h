/* locate_host.h - the functions of locate_host.c's jemalloc. */
#ifndef HW_LOCATE_HOST_H
#define HW_LOCATE_HOST_H

#include <stddef.h>

#define NAME_(prefix, name) prefix##name
#define NAME(prefix, name)  NAME_(prefix, name)
#define MALLCTL             NAME(HOST_PREFIX, mallctl)
#define NAMETOMIB           NAME(HOST_PREFIX, mallctlnametomib)

/* In the same file as their callers a compiler may make others of them, for
 * what those pass. */
#ifdef HOST_CLONES
#define API __attribute__((noinline)) static
#elif defined HOST_EXPORTS
#define API __attribute__((visibility("default")))
#else
#define API __attribute__((visibility("hidden")))
#endif

API int MALLCTL(const char *name, void *old, size_t *size, void *new,
                size_t new_size);
API int NAMETOMIB(const char *name, size_t *mib, size_t *size);

#ifdef HOST_CLONES
#include "locate_host_api.c"
#endif

#endif
