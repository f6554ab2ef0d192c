/*
 * recorded_process.c - makes a greeting for a process that never sent one, and
 * what is kept beside its segment.
 *
 * The recorder works from the first malloc on, the agent only once it has
 * started; a database that dies before that, or forks itself away, leaves a
 * segment and no greeting.  All that a snapshot's head needs is then taken from
 * the segment's owner, from /proc while the process lives, and from the
 * segment's list of modules afterwards.
 */
#include "recorded_process.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "buffer.h"
#include "clock.h"
#include "controller.h"
#include "errors.h"
#include "files.h"
#include "process_stat.h"
#include "profile.h"
#include "reader.h"
#include "segment_file.h"
#include "segment_read.h"
#include "snapshot_head.h"

void
recorded_process_boot(char *out, size_t size)
{
    int fd = open("/proc/sys/kernel/random/boot_id",
                  O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

    fd_close(fd);
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

/* Finds the executable of a process that has not greeted.  "" if it cannot be
 * found: a snapshot without it is worth keeping. */
static void
find_exe(int segment, const struct segment_owner *owner, char *out, size_t size)
{
    struct segment_module module;
    struct segment_copy *copy = NULL;
    struct error ignored;
    char link[32];
    ssize_t n = -1;

    snprintf(link, sizeof(link), "/proc/%d/exe", (int)owner->pid);
    if (process_is_alive((pid_t)owner->pid, owner->started))
        n = readlink(link, out, size - 1);
    out[n > 0 ? n : 0] = '\0';
    if (n <= 0)
        copy = segment_read(segment, &ignored);
    for (uint32_t i = 0;
         copy && !*out && i < segment_copy_count(copy, SEGMENT_MODULES); i++) {
        /* The segment is written by the database: nothing in it is trusted. */
        if (!segment_copy_module(copy, i, &module) ||
            module.path_size > SEGMENT_PATH_MAX || module.path[0] != '/' ||
            memmem(module.path, module.path_size, ".so", 3))
            continue;
        snprintf(out, size, "%.*s", (int)module.path_size, module.path);
    }
    segment_copy_free(copy);
}

/* The start of a process, in milliseconds since 1970: start_ticks counts from
 * the boot, and time in suspension counts (CLOCK_BOOTTIME). */
static int64_t
started_at(uint64_t start_ticks)
{
    struct timespec boot;
    long hz = sysconf(_SC_CLK_TCK);
    int64_t up_ms;

    clock_gettime(CLOCK_BOOTTIME, &boot);
    up_ms = (int64_t)boot.tv_sec * 1000 + boot.tv_nsec / 1000000;
    return clock_wall_ms() - up_ms +
           (int64_t)(start_ticks * 1000 / (uint64_t)(hz > 0 ? hz : 100));
}

/* A start of 0 is unknown: the recorder could not read /proc/self/stat. */
bool
recorded_process_is(const struct agent_hello *hello,
                    const struct segment_owner *owner)
{
    return owner->pid != 0 && (uint64_t)hello->pid == owner->pid &&
           (owner->started == 0 || hello->start_ticks == owner->started);
}

void
recorded_process_hello(int segment, const struct segment_owner *owner,
                       struct agent_hello *hello)
{
    memset(hello, 0, sizeof(*hello));
    hello->pid = (int32_t)owner->pid;
    hello->start_ticks = owner->started;
    hello->started_ms = started_at(owner->started);
    hello->allocator = AGENT_OK;
    hello->config_prof = 1;
    hello->opt_prof = AGENT_PROF_RECORDED;
    hello->active = owner->active;
    hello->active_since_ms = hello->active ? hello->started_ms : 0;
    /* the largest power of two that is not above the mean */
    while (owner->mean_bytes >> 1 >> hello->lg_sample)
        hello->lg_sample++;
    recorded_process_boot(hello->boot_id, sizeof(hello->boot_id));
    find_exe(segment, owner, hello->exe, sizeof(hello->exe));
}

/*
 * ---- the note beside a segment ----
 *
 * The format is the time of the monotonic clock (u64), and behind it the head
 * of a snapshot with an empty profile: that has all the fields, a version and a
 * checksum already, so that the note needs no format of its own.
 */

bool
recording_note_write(const struct recording *recording, struct buffer *out)
{
    struct profile none = {.rate = 1, .note = ""};
    const struct snapshot_body body = {0};
    const struct snapshot snapshot = {.taken_ms = recording->taken_ms,
                                      .hello = recording->hello,
                                      .memory = recording->memory,
                                      .profile = &none};
    struct buffer head;

    buffer_init(&head, SEGMENT_FILE_NOTE_MAX);
    snapshot_head_encode(&snapshot, &body, &head);
    buffer_u64(out, recording->monotonic_ms);
    buffer_add(out, head.data, head.size);
    out->failed |= head.failed;
    buffer_fini(&head);
    return !out->failed;
}

bool
recording_note_read(const struct buffer *note, struct recording *out)
{
    struct reader r = reader_of(note->data, note->size);
    struct snapshot_head head;
    struct span rest;
    struct error ignored;

    out->monotonic_ms = reader_u64(&r);
    rest = reader_rest(&r);
    if (r.failed ||
        snapshot_head_decode(rest.data, rest.size, &head, &ignored) != 0)
        return false;
    out->hello = head.entry.hello;
    out->memory = head.entry.memory;
    out->taken_ms = head.entry.taken_ms;
    return true;
}
