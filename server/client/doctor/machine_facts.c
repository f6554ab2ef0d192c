/*
 * machine_facts.c - learns what this machine allows: see facts.h.
 *
 * Everything comes from /proc, /sys and the environment, and what cannot be
 * read stays unknown.  The facts only help if heapwired runs on this machine,
 * so its pid is looked up here first: a process of that pid whose name is
 * heapwired counts as the node.
 */
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "facts.h"
#include "process_stat.h"

/* Reads the first line of a file.  If that fails, the fact stays unknown. */
static void
read_kernel_line(const char *path, enum fact fact, struct facts *facts)
{
    FILE *file = fopen(path, "re");
    char line[256];

    if (file && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        facts_set(facts, fact, line);
    }
    if (file)
        fclose(file);
}

/* Finds out whether that process is a heapwired on this machine, and which
 * capabilities it has. */
static void
find_heapwired_facts(struct facts *facts)
{
    const char *pid = facts_get(facts, FACT_DAEMON_PID);
    char status[PROCESS_STATUS_MAX], caps[32];

    if (!pid || strspn(pid, "0123456789") != strlen(pid) || strlen(pid) > 9)
        return;
    process_status_read((pid_t)strtol(pid, NULL, 10), 0, status);
    if (strncmp(process_status_text(status, "Name"), "heapwired", 9) != 0)
        return;
    facts_set(facts, FACT_SAME_MACHINE, "1");
    snprintf(caps, sizeof(caps), "%.16s",
             process_status_text(status, "CapEff"));
    facts_set(facts, FACT_HEAPWIRED_CAPS, caps);
}

static void
find_disk_space_facts(struct facts *facts)
{
    const char *directory = facts_get(facts, FACT_STATE_DIR);
    struct statvfs space;
    struct statfs kind;
    char text[32];

    if (!directory || statvfs(directory, &space) != 0)
        return;
    snprintf(text, sizeof(text), "%llu",
             (unsigned long long)space.f_bavail * space.f_frsize);
    facts_set(facts, FACT_SPACE_BYTES, text);
    if (statfs(directory, &kind) == 0 && kind.f_type == TMPFS_MAGIC)
        facts_set(facts, FACT_SPACE_TMPFS, "1");
}

void
facts_add_machine(struct facts *facts)
{
    const char *servers = getenv("DEBUGINFOD_URLS"); /* NOLINT: one thread */
    struct statfs kind;

    find_heapwired_facts(facts);
    /* The facts are of the machine that the database runs on, or that a program
     * will run on. */
    if (facts_get(facts, FACT_STATE) && !facts_get(facts, FACT_SAME_MACHINE))
        return;
    find_disk_space_facts(facts);
    read_kernel_line("/proc/sys/kernel/perf_event_paranoid", FACT_PERF_PARANOID,
                     facts);
    read_kernel_line("/proc/sys/kernel/yama/ptrace_scope", FACT_YAMA, facts);
    read_kernel_line("/sys/kernel/mm/transparent_hugepage/enabled", FACT_THP,
                     facts);
    read_kernel_line("/proc/sys/vm/overcommit_memory", FACT_OVERCOMMIT, facts);
    read_kernel_line("/sys/devices/system/clocksource/clocksource0/"
                     "current_clocksource",
                     FACT_CLOCKSOURCE, facts);
    if (statfs("/sys/fs/cgroup", &kind) == 0)
        facts_set(facts, FACT_CGROUP_VERSION,
                  kind.f_type == CGROUP2_SUPER_MAGIC ? "2" : "1");
    if (servers && *servers)
        facts_set(facts, FACT_DEBUGINFOD, servers);
    if (access("/usr/lib/debug/.build-id", R_OK) == 0)
        facts_set(facts, FACT_DEBUG_FILES, "1");
}
