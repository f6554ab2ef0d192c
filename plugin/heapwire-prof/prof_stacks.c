/* prof_stacks.c - see prof_stacks.h. */
#include "prof_stacks.h"

#include <stddef.h>

#include "errors.h"
#include "heap_dump.h"
#include "profile.h"
#include "thread.h"

enum {
    STACKS_MIN = 4096, /* fewer take no longer than starting a thread */
    STACKS_STACK = 256 << 10
};

static void *
begin(void *arg)
{
    struct prof_stacks *stacks = arg;

    stacks->begun = profile_begin(stacks->dump);
    return NULL;
}

void
prof_stacks_init(struct prof_stacks *stacks, struct heap_dump *dump)
{
    const struct thread_start start = {.name = "hw-stacks",
                                       .stack_bytes = STACKS_STACK,
                                       .body = begin,
                                       .arg = stacks};
    struct error err; /* without a thread it is done later */

    *stacks = (struct prof_stacks){.dump = dump};
    stacks->started = dump->stack_count >= STACKS_MIN && thread_cores() > 1 &&
                      thread_start(&stacks->thread, &start, &err) == 0;
}

static void
join(struct prof_stacks *stacks)
{
    if (stacks->started)
        pthread_join(stacks->thread, NULL);
    stacks->started = false;
}

struct profile *
prof_stacks_take(struct prof_stacks *stacks)
{
    struct profile *begun;

    if (!stacks->started)
        return profile_begin(stacks->dump);
    join(stacks);
    begun = stacks->begun;
    stacks->begun = NULL;
    return begun;
}

void
prof_stacks_fini(struct prof_stacks *stacks)
{
    join(stacks);
    profile_free(stacks->begun);
    stacks->begun = NULL;
}
