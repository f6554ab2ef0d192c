/*
 * tables_threads.c - heapwire.threads: the database's threads, what each does
 * and waits for.
 *
 * Stacks are costly: a thread is stopped while its stack is read.  So they are
 * fetched only if a column that needs them is read (NEED_THREADS); otherwise
 * what /proc says is enough.  Threads of one stack share its text, since a
 * pool of 10,000 idle threads has a few stacks.
 */
#include <inttypes.h>
#include <stdio.h>

#include "arena.h"
#include "buffer.h"
#include "catalog_tables.h"
#include "errors.h"
#include "memory.h"
#include "observe.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "thread_text.h"
#include "threads.h"

enum {
    COLUMN_STACK = 11,
    COLUMN_FOLDED = 12,
    STACKS_BYTES_MAX = ROWSET_BYTES_MAX / 4 * 3 /* the rest is left for the
                                                 * other columns */
};

/* The state that all rows share. */
struct maker {
    const struct thread_list *list;
    struct rowset *out;
    struct buffer text;
    bool full;                   /* there is no room for more stacks */
    struct thread_groups groups; /* groups and of are set only if there are
                                  * stacks */
    const struct thread_group **of;
};

static void
add_futex_address(struct rowset *out, uint64_t address)
{
    char text[24];

    snprintf(text, sizeof(text), "0x%" PRIx64, address);
    rowset_text(out, address ? text : NULL);
}

static void
add_written(struct maker *maker, const struct thread_entry *entry,
            void (*write)(const struct thread_list *list,
                          const struct thread_entry *entry, struct buffer *out))
{
    struct rowset *out = maker->out;

    buffer_clear(&maker->text);
    if (entry->depth > 0 && !maker->full && !out->failed) {
        write(maker->list, entry, &maker->text);
        /* Three quarters of the rowset's bytes are for stacks, so that rows
         * behind them still have their other columns. */
        maker->full =
            maker->text.failed ||
            arena_used(out->arena) + maker->text.size > STACKS_BYTES_MAX;
    }
    if (entry->depth > 0 && !maker->full)
        rowset_bytes(out, maker->text.data, maker->text.size);
    else
        rowset_null(out);
}

static bool
lacks_text(const struct rowset *out, size_t row)
{
    return !out->failed &&
           rowset_row(out, row)[COLUMN_FOLDED].type == VALUE_NULL;
}

/* Adds the columns of the stack.  The first thread of a group writes the
 * texts; the others, which come behind it, repeat its cells. */
static void
add_thread_stack_columns(struct maker *maker, const struct thread_entry *entry)
{
    const struct thread_group *group = maker->of[entry - maker->list->list];
    size_t first = (size_t)(group->threads[0] - maker->list->list);
    const char *why = entry->why;

    if (group->threads[0] == entry) {
        add_written(maker, entry, thread_stack_write);
        add_written(maker, entry, thread_folded_write);
    } else if (!maker->out->failed) {
        rowset_repeat_cell(maker->out, first, COLUMN_STACK);
        rowset_repeat_cell(maker->out, first, COLUMN_FOLDED);
    }
    if (entry->depth > 0 && lacks_text(maker->out, first))
        why = "too many stacks";
    rowset_int(maker->out, (int64_t)group->count);
    rowset_text(maker->out, why);
    rowset_int_if(maker->out, entry->depth > 0, entry->pause_us);
    rowset_text(maker->out, entry->kernel);
}

static void
add_thread_row(struct maker *maker, const struct thread_entry *entry)
{
    char state[] = {entry->state, '\0'};
    struct rowset *out = maker->out;

    rowset_int(out, entry->tid);
    rowset_int(out, entry->pid);
    ROWSET_TEXTS(out, entry->name, entry->process, state, entry->wchan);
    rowset_int(out, (int64_t)entry->user_ms);
    rowset_int(out, (int64_t)entry->system_ms);
    add_futex_address(out, entry->futex);
    rowset_int_if(out, entry->owner != 0, entry->owner);
    rowset_int_if(out, entry->deadlock != 0, entry->deadlock);
    if (maker->of)
        add_thread_stack_columns(maker, entry);
    else
        rowset_nulls(out, 6);
}

static void
add_threads(const struct thread_list *list, bool stacks, struct rowset *out)
{
    struct maker maker = {.list = list, .out = out};

    buffer_init(&maker.text, ROWSET_BYTES_MAX);
    if (stacks) {
        maker.of = mem_zalloc(list->count, sizeof(*maker.of));
        out->failed |=
            !maker.of || thread_groups_init(&maker.groups, list) != 0;
    }
    if (stacks && !out->failed)
        thread_groups_each(&maker.groups, list, maker.of);
    for (size_t i = 0; i < list->count && !out->failed; i++)
        add_thread_row(&maker, &list->list[i]);
    thread_groups_fini(&maker.groups);
    mem_free(maker.of);
    buffer_fini(&maker.text);
}

/* Lists the threads without stopping any. */
static int
list_threads_without_stacks(const struct catalog_scope *scope,
                            struct thread_list **out, struct error *err)
{
    struct threads_options options = {.cancelled = scope->cancelled};

    options.pid = controller_observe_pid(scope->session->node->controller, err);
    return options.pid != 0 ? threads_take(&options, out, err) : -1;
}

static void
produce_threads(const struct catalog_scope *scope, struct rowset *out)
{
    struct thread_list *list = NULL;
    struct error err;

    if (scope->threads)
        add_threads(scope->threads, true, out);
    else if (list_threads_without_stacks(scope, &list, &err) != 0)
        rowset_fail(out, &err);
    else
        add_threads(list, false, out);
    thread_list_unref(list);
}

static const struct catalog_column threads[] = {
    CATALOG_NODE_ID,
    {"tid", &type_ubigint, "The thread's number", CATALOG_KEY},
    {"pid", &type_ubigint_nn, "Its process's number"},
    {"name", &type_name_nn, "As the program calls it"},
    {"process", &type_text,
     "What ps calls the process, which the database forked; NULL: the database "
     "itself"},
    {"state", &type_word_nn,
     "R runs, S sleeps, D waits in the kernel and cannot be interrupted, T "
     "stopped, t traced, Z ended"},
    {"wchan", &type_name_nn,
     "The kernel's function in which it waits; empty: none, or this user may "
     "not know"},
    {"user_ms", &type_ubigint_nn,
     "Its processor time, in the program, since it began"},
    {"system_ms", &type_ubigint_nn, "In the kernel"},
    {"waits_for", &type_name,
     "The address of the futex (mutex, condition, ...) that it waits for; "
     "NULL: none"},
    {"owner", &type_ubigint,
     "The thread that holds this mutex; NULL: it is no mutex, or one that does "
     "not record its owner"},
    {"deadlock", &type_ubigint,
     "Threads of one number wait for each other for ever; NULL: it is in no "
     "deadlock"},
    {"stack", &type_mediumtext,
     "A line for each function, the innermost first; NULL: why says why", 0,
     NEED_THREADS},
    {"folded", &type_mediumtext,
     "The same, as flame graphs have it: root;...;leaf", 0, NEED_THREADS},
    {"same", &type_ubigint, "How many threads have this stack", 0,
     NEED_THREADS},
    {"why", &type_text,
     "The stack is missing, or ends too soon; empty: it is "
     "whole",
     0, NEED_THREADS},
    {"pause_us", &type_ubigint,
     "Microseconds that it was stopped for; 0: it was not, because it waited; "
     "NULL: there is no stack",
     0, NEED_THREADS},
    {"kernel_stack", &type_mediumtext,
     "Where it waits in the kernel, as folded; NULL: it runs, or heapwired is "
     "not root",
     0, NEED_THREADS},
};

const struct catalog_table tables_threads[] = {
    {"heapwire", "threads", CATALOG_OWN_COLUMNS(threads), produce_threads,
     "The database's threads; those columns that need stacks stop each for a "
     "moment",
     PRIVILEGE_PROFILE, NEED_TIME},
    CATALOG_OF_ALL("threads", threads, PRIVILEGE_PROFILE, &tables_threads[0]),
    {NULL},
};
