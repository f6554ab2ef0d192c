/*
 * operations.c - what each request of heapwired does; see agent.h.
 *
 * A table has a row for each request: its function, and what the process must
 * have for it.  heapwired is trusted to ask, not to be right: numbers are
 * checked here, and each answer that is larger than a packet goes into a memfd,
 * sealed so that the reader needs no copy, or into a nameless file of the state
 * directory where a seccomp filter forbids memfd_create.  All of it runs on the
 * agent's thread, which serves nobody else meanwhile; a dump may take seconds.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent_tools.h"
#include "confined.h"
#include "given_tables.h"
#include "shared_fds.h"
#include "jemalloc.h"
#include "levers.h"

/* Linux 6.3.  Without it newer kernels may refuse or log memfds that could be
 * executed; older kernels refuse the flag with EINVAL. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

#define DUMP_PATH "/proc/thread-self/fd/%d"

static void
op_hello(struct agent *agent, const struct agent_request *request,
         struct agent_reply *reply, struct operation_files *passed)
{
    (void)passed;
    if (request->number == 1 && request->seconds <= AGENT_SECONDS_MAX)
        agent->absence_max_ms = (int64_t)request->seconds * 1000;
    reply->value = (uint64_t)agent->unguarded_ms;
    agent->object_scan_due = true; /* after the reply */
    reply->hello = agent->self;
    reply->hello.uid = geteuid();
    reply->hello.started_ms = agent->started_ms;
    profiling_hello(&agent->jemalloc, &reply->hello);
    reply->error = AGENT_KNOWS_ALLOCATORS | AGENT_KNOWS_OBJECT |
                   AGENT_KNOWS_DUMPABLE | AGENT_KNOWS_LEVERS |
                   AGENT_KNOWS_SMAPS |
                   (agent->start->child ? 0 : AGENT_KNOWS_TABLES) |
                   (recorder_is_patched() ? AGENT_KNOWS_PATCHED : 0);
    snprintf(reply->text, sizeof(reply->text), "%s",
             agent->jemalloc.profiler->writes_dumps
                 ? jemalloc_note(&agent->jemalloc)
                 : recorder_note());
    if (!*reply->text)
        tables_note(reply->text, sizeof(reply->text));
}

static void
fail_agent_reply(struct agent_reply *reply, int error, const char *what)
{
    reply->status = AGENT_FAILED;
    reply->error = error;
    errno = error;
    snprintf(reply->text, sizeof(reply->text), "%s: %m", what);
}

static void
op_get_active(struct agent *agent, const struct agent_request *request,
              struct agent_reply *reply, struct operation_files *passed)
{
    bool active = false;
    int error = profiling_get_active(&agent->jemalloc, &active);

    (void)request;
    (void)passed;
    reply->value = active;
    if (error != 0)
        fail_agent_reply(reply, error, "mallctl prof.active");
}

static void
op_reset(struct agent *agent, const struct agent_request *request,
         struct agent_reply *reply, struct operation_files *passed)
{
    uint64_t lg = request->number;
    int error;

    (void)passed;
    if (lg != AGENT_LG_SAMPLE_SAME &&
        (lg > AGENT_LG_SAMPLE_MAX ||
         (lg < AGENT_LG_SAMPLE_MIN && !request->force))) {
        fail_agent_reply(reply, EINVAL, "lg_sample is out of range");
        return;
    }
    error = profiling_reset(&agent->jemalloc, (uint32_t)lg);
    if (error != 0)
        fail_agent_reply(reply, error, "mallctl prof.reset");
}

/* Opens a file of the state directory without a name: nobody else can open
 * it. */
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

/* Opens the file for an answer.  The database may have added a seccomp filter
 * since, under which memfd_create would kill it. */
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
        shared_fds_add(fd);
    return fd;
}

/* Tries to open a file as prof.dump will, by its name in /proc: in a chroot
 * without /proc that fails, for which jemalloc aborts the host if opt.abort is
 * set.  False: the reply says why. */
static bool
check_dump_possible(struct agent *agent, struct agent_reply *reply)
{
    int file = new_file(agent, "heapwire-profile"), fd;
    int error = file < 0 ? errno : 0;
    char path[64];

    snprintf(path, sizeof(path), DUMP_PATH, file);
    fd = file < 0 ? -1 : open(path, O_WRONLY | O_CLOEXEC);
    if (file >= 0 && fd < 0)
        error = errno;
    if (fd >= 0)
        close(fd);
    if (file >= 0) {
        shared_fds_drop(file);
        close(file);
    }
    if (error != 0)
        fail_agent_reply(
            reply, error,
            agent->channel.directory < 0
                ? "the database has changed its root directory (chroot), and "
                  "a profile needs /proc there: mount it, or start without "
                  "chroot"
                : "no profile can be written, because its file cannot be "
                  "opened");
    return error == 0;
}

static void
op_set_active(struct agent *agent, const struct agent_request *request,
              struct agent_reply *reply, struct operation_files *passed)
{
    int error;

    (void)passed;
    if (request->number > 1 || request->seconds > AGENT_SECONDS_MAX) {
        reply->status = AGENT_BAD_REQUEST;
        return;
    }
    if (request->number == 1 && agent->jemalloc.profiler->writes_dumps &&
        !check_dump_possible(agent, reply))
        return;
    error = profiling_set_active(&agent->jemalloc, request->number == 1,
                                 (uint32_t)request->seconds);
    reply->value = request->number;
    if (error != 0)
        fail_agent_reply(reply, error, "mallctl prof.active");
    else if (request->number == 1)
        agent->unguarded_ms = 0;
}

static int
copy_maps(int to)
{
    bool cut;

    return own_text_copy("/proc/self/maps", to, SIZE_MAX, &cut);
}

/* Seals a file before it is sent: heapwired then maps it without a copy.  Other
 * files than memfds refuse, which does not matter. */
static void
seal_reply_file(int fd)
{
    fcntl(fd, F_ADD_SEALS,
          F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
}

static int64_t
monotonic_clock_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Makes the process dumpable again for the rest of the time. */
static void
reopen_process_access(const struct agent *agent, int64_t until_ms)
{
    int64_t left_ms = until_ms - agent_monotonic_ms();
    bool unused;

    if (left_ms > 0)
        (void)access_open(agent, (uint64_t)(left_ms + 999) / 1000, &unused);
}

static void
op_dump(struct agent *agent, const struct agent_request *request,
        struct agent_reply *reply, struct operation_files *passed)
{
    char path[64];
    int profile, maps, error;
    int64_t began, open_until_ms;

    (void)request;
    if (!agent->jemalloc.profiler->writes_dumps) {
        fail_agent_reply(reply, EOPNOTSUPP,
                         "the recorder's segment has the profile");
        return;
    }
    if (!check_dump_possible(agent, reply))
        return;
    profile = new_file(agent, "heapwire-profile");
    maps = profile < 0 ? -1 : new_file(agent, "heapwire-maps");
    passed->owned = true;
    passed->fds[0] = profile;
    passed->fds[1] = maps;
    passed->count = 2;
    if (profile < 0 || maps < 0) {
        fail_agent_reply(reply, errno, "cannot create a file");
        return;
    }
    snprintf(path, sizeof(path), DUMP_PATH, profile);
    /* access_left() is -1 where access is closed: then it is not reopened */
    open_until_ms = agent_monotonic_ms() + access_left();
    (void)access_close(); /* a dump that hangs could not close it in time */
    began = monotonic_clock_us();
    error = jemalloc_dump(&agent->jemalloc, path);
    reply->value = (uint64_t)(monotonic_clock_us() - began);
    reopen_process_access(agent, open_until_ms);
    if (error != 0) {
        fail_agent_reply(reply, error, "mallctl prof.dump");
        return;
    }
    if (copy_maps(maps) != 0) {
        fail_agent_reply(reply, errno, "cannot copy /proc/self/maps");
        return;
    }
    seal_reply_file(profile);
    seal_reply_file(maps);
    if (agent->own_table)
        mapped_files_scan(&agent->files);
}

static void
op_object(struct agent *agent, const struct agent_request *request,
          struct agent_reply *reply, struct operation_files *passed)
{
    int fd = mapped_files_find(&agent->files, request->number, request->inode);

    if (fd < 0 && !agent->own_table) { /* a shared table keeps none */
        fd = mapped_files_open(request->number, request->inode);
        shared_fds_add(fd);
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

/* Passes a file that write_text fills, and the time that it took. */
static void
pass_text(struct agent *agent, struct agent_reply *reply,
          struct operation_files *passed,
          int (*write_text)(struct jemalloc *, int), const char *what)
{
    int64_t began = monotonic_clock_us();
    int fd = new_file(agent, "heapwire-text"), error;

    passed->owned = true;
    passed->fds[0] = fd;
    passed->count = 1;
    if (fd < 0) {
        fail_agent_reply(reply, errno, "cannot create a file");
        return;
    }
    error = write_text(&agent->jemalloc, fd);
    reply->value = (uint64_t)(monotonic_clock_us() - began);
    if (error != 0)
        fail_agent_reply(reply, error, what);
    seal_reply_file(fd);
}

static void
op_stats(struct agent *agent, const struct agent_request *request,
         struct agent_reply *reply, struct operation_files *passed)
{
    (void)request;
    pass_text(agent, reply, passed, statistics_write, "statistics");
}

static void
op_allocators(struct agent *agent, const struct agent_request *request,
              struct agent_reply *reply, struct operation_files *passed)
{
    (void)request;
    pass_text(agent, reply, passed, allocator_list_write,
              "the list of allocators");
}

static int
write_maps(struct jemalloc *jemalloc, int fd)
{
    (void)jemalloc;
    return copy_maps(fd) == 0 ? 0 : errno;
}

static void
op_maps(struct agent *agent, const struct agent_request *request,
        struct agent_reply *reply, struct operation_files *passed)
{
    (void)request;
    pass_text(agent, reply, passed, write_maps, "/proc/self/maps");
    if (agent->own_table)
        mapped_files_scan(&agent->files);
}

static void
op_smaps(struct agent *agent, const struct agent_request *request,
         struct agent_reply *reply, struct operation_files *passed)
{
    int smaps = new_file(agent, "heapwire-smaps");
    int tasks = smaps < 0 ? -1 : new_file(agent, "heapwire-tasks");
    bool cut = false;

    (void)request;
    passed->owned = true;
    passed->fds[0] = smaps;
    passed->fds[1] = tasks;
    passed->count = 2;
    if (smaps < 0 || tasks < 0)
        fail_agent_reply(reply, errno, "cannot create a file");
    else if (own_text_copy("/proc/self/smaps", smaps, AGENT_SMAPS_MAX, &cut) !=
             0)
        fail_agent_reply(reply, errno, "cannot copy /proc/self/smaps");
    else if (own_tasks_write(tasks) != 0)
        fail_agent_reply(reply, errno, "cannot list the threads");
    reply->value = cut;
    seal_reply_file(smaps);
    seal_reply_file(tasks);
}

/* A forked child is refused: the loader is asked, and in a child its lock may
 * be held by nobody. */
static void
op_table(struct agent *agent, const struct agent_request *request,
         struct agent_reply *reply, struct operation_files *passed)
{
    int error;

    (void)passed;
    if (agent->start->child)
        error = ENOTSUP;
    else if (request->number != 0)
        error = given_tables_add(agent->request_fd, request->number);
    else
        error = tables_use(&agent->jemalloc);
    if (error != 0)
        fail_agent_reply(reply, error, "an unwind table");
}

static void
op_dumpable(struct agent *agent, const struct agent_request *request,
            struct agent_reply *reply, struct operation_files *passed)
{
    bool opened = false;
    const char *why;

    (void)passed;
    if (request->number > 1 || request->seconds > AGENT_DUMPABLE_MAX_S) {
        reply->status = AGENT_BAD_REQUEST;
        return;
    }
    if (request->number == 0) {
        if (access_close())
            return;
        reply->status = AGENT_FAILED;
        reply->value = 1;
        snprintf(reply->text, sizeof(reply->text),
                 "it stays dumpable: a seccomp filter that was set since may "
                 "forbid prctl");
        return;
    }
    why = access_open(agent, request->seconds, &opened);
    reply->value = opened;
    if (!why)
        return;
    reply->status = AGENT_FAILED;
    snprintf(reply->text, sizeof(reply->text), "it cannot be made dumpable: %s",
             why);
}

/* Reads the user's name from the file with the request; it becomes a log
 * line. */
static void
read_requester_name(int fd, char out[AGENT_BY_MAX])
{
    struct stat st;
    ssize_t size = -1;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        size = read(fd, out, AGENT_BY_MAX - 1);
    out[size > 0 ? size : 0] = '\0';
    for (char *c = out; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
}

static int
pull_lever(const struct lever_host *host, const struct agent_request *request,
           const char *by)
{
    /* AGENT_DECAY reuses these fields (agent_protocol.h). */
    int64_t dirty_ms = (int64_t)request->inode;
    int64_t muzzy_ms = (int64_t)request->force;
    uint32_t seconds = (uint32_t)request->seconds;

    switch ((enum agent_lever)request->number) {
    case AGENT_LEVERS:
        break;
    case AGENT_PURGE:
        return levers_purge(host);
    case AGENT_DECAY:
        return levers_decay(host, dirty_ms, muzzy_ms, seconds, by);
    case AGENT_BACKGROUND:
        return levers_background(host, request->inode == 1, seconds, by);
    case AGENT_UNDO:
        return levers_undo(host);
    }
    return 0;
}

static bool
is_valid_lever_request(const struct agent_request *request)
{
    int64_t dirty_ms = (int64_t)request->inode;
    int64_t muzzy_ms = (int64_t)request->force;
    bool lasts =
        request->number == AGENT_DECAY || request->number == AGENT_BACKGROUND;

    return request->number <= AGENT_UNDO &&
           request->seconds <= AGENT_LEVER_MAX_S &&
           (!lasts || request->seconds > 0) && dirty_ms >= -1 &&
           muzzy_ms >= -1 && dirty_ms <= AGENT_DECAY_MAX_MS &&
           muzzy_ms <= AGENT_DECAY_MAX_MS;
}

/* jemalloc's figures are refreshed before and after, however young they are, so
 * that the difference is the lever's. */
static void
op_lever(struct agent *agent, const struct agent_request *request,
         struct agent_reply *reply, struct operation_files *passed)
{
    const struct lever_host host = lever_host_of(agent);
    struct jemalloc *jemalloc = &agent->jemalloc;
    bool changes = request->number != AGENT_LEVERS;
    char by[AGENT_BY_MAX];
    int64_t began;
    int error;

    if (!is_valid_lever_request(request)) {
        reply->status = AGENT_BAD_REQUEST;
        return;
    }
    read_requester_name(agent->request_fd, by);
    if (changes)
        jemalloc->epoch.at_ms = 0;
    levers_read(jemalloc, &jemalloc->pulled.before);
    began = monotonic_clock_us();
    error = pull_lever(&host, request, by);
    jemalloc->pulled.took_us = monotonic_clock_us() - began;
    if (changes)
        jemalloc->epoch.at_ms = 0;
    levers_read(jemalloc, &jemalloc->pulled.after);
    if (error != 0) {
        fail_agent_reply(
            reply, error,
            request->number == AGENT_BACKGROUND && error == EPERM
                ? "a thread that the agent starts would have other limits "
                  "than the database's own (its seccomp filters, user or "
                  "descriptors), and so would jemalloc's"
                : "mallctl");
        reply->status = error == ENOENT ? AGENT_NOT_FOUND : AGENT_FAILED;
        return;
    }
    pass_text(agent, reply, passed, levers_write, "the levers");
}

enum needs { NEEDS_NOTHING, NEEDS_JEMALLOC, NEEDS_PROFILING };

static const struct operation {
    void (*run)(struct agent *, const struct agent_request *,
                struct agent_reply *, struct operation_files *);
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
    [AGENT_MAPS] = {op_maps, NEEDS_NOTHING},
    [AGENT_TABLE] = {op_table, NEEDS_PROFILING},
    [AGENT_DUMPABLE] = {op_dumpable, NEEDS_NOTHING},
    [AGENT_LEVER] = {op_lever, NEEDS_JEMALLOC},
    [AGENT_SMAPS] = {op_smaps, NEEDS_NOTHING},
};

/* Checks whether this process can do the operation; fills the reply if not. */
static enum agent_status
check_operation_needs(struct agent *agent, enum needs needs,
                      struct agent_reply *reply)
{
    static const char *const texts[] = {
        [AGENT_OK] = "",
        [AGENT_NO_JEMALLOC] = "no jemalloc serves this process",
        [AGENT_NO_PROF] = "this jemalloc was built without --enable-prof",
        [AGENT_PROF_OFF] = "opt.prof is false: started without prof:true",
    };
    enum agent_status status = profiling_status(&agent->jemalloc);

    if (needs == NEEDS_NOTHING ||
        (needs == NEEDS_JEMALLOC && agent->jemalloc.mallctl))
        return AGENT_OK;
    if (needs == NEEDS_JEMALLOC && status == AGENT_OK)
        status = AGENT_NO_JEMALLOC; /* the recorder can do without */
    snprintf(reply->text, sizeof(reply->text), "%s",
             status == AGENT_UNUSABLE ? jemalloc_note(&agent->jemalloc)
                                      : texts[status]);
    return status;
}

void
operation_answer(struct agent *agent, const struct agent_request *request,
                 struct agent_reply *reply, struct operation_files *passed)
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
    reply->status = check_operation_needs(agent, operation->needs, reply);
    if (reply->status == AGENT_OK)
        operation->run(agent, request, reply, passed);
}
