/* thread_stacks.c - stops each thread for a moment, and finds its callers once
 * it goes on. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "clock.h"
#include "errors.h"
#include "memory.h"
#include "sampler.h"
#include "thread_work.h"
#include "threads.h"

/* Mostly all threads have the same reason, which is kept once: without the
 * tid. */
static const char *
keep_why(struct thread_list *list, int32_t tid, const char *text,
         const char **last)
{
    char who[24], why[ERROR_TEXT_MAX + 8];
    const char *at;

    snprintf(who, sizeof(who), "thread %" PRId32, tid);
    at = strstr(text, who);
    if (at)
        snprintf(why, sizeof(why), "%.*sthe thread%s", (int)(at - text), text,
                 at + strlen(who));
    else
        snprintf(why, sizeof(why), "%s", text);
    if (strcmp(*last, why) != 0)
        *last = arena_strndup(list->arena, why, strlen(why));
    return *last;
}

static int
walk(struct thread_list *list, struct thread_entry *entry,
     const struct thread_copy *copy, const struct threads_options *options)
{
    uint64_t addresses[THREAD_DEPTH_MAX] MEM_UNSET;
    const char *why = "";
    uint32_t depth =
        options->walk(options->arg, copy, addresses, THREAD_DEPTH_MAX, &why);

    entry->why = why;
    if (depth == 0)
        return 0;
    entry->addresses =
        arena_copy(list->arena, addresses, depth * sizeof(addresses[0]));
    entry->depth = depth;
    return entry->addresses ? 0 : -1;
}

/* What could not be stopped keeps its place.  -1: no memory. */
static int
take_stack(struct thread_list *list, struct thread_entry *entry,
           struct thread_copy *copy, const struct threads_options *options,
           const char **last)
{
    bool gone = entry->state == 'Z' || entry->state == 'X';
    struct error failure;

    if (!gone && options->deadline_ms && clock_ms() >= options->deadline_ms) {
        entry->why = "there was no time left for it";
        return 0;
    }
    if (!gone &&
        ptrace_copy(options->pid, entry->tid, copy, &gone, &failure) == 0) {
        entry->pause_us = (uint32_t)copy->pause_us;
        list->stops++;
        list->pause_total_us += copy->pause_us;
        if (copy->pause_us > list->pause_max_us)
            list->pause_max_us = copy->pause_us;
        return walk(list, entry, copy, options);
    }
    entry->why =
        gone ? "it has ended" : keep_why(list, entry->tid, failure.text, last);
    return entry->why ? 0 : -1;
}

int
thread_stacks_take(struct thread_list *list,
                   const struct threads_options *options, struct error *err)
{
    /* 32 KB, and written by each copy. */
    struct thread_copy *copy = mem_alloc_unset(sizeof(*copy));
    const char *last = "";
    int rc = copy ? 0 : -1;

    for (size_t i = 0; i < list->count && rc == 0; i++) {
        if (options->cancelled && atomic_load(options->cancelled)) {
            error_set(err, ER_QUERY_INTERRUPTED,
                      "the stacks of threads were cancelled");
            mem_free(copy);
            return -1;
        }
        rc = take_stack(list, &list->list[i], copy, options, &last);
    }
    mem_free(copy);
    if (rc != 0)
        error_memory(err, "the stacks of threads");
    return rc;
}
