/* locate_host_api.c - see locate_host.h. */
#include "locate_host.h"

#include <string.h>

static volatile size_t asked;

int
MALLCTL(const char *name, void *old, size_t *size, void *new, size_t new_size)
{
    (void)new;
    asked += strlen(name) + new_size;
    memset(old, 0, *size);
    return 0;
}

int
NAMETOMIB(const char *name, size_t *mib, size_t *size)
{
    asked += strlen(name);
    *mib = *size;
    return 0;
}
