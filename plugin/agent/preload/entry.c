/*
 * entry.c - which process gets an agent: three functions that we wrap.
 *
 * Preloaded, this library is in every process that the database's start-up
 * runs.  Only the one whose executable heapwire-run named gets an agent, right
 * before its main (__libc_start_main), when all constructors have run.  A
 * forked child gets one only when it daemonises (the survivor), which setsid()
 * or daemon() shows, or where the settings name a child to be served.  The
 * jumps into the host are tail calls (we are always compiled with -O2), so that
 * no frame of ours is in the host's stacks.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "preload.h"
#include "agent.h"
#include "agent_protocol.h"
#include "agent_tools.h"
#include "heapwire.h"
#include "start.h"

/* heapwire-run --attach calls this on a thread that it has borrowed from the
 * program: heapwire_start(settings), or heapwire_stop() for NULL, into *result.
 * It answers through memory alone: the thread then continues its own work, as
 * after a signal handler. */
HEAPWIRE_API void heapwire_borrowed(const char *settings, int32_t *result);
void
heapwire_borrowed(const char *settings, int32_t *result)
{
    int saved = errno;

    *result = settings ? heapwire_start(settings) : heapwire_stop();
    errno = saved;
}

/* ---- milestones of the database's start, for heapwire-run ----
 * The first milestone is sent before any other library's constructor (the
 * library is linked with -z initfirst), the second right before main: between
 * the two a fault is not the database's.  Each is a datagram, which the kernel
 * has once the call returns, so that a crash right after does not lose it; a
 * full queue may.  Uses system calls alone: libc may not be initialised. */

/* The variable: the socket's abstract name, a blank, and a secret that each
 * milestone begins with.  Does nothing unless heapwire-run asked for it and
 * this is the database. */
static void
send_milestone(char *const *envp, enum agent_milestone milestone)
{
    const char *where = agent_env(envp, AGENT_ENV_START);
    const char *blank = where ? strchr(where, ' ') : NULL;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char word[AGENT_NAME_MAX];
    size_t name, secret;
    int fd;

    if (!blank || !agent_runs_file(agent_env(envp, AGENT_ENV_EXE)))
        return;
    name = (size_t)(blank - where);
    secret = strlen(blank + 1);
    if (name >= sizeof(address.sun_path) || secret >= sizeof(word))
        return;
    memcpy(address.sun_path + 1, where, name);
    memcpy(word, blank + 1, secret);
    word[secret] = (char)milestone;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    sendto(fd, word, secret + 1, MSG_DONTWAIT | MSG_NOSIGNAL,
           (struct sockaddr *)&address,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + name));
    close(fd);
}

/* Defined in a program built with -fsanitize=thread.  Clang's wraps strcmp and
 * others, which cannot be called before its own start. */
__attribute__((weak)) extern void __tsan_init(void);

__attribute__((constructor)) static void
on_loaded(int argc, char **argv, char **envp)
{
    (void)argc;
    (void)argv;
    if (!__tsan_init)
        send_milestone(envp, AGENT_LOADED);
}

#define EXPORT __attribute__((visibility("default")))

enum {
    SURVIVOR_FORK_MS = 2000, /* from setsid() to the second fork */
    /* a process that has forked more often is no daemon that is starting: each
     * backend of PostgreSQL leaves the session, too */
    SURVIVOR_FORKS = 8
};

typedef int main_fn(int argc, char **argv, char **envp);
typedef int start_fn(main_fn *main, int argc, char **argv, void (*init)(void),
                     void (*fini)(void), void (*rtld_fini)(void),
                     void *stack_end);

EXPORT start_fn __libc_start_main;

/* Written only while the process has one thread, or by fork's child. */
static struct {
    main_fn *main;
    pid_t (*setsid)(void);
    int (*daemon)(int nochdir, int noclose);
    pid_t main_pid;     /* the database's; 0: this process is another program */
    pid_t pid;          /* the process that started its agent last */
    pid_t forked_pid;   /* this process, if it is a fork of the database */
    pid_t survivor_pid; /* the daemonising child that called setsid() */
    int64_t survivor_ms;
    _Atomic unsigned forks; /* calls of fork() by this process */
} host;

/* Starts the agent of a daemon's last process.  It serves once the parents have
 * ended: their agent is the one that is served while they live, even if it has
 * not taken its lock yet. */
static void
serve_survivor(void)
{
    host.pid = getpid();
    recorder_forked();
    start_in_child(host.main_pid,
                   host.survivor_pid == host.pid ? 0 : host.survivor_pid);
}

/* In a child that has just left its parent's session.  Only fork()'s children
 * pass after_fork(); one of vfork() shares its parent's memory and must start
 * no thread. */
static void
start_in_survivor(void)
{
    int saved = errno;

    if (!suspend_is_final() && host.forked_pid == getpid() &&
        host.pid != getpid() && host.forks <= SURVIVOR_FORKS &&
        !start_wants_child()) {
        host.survivor_pid = getpid();
        host.survivor_ms = agent_monotonic_ms();
        serve_survivor();
    }
    errno = saved;
}

static void
before_fork(void)
{
    host.forks++;
}

/* A classic daemon forks again after setsid(); other children (BGSAVE, a shell)
 * get an agent only if the settings say so. */
static void
after_fork(void)
{
    int saved = errno;

    start_forked();
    suspend_forked();
    host.forked_pid = getpid();
    if (suspend_is_final()) {
        /* the child inherits the filter */
    } else if (start_wants_child()) {
        if (getppid() == host.main_pid) {
            host.pid = getpid();
            start_in_child(0, 0);
        }
    } else if (host.survivor_pid != 0 && host.survivor_pid == host.pid &&
               agent_monotonic_ms() - host.survivor_ms < SURVIVOR_FORK_MS) {
        serve_survivor();
    }
    errno = saved;
}

/* True in a database that sees no /proc, by which agent_runs_file() would
 * recognise it: compares the executed file by its path instead. */
static bool
lacks_proc(const char *exe)
{
    const char *file = (const char *)getauxval(AT_EXECFN);
    struct stat named, own, proc;

    return exe && file && stat("/proc/self", &proc) != 0 && errno == ENOENT &&
           stat(exe, &named) == 0 && stat(file, &own) == 0 &&
           named.st_dev == own.st_dev && named.st_ino == own.st_ino;
}

/* Whether this process is the one that heapwire-run named. */
static __attribute__((noinline)) bool
is_database(char **envp)
{
    const char *exe = agent_env(envp, AGENT_ENV_EXE);

    if (!agent_env(envp, AGENT_ENV_STATE))
        return false;
    if (!agent_runs_file(exe)) {
        if (lacks_proc(exe))
            agent_log("no /proc in the database's mount namespace: the agent "
                      "cannot work without; the database runs unprofiled");
        return false;
    }
    errno = start_take_environment(envp);
    if (errno != 0)
        agent_log("cannot use the variables " AGENT_ENV_PREFIX "...: %m");
    return errno == 0;
}

static __attribute__((noinline)) void
start_here(char **argv, char **envp)
{
    struct agent_start *start = start_find_allocator();

    reexec_program(start, &start->jemalloc, argv, envp);
    host.pid = host.main_pid = getpid();
    pthread_atfork(before_fork, NULL, NULL);
    errno = start_early(after_fork);
    if (errno != 0)
        agent_log("cannot start a thread: %m; the database runs unprofiled");
}

static int
main_with_agent(int argc, char **argv, char **envp)
{
    start_here(argv, envp);
    send_milestone(envp, AGENT_AT_MAIN);
    return host.main(argc, argv, envp);
}

/* Looked up before the host has threads: dlsym takes the loader's lock, which
 * a fork's child may find held for ever. */
static void
find_libc_functions(void)
{
    if (!host.setsid) {
        host.setsid = (pid_t(*)(void))dlsym(RTLD_NEXT, "setsid");
        host.daemon = (int (*)(int, int))dlsym(RTLD_NEXT, "daemon");
    }
}

int
__libc_start_main(main_fn *main, int argc, char **argv, void (*init)(void),
                  void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    start_fn *next = (start_fn *)dlsym(RTLD_NEXT, "__libc_start_main");

    if (!next) {
        /* the program cannot run without it */
        agent_log("libc has no __libc_start_main");
        _exit(127);
    }
    find_libc_functions();
    suspend_find_libc();
    if (is_database(argv + argc + 1)) {
        host.main = main;
        main = main_with_agent;
    }
    return next(main, argc, argv, init, fini, rtld_fini, stack_end);
}

EXPORT pid_t
setsid(void)
{
    pid_t sid = host.setsid ? host.setsid() : (pid_t)syscall(SYS_setsid);
    if (sid >= 0)
        start_in_survivor();
    return sid;
}

EXPORT int
daemon(int nochdir, int noclose)
{
    int rc;

    find_libc_functions(); /* a constructor may call this before main */
    if (!host.daemon) {
        errno = ENOSYS;
        return -1;
    }
    rc = host.daemon(nochdir, noclose);
    if (rc == 0)
        start_in_survivor();
    return rc;
}
