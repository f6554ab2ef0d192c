/*
 * claim_segment.c - see claim_segment.h.
 *
 * A segment has one owner, and the descriptor is inherited by whatever the
 * starter's child executes: shells, wrappers, the database, and what that
 * starts.  So ownership is a compare-and-swap on the process id in the header,
 * taken over only from an owner that has ended or by the same process after an
 * exec.  A number of processes may try at once; all but one stay inert.
 *
 * Runs before main on the only thread; the functions of the agent, in the same
 * process, come later.  Any failure leaves the library inert: malloc works as
 * before.
 */
#include "claim_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block_filter.h"
#include "call_stack.h"
#include "module_list.h"
#include "process_stat.h"
#include "recorder_state.h"
#include "segment_layout.h"

enum {
    PAGE = 4096,
    /* Counters for each key; 64 for each sample, as the table is thinned at
     * 5/8. */
    FILTER_COUNTERS = 40,
    FD_DIGITS_MAX = 7
};

const char *
find_variable(char *const *envp, const char *name)
{
    const size_t size = strlen(name);

    for (; envp && *envp; envp++)
        if (strncmp(*envp, name, size) == 0 && (*envp)[size] == '=')
            return *envp + size + 1;
    return NULL;
}

/* The descriptor's number from the environment; -1 without one. */
static int
find_descriptor(char *const *envp)
{
    const char *value = find_variable(envp, RECORDER_ENV);
    int fd = 0, digits = 0;

    for (const char *c = value ? value : ""; *c; c++, digits++) {
        if (*c < '0' || *c > '9' || digits == FD_DIGITS_MAX)
            return -1;
        fd = fd * 10 + (*c - '0');
    }
    return digits > 0 ? fd : -1;
}

/* Whether this is the program that is to be recorded: a wrapper must leave the
 * segment to the database that it starts. */
static bool
is_for_us(char *const *envp)
{
    const char *wanted = find_variable(envp, EXE_ENV);
    char own[PATH_MAX];
    ssize_t n = wanted ? readlink("/proc/self/exe", own, sizeof(own) - 1) : -1;

    if (n < 0)
        return true;
    own[n] = '\0';
    return strcmp(own, wanted) == 0;
}

/* Checks the descriptor: a wrapper may have closed it and opened something
 * else. */
static bool
verify_segment_fd(int fd, struct segment_header *header)
{
    struct stat status;
    int seals;

    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size < SEGMENT_HEADER_BYTES)
        return false;
    seals = fcntl(fd, F_GET_SEALS);
    return seals != -1 && (seals & segment_seals()) == segment_seals() &&
           pread(fd, header, sizeof(*header), 0) == (ssize_t)sizeof(*header) &&
           segment_check(header, (uint64_t)status.st_size) == NULL;
}

/* This process's start in ticks since boot; 0 without /proc. */
static uint64_t
own_start(void)
{
    struct process_stat stat;

    return process_stat_read(0, &stat) ? stat.start_ticks : 0;
}

static bool
has_segment_owner_ended(uint64_t pid)
{
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/* Claims the segment; false: another process has it.  *inherited: this process
 * had it before an exec, or its owner has ended, as when a script starts a
 * database anew. */
static bool
claim_segment_owner(struct segment_header *header, bool *inherited)
{
    uint64_t owner = 0, own = (uint64_t)getpid(), started = own_start();
    bool ours = __atomic_compare_exchange_n(&header->owner, &owner, own, false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);

    *inherited = !ours;
    if (!ours && (owner == own || has_segment_owner_ended(owner)))
        ours = __atomic_compare_exchange_n(&header->owner, &owner, own, false,
                                           __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    if (ours)
        header->owner_started = started;
    return ours;
}

/* Memory that a forked child finds zeroed (MADV_WIPEONFORK, Linux 4.14); NULL:
 * not possible. */
static uint8_t *
map_private(uint64_t bytes)
{
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    if (madvise(memory, bytes, MADV_WIPEONFORK) == 0) {
        madvise(memory, bytes, MADV_DONTDUMP);
        return memory;
    }
    munmap(memory, bytes);
    return NULL;
}

static uint64_t
filter_counter_count(uint32_t keys)
{
    uint64_t counter_count = PAGE;

    while (counter_count < (uint64_t)keys * FILTER_COUNTERS)
        counter_count *= 2;
    return counter_count;
}

static void
set_recorder_state(struct segment_header *header,
                   const struct segment_header *found)
{
    /* from the checked copy: the shared header may change */
    const struct segment_part *parts = found->parts;
    char *base = (char *)header;

    recorder_state = (struct recorder_state){
        .header = header,
        .modules = (void *)(base + parts[SEGMENT_MODULES].offset),
        .stacks = (void *)(base + parts[SEGMENT_STACKS].offset),
        .frames = (void *)(base + parts[SEGMENT_FRAMES].offset),
        .keys = (void *)(base + parts[SEGMENT_KEYS].offset),
        .samples = (void *)(base + parts[SEGMENT_SAMPLES].offset),
        .threads = (void *)(base + parts[SEGMENT_THREADS].offset),
        .module_capacity = parts[SEGMENT_MODULES].count,
        .stack_capacity = parts[SEGMENT_STACKS].count,
        .frame_capacity = parts[SEGMENT_FRAMES].count,
        .sample_capacity = parts[SEGMENT_SAMPLES].count,
        .thread_capacity = parts[SEGMENT_THREADS].count,
        .pid = (uint64_t)getpid(),
        .segment_bytes = found->segment_bytes,
    };
}

/* Empties the table of the previous owner.  executions is raised before and
 * after, so that a reader that began before or meanwhile finds it changed, and
 * drops its copy. */
static void
start_over(struct segment_header *header, uint64_t segment_bytes)
{
    char *parts = (char *)header + SEGMENT_HEADER_BYTES;
    const size_t size = segment_bytes - SEGMENT_HEADER_BYTES;

    __atomic_fetch_add(&header->executions, 1, __ATOMIC_SEQ_CST);
    if (madvise(parts, size, MADV_REMOVE) != 0)
        memset(parts, 0, size); /* locked pages cannot be removed */
    /* all counts, which come last in the header */
    memset(&header->module_count, 0,
           sizeof(*header) - offsetof(struct segment_header, module_count));
    header->settings = header->first_settings;
    __atomic_fetch_add(&header->executions, 1, __ATOMIC_SEQ_CST);
}

static bool
begin_segment_recording(int fd, const struct segment_header *found)
{
    uint64_t counter_count =
        filter_counter_count(found->parts[SEGMENT_KEYS].count);
    struct segment_header *header = mmap(
        NULL, found->segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint64_t bytes = PAGE + BLOCK_FILTER_PAGES + counter_count;
    uint8_t *memory = NULL;
    bool inherited;

    if (header == MAP_FAILED)
        return false;
    memory = map_private(bytes);
    if (!memory || !claim_segment_owner(header, &inherited)) {
        munmap(header, found->segment_bytes);
        if (memory)
            munmap(memory, bytes);
        return false;
    }
    /* Cores need not have the profile's megabytes. */
    madvise(header, found->segment_bytes, MADV_DONTDUMP);
    header->forked_from = 0;
    if (inherited)
        start_over(header, found->segment_bytes);
    else
        __atomic_fetch_add(&header->executions, 1, __ATOMIC_SEQ_CST);
    set_recorder_state(header, found);
    module_list_begin();
    call_stack_warm_up();
    recorder_local = (struct recorder_local){.sampler.left = 0};
    /* The switch recorder_alive comes last: until then no sample is taken. */
    block_filter.pages = (_Atomic uint8_t *)memory + PAGE;
    block_filter.counters = block_filter.pages + BLOCK_FILTER_PAGES;
    atomic_store_explicit(&block_filter.mask, counter_count - 1,
                          memory_order_release);
    *(uint32_t *)memory = 1;
    recorder_alive = (_Atomic uint32_t *)memory;
    return true;
}

struct segment_header *
heapwire_recorder_segment(void)
{
    return recorder_state.header;
}

void
heapwire_recorder_forked(void)
{
    recorder_local = (struct recorder_local){.sampler.left = 0};
}

/* The filter was wiped at the fork, so nothing of the parent's is left in
 * it. */
void
heapwire_recorder_adopt(const pid_t elders[2])
{
    struct segment_header *header = recorder_state.header;
    uint64_t owner = header ? header->owner : 0, own = (uint64_t)getpid();

    if (owner == 0 ||
        (owner != (uint64_t)elders[0] && owner != (uint64_t)elders[1]) ||
        !__atomic_compare_exchange_n(&header->owner, &owner, own, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    header->forked_from = owner;
    header->owner_started = own_start();
    start_over(header, recorder_state.segment_bytes);
    recorder_state.pid = own;
    heapwire_recorder_stop(false);
}

void
heapwire_recorder_stop(bool stopped)
{
    if (recorder_state.header && recorder_state.pid == (uint64_t)getpid())
        atomic_store_explicit((_Atomic uint32_t *)recorder_alive, !stopped,
                              memory_order_release);
}

void
heapwire_recorder_spare_thread(void)
{
    recorder_local.sampler.left = UINT64_MAX / 2;
}

void
claim_segment(char *const *envp)
{
    struct segment_header header;
    int fd = find_descriptor(envp), error = errno;

    if (fd >= 0 && is_for_us(envp) && verify_segment_fd(fd, &header) &&
        (!begin_segment_recording(fd, &header) || find_variable(envp, EXE_ENV)))
        close(fd); /* programs that it executes must not find it */
    errno = error;
}
