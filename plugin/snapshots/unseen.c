/* unseen.c - see unseen.h. */
#include "unseen.h"

#include <string.h>

#include "profile.h"
#include "risks.h"
#include "snapshot.h"
#include "stats.h"

/* The agent knows of profiling since it started: where it found it on, as it
 * was from the first instruction, only a reset forgets what was allocated
 * before.
 */
static const char *
reason_of(const struct profile *profile, const struct agent_hello *hello)
{
    int64_t since_ms = profile->origin.active_since_ms;

    if (profile->samples == 0)
        return "nothing is sampled";
    if (hello->resets > 0)
        return "allocated before the reset, or while profiling was off";
    if (since_ms == 0 || since_ms > hello->started_ms)
        return "allocated while profiling was off";
    return "free in caches of threads, or grown while the profile was taken";
}

void
unseen_find(const struct profile *profile, const struct snapshot_memory *memory,
            const struct agent_hello *hello, struct unseen *out)
{
    memset(out, 0, sizeof(*out));
    out->why = reason_of(profile, hello);
    out->margin = profile_margin(profile);
    out->elsewhere =
        memory->elsewhere.known ? (double)memory->elsewhere.value : 0;
    if (!memory->allocated.known ||
        !stats_together(memory->allocator_ms, profile->origin.taken_ms))
        return;
    out->compared = true;
    out->missing = (double)memory->allocated.value - profile->bytes;
    out->pages = risks_sample_bytes(hello->version, profile->samples);
    if (out->pages > out->missing)
        out->pages = out->missing > 0 ? out->missing : 0;
}

bool
unseen_is_beyond_chance(const struct unseen *unseen)
{
    return unseen->compared && unseen->missing > unseen->margin;
}

/* Pages of samples are left out: each sample is seen. */
void
unseen_fill(struct snapshot *snapshot)
{
    struct profile_unseen *to = &snapshot->profile->unseen;
    struct unseen unseen;
    double missing = 0;

    unseen_find(snapshot->profile, &snapshot->memory, &snapshot->hello,
                &unseen);
    if (unseen_is_beyond_chance(&unseen) &&
        unseen.missing - unseen.pages > unseen.margin)
        missing = unseen.missing - unseen.pages;
    to->bytes = missing + unseen.elsewhere;
    if (unseen.elsewhere > missing)
        to->why = "in jemallocs that are not profiled";
    else
        to->why = missing > 0 ? unseen.why : "";
}
