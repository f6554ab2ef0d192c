/*
 * script_snapshots.c - HeapProf's methods for kept snapshots: list, describe,
 * delete, pin.
 *
 * The store has a lock of its own and may read or remove files, so all but
 * describe() run off the event loop (SCRIPT_SLOW).
 */
#include "script_methods.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "errors.h"
#include "memory.h"
#include "store.h"

enum { TEXT_MAX = 1 << 20 };

static const double megabyte = 1 << 20;

static struct store *
script_snapshot_store(const struct script_call *call)
{
    return controller_store(call->host->controller);
}

/* Returns the text that was written; it lies in the call's work, which
 * outlives the call. */
static enum step
return_written(struct script_call *call, struct error *err)
{
    struct buffer *text = &call->work->text;

    if (text->failed) {
        error_memory(err, "a text about snapshots");
        return STEP_FAIL;
    }
    script_return_text(call, text->data ? text->data : "", text->size);
    return STEP_DONE;
}

static void
list_one(struct buffer *out, const struct store_entry *entry, int width)
{
    bool heap = entry->kind == PROFILE_HEAP;
    char taken[CLOCK_TEXT];

    clock_text(entry->taken_ms, taken, sizeof(taken));
    buffer_format(out, "%-*s  %s  %10.1f %s  %8" PRIu64 " samples%s%s%s%s%s\n",
                  width, entry->name, taken,
                  entry->bytes / (heap ? megabyte : 1e9), heap ? "MB" : "s ",
                  entry->samples, entry->pinned ? "  pinned" : "",
                  entry->on_disk ? "" : "  only in memory",
                  entry->truncated ? "  cut off" : "",
                  *entry->reason ? "  " : "", entry->reason);
}

/* One line each, oldest first. */
enum step
heapprof_snapshots(struct script_call *call, struct error *err)
{
    struct store_entry *list = mem_zalloc(STORE_COUNT_MAX, sizeof(*list));
    size_t count, width = 0;

    if (!list) {
        error_memory(err, "the list of snapshots");
        return STEP_FAIL;
    }
    buffer_init(&call->work->text, TEXT_MAX);
    count = store_list(script_snapshot_store(call), list, STORE_COUNT_MAX);
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i].name) > width)
            width = strlen(list[i].name);
    for (size_t i = 0; i < count; i++)
        list_one(&call->work->text, &list[i], (int)width);
    mem_free(list);
    return return_written(call, err);
}

/* ---- describe ---- */

static void
append_utc_time(struct buffer *out, const char *label, int64_t wall_ms)
{
    char text[CLOCK_TEXT];

    if (wall_ms <= 0)
        return;
    clock_text(wall_ms, text, sizeof(text));
    buffer_format(out, "%s: %s UTC\n", label, text);
}

static void
append_memory_figure(struct buffer *out, const char *label,
                     const struct stats_figure *figure)
{
    if (figure->known)
        buffer_format(out, "%s: %.1f MB\n", label,
                      (double)figure->value / megabyte);
}

static void
append_memory_figures(struct buffer *out, const struct snapshot_memory *memory)
{
    append_memory_figure(out, "allocated", &memory->allocated);
    append_memory_figure(out, "active", &memory->active);
    append_memory_figure(out, "metadata", &memory->metadata);
    append_memory_figure(out, "resident", &memory->resident);
    append_memory_figure(out, "mapped", &memory->mapped);
    append_memory_figure(out, "retained", &memory->retained);
    append_memory_figure(out, "rss", &memory->rss);
    append_memory_figure(out, "cgroup", &memory->cgroup_current);
    append_memory_figure(out, "cgroup limit", &memory->cgroup_limit);
}

static void
write_entry_text(struct buffer *out, const char *label, const char *text)
{
    if (*text)
        buffer_format(out, "%s: %s\n", label, text);
}

static void
append_heap_facts(struct buffer *out, const struct store_entry *entry)
{
    const struct agent_hello *hello = &entry->hello;

    write_entry_text(out, "jemalloc", hello->version);
    buffer_format(out, "a sample every: %" PRIu64 " bytes\n", entry->rate);
    append_utc_time(out, "profiling since", hello->active_since_ms);
    buffer_format(out,
                  "resets before: %" PRIu32 "\nsamples: %" PRIu64
                  "\nstacks: %" PRIu64 "\nin use: %.1f MB in %.0f objects\n",
                  hello->resets, entry->samples, entry->stacks,
                  entry->bytes / megabyte, entry->objects);
    append_memory_figures(out, &entry->memory);
}

static void
append_time_profile_facts(struct buffer *out, const struct store_entry *entry)
{
    buffer_format(out,
                  "a sample every: %.1f ms\nsampled for: %.1f s\n"
                  "samples: %" PRIu64 "\nstacks: %" PRIu64 "\n%s: %.1f s\n",
                  (double)entry->rate / 1e6, (double)entry->duration_ms / 1e3,
                  entry->samples, entry->stacks,
                  entry->kind == PROFILE_CPU ? "on the processor"
                                             : "of the clock",
                  entry->bytes / 1e9);
}

static void
describe_store_entry(struct buffer *out, const struct store_entry *entry)
{
    static const char *const causes[] = {[SNAPSHOT_ASKED] = "it was asked for",
                                         [SNAPSHOT_MARK] = "a mark was reached",
                                         [SNAPSHOT_SCHEDULE] = "its time came",
                                         [SNAPSHOT_RING] =
                                             "it is kept by default",
                                         [SNAPSHOT_IMPORTED] = "imported"};
    const struct agent_hello *hello = &entry->hello;

    buffer_format(out, "name: %s\n", entry->name);
    append_utc_time(out, "taken", entry->taken_ms);
    buffer_format(out, "because: %s\n", causes[entry->cause]);
    write_entry_text(out, "reason", entry->reason);
    buffer_format(out, "node: %" PRIu32 "\npid: %" PRId32 "\n", entry->node_id,
                  hello->pid);
    write_entry_text(out, "program", hello->exe);
    (entry->kind == PROFILE_HEAP ? append_heap_facts
                                 : append_time_profile_facts)(out, entry);
    buffer_format(out, "pinned: %s\nkept: %s, %" PRIu64 " bytes\n",
                  entry->pinned ? "yes" : "no",
                  entry->on_disk ? "on disk" : "only in memory", entry->size);
    if (entry->truncated)
        buffer_text(out, "the dump was cut off\n");
    write_entry_text(out, "note", entry->note);
}

enum step
heapprof_describe(struct script_call *call, struct error *err)
{
    char name[SNAPSHOT_NAME_MAX + 1];
    struct store_entry entry;

    if (script_snapshot_name(call, 0, name, err) != 0 ||
        store_find(script_snapshot_store(call), name, &entry, err) != 0)
        return STEP_FAIL;
    buffer_init(&call->work->text, TEXT_MAX);
    describe_store_entry(&call->work->text, &entry);
    return return_written(call, err);
}

/* ---- changes ---- */

enum step
heapprof_delete(struct script_call *call, struct error *err)
{
    char name[SNAPSHOT_NAME_MAX + 1];

    if (script_snapshot_name(call, 0, name, err) != 0 ||
        store_delete(script_snapshot_store(call), name, err) != 0)
        return STEP_FAIL;
    script_return_instance(call, NULL);
    return STEP_DONE;
}

/* Makes a pattern for fnmatch() of SQL's or the shell's wildcard.  Other
 * characters of a pattern are refused, so that nothing unexpected is
 * deleted. */
static int
read_pattern(struct span given, char out[SNAPSHOT_NAME_MAX + 1])
{
    if (given.size == 0 || given.size > SNAPSHOT_NAME_MAX)
        return -1;
    for (size_t i = 0; i < given.size; i++) {
        out[i] = (char)(given.data[i] == '%' ? '*' : given.data[i]);
        if (out[i] != '*' && !snapshot_is_name(&out[i], 1))
            return -1;
    }
    out[given.size] = '\0';
    return 0;
}

static int
delete_each(struct script_call *call, const char *pattern,
            struct store_entry *list, size_t count, struct error *err)
{
    struct buffer *text = &call->work->text;
    size_t deleted = 0, pinned = 0;

    for (size_t i = 0; i < count; i++) {
        if (fnmatch(pattern, list[i].name, 0) != 0 || list[i].pinned)
            continue;
        if (store_delete(script_snapshot_store(call), list[i].name, err) != 0)
            return -1;
        deleted++;
    }
    buffer_format(text, "%zu deleted", deleted);
    for (size_t i = 0; i < count; i++)
        if (list[i].pinned && fnmatch(pattern, list[i].name, 0) == 0)
            buffer_format(text, "%s%s",
                          pinned++ ? ", " : "; kept, because they are pinned: ",
                          list[i].name);
    return 0;
}

/* Reports the number of deleted snapshots, and those that stay because they are
 * pinned. */
enum step
heapprof_delete_like(struct script_call *call, struct error *err)
{
    struct span given = call->arguments[0].text;
    char pattern[SNAPSHOT_NAME_MAX + 1];
    struct store_entry *list;
    int rc;

    if (read_pattern(given, pattern) != 0) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "'%.*s' is not a pattern of snapshots' names (1 to %d of "
                  "a-z, 0-9, _, and * for any text)",
                  (int)(given.size < SNAPSHOT_NAME_MAX ? given.size
                                                       : SNAPSHOT_NAME_MAX),
                  given.data, SNAPSHOT_NAME_MAX);
        return script_blame(call, 0);
    }
    list = mem_zalloc(STORE_COUNT_MAX, sizeof(*list));
    if (!list) {
        error_memory(err, "the list of snapshots");
        return STEP_FAIL;
    }
    buffer_init(&call->work->text, TEXT_MAX);
    rc = delete_each(
        call, pattern, list,
        store_list(script_snapshot_store(call), list, STORE_COUNT_MAX), err);
    mem_free(list);
    return rc == 0 ? return_written(call, err) : STEP_FAIL;
}

/* pin and unpin */
enum step
heapprof_pin(struct script_call *call, struct error *err)
{
    bool pinned = strcmp(call->method->name, "pin") == 0;
    char name[SNAPSHOT_NAME_MAX + 1];

    if (script_snapshot_name(call, 0, name, err) != 0 ||
        store_pin(script_snapshot_store(call), name, pinned, err) != 0)
        return STEP_FAIL;
    script_return_instance(call, NULL);
    return STEP_DONE;
}
