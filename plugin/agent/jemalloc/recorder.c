/*
 * recorder.c - how the agent reaches the preloaded recorder; see jemalloc.h.
 *
 * The recorder (plugin/recorder) is a library of its own, which may be missing:
 * its functions are weak symbols.  Its settings lie in the segment that it
 * shares with heapwired; they are plain atomics, which each sample reads, so
 * switching it on takes no lock and no call.
 */
#include "jemalloc.h"

#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "segment.h"

/* Defined by libheapwire-recorder.so, where it is loaded.  NULL: it has no
 * segment. */
extern struct segment_header *heapwire_recorder_segment(void)
    __attribute__((weak));

static struct segment_header *
find_segment(void)
{
    return heapwire_recorder_segment ? heapwire_recorder_segment() : NULL;
}

bool
recorder_is_own(void)
{
    const struct segment_header *segment = find_segment();

    return segment && segment->owner == (uint64_t)getpid();
}

bool
recorder_is_parents(void)
{
    return find_segment() && !recorder_is_own();
}

bool
recorder_is_patched(void)
{
    const struct segment_header *segment = find_segment();

    return recorder_is_own() && segment->patch == SEGMENT_PATCH_DONE;
}

const char *
recorder_note(void)
{
    static const char *const texts[] = {
        [SEGMENT_PATCH_NONE] = "",
        [SEGMENT_PATCH_DONE] = "",
        [SEGMENT_PATCH_NO_PLAN] =
            "the program's own malloc is not recorded: the plan for it was "
            "lost",
        [SEGMENT_PATCH_THREADS] =
            "the program's own malloc is not recorded: other threads ran "
            "before main, or /proc is not there",
        [SEGMENT_PATCH_OTHER] =
            "the program's own malloc is not recorded: its code differs from "
            "the file that heapwire-run examined",
        [SEGMENT_PATCH_NO_ROOM] =
            "the program's own malloc is not recorded: there is no room near "
            "its code",
        [SEGMENT_PATCH_FORBIDDEN] =
            "the program's own malloc is not recorded: what was written may "
            "not be executed here (MemoryDenyWriteExecute of systemd, or "
            "SELinux)",
    };
    const struct segment_header *segment = find_segment();
    uint32_t patch = recorder_is_own() ? segment->patch : SEGMENT_PATCH_NONE;

    return patch < sizeof(texts) / sizeof(texts[0]) ? texts[patch] : "";
}

/* Weak, as above: see claim_segment.h. */
extern void heapwire_recorder_forked(void) __attribute__((weak));
extern void heapwire_recorder_adopt(const pid_t elders[2])
    __attribute__((weak));
extern void heapwire_recorder_stop(bool stopped) __attribute__((weak));
extern void heapwire_recorder_spare_thread(void) __attribute__((weak));

void
recorder_forked(void)
{
    if (heapwire_recorder_forked)
        heapwire_recorder_forked();
}

void
recorder_adopt(const pid_t elders[2])
{
    if (heapwire_recorder_adopt && elders[0] != 0)
        heapwire_recorder_adopt(elders);
}

void
recorder_stop(bool stopped)
{
    if (heapwire_recorder_stop)
        heapwire_recorder_stop(stopped);
}

void
recorder_exclude_thread(void)
{
    if (heapwire_recorder_spare_thread)
        heapwire_recorder_spare_thread();
}

/* Weak, as above: see call_stack.h. */
extern void heapwire_recorder_tables(const struct given_tables *given)
    __attribute__((weak));

bool
recorder_walk_by(const struct given_tables *tables)
{
    if (heapwire_recorder_tables)
        heapwire_recorder_tables(tables);
    return heapwire_recorder_tables != NULL;
}

static int
read_recorder_active(const struct jemalloc *jemalloc, bool *active)
{
    (void)jemalloc;
    *active = __atomic_load_n(&find_segment()->settings.active,
                              __ATOMIC_RELAXED) != 0;
    return 0;
}

static int
write_recorder_active(struct jemalloc *jemalloc, bool active)
{
    (void)jemalloc;
    __atomic_store_n(&find_segment()->settings.active, active,
                     __ATOMIC_RELEASE);
    return 0;
}

static uint32_t
recorder_log_sample(const struct jemalloc *jemalloc)
{
    uint64_t mean =
        __atomic_load_n(&find_segment()->settings.mean_bytes, __ATOMIC_RELAXED);

    (void)jemalloc;
    return mean > 1 ? 63 - (uint32_t)__builtin_clzll(mean) : 0;
}

/* The clock of the recorder's samples. */
static uint64_t
recorder_clock_ns(void)
{
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int
reset_recorded_samples(const struct jemalloc *jemalloc, uint32_t lg_sample)
{
    struct segment_header *segment = find_segment();
    struct segment_settings *settings = &segment->settings;

    (void)jemalloc;
    if (lg_sample != AGENT_LG_SAMPLE_SAME)
        __atomic_store_n(&settings->mean_bytes, UINT64_C(1) << lg_sample,
                         __ATOMIC_RELAXED);
    /* Samples are not erased: readers leave out those from before since_ns.
     * + 1: what was sampled in this tick of the coarse clock is before it. */
    __atomic_store_n(&settings->since_ns, recorder_clock_ns() + 1,
                     __ATOMIC_RELEASE);
    __atomic_store_n(&segment->taken_samples, 0, __ATOMIC_RELAXED);
    return 0;
}

const struct profiler recorder_profiler = {
    read_recorder_active, write_recorder_active, reset_recorded_samples,
    recorder_log_sample, false};
