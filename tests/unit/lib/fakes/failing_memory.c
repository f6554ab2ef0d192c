/*
 * failing_memory.c - linked with --wrap: from SIGUSR1 on, about one allocation
 * in HW_FAIL_EVERY fails; SIGUSR2 ends that.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "memory.h"

void *__wrap_mem_alloc(size_t size);
void *__wrap_mem_alloc_unset(size_t size);
void *__wrap_mem_zalloc(size_t count, size_t size);
void *__wrap_mem_realloc(void *old, size_t size);
void *__real_mem_alloc(size_t size);
void *__real_mem_alloc_unset(size_t size);
void *__real_mem_zalloc(size_t count, size_t size);
void *__real_mem_realloc(void *old, size_t size);

static atomic_bool armed;
static atomic_uint calls;
static unsigned every;

static void
on_signal(int number)
{
    atomic_store(&armed, number == SIGUSR1);
}

static __attribute__((constructor)) void
prepare(void)
{
    const char *text = getenv("HW_FAIL_EVERY");
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    every = text ? (unsigned)strtoul(text, NULL, 10) : 0;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
}

/* Scattered, not periodic, or every login would fail at the same step. */
static bool
fails(void)
{
    unsigned n;

    if (!every || !atomic_load(&armed))
        return false;
    n = atomic_fetch_add(&calls, 1) * 2654435761U; /* Knuth's hash */
    return (n >> 8) % every == 0;
}

void *
__wrap_mem_alloc(size_t size)
{
    return fails() ? NULL : __real_mem_alloc(size);
}

void *
__wrap_mem_alloc_unset(size_t size)
{
    return fails() ? NULL : __real_mem_alloc_unset(size);
}

void *
__wrap_mem_zalloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_mem_zalloc(count, size);
}

void *
__wrap_mem_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_mem_realloc(old, size);
}
