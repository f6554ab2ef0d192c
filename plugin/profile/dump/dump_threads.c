/*
 * dump_threads.c - see dump_threads.h.
 *
 * jemalloc numbers threads from 0 and never reuses a number, so a server with
 * short connections has large numbers with gaps: a hash table maps them to
 * indices, rather than an array.  Lists only grow, and every growth is charged
 * to the dump's arena, because the text is the program's and may have any
 * number of threads.  Past HEAP_THREADS_MAX a thread's share is counted for the
 * unknown thread instead of being refused: the bytes stay right.
 *
 * Runs inside heap_dump.c, on the thread that parses.
 */
#include "dump_threads.h"

#include <string.h>

#include "arena.h"
#include "clean_text.h"
#include "hash.h"
#include "memory.h"

enum { THREADS_FIRST = 64, SHARES_FIRST = 1024 /* powers of two */ };

/* Doubles the lists.  The first entry, made with the list, stands for all
 * threads that are not known. */
static int
grow_threads(struct dump_threads *t)
{
    struct heap_threads *threads = &t->dump->threads;
    size_t room = t->capacity > 0 ? t->capacity * 2 : THREADS_FIRST;
    struct heap_thread *list =
        arena_alloc(t->dump->arena, room * sizeof(*list));

    if (!list || hash_index_reserve(&t->numbers, room) != 0)
        return -1;
    if (t->capacity > 0)
        memcpy(list, t->list, threads->count * sizeof(*list));
    else
        list[threads->count++].name = "";
    t->list = list;
    t->capacity = room;
    threads->list = list;
    threads->numbered = true;
    return 0;
}

/* *thread is the thread's index in the list; 0, the unknown thread, if there
 * are too many. */
static int
find_or_add_dump_thread(struct dump_threads *t, uint64_t number,
                        uint32_t *thread)
{
    struct heap_threads *threads = &t->dump->threads;
    uint32_t hash = (uint32_t)hash_mix(hash_seed(t), number);
    struct hash_slot *slot;

    if (threads->count == t->capacity && t->capacity < HEAP_THREADS_MAX &&
        grow_threads(t) != 0)
        return -1;
    /* Entries keep number + 1, so that 0 is left for threads that jemalloc does
     * not number. */
    slot = hash_index_first(&t->numbers, hash);
    while (slot->entry && t->list[slot->entry - 1].number != number + 1)
        slot = hash_index_next(&t->numbers, slot);
    *thread = 0;
    if (slot->entry == 0 &&
        (threads->count == t->capacity || number == UINT64_MAX))
        return 0;
    if (slot->entry == 0) {
        t->list[threads->count] =
            (struct heap_thread){.name = "", .number = number + 1};
        *slot = (struct hash_slot){(uint32_t)++threads->count, hash};
    }
    *thread = slot->entry - 1;
    return 0;
}

int
dump_threads_name(struct dump_threads *t, uint64_t number, struct span name)
{
    uint32_t thread;
    char *copy;

    if (find_or_add_dump_thread(t, number, &thread) != 0)
        return -1;
    name = span_trim(name);
    if (thread == 0 || name.size == 0)
        return 0;
    if (name.size > HEAP_THREAD_NAME_MAX)
        name.size = HEAP_THREAD_NAME_MAX;
    copy = arena_strndup(t->dump->arena, name.data, name.size);
    if (!copy)
        return -1;
    clean_text(name, copy);
    t->list[thread].name = copy;
    return 0;
}

static int
grow_shares(struct dump_threads *t)
{
    size_t room = t->share_capacity > 0 ? t->share_capacity * 2 : SHARES_FIRST;
    struct heap_share *shares;

    if (!arena_charge(t->dump->arena,
                      (room - t->share_capacity) * sizeof(*shares)))
        return -1;
    shares = mem_realloc(t->dump->shares, room * sizeof(*shares));
    if (!shares)
        return -1;
    t->dump->shares = shares;
    t->share_capacity = room;
    return 0;
}

int
dump_threads_share(struct dump_threads *t, uint64_t number, uint64_t objects,
                   uint64_t bytes)
{
    struct heap_dump *dump = t->dump;
    uint32_t thread;

    /* A list that ends too soon is noticed by profile.c, which then knows no
     * threads of the later stacks. */
    if (objects == 0 || dump->share_count == HEAP_DUMP_SHARES_MAX)
        return 0;
    if (dump->share_count == t->share_capacity && grow_shares(t) != 0)
        return -1;
    if (find_or_add_dump_thread(t, number, &thread) != 0)
        return -1;
    dump->shares[dump->share_count++] = (struct heap_share){
        (uint32_t)dump->stack_count - 1, thread, objects, bytes};
    return 0;
}

void
dump_threads_fini(struct dump_threads *t)
{
    hash_index_fini(&t->numbers);
}
