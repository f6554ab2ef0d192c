/*
 * give_tables.c - preloaded: gives the program the unwind tables of all that it
 * has loaded at its start, for its recorder, or for jemalloc's own profiling.
 *
 * At its end it says on stderr how many objects had a table, how many of them
 * were compared often enough, and which differed from the library's unwinder.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "given_tables.h"
#include "jemalloc.h"
#include "own_calls.h"
#include "own_tables.h"

extern void heapwire_recorder_tables(const struct given_tables *given)
    __attribute__((weak));

static struct own_tables own;
static const struct given_tables *tables;

static void
give(const struct unwind_code *code, const struct buffer *bytes)
{
    int fd = memfd_create("table", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || write(fd, bytes->data, bytes->size) != (ssize_t)bytes->size ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE) != 0 ||
        given_tables_add(fd, code->start + 16) != 0)
        fprintf(stderr, "give_tables: %llx is not taken\n",
                (unsigned long long)code->start);
    close(fd);
}

static void __attribute__((constructor)) begin(void)
{
    mallctl_fn *mallctl = (mallctl_fn *)dlsym(RTLD_DEFAULT, "mallctl");
    int rc;

    own_tables_init(&own);
    for (size_t i = 0; i < own.count; i++)
        if (own.code[i].table)
            give(&own.code[i], &own.bytes[i]);
    tables = given_tables_list();
    if (heapwire_recorder_tables) {
        heapwire_recorder_tables(tables);
    } else if (mallctl) {
        rc = backtrace_hook(mallctl, tables);
        if (rc != 0)
            fprintf(stderr, "give_tables: no hook: %s\n", strerror(rc));
    }
}

static void __attribute__((destructor)) end(void)
{
    uint32_t checked = 0, differed;
    const char *path = "";

    for (size_t i = 0; tables && i < tables->source.count; i++)
        checked += tables->objects[i]->checked == OWN_CALLS_CHECKED;
    differed = given_tables_differed(&path);
    fprintf(stderr, "tables of %zu objects, %u checked, %u differ %s\n",
            tables ? tables->source.count : 0, checked, differed, path);
}
