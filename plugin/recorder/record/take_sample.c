/*
 * take_sample.c - see take_sample.h.
 *
 * This runs inside of malloc, on any thread and in any state of the program: so
 * it takes no lock, allocates nothing, keeps errno, and calls the kernel only
 * for a new thread, a new stack, where a stack is deeper than before, or when
 * the table is full.
 *
 * The guard: an allocation within a sample, as a signal handler may make one,
 * is not sampled.  A handler's longjmp leaves the guard shut; it opens again
 * when a call comes from a frame above that one, or after many from below.  A
 * sample within a sample would do no harm, as there is no lock.
 */
#include "take_sample.h"

#include <errno.h>
#include <time.h>

#include "call_stack.h"
#include "own_stack.h"
#include "recorder_state.h"
#include "sample_table.h"
#include "sample_thin.h"
#include "stack_table.h"
#include "thread_list.h"

enum { NS_PER_S = 1000000000, BUSY_SKIPS_MAX = 64 };

/* COARSE is read from the vDSO's memory, without a system call, whatever clock
 * source the machine has. */
static uint64_t
coarse_clock_ns(void)
{
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* The mean for the next sample; 0: off.  A new setting replaces the doubled
 * means.  Threads may race to store it, but all store the same. */
static uint64_t
current_mean(uint64_t now)
{
    struct segment_header *header = recorder_state.header;
    uint64_t requested =
        __atomic_load_n(&header->settings.mean_bytes, __ATOMIC_RELAXED);
    uint64_t mean;

    if (!__atomic_load_n(&header->settings.active, __ATOMIC_ACQUIRE))
        return 0;
    requested = requested == 0                 ? 1
                : requested < SEGMENT_MEAN_MAX ? requested
                                               : SEGMENT_MEAN_MAX;
    if (__atomic_load_n(&header->mean_requested, __ATOMIC_RELAXED) !=
        requested) {
        __atomic_store_n(&header->mean_bytes, requested, __ATOMIC_RELAXED);
        __atomic_store_n(&header->mean_large, requested, __ATOMIC_RELAXED);
        __atomic_store_n(&header->mean_requested, requested, __ATOMIC_RELAXED);
    }
    mean = __atomic_load_n(&header->mean_bytes, __ATOMIC_RELAXED);
    return sampler_capped(&recorder_local.sampler, mean, now / NS_PER_S,
                          header->settings.samples_per_second);
}

static void
insert_taken_sample(struct segment_sample *sample)
{
    struct segment_header *header = recorder_state.header;

    if (!sample_insert(sample) &&
        !(sample_thin() && sample_thin_one(sample) && sample_insert(sample))) {
        __atomic_fetch_add(&header->lost_samples, 1, __ATOMIC_RELAXED);
        return;
    }
    stack_add_allocated(sample);
    if (sample_table_is_full())
        sample_thin();
}

/*
 * ---- the stack ----
 *
 * A sample takes some KB of stack in a call that expects none, and overflowing
 * a small stack would crash the program.  Where a stack ends is not known:
 * programs bring their own, and swap them.  But it ends in a page that cannot
 * be read.
 */

enum { PAGE = 4096, STACK_HEADROOM = 2 * PAGE };

/* Whether 8 KB below here are mapped.  Asks the kernel only if the thread is
 * deeper than before. */
static bool
stack_has_headroom(uint64_t here)
{
    struct recorder_local *l = &recorder_local;
    uint64_t high = here / PAGE * PAGE, low = high - STACK_HEADROOM;
    uint64_t known_high = l->stack_low + l->stack_bytes;

    if (l->stack_low != 0 && low >= l->stack_low && high <= known_high)
        return true;
    for (uint64_t page = high - PAGE; page >= low; page -= PAGE) {
        if (!own_stack_is_readable(page))
            return false;
    }
    if (l->stack_low == 0 || low > known_high || high < l->stack_low ||
        known_high - low > UINT32_MAX || high - l->stack_low > UINT32_MAX) {
        l->stack_low = low; /* another stack, or far from the known part */
        l->stack_bytes = STACK_HEADROOM;
        return true;
    }
    if (low < l->stack_low)
        l->stack_low = low;
    l->stack_bytes =
        (uint32_t)((high > known_high ? high : known_high) - l->stack_low);
    return true;
}

/* Not inlined: its kilobyte of frames is on the stack only after
 * stack_has_headroom(). */
static __attribute__((noinline)) uint32_t
take_stack(void)
{
    uint64_t frames[SEGMENT_DEPTH_MAX];
    uint32_t depth = call_stack_take(frames), stack;
    bool fresh;

    stack = stack_find(frames, depth, &fresh);
    if (fresh)
        thread_list_name();
    return stack;
}

static void
record_allocation(void *block, size_t size, uint64_t mean, uint64_t now)
{
    struct segment_sample sample = {.key = (uint64_t)block,
                                    .size = size,
                                    .mean = mean,
                                    .time_ns = now,
                                    .stack = SEGMENT_STACK_LOST};

    if (size >= SEGMENT_LARGE && !sample_thin_one(&sample))
        return;
    __atomic_fetch_add(&recorder_state.header->taken_samples, 1,
                       __ATOMIC_RELAXED);
    if (recorder_local.thread == 0)
        thread_list_join(now);
    if (stack_has_headroom((uint64_t)__builtin_frame_address(0)))
        sample.stack = take_stack();
    else
        stack_count_lost();
    sample.thread = recorder_local.thread - 1; /* UINT32_MAX: no slot */
    sample.thread_generation = recorder_local.thread_generation;
    insert_taken_sample(&sample);
}

static void
begin_sampler(struct sampler *s, uint64_t now)
{
    /* Differs by thread, time and process; no call to the kernel. */
    s->random = (uint64_t)s ^ now << 20 ^ recorder_state.pid << 40;
    for (int i = 0; i < 4; i++)
        s->random = sampler_random(s) | 1;
    s->shift = 0;
    s->mean = current_mean(now);
    s->mark = s->mean == 1;
    s->left = 0;
}

/* Whether a call at this stack depth may take a sample. */
static bool
open_guard(uint64_t here)
{
    struct recorder_local *l = &recorder_local;

    if (l->busy_at != 0 && here < l->busy_at &&
        l->busy_skips++ < BUSY_SKIPS_MAX)
        return false;
    l->busy_at = here;
    l->busy_skips = 0;
    return true;
}

void *
sample_block(void *block, size_t size)
{
    struct sampler *s = &recorder_local.sampler;
    uint64_t here = (uint64_t)__builtin_frame_address(0), now, mean;
    int error = errno;

    if (!block)
        return NULL;
    if (!recorder_is_alive()) {
        s->left = SAMPLER_POLL_BYTES;
        return block;
    }
    if (!open_guard(here))
        return block;
    now = coarse_clock_ns();
    if (s->random == 0)
        begin_sampler(s, now);
    mean = s->mean;
    if (sampler_hits(s, size) &&
        __atomic_load_n(&recorder_state.header->settings.active,
                        __ATOMIC_RELAXED))
        record_allocation(block, size, mean, now);
    sampler_draw(s, current_mean(now));
    recorder_local.busy_at = 0;
    errno = error;
    return block;
}

void
sample_untrack(void *block)
{
    struct segment_sample sample;

    if (sample_remove(block, &sample))
        stack_add_freed(&sample);
}

void
sample_realloc_begin(void *block, struct realloc_sample *moved)
{
    moved->slot = sample_claim_realloc(block, &moved->sample);
}

void
sample_realloc_failed(void *block, const struct realloc_sample *moved)
{
    if (moved->slot != 0)
        sample_put_back(block, moved->slot);
}

void
sample_realloc_done(const struct realloc_sample *moved)
{
    if (moved->slot == 0)
        return;
    sample_drop(&moved->sample, moved->slot);
    stack_add_freed(&moved->sample);
}
