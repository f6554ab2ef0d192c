/*
 * agent.h - what the agent's parts share.  None of it is exported.
 *
 * entry.c decides in which process the agent runs, start.c starts its one
 * thread, serve.c is that thread; the rest are its tools.  All state of the
 * thread lives on its stack, so a fork leaves nothing half-written behind. libc
 * only.
 */
#ifndef HW_AGENT_H
#define HW_AGENT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent_protocol.h"
#include "jemalloc.h"

enum {
    /* jemalloc dumps, and libgcc unwinds, on this stack. */
    AGENT_STACK_BYTES = 512 * 1024,
    /* A process that daemonises: how long its parent may take to leave. */
    SURVIVOR_WAIT_MS = 10000,
    SURVIVOR_STEP_MS = 100,
    SUCCESSOR_STEP_MS = 250,
    SURVIVOR_FORK_MS = 2000, /* from setsid() to the second fork */
    /* What has forked more often is no daemon that is starting: each backend of
     * PostgreSQL leaves the session, too. */
    SURVIVOR_FORKS = 8,
    /* A child that is known by its name: how long until it has it. */
    NAMED_WAIT_MS = 10000,
    NAMED_STEP_MS = 100,
    /* Descriptors we hold in the host's own table when we must share it. */
    SHARED_FDS_MAX = 16
};

/* To our thread alone, where it is blocked: the kernel never sends this one. */
#define AGENT_WAKE SIGSTKFLT

/* One line "heapwire: ..." on the host's stderr, in a single write. */
void agent_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Nothing is said any more: the host may have made descriptor 2 a file of its
 * own, and that may be a table. */
void agent_quiet(void);

int64_t agent_monotonic_ms(void);
int64_t agent_wall_ms(void);

struct agent_start {
    char settings[AGENT_SETTINGS_MAX]; /* "NAME=value" NUL ... NUL */
    struct jemalloc_given given;       /* by the program, that knows its own */
    struct jemalloc jemalloc; /* found before main; late: by the thread */
    bool late;                /* the program runs already */
    bool silent;              /* nothing is said */
    bool child; /* after a fork: wait until no other process serves */
};

/* The value of a setting, or NULL; the first, where there are several. */
const char *agent_setting(const struct agent_start *start, const char *name);
const char *agent_next_setting(const char *value, const char *name);

/* The one that was given, or what is found now. */
void agent_find_jemalloc(const struct agent_start *start,
                         struct jemalloc *jemalloc);

/* The thread.  0, or why it could not serve. */
int agent_serve(const struct agent_start *start);
/* It serves. */
void agent_started(void);
/* Whether it is to end; whoever wants that sends it AGENT_WAKE, too. */
bool agent_stopping(void);

/* Which file a descriptor means; zeroed when it is not open. */
struct agent_file {
    dev_t device;
    ino_t inode;
};
struct agent_file agent_file_of(int fd);
/* Whether fd is open and means file. */
bool agent_file_is(int fd, struct agent_file file);

/* Descriptors held in a table shared with the host, which a fork's child must
 * close.  In a table of our own nothing is recorded. */
void agent_shared_begin(void); /* from here on, record */
void agent_shared_add(int fd);
void agent_shared_drop(int fd);
void agent_shared_close_all(void);

/* Who this process is: pid, uid, incarnation, executable. */
void agent_identify(struct agent_hello *hello);

/* The value of that variable in an environment, or of one entry of it; NULL:
 * it is not that.  Before libc is ready, too. */
const char *agent_env(char *const *envp, const char *name);
const char *agent_env_value(const char *entry, const char *name);
/* What it was when the program began, cut off at size: in one that runs,
 * getenv() would race with its setenv().  False: it was not set. */
bool agent_first_env(const char *name, char *out, size_t size);

/* Whether this process runs the file of that path; NULL: no. */
bool agent_is_executable(const char *path);

/* Reads at most size - 1 bytes of a small file and ends them with NUL; the
 * length, or -1. */
int agent_read_small(const char *path, char *out, int size);

#endif
