/*
 * serve.c - the agent's thread: one poll, one request at a time.
 *
 * It first gives itself a descriptor table of its own.  So the host's forks,
 * execs and close-everything loops never meet our descriptors, the host's
 * table has none of them, and the paths we give to jemalloc go through
 * /proc/thread-self, not /proc/self.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "allocator_list.h"
#include "beside.h"
#include "channel.h"
#include "confined.h"
#include "fork.h"
#include "mapped_files.h"
#include "statistics.h"

/* Linux 6.3; older headers lack it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

enum {
    FIRST_FD = STDERR_FILENO + 1,
    CLOSE_MAX = 65536,
    COPY_BYTES = 16384,
    STOPPED_MS = 1000, /* so late a wake-up is no matter of load */
    STOP_LOOK_MS = 250 /* where nothing can wake us */
};

struct agent {
    const struct agent_start *start;
    struct channel channel;
    struct jemalloc jemalloc;
    bool look_due; /* for objects that were loaded since */
    struct mapped_files files;
    struct beside beside;
    int wake; /* signalfd: readable when it is to end; -1: none */
    bool own_table;
    int filters;    /* of this thread, and what may be called (confined.h) */
    unsigned calls; /* under them */
    int64_t started_ms;
    int64_t guard_ms;     /* that heapwired may be away; 0: for ever */
    int64_t heard_ms;     /* monotonic: its latest request, or connection */
    bool away;            /* for so long, and what was due is done */
    int64_t unguarded_ms; /* wall clock: profiling was switched off for that */
};

/* What goes back beside a reply; owned ones are closed once sent. */
struct passed {
    int fds[AGENT_FDS_MAX];
    size_t count;
    bool owned;
};

static bool
leave_shared_table(unsigned calls)
{
    struct rlimit limit;

    if ((calls & CONFINED_CLOSE_RANGE) && confined_try(CONFINED_CLOSE_RANGE))
        return true;
    if (!(calls & CONFINED_UNSHARE) || !confined_try(CONFINED_UNSHARE))
        return false;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > CLOSE_MAX)
        limit.rlim_cur = CLOSE_MAX;
    for (int fd = FIRST_FD; fd < (int)limit.rlim_cur; fd++)
        close(fd);
    return true;
}

/* Occupies 0-2 where the host has none, so that nothing of ours lands there;
 * with replace, lets go of the host's. */
static int
null_stdio(bool replace)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (fd < 0)
            return -1;
    } while (fd < FIRST_FD);
    for (int i = 0; replace && i < FIRST_FD; i++)
        dup2(fd, i);
    close(fd);
    return 0;
}

static void
op_hello(struct agent *agent, const struct agent_request *request,
         struct agent_reply *reply, struct passed *passed)
{
    (void)passed;
    if (request->number == 1 && request->seconds <= AGENT_SECONDS_MAX)
        agent->guard_ms = (int64_t)request->seconds * 1000;
    reply->value = (uint64_t)agent->unguarded_ms;
    agent->look_due = true; /* once it is answered */
    agent_identify(&reply->hello);
    reply->hello.uid = geteuid();
    reply->hello.started_ms = agent->started_ms;
    jemalloc_hello(&agent->jemalloc, &reply->hello);
    reply->error = AGENT_KNOWS_ALLOCATORS;
    snprintf(reply->text, sizeof(reply->text), "%s",
             jemalloc_note(&agent->jemalloc));
}

static void
fail(struct agent_reply *reply, int error, const char *what)
{
    reply->status = AGENT_FAILED;
    reply->error = error;
    errno = error;
    snprintf(reply->text, sizeof(reply->text), "%s: %m", what);
}

static void
op_get_active(struct agent *agent, const struct agent_request *request,
              struct agent_reply *reply, struct passed *passed)
{
    bool active = false;
    int error = jemalloc_get_active(&agent->jemalloc, &active);

    (void)request;
    (void)passed;
    reply->value = active;
    if (error != 0)
        fail(reply, error, "mallctl prof.active");
}

static void
op_set_active(struct agent *agent, const struct agent_request *request,
              struct agent_reply *reply, struct passed *passed)
{
    int error;

    (void)passed;
    if (request->number > 1 || request->seconds > AGENT_SECONDS_MAX) {
        reply->status = AGENT_BAD_REQUEST;
        return;
    }
    error = jemalloc_set_active(&agent->jemalloc, request->number == 1,
                                (uint32_t)request->seconds);
    reply->value = request->number;
    if (error != 0)
        fail(reply, error, "mallctl prof.active");
    else if (request->number == 1)
        agent->unguarded_ms = 0;
}

static void
op_reset(struct agent *agent, const struct agent_request *request,
         struct agent_reply *reply, struct passed *passed)
{
    uint64_t lg = request->number;
    int error;

    (void)passed;
    if (lg != AGENT_LG_SAMPLE_SAME &&
        (lg > AGENT_LG_SAMPLE_MAX ||
         (lg < AGENT_LG_SAMPLE_MIN && !request->force))) {
        fail(reply, EINVAL, "lg_sample is out of range");
        return;
    }
    error = jemalloc_reset(&agent->jemalloc, (uint32_t)lg);
    if (error != 0)
        fail(reply, error, "mallctl prof.reset");
}

/* A file that has no name any more. */
static int
new_nameless(int directory)
{
    int fd;

    unlinkat(directory, AGENT_ANSWER, 0);
    fd = openat(directory, AGENT_ANSWER,
                O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        unlinkat(directory, AGENT_ANSWER, 0);
    return fd;
}

/* What an answer is written to.  The database may have made another filter
 * since, under which memfd_create would end it. */
static int
new_file(const struct agent *agent, const char *name)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = -1;

    if ((agent->calls & CONFINED_MEMFD) &&
        confined_filters() == agent->filters) {
        fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
        if (fd < 0 && errno == EINVAL)
            fd = memfd_create(name, flags);
    }
    if (fd < 0)
        fd = new_nameless(agent->channel.directory);
    if (fd >= 0)
        agent_shared_add(fd);
    return fd;
}

static int
copy_maps(int to)
{
    char bytes[COPY_BYTES];
    int from = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    ssize_t n = -1, done;

    if (from < 0)
        return -1;
    while ((n = read(from, bytes, sizeof(bytes))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        do {
            done = write(to, bytes, (size_t)n);
        } while (done < 0 && errno == EINTR);
        if (done != n) {
            n = -1;
            break;
        }
    }
    close(from);
    return n < 0 ? -1 : 0;
}

/* What we hand out does not change any more. */
static void
seal(int fd)
{
    fcntl(fd, F_ADD_SEALS,
          F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
}

static int64_t
microseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void
op_dump(struct agent *agent, const struct agent_request *request,
        struct agent_reply *reply, struct passed *passed)
{
    char path[64];
    int profile = new_file(agent, "heapwire-profile");
    int maps = new_file(agent, "heapwire-maps"), error;
    int64_t began;

    (void)request;
    passed->owned = true;
    passed->fds[0] = profile;
    passed->fds[1] = maps;
    passed->count = 2;
    if (profile < 0 || maps < 0) {
        fail(reply, errno, "cannot create a file");
        return;
    }
    snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", profile);
    began = microseconds();
    error = jemalloc_dump(&agent->jemalloc, path);
    reply->value = (uint64_t)(microseconds() - began);
    if (error != 0) {
        fail(reply, error, "mallctl prof.dump");
        return;
    }
    if (copy_maps(maps) != 0) {
        fail(reply, errno, "cannot copy /proc/self/maps");
        return;
    }
    seal(profile);
    seal(maps);
    if (agent->own_table)
        mapped_files_scan(&agent->files);
}

static void
op_object(struct agent *agent, const struct agent_request *request,
          struct agent_reply *reply, struct passed *passed)
{
    int fd = mapped_files_find(&agent->files, request->number, request->inode);

    if (fd < 0 && !agent->own_table) { /* where none is kept */
        fd = mapped_files_open(request->number, request->inode);
        agent_shared_add(fd);
        passed->owned = true;
    }
    if (fd < 0) {
        reply->status = AGENT_NOT_FOUND;
        snprintf(reply->text, sizeof(reply->text), "no such mapped file");
        return;
    }
    passed->fds[0] = fd;
    passed->count = 1;
}

/* What write puts into a file, and how long that took. */
static void
pass_text(struct agent *agent, struct agent_reply *reply, struct passed *passed,
          int (*write_text)(struct jemalloc *, int), const char *what)
{
    int64_t began = microseconds();
    int fd = new_file(agent, "heapwire-text"), error;

    passed->owned = true;
    passed->fds[0] = fd;
    passed->count = 1;
    if (fd < 0) {
        fail(reply, errno, "cannot create a file");
        return;
    }
    error = write_text(&agent->jemalloc, fd);
    reply->value = (uint64_t)(microseconds() - began);
    if (error != 0)
        fail(reply, error, what);
    seal(fd);
}

static void
op_stats(struct agent *agent, const struct agent_request *request,
         struct agent_reply *reply, struct passed *passed)
{
    (void)request;
    pass_text(agent, reply, passed, statistics_write, "statistics");
}

static void
op_allocators(struct agent *agent, const struct agent_request *request,
              struct agent_reply *reply, struct passed *passed)
{
    (void)request;
    pass_text(agent, reply, passed, allocator_list_write,
              "the list of allocators");
}

enum needs { NEEDS_NOTHING, NEEDS_JEMALLOC, NEEDS_PROFILING };

static const struct operation {
    void (*run)(struct agent *, const struct agent_request *,
                struct agent_reply *, struct passed *);
    enum needs needs;
} operations[] = {
    [AGENT_HELLO] = {op_hello, NEEDS_NOTHING},
    [AGENT_GET_ACTIVE] = {op_get_active, NEEDS_PROFILING},
    [AGENT_SET_ACTIVE] = {op_set_active, NEEDS_PROFILING},
    [AGENT_DUMP] = {op_dump, NEEDS_PROFILING},
    [AGENT_OBJECT] = {op_object, NEEDS_NOTHING},
    [AGENT_STATS] = {op_stats, NEEDS_JEMALLOC},
    [AGENT_RESET] = {op_reset, NEEDS_PROFILING},
    [AGENT_ALLOCATORS] = {op_allocators, NEEDS_NOTHING},
};

/* Why this process cannot do what an operation needs. */
static enum agent_status
missing(struct agent *agent, enum needs needs, struct agent_reply *reply)
{
    static const char *const texts[] = {
        [AGENT_OK] = "",
        [AGENT_NO_JEMALLOC] = "no jemalloc serves this process",
        [AGENT_NO_PROF] = "this jemalloc was built without --enable-prof",
        [AGENT_PROF_OFF] = "opt.prof is false: started without prof:true",
    };
    enum agent_status status = jemalloc_status(&agent->jemalloc);

    if (needs == NEEDS_NOTHING ||
        (needs == NEEDS_JEMALLOC && agent->jemalloc.mallctl))
        return AGENT_OK;
    snprintf(reply->text, sizeof(reply->text), "%s",
             status == AGENT_UNUSABLE ? jemalloc_note(&agent->jemalloc)
                                      : texts[status]);
    return status;
}

static void
answer(struct agent *agent, const struct agent_request *request,
       struct agent_reply *reply, struct passed *passed)
{
    const struct operation *operation;

    reply->protocol = AGENT_PROTOCOL;
    reply->op = request->op;
    reply->id = request->id;
    if (request->protocol != AGENT_PROTOCOL || request->op == 0 ||
        request->op >= sizeof(operations) / sizeof(operations[0])) {
        reply->status = AGENT_BAD_REQUEST;
        return;
    }
    operation = &operations[request->op];
    reply->status = missing(agent, operation->needs, reply);
    if (reply->status == AGENT_OK)
        operation->run(agent, request, reply, passed);
}

/* ---- whether heapwired is there ---- */

static void
note_contact(struct agent *agent)
{
    agent->heard_ms = agent_monotonic_ms();
    agent->away = false;
}

/* Milliseconds until it has been away for too long, or -1. */
static int
guard_left(const struct agent *agent)
{
    int64_t left;

    if (agent->guard_ms == 0 || agent->away ||
        jemalloc_status(&agent->jemalloc) != AGENT_OK)
        return -1;
    left = agent->heard_ms + agent->guard_ms - agent_monotonic_ms();
    if (left < 0)
        return 0;
    return left < INT_MAX ? (int)left : INT_MAX;
}

/* To be called when nothing has come in, not before: whoever was stopped
 * itself finds requests that wait for it.  Where it wakes late, the machine was
 * stopped, and heapwired with it: then the time begins anew. */
static void
end_unguarded(struct agent *agent)
{
    int64_t due_ms = agent->heard_ms + agent->guard_ms;
    bool active = false;

    if (guard_left(agent) != 0)
        return;
    if (agent_monotonic_ms() - due_ms > STOPPED_MS) {
        note_contact(agent);
        return;
    }
    agent->away = true;
    if (jemalloc_get_active(&agent->jemalloc, &active) != 0 || !active)
        return;
    if (jemalloc_set_active(&agent->jemalloc, false, 0) == 0)
        agent->unguarded_ms = agent_wall_ms();
    else
        note_contact(agent); /* again, after a while */
}

/* -1: never. */
static int
sooner(int a_ms, int b_ms)
{
    return a_ms < 0 || (b_ms >= 0 && b_ms < a_ms) ? b_ms : a_ms;
}

/* Does what time has made due.  Milliseconds until there is more, or -1. */
static int
next_due(struct agent *agent)
{
    int due_ms = sooner(jemalloc_expire(&agent->jemalloc), guard_left(agent));

    if (agent->channel.listener < 0)
        return due_ms;
    return sooner(due_ms,
                  beside_tick(&agent->beside, agent->channel.connection >= 0));
}

/* ---- requests ---- */

/* -1: this connection is of no use any more. */
static int
serve_one(struct agent *agent)
{
    struct agent_request request;
    struct agent_reply reply;
    struct passed passed = {.fds = {-1, -1}};
    int rc;

    if (channel_receive(&agent->channel, &request, sizeof(request)) != 0)
        return -1;
    memset(&reply, 0, sizeof(reply));
    answer(agent, &request, &reply, &passed);
    rc = channel_send(&agent->channel, &reply, sizeof(reply), passed.fds,
                      reply.status == AGENT_OK ? passed.count : 0);
    for (size_t i = 0; passed.owned && i < passed.count; i++) {
        if (passed.fds[i] >= 0) {
            agent_shared_drop(passed.fds[i]);
            close(passed.fds[i]);
        }
    }
    note_contact(agent);
    return reply.status == AGENT_BAD_REQUEST ? -1 : rc;
}

/* ---- the thread ---- */

/* Not in a shared table: there, the number may become something of the host's,
 * and that would be read. */
static void
open_wake(struct agent *agent)
{
    sigset_t wake;

    sigemptyset(&wake);
    sigaddset(&wake, AGENT_WAKE);
    if (agent->own_table && (agent->calls & CONFINED_SIGNALFD))
        agent->wake = signalfd(-1, &wake, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* poll() with the wake as the first of count, and what is due as the limit. */
static int
wait_for(struct agent *agent, struct pollfd *polled, nfds_t count)
{
    struct signalfd_siginfo info;
    int limit_ms = next_due(agent), ready;

    if (agent->wake < 0 && (limit_ms < 0 || limit_ms > STOP_LOOK_MS))
        limit_ms = STOP_LOOK_MS;
    polled[0] = (struct pollfd){.fd = agent->wake, .events = POLLIN};
    ready = poll(polled, count, limit_ms);
    /* One for the whole process, that all others block: or we would spin. */
    if (ready > 0 && polled[0].revents)
        (void)!read(agent->wake, &info, sizeof(info));
    return ready;
}

/* Not where the program has said which one it has; nor in a fork's child, where
 * the loader may be locked for ever; nor again with descriptors among the
 * host's. */
static void
look_late(struct agent *agent)
{
    const struct agent_start *start = agent->start;
    bool first = agent->jemalloc.late.seen_count == 0;

    agent->look_due = false;
    if (start->given.mallctl || start->child || !(agent->own_table || first))
        return;
    jemalloc_find_late(&agent->jemalloc,
                       agent_setting(start, AGENT_ENV_JEMALLOC),
                       agent_setting(start, AGENT_ENV_ALLOCATOR));
    if (agent->jemalloc.mallctl)
        fork_watch(agent->jemalloc.mallctl);
}

/* Returns when it is to end, or when the listener is gone: closed by a host
 * whose table we share. */
static void
serve(struct agent *agent)
{
    struct channel *channel = &agent->channel;

    while (!agent_stopping()) {
        struct pollfd polled[] = {
            {.fd = -1}, /* the wake's */
            {.fd = channel->listener, .events = POLLIN},
            {.fd = channel->connection, .events = POLLIN}, /* -1: ignored */
        };
        int ready = wait_for(agent, polled, 3);

        if (ready < 0) {
            if (errno == EINTR || errno == ENOMEM)
                continue;
            return;
        }
        if (ready == 0)
            end_unguarded(agent);
        if (!channel_intact(channel))
            return;
        if (polled[1].revents) {
            channel_accept(channel);
            note_contact(agent);
        } else if (polled[2].revents && serve_one(agent) != 0) {
            channel_disconnect(channel);
        }
        if (agent->look_due)
            look_late(agent);
    }
}

/* ---- in a fork's child ---- */

/* Of the process: its main thread's name, or its title, which is where its
 * arguments were. */
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

/* 0 once this process has that name. */
static int
wait_for_name(const char *name)
{
    const struct timespec step = {.tv_nsec = NAMED_STEP_MS * 1000000L};
    int64_t until = agent_monotonic_ms() + NAMED_WAIT_MS;

    while (!agent_stopping() && agent_monotonic_ms() < until) {
        if (is_called(name))
            return 0;
        nanosleep(&step, NULL);
    }
    return ESRCH;
}

static int
be_the_one(const struct agent_start *start)
{
    const char *process = agent_setting(start, AGENT_ENV_PROCESS);

    if (!start->child || !process ||
        strcmp(process, AGENT_PROCESS_PARENT) == 0 ||
        strcmp(process, AGENT_PROCESS_CHILD) == 0)
        return 0;
    return wait_for_name(process);
}

/* A daemon's parent, or another child, holds the lock until it ends.  A
 * database that lives on without its heapwire-run holds it until it has ended,
 * while heapwire-run has started its successor, us; but a child of the database
 * is none. */
static enum channel_result
open_channel(struct agent *agent, const struct agent_start *start)
{
    const bool awaited = !start->late && agent_setting(start, AGENT_ENV_START);
    const int step_ms = start->child ? SURVIVOR_STEP_MS : SUCCESSOR_STEP_MS;
    const struct timespec step = {.tv_nsec = step_ms * 1000000L};
    int64_t until = agent_monotonic_ms() + SURVIVOR_WAIT_MS;
    enum channel_result result;

    /* What changed its user: heapwire-run has seen that, too. */
    while (awaited && channel_is_shut(agent_setting(start, AGENT_ENV_STATE)) &&
           !agent_stopping() && agent_monotonic_ms() < until)
        nanosleep(&step, NULL);
    for (;;) {
        result = channel_open(&agent->channel,
                              agent_setting(start, AGENT_ENV_STATE));
        if (result != CHANNEL_BUSY || agent_stopping() ||
            !(start->child ? agent_monotonic_ms() < until
                           : awaited && agent->channel.holder != getppid()))
            return result;
        nanosleep(&step, NULL);
    }
}

/* 0, or why there is nothing to serve on. */
static int
begin(struct agent *agent, const struct agent_start *start)
{
    enum channel_result opened;
    int error;

    agent->filters = confined_filters();
    agent->calls =
        confined_read(agent->filters, agent_setting(start, AGENT_ENV_FILTERS));
    agent->own_table = leave_shared_table(agent->calls);
    if (!agent->own_table)
        agent_shared_begin();
    else if (null_stdio(start->silent) != 0) {
        error = errno;
        agent_say("cannot open /dev/null: %m; the database runs unprofiled");
        return error;
    }
    error = be_the_one(start);
    if (error != 0)
        return error;
    opened = open_channel(agent, start);
    if (opened != CHANNEL_OPEN)
        return opened == CHANNEL_BUSY ? EBUSY : errno;
    if (start->child)
        fork_keep();
    open_wake(agent);
    if (!agent->own_table)
        agent_say("the agent's descriptors are among the database's: %s",
                  agent->calls & CONFINED_UNSHARE
                      ? "unshare is not allowed here"
                      : "a seccomp filter may forbid unshare");
    agent_quiet();
    agent->start = start;
    if (!start->late)
        agent->jemalloc = start->jemalloc;
    else if (start->given.mallctl)
        agent_find_jemalloc(start, &agent->jemalloc);
    else
        look_late(agent);
    jemalloc_hide_thread(&agent->jemalloc);
    if (agent->own_table) {
        null_stdio(true);
        mapped_files_scan(&agent->files);
    }
    beside_begin(&agent->beside, start, agent->channel.directory);
    agent->started_ms = agent_wall_ms();
    return 0;
}

/* Nobody can be told any more, but what is due is done. */
static void
serve_nobody(struct agent *agent)
{
    struct pollfd polled[1];

    while (!agent_stopping() && next_due(agent) >= 0) {
        if (wait_for(agent, polled, 1) == 0)
            end_unguarded(agent);
    }
}

static void
end(struct agent *agent)
{
    jemalloc_leave(&agent->jemalloc);
    if (agent->channel.directory >= 0)
        beside_end(&agent->beside);
    channel_remove(&agent->channel);
    channel_close(&agent->channel);
    mapped_files_close(&agent->files);
    if (agent->wake >= 0)
        close(agent->wake);
}

int
agent_serve(const struct agent_start *start)
{
    struct agent agent = {.channel = {.directory = -1,
                                      .lock = -1,
                                      .listener = -1,
                                      .connection = -1},
                          .wake = -1};
    int error;

    pthread_setname_np(pthread_self(), "heapwire");
    if (start->silent)
        agent_quiet();
    error = begin(&agent, start);
    if (error != 0)
        return error;
    agent_started();
    serve(&agent);
    if (!agent_stopping()) {
        channel_close(&agent.channel);
        serve_nobody(&agent);
    }
    end(&agent);
    return 0;
}
