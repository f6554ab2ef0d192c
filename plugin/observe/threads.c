/*
 * threads.c - see threads.h: the list, from /proc.
 *
 * Everything is read from files of /proc, one thread after the other, and may
 * be of different moments.  Those of waits come first, then stacks are copied,
 * as a stop disturbs what a thread waits in.
 */
#include "threads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "clean_text.h"
#include "clock.h"
#include "errors.h"
#include "process_stat.h"
#include "processes.h"
#include "reader.h"
#include "sample_task.h"
#include "thread_work.h"

enum {
    /* THREADS_MAX threads with the deepest stacks, some of them twice, as they
     * were stopped in the second round */
    ARENA_MAX = 96 << 20,
    STAT_MAX = 1024,
    WCHAN_MAX = 128,
    TITLE_MAX = 256,
    KERNEL_MAX = 8192 /* the kernel writes at most 64 lines */
};

static struct thread_list *
new_list(int32_t pid)
{
    struct arena *arena = arena_new(ARENA_MAX);
    struct thread_list *list = arena ? arena_alloc(arena, sizeof(*list)) : NULL;

    if (!list) {
        arena_free(arena);
        return NULL;
    }
    *list = (struct thread_list){.arena = arena,
                                 .pid = pid,
                                 .taken_ms = clock_wall_ms(),
                                 .references = 1};
    return list;
}

static uint64_t
ticks_to_milliseconds(uint64_t ticks)
{
    long per_second = sysconf(_SC_CLK_TCK);

    return ticks * 1000 / (uint64_t)(per_second > 0 ? per_second : 100);
}

/* A copy without control characters: threads name themselves. */
static const char *
copy_thread_text(struct arena *arena, const char *text, size_t size)
{
    char *copy = arena_strndup(arena, text, size);

    if (copy)
        clean_text((struct span){text, size}, copy);
    return copy;
}

/* Reads /proc/PID/task/TID/stack, whose lines are "[<0>] futex_wait+0x60/0x90",
 * innermost first, and reverses it.  "": this user may not read it. */
static void
read_kernel(int32_t pid, int32_t tid, char out[KERNEL_MAX])
{
    char text[KERNEL_MAX], *end, *line;
    size_t size = 0;

    out[0] = '\0';
    if (!sample_task_read(pid, tid, "stack", text, sizeof(text)))
        return;
    /* a last line that was cut is left out */
    while ((end = strrchr(text, '\n'))) {
        *end = '\0';
        line = strrchr(text, '\n');
        line = strchr(line ? line + 1 : text, ' ');
        if (line)
            size += (size_t)snprintf(out + size, KERNEL_MAX - size, "%s%.*s",
                                     size > 0 ? ";" : "",
                                     (int)strcspn(line + 1, "+"), line + 1);
    }
}

/* The child's title: the first argument of its command line, into which
 * PostgreSQL and Redis write a sentence about what they do.  -1: no memory. */
static int
read_title(struct thread_list *list, struct thread_entry *entry)
{
    char path[32], text[TITLE_MAX];
    size_t size;

    snprintf(path, sizeof(path), "/proc/%" PRId32 "/cmdline", entry->pid);
    (void)sample_read_text(path, text, sizeof(text));
    for (size = strlen(text); size > 0 && text[size - 1] == ' '; size--)
        ;
    entry->process =
        size > 0 ? copy_thread_text(list->arena, text, size) : entry->name;
    return entry->process ? 0 : -1;
}

/* 1: the thread has ended; -1: no memory. */
static int
read_thread_entry(struct thread_list *list, bool calls,
                  struct thread_entry *entry)
{
    char text[STAT_MAX], wchan[WCHAN_MAX], kernel[KERNEL_MAX] = "";
    const char *name, *end;
    struct process_stat stat;

    if (!sample_task_read(entry->pid, entry->tid, "stat", text, sizeof(text)) ||
        !process_stat_parse(text, &stat))
        return 1;
    name = strchr(text, '(');
    end = strrchr(text, ')');
    if (!name || end <= name)
        return 1;
    entry->state = stat.state;
    entry->user_ms = ticks_to_milliseconds(stat.user_ticks);
    entry->system_ms = ticks_to_milliseconds(stat.system_ticks);
    entry->name =
        copy_thread_text(list->arena, name + 1, (size_t)(end - name - 1));
    entry->why = entry->wchan = "";
    /* "0": it runs, or this user may not know. */
    if (sample_task_read(entry->pid, entry->tid, "wchan", wchan,
                         sizeof(wchan)) &&
        strcmp(wchan, "0") != 0)
        entry->wchan = copy_thread_text(list->arena, wchan, strlen(wchan));
    if (calls && (stat.state == 'S' || stat.state == 'D'))
        read_kernel(entry->pid, entry->tid, kernel);
    if (*kernel)
        entry->kernel = copy_thread_text(list->arena, kernel, strlen(kernel));
    return entry->name && entry->wchan && (entry->kernel || !*kernel) ? 0 : -1;
}

/* Lists the tids of all processes.  Threads that end meanwhile are left out
 * later. */
static int
list_tids(struct thread_list *list, struct error *err)
{
    struct sample_tids tids = {0};
    struct processes processes;
    int rc;

    processes_read(list->pid, &processes);
    list->process_count = processes.count;
    list->beyond = processes.left_out;
    list->closed = processes.closed;
    rc = sample_tids_list_all(&processes, &tids, err);
    list->count = tids.count < THREADS_MAX ? tids.count : THREADS_MAX;
    list->left_out = tids.left_out + tids.count - list->count;
    list->list = arena_alloc(list->arena, list->count * sizeof(*list->list));
    if (rc == 0 && list->count == 0) {
        error_set(err, ER_UNKNOWN, "there is no process %" PRId32, list->pid);
        rc = -1;
    } else if (rc == 0 && !list->list) {
        error_memory(err, "the list of threads");
        rc = -1;
    }
    for (size_t i = 0; i < list->count && rc == 0; i++)
        list->list[i] = (struct thread_entry){.tid = tids.list[i].tid,
                                              .pid = tids.list[i].pid};
    sample_tids_fini(&tids);
    return rc;
}

/* -1: no memory. */
static int
read_process(struct thread_list *list, size_t kept, struct thread_entry *entry)
{
    const struct thread_entry *last = kept ? &list->list[kept - 1] : NULL;

    if (entry->pid == list->pid)
        return 0;
    if (!last || last->pid != entry->pid)
        return read_title(list, entry);
    entry->process = last->process;
    return 0;
}

static int
read_thread_entries(struct thread_list *list,
                    const struct threads_options *options, struct error *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++) {
        struct thread_entry entry = list->list[i];
        int rc = read_thread_entry(list, options->kernel, &entry);

        if (rc == 0)
            rc = read_process(list, kept, &entry);
        if (options->cancelled && atomic_load(options->cancelled)) {
            error_set(err, ER_QUERY_INTERRUPTED,
                      "the list of threads was cancelled");
            return -1;
        }
        if (rc < 0) {
            error_memory(err, "the list of threads");
            return -1;
        }
        if (rc == 0)
            list->list[kept++] = entry;
    }
    list->count = kept;
    return 0;
}

static int
fill_thread_list(struct thread_list *list,
                 const struct threads_options *options, struct error *err)
{
    if (list_tids(list, err) != 0 ||
        read_thread_entries(list, options, err) != 0)
        return -1;
    if (list->count == 0) {
        error_set(err, ER_UNKNOWN, "the process %" PRId32 " has ended",
                  list->pid);
        return -1;
    }
    /* Before any is stopped, as a stop makes some waits begin anew. */
    if (thread_waits_find(list, err) != 0)
        return -1;
    return options->stacks ? thread_stacks_take(list, options, err) : 0;
}

int
threads_take(const struct threads_options *options, struct thread_list **out,
             struct error *err)
{
    struct thread_list *list = new_list(options->pid);

    if (!list) {
        error_memory(err, "the list of threads");
        return -1;
    }
    if (fill_thread_list(list, options, err) != 0) {
        thread_list_unref(list);
        return -1;
    }
    *out = list;
    return 0;
}
