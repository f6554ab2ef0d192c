/* probe.c - see probe.h. */
#include "probe.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confined.h"

/* In a child: if it is killed or refused, the call is not allowed. */
static bool
may_call(enum confined_call call)
{
    const struct rlimit no_core = {0, 0};
    pid_t pid = fork(), found;
    int status = 0;

    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &no_core);
        _exit(confined_try(call) ? 0 : 1);
    }
    if (pid < 0)
        return false;
    do {
        found = waitpid(pid, &status, 0);
    } while (found < 0 && errno == EINTR);
    return found == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void
probe_filters(char *out)
{
    int filters = confined_filters();
    unsigned calls = 0;

    out[0] = '\0';
    if (filters <= 0)
        return; /* no filters; or the agent could not recognise them */
    for (unsigned call = 1; call & CONFINED_ALL; call <<= 1)
        if (may_call((enum confined_call)call))
            calls |= call;
    confined_write(filters, calls, out);
}
