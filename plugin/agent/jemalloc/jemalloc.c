/*
 * jemalloc.c - drives the heap profiler of the chosen jemalloc; see jemalloc.h.
 *
 * Two traps of jemalloc shape this file.  A thread copies
 * prof.thread_active_init when it is created, and one that was created while
 * that was false is never sampled: so it is switched on with profiling and
 * never off again, and threads from before are counted for a note.  And
 * prof.dump holds locks that fork() needs, so a dump must go to a file that
 * never blocks.  All on the agent's thread.
 */
#include "jemalloc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent_tools.h"
#include "process_stat.h"

/* ---- threads that were born while prof.thread_active_init was false ----
 * jemalloc never samples them, whatever is switched on later. */

enum { UNSAMPLED_THREADS_MAX = 4096 }; /* examined at most */

enum { LIST_BYTES = 4096, STAT_BYTES = 1024, TICK_NS = 1000000000 };

/* The kernel's directory entry: libc's readdir takes memory from the host's
 * malloc. */
struct entry {
    uint64_t inode;
    int64_t next;
    uint16_t size;
    uint8_t type;
    char name[];
};

/* The time now, in the unit of a thread's start time. */
static uint64_t
unsampled_now(void)
{
    uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * per_second +
           (uint64_t)now.tv_nsec * per_second / TICK_NS;
}

/* A thread's start time; 0: it has ended, is jemalloc's own, or the caller. */
static uint64_t
host_thread_start_ticks(const char *thread)
{
    char path[64], text[STAT_BYTES];
    struct process_stat stat;

    if (strtol(thread, NULL, 10) == syscall(SYS_gettid))
        return 0;
    snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", thread);
    if (agent_read_small(path, text, sizeof(text)) < 0 ||
        strstr(text, "(jemalloc_bg_thd)"))
        return 0;
    return process_stat_parse(text, &stat) ? stat.start_ticks : 0;
}

/* Counts threads of this process that were created until then, except the
 * calling one and jemalloc's own; *all: those of any age. */
static unsigned
unsampled_count(uint64_t then, unsigned *all)
{
    _Alignas(struct entry) char bytes[LIST_BYTES];
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsigned count = 0;
    long size;

    *all = 0;
    while (fd >= 0 && *all < UNSAMPLED_THREADS_MAX &&
           (size = syscall(SYS_getdents64, fd, bytes, sizeof(bytes))) > 0) {
        for (long at = 0; at < size;) {
            const struct entry *entry = (const void *)(bytes + at);
            uint64_t ticks = entry->name[0] == '.'
                                 ? 0
                                 : host_thread_start_ticks(entry->name);

            *all += ticks != 0;
            count += ticks != 0 && ticks <= then;
            at += entry->size;
        }
    }
    if (fd >= 0)
        close(fd);
    return count;
}

enum { NOTE_MS = 5000 }; /* between two counts, which read each thread's stat */

static void
use_chosen(struct jemalloc *jemalloc)
{
    const struct allocators *all = &jemalloc->all;

    if (all->chosen < 0)
        return;
    jemalloc->mallctl = all->list[all->chosen].mallctl;
    jemalloc->config_prof = all->list[all->chosen].config_prof;
    jemalloc->opt_prof = all->list[all->chosen].opt_prof;
}

void
jemalloc_find(struct jemalloc *jemalloc, const struct jemalloc_given *given,
              const char *known, const char *wanted)
{
    memset(jemalloc, 0, sizeof(*jemalloc));
    if (given->mallctl) {
        allocators_give(&jemalloc->all, given->mallctl, given->prefix);
    } else {
        late_begin(&jemalloc->late);
        allocators_find(&jemalloc->all, known, wanted);
    }
    use_chosen(jemalloc);
    if (jemalloc->opt_prof)
        fork_watch(jemalloc->mallctl);
}

void
jemalloc_find_late(struct jemalloc *jemalloc, const char *known,
                   const char *wanted)
{
    if (jemalloc->late.seen_count == 0)
        /* zeroed: nothing was searched yet, but 0 would be the first entry */
        jemalloc->all.chosen = -1;
    if (late_scan_objects(&jemalloc->late, &jemalloc->all, known, wanted) &&
        !jemalloc->mallctl) {
        use_chosen(jemalloc);
        jemalloc_hide_thread(jemalloc);
    }
    if (jemalloc->mallctl)
        fork_watch(jemalloc->mallctl);
}

void
jemalloc_hide_thread(struct jemalloc *jemalloc)
{
    if (jemalloc->mallctl && jemalloc->opt_prof)
        mallctl_write_bool(jemalloc->mallctl, "thread.prof.active", false);
}

/* The start time up to which threads are not sampled; 0: none is known.  If the
 * program has profiling on with thread_active_init false, that is now: none of
 * its present threads is sampled. */
static uint64_t
unsampled_until(const struct jemalloc *jemalloc)
{
    mallctl_fn *mallctl = jemalloc->mallctl;

    if (jemalloc->unsampled_then == 0 && jemalloc->opt_prof &&
        mallctl_read_bool(mallctl, "prof.active") &&
        !mallctl_read_bool(mallctl, "prof.thread_active_init"))
        return unsampled_now();
    return jemalloc->unsampled_then;
}

static void
count_unsampled(struct jemalloc *jemalloc)
{
    int64_t now = agent_monotonic_ms();
    const char *why = jemalloc->all.why;
    unsigned all, count = 0;
    uint64_t then;

    if (jemalloc->note_ms != 0 && now - jemalloc->note_ms < NOTE_MS)
        return;
    jemalloc->note_ms = now;
    then = unsampled_until(jemalloc);
    if (then != 0)
        count = unsampled_count(then, &all);
    if (count > 0)
        snprintf(jemalloc->note, sizeof(jemalloc->note),
                 "%u of %u threads are not sampled: they were created while "
                 "prof.thread_active_init was false; start the database with "
                 "%s=prof_thread_active_init:true%s%s",
                 count, all, jemalloc->all.list[jemalloc->all.chosen].variable,
                 *why ? "; " : "", why);
    else
        jemalloc->note[0] = '\0';
}

const char *
jemalloc_note(struct jemalloc *jemalloc)
{
    if (!jemalloc->mallctl)
        return jemalloc->all.why;
    if (!jemalloc->config_prof) {
        const char *path = jemalloc->all.list[jemalloc->all.chosen].object;
        const char *slash = strrchr(path, '/');

        /* heapwired puts the file's name into a sentence of its own */
        return slash ? slash + 1 : path;
    }
    count_unsampled(jemalloc);
    return *jemalloc->note ? jemalloc->note : jemalloc->all.why;
}

static int
read_active(const struct jemalloc *jemalloc, bool *active)
{
    return mallctl_read(jemalloc->mallctl, "prof.active", active,
                        sizeof(*active));
}

/* Threads copy thread_active_init when they are created, and one that copied
 * false is never sampled: so switching off leaves it alone. */
static int
write_active(struct jemalloc *jemalloc, bool active)
{
    mallctl_fn *mallctl = jemalloc->mallctl;
    bool init = mallctl_read_bool(mallctl, "prof.thread_active_init");
    int error = 0;

    if (active)
        error = mallctl_write_bool(mallctl, "prof.thread_active_init", true);
    if (error != 0)
        return error;
    error = mallctl_write_bool(mallctl, "prof.active", active);
    if (error != 0) {
        mallctl_write_bool(mallctl, "prof.thread_active_init", init);
        return error;
    }
    if (active && !init && jemalloc->unsampled_then == 0) {
        jemalloc->unsampled_then = unsampled_now();
        jemalloc->note_ms = 0;
    }
    return 0;
}

static int
reset_jemalloc_profile(const struct jemalloc *jemalloc, uint32_t lg_sample)
{
    size_t lg = lg_sample;
    bool same = lg_sample == AGENT_LG_SAMPLE_SAME;

    return jemalloc->mallctl("prof.reset", NULL, NULL, same ? NULL : &lg,
                             same ? 0 : sizeof(lg));
}

/* prof.dump adds up the samples before it writes, so the figures of the moment
 * before it are the ones to compare with them, however long it writes. */
int
jemalloc_dump(struct jemalloc *jemalloc, const char *path)
{
    jemalloc->epoch.at_ms = 0;
    jemalloc->of_dump = statistics_refresh(jemalloc) == 0;
    return jemalloc->mallctl("prof.dump", NULL, NULL, &path, sizeof(path));
}

static uint32_t
log_sample(const struct jemalloc *jemalloc)
{
    mallctl_fn *mallctl = jemalloc->mallctl;
    size_t lg = 0;

    /* prof.reset may have changed it: opt.lg_prof_sample is that of the
     * start */
    if (!mallctl ||
        (mallctl_read(mallctl, "prof.lg_sample", &lg, sizeof(lg)) != 0 &&
         mallctl_read(mallctl, "opt.lg_prof_sample", &lg, sizeof(lg)) != 0))
        return 0;
    return (uint32_t)lg;
}

const struct profiler jemalloc_profiler = {read_active, write_active,
                                           reset_jemalloc_profile, log_sample,
                                           /* writes_dumps: */ true};
