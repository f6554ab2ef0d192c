/*
 * find_malloc.c - a _dl_find_object that allocates: to be preloaded behind the
 * recorder, whose unwinder calls it in the course of a sample.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

static int (*real)(void *pc, struct dl_find_object *result);
static __thread int within;

static __attribute__((constructor)) void
find_real(void)
{
    void *found = dlsym(RTLD_NEXT, "_dl_find_object");

    memcpy(&real, &found, sizeof(real)); // NOLINT(bugprone-sizeof-expression)
}

/* By another name here: the header's parameters have names of their own. */
EXPORTED int
find_object(void *pc, struct dl_find_object *result) __asm__("_dl_find_object");

/* What it allocates is not sampled: else it would come here again. */
int
find_object(void *pc, struct dl_find_object *result)
{
    if (within++ > 0)
        abort();
    free(malloc(24));
    within--;
    return real ? real(pc, result) : -1;
}
