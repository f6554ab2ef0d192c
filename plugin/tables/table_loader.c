/*
 * table_loader.c - see table_loader.h.
 *
 * Each sample's stack is taken on the database's own threads, and by tables a
 * sample costs a fifth of what it does by the library's unwinder.  The agent
 * cannot make tables: that reads whole ELF files and needs memory.  So
 * heapwired loads them for the process (unwind_tables.h), copies each into a
 * sealed memfd and passes the descriptor to the agent.  Loading may take
 * seconds and the helper's processor time, so it runs on a thread of its own
 * with priority 19; the controller's thread only looks whether that thread is
 * done (table_loader_update), and passes on what it left.  A check a minute
 * finds objects that the process has loaded since.
 */
#include "table_loader.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "clock.h"
#include "code_map.h"
#include "errors.h"
#include "files.h"
#include "memory.h"
#include "objects.h"
#include "thread.h"
#include "unwind_tables.h"

enum {
    STACK_BYTES = 1 << 20,
    /* the objects of a process seldom change */
    CHECK_MS = 60 * 1000,
    GIVEN_MAX = 1024,
    LEAST_PRIORITY = 19
};

struct given_range {
    uint64_t start, end, offset;
};

struct table_loader {
    struct unwind_tables_options options; /* program is the copy below */
    char *program;
    bool may_give;
    int cancel_fd; /* eventfd */
    int32_t pid;
    uint64_t started, next_ms;
    struct given_range given[GIVEN_MAX]; /* what the agent of this process
                                          * has */
    size_t given_count;
    bool runs;
    pthread_t thread;
    /* The loading thread's, from its start until done is true; the owner reads
     * them after it has seen done (acquire) and joined the thread. */
    atomic_bool done;
    struct code_map map;          /* pid 0: the thread opens it */
    struct unwind_tables *tables; /* NULL: loading failed, or was passed on */
};

struct table_loader *
table_loader_new(const struct unwind_tables_options *options, bool memfd,
                 struct error *err)
{
    struct table_loader *loader = mem_zalloc(1, sizeof(*loader));

    if (!loader) {
        error_memory(err, "unwind tables for the agent");
        return NULL;
    }
    loader->may_give = memfd;
    loader->options = *options;
    loader->options.program = loader->program = mem_strdup(options->program);
    loader->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loader->cancel_fd < 0)
        error_sys(err, ER_UNKNOWN, "cannot make an event descriptor");
    else if (!loader->program)
        error_memory(err, "unwind tables for the agent");
    else
        return loader;
    table_loader_free(loader);
    return NULL;
}

static void
end_loader_thread(struct table_loader *loader)
{
    if (loader->runs)
        pthread_join(loader->thread, NULL);
    loader->runs = false;
}

static void
free_tables(struct table_loader *loader)
{
    unwind_tables_free(loader->tables);
    loader->tables = NULL;
}

void
table_loader_free(struct table_loader *loader)
{
    if (!loader)
        return;
    if (loader->cancel_fd >= 0)
        (void)eventfd_write(loader->cancel_fd, 1);
    end_loader_thread(loader);
    free_tables(loader);
    fd_close(loader->cancel_fd);
    mem_free(loader->program);
    mem_free(loader);
}

/* ---- the thread ---- */

static void *
load_main(void *arg)
{
    struct table_loader *loader = arg;
    struct code_map *map = &loader->map;
    struct unwind_request request = {.maps = &map->maps,
                                     .open_object = objects_open_mapping,
                                     .arg = &map->objects,
                                     .cancel_fd = loader->cancel_fd};
    struct unwind_loaded loaded;
    struct error err;

    /* On Linux this sets the priority of the calling thread alone, and the
     * helper that it starts inherits it. */
    (void)setpriority(PRIO_PROCESS, 0, LEAST_PRIORITY);
    loader->tables = unwind_tables_new(&loader->options, &err);
    if (loader->tables &&
        ((map->pid == 0 && code_map_open(map, loader->pid, &err) != 0) ||
         unwind_tables_load(loader->tables, &request, &loaded, &err) != 0))
        free_tables(loader);
    code_map_close(map);
    atomic_store_explicit(&loader->done, true, memory_order_release);
    return NULL;
}

static void
begin_table_loading(struct table_loader *loader,
                    const struct table_loader_agent *agent)
{
    struct thread_start start = {"hw-tables", STACK_BYTES, load_main, loader};
    struct error ignored;

    atomic_store(&loader->done, false);
    loader->next_ms = clock_ms() + CHECK_MS;
    loader->map.memfd = loader->may_give;
    /* A process that this user may not read: the agent sends its own maps and
     * descriptors.  That is a request on the agent's channel, so it is made
     * here, on the controller's thread, and not on the loading one. */
    if (code_map_is_refused(loader->pid) &&
        agent->take_code(agent->arg, &loader->map, &ignored) != 0)
        return;
    loader->runs = thread_start(&loader->thread, &start, &ignored) == 0;
    if (!loader->runs)
        code_map_close(&loader->map);
}

/* ---- giving ---- */

/* A new descriptor of the table's bytes, or -1.  unwind_table_open() has pages,
 * rules and rows follow the header without a gap, so the header's address is
 * found from pages.  All seals are set: the agent maps the file into the
 * database and refuses one that could shrink (SIGBUS) or change under a walking
 * thread. */
static int
copy_table(const struct unwind_table *table)
{
    const uint64_t size = UNWIND_HEADER +
                          (table->page_count + UINT64_C(1)) * sizeof(uint32_t) +
                          (uint64_t)table->rule_count * UNWIND_RULE_BYTES +
                          (uint64_t)table->row_count * sizeof(uint32_t);
    int fd = memfd_create("heapwire-table", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd >= 0 &&
        fd_write_all(fd, (const char *)table->pages - UNWIND_HEADER, size) ==
            0 &&
        fcntl(fd, F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0)
        return fd;
    fd_close(fd);
    return -1;
}

static bool
is_code_table_given(const struct table_loader *loader,
                    const struct unwind_code *code)
{
    for (size_t i = 0; i < loader->given_count; i++)
        if (loader->given[i].start == code->start &&
            loader->given[i].end == code->end &&
            loader->given[i].offset == code->offset)
            return true;
    /* with a full list nothing more is given */
    return loader->given_count == GIVEN_MAX;
}

static int
give_all(struct table_loader *loader, const struct table_loader_agent *agent)
{
    struct unwind_source source = unwind_tables_source(loader->tables);
    const size_t before = loader->given_count;

    for (size_t i = 0; i < source.count; i++) {
        const struct unwind_code *code = &source.list[i];
        int fd, rc;

        if (!code->table || is_code_table_given(loader, code))
            continue;
        fd = copy_table(code->table);
        rc = fd >= 0 ? agent->give(agent->arg, code->start, fd) : -1;
        fd_close(fd);
        if (rc != 0)
            return -1;
        loader->given[loader->given_count++] =
            (struct given_range){code->start, code->end, code->offset};
    }
    /* address 0 ends the list: the agent puts all the new tables to use at
     * once */
    return loader->given_count > before ? agent->give(agent->arg, 0, -1) : 0;
}

void
table_loader_update(struct table_loader *loader, int32_t pid, uint64_t started,
                    const struct table_loader_agent *agent)
{
    const bool other = pid != loader->pid || started != loader->started;

    if (!loader->may_give)
        return;
    if (loader->runs &&
        !atomic_load_explicit(&loader->done, memory_order_acquire))
        return;
    end_loader_thread(loader);
    /* Tables of a process that has ended are of no use to the one that follows.
     * After a failed give the list is forgotten, so that the next load gives
     * everything again; the agent takes a table that it has as given. */
    if (loader->tables && !other && give_all(loader, agent) != 0)
        loader->given_count = 0;
    free_tables(loader);
    if (other) {
        loader->pid = pid;
        loader->started = started;
        loader->given_count = 0;
        loader->next_ms = 0;
    }
    if (pid != 0 && clock_ms() >= loader->next_ms)
        begin_table_loading(loader, agent);
}
