/*
 * recorded_threads.c - gives each live sample the thread that took it.
 *
 * A segment has a fixed number of thread slots, which ended threads leave to
 * new ones: by its generation a sample tells whether the slot is still its
 * thread's; if not, it goes to the unknown thread, number 0.  Only threads with
 * live samples get a number.  Names are the database's, so they are cleaned.
 */
#include "recorded_threads.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "clean_text.h"
#include "memory.h"
#include "reader.h"
#include "segment_read.h"

_Static_assert((int)HEAP_THREAD_NAME_MAX + 1 == (int)SEGMENT_NAME_MAX,
               "a name has room");

struct tid_holder {
    uint32_t tid, index;
    uint64_t started_ns;
};

static int
compare_holders(const void *a, const void *b)
{
    const struct tid_holder *x = a, *y = b;

    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->started_ns < y->started_ns ? -1 : x->started_ns > y->started_ns;
}

/* Marks threads whose tid the kernel has given to a younger one: a reader who
 * looks the tid up would find the wrong thread. */
static int
find_passed_on(struct recorded_threads *threads, uint32_t slot_count)
{
    struct tid_holder *holders = mem_zalloc(slot_count, sizeof(*holders));
    struct segment_thread thread;
    size_t count = 0;

    if (!holders)
        return -1;
    for (uint32_t i = 0; i < slot_count; i++)
        if (segment_copy_thread(threads->copy, i, &thread))
            holders[count++] =
                (struct tid_holder){thread.tid, i, thread.started_ns};
    if (count > 0)
        qsort(holders, count, sizeof(*holders), compare_holders);
    for (size_t i = 1; i < count; i++)
        if (holders[i - 1].tid == holders[i].tid)
            threads->passed_on[holders[i - 1].index] = true;
    mem_free(holders);
    return 0;
}

int
recorded_threads_init(struct recorded_threads *threads,
                      const struct segment_copy *copy, struct arena *arena)
{
    uint32_t slot_count = segment_copy_count(copy, SEGMENT_THREADS);
    uint32_t room =
        slot_count < HEAP_THREADS_MAX ? slot_count + 1 : HEAP_THREADS_MAX;

    threads->copy = copy;
    threads->arena = arena;
    threads->list = arena_alloc(arena, room * sizeof(*threads->list));
    threads->numbers = mem_zalloc(slot_count, sizeof(*threads->numbers));
    threads->passed_on = mem_zalloc(slot_count, sizeof(*threads->passed_on));
    if (!threads->list || !threads->numbers || !threads->passed_on ||
        find_passed_on(threads, slot_count) != 0)
        return -1;
    /* number 0: threads that are not known */
    threads->list[threads->count++].name = "";
    return 0;
}

void
recorded_threads_fini(struct recorded_threads *threads)
{
    mem_free(threads->numbers);
    mem_free(threads->passed_on);
    threads->numbers = NULL;
    threads->passed_on = NULL;
}

static int
add_recorded_thread(struct recorded_threads *threads,
                    const struct segment_thread *from, uint32_t index)
{
    struct heap_thread *to = &threads->list[threads->count];
    size_t size = strnlen(from->name, HEAP_THREAD_NAME_MAX);
    char *name = arena_strndup(threads->arena, from->name, size);

    if (!name)
        return -1;
    clean_text((struct span){from->name, size}, name);
    *to = (struct heap_thread){.tid = threads->passed_on[index] ? 0 : from->tid,
                               .name = name};
    threads->numbers[index] = threads->count++;
    return 0;
}

int
recorded_threads_find(struct recorded_threads *threads,
                      const struct segment_sample *sample, uint32_t *number)
{
    struct segment_thread thread;

    *number = 0;
    if (!segment_copy_thread(threads->copy, sample->thread, &thread) ||
        thread.generation != sample->thread_generation)
        return 0;
    if (threads->numbers[sample->thread] == 0 &&
        threads->count < HEAP_THREADS_MAX &&
        add_recorded_thread(threads, &thread, sample->thread) != 0)
        return -1;
    *number = threads->numbers[sample->thread];
    return 0;
}
