/* stack_halves.c - see stack_halves.h. */
#include "stack_halves.h"

#include "errors.h"
#include "profile.h"
#include "thread.h"
#include "view_options.h"

enum { STACK_BYTES = 256 << 10 /* of a thread */ };

struct second_half {
    stack_walk *walk;
    void *half;
    size_t first, end;
    struct error err;
    int rc;
};

size_t
stack_halves_middle(const struct profile *profile)
{
    return profile->stack_count / 2;
}

bool
stack_halves_wanted(const struct profile *profile,
                    const struct view_options *options)
{
    return options->may_thread && profile->stack_count >= STACK_HALVES_MIN &&
           thread_cores() > 1;
}

static void *
walk_second(void *arg)
{
    struct second_half *second = arg;

    second->rc =
        second->walk(second->half, second->first, second->end, &second->err);
    return NULL;
}

int
stack_halves_walk(const struct profile *profile, bool at_once, stack_walk *walk,
                  void *first, void *second, struct error *err)
{
    struct second_half other = {.walk = walk,
                                .half = second,
                                .first = stack_halves_middle(profile),
                                .end = profile->stack_count};
    const struct thread_start start = {.name = "hw-walk",
                                       .stack_bytes = STACK_BYTES,
                                       .body = walk_second,
                                       .arg = &other};
    pthread_t thread;
    bool started = at_once && thread_start(&thread, &start, NULL) == 0;
    int rc = walk(first, 0, other.first, err);

    if (started)
        pthread_join(thread, NULL);
    else if (rc == 0)
        walk_second(&other);
    if (rc != 0 || other.rc == 0)
        return rc;
    if (err)
        *err = other.err;
    return -1;
}
