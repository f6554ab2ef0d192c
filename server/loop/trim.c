/*
 * trim.c - see trim.h.  malloc_trim() walks every heap, so it runs once after a
 * burst, and only if the process is large.
 */
#include "trim.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

/* Resident bytes, from the second figure of statm; 0: unknown. */
static size_t
bytes_in_memory(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long long pages = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%*s %llu", &pages) != 1)
        pages = 0;
    fclose(file);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

void
trim_init(void)
{
    /* Setting it stops glibc from raising it by itself: that keeps up to twice
     * as much at the end of each thread's heap, where malloc_trim releases
     * nothing. */
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's has a lock */
    (void)mallopt(M_MMAP_THRESHOLD, TRIM_MMAP_THRESHOLD);
}

void
trim_note(struct trim *trim, uint64_t now_ms)
{
    if (trim->due_ms == 0)
        trim->due_ms = now_ms + TRIM_MS;
}

bool
trim_take(struct trim *trim, uint64_t now_ms)
{
    if (trim->due_ms == 0 || now_ms < trim->due_ms)
        return false;
    trim->due_ms = 0;
    return bytes_in_memory() > TRIM_BYTES;
}

void
trim_run(void)
{
    (void)malloc_trim(0);
}
