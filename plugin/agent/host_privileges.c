/*
 * host_privileges.c - keeps our thread from being more than the host; see
 * agent.h.
 *
 * Where a host drops privileges by raw system calls, or without our library
 * preloaded, libc does not tell us, and a thread that keeps them would be a
 * hole in its sandbox: who takes over the host could use it.  Linux has no call
 * to ask for another thread's privileges, so both threads' files in /proc are
 * compared once a second; a difference counts when it is there at two checks in
 * a row, since the host may be half-way through a change.  Then the thread
 * drops what it has beyond the host by raw system calls, or must end if it
 * cannot (diverged).
 */
#include "agent.h"

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent_tools.h"
#include "confined.h"
#include "process_stat.h"

enum { CHECK_MS = 1000, GROUPS_TEXT = 1024, GROUPS_COUNT = 128 };
_Static_assert((int)GROUPS_TEXT <= (int)PROCESS_STATUS_GROUPS,
               "a cut list is refused");

enum { REAL, EFFECTIVE, SAVED, FILE_SYSTEM, IDS };

enum { INHERITABLE, PERMITTED, CAP_EFFECTIVE, BOUNDING, AMBIENT, SETS };

/* Namespaces that a single thread may change. */
static const char *const kinds[] = {"cgroup", "ipc", "mnt", "net", "uts"};
enum { NAMESPACES = sizeof(kinds) / sizeof(kinds[0]) };

/* The privileges of a thread. */
struct worn {
    unsigned uids[IDS], gids[IDS];
    char groups[GROUPS_TEXT];
    uint64_t sets[SETS]; /* of capabilities */
    int no_new_privs, seccomp, filters;
    ino_t namespaces[NAMESPACES];
};

static bool
read_ids(const char *text, unsigned ids[IDS])
{
    /* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers */
    return sscanf(text, "%u %u %u %u", &ids[REAL], &ids[EFFECTIVE], &ids[SAVED],
                  &ids[FILE_SYSTEM]) == IDS;
}

/* 0 where it cannot be read, as of a main thread that has ended. */
static ino_t
namespace_of(pid_t tid, const char *kind)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/self/task/%d/ns/%s", (int)tid, kind);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Reads a thread's privileges; status is scratch.  False where /proc does not
 * show it. */
static bool
read_worn(struct worn *worn, pid_t tid, char status[PROCESS_STATUS_MAX])
{
    static const char *const names[SETS] = {[INHERITABLE] = "CapInh",
                                            [PERMITTED] = "CapPrm",
                                            [CAP_EFFECTIVE] = "CapEff",
                                            [BOUNDING] = "CapBnd",
                                            [AMBIENT] = "CapAmb"};
    const char *groups;
    size_t size;

    if (!process_status_read(0, tid, status))
        return false;
    groups = process_status_text(status, "Groups");
    size = strcspn(groups, "\n");
    memset(worn, 0, sizeof(*worn));
    if (!read_ids(process_status_text(status, "Uid"), worn->uids) ||
        !read_ids(process_status_text(status, "Gid"), worn->gids) ||
        size >= GROUPS_TEXT)
        return false;
    memcpy(worn->groups, groups, size);
    for (int i = 0; i < SETS; i++)
        worn->sets[i] =
            strtoull(process_status_text(status, names[i]), NULL, 16);
    worn->no_new_privs =
        (int)strtol(process_status_text(status, "NoNewPrivs"), NULL, 10);
    worn->seccomp =
        (int)strtol(process_status_text(status, "Seccomp"), NULL, 10);
    worn->filters =
        (int)strtol(process_status_text(status, "Seccomp_filters"), NULL, 10);
    for (int i = 0; i < NAMESPACES; i++)
        worn->namespaces[i] = namespace_of(tid, kinds[i]);
    return true;
}

static bool
is_other_namespace(ino_t a, ino_t b)
{
    return a != 0 && b != 0 && a != b;
}

/* Whether own has any privilege that host lacks. */
static bool
may_more(const struct worn *own, const struct worn *host)
{
    for (int i = 0; i < NAMESPACES; i++)
        if (is_other_namespace(own->namespaces[i], host->namespaces[i]))
            return true;
    for (int i = 0; i < SETS; i++)
        if (own->sets[i] & ~host->sets[i])
            return true;
    return memcmp(own->uids, host->uids, sizeof(own->uids)) != 0 ||
           memcmp(own->gids, host->gids, sizeof(own->gids)) != 0 ||
           strcmp(own->groups, host->groups) != 0 ||
           own->no_new_privs < host->no_new_privs ||
           own->seccomp < host->seccomp || own->filters < host->filters;
}

bool
host_privileges_equal(pid_t a, pid_t b)
{
    static struct worn one, other;
    static char status[PROCESS_STATUS_MAX];

    return read_worn(&one, a, status) && read_worn(&other, b, status) &&
           !may_more(&one, &other) && !may_more(&other, &one);
}

static void
take_groups(const char *text)
{
    gid_t groups[GROUPS_COUNT];
    size_t count = 0;
    char *end;

    for (; count < GROUPS_COUNT; text = end) {
        unsigned long id = strtoul(text, &end, 10);

        if (end == text)
            break;
        groups[count++] = (gid_t)id;
    }
    syscall(SYS_setgroups, count, groups);
}

static void
take_capabilities(const struct worn *own, const struct worn *host)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];

    for (int i = 0; i < 2; i++) {
        data[i].effective =
            (uint32_t)((own->sets[CAP_EFFECTIVE] & host->sets[CAP_EFFECTIVE]) >>
                       32 * i);
        data[i].permitted =
            (uint32_t)((own->sets[PERMITTED] & host->sets[PERMITTED]) >>
                       32 * i);
        data[i].inheritable =
            (uint32_t)((own->sets[INHERITABLE] & host->sets[INHERITABLE]) >>
                       32 * i);
    }
    syscall(SYS_capset, &header, data);
}

static void
adopt_host_ids(const struct worn *own, const struct worn *host)
{
    if (strcmp(own->groups, host->groups) != 0)
        take_groups(host->groups);
    if (memcmp(own->gids, host->gids, sizeof(own->gids)) != 0)
        syscall(SYS_setresgid, host->gids[REAL], host->gids[EFFECTIVE],
                host->gids[SAVED]);
    if (memcmp(own->uids, host->uids, sizeof(own->uids)) != 0)
        syscall(SYS_setresuid, host->uids[REAL], host->uids[EFFECTIVE],
                host->uids[SAVED]);
}

/* Drops what the host's main thread lacks.  By system calls, which change the
 * calling thread alone: libc's functions would change the host.  calls: enum
 * confined_call.  The kernel makes a process that changes its ids undumpable;
 * if the host has undone that, it is undone again.  Order: the bounding set
 * needs a capability, ids clear capabilities, and capset comes last. */
static void
drop_extra_privileges(struct worn *own, const struct worn *host, unsigned calls,
                      pid_t self, char *status)
{
    const bool may_set = calls & CONFINED_CAPABILITIES;
    const bool dumpable =
        may_set && syscall(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;

    for (unsigned cap = 0; may_set && cap < 64; cap++)
        if ((own->sets[BOUNDING] & ~host->sets[BOUNDING]) >> cap & 1)
            syscall(SYS_prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
    if (calls & CONFINED_IDS)
        adopt_host_ids(own, host);
    if (dumpable)
        syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
    if (may_set && own->no_new_privs < host->no_new_privs)
        syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (may_set && read_worn(own, self, status))
        take_capabilities(own, host);
}

static void
match_host_credentials(struct host_privileges *host_privileges, int filters,
                       unsigned calls)
{
    pid_t self = (pid_t)syscall(SYS_gettid);
    struct worn own, host;
    char status[PROCESS_STATUS_MAX];
    bool more;

    if (!read_worn(&own, self, status) || !read_worn(&host, getpid(), status))
        return; /* no /proc */
    more = may_more(&own, &host);
    if (more && host_privileges->more) {
        if (own.seccomp == 0 || own.filters == filters)
            drop_extra_privileges(&own, &host, calls, self, status);
        host_privileges->diverged =
            !read_worn(&own, self, status) || may_more(&own, &host);
    }
    host_privileges->more = more;
}

int
host_privileges_tick(struct host_privileges *host_privileges, int filters,
                     unsigned calls)
{
    int64_t now = agent_monotonic_ms();

    if (now >= host_privileges->due_ms) {
        match_host_credentials(host_privileges, filters, calls);
        host_privileges->due_ms = now + CHECK_MS;
    }
    return (int)(host_privileges->due_ms - now);
}
