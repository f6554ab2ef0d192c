/*
 * agent.h - the agent's state: how it was started, and what its thread has.
 *
 * start.c starts the one thread, serve.c is that thread, operations.c does what
 * heapwired asks; the other files are their tools.  All state of the thread
 * lies on its stack, so that a fork leaves nothing half-written behind.  libc
 * only.
 */
#ifndef HW_AGENT_H
#define HW_AGENT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent_protocol.h"
#include "jemalloc.h"
#include "levers.h"
#include "mapped_files.h"
#include "shared_fds.h"

/* ---- channel.c ---- */

/* The agent's socket: its place, and the peers that may connect.  Every
 * descriptor belongs to the agent's thread. */
struct channel {
    int directory, lock, listener, connection; /* -1: none */
    struct shared_fds_file listener_file, connection_file;
    uid_t owner;  /* the directory's */
    pid_t holder; /* the process that serves, where CHANNEL_BUSY */
    pid_t peer;   /* of the connection; 0: it cannot be seen from here */
};

enum channel_result {
    CHANNEL_OPEN,
    CHANNEL_BUSY,  /* another process serves this directory */
    CHANNEL_FAILED /* reported on stderr; errno has the reason */
};

/* Opens a channel whose descriptors are all -1, and erases the reasons that
 * earlier agents left. */
enum channel_result channel_open(struct channel *channel,
                                 const char *state_dir);
/* True if the directory belongs to another user, and may still be given to
 * us. */
bool channel_is_shut(const char *state_dir);
/* Serves there again after the directory, the lock or the socket's name was
 * deleted, and keeps the connection; false: it cannot yet. */
bool channel_renew(struct channel *channel, const char *state_dir);
/* Whether channel_renew is needed: others do not find us there any more. */
bool channel_is_lost(const struct channel *channel, const char *state_dir);
void channel_close(struct channel *channel);
/* Closes the directory: calls that need it fail from now on. */
void channel_leave_directory(struct channel *channel);
/* Writes into the lock why the agent ends, for heapwired; "": nothing of note.
 * Only in a descriptor table of its own: in a shared one the lock's number may
 * be a file of the host by now. */
void channel_write_leave_reason(const struct channel *channel,
                                const struct agent_hello *self,
                                const char *why);
/* The same for a process whose agent has not served, and holds no lock. */
void channel_write_early_reason(const char *state_dir, const char *why);
/* Removes the socket's name.  Call before channel_close. */
void channel_remove(struct channel *channel);

/* False when the listener is no longer ours; drops a connection that is not. In
 * a shared descriptor table the host may have closed ours and reused the
 * numbers. */
bool channel_intact(struct channel *channel);

/* Accepts a waiting connection in place of the current one, if its peer is
 * root, the directory's owner or this process's user; false: it did not. */
bool channel_accept(struct channel *channel);
void channel_disconnect(struct channel *channel);

/* Reads one packet of exactly size bytes; -1 for any other.  *fd: the first
 * descriptor with it, the caller's; or -1. */
int channel_receive(struct channel *channel, void *out, size_t size, int *fd);
/* Sends one packet without waiting; -1 when the peer does not take it. */
int channel_send(struct channel *channel, const void *data, size_t size,
                 const int *fds, size_t fd_count);

/* ---- host_privileges.c ---- */

/* Whether our thread may do more than the host's main thread.  A host may
 * change its ids or its sandbox past libc, or where we are not preloaded.  Once
 * a second the thread compares itself with the main one, gives up what it has
 * beyond that, and must end where it cannot. */
struct host_privileges {
    int64_t due_ms; /* monotonic */
    bool more; /* at the last check, too: so it was not a change in progress */
    bool diverged; /* it cannot be like the main thread */
};

/* Milliseconds until the next check.  calls (enum confined_call): those that
 * may be made under the thread's filters, of which there are so many. */
int host_privileges_tick(struct host_privileges *host_privileges, int filters,
                         unsigned calls);

/* Whether two threads of this process have the same ids, capabilities and
 * filters.  For one thread at a time: its buffers are static, as the host's
 * thread may have little stack. */
bool host_privileges_equal(pid_t a, pid_t b);

/* ---- launcher.c ---- */

/* Starts heapwired from the agent, where nothing else starts it.  While no
 * heapwired is connected, and none holds the state directory's lock, the agent
 * starts one: at once, then after a pause that grows.  The new process is not
 * the host's child: the host gets no SIGCHLD, and its wait calls find nothing.
 * Its messages during the start go to start.log. */
enum {
    LAUNCHER_OPTIONS_MAX = 32,
    LAUNCHER_PAUSE_MIN_MS = 1000, /* between two starts; it grows ... */
    LAUNCHER_PAUSE_MAX_MS = 60000 /* ... up to this */
};

struct launcher {
    const char *settings; /* borrowed: agent_tools.h */
    int directory;        /* the channel's */
    int64_t due_ms;       /* monotonic: time of the next attempt; 0: none */
    int64_t pause_ms;     /* the latest pause between attempts */
};

/* Checks the settings.  0, or an errno that says why they cannot work. */
int launcher_check(const char *settings);

void launcher_begin(struct launcher *launcher, const char *settings,
                    int directory);
/* Starts heapwired when that is due.  Returns the milliseconds until the next
 * call is due, or -1. */
int launcher_tick(struct launcher *launcher, bool connected);
/* Asks a heapwired that an agent started to end. */
void launcher_end(const struct launcher *launcher);

/* ---- how it was started, and what its thread has ---- */

struct agent_start {
    char settings[AGENT_SETTINGS_MAX]; /* agent_tools.h */
    struct jemalloc_given
        named_jemalloc;       /* set by the program itself; or empty */
    struct jemalloc jemalloc; /* found before main; by the thread if late */
    bool late;                /* the program runs already */
    bool silent;              /* write nothing to stderr */
    bool child;        /* after a fork: wait until no other process serves */
    unsigned refused;  /* enum confined_call: by filters that came later */
    bool no_new_privs; /* the host has set it; written at any time */
    bool unfit;        /* a filter is coming that it cannot live under */
    pid_t elders[2];   /* a child serves once these have ended; 0: none */
};

struct agent {
    const struct agent_start *start;
    struct channel channel;
    struct jemalloc jemalloc;
    bool object_scan_due; /* look for newly loaded objects */
    struct mapped_files files;
    struct agent_hello self;     /* as of the start: chroot hides /proc */
    struct shared_fds_file root; /* the root directory, likewise */
    struct host_privileges host_privileges;
    struct launcher launcher;
    int null;          /* /dev/null, in a table of its own; -1: none */
    int stop_signalfd; /* signalfd: readable when the thread must end; -1: none
                        */
    bool own_table;
    int filters;        /* seccomp filters of this thread (confined.h) */
    int opened_filters; /* those under which the channel was opened */
    unsigned calls;     /* enum confined_call: allowed under these filters */
    int request_fd;     /* descriptor with the request; -1: none */
    pid_t tracer;       /* whom Yama lets trace this process; 0: nobody */
    int64_t started_ms;
    int64_t absence_max_ms;  /* how long heapwired may be away; 0: for ever */
    int64_t last_request_ms; /* monotonic: heapwired's latest request or
                                connection */
    bool absence_expired; /* absence_max_ms has passed, and profiling is off */
    int64_t unguarded_ms; /* wall clock: switched off for that; or 0 */
};

/* ---- operations.c ---- */

/* Descriptors sent with a reply; owned ones are closed once sent. */
struct operation_files {
    int fds[AGENT_FDS_MAX];
    size_t count;
    bool owned;
};

/* Fills a zeroed reply; all descriptors must be -1.  After AGENT_BAD_REQUEST
 * close the connection. */
void operation_answer(struct agent *agent, const struct agent_request *request,
                      struct agent_reply *reply,
                      struct operation_files *passed);

/* ---- lever_host.c ---- */

struct lever_host lever_host_of(const struct agent *agent);
/* Milliseconds until the next lever's time is over, or -1. */
int lever_host_expire(const struct agent *agent);
/* Ends all levers, with the agent: nobody would put them back later. */
void lever_host_leave(const struct agent *agent);

/* ---- own_smaps.c: what /proc says of this process ---- */

/* Copies at most so many bytes of a text; *cut: there were more.  -1 with
 * errno. */
int own_text_copy(const char *path, int to, size_t most, bool *cut);
/* Writes a line for each thread, as AGENT_SMAPS has them. */
int own_tasks_write(int to);

/* ---- access.c: who may look at this process from outside ---- */

/* Where Yama needs it, allows that process to trace us; 0: nobody. */
void access_allow_tracer(struct agent *agent, pid_t tracer);

/* Makes this process dumpable, if it is not, for at most so many seconds
 * from now.  NULL, with *opened: whether it is dumpable by us; or why not
 * (static). */
const char *access_open(const struct agent *agent, uint64_t seconds,
                        bool *opened);
/* Puts it back, unless the host has changed it since; may be called if nothing
 * was opened, and before the thread ends or is suspended.  False: it stays
 * open, because a filter that came since may forbid prctl; access_left tries
 * again. */
bool access_close(void);
/* Closes the process once the time is over.  Milliseconds until the next call;
 * -1: it is closed. */
int access_left(void);
/* Callable from any thread: the host has set the flag itself. */
void access_changed(bool wanted);
/* In a fork's child, which inherits the flag. */
void access_forked(void);

/* ---- serve.c ---- */

/* Serves until phase_stopping(). 0, or an errno: why it could not serve. */
int serve_run(const struct agent_start *start);

/* On the host's thread, where our thread was suspended and none can follow:
 * ends profiling that it has switched on, and forgets the state it left. */
void serve_abandon_left(void);
/* On the host's thread, before a filter comes under which no child can be
 * served: leaves the reason. */
void serve_write_unfit_reason(const struct agent_start *start);

/* ---- phase.c ----
 * The phase of the agent's thread, and whether it must end.  The thread enters
 * phases; the threads that start and stop it wait for them.  One agent runs at
 * a time in a process. */

/* A signal for our thread alone, which blocks it; the kernel never sends it. */
#define PHASE_WAKE SIGSTKFLT

enum phase {
    PHASE_STARTING,
    PHASE_FDS_UNSHARED, /* has left the host's descriptor table, or cannot */
    PHASE_SERVING,
    PHASE_ENDED
};

/* Call before creating the thread: sets PHASE_STARTING, clears the request to
 * end. */
void phase_reset(void);
void phase_enter(enum phase phase);
enum phase phase_now(void);
/* Waits for that phase or a later one.  0 or ETIMEDOUT. */
int phase_await(enum phase phase, uint32_t timeout_ms);

/* Requests the end; the caller also sends PHASE_WAKE to the thread.  handover:
 * it leaves all that it has to the next thread (below). */
void phase_stop(bool handover);
/* Takes the request back; false: the thread has seen it, and will end. */
bool phase_stay(void);
/* Called by the thread: once one is true, the request cannot be taken back. */
bool phase_stopping(void);
bool phase_hands_over(void);
/* Lets the thread wait; phase_stop() ends that. */
void phase_pause(uint32_t ms);

/* The state that a suspended thread leaves to the one that resumes.
 *
 * No thread of ours may exist while the host changes its ids or its sandbox,
 * and afterwards the socket's directory may be out of reach: so the state is
 * copied, and the descriptors wait in a socket in the host's table for as
 * long as the host's call takes.  handover_open and handover_close are
 * called by the host's thread, before the end of one thread and after the
 * start of the next. */

/* state_dir: NULL, or the directory whose lock no other process may take
 * meanwhile. */
void handover_open(const char *state_dir);
int handover_socket(void); /* -1: none */
void handover_close(void);

/* The thread's last call; false: nothing could be left.  In a shared descriptor
 * table it needs no socket. */
bool handover_leave(struct agent *agent);
/* The next thread's first call: the state, without the descriptors of a table
 * of its own; false: nothing was left. */
bool handover_restore_state(struct agent *agent);
/* Where no thread follows: the state that was left, or NULL.  It is forgotten,
 * and the descriptors of the thread's own table are closed with the socket. */
struct agent *handover_take_abandoned(void);
/* Fetches the descriptors into the thread's own table.  0, or an errno. */
int handover_restore_fds(struct agent *agent);

void handover_forget(void);

#endif
