/*
 * serve.c - the agent's thread: one poll, one request at a time.
 *
 * It first gives itself a descriptor table of its own.  So the host's forks,
 * execs and close-everything loops never meet our descriptors, the host's table
 * has none of them, and the paths we give to jemalloc go through
 * /proc/thread-self, not /proc/self.  Nothing here waits for heapwired: without
 * it, timed work alone wakes the thread, and undoes what must not outlast it.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent_tools.h"
#include "confined.h"
#include "jemalloc.h"
#include "process_stat.h"
#include "shared_fds.h"

enum {
    STOPPED_MS = 1000,  /* woken that much too late: we were stopped */
    STOP_POLL_MS = 250, /* between checks without a signalfd */
    /* How long the parent of a daemonising process may take to end. */
    SURVIVOR_WAIT_MS = 10000,
    SURVIVOR_STEP_MS = 100,  /* between looks at the lock: by a child, */
    SUCCESSOR_STEP_MS = 250, /* and by the next database */
    LOST_STEP_MS = 500, /* until the deleted state directory is there again */
    /* How long a child may take to set the name by which it is chosen. */
    NAMED_WAIT_MS = 10000,
    NAMED_STEP_MS = 100 /* between looks at it */
};

/* ---- whether heapwired is there ---- */

static void
note_contact(struct agent *agent)
{
    agent->last_request_ms = agent_monotonic_ms();
    agent->absence_expired = false;
}

/* Milliseconds until heapwired has been away for too long, or -1. */
static int
absence_left_ms(const struct agent *agent)
{
    int64_t left;

    if (agent->absence_max_ms == 0 || agent->absence_expired ||
        profiling_status(&agent->jemalloc) != AGENT_OK)
        return -1;
    left =
        agent->last_request_ms + agent->absence_max_ms - agent_monotonic_ms();
    if (left < 0)
        return 0;
    return left < INT_MAX ? (int)left : INT_MAX;
}

/* Switches profiling off when heapwired was away for too long.  Call it only
 * when poll() found nothing of heapwired: a process that was stopped finds its
 * requests waiting.  A late wake-up means that the machine was stopped, and
 * heapwired with it: then the time begins anew. */
static void
end_unguarded(struct agent *agent)
{
    int64_t due_ms = agent->last_request_ms + agent->absence_max_ms;
    bool active = false;

    if (absence_left_ms(agent) != 0)
        return;
    if (agent_monotonic_ms() - due_ms > STOPPED_MS) {
        note_contact(agent);
        return;
    }
    agent->absence_expired = true;
    if (profiling_get_active(&agent->jemalloc, &active) != 0 || !active)
        return;
    if (profiling_set_active(&agent->jemalloc, false, 0) == 0)
        agent->unguarded_ms = agent_wall_ms();
    else
        note_contact(agent); /* try again after a while */
}

static struct shared_fds_file
root_directory(void)
{
    struct shared_fds_file root = {0, 0};
    struct stat st;

    if (stat("/", &st) == 0) {
        root.device = st.st_dev;
        root.inode = st.st_ino;
    }
    return root;
}

/* In another root directory (chroot) a descriptor of a directory outside would
 * be a way out of it. */
static void
leave_other_root(struct agent *agent)
{
    struct shared_fds_file root = root_directory();

    if (agent->channel.directory >= 0 && agent->root.inode != 0 &&
        (root.device != agent->root.device || root.inode != agent->root.inode))
        channel_leave_directory(&agent->channel);
}

/* The earlier of two timeouts; -1: never. */
static int
earlier_timeout_ms(int a_ms, int b_ms)
{
    return a_ms < 0 || (b_ms >= 0 && b_ms < a_ms) ? b_ms : a_ms;
}

/* Serves again after the state directory, or a name in it, was deleted:
 * heapwired makes the directory again.  Not under a filter that came since,
 * which may kill for bind().  Milliseconds until the next check; -1: whenever
 * the thread wakes. */
static int
check_channel_names(struct agent *agent)
{
    const char *path =
        agent_settings_get(agent->start->settings, AGENT_ENV_STATE);

    if (!channel_is_lost(&agent->channel, path) || agent->start->refused ||
        confined_filters() != agent->opened_filters)
        return -1;
    if (channel_renew(&agent->channel, path)) {
        agent->launcher.directory = agent->channel.directory;
        return -1;
    }
    return agent->channel.connection < 0 ? LOST_STEP_MS : -1;
}

/* Runs all timed work that is due.  Milliseconds until the next, or -1. */
static int
run_due_agent_work(struct agent *agent)
{
    int due_ms = earlier_timeout_ms(profiling_expire(&agent->jemalloc),
                                    absence_left_ms(agent));

    due_ms = earlier_timeout_ms(due_ms, access_left());
    due_ms = earlier_timeout_ms(due_ms, lever_host_expire(agent));
    if (agent->channel.listener < 0)
        return due_ms;
    leave_other_root(agent);
    due_ms = earlier_timeout_ms(due_ms, check_channel_names(agent));
    if (agent->start->no_new_privs) /* without /proc it is not seen */
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    due_ms = earlier_timeout_ms(
        due_ms, host_privileges_tick(&agent->host_privileges, agent->filters,
                                     agent->calls));
    return earlier_timeout_ms(
        due_ms,
        launcher_tick(&agent->launcher, agent->channel.connection >= 0));
}

/* ---- requests ---- */

/* The descriptor that came with the request is not kept. */
static void
close_given_descriptor(struct agent *agent)
{
    if (agent->request_fd < 0)
        return;
    shared_fds_drop(agent->request_fd);
    close(agent->request_fd);
    agent->request_fd = -1;
}

/* -1: close the connection. */
static int
serve_channel_request(struct agent *agent)
{
    struct agent_request request;
    struct agent_reply reply;
    struct operation_files passed = {.fds = {-1, -1}};
    int rc;

    if (channel_receive(&agent->channel, &request, sizeof(request),
                        &agent->request_fd) != 0) {
        close_given_descriptor(agent);
        return -1;
    }
    memset(&reply, 0, sizeof(reply));
    operation_answer(agent, &request, &reply, &passed);
    close_given_descriptor(agent);
    rc = channel_send(&agent->channel, &reply, sizeof(reply), passed.fds,
                      reply.status == AGENT_OK ? passed.count : 0);
    for (size_t i = 0; passed.owned && i < passed.count; i++) {
        if (passed.fds[i] >= 0) {
            shared_fds_drop(passed.fds[i]);
            close(passed.fds[i]);
        }
    }
    note_contact(agent);
    return reply.status == AGENT_BAD_REQUEST ? -1 : rc;
}

/* ---- the thread ---- */

/* Not in a shared table: the host could reuse the number, and the agent would
 * read the host's file. */
static void
open_stop_signalfd(struct agent *agent)
{
    sigset_t wake;

    sigemptyset(&wake);
    sigaddset(&wake, PHASE_WAKE);
    if (agent->own_table && (agent->calls & CONFINED_SIGNALFD))
        agent->stop_signalfd = signalfd(-1, &wake, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* poll() until the next timed work; the first entry is the signalfd's. */
static int
poll_agent_events(struct agent *agent, struct pollfd *polled, nfds_t count)
{
    struct signalfd_siginfo info;
    int limit_ms = run_due_agent_work(agent), ready;

    if (agent->stop_signalfd < 0 && (limit_ms < 0 || limit_ms > STOP_POLL_MS))
        limit_ms = STOP_POLL_MS;
    polled[0] = (struct pollfd){.fd = agent->stop_signalfd, .events = POLLIN};
    ready = poll(polled, count, limit_ms);
    /* consume the signal, or poll() would return at once from now on */
    if (ready > 0 && polled[0].revents)
        (void)!read(agent->stop_signalfd, &info, sizeof(info));
    return ready;
}

/* Leaves out unwind tables that turned out wrong, and looks for jemallocs in
 * new objects.  It does not look where the program has named its jemalloc, nor
 * in a forked child (the loader's lock may never be released); in a shared
 * descriptor table only the first time. */
static void
find_late_allocators(struct agent *agent)
{
    const struct agent_start *start = agent->start;
    bool first = agent->jemalloc.late.seen_count == 0;

    agent->object_scan_due = false;
    tables_use_given(&agent->jemalloc);
    if (start->named_jemalloc.mallctl || start->child ||
        !(agent->own_table || first))
        return;
    jemalloc_find_late(
        &agent->jemalloc,
        agent_settings_get(start->settings, AGENT_ENV_JEMALLOC),
        agent_settings_get(start->settings, AGENT_ENV_ALLOCATOR));
}

/* Returns when the thread must end, or when the host has closed our listener in
 * a shared table. */
static void
serve_channel(struct agent *agent)
{
    struct channel *channel = &agent->channel;

    while (!phase_stopping() && !agent->host_privileges.diverged) {
        struct pollfd polled[] = {
            {.fd = -1}, /* the signalfd's */
            {.fd = channel->listener, .events = POLLIN},
            {.fd = channel->connection, .events = POLLIN}, /* -1: ignored */
        };
        int ready = poll_agent_events(agent, polled, 3);
        bool accepted;

        if (ready < 0) {
            if (errno == EINTR || errno == ENOMEM)
                continue;
            return;
        }
        if (!channel_intact(channel))
            return;
        /* a refused peer must not keep the others from being served */
        accepted = polled[1].revents && channel_accept(channel);
        if (accepted)
            note_contact(agent);
        else if (polled[2].revents && serve_channel_request(agent) != 0)
            channel_disconnect(channel);
        else if (!polled[2].revents && !polled[0].revents)
            end_unguarded(agent);
        if (accepted || channel->connection < 0)
            (void)access_close(); /* whoever opened it is gone */
        access_allow_tracer(agent,
                            channel->connection >= 0 ? channel->peer : 0);
        if (agent->object_scan_due)
            find_late_allocators(agent);
    }
}

/* ---- in a fork's child ---- */

/* The name of the process's main thread, or its title (its argument area). */
static bool
is_called(const char *name)
{
    char text[4096], path[64];
    int size;

    snprintf(path, sizeof(path), "/proc/self/task/%d/comm", getpid());
    if (agent_read_small(path, text, sizeof(text)) > 0 && strstr(text, name))
        return true;
    size = agent_read_small("/proc/self/cmdline", text, sizeof(text));
    for (int i = 0; i < size - 1; i++) {
        if (text[i] == '\0')
            text[i] = ' ';
    }
    return size > 0 && strstr(text, name);
}

/* Waits until this process has that name: 0, or an errno. */
static int
wait_for_name(const char *name)
{
    int64_t until = agent_monotonic_ms() + NAMED_WAIT_MS;

    while (!phase_stopping() && agent_monotonic_ms() < until) {
        if (is_called(name))
            return 0;
        phase_pause(NAMED_STEP_MS);
    }
    return ESRCH;
}

static int
wait_until_chosen(const struct agent_start *start)
{
    const char *process =
        agent_settings_get(start->settings, AGENT_ENV_PROCESS);

    if (!start->child || !process ||
        strcmp(process, AGENT_PROCESS_PARENT) == 0 ||
        strcmp(process, AGENT_PROCESS_CHILD) == 0)
        return 0;
    return wait_for_name(process);
}

/* False for a zombie, too, and where /proc does not show the process. */
static bool
is_process_alive(pid_t pid)
{
    struct process_stat stat;

    return pid != 0 && process_stat_read(pid, &stat) &&
           !process_stat_is_over(&stat);
}

/* Opens the channel, once its lock is free: the holder may be a daemon's
 * parent, another child, or an earlier database that outlived its heapwire-run,
 * which then started us as its successor. */
static enum channel_result
open_channel(struct agent *agent, const struct agent_start *start)
{
    const bool awaited =
        !start->late && agent_settings_get(start->settings, AGENT_ENV_START);
    const uint32_t step_ms =
        start->child ? SURVIVOR_STEP_MS : SUCCESSOR_STEP_MS;
    int64_t until = agent_monotonic_ms() + SURVIVOR_WAIT_MS;
    enum channel_result result;

    /* After a change of user heapwire-run gives the directory to that user. */
    while (
        awaited &&
        channel_is_shut(agent_settings_get(start->settings, AGENT_ENV_STATE)) &&
        !phase_stopping() && agent_monotonic_ms() < until)
        phase_pause(step_ms);
    for (;;) {
        result = is_process_alive(start->elders[0]) ||
                         is_process_alive(start->elders[1])
                     ? CHANNEL_BUSY
                     : channel_open(&agent->channel,
                                    agent_settings_get(start->settings,
                                                       AGENT_ENV_STATE));
        /* not for a parent that serves: it does not end before us */
        if (result != CHANNEL_BUSY || phase_stopping() ||
            !(start->child ? agent_monotonic_ms() < until
                           : awaited && agent->channel.holder != getppid()))
            return result;
        phase_pause(step_ms);
    }
}

/* Leaves the host's descriptor table, waits until it may serve, opens the
 * channel, and prepares all that requests need.  0, or an errno. */
static int
begin_agent_service(struct agent *agent, const struct agent_start *start)
{
    enum channel_result opened;
    int error;

    agent->filters = confined_filters();
    agent->calls = confined_read(
        agent->filters, agent_settings_get(start->settings, AGENT_ENV_FILTERS));
    agent->own_table = own_table_enter(agent->calls, -1);
    phase_enter(PHASE_FDS_UNSHARED);
    if (!agent->own_table)
        shared_fds_begin();
    else if (own_table_null(start->silent) != 0) {
        error = errno;
        agent_log("cannot open /dev/null: %m; the database runs unprofiled");
        return error;
    }
    error = wait_until_chosen(start);
    if (error != 0)
        return error;
    opened = open_channel(agent, start);
    if (opened != CHANNEL_OPEN)
        return opened == CHANNEL_BUSY ? EBUSY : errno;
    agent->opened_filters = agent->filters;
    if (start->child)
        fork_keep();
    recorder_adopt(start->elders);
    open_stop_signalfd(agent);
    if (!agent->own_table)
        agent_log("the agent's descriptors are among the database's: %s",
                  agent->calls & CONFINED_UNSHARE
                      ? "unshare is not allowed here"
                      : "a seccomp filter may forbid unshare");
    agent_quiet();
    if (!start->late)
        agent->jemalloc = start->jemalloc;
    else if (start->named_jemalloc.mallctl)
        jemalloc_find(&agent->jemalloc, &start->named_jemalloc, NULL, NULL);
    else
        find_late_allocators(agent);
    jemalloc_hide_thread(&agent->jemalloc);
    if (agent->own_table) {
        /* messages are over (agent_quiet), so stderr may go, too */
        if (own_table_null(true) == 0)
            agent->null = STDIN_FILENO;
        mapped_files_scan(&agent->files);
    }
    launcher_begin(&agent->launcher, start->settings, agent->channel.directory);
    agent_identify(&agent->self);
    agent->root = root_directory();
    agent->started_ms = agent_wall_ms();
    profiling_begin(&agent->jemalloc, agent->started_ms);
    return 0;
}

/* Without a listener: runs timed work only. */
static void
serve_without_listener(struct agent *agent)
{
    struct pollfd polled[1];

    while (!phase_stopping() && run_due_agent_work(agent) >= 0) {
        if (poll_agent_events(agent, polled, 1) == 0)
            end_unguarded(agent);
    }
}

/* Goes on from the state of a suspended thread.  0, or an errno. */
static int
resume_agent_service(struct agent *agent)
{
    int socket = handover_socket(), error;

    agent->calls &= ~agent->start->refused;
    if (agent->own_table && !own_table_enter(agent->calls, socket))
        return EPERM;
    error = handover_restore_fds(agent);
    phase_enter(PHASE_FDS_UNSHARED);
    if (error != 0)
        return error;
    agent->filters = confined_filters();
    open_stop_signalfd(agent);
    jemalloc_hide_thread(&agent->jemalloc);
    leave_other_root(agent);
    return 0;
}

static const char filtered[] = "the database set a seccomp filter that forbids "
                               "system calls which the agent's thread needs";

static const char *
why_it_ends(const struct agent *agent)
{
    if (phase_hands_over())
        return "the agent's thread ended while the database changed its ids, "
               "its root directory or its sandbox, and no thread could be "
               "started afterwards";
    if (agent->start->unfit)
        return filtered;
    return agent->host_privileges.diverged
               ? "the database's main thread gave up privileges that the "
                 "agent's thread could not give up"
               : "";
}

static void
end_agent_service(struct agent *agent)
{
    lever_host_leave(agent);
    profiling_leave(&agent->jemalloc);
    tables_leave(&agent->jemalloc);
    access_allow_tracer(agent, 0);
    if (agent->channel.directory >= 0)
        launcher_end(&agent->launcher);
    channel_remove(&agent->channel);
    channel_close(&agent->channel);
    mapped_files_close(&agent->files);
    if (agent->stop_signalfd >= 0)
        close(agent->stop_signalfd);
}

/* Where no thread follows: profiling ends with the agent.  The last thread has
 * left the reason in the lock; its own table's descriptors went with it. */
static void
abandon_agent_service(struct agent *agent)
{
    lever_host_leave(agent);
    profiling_leave(&agent->jemalloc);
    tables_leave(&agent->jemalloc);
    if (!agent->own_table)
        shared_fds_close_all();
}

void
serve_write_unfit_reason(const struct agent_start *start)
{
    channel_write_early_reason(
        agent_settings_get(start->settings, AGENT_ENV_STATE), filtered);
}

void
serve_abandon_left(void)
{
    struct agent *agent = handover_take_abandoned();

    if (agent)
        abandon_agent_service(agent);
}

int
serve_run(const struct agent_start *start)
{
    struct agent agent = {.start = start,
                          .channel = {.directory = -1,
                                      .lock = -1,
                                      .listener = -1,
                                      .connection = -1},
                          .null = -1,
                          .stop_signalfd = -1,
                          .request_fd = -1};
    bool kept;
    int error;

    pthread_setname_np(pthread_self(), AGENT_THREAD_NAME);
    if (start->silent)
        agent_quiet();
    kept = handover_restore_state(&agent);
    error = kept ? resume_agent_service(&agent)
                 : begin_agent_service(&agent, start);
    if (kept && error != 0)
        abandon_agent_service(&agent);
    /* the next thread erases it, if it can reach the directory */
    if (error == EBUSY && phase_stopping() &&
        (phase_hands_over() || start->unfit))
        channel_write_early_reason(
            agent_settings_get(start->settings, AGENT_ENV_STATE),
            start->unfit
                ? filtered
                : "it waited for an earlier process to end, and cannot reach "
                  "the state directory since this one changed its ids or its "
                  "root directory: restart instead of reloading");
    if (error == 0) {
        phase_enter(PHASE_SERVING);
        serve_channel(&agent);
        (void)access_close();
    }
    if (error == 0 && !phase_stopping() && !agent.host_privileges.diverged) {
        channel_close(&agent.channel);
        serve_without_listener(&agent);
    }
    if (error == 0 && agent.own_table && agent.channel.lock >= 0)
        channel_write_leave_reason(&agent.channel, &agent.self,
                                   why_it_ends(&agent));
    if (error == 0 && !(phase_hands_over() && handover_leave(&agent)))
        end_agent_service(&agent);
    return error;
}
