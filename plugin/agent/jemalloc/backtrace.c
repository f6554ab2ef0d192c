/*
 * backtrace.c - walks jemalloc's samples by unwind tables; see jemalloc.h.
 *
 * Nearly all that a sample costs is its stack.  jemalloc 5.3 and later asks a
 * hook for it.  Ours walks by the tables, and asks the hook that was there
 * before where they cannot tell; it then removes the frames that lead through
 * here, so that both kinds of stacks are the same.  It runs on any thread of
 * the host, inside malloc: no lock, no memory.  Threads may be in the hook when
 * it is taken back: its code stays, as our libraries are never unloaded.
 */
#include "jemalloc.h"

#include <stdatomic.h>
#include <string.h>

#include "own_calls.h"

typedef void backtrace_fn(void **vec, unsigned *len, unsigned max_len);

/* frames of this file and of the earlier hook, above jemalloc's caller */
enum { OWN_FRAMES_MAX = 8 };

static const char hook_name[] = "experimental.hooks.prof_backtrace";

static _Atomic uint64_t by_library;
static backtrace_fn *_Atomic before;               /* set before the hook is */
static const struct given_tables *_Atomic current; /* NULL: not now */

_Static_assert(sizeof(void *) == sizeof(uint64_t), "frames as jemalloc's");

/* Not inlined, so that only this case pays for a kilobyte of stack. */
static __attribute__((noinline)) uint32_t
take_by_library(const struct unwind_call *call, uint64_t *frames)
{
    void *all[OWN_CALLS_MAX + OWN_FRAMES_MAX];
    unsigned total = 0, first = 0, count;

    atomic_fetch_add_explicit(&by_library, 1, memory_order_relaxed);
    before(all, &total, OWN_CALLS_MAX + OWN_FRAMES_MAX);
    while (first < total && first < OWN_FRAMES_MAX &&
           (uint64_t)all[first] != call->pc)
        first++;
    if (first == total || first == OWN_FRAMES_MAX)
        first = 0;
    count = total - first < OWN_CALLS_MAX ? total - first : OWN_CALLS_MAX;
    memcpy(frames, all + first, count * sizeof(*frames));
    return count;
}

static void
take_backtrace(void **vec, unsigned *len, unsigned max_len)
{
    static const struct own_calls calls = {.library = take_by_library};
    const uint64_t *frame = __builtin_frame_address(0);
    const struct unwind_call call = {
        (uint64_t)__builtin_extract_return_addr(__builtin_return_address(0)),
        (uint64_t)__builtin_dwarf_cfa(), frame[0]};

    /* jemalloc's own depth; we do not know the array of a changed jemalloc */
    if (max_len == OWN_CALLS_MAX)
        *len = own_calls_take(
            &calls, atomic_load_explicit(&current, memory_order_acquire), &call,
            (uint64_t *)vec);
    else
        before(vec, len, max_len);
}

int
backtrace_hook(mallctl_fn *mallctl, const struct given_tables *tables)
{
    backtrace_fn *there = NULL, *ours = take_backtrace;
    int error;

    atomic_store_explicit(&current, tables, memory_order_release);
    error = mallctl_read(mallctl, hook_name, &there, sizeof(there));
    if (error != 0 || there == ours || !there)
        return error;
    atomic_store_explicit(&before, there, memory_order_release);
    return mallctl(hook_name, NULL, NULL, &ours, sizeof(ours));
}

void
backtrace_unhook(mallctl_fn *mallctl)
{
    backtrace_fn *there = NULL, *old = before;

    atomic_store_explicit(&current, NULL, memory_order_release);
    if (old && mallctl_read(mallctl, hook_name, &there, sizeof(there)) == 0 &&
        there == take_backtrace)
        (void)mallctl(hook_name, NULL, NULL, &old, sizeof(old));
}

bool
backtrace_count_by_library(uint64_t *count)
{
    *count = atomic_load_explicit(&by_library, memory_order_relaxed);
    return atomic_load_explicit(&current, memory_order_acquire) != NULL;
}

void
backtrace_stop(void)
{
    atomic_store_explicit(&current, NULL, memory_order_release);
}
