/* thread_list.c - see threads.h: what a list is, however it was taken. */
#include "threads.h"

#include <stdlib.h>

#include "arena.h"
#include "names.h"

struct thread_list *
thread_list_ref(struct thread_list *list)
{
    __atomic_add_fetch(&list->references, 1, __ATOMIC_RELAXED);
    return list;
}

void
thread_list_unref(struct thread_list *list)
{
    if (!list || __atomic_sub_fetch(&list->references, 1, __ATOMIC_ACQ_REL) > 0)
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
