/* fake_memory_sampler.c - a watch that looks at nothing. */
#include "memory_sampler.h"

#include <stddef.h>

static char fake;

struct memory_sampler *
memory_sampler_start(struct controller *controller,
                     const struct memory_sampler_options *options,
                     struct error *err)
{
    (void)controller;
    (void)options;
    (void)err;
    return (struct memory_sampler *)&fake;
}

void
memory_sampler_stop(struct memory_sampler *sampler)
{
    (void)sampler;
}

struct history *
memory_sampler_history(struct memory_sampler *sampler)
{
    (void)sampler;
    return NULL;
}

struct budgets *
memory_sampler_budgets(struct memory_sampler *sampler)
{
    (void)sampler;
    return NULL;
}

void
memory_sampler_set_rules(struct memory_sampler *sampler,
                         const struct marks_rules *rules)
{
    (void)sampler;
    (void)rules;
}

int
memory_sampler_give(struct memory_sampler *sampler, uid_t uid, gid_t gid)
{
    (void)sampler;
    (void)uid;
    (void)gid;
    return 0;
}
