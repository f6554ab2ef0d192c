/*
 * thread_text.c - see thread_text.h.
 *
 * Equal stacks are written once, as most of a database's threads wait in the
 * same place.  Names in it come from the process and its files, so all pass
 * through shown_name() or are clean already.
 */
#include "thread_text.h"

#include <inttypes.h>
#include <string.h>

#include "agent_protocol.h"
#include "buffer.h"
#include "errors.h"
#include "function_name.h"
#include "names.h"
#include "processes.h"
#include "threads.h"
#include "view_options.h"

enum {
    NAME_BYTES_MAX = 4096,
    STATES_SHOWN = 8, /* different states of one group; the rest is counted */
    WAITS_SHOWN = 8
};

/* ---- a stack ---- */

static const struct location *
location_of(const struct thread_list *list, uint64_t address)
{
    return list->names ? names_find(list->names, address) : NULL;
}

static void
append_frame_source(struct buffer *out, const struct location *location,
                    const struct frame *frame)
{
    if (*frame->file) {
        buffer_text(out, "  ");
        shown_name(frame->file, NAME_BYTES_MAX, out);
        if (frame->line > 0)
            buffer_format(out, ":%" PRIu32, frame->line);
    } else if (location->module && *location->module) {
        buffer_text(out, "  from ");
        shown_name(location->module, NAME_BYTES_MAX, out);
    }
}

/* One line for each function, also for those that the compiler inlined. */
static void
add_frames(struct buffer *out, const struct location *location,
           uint64_t address, unsigned *number)
{
    uint32_t count = location ? location->frame_count : 0;

    if (count == 0)
        buffer_format(out, "#%-2u 0x%016" PRIx64 " ??\n", (*number)++, address);
    for (uint32_t i = 0; i < count; i++) {
        buffer_format(out, "#%-2u ", (*number)++);
        if (i + 1 < count)
            buffer_text(out, "(inlined)          ");
        else
            buffer_format(out, "0x%016" PRIx64 " ", address);
        shown_name(location->frames[i].function, NAME_BYTES_MAX, out);
        append_frame_source(out, location, &location->frames[i]);
        buffer_char(out, '\n');
    }
}

void
thread_stack_write(const struct thread_list *list,
                   const struct thread_entry *entry, struct buffer *out)
{
    unsigned number = 0;

    for (uint32_t i = 0; i < entry->depth; i++)
        add_frames(out, location_of(list, entry->addresses[i]),
                   entry->addresses[i], &number);
}

/* Appends a function's name as views of profiles have it, so that a name from
 * here finds the function there.  ';' separates frames, so it is replaced. */
static void
add_folded(struct buffer *out, const char *name, bool inlined)
{
    size_t from = out->size;
    struct buffer plain;

    buffer_init(&plain, NAME_BYTES_MAX);
    function_name_plain((struct span){name, strlen(name)}, &plain);
    shown_name(plain.size > 0 && !plain.failed ? plain.data : name,
               NAME_BYTES_MAX, out);
    buffer_fini(&plain);
    for (; !out->failed && from < out->size; from++)
        if (out->data[from] == ';')
            out->data[from] = ':';
    buffer_text(out, inlined ? " (inline)" : "");
}

void
thread_folded_write(const struct thread_list *list,
                    const struct thread_entry *entry, struct buffer *out)
{
    for (uint32_t i = entry->depth; i-- > 0;) {
        const struct location *location =
            location_of(list, entry->addresses[i]);

        if (i + 1 < entry->depth)
            buffer_char(out, ';');
        if (!location)
            buffer_format(out, "0x%" PRIx64, entry->addresses[i]);
        for (uint32_t j = location ? location->frame_count : 0; j-- > 0;) {
            add_folded(out, location->frames[j].function,
                       j + 1 < location->frame_count);
            buffer_text(out, j > 0 ? ";" : "");
        }
    }
}

/* ---- a group ---- */

static void
append_thread_label(struct buffer *out, const struct thread_entry *entry)
{
    buffer_format(out, "%" PRId32 ":%s", entry->tid, entry->name);
    if (strcmp(entry->name, AGENT_THREAD_NAME) == 0)
        buffer_text(out, " (of heapwire itself)");
    if (entry->process && entry->pid != entry->tid)
        buffer_format(out, " (of %" PRId32 ", %s)", entry->pid, entry->process);
    else if (entry->process)
        buffer_format(out, " (%s)", entry->process);
}

static void
add_tids(struct buffer *out, const struct thread_group *group)
{
    if (group->count == 1)
        buffer_text(out, "tid: ");
    else
        buffer_format(out, "%zu tids: ", group->count);
    for (size_t i = 0; i < group->count; i++) {
        buffer_text(out, i ? ", " : "");
        append_thread_label(out, group->threads[i]);
    }
    buffer_char(out, '\n');
}

static bool
same_state(const struct thread_entry *a, const struct thread_entry *b)
{
    return a->state == b->state && strcmp(a->wchan, b->wchan) == 0;
}

static bool
same_wait(const struct thread_entry *a, const struct thread_entry *b)
{
    return a->futex == b->futex && a->owner == b->owner;
}

/* How many of the group are like thread i, if it is the first of these; else 0.
 * Quadratic, but bounded by what is shown. */
static size_t
count_alike(const struct thread_group *group, size_t i,
            bool (*alike)(const struct thread_entry *,
                          const struct thread_entry *))
{
    size_t count = 1;

    for (size_t j = 0; j < i; j++)
        if (alike(group->threads[j], group->threads[i]))
            return 0;
    for (size_t j = i + 1; j < group->count; j++)
        count += alike(group->threads[j], group->threads[i]);
    return count;
}

/* "state: 3 S futex_wait_queue, 1 R" */
static void
add_states(struct buffer *out, const struct thread_group *group)
{
    size_t shown = 0, threads = 0, count;

    buffer_text(out, "state: ");
    for (size_t i = 0; i < group->count && shown < STATES_SHOWN; i++) {
        const struct thread_entry *entry = group->threads[i];

        count = count_alike(group, i, same_state);
        if (count == 0)
            continue;
        buffer_text(out, shown++ ? ", " : "");
        if (count < group->count)
            buffer_format(out, "%zu ", count);
        buffer_format(out, "%c%s%s", entry->state, *entry->wchan ? " " : "",
                      entry->wchan);
        threads += count;
    }
    if (threads < group->count)
        buffer_format(out, ", %zu others", group->count - threads);
    buffer_char(out, '\n');
}

static void
add_mutex(struct buffer *out, const struct thread_list *list,
          const struct thread_entry *entry)
{
    const struct thread_entry *owner = thread_list_find(list, entry->owner);

    buffer_format(out, "for the mutex 0x%" PRIx64 " of %" PRId32, entry->futex,
                  entry->owner);
    if (owner)
        buffer_format(out, " (%s)", owner->name);
    if (entry->owner_ended)
        buffer_text(out, ", which has ended: nobody will unlock it");
}

static void
add_waits(struct buffer *out, const struct thread_list *list,
          const struct thread_group *group)
{
    size_t shown = 0, threads = 0, waiting = 0, count;

    for (size_t i = 0; i < group->count; i++)
        waiting += group->threads[i]->futex != 0;
    for (size_t i = 0; i < group->count && shown < WAITS_SHOWN; i++) {
        if (group->threads[i]->futex == 0)
            continue;
        count = count_alike(group, i, same_wait);
        if (count == 0)
            continue;
        buffer_text(out, shown++ ? ", " : "waits: ");
        if (count < group->count)
            buffer_format(out, "%zu ", count);
        if (group->threads[i]->owner != 0)
            add_mutex(out, list, group->threads[i]);
        else
            buffer_format(out, "for the futex 0x%" PRIx64,
                          group->threads[i]->futex);
        threads += count;
    }
    if (threads < waiting)
        buffer_format(out, ", %zu for others", waiting - threads);
    if (shown > 0)
        buffer_char(out, '\n');
}

static void
add_group(struct buffer *out, const struct thread_list *list,
          const struct thread_group *group)
{
    const struct thread_entry *first = group->threads[0];

    add_tids(out, group);
    add_states(out, group);
    add_waits(out, list, group);
    thread_stack_write(list, first, out);
    if (*first->why)
        buffer_format(out, "%s: %s\n",
                      first->depth > 0 ? "the stack goes on" : "no stack",
                      first->why);
    buffer_char(out, '\n');
}

/* ---- all ---- */

/* The thread with the lowest tid in these groups that is in that deadlock;
 * NULL: none is. */
static const struct thread_entry *
find_deadlock(const struct thread_groups *groups, uint32_t number)
{
    const struct thread_entry *first = NULL;

    for (size_t i = 0; i < groups->count; i++)
        for (size_t j = 0; j < groups->list[i].count; j++) {
            const struct thread_entry *entry = groups->list[i].threads[j];

            if (entry->deadlock == number &&
                (!first || entry->tid < first->tid))
                first = entry;
        }
    return first;
}

/* Each line says one thread's wait; the threads of a circle follow each other.
 */
static void
add_deadlocks(struct buffer *out, const struct thread_list *list,
              const struct thread_groups *groups)
{
    bool any = false;

    for (uint32_t number = 1; number <= list->deadlocks; number++) {
        const struct thread_entry *first = find_deadlock(groups, number);
        const struct thread_entry *entry = first;

        while (entry) {
            buffer_format(out, "deadlock %" PRIu32 ": %" PRId32 " (%s) waits ",
                          number, entry->tid, entry->name);
            add_mutex(out, list, entry);
            buffer_char(out, '\n');
            entry = thread_list_find(list, entry->owner);
            entry = entry == first ? NULL : entry;
        }
        any |= first != NULL;
    }
    if (any)
        buffer_char(out, '\n');
}

static bool
has_function(const struct thread_list *list, const struct thread_entry *entry,
             struct span function)
{
    for (uint32_t i = 0; i < entry->depth && function.size > 0; i++) {
        const struct location *location =
            location_of(list, entry->addresses[i]);

        for (uint32_t j = 0; location && j < location->frame_count; j++)
            if (memmem(location->frames[j].function,
                       strlen(location->frames[j].function), function.data,
                       function.size))
                return true;
    }
    return function.size == 0;
}

/* Appends what is missing of children. */
static void
append_missing_children(struct buffer *out, const struct thread_list *list)
{
    if (list->closed > 0)
        buffer_format(out, "; %zu child processes may not be looked at",
                      list->closed);
    if (list->beyond > 0)
        buffer_format(out,
                      "; %zu child processes are not in it: there is room for "
                      "%d",
                      list->beyond, PROCESS_CHILDREN_MAX);
    if (list->clashes > 0)
        buffer_format(out,
                      "; %zu libraries of children lie where other processes "
                      "have other code: names in them may be wrong",
                      list->clashes);
    if (list->unjoined > 0)
        buffer_format(out,
                      "; libraries that %zu children loaded themselves have no "
                      "names",
                      list->unjoined);
}

/* Keeps the groups whose stack has the function. */
static void
choose_groups(const struct thread_list *list, struct span function,
              struct thread_groups *groups)
{
    size_t kept = 0;

    for (size_t i = 0; i < groups->count; i++)
        if (has_function(list, groups->list[i].threads[0], function))
            groups->list[kept++] = groups->list[i];
    groups->count = kept;
}

static void
add_total(struct buffer *out, const struct thread_list *list,
          const struct thread_groups *groups)
{
    size_t threads = 0, stacks = 0;

    for (size_t i = 0; i < groups->count; i++) {
        threads += groups->list[i].count;
        stacks += groups->list[i].threads[0]->depth > 0;
    }
    if (list->process_count > 1)
        buffer_format(out, "of the database and %zu child process%s: ",
                      list->process_count - 1,
                      list->process_count == 2 ? "" : "es");
    if (threads < list->count)
        buffer_format(out, "%zu of ", threads);
    buffer_format(out, "%zu threads, ", list->count);
    if (stacks > 1)
        buffer_format(out, "%zu different stacks", stacks);
    else
        buffer_text(out, stacks == 1 ? "1 stack" : "no stack");
    if (list->left_out > 0)
        buffer_format(out, ", %zu more are left out", list->left_out);
    if (list->stops > 0)
        buffer_format(out,
                      ", %" PRIu64 " %s stopped for %" PRIu64
                      " us each, %" PRIu64 " us at most",
                      list->stops, list->stops == 1 ? "was" : "were",
                      list->pause_total_us / list->stops, list->pause_max_us);
    append_missing_children(out, list);
    if (list->opened)
        buffer_text(out, "; the database was made dumpable for this time");
    buffer_char(out, '\n');
}

static int
check_thread_text(const struct buffer *out, struct error *err)
{
    if (!out->failed)
        return 0;
    error_set(err, ER_OUT_OF_MEMORY,
              "the stacks are larger than %zu bytes, or memory ran out",
              out->max);
    return -1;
}

static int
write_single_thread(const struct thread_list *list, int32_t tid,
                    struct buffer *out, struct error *err)
{
    const struct thread_entry *entry = thread_list_find(list, tid);
    const struct thread_group alone = {&entry, 1};

    if (entry) {
        add_group(out, list, &alone);
        return check_thread_text(out, err);
    }
    error_set(err, ER_NO_SUCH_THREAD, "the database has no thread %" PRId32,
              tid);
    return -1;
}

int
thread_text_write(const struct thread_list *list,
                  const struct thread_text_options *options, struct buffer *out,
                  struct error *err)
{
    static const struct thread_text_options all = {0};
    struct thread_groups groups;

    if (!options)
        options = &all;
    if (options->tid != 0)
        return write_single_thread(list, options->tid, out, err);
    if (thread_groups_init(&groups, list) != 0) {
        error_memory(err, "groups of threads");
        return -1;
    }
    choose_groups(list, options->function, &groups);
    add_deadlocks(out, list, &groups);
    for (size_t i = 0; i < groups.count && !out->failed; i++)
        add_group(out, list, &groups.list[i]);
    if (groups.count == 0)
        buffer_text(out, "no stack has such a function\n\n");
    add_total(out, list, &groups);
    thread_groups_fini(&groups);
    return check_thread_text(out, err);
}
