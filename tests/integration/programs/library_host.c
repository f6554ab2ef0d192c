/*
 * library_host.c - a program that loads libraries with a jemalloc of their own,
 * as Python does with a module's; for elsewhere.sh.
 *
 * By orders on its standard input, each answered with "held":
 *     own MB         holds so much by malloc
 *     load PATH MB   loads programs/own_jemalloc.c's library, which holds as
 * much
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_MB = 10 }; /* twenty times a sample: none is missed */

static void *volatile last;

__attribute__((noinline)) static int
hold_own(unsigned long mb)
{
    for (unsigned long held = 0; held < mb; held += BLOCK_MB) {
        last = malloc((size_t)BLOCK_MB << 20);
        if (!last)
            return -1;
        memset(last, 1, (size_t)BLOCK_MB << 20);
    }
    return 0;
}

static int
hold_in_library(const char *path, unsigned long mb)
{
    int (*hold)(unsigned long) = NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (library)
        hold = (int (*)(unsigned long))dlsym(library, "library_hold");
    if (!hold) {
        fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
    return hold(mb);
}

int
main(void)
{
    char line[4096], path[4096];
    unsigned long mb;
    int rc;

    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        if (sscanf(line, "own %lu", &mb) == 1)
            rc = hold_own(mb);
        else if (sscanf(line, "load %4095s %lu", path, &mb) == 2)
            rc = hold_in_library(path, mb);
        else
            rc = -1;
        if (rc != 0)
            return 1;
        puts("held");
        fflush(stdout);
    }
    return 0;
}
