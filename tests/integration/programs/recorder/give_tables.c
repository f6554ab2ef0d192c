/*
 * give_tables.c - preloaded: gives the program the unwind tables of all that it
 * has loaded at its start, for its recorder, or for jemalloc's own profiling.
 *
 * GIVE_TABLES is a directory: each stack is compared, not the first ones alone,
 * and the file that is named as the process's number says, as long as it runs,
 * how many were, how many objects differ from the library's unwinder, and the
 * last of these.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "given_tables.h"
#include "jemalloc.h"
#include "own_calls.h"
#include "own_tables.h"

enum { LOOK_US = 300, TEXT_MAX = 256 };

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

/* The counts of checks never come to their end. */
static void *
watch(void *arg)
{
    unsigned long long compared = 0;
    char name[TEXT_MAX];
    int fd;

    snprintf(name, sizeof(name), "%s/%d", (const char *)arg, (int)getpid());
    fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (;;) {
        const char *path = "";
        char text[TEXT_MAX];
        uint32_t differed;
        int size;

        for (size_t i = 0; i < tables->source.count; i++)
            compared += atomic_exchange_explicit(&tables->objects[i]->checked,
                                                 0, memory_order_relaxed);
        differed = given_tables_differed(&path);
        size = snprintf(text, sizeof(text), "%llu %u %-100s\n", compared,
                        differed, path);
        (void)!pwrite(fd, text, (size_t)size, 0);
        usleep(LOOK_US);
    }
    return NULL;
}

static void
start_watch(char *directory)
{
    sigset_t all, before;
    pthread_t thread;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_create(&thread, NULL, watch, directory);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void __attribute__((constructor)) begin(void)
{
    mallctl_fn *mallctl = (mallctl_fn *)dlsym(RTLD_DEFAULT, "mallctl");
    char *directory = getenv("GIVE_TABLES");
    int rc;

    own_tables_init(&own);
    for (size_t i = 0; i < own.count; i++)
        if (own.code[i].table)
            give(&own.code[i], &own.bytes[i]);
    tables = given_tables_list();
    if (directory && tables)
        start_watch(directory);
    if (heapwire_recorder_tables) {
        heapwire_recorder_tables(tables);
    } else if (mallctl) {
        rc = backtrace_hook(mallctl, tables);
        if (rc != 0)
            fprintf(stderr, "give_tables: no hook: %s\n", strerror(rc));
    }
}
