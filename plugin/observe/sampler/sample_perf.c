/*
 * sample_perf.c - samples by perf_event_open.
 *
 * As `perf record -p` does it: for each thread that is there an event on each
 * processor, all events of a processor with one ring of memory; threads that
 * are born inherit them.  The kernel copies registers and stack at each tick of
 * a thread's processor time, and nothing of the process is ever stopped.  An
 * event without a processor would do for a thread, but such ones cannot share
 * a ring, nor be inherited with one.  So it takes threads x processors
 * descriptors: where those are too many, it is refused, and ptrace is left.
 *
 * A thread that is born while events are opened inherits those of its parent,
 * if that had them already; else it gets its own.  Which it is, the kernel
 * tells: it writes a record of each thread that inherits.  So it does for a
 * process that is forked, and for one that executes another program: which
 * samples are the database's is told by records alone, in order of time
 * (perf_rings.h), not by /proc, where a process may be gone by then.
 *
 * The clock is software's: no hardware counter is needed, virtual machines have
 * it.  It counts from zero in each thread that is born and on each processor,
 * and the rest of a tick is dropped at the end (see write_sampling_limits).
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "confined.h"
#include "errors.h"
#include "files.h"
#include "memory.h"
#include "perf_rings.h"
#include "sample_refused.h"
#include "sample_run.h"
#include "sample_task.h"

enum {
    FDS_SHARE = 4,     /* a quarter of what this process may have */
    SHOWN_MS = 100,    /* a smaller difference is not mentioned */
    DRAIN_SAMPLES = 8, /* samples of one processor that may wait in a ring */
    DRAIN_MAX_MS = 50,
    /* threads born while events are opened, that inherit none */
    NEWBORN_MAX = 256,
    NEWBORN_ROUNDS = 8,
    OPENED_BEFORE_DRAIN = 16
};

/* Ring and stack sizes, tried in turn where perf_event_mlock_kb is small. */
static const struct {
    uint32_t pages, stack_bytes;
} sizes[] = {{256, SAMPLER_STACK_BYTES},
             {128, 32 << 10},
             {64, 16 << 10},
             {32, 8 << 10},
             {16, 4 << 10}};

struct perf {
    struct sample_run *run;
    struct perf_event_attr attr;
    struct sample_tids tids;
    size_t first; /* the thread in tids whose events own the rings */
    struct perf_rings rings;
    int *fds;
    size_t fd_count, fd_capacity;
    bool opening; /* events are being opened: no sample counts yet */
    bool blind;   /* a record was lost while events were opened */
    bool foreign; /* children executed other programs */
    /* Sets of pids: the database's, and those that executed another program.  A
     * pid in neither set had its fork record lost. */
    uint8_t *own_pids, *foreign_pids;
};

/* ---- registers ---- */

#if defined(__x86_64__)
/* DWARF's numbers of the registers, in the kernel's order (asm/perf_regs.h). */
static const uint8_t dwarf_numbers[] = {0, 3, 2,  1,  4,  5,  6,  7, 16,
                                        8, 9, 10, 11, 12, 13, 14, 15};
enum { REGISTERS_FROM_R8 = 16 };
#define REGISTERS_MASK (0x1ffULL | 0xffULL << REGISTERS_FROM_R8)
#else
#define REGISTERS_MASK ((1ULL << REGISTER_COUNT) - 1)
#endif

static void
copy_perf_registers(const uint64_t *from, struct thread_registers *out)
{
    for (size_t i = 0; i < REGISTER_COUNT; i++) {
#if defined(__x86_64__)
        out->values[dwarf_numbers[i]] = from[i];
#else
        out->values[i] = from[i];
#endif
    }
}

/* ---- events ---- */

static int
open_event(const struct perf *perf, int32_t tid, int cpu)
{
    return (int)syscall(SYS_perf_event_open, &perf->attr, tid, cpu, -1,
                        PERF_FLAG_FD_CLOEXEC);
}

static void
set_attr(struct perf *perf)
{
    perf->attr = (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(perf->attr),
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = 1000000000 / perf->run->hz,
        .sample_type = PERF_RINGS_SAMPLE_TYPE | PERF_SAMPLE_REGS_USER |
                       PERF_SAMPLE_STACK_USER,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .inherit = 1,
        .task = 1, /* a record of each thread that inherits */
        .comm = 1, /* ... and of each exec */
        .comm_exec = 1,
        .exclude_hv = 1,
        .watermark = 1,
        .wakeup_watermark = UINT32_MAX, /* never: the rings are polled */
        .sample_regs_user = REGISTERS_MASK,
        .sample_stack_user = SAMPLER_STACK_BYTES};
    if (perf->run->options->kernel) {
        perf->attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
        perf->attr.exclude_callchain_user = 1;
    }
}

/* Finds out what the kernel has and allows; sets exclude_kernel if needed.  0,
 * an errno, or SAMPLE_REFUSED_KERNEL or _KILLED. */
static int
probe_perf_events(struct perf *perf)
{
    int32_t tid = perf->tids.list[perf->first].tid;

    if (!confined_spares(CONFINED_PERF))
        return SAMPLE_REFUSED_KILLED;
    for (;;) {
        int fd = open_event(perf, tid, -1);

        if (fd >= 0) {
            close(fd);
            return perf->run->options->kernel && perf->attr.exclude_kernel
                       ? SAMPLE_REFUSED_KERNEL
                       : 0;
        }
        if (errno == EACCES && !perf->attr.exclude_kernel)
            perf->attr.exclude_kernel = 1; /* perf_event_paranoid 2 */
        else
            return errno;
    }
}

static void
close_events(struct perf *perf)
{
    perf_rings_close(&perf->rings);
    for (size_t i = 0; i < perf->fd_count; i++)
        close(perf->fds[i]);
    perf->fd_count = 0;
}

/* Opens a processor's first event, which owns the ring.  0 or an errno. */
static int
open_ring(struct perf *perf, int32_t tid, int cpu, uint32_t pages)
{
    int fd = open_event(perf, tid, cpu);

    if (fd < 0)
        return errno == ENODEV ? 0 : errno; /* the processor is offline */
    perf->fds[perf->fd_count++] = fd;
    return perf_rings_open(&perf->rings, cpu, fd, pages);
}

/* Opens rings as large as is allowed.  0 or an errno. */
static int
open_rings(struct perf *perf, int cpus)
{
    int error = 0;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        perf->attr.sample_stack_user = sizes[i].stack_bytes;
        error = 0;
        for (int cpu = 0; cpu < cpus && error == 0; cpu++)
            error = open_ring(perf, perf->tids.list[perf->first].tid, cpu,
                              sizes[i].pages);
        if (error != ENOBUFS && error != ENOMEM)
            return error;
        close_events(perf);
    }
    return error;
}

/* Opens the events of the first thread that has not ended.  0 or an errno. */
static int
open_first(struct perf *perf, int cpus)
{
    int error = ESRCH;

    for (; perf->first < perf->tids.count; perf->first++) {
        error = probe_perf_events(perf);
        if (error == 0)
            error = open_rings(perf, cpus);
        if (error != ESRCH)
            break;
        close_events(perf);
    }
    return error;
}

/* ---- samples ---- */

/* Reads the kernel's frames: a count, then each.  Returns what follows; NULL:
 * they do not fit. */
static const uint8_t *
take_kernel(const uint8_t *at, const uint8_t *end, struct sample *sample)
{
    uint64_t count;

    memcpy(&count, at, sizeof(count));
    at += sizeof(count);
    if (count > (size_t)(end - at) / sizeof(uint64_t))
        return NULL;
    sample->kernel = (const uint64_t *)(const void *)at; /* aligned */
    sample->kernel_count = (size_t)count;
    return at + count * sizeof(uint64_t);
}

/* PERF_RECORD_SAMPLE in perf_event_open(2): pid and tid, time, callchain if
 * asked for, the registers' ABI, the registers, the stack's size, the stack,
 * and how much of it was copied. */
static int
parse_perf_sample(struct perf *perf, const uint8_t *at, size_t size,
                  struct error *err)
{
    struct sample_run *run = perf->run;
    struct sample sample = {0};
    const uint8_t *end = at + size;
    uint64_t words[REGISTER_COUNT], abi, room, copied;
    const size_t fixed = 8 + sizeof(words) + 8;
    int32_t ids[2];

    memcpy(ids, at, sizeof(ids));
    at += sizeof(ids) + sizeof(uint64_t);
    if (!sample_bits_get(perf->own_pids, ids[0])) {
        run->report->lost += !sample_bits_get(perf->foreign_pids, ids[0]);
        return 0;
    }
    sample.tid = ids[1];
    if (run->options->kernel && !(at = take_kernel(at, end, &sample)))
        return 0;
    size = (size_t)(end - at);
    if (size < sizeof(abi))
        return 0;
    memcpy(&abi, at, sizeof(abi));
    if (abi != PERF_SAMPLE_REGS_ABI_64 || size < fixed + 8) {
        /* the thread is about to end, or runs 32-bit code */
        run->report->lost++;
        return 0;
    }
    memcpy(words, at + 8, sizeof(words));
    copy_perf_registers(words, &sample.registers);
    memcpy(&room, at + fixed - 8, sizeof(room));
    if (room > size - fixed - 8)
        return 0;
    memcpy(&copied, at + fixed + room, sizeof(copied));
    sample.nanoseconds = perf->attr.sample_period;
    sample.stack.start = sample.registers.values[REGISTER_SP];
    sample.stack.bytes = at + fixed;
    sample.stack.size = copied < room ? copied : room;
    return sample_run_give(run, &sample, err);
}

static void
mark_own_process(struct perf *perf, int32_t pid, bool ours)
{
    if (sample_bits_get(perf->own_pids, pid) != ours)
        perf->run->report->children += ours ? 1 : -1u;
    sample_bits_set(perf->own_pids, pid, ours);
}

/* PERF_RECORD_FORK: pid, parent's pid, tid, parent's tid.  A child inherits to
 * which set its parent belongs. */
static void
take_fork(struct perf *perf, const uint8_t *at)
{
    int32_t ids[4];

    memcpy(ids, at, sizeof(ids));
    if (ids[0] != ids[1]) {
        mark_own_process(perf, ids[0], sample_bits_get(perf->own_pids, ids[1]));
        sample_bits_set(perf->foreign_pids, ids[0],
                        sample_bits_get(perf->foreign_pids, ids[1]));
    }
    if (sample_bits_get(perf->own_pids, ids[0]))
        sample_run_see(perf->run, ids[2]);
}

static void
take_exec(struct perf *perf, const uint8_t *at)
{
    int32_t pid;

    memcpy(&pid, at, sizeof(pid));
    /* The database itself may execute another program: it is still what the
     * user asked for. */
    if (pid == perf->run->options->pid)
        return;
    perf->foreign = true;
    mark_own_process(perf, pid, false);
    sample_bits_set(perf->foreign_pids, pid, true);
}

static int
take_record(void *arg, const struct perf_event_header *header,
            const uint8_t *body, struct error *err)
{
    size_t size = header->size - sizeof(*header);
    struct perf *perf = arg;
    uint64_t lost;

    if (header->type == PERF_RECORD_FORK && size >= 16) {
        take_fork(perf, body);
    } else if (header->type == PERF_RECORD_COMM && size >= 8) {
        if (header->misc & PERF_RECORD_MISC_COMM_EXEC)
            take_exec(perf, body);
    } else if (header->type == PERF_RECORD_LOST && size >= 16) {
        memcpy(&lost, body + 8, sizeof(lost));
        perf->blind = perf->blind || perf->opening;
        perf->run->report->lost += perf->opening ? 0 : lost;
    } else if (header->type == PERF_RECORD_SAMPLE && size >= 32 &&
               !perf->opening) {
        return parse_perf_sample(perf, body, size, err);
    }
    return 0;
}

static int
drain_perf_records(struct perf *perf, struct error *err)
{
    return perf_rings_drain(&perf->rings, sample_now_ns(), take_record, perf,
                            err);
}

/* ---- all threads ---- */

/* Opens all events of one more thread.  0 or an errno. */
static int
open_thread(struct perf *perf, int32_t tid)
{
    for (size_t k = 0; k < perf->rings.count; k++) {
        const struct perf_ring *ring = &perf->rings.list[k];
        int fd = open_event(perf, tid, ring->cpu);

        if (fd < 0 && errno == ESRCH)
            return 0; /* the thread has ended */
        if (fd < 0)
            return errno;
        perf->fds[perf->fd_count++] = fd;
        if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) != 0)
            return errno;
    }
    return 0;
}

/* Opens the events of all other threads.  0, an errno, or -1 with *err.  Rings
 * are drained in between, or fork records would be lost. */
static int
open_threads(struct perf *perf, struct error *err)
{
    int error = 0;

    sample_run_see(perf->run, perf->tids.list[perf->first].tid);
    for (size_t i = perf->first + 1; i < perf->tids.count && error == 0; i++) {
        sample_run_see(perf->run, perf->tids.list[i].tid);
        error = open_thread(perf, perf->tids.list[i].tid);
        if (error == 0 && i % OPENED_BEFORE_DRAIN == 0)
            error = drain_perf_records(perf, err);
    }
    return error;
}

/* Lists threads that are not seen yet, and have run.  If a thread has run, its
 * fork record, if any, has been written before; so it is read by the drain, and
 * what is left inherited nothing. */
static int
list_newborn(struct perf *perf, struct sample_tids *tids, struct error *err)
{
    struct sample_run *run = perf->run;
    struct sample_times times;
    size_t kept = 0;

    sample_run_list(run);
    if (sample_run_tids(run, tids, err) != 0)
        return -1;
    for (size_t i = 0; i < tids->count; i++)
        if (!sample_run_has_seen(run, tids->list[i].tid) &&
            sample_task_times(tids->list[i].pid, tids->list[i].tid, &times) &&
            times.slices > 0)
            tids->list[kept++] = tids->list[i];
    tids->count = kept;
    if (drain_perf_records(perf, err) != 0)
        return -1;
    kept = 0;
    for (size_t i = 0; i < tids->count; i++)
        if (!sample_run_has_seen(run, tids->list[i].tid))
            tids->list[kept++] = tids->list[i];
    tids->count = kept;
    return 0;
}

/* Opens events for threads that inherited none, as far as there is room; adds
 * their number to *opened.  0, an errno, or -1 with *err. */
static int
open_round(struct perf *perf, size_t *opened, struct error *err)
{
    struct sample_tids tids = {0};
    int error = list_newborn(perf, &tids, err);

    for (size_t i = 0; i < tids.count && error == 0 && !perf->blind &&
                       perf->fd_count + perf->rings.count <= perf->fd_capacity;
         i++) {
        sample_run_see(perf->run, tids.list[i].tid);
        mark_own_process(perf, tids.list[i].pid, true);
        error = open_thread(perf, tids.list[i].tid);
        ++*opened;
    }
    sample_tids_fini(&tids);
    return error;
}

/* Repeats that until no such thread is left, at most NEWBORN_ROUNDS times.  0,
 * an errno, or -1 with *err. */
static int
open_newborn(struct perf *perf, struct error *err)
{
    struct sample_tids tids = {0};
    size_t opened = 1;
    int error = 0;

    for (int i = 0; i < NEWBORN_ROUNDS && opened > 0 && error == 0; i++) {
        opened = 0;
        error = open_round(perf, &opened, err);
    }
    if (error == 0)
        error = list_newborn(perf, &tids, err);
    /* these have no events */
    perf->run->report->unseen += (uint32_t)tids.count;
    sample_tids_fini(&tids);
    return error;
}

/* The other descriptors are for connections.  The limit was raised at the start
 * as far as is allowed. */
static size_t
fds_max(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / FDS_SHARE
                                                 : 0;
}

/* 0: all events are open, or the process has ended; 1: why says why not; -1
 * with *err. */
static int
open_all(struct perf *perf, char *why, struct error *err)
{
    int32_t pid = perf->run->options->pid;
    int cpus = (int)sysconf(_SC_NPROCESSORS_CONF), error;
    size_t fds, most = fds_max();

    if (sample_run_tids(perf->run, &perf->tids, err) != 0)
        return -1;
    if (perf->tids.count == 0)
        return 0;
    perf->run->report->unseen = (uint32_t)perf->tids.left_out;
    fds = perf->tids.count * (size_t)cpus;
    perf->fd_capacity = fds + NEWBORN_MAX * (size_t)cpus;
    if (perf->fd_capacity > most)
        perf->fd_capacity = most;
    perf->own_pids = sample_bits_new();
    perf->foreign_pids = sample_bits_new();
    perf->fds = mem_zalloc(perf->fd_capacity + 1, sizeof(*perf->fds));
    if (perf_rings_init(&perf->rings, (size_t)cpus) != 0 || !perf->fds ||
        !perf->own_pids || !perf->foreign_pids) {
        error_memory(err, "the events of threads");
        return -1;
    }
    for (size_t i = 0; i < perf->run->processes.count; i++)
        sample_bits_set(perf->own_pids, perf->run->processes.list[i].pid, true);
    set_attr(perf);
    if (fds > most) {
        sample_refused_descriptors(fds * FDS_SHARE, why, SAMPLE_REFUSED_MAX);
        return 1;
    }
    error = open_first(perf, cpus);
    if (error == 0)
        error = open_threads(perf, err);
    if (error == 0)
        error = open_newborn(perf, err);
    if (error < 0)
        return -1;
    if (error == 0 || error == ESRCH)
        return 0;
    sample_refused_perf(pid, error, why, SAMPLE_REFUSED_MAX);
    return 1;
}

/* ---- the time ---- */

/* Writes what is missing in the samples, and what would help. */
static void
write_sampling_limits(struct perf *perf)
{
    struct sampler_report *report = perf->run->report;
    uint64_t used_ms = sample_run_processor_ms(perf->run);
    uint64_t seen_ms = report->samples * perf->attr.sample_period / 1000000;
    char *out = report->why_not_better;
    size_t size = sizeof(report->why_not_better);

    if (!report->kernel)
        snprintf(out, size,
                 "time in the kernel is not sampled: sysctl "
                 "kernel.perf_event_paranoid=1, or CAP_PERFMON");
    if (used_ms > seen_ms + SHOWN_MS && seen_ms < used_ms / 10 * 9)
        snprintf(out + strlen(out), size - strlen(out),
                 "%s%llu of %llu ms on a processor were sampled: %s%sthe time "
                 "of each thread after its last tick on a processor is "
                 "missing, and so are threads shorter than a tick",
                 out[0] ? "; " : "", (unsigned long long)seen_ms,
                 (unsigned long long)used_ms,
                 report->kernel ? "" : "besides the kernel's time, ",
                 perf->foreign ? "besides that of other programs, " : "");
    if (perf->attr.sample_stack_user < SAMPLER_STACK_BYTES)
        snprintf(out + strlen(out), size - strlen(out),
                 "%sonly %u bytes of a stack are read: raise "
                 "kernel.perf_event_mlock_kb, or give CAP_IPC_LOCK",
                 out[0] ? "; " : "", perf->attr.sample_stack_user);
}

static int
run_perf_sampling(struct perf *perf, struct error *err)
{
    struct sample_run *run = perf->run;
    uint64_t step_ms = DRAIN_SAMPLES * 1000 / run->hz;
    bool over = false;
    int rc;

    if (step_ms > DRAIN_MAX_MS)
        step_ms = DRAIN_MAX_MS;
    rc = drain_perf_records(
        perf, err); /* drops what was sampled so far, of some threads only */
    perf->opening = false;
    run->report->threads_first = run->report->threads;
    sample_run_begin(run);
    while (rc == 0 && !over) {
        rc = sample_run_rest(run, sample_now_ns() + step_ms * 1000000, &over,
                             err);
        if (rc == 0)
            rc = drain_perf_records(perf, err);
    }
    run->report->hz = run->hz;
    run->report->kernel = !perf->attr.exclude_kernel;
    write_sampling_limits(perf);
    return rc;
}

int
sample_by_perf(struct sample_run *run, char *why, struct error *err)
{
    struct perf perf = {.run = run, .opening = true};
    int rc;

    rc = open_all(&perf, why, err);
    if (rc == 0 && run->options->attached)
        run->options->attached(run->options->attached_arg);
    if (rc == 0)
        rc = run_perf_sampling(&perf, err);
    close_events(&perf);
    sample_tids_fini(&perf.tids);
    perf_rings_fini(&perf.rings);
    mem_free(perf.fds);
    mem_free(perf.own_pids);
    mem_free(perf.foreign_pids);
    return rc;
}
