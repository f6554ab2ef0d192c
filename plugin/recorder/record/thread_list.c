/*
 * thread_list.c - see thread_list.h.
 *
 * The recorder is not told of a thread's end: a destructor would need a pthread
 * key, and setting that may allocate.  So slots are reused only when the list
 * is full: some random ones are tried, and one whose thread no longer exists is
 * taken over, with a new generation.
 */
#include "thread_list.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder_state.h"

enum { GONE_TRIES = 16 };

/* Stands for the tid in a slot that is being taken. */
static const uint32_t TID_TAKING = UINT32_MAX;

static bool
take_over(uint32_t place, uint32_t tid)
{
    struct segment_thread *thread = &recorder_state.threads[place];
    uint32_t old = __atomic_load_n(&thread->tid, __ATOMIC_RELAXED);

    return old != TID_TAKING && old != tid &&
           syscall(SYS_tgkill, recorder_state.pid, old, 0) != 0 &&
           errno == ESRCH &&
           __atomic_compare_exchange_n(&thread->tid, &old, TID_TAKING, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Claims a slot for this thread, whose tid becomes TID_TAKING; false: none. */
static bool
find_thread_slot(uint32_t tid, uint32_t *place)
{
    uint32_t *count = &recorder_state.header->thread_count;
    uint32_t n = __atomic_load_n(count, __ATOMIC_RELAXED);

    if (n < recorder_state.thread_capacity) {
        *place = __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
        if (*place < recorder_state.thread_capacity) {
            __atomic_store_n(&recorder_state.threads[*place].tid, TID_TAKING,
                             __ATOMIC_RELAXED);
            return true;
        }
    }
    for (int i = 0; i < GONE_TRIES; i++) {
        *place = (uint32_t)(sampler_random(&recorder_local.sampler) %
                            recorder_state.thread_capacity);
        if (take_over(*place, tid))
            return true;
    }
    return false;
}

void
thread_list_name(void)
{
    char name[SEGMENT_NAME_MAX] = "";

    if (recorder_local.thread == 0)
        return;
    prctl(PR_GET_NAME, name);
    memcpy(recorder_state.threads[recorder_local.thread - 1].name, name,
           SEGMENT_NAME_MAX);
}

void
thread_list_join(uint64_t now_ns)
{
    struct segment_thread *thread;
    uint32_t tid, place;

    tid = recorder_local.no_thread_slot ? 0 : (uint32_t)syscall(SYS_gettid);
    if (tid == 0 || !find_thread_slot(tid, &place)) {
        recorder_local.no_thread_slot = true;
        __atomic_fetch_add(&recorder_state.header->missed_threads, 1,
                           __ATOMIC_RELAXED);
        return;
    }
    thread = &recorder_state.threads[place];
    recorder_local.thread = place + 1;
    recorder_local.thread_generation = ++thread->generation;
    thread->started_ns = now_ns;
    thread_list_name();
    __atomic_store_n(&thread->tid, tid, __ATOMIC_RELEASE);
}
