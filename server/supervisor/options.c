/*
 * options.c - see options.h.
 *
 * heapwire-run does not parse the configuration: it runs `heapwired --check`
 * with the same options and reads the effective values from its output.  So
 * there is one parser, a fault is reported in one way, and a heapwired that
 * does not run at all is noticed before the database is started.  Reading the
 * answer has a deadline.
 */
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"
#include "ascii.h"
#include "errors.h"
#include "files.h"
#include "memory.h"
#include "reader.h"

enum { CHECK_MAX = 64 * 1024, CHECK_DEADLINE_MS = 10000, CHECK_CHUNK = 4096 };

/* The option's name, its argument, the key that --check prints for it, its
 * help. */
static const struct {
    const char *name, *argument, *key, *help;
} table[SETTINGS] = {
    [SETTING_CONFIG] = {"config", "FILE", "config", "configuration file (INI)"},
    [SETTING_ID] = {"node-id", "N", "id", "this node's id (10001)"},
    [SETTING_LISTEN] = {"listen", "ADDR:PORT", "listen",
                        "admin port (127.0.0.1:9036)"},
    [SETTING_HTTP] = {"http", "ADDR:PORT", "http", "HTTP (127.0.0.1:9037)"},
    [SETTING_STATE_DIR] = {"state-dir", "DIR", "state_dir",
                           "sockets and locks (/run/heapwire/<id> for root)"},
    [SETTING_SOCKET] = {"socket", "PATH", "socket",
                        "admin socket (mysql.sock in the state directory)"},
    [SETTING_USER] = {"user", "NAME", "user", "run heapwired as this user"},
    [SETTING_EXE] = {"exe", "PATH", "exe",
                     "the database's executable, if COMMAND is a script"},
    [SETTING_JEMALLOC] = {"jemalloc", "auto|no|PATH", "jemalloc",
                          "preload libjemalloc (auto: unless the database "
                          "has its own)"},
    [SETTING_PROFILING] =
        {"profiling", "on|prepared|off", "profiling",
         "profile from the start, be ready for it (prepared), or set nothing"},
    [SETTING_PROFILING_SOURCE] =
        {"profiling-source", "auto|jemalloc|interposed|patched",
         "profiling_source",
         "who samples: jemalloc's own profiling, or heapwire's preloaded "
         "recorder, for a shared malloc (interposed) or the program's own "
         "jemalloc (patched); auto: jemalloc's where the database has one that "
         "can, else interposed"},
    [SETTING_ALLOCATOR] = {"allocator", "auto|NAME", "allocator",
                           "which of several allocators: the name of its "
                           "mallctl, or its file (auto); for a library that is "
                           "loaded later its path, so that none is preloaded"},
    [SETTING_MALLCTL] = {"mallctl", "[FILE:]WHERE", "mallctl",
                         "symbol or address of mallctl, if it is not found"},
    [SETTING_PROCESS] = {"process", "parent|child|NAME", "process",
                         "which process of the database (parent)"},
    [SETTING_DUMPABLE] = {"dumpable", "yes|no", "dumpable",
                          "make a database that left root dumpable while it "
                          "is looked at (yes)"},
    [SETTING_START_TIMEOUT] = {"start-timeout", "S", "start_timeout",
                               "seconds in which the database reaches its "
                               "main (20); 0: not watched"},
    [SETTING_ALLOCATOR_FRAMES] =
        {"allocator-frames", "NAMES", "allocator_frames",
         "functions that also belong to the allocator, with commas between"},
    [SETTING_LOG] = {"log", "stderr|syslog|PATH", "log", "heapwired's log"},
    [SETTING_TIMEOUT] = {"statement-timeout", "S", "statement_timeout",
                         "seconds a statement may run (60)"},
    [SETTING_TLS_CERT] = {"tls-cert", "FILE", "tls_cert",
                          "TLS certificate (one is made, self-signed)"},
    [SETTING_TLS_KEY] = {"tls-key", "FILE", "tls_key", "its key"},
    [SETTING_REQUIRE_TLS] = {"require-tls", "yes|no", "require_tls",
                             "refuse TCP without TLS (no)"},
    [SETTING_LINGER] = {"linger", "S", "linger",
                        "seconds that heapwired serves on after the database "
                        "died (900); 0: none"},
    [SETTING_HEARTBEAT] = {"heartbeat", "S", "heartbeat",
                           "seconds without a sign of life after which "
                           "heapwired is started again (30); 0: never"},
};

static void
print_help(void)
{
    printf("usage: heapwire-run [OPTION...] -- COMMAND [ARGUMENT...]\n"
           "       heapwire-run [OPTION...] --attach PID [--dry-run] "
           "[--force]\n"
           "Runs a database with heapwire's agent in it and heapwired beside "
           "it,\nor adds both to one that runs already.\n\n");
    for (int i = 0; i < SETTINGS; i++) {
        char left[64];

        snprintf(left, sizeof(left), "--%s %s", table[i].name,
                 table[i].argument);
        printf("  %-26s %s\n", left, table[i].help);
    }
    printf("  %-26s %s\n", "--explain",
           "say what was found and would be done, and start nothing");
    printf("  %-26s %s\n  %-26s %s\n  %-26s %s\n", "--attach PID",
           "the process that runs already; SIGTERM takes heapwire out of it",
           "--dry-run",
           "with --attach: change nothing, print what would be done", "--force",
           "with --attach: accept a seccomp filter");
    printf("  %-26s %s\n  %-26s %s\n", "--help", "this text", "--version",
           "the version");
}

static bool
take_pid(struct options *options, const char *text)
{
    char *end;

    errno = 0;
    options->attach = strtol(text, &end, 10);
    if (is_digit(*text) && !*end && !errno && options->attach > 0 &&
        options->attach <= INT_MAX)
        return true;
    fprintf(stderr, "heapwire-run: --attach wants a process id, not '%s'\n",
            text);
    return false;
}

/* No value begins with "--": it was forgotten, and this is the next option. */
static bool
take_value(struct options *options, int which, const char *text)
{
    options->given[which] = text;
    if (strncmp(text, "--", 2) != 0)
        return true;
    fprintf(stderr, "heapwire-run: --%s wants %s, not '%s'\n",
            table[which].name, table[which].argument, text);
    return false;
}

/* command: one was given. */
static bool
check_option_set(const struct options *options, bool command)
{
    const char *wrong = NULL;

    if (!options->attach && (options->dry_run || options->force))
        wrong = "--dry-run and --force need --attach";
    else if (options->attach && command)
        wrong = "either a command or --attach";
    else if (options->attach && options->explain)
        wrong = "--explain needs a command; for a process there is --dry-run";
    else if (!options->attach && !command)
        wrong = "no command given";
    if (wrong)
        fprintf(stderr, "heapwire-run: %s; try --help\n", wrong);
    return !wrong;
}

/* getopt has printed the reason already. */
static bool
point_to_help(void)
{
    fputs("heapwire-run: see --help\n", stderr);
    return false;
}

enum options_result
options_parse(struct options *options, int argc, char **argv)
{
    enum {
        HELP = SETTINGS,
        VERSION,
        EXPLAIN,
        ATTACH,
        DRY_RUN,
        FORCE,
        LONG_OPTIONS
    };
    struct option longs[LONG_OPTIONS + 1] = {
        [HELP] = {"help", no_argument, NULL, HELP},
        [VERSION] = {"version", no_argument, NULL, VERSION},
        [EXPLAIN] = {"explain", no_argument, NULL, EXPLAIN},
        [ATTACH] = {"attach", required_argument, NULL, ATTACH},
        [DRY_RUN] = {"dry-run", no_argument, NULL, DRY_RUN},
        [FORCE] = {"force", no_argument, NULL, FORCE},
    };
    int which;

    memset(options, 0, sizeof(*options));
    for (int i = 0; i < SETTINGS; i++)
        longs[i] = (struct option){table[i].name, required_argument, NULL, i};
    /* "+": whatever follows the command belongs to the command. */
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads here */
    while ((which = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
        if (which == HELP) {
            print_help();
            return OPTIONS_DONE;
        }
        if (which == VERSION) {
            printf("heapwire-run %s\n", HW_VERSION);
            return OPTIONS_DONE;
        }
        if (which == EXPLAIN)
            options->explain = true;
        else if (which == DRY_RUN)
            options->dry_run = true;
        else if (which == FORCE)
            options->force = true;
        else if (which < 0 || (which >= LONG_OPTIONS && !point_to_help()) ||
                 (which == ATTACH && !take_pid(options, optarg)) ||
                 (which < SETTINGS && !take_value(options, which, optarg)))
            return OPTIONS_WRONG;
    }
    if (!check_option_set(options, optind < argc))
        return OPTIONS_WRONG;
    options->command = optind < argc ? argv + optind : NULL;
    return OPTIONS_RUN;
}

void
options_fini(struct options *options)
{
    for (int i = 0; i < SETTINGS; i++) {
        mem_free(options->value[i]);
        options->value[i] = NULL;
    }
}

void
options_argv(const struct options *options, const char *program,
             const char *extra, const char *argv[OPTIONS_ARGV])
{
    /* "--name" of each; static, as they last for the life of the program. */
    static char names[SETTINGS][32];
    int count = 0;

    argv[count++] = program;
    if (extra)
        argv[count++] = extra;
    for (int i = 0; i < SETTINGS; i++) {
        if (!options->given[i])
            continue;
        snprintf(names[i], sizeof(names[i]), "--%s", table[i].name);
        argv[count++] = names[i];
        argv[count++] = options->given[i];
    }
    argv[count] = NULL;
}

static int
take_values(struct options *options, const struct buffer *text,
            struct error *err)
{
    struct reader lines = reader_of(text->data, text->size);
    struct span line;

    while (reader_line(&lines, &line)) {
        const char *equal = memchr(line.data, '=', line.size);
        size_t key = equal ? (size_t)(equal - line.data) : 0;

        for (int i = 0; equal && i < SETTINGS; i++) {
            struct span name = {.data = line.data, .size = key};

            if (!span_is(name, table[i].key))
                continue;
            mem_free(options->value[i]);
            options->value[i] = mem_strndup(equal + 1, line.size - key - 1);
        }
    }
    /* A key that an older heapwired does not print keeps the given value. */
    for (int i = 0; i < SETTINGS; i++) {
        if (!options->value[i])
            options->value[i] =
                mem_strdup(options->given[i] ? options->given[i] : "");
        if (!options->value[i]) {
            error_memory(err, "the configuration");
            return -1;
        }
    }
    return 0;
}

/* Reads fd until its writer ends, within the deadline. */
static int
read_until_end(int fd, struct buffer *out)
{
    uint64_t until = clock_ms() + CHECK_DEADLINE_MS;

    for (;;) {
        struct pollfd polled = {.fd = fd, .events = POLLIN};
        uint64_t now = clock_ms();
        char bytes[CHECK_CHUNK];
        ssize_t n;

        if (now >= until || poll(&polled, 1, (int)(until - now)) == 0) {
            errno = ETIMEDOUT;
            return -1;
        }
        n = read(fd, bytes, sizeof(bytes));
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0)
            buffer_add(out, bytes, (size_t)n);
        if (out->failed) {
            errno = EMSGSIZE;
            return -1;
        }
    }
}

static pid_t
spawn_check(const struct options *options, const char *heapwired,
            char *const *envp, int out)
{
    const char *argv[OPTIONS_ARGV];
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    int error;

    options_argv(options, heapwired, "--check", argv);
    error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                         O_RDONLY, 0);
        /* stderr stays ours: faults of the configuration go straight to the
         * user. */
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
        error = posix_spawn(&pid, heapwired, &actions, NULL,
                            (char *const *)argv, envp);
        posix_spawn_file_actions_destroy(&actions);
    }
    errno = error;
    return error == 0 ? pid : -1;
}

enum check_result
options_check(struct options *options, const char *heapwired, char *const *envp,
              struct error *err)
{
    enum check_result result = CHECK_BROKEN;
    int ends[2] = {-1, -1}, status = 0;
    struct buffer text;
    pid_t pid;

    buffer_init(&text, CHECK_MAX);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot create a pipe");
        goto out;
    }
    pid = spawn_check(options, heapwired, envp, ends[1]);
    if (pid < 0) {
        error_sys(err, ER_UNKNOWN, "cannot run %s", heapwired);
        goto out;
    }
    fd_close(ends[1]);
    ends[1] = -1;
    if (read_until_end(ends[0], &text) != 0) {
        error_sys(err, ER_UNKNOWN, "no answer from %s --check", heapwired);
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        goto out;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    /* 127 also if it could not be executed. */
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 127)
        error_set(err, ER_UNKNOWN, "%s --check ended with status 0x%x",
                  heapwired, (unsigned)status);
    else if (WEXITSTATUS(status) != 0)
        result = CHECK_REFUSED;
    else if (take_values(options, &text, err) == 0)
        result = CHECK_GOOD;
    /* heapwired is given the effective directory, so that it uses the one that
     * the agent is told whenever it is started. */
    if (result == CHECK_GOOD)
        options->given[SETTING_STATE_DIR] = options->value[SETTING_STATE_DIR];
out:
    fd_close(ends[0]);
    fd_close(ends[1]);
    buffer_fini(&text);
    return result;
}
