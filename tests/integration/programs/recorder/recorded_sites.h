/*
 * recorded_sites.h - live blocks by site, for programs that recorder.py runs.
 *
 * A site is a function in a section of its own.  sites_say() prints what lives:
 * "live NAME START END OBJECTS BYTES" a site, then "done".
 */
#ifndef RECORDED_SITES_H
#define RECORDED_SITES_H

#include <stddef.h>
#include <stdio.h>

struct site {
    const char *name, *start, *end;
    void *(*take)(size_t size);
    long objects, bytes;
};

/* Defines struct site site_NAME, whose take() evaluates call. */
#define SITE(name, call)                                                       \
    static __attribute__((noinline, section("at_" #name))) void *take_##name(  \
        size_t size)                                                           \
    {                                                                          \
        void *taken = call;                                                    \
                                                                               \
        __asm__ volatile("" : "+r"(taken), "+r"(size));                        \
        return taken;                                                          \
    }                                                                          \
    extern const char __start_at_##name[], __stop_at_##name[];                 \
    static struct site site_##name = {                                         \
        #name, __start_at_##name, __stop_at_##name, take_##name, 0, 0};

static inline void *
site_take(struct site *site, size_t size)
{
    void *taken = site->take(size);

    if (taken) {
        site->objects++;
        site->bytes += (long)size;
    }
    return taken;
}

/* The caller has freed such a block. */
static inline void
site_gone(struct site *site, size_t size)
{
    site->objects--;
    site->bytes -= (long)size;
}

static inline void
sites_say(struct site *const *sites, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("live %s %lx %lx %ld %ld\n", sites[i]->name,
               (unsigned long)sites[i]->start, (unsigned long)sites[i]->end,
               sites[i]->objects, sites[i]->bytes);
    printf("done\n");
    fflush(stdout);
}

#endif
