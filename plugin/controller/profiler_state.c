/*
 * profiler_state.c - the profiler's state in words; see node_status.h.  Pure:
 * the same status gives the same page, so that SQL, scripts and tests agree.
 */

#include "buffer.h"
#include "clock.h"
#include "controller.h"
#include "errors.h"
#include "node_status.h"

/* The shift must stay below the width of the result, whatever the agent
 * says. */
uint64_t
profiler_state_distance(const struct agent_hello *hello)
{
    enum { LG_MAX = 62 };

    return hello->lg_sample <= LG_MAX ? UINT64_C(1) << hello->lg_sample : 0;
}

/* The recorder counts its samples as it takes them; jemalloc's are only known
 * from the last profile. */
enum profiler_state
profiler_state_of(const struct node_status *status)
{
    bool nothing;

    if (status->state != NODE_CONNECTED)
        return PROFILER_UNKNOWN;
    switch ((enum agent_status)status->hello.allocator) {
    case AGENT_OK:
        break;
    case AGENT_NO_PROF:
        return PROFILER_NOT_BUILT;
    case AGENT_PROF_OFF:
        return PROFILER_OPT_OFF;
    case AGENT_UNUSABLE:
        return PROFILER_UNUSABLE;
    default:
        return PROFILER_NO_JEMALLOC;
    }
    if (!status->hello.active)
        return PROFILER_INACTIVE;
    nothing = status->taken.known ? status->taken.value == 0
                                  : status->profiled && status->samples == 0;
    return nothing ? PROFILER_NOTHING_YET : PROFILER_ACTIVE;
}

const char *
profiler_state_source(const struct node_status *status)
{
    if (status->state != NODE_CONNECTED || status->hello.allocator != AGENT_OK)
        return "";
    if (status->hello.opt_prof != AGENT_PROF_RECORDED)
        return "jemalloc";
    return status->knows & AGENT_KNOWS_PATCHED ? "patched" : "interposed";
}

const char *
profiler_state_name(enum profiler_state state)
{
    static const char *const words[] = {
        [PROFILER_UNKNOWN] = "unknown",
        [PROFILER_NO_JEMALLOC] = "no jemalloc",
        [PROFILER_UNUSABLE] = "jemalloc that cannot be called",
        [PROFILER_NOT_BUILT] = "jemalloc without profiling",
        [PROFILER_OPT_OFF] = "opt.prof is off",
        [PROFILER_INACTIVE] = "inactive",
        [PROFILER_NOTHING_YET] = "active, nothing sampled yet",
        [PROFILER_ACTIVE] = "active"};

    return words[state];
}

static void
write_profiler_time(struct buffer *out, const char *what, int64_t wall_ms)
{
    char text[CLOCK_TEXT];

    clock_text(wall_ms, text, sizeof(text));
    buffer_format(out, "%s %s UTC", what, text);
}

static void
write_times(const struct agent_hello *hello, struct buffer *out)
{
    if (hello->active) {
        write_profiler_time(out, "samples since:", hello->active_since_ms);
        buffer_text(out, ", pauses included");
        if (hello->active_until_ms > 0)
            write_profiler_time(out, "\nactive until:", hello->active_until_ms);
        else
            buffer_text(out, "\nactive until: it is switched off; "
                             "enable_prof(seconds) does not shorten that");
        buffer_char(out, '\n');
    }
    buffer_format(out, "changes: %u, resets: %u\n", hello->changes,
                  hello->resets);
}

static void
write_samples(const struct node_status *status, struct buffer *out)
{
    const struct agent_hello *hello = &status->hello;
    uint64_t distance = profiler_state_distance(hello);

    if (distance > 0)
        buffer_format(out, "sample rate: one in %llu bytes (lg_sample %u)\n",
                      (unsigned long long)distance, hello->lg_sample);
    buffer_text(out, "samples: ");
    if (status->taken.known)
        buffer_format(out, "%llu taken; ",
                      (unsigned long long)status->taken.value);
    if (!status->profiled) {
        buffer_text(out, "no profile was taken yet\n");
        return;
    }
    buffer_format(out, "%llu", (unsigned long long)status->samples);
    write_profiler_time(out, " in the profile of", status->profiled_ms);
    if (hello->opt_prof == AGENT_PROF_RECORDED)
        buffer_char(out, '\n');
    else
        buffer_format(out, ", which may hold %.1f MB of pages for themselves\n",
                      risks_sample_bytes(hello->version, status->samples) /
                          1048576.0);
}

int64_t
profiler_state_switched_off(const struct node_status *status,
                            const char **reason)
{
    /* the latest of three reasons is the one that holds now */
    if (status->replaced_ms > status->unguarded_ms &&
        status->replaced_ms > status->overhead.switched_off_ms) {
        *reason = "the process in which it was on has ended, and another one "
                  "is served since: enable_prof() switches it on there";
        return status->replaced_ms;
    }
    if (status->unguarded_ms > status->overhead.switched_off_ms) {
        *reason = "heapwired was away for longer than guard_timeout";
        return status->unguarded_ms;
    }
    *reason = status->overhead.reason;
    return status->overhead.switched_off_ms;
}

static void
write_switched_off(const struct node_status *status, struct buffer *out)
{
    const char *reason;
    int64_t at_ms = profiler_state_switched_off(status, &reason);
    const char *what = "switched off by the overhead guard:";

    if (at_ms == 0)
        return;
    if (at_ms == status->replaced_ms)
        what = "off:";
    else if (at_ms == status->unguarded_ms)
        what = "switched off by the database's agent:";
    write_profiler_time(out, what, at_ms);
    buffer_format(out, ", because %s\n", reason);
}

static void
write_overhead(const struct overhead_report *overhead, struct buffer *out)
{
    char samples[OVERHEAD_SAMPLES_MAX];

    overhead_estimate_samples_text(overhead, samples, sizeof(samples));
    if (overhead->estimated)
        buffer_format(out,
                      "overhead, estimated: %.3f %% of a CPU (%s); %.1f MB "
                      "more metadata\n",
                      overhead->cpus * 100, samples,
                      (double)overhead->metadata_growth / 1048576.0);
    if (overhead->measured_before || overhead->measured_since) {
        buffer_text(out, "CPU time of the whole process, with all its own "
                         "work, which is not the cost of profiling:");
        if (overhead->measured_before)
            buffer_format(out, " %.1f %% of a CPU before profiling",
                          overhead->cpus_before * 100);
        if (overhead->measured_since)
            buffer_format(out, "%s %.1f %% since it is active",
                          overhead->measured_before ? "," : "",
                          overhead->cpus_since * 100);
        buffer_char(out, '\n');
    }
    if (overhead->budget_cpus > 0)
        buffer_format(out, "budget: %.2f %% of a CPU\n",
                      overhead->budget_cpus * 100);
    else
        buffer_text(out, "budget: none, profiling goes on whatever it costs\n");
}

/* Writes each risk, with before in front of it and between between them. */
static void
write_risks(const struct node_status *status, const char *before,
            const char *between, struct buffer *out)
{
    const char *risks[RISKS_MAX + 1];
    size_t count;

    if (status->hello.allocator != AGENT_OK ||
        status->hello.opt_prof == AGENT_PROF_RECORDED)
        return;
    count = risks_list(status->hello.version, &status->risks, risks);
    if (*status->note)
        risks[count++] = status->note;
    for (size_t i = 0; i < count; i++)
        buffer_format(out, "%s%s%s", i ? between : "", before, risks[i]);
    if (count > 0 && between[0] == '\n')
        buffer_char(out, '\n');
}

void
profiler_state_risks(const struct node_status *status, struct buffer *out)
{
    write_risks(status, "", "; ", out);
    if (status->state == NODE_CONNECTED && *status->children)
        buffer_format(out, "%s%s", out->size ? "; " : "", status->children);
}

static void
write_source(const struct node_status *status, struct buffer *out)
{
    const char *source = "jemalloc: its own profiling", *why = "";

    if (status->hello.opt_prof == AGENT_PROF_RECORDED) {
        source = status->knows & AGENT_KNOWS_PATCHED
                     ? "patched: what the preloaded recorder samples, the "
                       "program's own malloc with it"
                     : "interposed: what the preloaded recorder samples";
        why = status->note;
    }
    buffer_format(out, "source: %s%s%s\n", source, *why ? "; " : "", why);
}

void
profiler_state_write(const struct node_status *status, struct buffer *out)
{
    const struct agent_hello *hello = &status->hello;
    enum profiler_state state = profiler_state_of(status);
    struct error why;

    buffer_format(out, "state: %s\n", profiler_state_name(state));
    if (node_status_check(status, &why) != 0 ||
        node_status_check_job(status, JOB_ENABLE, &why) != 0)
        buffer_format(out, "reason: %s\n", why.text);
    if (state == PROFILER_UNKNOWN)
        return;
    buffer_format(out, "database: %s (pid %d)\n", hello->exe, hello->pid);
    if (status->peer == 0)
        buffer_text(out, "out of sight: it is in another pid namespace, or "
                         "hidden in /proc; the kernel's figures of it and its "
                         "exit status cannot be read from here\n");
    if (*status->children)
        buffer_format(out, "children: %s\n", status->children);
    if (!(status->knows & AGENT_KNOWS_ALLOCATORS))
        buffer_text(out, "agent: it " NODE_OLDER "\n");
    if (state == PROFILER_NO_JEMALLOC || state == PROFILER_UNUSABLE)
        return;
    if (*hello->mallctl)
        buffer_format(out, "jemalloc: %s (%s)\n", hello->version,
                      hello->mallctl);
    if (state == PROFILER_NOT_BUILT || state == PROFILER_OPT_OFF)
        return;
    write_source(status, out);
    write_times(hello, out);
    write_samples(status, out);
    write_overhead(&status->overhead, out);
    write_switched_off(status, out);
    if (*status->elsewhere)
        buffer_format(out, "not seen: %s\n", status->elsewhere);
    write_risks(status, "risk: ", "\n", out);
}
