/* time_profile.c - see time_profile.h. */
#include "time_profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buffer.h"
#include "clock.h"
#include "code_map.h"
#include "errors.h"
#include "kernel_names.h"
#include "memory.h"
#include "names.h"
#include "profile.h"
#include "stack_sums.h"
#include "symbolizer.h"
#include "threads.h"
#include "time_remarks.h"
#include "unwind_tables.h"
#include "unwind_walk.h"

enum {
    THREADS_MS = 10000, /* to stop and copy all of them */
    TEXT_MAX = 2048,
    DEPTH_MAX = 512,
    KERNEL_MAX = 127, /* of them, in the kernel */
    JOINED_MAX = 256  /* processes whose libraries are looked at */
};

static void
enter(const struct observing *observing, enum observe_stage stage)
{
    atomic_store_explicit(observing->stage, stage, memory_order_release);
    if (stage == OBSERVE_NAMING)
        observing->looked(observing->arg);
}

/* ---- code and names ---- */

static int
open_object(void *arg, const struct mapping *mapping)
{
    return objects_open(arg, mapping->device, mapping->inode);
}

/* The process's code, and its children's, with their unwind tables.  *clashes
 * grows by code of children that has no place. */
static int
open_code(const struct observing *observing, struct code_map *map,
          struct unwind_loaded *loaded, size_t *clashes, struct error *err)
{
    const struct unwind_request request = {.maps = &map->maps,
                                           .open_object = open_object,
                                           .arg = &map->objects,
                                           .cancel_fd = observing->stop_fd,
                                           .cancelled = observing->cancelled};

    if (code_map_open(map, observing->processes[0], err) != 0)
        return -1;
    for (size_t i = 1; i < observing->process_count && i < JOINED_MAX; i++)
        *clashes += code_map_join(map, observing->processes[i]);
    if (unwind_tables_load(observing->tables, &request, loaded, err) == 0)
        return 0;
    code_map_close(map);
    return -1;
}

static struct names *
name_addresses(const struct observing *observing, struct code_map *map,
               const uint64_t *addresses, size_t count, struct error *err)
{
    struct resolve_request request = {.maps = &map->maps,
                                      .addresses = addresses,
                                      .count = count,
                                      .cancelled = observing->cancelled,
                                      .open_object = open_object,
                                      .arg = &map->objects};
    struct names *names = NULL;

    while (request.count > 0 &&
           addresses[request.count - 1] >= KERNEL_NAMES_FIRST)
        request.count--; /* kernel_names_fill has them */
    pthread_mutex_lock(&observing->names->lock);
    if (symbolizer_resolve(observing->names->symbolizer, &request, &names,
                           err) != 0)
        names = NULL;
    pthread_mutex_unlock(&observing->names->lock);
    if (names && atomic_load(observing->cancelled)) { /* some have none */
        names_free(names);
        names = NULL;
        error_set(err, ER_QUERY_INTERRUPTED, "the profile was cancelled");
    }
    return names;
}

/* ---- a profile of time ---- */

struct taking {
    struct unwind_source source;
    struct unwind_loaded loaded;
    struct stack_sums *sums;
    struct kernel_names *kernel; /* NULL: its frames are not asked for */
    uint64_t cut;             /* stacks whose outermost frame was not reached */
    uint32_t milliseconds;    /* that were asked for */
    size_t children, clashes; /* of their code with others' */
    const struct code_map *map;
    char held[2][TIME_HELD_TEXT]; /* the process: at the begin, at the end */
};

#define PLURAL(count) ((count) == 1 ? "" : "s")

static int
take_sample(void *arg, const struct sample *sample, struct error *err)
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
keep_text(struct profile *profile, const struct buffer *text, const char **to)
{
    *to =
        arena_strndup(profile->arena, text->data ? text->data : "", text->size);
    return text->failed || !*to ? -1 : 0;
}

/* How it was taken. */
static void
write_way(const struct observing *observing,
          const struct sampler_report *report, size_t children, bool kernel,
          struct buffer *out)
{
    static const char *const ways[] = {
        [SAMPLER_PERF] = "perf_event_open", [SAMPLER_PTRACE] = "ptrace"};

    buffer_format(out, "by %s for %.1f s, %" PRIu32 " thread%s",
                  ways[report->way], report->milliseconds / 1000.0,
                  report->threads, PLURAL(report->threads));
    if (children > 0)
        buffer_format(out, " of it and its %zu child process%s", children,
                      children == 1 ? "" : "es");
    if (kernel)
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
    if (observing->opened)
        buffer_text(out, "; the database was made dumpable for this time");
}

/* What it lacks, around what could not be named. */
static void
write_lacks(const struct taking *t, const struct sampler_report *report,
            struct buffer *out)
{
    uint64_t left_out = stack_sums_left_out(t->sums);

    if (report->lost > 0)
        buffer_format(out, "; %" PRIu64 " sample%s lost", report->lost,
                      report->lost == 1 ? " was" : "s were");
    if (report->unseen > 0)
        buffer_format(out, "; %" PRIu32 " threads could not be looked at",
                      report->unseen);
    if (report->unmet > 0)
        buffer_format(out,
                      "; %" PRIu32
                      " threads were not met: they ended, or the time did",
                      report->unmet);
    if (report->unseen + report->unmet > 0)
        buffer_format(out, ", for %.1f s in all",
                      (double)report->unseen_ms / 1000);
    if (t->cut > 0)
        buffer_format(out, "; %" PRIu64 " stack%s cut", t->cut,
                      t->cut == 1 ? " is" : "s are");
    if (left_out > 0)
        buffer_format(out, "; the stacks of %" PRIu64 " sample%s found no room",
                      left_out, PLURAL(left_out));
    if (t->kernel && !kernel_names_known(t->kernel))
        buffer_format(out,
                      "; the kernel's functions have no names for user %u "
                      "(sysctl kernel.kptr_restrict=0, or CAP_SYSLOG)",
                      (unsigned)geteuid());
    if (t->clashes > 0)
        buffer_format(out,
                      "; %zu file%s of children lie%s where others have other "
                      "code (%s): what runs there may have another's name",
                      t->clashes, PLURAL(t->clashes),
                      t->clashes == 1 ? "s" : "", t->map->clash);
}

static int
write_texts(struct profile *profile, const struct observing *observing,
            const struct taking *t, const struct sampler_report *report,
            struct error *err)
{
    struct buffer way, note;
    int rc = 0;

    buffer_init(&way, TEXT_MAX);
    buffer_init(&note, TEXT_MAX);
    write_way(observing, report, t->children, t->kernel != NULL, &way);
    time_remarks_chance(profile, &way);
    time_remarks_held(t->held[0], t->held[1], &note);
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
    if (keep_text(profile, &way, &profile->memory) != 0 ||
        keep_text(profile, &note, &profile->note) != 0) {
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
make_profile(const struct observing *observing, struct code_map *map,
             const struct taking *t, enum profile_kind kind,
             const struct sampler_report *report, struct error *err)
{
    const struct profile_origin origin = {.live = true,
                                          .taken_ms = clock_wall_ms()};
    struct heap_dump *dump = stack_sums_dump(t->sums, kind, err);
    struct profile *profile = NULL;
    struct names *names = NULL;

    enter(observing, OBSERVE_NAMING);
    if (dump) {
        dump->rate = 1000000000 / (report->hz > 0 ? report->hz : 1);
        dump->duration_ms = report->milliseconds;
    }
    if (dump)
        names = name_addresses(observing, map, dump->addresses,
                               dump->address_count, err);
    enter(observing, OBSERVE_MAKING);
    if (names)
        profile = profile_new(dump, names,
                              *observing->exe ? observing->exe : map->program,
                              &origin, err);
    if (profile &&
        (modules_fill(profile, &map->maps, &map->objects, err) != 0 ||
         name_kernel(profile, t, err) != 0 ||
         write_texts(profile, observing, t, report, err) != 0)) {
        profile_free(profile);
        profile = NULL;
    }
    names_free(names);
    heap_dump_free(dump);
    return profile;
}

static int
sample_held(const struct sampler_options *options, struct taking *t,
            struct sampler_report *report, struct error *err)
{
    int rc;

    time_remarks_hold(options->pid, t->held[0]);
    rc = sampler_run(options, take_sample, t, report, err);
    time_remarks_hold(options->pid, t->held[1]);
    return rc;
}

struct profile *
time_profile_take(const struct observing *observing, enum profile_kind kind,
                  const struct sampler_options *options, struct error *err)
{
    struct sampler_report report = {0};
    struct profile *profile = NULL;
    struct code_map map = {0};
    struct taking taking = {.milliseconds = options->milliseconds,
                            .children = options->child_count,
                            .map = &map};

    if (open_code(observing, &map, &taking.loaded, &taking.clashes, err) != 0)
        return NULL;
    taking.source = unwind_tables_source(observing->tables);
    taking.sums = stack_sums_new();
    if (options->kernel)
        taking.kernel = kernel_names_load(err);
    if (!taking.sums)
        error_memory(err, "a profile");
    else if ((taking.kernel || !options->kernel) &&
             sample_held(options, &taking, &report, err) == 0)
        profile = make_profile(observing, &map, &taking, kind, &report, err);
    stack_sums_free(taking.sums);
    kernel_names_free(taking.kernel);
    code_map_close(&map);
    return profile;
}

/* ---- the stacks of all threads ---- */

static uint32_t
walk_thread(void *arg, const struct thread_copy *copy, uint64_t *addresses,
            uint32_t room, const char **why)
{
    enum unwind_end end;
    size_t depth =
        unwind_walk(arg, &copy->stack, &copy->registers, addresses, room, &end);

    *why = unwind_end_text(end);
    return (uint32_t)depth;
}

static int
compare_addresses(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Ascending and distinct; the caller frees them.  NULL: no memory. */
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
    qsort(addresses, all, sizeof(*addresses), compare_addresses);
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
    threads->names = name_addresses(observing, map, addresses, count, err);
    mem_free(addresses);
    return threads->names ? 0 : -1;
}

struct thread_list *
observe_threads_take(const struct observing *observing, struct error *err)
{
    const uint64_t deadline_ms = clock_ms() + THREADS_MS;
    struct thread_list *threads = NULL;
    struct unwind_loaded loaded;
    struct unwind_source source;
    struct code_map map = {0};
    size_t unused = 0;

    if (open_code(observing, &map, &loaded, &unused, err) != 0)
        return NULL;
    source = unwind_tables_source(observing->tables);
    if (threads_take(
            &(struct threads_options){.pid = observing->process_count > 1
                                                 ? 0
                                                 : observing->processes[0],
                                      .processes = observing->processes,
                                      .process_count = observing->process_count,
                                      .stacks = true,
                                      .walk = walk_thread,
                                      .arg = &source,
                                      .deadline_ms = deadline_ms,
                                      .cancelled = observing->cancelled},
            &threads, err) != 0)
        threads = NULL;
    enter(observing, OBSERVE_NAMING);
    if (threads)
        threads->opened = observing->opened;
    if (threads && name_threads(observing, &map, threads, err) != 0) {
        thread_list_unref(threads);
        threads = NULL;
    }
    code_map_close(&map);
    return threads;
}
