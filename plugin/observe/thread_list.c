/* thread_list.c - see threads.h: what a list is, however it was taken, and
 * which of its threads have equal stacks. */
#include "threads.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "memory.h"
#include "names.h"

struct thread_list *
thread_list_ref(struct thread_list *list)
{
    atomic_fetch_add_explicit(&list->references, 1, memory_order_relaxed);
    return list;
}

void
thread_list_unref(struct thread_list *list)
{
    if (!list || atomic_fetch_sub_explicit(&list->references, 1,
                                           memory_order_acq_rel) > 1)
        return;
    names_free(list->names);
    arena_free(list->arena); /* list lies in it */
}

static int
compare_by_tid(const void *left, const void *right)
{
    const struct thread_entry *a = left, *b = right;

    return (a->tid > b->tid) - (a->tid < b->tid);
}

const struct thread_entry *
thread_list_find(const struct thread_list *list, int32_t tid)
{
    const struct thread_entry key = {.tid = tid};

    return list->count > 0 ? bsearch(&key, list->list, list->count,
                                     sizeof(*list->list), compare_by_tid)
                           : NULL;
}

/* ---- threads with equal stacks ---- */

static int
compare_stacks(const struct thread_entry *a, const struct thread_entry *b)
{
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    if (a->depth == 0)
        return strcmp(a->why, b->why);
    return memcmp(a->addresses, b->addresses,
                  a->depth * sizeof(a->addresses[0]));
}

static int
compare_threads_by_stack(const void *left, const void *right)
{
    const struct thread_entry *a = *(const struct thread_entry *const *)left;
    const struct thread_entry *b = *(const struct thread_entry *const *)right;
    int order = compare_stacks(a, b);

    return order ? order : (a->tid > b->tid) - (a->tid < b->tid);
}

static int
compare_groups(const void *left, const void *right)
{
    const struct thread_group *a = left, *b = right;

    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return (a->threads[0]->tid > b->threads[0]->tid) -
           (a->threads[0]->tid < b->threads[0]->tid);
}

int
thread_groups_init(struct thread_groups *groups, const struct thread_list *list)
{
    *groups = (struct thread_groups){
        .list = mem_zalloc(list->count + 1, sizeof(*groups->list)),
        .threads = mem_zalloc(list->count + 1, sizeof(groups->threads[0]))};
    if (!groups->list || !groups->threads) {
        thread_groups_fini(groups);
        return -1;
    }
    for (size_t i = 0; i < list->count; i++)
        groups->threads[i] = &list->list[i];
    qsort(groups->threads, list->count, sizeof(groups->threads[0]),
          compare_threads_by_stack);
    for (size_t i = 0; i < list->count; i++) {
        if (i == 0 ||
            compare_stacks(groups->threads[i - 1], groups->threads[i]) != 0)
            groups->list[groups->count++].threads = &groups->threads[i];
        groups->list[groups->count - 1].count++;
    }
    qsort(groups->list, groups->count, sizeof(groups->list[0]), compare_groups);
    return 0;
}

void
thread_groups_fini(struct thread_groups *groups)
{
    mem_free(groups->list);
    mem_free(groups->threads);
    *groups = (struct thread_groups){0};
}

void
thread_groups_each(const struct thread_groups *groups,
                   const struct thread_list *list,
                   const struct thread_group **of)
{
    for (size_t i = 0; i < groups->count; i++)
        for (size_t j = 0; j < groups->list[i].count; j++)
            of[groups->list[i].threads[j] - list->list] = &groups->list[i];
}
