/*
 * debug_fetch.c - see debug_fetch.h.
 *
 * libdebuginfod and libcurl talk to other machines, so they run in a process of
 * their own (symbolizer/fetch/main.c), with limits, a fixed environment and two
 * pipes: a file on stdout, a reason on stderr.  This side copies the bytes as
 * they come, under a deadline, and can be cancelled at any moment.  A server is
 * not trusted: the file counts only if it is an ELF file with the wanted
 * build-id and with names in it.  Blocks for minutes; only the fetcher's one
 * thread may call it (buffers are static).
 */
#include "debug_fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clean_text.h"
#include "clock.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "spawn_program.h"

enum {
    READ_BYTES = 1 << 16,
    WHY_MAX = 200,
    GRACE_S = 5, /* added to the program's own limit, which must not come before
                  * ours */
    VARIABLE_MAX = 4096
};

struct fetching {
    const struct debug_fetch *fetch;
    struct index_writer *writer;
    pid_t pid;             /* -1: none */
    int out, err_fd;       /* the program's stdout and stderr, or -1 */
    uint64_t until;        /* monotonic */
    char why[WHY_MAX + 1]; /* what it wrote to stderr */
    size_t why_size;
};

/* ---- the program ---- */

/* Fills the program's environment.  Of ours it gets only variables that say how
 * the network is reached. */
static size_t
take_environment(const struct debug_fetch *fetch, char *variables,
                 char *environment[])
{
    static const char *const names[] = {
        "http_proxy",  "https_proxy", "all_proxy",     "no_proxy",
        "HTTPS_PROXY", "NO_PROXY",    "SSL_CERT_FILE", "SSL_CERT_DIR"};
    size_t count = 0, used = 0;
    char *at = variables;

    used =
        (size_t)snprintf(at, VARIABLE_MAX, "DEBUGINFOD_URLS=%s", fetch->urls) +
        1;
    environment[count++] = at;
    at += used;
    used = (size_t)snprintf(at, VARIABLE_MAX,
                            "DEBUGINFOD_CACHE_PATH=%s/" DEBUG_DOWNLOADS,
                            fetch->dir->path) +
           1;
    environment[count++] = at;
    at += used;
    used = (size_t)snprintf(at, VARIABLE_MAX, "DEBUGINFOD_TIMEOUT=%u",
                            fetch->timeout_s) +
           1;
    environment[count++] = at;
    at += used;
    used = (size_t)snprintf(at, VARIABLE_MAX, "DEBUGINFOD_MAXSIZE=%llu",
                            (unsigned long long)fetch->bytes) +
           1;
    environment[count++] = at;
    at += used;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]); /* NOLINT: nothing changes it */

        if (!value || strlen(value) >= VARIABLE_MAX / 2)
            continue;
        used = (size_t)snprintf(at, VARIABLE_MAX, "%s=%s", names[i], value) + 1;
        environment[count++] = at;
        at += used;
    }
    environment[count] = NULL;
    return count;
}

/* variables is static: 48 KB would be a fifth of this thread's stack. */
static int
start_program(struct fetching *f, const int out[2], const int err_fds[2])
{
    enum { VARIABLES = 12 };
    static char variables[VARIABLES * VARIABLE_MAX];
    const struct debug_fetch *fetch = f->fetch;
    char parent[16], id[BUILD_ID_TEXT], path[PATH_MAX], bytes[24], seconds[16];
    char *const argv[] = {
        (char *)fetch->program, parent, id, path, bytes, seconds, NULL};
    char *environment[VARIABLES + 1];
    struct spawn_program program = {
        fetch->program, argv, environment, {-1, out[1], err_fds[1]}};

    take_environment(fetch, variables, environment);
    snprintf(parent, sizeof(parent), "%d", (int)getpid());
    build_id_text(fetch->id, id);
    snprintf(path, sizeof(path), "%s/" DEBUG_DOWNLOADS, fetch->dir->path);
    snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)fetch->bytes);
    snprintf(seconds, sizeof(seconds), "%u", fetch->timeout_s + GRACE_S);
    return spawn_program(&program, &f->pid);
}

static int
start_fetching(struct fetching *f, struct error *err)
{
    int out[2] = {-1, -1}, err_fds[2] = {-1, -1}, rc;

    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err_fds, O_CLOEXEC) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot make a pipe");
        fd_close(out[0]);
        fd_close(out[1]);
        return -1;
    }
    rc = start_program(f, out, err_fds);
    fd_close(out[1]);
    fd_close(err_fds[1]);
    f->out = out[0];
    f->err_fd = err_fds[0];
    if (rc == 0)
        return 0;
    errno = rc;
    f->pid = -1;
    error_sys(err, ER_UNKNOWN, "cannot start %s", f->fetch->program);
    return -1;
}

/* ---- the program's output ---- */

/* Copies what came to the writer. 1: more may come; 0: the end; -1 with
 * *err. */
static int
receive_debug_bytes(struct fetching *f, struct error *err)
{
    static char bytes[READ_BYTES];
    ssize_t n = read(f->out, bytes, sizeof(bytes));

    if (n < 0 && errno == EINTR)
        return 1;
    if (n < 0)
        error_sys(err, ER_UNKNOWN, "cannot read the fetched file");
    if (n <= 0)
        return (int)n;
    return index_writer_write(f->writer, bytes, (size_t)n, err) == 0 ? 1 : -1;
}

static void
receive_fetch_message(struct fetching *f)
{
    char more[WHY_MAX];
    ssize_t n = read(f->err_fd, more, sizeof(more));

    if (n <= 0) {
        fd_close(f->err_fd);
        f->err_fd = -1;
        return;
    }
    if ((size_t)n > WHY_MAX - f->why_size)
        n = (ssize_t)(WHY_MAX - f->why_size);
    memcpy(f->why + f->why_size, more, (size_t)n);
    f->why_size += (size_t)n;
}

/* Receives until the program has closed both pipes; -1 with *err. */
static int
receive_fetch_output(struct fetching *f, struct error *err)
{
    int more = 1;

    while (more > 0 || f->err_fd >= 0) {
        struct pollfd fds[] = {{more > 0 ? f->out : -1, POLLIN, 0},
                               {f->err_fd, POLLIN, 0},
                               {f->fetch->cancel_fd, POLLIN, 0}};
        uint64_t now = clock_ms();
        int n = now < f->until ? poll(fds, 3, (int)(f->until - now)) : 0;

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            error_set(err, ER_UNKNOWN,
                      "the servers did not send it within %u s",
                      f->fetch->timeout_s);
            return -1;
        }
        if (fds[2].revents) {
            error_set(err, ER_QUERY_INTERRUPTED, "cancelled");
            return -1;
        }
        if (fds[0].revents && (more = receive_debug_bytes(f, err)) < 0)
            return -1;
        if (fds[1].revents)
            receive_fetch_message(f);
    }
    return 0;
}

/* Reaps the program, killed unless everything was taken.  -1 with *err, unless
 * it succeeded. */
static int
end_fetching(struct fetching *f, bool taken, struct error *err)
{
    char said[WHY_MAX + 1];
    int status = 0;
    pid_t got;

    if (f->pid < 0)
        return -1;
    if (!taken)
        (void)kill(f->pid, SIGKILL);
    do
        got = waitpid(f->pid, &status, 0);
    while (got < 0 && errno == EINTR);
    if (!taken)
        return -1;
    if (got == f->pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    clean_text((struct span){f->why, f->why_size}, said);
    said[f->why_size] = '\0';
    error_set(err, ER_UNKNOWN, "%s",
              f->why_size > 0 ? said
                              : "heapwire-debuginfod failed without a message");
    return -1;
}

/* ---- checks ---- */

/* Reads the temporary file, before it gets its name: what is not the wanted
 * build's debug information is never found by others. */
static int
check_debug(const struct debug_fetch *fetch, const struct index_writer *writer,
            struct error *err)
{
    int fd = openat(fetch->dir->fd, writer->file.tmp,
                    O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct elf_file elf = {0};
    struct build_id id;
    int rc = -1;

    if (fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot read the fetched file");
        return -1;
    }
    if (elf_init(&elf, fd, "the fetched file", err) == 0 &&
        elf_load_sections(&elf, err) == 0) {
        id = build_id_of(&elf);
        if (!build_id_equal(&id, fetch->id))
            error_set(err, ER_UNKNOWN, "the fetched file is of another build");
        else if (!elf_has_dwarf(&elf) && !elf_section(&elf, ".symtab"))
            error_set(
                err, ER_UNKNOWN,
                "the fetched file has neither debug information nor symbols");
        else
            rc = 0;
    }
    elf_fini(&elf);
    fd_close(fd);
    return rc;
}

int
debug_fetch(const struct debug_fetch *fetch, struct index_writer *writer,
            struct error *err)
{
    struct fetching f = {.fetch = fetch,
                         .writer = writer,
                         .pid = -1,
                         .out = -1,
                         .err_fd = -1,
                         .until = clock_ms() + fetch->timeout_s * 1000ull};
    bool taken;
    int rc;

    if (mkdirat(fetch->dir->fd, DEBUG_DOWNLOADS, 0700) != 0 &&
        errno != EEXIST) {
        error_sys(err, ER_UNKNOWN, "cannot make a directory for it");
        return -1;
    }
    taken = start_fetching(&f, err) == 0 && receive_fetch_output(&f, err) == 0;
    fd_close(f.out);
    fd_close(f.err_fd);
    rc = end_fetching(&f, taken, err);
    /* The directory is empty unless the program was killed.  It is removed
     * since the next one may run as another user. */
    (void)unlinkat(fetch->dir->fd, DEBUG_DOWNLOADS, AT_REMOVEDIR);
    if (rc == 0 && writer->bytes == 0) {
        error_set(err, ER_UNKNOWN, "the servers sent no bytes");
        rc = -1;
    }
    return rc == 0 ? check_debug(fetch, writer, err) : -1;
}
