/*
 * own_jemalloc.c - a library with a jemalloc of its own, as DuckDB's and
 * polars'; elsewhere.sh links it with Debian's, whose functions it gives the
 * prefix engine_je_.
 *
 * Debian's is built with profiling and statistics.  To be one that is not, this
 * mallctl answers as such a build does: of what it lacks, ENOENT.  All else,
 * and every figure, is the real jemalloc's.
 *
 *     -DPROFILES=0     as built without --enable-prof
 *     -DSTATISTICS=0   as built with --disable-stats
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

int real_mallctl(const char *name, void *old, size_t *size, void *new,
                 size_t new_size);
int engine_je_mallctl(const char *name, void *old, size_t *size, void *new,
                      size_t new_size);
void *engine_je_malloc(size_t size);
int library_hold(unsigned long mb);

static const struct {
    const char *start;
    bool built;
} parts[] = {
    {"prof.", PROFILES},
    {"opt.prof", PROFILES},
    {"opt.lg_prof", PROFILES},
    {"thread.prof.", PROFILES},
    {"stats.", STATISTICS},
    {"thread.allocated", STATISTICS},
    {"thread.deallocated", STATISTICS},
};

static int
answer(bool fact, void *old, size_t *size)
{
    if (!old || *size != sizeof(fact))
        return EINVAL;
    *(bool *)old = fact;
    return 0;
}

int
engine_je_mallctl(const char *name, void *old, size_t *size, void *new,
                  size_t new_size)
{
    if (strcmp(name, "config.prof") == 0)
        return answer(PROFILES, old, size);
    if (strcmp(name, "config.stats") == 0)
        return answer(STATISTICS, old, size);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (!parts[i].built &&
            strncmp(name, parts[i].start, strlen(parts[i].start)) == 0)
            return ENOENT;
    return real_mallctl(name, old, size, new, new_size);
}

int
library_hold(unsigned long mb)
{
    enum { BLOCK = 10 << 20 }; /* twenty times a sample: none is missed */

    for (unsigned long held = 0; held < mb << 20; held += BLOCK) {
        void *block = engine_je_malloc(BLOCK);

        if (!block)
            return -1;
        memset(block, 1, BLOCK);
    }
    return 0;
}
