/*
 * main.c - heapwire-debuginfod PARENT_PID BUILD_ID DIRECTORY BYTES SECONDS
 *
 * Started by heapwired (index_store/debug_fetch.c) to fetch one object's debug
 * information from the servers of DEBUGINFOD_URLS: its bytes go to stdout, or
 * the reason why there are none to stderr.  It is a process of its own because
 * it talks to other machines, through libdebuginfod and libcurl: it can be
 * killed at any moment, has limits, and nothing that it says is trusted.  The
 * library is loaded at run time, so heapwire does not depend on it.  It keeps
 * what it fetches in a directory, which is DIRECTORY, emptied before and after.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

#define LIBRARY "libdebuginfod.so.1"

enum {
    NICE = 10,
    TREE_FDS = 16,
    COPY_BYTES = 1 << 16,
    LEAST_BYTES = 1 << 20 /* largest file, at least: the library writes small
                           * ones of its own */
};

/* A sanitizer's shadow needs terabytes of address space. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const rlim_t memory_bytes = RLIM_INFINITY;
#else
static const rlim_t memory_bytes = (rlim_t)1 << 30;
#endif

/* The functions of the library that we call; stable since elfutils 0.178. */
struct debuginfod {
    void *(*begin)(void);
    int (*find)(void *client, const unsigned char *build_id, int size,
                char **path);
    void (*end)(void *client);
};

static int
report_fetch_failure(const char *what, const char *why)
{
    fprintf(stderr, "%s%s%s", what, *why ? ": " : "", why);
    return EXIT_FAILURE;
}

static int
remove_entry(const char *path, const struct stat *st, int kind,
             struct FTW *where)
{
    (void)st;
    (void)kind;
    /* the directory itself stays */
    if (where->level > 0)
        (void)remove(path);
    return 0;
}

static void
empty_directory(const char *path)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
    (void)nftw(path, remove_entry, TREE_FDS, FTW_DEPTH | FTW_PHYS);
}

static void
set_fetch_limit(int what, rlim_t value)
{
    struct rlimit both = {value, value}, old;

    /* a limit that is tighter already stays */
    if (getrlimit((__rlimit_resource_t)what, &old) == 0 && old.rlim_max < value)
        both = (struct rlimit){old.rlim_max, old.rlim_max};
    (void)setrlimit((__rlimit_resource_t)what, &both);
}

static void
apply_limits(rlim_t bytes, unsigned seconds)
{
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    set_fetch_limit(RLIMIT_CORE, 0);
    set_fetch_limit(RLIMIT_FSIZE, bytes > LEAST_BYTES ? bytes : LEAST_BYTES);
    set_fetch_limit(RLIMIT_CPU, seconds);
    set_fetch_limit(RLIMIT_AS, memory_bytes);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)alarm(seconds); /* heapwired kills us before that, if it is alive */
}

static int
load_library(struct debuginfod *out)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return report_fetch_failure(
            "it needs the library libdebuginfod (Debian's "
            "libdebuginfod1)",
            dlerror()); /* NOLINT(concurrency-mt-unsafe) */
    *(void **)&out->begin = dlsym(library, "debuginfod_begin");
    *(void **)&out->find = dlsym(library, "debuginfod_find_debuginfo");
    *(void **)&out->end = dlsym(library, "debuginfod_end");
    return out->begin && out->find && out->end
               ? EXIT_SUCCESS
               : report_fetch_failure(
                     LIBRARY " lacks the functions that heapwire needs", "");
}

static int
copy_out(int fd)
{
    static char bytes[COPY_BYTES];
    ssize_t n = lseek(fd, 0, SEEK_SET); /* the library leaves the descriptor at
                                         * the end */

    while (n >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
        if (fd_write_all(STDOUT_FILENO, bytes, (size_t)n) != 0)
            return report_fetch_failure("heapwired did not take the file",
                                        strerror(errno)); /* NOLINT */
    return n == 0 ? EXIT_SUCCESS
                  : report_fetch_failure("the fetched file cannot be read",
                                         strerror(errno)); /* NOLINT */
}

static int
fetch_debug(const struct debuginfod *library, const char *build_id)
{
    void *client = library->begin();
    int fd, status;

    if (!client)
        return report_fetch_failure("libdebuginfod cannot start a request", "");
    fd = library->find(client, (const unsigned char *)build_id, 0, NULL);
    if (fd == -ENOENT)
        status = report_fetch_failure("no server has it", "");
    else if (fd < 0)
        status = report_fetch_failure(
            "the servers did not send it",
            strerror(-fd)); /* NOLINT(concurrency-mt-unsafe) */
    else
        status = copy_out(fd);
    fd_close(fd);
    library->end(client);
    return status;
}

int
main(int argc, char **argv)
{
    struct debuginfod library = {NULL, NULL, NULL};
    int status;

    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return puts("heapwire-debuginfod " HW_VERSION) < 0;
    if (argc != 6)
        return report_fetch_failure(
            "heapwire-debuginfod is started by heapwired, never by "
            "hand\n",
            "");
    /* Signal first, check second: a parent that died in between is noticed. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != (pid_t)strtol(argv[1], NULL, 10))
        return EXIT_FAILURE;
    apply_limits((rlim_t)strtoull(argv[4], NULL, 10),
                 (unsigned)strtoul(argv[5], NULL, 10));
    empty_directory(argv[3]);
    status = load_library(&library);
    if (status == EXIT_SUCCESS)
        status = fetch_debug(&library, argv[2]);
    empty_directory(argv[3]);
    _exit(status); /* without exit handlers, of which libraries may have some */
}
