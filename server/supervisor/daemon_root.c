/*
 * daemon_root.c - see daemon_root.h.
 *
 * The agent of a daemon's parent ends with it; the daemon's own opens the state
 * directory by its name, which does not lead there after a chroot.  It may have
 * no stderr, so heapwire-run looks and says it.
 */
#include "daemon_root.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent_word.h"
#include "process_look.h"

enum { ROOT_SHOWN = 60, WHY_MAX = 256 };

/* root: as /proc names it; "" where that cannot be read. */
static bool
has_other_root(pid_t pid, char root[PATH_MAX])
{
    char path[32];
    struct stat theirs, ours;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/root", pid);
    n = readlink(path, root, PATH_MAX - 1);
    root[n > 0 ? n : 0] = '\0';
    return stat(path, &theirs) == 0 && stat("/", &ours) == 0 &&
           (theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino);
}

bool
daemon_root_note(const char *state_dir, const char *program, pid_t pid)
{
    char root[PATH_MAX], why[WHY_MAX];
    pid_t served;

    if (!has_other_root(pid, root) || process_serves(state_dir, &served))
        return false;
    snprintf(why, sizeof(why),
             "it became a daemon with another root directory (%.*s), below "
             "which the state directory is not found: run it in the foreground "
             "(haproxy -db)",
             ROOT_SHOWN, root);
    fprintf(stderr, "heapwire-run: %s (pid %d) has no agent: %s\n", program,
            pid, why);
    agent_word_leave(state_dir, pid, why);
    return true;
}
