/* recorder_switch.c - see recorder_switch.h. */
#include "recorder_switch.h"

#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "segment.h"

/* libheapwire-recorder.so's, where it is loaded; NULL: it has no segment. */
extern struct segment_header *heapwire_recorder_segment(void)
    __attribute__((weak));

static struct segment_header *
find_any(void)
{
    return heapwire_recorder_segment ? heapwire_recorder_segment() : NULL;
}

static struct segment_header *
find_segment(void)
{
    struct segment_header *segment = find_any();

    return segment && segment->owner == (uint64_t)getpid() ? segment : NULL;
}

bool
recorder_switch_is_there(void)
{
    return find_segment() != NULL;
}

bool
recorder_switch_is_parents(void)
{
    return find_any() && !find_segment();
}

bool
recorder_switch_patched(void)
{
    struct segment_header *segment = find_segment();

    return segment && segment->patch == SEGMENT_PATCH_DONE;
}

const char *
recorder_switch_why(void)
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
            "the program's own malloc is not recorded: its code is not that of "
            "the file that heapwire-run looked at",
        [SEGMENT_PATCH_NO_ROOM] =
            "the program's own malloc is not recorded: there is no room near "
            "its code",
        [SEGMENT_PATCH_FORBIDDEN] =
            "the program's own malloc is not recorded: what was written may "
            "not be executed here (MemoryDenyWriteExecute of systemd, or "
            "SELinux)",
    };
    struct segment_header *segment = find_segment();
    uint32_t patch = segment ? segment->patch : SEGMENT_PATCH_NONE;

    return patch < sizeof(texts) / sizeof(texts[0]) ? texts[patch] : "";
}

bool
recorder_switch_active(void)
{
    return __atomic_load_n(&find_segment()->wish.active, __ATOMIC_RELAXED) != 0;
}

void
recorder_switch_set(bool active)
{
    __atomic_store_n(&find_segment()->wish.active, active, __ATOMIC_RELEASE);
}

uint32_t
recorder_switch_lg_sample(void)
{
    uint64_t mean =
        __atomic_load_n(&find_segment()->wish.mean_bytes, __ATOMIC_RELAXED);

    return mean > 1 ? 63 - (uint32_t)__builtin_clzll(mean) : 0;
}

/* The recorder's own clock. */
static uint64_t
now_ns(void)
{
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void
recorder_switch_reset(uint32_t lg_sample)
{
    struct segment_wish *wish = &find_segment()->wish;

    if (lg_sample != AGENT_LG_SAMPLE_SAME)
        __atomic_store_n(&wish->mean_bytes, UINT64_C(1) << lg_sample,
                         __ATOMIC_RELAXED);
    __atomic_store_n(&wish->since_ns, now_ns() + 1, __ATOMIC_RELEASE);
}
