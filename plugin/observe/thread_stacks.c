/*
 * thread_stacks.c - copies each thread's stack, and finds its callers; see
 * thread_work.h.
 *
 * A thread that waits in a system call is not stopped, at first: /proc says
 * where its stack and its code are, and its stack does not change while it
 * waits.  Stopping all of a database's threads would cost each of them some 10
 * us, and most of them wait.  Only where the callers cannot be found without
 * more registers, or the thread ran meanwhile, it is stopped for a moment, in a
 * second round.
 *
 * Copies are made by the dozen (thread_tracer.h) and unwound here, on the
 * caller's thread, while the threads run on.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "clock.h"
#include "errors.h"
#include "memory.h"
#include "sample_task.h"
#include "sampler.h"
#include "thread_tracer.h"
#include "thread_work.h"
#include "threads.h"

struct stacks {
    struct thread_list *list;
    const struct threads_options *options;
    struct thread_wanted *wanted;
    size_t *indices;    /* the wanted threads' indices in list */
    size_t count, next; /* how many are wanted in this round; in the next */
    uint8_t *deep;
    const char *last; /* the last reason, as most threads have the same */
    struct thread_tracer *tracer;
};

/* Returns a lasting copy of the reason.  Mostly all threads have the same one,
 * so the tid is taken out of it, and the text is kept once. */
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

/* Whether the thread still waits as when it was copied.  If it was not stopped,
 * it must not have run since.  A stop itself counts as a run, so of one that
 * was stopped sp and pc must be the same. */
static bool
waits_there(const struct thread_entry *entry, const struct thread_copy *copy)
{
    const uint64_t *values = copy->registers.values;
    struct sample_times now;
    uint64_t sp, pc;

    if (copy->registers.missing)
        return sample_task_times(entry->pid, entry->tid, &now) &&
               now.slices == copy->slices;
    return sample_task_waits(entry->pid, entry->tid, &sp, &pc) &&
           sp == values[REGISTER_SP] && pc == values[REGISTER_PC];
}

/* Reads the rest of a stack that is deeper than its copy, without a longer
 * stop.  Only if the thread has waited all along are the bytes of the copy's
 * moment; otherwise they are not used. */
static bool
read_further(const struct stacks *s, const struct thread_entry *entry,
             struct thread_copy *copy)
{
    struct thread_stack *stack = &copy->stack;
    size_t n;

    if (stack->size < SAMPLER_STACK_BYTES)
        return false;
    n = sample_task_memory(entry->tid, stack->start + stack->size,
                           s->deep + SAMPLER_STACK_BYTES, SAMPLE_MEMORY_MAX);
    if (n == 0 || !waits_there(entry, copy))
        return false;
    memcpy(s->deep, stack->bytes, stack->size);
    stack->bytes = s->deep;
    stack->size += n;
    return true;
}

static int
find_callers(const struct stacks *s, struct thread_entry *entry,
             struct thread_copy copy, enum unwind_end *end)
{
    const struct threads_options *options = s->options;
    uint64_t addresses[THREAD_DEPTH_MAX] MEM_UNSET;
    uint32_t depth =
        options->walk(options->arg, &copy, addresses, THREAD_DEPTH_MAX, end);

    if (*end == UNWIND_END_STACK && read_further(s, entry, &copy))
        depth = options->walk(options->arg, &copy, addresses, THREAD_DEPTH_MAX,
                              end);
    entry->why = unwind_end_text(*end);
    if (depth == 0)
        return 0;
    entry->addresses =
        arena_copy(s->list->arena, addresses, depth * sizeof(addresses[0]));
    entry->depth = depth;
    return entry->addresses ? 0 : -1;
}

/* Adds the thread to the next round.  Its slot is at most that of a thread of
 * this round that was looked at, so nothing unread is overwritten. */
static void
request_copy(struct stacks *s, size_t index, bool unstopped)
{
    const struct thread_entry *entry = &s->list->list[index];

    s->wanted[s->next] =
        (struct thread_wanted){entry->pid, entry->tid, entry->state, unstopped};
    s->indices[s->next++] = index;
}

static int
unwind_thread_copy(struct stacks *s, size_t place,
                   const struct thread_copy *copy)
{
    struct thread_list *list = s->list;
    struct thread_entry *entry = &list->list[place];
    enum unwind_end end = UNWIND_END_OUTERMOST;
    int rc = find_callers(s, entry, *copy, &end);

    if (copy->registers.missing) {
        /* A rule needed a register that /proc does not tell. */
        if (end == UNWIND_END_RULE)
            request_copy(s, place, false);
        return rc;
    }
    entry->pause_us = (uint32_t)copy->pause_us;
    list->stops++;
    list->pause_total_us += copy->pause_us;
    if (copy->pause_us > list->pause_max_us)
        list->pause_max_us = copy->pause_us;
    return rc;
}

/* Copies and unwinds a batch from first on; returns how many are dealt with,
 * including one that failed, whose why is set.  0: no memory. */
static size_t
copy_stack_batch(struct stacks *s, size_t first)
{
    struct thread_entry *entry;
    struct thread_copies copies;
    size_t i;

    thread_tracer_copy(&s->tracer, &s->wanted[first], s->count - first,
                       &copies);
    for (i = 0; i < copies.count; i++)
        if (unwind_thread_copy(s, s->indices[first + i], &copies.list[i]) != 0)
            return 0;
    if (!copies.failed)
        return i;
    entry = &s->list->list[s->indices[first + i]];
    entry->why = copies.gone
                     ? "it has ended"
                     : keep_why(s->list, entry->tid, copies.err.text, &s->last);
    return entry->why ? i + 1 : 0;
}

static int
copy_wanted_stacks(struct stacks *s, struct error *err)
{
    const struct threads_options *options = s->options;
    size_t i = 0, taken;

    s->count = s->next;
    s->next = 0; /* request_copy() fills the front of the same arrays */
    while (i < s->count) {
        if (options->cancelled && atomic_load(options->cancelled)) {
            error_set(err, ER_QUERY_INTERRUPTED,
                      "the stacks of threads were cancelled");
            return -1;
        }
        if (options->deadline_ms && clock_ms() >= options->deadline_ms) {
            s->list->list[s->indices[i++]].why =
                "there was no time left for it";
            continue;
        }
        taken = copy_stack_batch(s, i);
        if (taken == 0) {
            error_memory(err, "the stacks of threads");
            return -1;
        }
        i += taken;
    }
    return 0;
}

static int
copy_thread_stacks(struct stacks *s, struct error *err)
{
    for (size_t i = 0; i < s->list->count; i++) {
        char state = s->list->list[i].state;

        request_copy(s, i, state == 'S' || state == 'D');
    }
    if (copy_wanted_stacks(s, err) != 0)
        return -1;
    /* the second round: those that request_copy() added in the first */
    return copy_wanted_stacks(s, err);
}

int
thread_stacks_take(struct thread_list *list,
                   const struct threads_options *options, struct error *err)
{
    struct stacks s = {.list = list, .options = options, .last = ""};
    int rc = -1;

    s.wanted = mem_zalloc(list->count, sizeof(*s.wanted));
    s.indices = mem_zalloc(list->count, sizeof(*s.indices));
    s.deep = mem_alloc_unset(SAMPLER_STACK_BYTES + SAMPLE_MEMORY_MAX);
    if (s.wanted && s.indices && s.deep)
        rc = copy_thread_stacks(&s, err);
    else
        error_memory(err, "the stacks of threads");
    thread_tracer_free(s.tracer);
    mem_free(s.wanted);
    mem_free(s.indices);
    mem_free(s.deep);
    return rc;
}
