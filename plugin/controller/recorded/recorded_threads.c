/* recorded_threads.c - see recorded_threads.h. */
#include "recorded_threads.h"

#include <string.h>

#include "arena.h"
#include "clean_text.h"
#include "memory.h"
#include "reader.h"
#include "segment_read.h"

_Static_assert((int)HEAP_THREAD_NAME_MAX + 1 == (int)SEGMENT_NAME_MAX,
               "a name has room");

int
recorded_threads_init(struct recorded_threads *threads,
                      const struct segment_copy *copy, struct arena *arena)
{
    uint32_t places = segment_copy_count(copy, SEGMENT_THREADS);
    uint32_t room = places < HEAP_THREADS_MAX ? places + 1 : HEAP_THREADS_MAX;

    threads->copy = copy;
    threads->arena = arena;
    threads->list = arena_alloc(arena, room * sizeof(*threads->list));
    threads->numbers = mem_zalloc(places, sizeof(*threads->numbers));
    if (!threads->list || !threads->numbers)
        return -1;
    threads->list[threads->count++].name = "";
    return 0;
}

void
recorded_threads_fini(struct recorded_threads *threads)
{
    mem_free(threads->numbers);
    threads->numbers = NULL;
}

static int
add_thread(struct recorded_threads *threads, const struct segment_thread *from,
           uint32_t place)
{
    struct heap_thread *to = &threads->list[threads->count];
    size_t size = strnlen(from->name, HEAP_THREAD_NAME_MAX);
    char *name = arena_strndup(threads->arena, from->name, size);

    if (!name)
        return -1;
    clean_text((struct span){from->name, size}, name);
    *to = (struct heap_thread){from->tid, name};
    threads->numbers[place] = threads->count++;
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
        add_thread(threads, &thread, sample->thread) != 0)
        return -1;
    *number = threads->numbers[sample->thread];
    return 0;
}
