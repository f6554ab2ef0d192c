/*
 * last_moment.c - see last_moment.h.
 *
 * A process that is killed cannot dump its heap; but the recorder keeps its
 * samples in a memfd that heapwired holds, too, and which survives the process.
 * So the heap at the end is simply still there, unless heapwired dies with it
 * or a successor takes the segment over at once: against those the segment is
 * copied to disk each second.  A copy costs what is used of the segment, and
 * only changed pages are written: of a Redis with 38,000 live samples 1.8 ms of
 * a CPU a second at rest, where nothing is written; while it is written to 3.9
 * ms, and 4 MB a second into the kernel's cache, of which 0.2 MB reached the
 * disk.  Where the disk is slow, copies are made so seldom that they take a
 * twentieth of the time.  Called by the sampler's thread.
 */
#include "last_moment.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leave_reason.h"
#include "buffer.h"
#include "clock.h"
#include "deaths.h"
#include "errors.h"
#include "files.h"
#include "history.h"
#include "log.h"
#include "marks.h"
#include "memory.h"
#include "node_status.h"
#include "own_file.h"
#include "process_stat.h"
#include "recorded_process.h"
#include "store.h"

enum {
    COPY_EVERY_MS = 950,    /* checks come each second, or faster */
    COPY_SHARE = 20,        /* at most a twentieth of the time */
    COPY_LATEST_MS = 60000, /* however long the disk has taken */
    UNSEEN_MS = 3000,       /* time for one of another pid namespace to greet */
    DEATHS_CHECKED = 8,
    PEAK_RISE = 20,        /* a peak is a twentieth above the last */
    PEAK_FALL = 20,        /* of RSS */
    PEAK_LIVE_FALL = 10,   /* more: estimates vary at rest, too */
    PEAK_MIN = 8 << 20,    /* bytes in use: less has no peak */
    PEAK_EVERY_MS = 60000, /* between two that go to the disk */
    NOTE_MAX = SEGMENT_FILE_NOTE_MAX
};

static void
discard_recording(struct recording *recording)
{
    fd_close(recording->segment);
    recording->segment = -1;
}

/* ---- whose it is ---- */

static void
adopt_segment_owner(struct last_moment *last, const struct segment_owner *owner)
{
    last->owner = *owner;
    memset(&last->memory, 0, sizeof(last->memory));
    last->missed_ms = 0;
    last->peak_rss = last->peak_live = last->peak_kept_ms = 0;
    recorded_process_hello(last->segment, owner, &last->hello);
    last->last_seen_ms = last->hello.started_ms;
}

static void
note_memory(struct last_moment *last, const struct history_sample *sample)
{
    if (!sample || (uint64_t)sample->pid != last->owner.pid ||
        !sample->rss.known)
        return;
    last->memory.rss = sample->rss;
    last->memory.rss_ms = sample->at_ms;
    last->memory.cgroup_current = sample->cgroup_current;
    last->memory.cgroup_limit = sample->cgroup_limit;
}

/* The process exists, though /proc does not show it (mount option hidepid). */
static bool
is_process_hidden(pid_t pid)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    return access(path, R_OK) != 0 && (kill(pid, 0) == 0 || errno != ESRCH);
}

/* Whether the owner has ended.  In another pid namespace its number says
 * nothing, so it seems missing until its agent has greeted, for which it gets
 * UNSEEN_MS; from then on its pid is the one that the kernel gave for the
 * connection. */
static bool
check_owner_end(struct last_moment *last, const struct node_status *status,
                bool ends)
{
    bool greeted = recorded_process_is(&status->hello, &last->owner);
    pid_t pid = greeted ? status->peer : (pid_t)last->owner.pid;
    uint64_t now = clock_ms();

    if (greeted && status->state == NODE_GONE)
        return true;
    if (pid == 0 || last->owner.started == 0)
        return false;
    if (process_is_alive(pid, last->owner.started) || is_process_hidden(pid)) {
        last->missed_ms = 0;
        last->last_seen_ms = clock_wall_ms();
        return false;
    }
    if (last->missed_ms == 0)
        last->missed_ms = now;
    return greeted || ends || now - last->missed_ms >= UNSEEN_MS;
}

static void
remove_file(const struct last_moment *last, const char *name)
{
    int dir = open(last->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dir >= 0)
        file_remove_at(dir, name);
    fd_close(dir);
}

static void
rename_segment_copy(struct last_moment *last)
{
    int dir = last->state_dir
                  ? open(last->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                  : -1;

    if (dir >= 0)
        renameat(dir, LAST_MOMENT_FILE, dir, LAST_MOMENT_AGAIN);
    fd_close(dir);
}

static bool
is_recording_stored(const struct last_moment *last, const struct last_due *due)
{
    struct store_entry *list = mem_zalloc(STORE_COUNT_MAX, sizeof(*list));
    size_t count = list ? store_list(last->store, list, STORE_COUNT_MAX) : 0;
    const struct agent_hello *hello = &due->recording.hello;
    bool kept = false;

    for (size_t i = 0; i < count; i++)
        kept |= list[i].cause == SNAPSHOT_MARK &&
                list[i].hello.pid == hello->pid &&
                list[i].hello.start_ticks == hello->start_ticks &&
                strcmp(list[i].hello.boot_id, hello->boot_id) == 0 &&
                strcmp(list[i].reason, due->reason) == 0;
    mem_free(list);
    return kept;
}

/* Takes over the recording's segment. */
static void
add_due(struct last_moment *last, struct last_due *due)
{
    if (is_recording_stored(last, due)) {
        discard_recording(&due->recording);
        if (due->has_file)
            remove_file(last, LAST_MOMENT_AGAIN);
    } else if (last->due_count == LAST_MOMENT_DUE_MAX) {
        log_to(last->log, "no automatic snapshot (%s): too many others wait",
               due->reason);
        discard_recording(&due->recording);
    } else {
        last->due[last->due_count++] = *due;
    }
}

static void
add_peak(struct last_moment *last)
{
    struct last_due due = {.recording = last->peak};

    snprintf(due.reason, sizeof(due.reason), HIGHEST_PEAK ": %llu bytes of RSS",
             (unsigned long long)last->peak_rss);
    last->peak.segment = -1;
    last->peak_kept_ms = clock_ms();
    add_due(last, &due);
}

static void
add_end(struct last_moment *last, const struct recording *recording,
        bool has_file)
{
    struct last_due due = {.recording = *recording, .has_file = has_file};

    due.recording.ended = true;
    snprintf(due.reason, sizeof(due.reason), "the database (pid %d) ended",
             recording->hello.pid);
    add_due(last, &due);
}

/* Creates the file: which pages of an existing one are equal is not known. */
static bool
open_segment_copy(struct last_moment *last)
{
    int fd;

    if (last->file)
        return true;
    remove_file(last, LAST_MOMENT_FILE);
    fd = own_file_open(last->state_dir, LAST_MOMENT_FILE,
                       O_RDWR | O_CREAT | O_EXCL);
    if (fd < 0)
        return false;
    last->file = segment_file_new(fd);
    if (!last->file)
        fd_close(fd);
    return last->file != NULL;
}

/* Somebody deleted the file: begin a new one. */
static void
leave_deleted(struct last_moment *last)
{
    struct stat st;

    if (last->file &&
        (fstat(segment_file_fd(last->file), &st) != 0 || st.st_nlink == 0)) {
        segment_file_free(last->file);
        last->file = NULL;
        last->copied_ms = 0;
    }
}

static void
log_copy_failure(struct last_moment *last)
{
    if (!last->faulty)
        log_to(last->log,
               "cannot write %s/" LAST_MOMENT_FILE ": %m; until this is over, "
               "a death that takes heapwired with it leaves no profile",
               last->state_dir);
    last->faulty = true;
}

static void
copy_segment_to_file(struct last_moment *last)
{
    uint64_t began = clock_ms(), took;
    const struct recording now = {.hello = last->hello,
                                  .memory = last->memory,
                                  .taken_ms = clock_wall_ms(),
                                  .monotonic_ms = began};
    struct buffer note;
    bool ok;

    if (!last->state_dir || began < last->copy_ms)
        return;
    buffer_init(&note, NOTE_MAX);
    leave_deleted(last);
    ok = open_segment_copy(last);
    if (ok && !recording_note_write(&now, &note)) {
        errno = ENOMEM;
        ok = false;
    }
    if (ok)
        ok = segment_file_write(last->file, last->segment, &last->owner,
                                note.data, note.size) >= 0;
    if (ok) {
        last->copied_ms = now.taken_ms;
        last->copied_monotonic_ms = now.monotonic_ms;
        last->faulty = false;
    } else if (errno != ESTALE) {
        log_copy_failure(last);
    }
    buffer_fini(&note);
    took = (clock_ms() - began) * COPY_SHARE;
    if (took > COPY_LATEST_MS)
        took = COPY_LATEST_MS;
    last->copy_ms = began + (took > COPY_EVERY_MS ? took : COPY_EVERY_MS);
}

/* Forgets this owner, of which nothing more comes. */
static void
drop_segment_owner(struct last_moment *last)
{
    last->done = last->owner;
    last->owner.pid = 0;
    segment_file_free(last->file);
    last->file = NULL;
    last->copied_ms = 0;
    last->copy_ms = 0;
    discard_recording(&last->peak);
}

/* When it ended, as far as is known: at the death that its parent recorded, or
 * that of a script which ended with it. */
static int64_t
owner_end_ms(const struct last_moment *last, const struct node_status *status)
{
    struct death deaths[DEATHS_CHECKED];
    size_t count = last->state_dir
                       ? deaths_read(last->state_dir, deaths, DEATHS_CHECKED)
                       : 0;
    int64_t at_ms = clock_wall_ms();

    if (recorded_process_is(&status->hello, &last->owner) &&
        status->state == NODE_GONE && status->since_ms < at_ms)
        at_ms = status->since_ms;
    for (size_t i = 0; i < count; i++)
        if (deaths[i].at_ms >= last->last_seen_ms && deaths[i].at_ms < at_ms &&
            (deaths[i].pid == last->hello.pid ||
             deaths[i].started_ms <= last->hello.started_ms))
            at_ms = deaths[i].at_ms;
    return at_ms;
}

static bool
is_past_peak(const struct last_moment *last, uint64_t live)
{
    const struct stats_figure *rss = &last->memory.rss;

    return last->peak.segment >= 0 &&
           ((rss->known &&
             rss->value <= last->peak_rss - last->peak_rss / PEAK_FALL) ||
            live <= last->peak_live - last->peak_live / PEAK_LIVE_FALL);
}

/* Another process has taken the segment over: only the last copy is left. */
static void
record_end_from_copy(struct last_moment *last)
{
    struct recording recording = {.hello = last->hello,
                                  .memory = last->memory,
                                  .taken_ms = last->copied_ms,
                                  .monotonic_ms = last->copied_monotonic_ms,
                                  .copied = true};
    struct buffer note;

    buffer_init(&note, NOTE_MAX);
    recording.segment =
        last->copied_ms != 0
            ? segment_file_read(segment_file_fd(last->file), &note)
            : -1;
    buffer_fini(&note);
    if (recording.segment < 0) {
        log_to(last->log,
               "no automatic snapshot (the database (pid %d) ended): the next "
               "one came before the recorder's segment was copied",
               last->hello.pid);
        return;
    }
    rename_segment_copy(last);
    add_end(last, &recording, true);
}

static void
record_owner_end(struct last_moment *last, const struct node_status *status)
{
    struct recording recording = {.hello = last->hello, .memory = last->memory};
    bool past = is_past_peak(last, segment_live_bytes(last->segment));
    int64_t now_ms = clock_wall_ms();

    recording.segment = segment_clone(last->segment, &last->owner);
    if (recording.segment < 0) {
        record_end_from_copy(last);
    } else {
        recording.taken_ms = owner_end_ms(last, status);
        recording.monotonic_ms =
            clock_ms() - (uint64_t)(now_ms - recording.taken_ms);
        last->copy_ms = 0;
        copy_segment_to_file(last);
        if (last->copied_ms != 0)
            rename_segment_copy(last);
        add_end(last, &recording, last->copied_ms != 0);
    }
    if (past)
        add_peak(last);
    drop_segment_owner(last);
}

static uint64_t
highest_rss(const struct last_moment *last, const struct highest *highest)
{
    const struct highest_snapshot *known = &highest->now;
    bool ours = known->name[0] && known->pid == last->hello.pid &&
                known->start_ticks == last->hello.start_ticks;

    return ours && known->rss > last->peak_rss ? known->rss : last->peak_rss;
}

static void
check_memory_peak(struct last_moment *last, const struct history_sample *sample,
                  const struct highest *highest)
{
    uint64_t rss = last->memory.rss.value, live, before;
    struct recording now = {.hello = last->hello,
                            .memory = last->memory,
                            .taken_ms = clock_wall_ms(),
                            .monotonic_ms = clock_ms()};

    if (!sample || !last->memory.rss.known)
        return;
    live = segment_live_bytes(last->segment);
    before = highest_rss(last, highest);
    if (is_past_peak(last, live)) {
        if (last->peak_kept_ms == 0 ||
            now.monotonic_ms - last->peak_kept_ms >= PEAK_EVERY_MS)
            add_peak(last);
    } else if (live >= PEAK_MIN && rss >= before + before / PEAK_RISE) {
        now.segment = segment_clone(last->segment, &last->owner);
        if (now.segment < 0)
            return;
        discard_recording(&last->peak);
        last->peak = now;
        last->peak_rss = rss;
        last->peak_live = live;
    }
}

/* ---- what an earlier heapwired left ---- */

/* Reads a copy that an earlier heapwired left; false: there is none, or it is
 * damaged.  At the second attempt it is removed at once: a copy that crashes us
 * must not do so at each start. */
static bool
find_copy(struct last_moment *last, const char *name, bool retried)
{
    int fd = own_file_open(last->state_dir, name, O_RDONLY);
    struct buffer note;
    bool found;

    if (fd < 0)
        return false;
    buffer_init(&note, NOTE_MAX);
    last->found.segment = segment_file_read(fd, &note);
    found =
        last->found.segment >= 0 && recording_note_read(&note, &last->found);
    if (!found) {
        discard_recording(&last->found);
        log_to(last->log, "%s/%s has no copy that is whole: it is removed",
               last->state_dir, name);
    }
    last->found.copied = true;
    if (retried || !found)
        remove_file(last, name);
    else
        rename_segment_copy(last);
    buffer_fini(&note);
    fd_close(fd);
    return found;
}

/* Whether the process of the copy that was found has ended.  It may live on,
 * with its segment at this heapwired or at none. */
static bool
found_has_ended(const struct last_moment *last,
                const struct node_status *status, bool ends)
{
    const struct agent_hello *hello = &last->found.hello;
    char boot[sizeof(hello->boot_id)];

    recorded_process_boot(boot, sizeof(boot));
    if (strcmp(boot, hello->boot_id) != 0)
        return true;
    if (process_is_alive(hello->pid, hello->start_ticks))
        return false;
    if (status->hello.pid != 0) /* it has greeted, or another has */
        return status->state == NODE_GONE || status->hello.pid != hello->pid ||
               status->hello.start_ticks != hello->start_ticks;
    return ends || (clock_ms() - last->began_ms >= UNSEEN_MS &&
                    !agent_lock_is_held(last->state_dir, NULL));
}

static void
check_found_copy(struct last_moment *last, const struct node_status *status,
                 bool ends)
{
    if (last->found.segment < 0)
        return;
    if (recorded_process_is(&last->found.hello, &last->owner)) {
        if (last->copied_ms == 0)
            return; /* its segment is here, but not copied yet */
    } else if (recorded_process_is(&last->found.hello, &last->done)) {
        discard_recording(&last->found); /* its segment told its end */
        return;
    } else if (found_has_ended(last, status, ends)) {
        add_end(last, &last->found, true);
        last->found.segment = -1;
        return;
    } else {
        return;
    }
    discard_recording(&last->found);
    remove_file(last, LAST_MOMENT_AGAIN);
}

void
last_moment_start(struct last_moment *last)
{
    last->peak.segment = last->found.segment = -1;
    last->began_ms = clock_ms();
    if (last->state_dir && !find_copy(last, LAST_MOMENT_FILE, false))
        find_copy(last, LAST_MOMENT_AGAIN, true);
}

void
last_moment_stop(struct last_moment *last)
{
    segment_file_free(last->file);
    last->file = NULL;
    discard_recording(&last->peak);
    discard_recording(&last->found);
    for (size_t i = 0; i < last->due_count; i++)
        discard_recording(&last->due[i].recording);
    last->due_count = 0;
}

/* A daemon's parent ends at once after the fork, which is no death; the child
 * that survives has no recorder. */
static bool
is_daemons_parent(const struct last_moment *last,
                  const struct node_status *status)
{
    return status->hello.opt_prof == AGENT_PROF_FORKED &&
           !recorded_process_is(&status->hello, &last->owner);
}

static void
check_segment_owner(struct last_moment *last, const struct node_status *status,
                    const struct history_sample *sample,
                    const struct highest *highest, bool ends)
{
    struct segment_owner owner = {0};

    if (!segment_owner_read(last->segment, &owner))
        return;
    if (last->owner.pid != 0 && !segment_owner_same(&owner, &last->owner)) {
        if ((owner.pid != last->owner.pid ||
             owner.started != last->owner.started) &&
            owner.forked_from != last->owner.pid)
            record_end_from_copy(last);
        drop_segment_owner(last);
    }
    if (owner.pid == 0 || !owner.sampled ||
        segment_owner_same(&owner, &last->done))
        return;
    if (last->owner.pid == 0)
        adopt_segment_owner(last, &owner);
    if (recorded_process_is(&status->hello, &last->owner))
        last->hello = status->hello;
    note_memory(last, sample);
    if (is_daemons_parent(last, status)) {
        drop_segment_owner(last);
    } else if (check_owner_end(last, status, ends)) {
        record_owner_end(last, status);
    } else {
        copy_segment_to_file(last);
        check_memory_peak(last, sample, highest);
    }
}

/* The segment comes first: it is newer than a copy that was found. */
void
last_moment_check(struct last_moment *last, const struct node_status *status,
                  const struct history_sample *sample,
                  const struct highest *highest, bool ends)
{
    check_segment_owner(last, status, sample, highest, ends);
    check_found_copy(last, status, ends);
}

const struct last_due *
last_moment_due(const struct last_moment *last)
{
    return last->due_count > 0 ? &last->due[0] : NULL;
}

void
last_moment_given(struct last_moment *last)
{
    last->due[0].recording.segment = -1;
}

void
last_moment_done(struct last_moment *last, bool kept)
{
    bool last_of_file = last->due[0].has_file && kept;

    discard_recording(&last->due[0].recording);
    last->due_count--;
    memmove(last->due, last->due + 1, last->due_count * sizeof(*last->due));
    for (size_t i = 0; i < last->due_count; i++)
        last_of_file &= !last->due[i].has_file; /* the last one's */
    if (last_of_file)
        remove_file(last, LAST_MOMENT_AGAIN);
}
