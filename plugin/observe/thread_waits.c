/*
 * thread_waits.c - which futex each thread waits for, who holds it, and whether
 * threads wait for each other in a circle.
 *
 * No thread is stopped, so what was read of one may be over a moment later.  A
 * circle is therefore read twice: if all of its threads still wait as they did,
 * and none of these waits has a timeout, it is a deadlock, as nothing in it can
 * move.  Costs some file reads and one process_vm_readv() for each thread that
 * waits; linear in their number, unless the process has a pid namespace of its
 * own.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "ascii.h"
#include "confined.h"
#include "errors.h"
#include "futex_owner.h"
#include "memory.h"
#include "process_stat.h"
#include "sample_task.h"
#include "thread_work.h"
#include "threads.h"

enum { SYSCALL_MAX = 256 };

struct waits {
    struct thread_list *list;
    /* By index in list: the tid in the process's own pid namespace; NULL: it is
     * the same as ours. */
    int32_t *inner;
};

/* The thread's tid in its own pid namespace: the last number of NSpid. */
static int32_t
inner_tid(int32_t pid, int32_t tid)
{
    char status[PROCESS_STATUS_MAX];
    const char *at;
    size_t size;

    process_status_read(pid, tid, status);
    at = process_status_text(status, "NSpid");
    size = strcspn(at, "\n");
    while (size > 0 && is_digit(at[size - 1]))
        size--;
    return *at ? (int32_t)strtol(at + size, NULL, 10) : tid;
}

static int
find_inner_tids(struct waits *waits)
{
    const struct thread_list *list = waits->list;

    if (inner_tid(list->list[0].pid, list->list[0].tid) == list->list[0].tid)
        return 0;
    waits->inner = mem_zalloc(list->count, sizeof(*waits->inner));
    for (size_t i = 0; i < list->count && waits->inner; i++)
        waits->inner[i] = inner_tid(list->list[i].pid, list->list[i].tid);
    return waits->inner ? 0 : -1;
}

/* Converts the process's own tid to ours; 0: there is no such thread. */
static int32_t
outer_tid(const struct waits *waits, int32_t inner)
{
    const struct thread_list *list = waits->list;

    if (!waits->inner)
        return inner > 0 && thread_list_find(list, inner) ? inner : 0;
    for (size_t i = 0; i < list->count && inner > 0; i++)
        if (waits->inner[i] == inner)
            return list->list[i].tid;
    return 0;
}

/* The int before the futex comes last, as it may lie on a page that does not
 * exist: process_vm_readv() stops at the first piece that fails. */
static bool
read_words(int32_t pid, uint64_t address, uint32_t words[FUTEX_WORDS])
{
    size_t size = (FUTEX_WORDS - FUTEX_WORD) * sizeof(words[0]);
    struct iovec to[] = {{&words[FUTEX_WORD], size},
                         {&words[FUTEX_BEFORE], sizeof(words[0])}};
    struct iovec from[] = {
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): that process's */
        {(void *)(uintptr_t)address, size},
        /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
        {(void *)(uintptr_t)(address - sizeof(words[0])), sizeof(words[0])}};

    words[FUTEX_BEFORE] = 0;
    return confined_spares(CONFINED_PTRACE) &&
           process_vm_readv(pid, to, 2, from, 2, 0) >= (ssize_t)size;
}

/* Whether the owner ended with the mutex locked.  The mutex is read again after
 * the owner is known to be gone: had it unlocked first, its tid would no longer
 * be there. */
static bool
owner_ended(const struct thread_entry *entry, const struct futex_wait *wait,
            int32_t owner)
{
    uint32_t words[FUTEX_WORDS];

    return owner > 0 && sample_task_ended(owner, owner) &&
           read_words(entry->tid, wait->address, words) &&
           futex_owner(wait, words) == owner;
}

static void
find_wait(const struct waits *waits, struct thread_entry *entry)
{
    uint32_t words[FUTEX_WORDS];
    char text[SYSCALL_MAX];
    struct futex_wait wait;
    int32_t owner;

    entry->futex = 0;
    entry->owner = 0;
    entry->owner_ended = false;
    if (!sample_task_read(entry->pid, entry->tid, "syscall", text,
                          sizeof(text)) ||
        !futex_wait_parse(text, &wait))
        return;
    entry->futex = wait.address;
    entry->timed = wait.timed;
    if (!read_words(entry->tid, wait.address, words))
        return;
    owner = futex_owner(&wait, words);
    entry->owner = outer_tid(waits, owner);
    if (waits->inner || !futex_owner_is_sure(&wait, words, waits->list->count))
        return;
    entry->owner_ended = owner_ended(entry, &wait, owner);
    if (entry->owner_ended)
        entry->owner = owner;
}

/* The thread that it waits for without a timeout; NULL: none is known. */
static struct thread_entry *
find_blocking_thread(const struct thread_list *list,
                     const struct thread_entry *entry)
{
    if (entry->owner == 0 || entry->timed)
        return NULL;
    return (struct thread_entry *)thread_list_find(list, entry->owner);
}

/* Whether all threads of the circle that begins at first still wait as
 * before. */
static bool
still_waits(const struct waits *waits, const struct thread_entry *first)
{
    const struct thread_entry *entry = first;

    do {
        struct thread_entry again = *entry;

        find_wait(waits, &again);
        if (again.futex != entry->futex || again.owner != entry->owner ||
            again.timed)
            return false;
        entry = find_blocking_thread(waits->list, entry);
    } while (entry != first);
    return true;
}

static void
number_circle(const struct waits *waits, struct thread_entry *first)
{
    struct thread_entry *entry = first;

    if (!still_waits(waits, first))
        return;
    waits->list->deadlocks++;
    do {
        entry->deadlock = waits->list->deadlocks;
        entry = find_blocking_thread(waits->list, entry);
    } while (entry != first);
}

/* Each thread waits for at most one other.  So a walk from a thread either
 * ends, or meets an earlier walk, or meets itself: then that thread is in a
 * circle.  seen has, by index, the number of the walk that came by; linear. */
static void
find_circles(const struct waits *waits, uint32_t *seen)
{
    struct thread_list *list = waits->list;

    for (size_t i = 0; i < list->count; i++) {
        struct thread_entry *entry = &list->list[i];

        while (entry && seen[entry - list->list] == 0) {
            seen[entry - list->list] = (uint32_t)i + 1;
            entry = find_blocking_thread(list, entry);
        }
        if (entry && seen[entry - list->list] == i + 1)
            number_circle(waits, entry);
    }
}

int
thread_waits_find(struct thread_list *list, struct error *err)
{
    struct waits waits = {.list = list};
    uint32_t *seen = mem_zalloc(list->count, sizeof(*seen));
    int rc = seen ? find_inner_tids(&waits) : -1;

    for (size_t i = 0; i < list->count && rc == 0; i++)
        find_wait(&waits, &list->list[i]);
    if (rc == 0)
        find_circles(&waits, seen);
    else
        error_memory(err, "what threads wait for");
    mem_free(waits.inner);
    mem_free(seen);
    return rc;
}
