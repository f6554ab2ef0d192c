/*
 * confined_child.c - see confined.h: calls that are tried in a child.
 *
 * By fork(), not vfork(): before Linux 5.16 a core dump ends all processes that
 * share the memory.
 */
#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confined.h"

int
confined_try_in_child(enum confined_call call)
{
    const struct rlimit no_core = {0, 0};
    pid_t pid = fork(), found;
    int status = 0;

    if (pid == 0) {
        /* a child that a filter kills shall leave no core file */
        setrlimit(RLIMIT_CORE, &no_core);
        _exit(confined_try(call) ? 0 : 1);
    }
    if (pid < 0)
        return -1;
    do {
        found = waitpid(pid, &status, 0);
    } while (found < 0 && errno == EINTR);
    return found == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool
confined_spares(enum confined_call call)
{
    static atomic_uint tried, spared;
    int rc;

    /* Two threads may both try a call; they find the same.  spared is stored
     * before tried, so that whoever sees tried sees the answer. */
    if (atomic_load(&tried) & call)
        return atomic_load(&spared) & call;
    rc = confined_filters() == 0 ? 1 : confined_try_in_child(call);
    if (rc < 0)
        return false; /* no child now; tried again the next time */
    if (rc > 0)
        atomic_fetch_or(&spared, call);
    atomic_fetch_or(&tried, call);
    return rc > 0;
}
