/*
 * options.h - heapwire-run's command line, and its effective values.
 *
 * The options are heapwired's own: they are handed on as given, and heapwired,
 * which also reads the configuration file, answers with the effective values.
 */
#ifndef HW_OPTIONS_H
#define HW_OPTIONS_H

#include <stdbool.h>

struct error;

enum setting {
    SETTING_CONFIG,
    SETTING_ID,
    SETTING_LISTEN,
    SETTING_HTTP,
    SETTING_STATE_DIR,
    SETTING_SOCKET,
    SETTING_USER,
    SETTING_EXE,
    SETTING_JEMALLOC,
    SETTING_PROFILING,
    SETTING_PROFILING_SOURCE,
    SETTING_ALLOCATOR,
    SETTING_MALLCTL,
    SETTING_PROCESS,
    SETTING_DUMPABLE,
    SETTING_START_TIMEOUT,
    SETTING_ALLOCATOR_FRAMES,
    SETTING_LOG,
    SETTING_TIMEOUT,
    SETTING_TLS_CERT,
    SETTING_TLS_KEY,
    SETTING_REQUIRE_TLS,
    SETTING_LINGER,
    SETTING_HEARTBEAT,
    SETTINGS
};

enum { OPTIONS_ARGV = 2 * SETTINGS + 3 };

struct options {
    const char *given[SETTINGS]; /* from the command line; NULL when not */
    char *value[SETTINGS];       /* effective; "" when unset; ours to free */
    char **command;              /* borrowed from argv; NULL: attach */
    long attach;                 /* to this process; 0: a command is run */
    bool dry_run, force;         /* with --attach */
    bool explain;                /* print what would be done, start nothing */
};

enum options_result { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG };

/* Prints help, the version, or what is wrong. */
enum options_result options_parse(struct options *options, int argc,
                                  char **argv);
void options_fini(struct options *options);

/* heapwired's argument vector; extra (NULL: none) comes first. */
void options_argv(const struct options *options, const char *program,
                  const char *extra, const char *argv[OPTIONS_ARGV]);

enum check_result {
    CHECK_GOOD,
    CHECK_REFUSED, /* heapwired has given the reason on stderr */
    CHECK_BROKEN   /* heapwired itself does not work; *err */
};

/* Asks `heapwired --check` and takes the key=value lines it prints. */
enum check_result options_check(struct options *options, const char *heapwired,
                                char *const *envp, struct error *err);

#endif
