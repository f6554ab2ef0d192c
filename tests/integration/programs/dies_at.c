/*
 * dies_at.c - preloaded into an attacher: kills it before or after its n-th
 * call of ptrace or pwrite.
 *
 * DIES_AT="<n> before|after": 0 never does.  DIES_LOG: a file that gets a line
 * for the call at which it died, or at its end how many there were.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

static long dies_at, calls;
static bool dies_after;
static int out = -1;

__attribute__((constructor)) static void
take_settings(void)
{
    const char *at = getenv("DIES_AT"), *path = getenv("DIES_LOG");

    dies_at = at ? strtol(at, NULL, 10) : 0;
    dies_after = at && strstr(at, "after");
    out =
        path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    unsetenv("LD_PRELOAD"); /* its children are none of ours */
}

static void
die_at(const char *what, long which, bool after)
{
    if (!after)
        calls++;
    if (calls != dies_at || after != dies_after)
        return;
    dprintf(out, "%ld %s %s %lx\n", calls, after ? "after" : "before", what,
            (unsigned long)which);
    kill(getpid(), SIGKILL);
}

__attribute__((destructor)) static void
tell_calls(void)
{
    dprintf(out, "%ld calls\n", calls);
}

long
ptrace(enum __ptrace_request request, ...)
{
    long (*real)(enum __ptrace_request, pid_t, void *, void *);
    void *address, *data;
    va_list list;
    pid_t pid;
    long result;

    va_start(list, request);
    pid = va_arg(list, pid_t);
    address = va_arg(list, void *);
    data = va_arg(list, void *);
    va_end(list);
    *(void **)&real = dlsym(RTLD_NEXT, "ptrace");
    die_at("ptrace", (long)request, false);
    result = real(request, pid, address, data);
    die_at("ptrace", (long)request, true);
    return result;
}

ssize_t
pwrite(int fd, const void *data, size_t size, off_t at)
{
    ssize_t (*real)(int, const void *, size_t, off_t), result;

    *(void **)&real = dlsym(RTLD_NEXT, "pwrite");
    die_at("pwrite", (long)size, false);
    result = real(fd, data, size, at);
    die_at("pwrite", (long)size, true);
    return result;
}
