/*
 * locate_host.c - a program with what the texts and the code of a jemalloc look
 * like, under a prefix of our choice: what test_locate looks for.  No jemalloc.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locate_host.h"

__attribute__((noinline)) static void
emit(const char *key, const char *name, const void *value)
{
    printf("%s %s %p\n", key, name, value);
}

/* What a tool that moved the code leaves behind: a call of an address where no
 * function starts any more. */
#if defined HOST_MOVED && defined __x86_64__
#define STALE(name)                                                            \
    __asm__ volatile("jmp 1f; lea %0, %%rdi; xor %%r8d, %%r8d; call main+1\n"  \
                     "1:" ::"m"(name[0]))
#else
#define STALE(name) (void)name
#endif

/* As stats_print does: prints the name, and the value if there is one. */
#define PRINT(name)                                                            \
    do {                                                                       \
        size_t value = 0, size = sizeof(value);                                \
        STALE(name);                                                           \
        if (MALLCTL(name, &value, &size, NULL, 0) == 0)                        \
            emit("key", name, &value);                                         \
    } while (0)

int
main(void)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe) */
    const char *options = getenv(HOST_VARIABLE);
    size_t mib[4], size = 4;

    printf("<jemalloc>: %s\nheap_v2/%u\n%s\n", options ? options : "", 1u,
           HOST_OPTIONS);
    PRINT("config.debug");
    PRINT("config.fill");
    PRINT("config.prof");
    PRINT("config.stats");
    PRINT("opt.abort");
    PRINT("opt.abort_conf");
    PRINT("opt.dss");
    PRINT("opt.narenas");
    PRINT("opt.prof");
    PRINT("opt.prof_active");
    PRINT("opt.lg_prof_sample");
    PRINT("opt.zero");
    PRINT("arenas.narenas");
    PRINT("arenas.page");
    PRINT("stats.allocated");
    PRINT("stats.resident");
    NAMETOMIB("stats.mapped", mib, &size);
    return 0;
}
