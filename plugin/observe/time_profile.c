/*
 * time_profile.c - see time_profile.h.
 *
 * One observation, straight down, on a thread of its own
 * (controller/observer.c): map the code, load unwind tables, sample, sum up,
 * name, write remarks.  Samples are unwound as they come, since a stack is 64
 * KB and its addresses are some 100 bytes; names come last, and once for each
 * address.
 *
 * A process that is not dumpable is opened twice, as briefly as possible: while
 * its files are opened, and while events are opened or threads are stopped.
 * Making unwind tables may take long, and lies between the two.
 */
#include "time_profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arena.h"
#include "buffer.h"
#include "clock.h"
#include "code_map.h"
#include "errors.h"
#include "kernel_names.h"
#include "memory.h"
#include "names.h"
#include "objects.h"
#include "processes.h"
#include "profile.h"
#include "search.h"
#include "stack_sums.h"
#include "symbolizer.h"
#include "threads.h"
#include "time_remarks.h"
#include "unwind_tables.h"
#include "unwind_walk.h"

enum {
    /* to copy all threads; the process may be made dumpable for that long */
    THREADS_MS = 10000,
    LOCK_STEP_MS = 100, /* between looks at cancelled */
    TEXT_MAX = 2048,
    DEPTH_MAX = 512,
    KERNEL_MAX = 127, /* of DEPTH_MAX, frames in the kernel */
    JOINED_MAX = 256  /* processes whose libraries are looked at */
};

/* Once naming begins the process itself is needed no more. */
static void
enter_observe_stage(const struct observing *observing, enum observe_stage stage)
{
    atomic_store_explicit(observing->stage, stage, memory_order_release);
    if (stage == OBSERVE_NAMING)
        observing->restore_closed(observing->arg);
}

/* ---- code and names ---- */

/* What joining children's code gave. */
struct joined {
    size_t clashes;  /* files that overlap others */
    size_t left_out; /* children beyond JOINED_MAX */
};

static void
join_children(struct code_map *map, struct joined *joined)
{
    struct processes processes;

    processes_read(map->pid, &processes);
    for (size_t i = 1; i < processes.count && i < JOINED_MAX; i++)
        if (processes_has(&processes, i))
            joined->clashes += code_map_join(map, processes.list[i].pid);
    if (processes.count > JOINED_MAX)
        joined->left_out = processes.count - JOINED_MAX;
}

/* Maps the code of the process and of its children. */
static int
open_code_map(const struct observing *observing, struct code_map *map,
              bool *opened, struct joined *joined, struct error *err)
{
    int rc;

    map->memfd = observing->memfd;
    *opened = observing->make_readable(observing->arg);
    rc = code_map_open(map, observing->pid, err);
    if (rc == 0)
        join_children(map, joined);
    observing->restore_closed(observing->arg);
    return rc;
}

/* The same, with unwind tables, which may have to be made first. */
static int
open_code(const struct observing *observing, struct code_map *map,
          struct unwind_loaded *loaded, bool *opened, struct joined *joined,
          struct error *err)
{
    const struct unwind_request request = {.maps = &map->maps,
                                           .open_object = objects_open_mapping,
                                           .arg = &map->objects,
                                           .cancel_fd = observing->stop_fd,
                                           .cancelled = observing->cancelled};

    if (open_code_map(observing, map, opened, joined, err) != 0)
        return -1;
    if (unwind_tables_load(observing->tables, &request, loaded, err) == 0)
        return 0;
    code_map_close(map);
    return -1;
}

/* Another observation may hold the symboliser for long, so the wait looks at
 * cancelled.  False: cancelled. */
static bool
lock_names(const struct observing *observing)
{
    struct timespec until;

    do {
        int64_t until_ms = clock_wall_ms() + LOCK_STEP_MS;

        until = (struct timespec){.tv_sec = until_ms / 1000,
                                  .tv_nsec = until_ms % 1000 * 1000000};
        if (pthread_mutex_timedlock(&observing->names->lock, &until) == 0)
            return true;
    } while (!atomic_load(observing->cancelled));
    return false;
}

static struct names *
name_observed_addresses(const struct observing *observing, struct code_map *map,
                        const uint64_t *addresses, size_t count,
                        struct error *err)
{
    struct resolve_request request = {.maps = &map->maps,
                                      .addresses = addresses,
                                      .count = count,
                                      .cancelled = observing->cancelled,
                                      .open_object = objects_open_mapping,
                                      .arg = &map->objects};
    struct names *names = NULL;

    while (request.count > 0 &&
           addresses[request.count - 1] >= KERNEL_NAMES_FIRST)
        request.count--; /* kernel_names_fill has them */
    if (lock_names(observing)) {
        int rc = symbolizer_resolve(observing->names->symbolizer, &request,
                                    &names, err);

        pthread_mutex_unlock(&observing->names->lock);
        if (rc != 0)
            return NULL;
    }
    if (!atomic_load(observing->cancelled))
        return names;
    names_free(names); /* incomplete: the symboliser gave up, too */
    error_set(err, ER_QUERY_INTERRUPTED, "the profile was cancelled");
    return NULL;
}

/* ---- a profile of time ---- */

struct taking {
    struct unwind_source source;
    struct unwind_loaded loaded;
    struct stack_sums *sums;
    struct kernel_names *kernel; /* NULL: kernel frames were not asked for */
    uint64_t cut;          /* stacks whose outermost frame was not reached */
    uint32_t milliseconds; /* as asked for */
    struct joined joined;
    bool opened; /* the process was made dumpable for this */
    const struct code_map *map;
    char stop_texts[2][TIME_STOPPED_TEXT]; /* at the beginning and at the end */
};

#define PLURAL(count) ((count) == 1 ? "" : "s")

static int
unwind_profile_sample(void *arg, const struct sample *sample, struct error *err)
{
    struct taking *t = arg;
    uint64_t addresses[DEPTH_MAX];
    enum unwind_end end;
    size_t depth = 0;

    if (t->kernel)
        depth = kernel_names_take(t->kernel, sample->kernel,
                                  sample->kernel_count, addresses, KERNEL_MAX);
    depth += unwind_walk(&t->source, &sample->stack, &sample->registers,
                         addresses + depth, DEPTH_MAX - depth, &end);
    t->cut += end != UNWIND_END_OUTERMOST;
    return stack_sums_add(t->sums, addresses, depth, sample->nanoseconds, err);
}

static int
copy_profile_text(struct profile *profile, const struct buffer *text,
                  const char **to)
{
    *to =
        arena_strndup(profile->arena, text->data ? text->data : "", text->size);
    return text->failed || !*to ? -1 : 0;
}

/* Writes how the profile was taken. */
static void
write_way(const struct taking *t, const struct sampler_report *report,
          struct buffer *out)
{
    static const char *const ways[] = {
        [SAMPLER_PERF] = "perf_event_open", [SAMPLER_PTRACE] = "ptrace"};

    buffer_format(out, "by %s for %.1f s, %" PRIu32 " thread%s",
                  ways[report->way], report->milliseconds / 1000.0,
                  report->threads, PLURAL(report->threads));
    if (report->children > 0)
        buffer_format(out, " of it and its %" PRIu32 " child process%s",
                      report->children, report->children == 1 ? "" : "es");
    if (t->kernel)
        buffer_text(out, PROFILE_WITH_KERNEL);
    if (report->stops > 0)
        buffer_format(out,
                      ", stopped %" PRIu64 " time%s for %.1f ms in all and "
                      "%" PRIu64 " us at most",
                      report->stops, PLURAL(report->stops),
                      (double)report->pause_total_us / 1000,
                      report->pause_max_us);
    time_remarks_rate(report, out);
    if (*report->why_not_better)
        buffer_format(out, "; %s", report->why_not_better);
    if (t->opened)
        buffer_text(out, "; the database was made dumpable for this time");
}

static void
write_lack(uint64_t n, const char *one, const char *more, struct buffer *out)
{
    if (n > 0)
        buffer_format(out, "; %" PRIu64 " %s", n, n == 1 ? one : more);
}

/* Writes what is missing of child processes. */
static void
write_children(const struct taking *t, const struct sampler_report *report,
               struct buffer *out)
{
    if (report->closed > 0)
        buffer_format(out, "; %" PRIu32 " child processes may not be looked at",
                      report->closed);
    if (report->born > 0)
        buffer_format(out,
                      "; %" PRIu32
                      " child processes were created meanwhile: not in it",
                      report->born);
    if (report->beyond > 0)
        buffer_format(out,
                      "; %" PRIu32 " child processes are not in it: there is "
                      "room for %d",
                      report->beyond, PROCESS_CHILDREN_MAX);
    if (t->joined.clashes > 0)
        buffer_format(out,
                      "; %zu file%s of children lie%s where other processes "
                      "have other code (%s): names there may be wrong",
                      t->joined.clashes, PLURAL(t->joined.clashes),
                      t->joined.clashes == 1 ? "s" : "", t->map->clash);
    if (t->joined.left_out > 0)
        buffer_format(out,
                      "; libraries that %zu children loaded themselves have no "
                      "names",
                      t->joined.left_out);
}

/* Writes what the profile lacks. */
static void
write_lacks(const struct taking *t, const struct sampler_report *report,
            struct buffer *out)
{
    uint64_t left_out = stack_sums_left_out(t->sums);

    write_lack(report->lost, "sample was lost", "samples were lost", out);
    write_lack(report->unseen, "thread could not be looked at",
               "threads could not be looked at", out);
    write_lack(report->unmet,
               "thread was not sampled: it ended, or the profile did",
               "threads were not sampled: they ended, or the profile did", out);
    if (report->unseen_ms > 0)
        buffer_format(
            out,
            report->unseen + report->unmet > 0
                ? ", for %.1f s in all"
                : "; threads could not be looked at for %.1f s in all",
            (double)report->unseen_ms / 1000);
    write_lack(t->cut, "stack is cut", "stacks are cut", out);
    if (left_out > 0)
        buffer_format(
            out, "; there was no room for the stacks of %" PRIu64 " sample%s",
            left_out, PLURAL(left_out));
    if (t->kernel && !kernel_names_known(t->kernel))
        buffer_format(out,
                      "; the kernel's functions have no names for user %u "
                      "(sysctl kernel.kptr_restrict=0, or CAP_SYSLOG)",
                      (unsigned)geteuid());
    write_children(t, report, out);
}

static int
write_texts(struct profile *profile, const struct taking *t,
            const struct sampler_report *report, struct error *err)
{
    struct buffer way, note;
    int rc = 0;

    buffer_init(&way, TEXT_MAX);
    buffer_init(&note, TEXT_MAX);
    write_way(t, report, &way);
    time_remarks_chance(profile, &way);
    time_remarks_write_stop(t->stop_texts[0], t->stop_texts[1], &note);
    if (report->ended)
        buffer_format(&note, "; the process ended after %.1f s of %.1f s",
                      report->milliseconds / 1000.0, t->milliseconds / 1000.0);
    if (*profile->note)
        buffer_format(&note, "; %s", profile->note);
    write_lacks(t, report, &note);
    if (profile->kind == PROFILE_CPU)
        time_remarks_short(report, &note);
    time_remarks_tables(profile, &t->loaded, &note);
    if (note.size > 2) { /* the first "; " */
        memmove(note.data, note.data + 2, note.size - 2);
        note.size -= 2;
    }
    if (copy_profile_text(profile, &way, &profile->memory) != 0 ||
        copy_profile_text(profile, &note, &profile->note) != 0) {
        error_memory(err, "a profile");
        rc = -1;
    }
    buffer_fini(&way);
    buffer_fini(&note);
    return rc;
}

static int
name_kernel(struct profile *profile, const struct taking *t, struct error *err)
{
    if (!t->kernel || kernel_names_fill(t->kernel, profile) == 0)
        return 0;
    error_memory(err, "a profile");
    return -1;
}

static struct profile *
make_time_profile(const struct observing *observing, struct code_map *map,
                  const struct taking *t, enum profile_kind kind,
                  const struct sampler_report *report, struct error *err)
{
    const struct profile_origin origin = {.live = true,
                                          .taken_ms = clock_wall_ms()};
    struct heap_dump *dump = stack_sums_dump(t->sums, kind, err);
    struct profile *profile = NULL;
    struct names *names = NULL;

    enter_observe_stage(observing, OBSERVE_NAMING);
    if (dump) {
        dump->rate = 1000000000 / (report->hz > 0 ? report->hz : 1);
        dump->duration_ms = report->milliseconds;
    }
    if (dump)
        names = name_observed_addresses(observing, map, dump->addresses,
                                        dump->address_count, err);
    enter_observe_stage(observing, OBSERVE_MAKING);
    if (names)
        profile = profile_new(dump, names,
                              *observing->exe ? observing->exe : map->program,
                              &origin, err);
    if (profile &&
        (modules_fill(profile, &map->maps, &map->objects, err) != 0 ||
         name_kernel(profile, t, err) != 0 ||
         write_texts(profile, t, report, err) != 0)) {
        profile_free(profile);
        profile = NULL;
    }
    names_free(names);
    heap_dump_free(dump);
    return profile;
}

static int
sample_with_stop_notes(const struct sampler_options *options, struct taking *t,
                       struct sampler_report *report, struct error *err)
{
    int rc;

    /* A process that is stopped uses no time: that explains an empty
     * profile. */
    time_remarks_read_stop(options->pid, t->stop_texts[0]);
    rc = sampler_run(options, unwind_profile_sample, t, report, err);
    time_remarks_read_stop(options->pid, t->stop_texts[1]);
    return rc;
}

struct profile *
time_profile_take(const struct observing *observing, enum profile_kind kind,
                  const struct sampler_options *options, struct error *err)
{
    struct sampler_report report = {0};
    struct profile *profile = NULL;
    struct code_map map = {0};
    struct taking taking = {.milliseconds = options->milliseconds, .map = &map};

    taking.sums = stack_sums_new();
    if (!taking.sums)
        error_memory(err, "a profile");
    else if (options->kernel)
        taking.kernel = kernel_names_load(err);
    if (taking.sums && (taking.kernel || !options->kernel) &&
        open_code(observing, &map, &taking.loaded, &taking.opened,
                  &taking.joined, err) == 0) {
        taking.source = unwind_tables_source(observing->tables);
        taking.opened |= observing->make_readable(observing->arg);
        if (sample_with_stop_notes(options, &taking, &report, err) == 0)
            profile =
                make_time_profile(observing, &map, &taking, kind, &report, err);
    }
    stack_sums_free(taking.sums);
    kernel_names_free(taking.kernel);
    code_map_close(&map);
    return profile;
}

/* ---- the stacks of all threads ---- */

static uint32_t
walk_thread(void *arg, const struct thread_copy *copy, uint64_t *addresses,
            uint32_t room, enum unwind_end *end)
{
    return (uint32_t)unwind_walk(arg, &copy->stack, &copy->registers, addresses,
                                 room, end);
}

/* All addresses of the stacks, ascending and distinct; the caller frees them.
 * NULL: no memory. */
static uint64_t *
collect_addresses(const struct thread_list *threads, size_t *count)
{
    size_t all = 0, kept = 0;
    uint64_t *addresses;

    for (size_t i = 0; i < threads->count; i++)
        all += threads->list[i].depth;
    addresses = mem_zalloc(all + 1, sizeof(*addresses));
    if (!addresses)
        return NULL;
    all = 0;
    for (size_t i = 0; i < threads->count; i++) {
        const struct thread_entry *t = &threads->list[i];

        if (t->depth > 0)
            memcpy(addresses + all, t->addresses,
                   t->depth * sizeof(*addresses));
        all += t->depth;
    }
    qsort(addresses, all, sizeof(*addresses), compare_u64);
    for (size_t i = 0; i < all; i++)
        if (i == 0 || addresses[i] != addresses[i - 1])
            addresses[kept++] = addresses[i];
    *count = kept;
    return addresses;
}

static int
name_threads(const struct observing *observing, struct code_map *map,
             struct thread_list *threads, struct error *err)
{
    size_t count = 0;
    uint64_t *addresses = collect_addresses(threads, &count);

    if (!addresses) {
        error_memory(err, "the stacks of threads");
        return -1;
    }
    threads->names =
        name_observed_addresses(observing, map, addresses, count, err);
    mem_free(addresses);
    return threads->names ? 0 : -1;
}

struct thread_list *
observe_threads_take(const struct observing *observing, bool kernel,
                     struct error *err)
{
    const uint64_t deadline_ms = clock_ms() + THREADS_MS;
    struct thread_list *threads = NULL;
    struct unwind_loaded loaded;
    struct unwind_source source;
    struct code_map map = {0};
    struct joined joined = {0};
    bool opened;

    if (open_code(observing, &map, &loaded, &opened, &joined, err) != 0)
        return NULL;
    source = unwind_tables_source(observing->tables);
    opened |= observing->make_readable(observing->arg);
    if (threads_take(
            &(struct threads_options){.pid = observing->pid,
                                      .stacks = true,
                                      .kernel = kernel,
                                      .walk = walk_thread,
                                      .arg = &source,
                                      .deadline_ms = deadline_ms,
                                      .cancelled = observing->cancelled},
            &threads, err) != 0)
        threads = NULL;
    enter_observe_stage(observing, OBSERVE_NAMING);
    if (threads) {
        threads->opened = opened;
        threads->clashes = joined.clashes;
        threads->unjoined = joined.left_out;
    }
    if (threads && name_threads(observing, &map, threads, err) != 0) {
        thread_list_unref(threads);
        threads = NULL;
    }
    code_map_close(&map);
    return threads;
}
