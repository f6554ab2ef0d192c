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
 * tells: it writes a record of each thread that inherits.
 *
 * The clock is software's: no hardware counter is needed, virtual machines have
 * it.  It counts from zero in each thread that is born and on each processor,
 * and the rest of a tick is dropped at the end (see say_limits).
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "errors.h"
#include "files.h"
#include "memory.h"
#include "sample_refused.h"
#include "sample_run.h"
#include "sample_task.h"

enum {
    FDS_SHARE = 4,     /* 1 of so many, of what this process may have */
    SHOWN_MS = 100,    /* less is not worth a word */
    DRAIN_SAMPLES = 8, /* that may wait in a ring */
    DRAIN_MAX_MS = 50,
    RECORD_MAX = 1 << 16, /* perf_event_header.size is 16 bits */
    NEWBORN_MAX = 256,    /* while events are opened, of threads without */
    NEWBORN_ROUNDS = 8,
    OPENED_BEFORE_DRAIN = 16
};

/* What is tried where perf_event_mlock_kb is short. */
static const struct {
    uint32_t pages, stack_bytes;
} sizes[] = {{256, SAMPLER_STACK_BYTES},
             {128, 32 << 10},
             {64, 16 << 10},
             {32, 8 << 10},
             {16, 4 << 10}};

struct ring {
    int cpu, fd; /* fd: of the first event with this output */
    struct perf_event_mmap_page *page;
    uint8_t *data;
    size_t size; /* of data: a power of two */
};

struct perf {
    struct sample_run *run;
    struct perf_event_attr attr;
    struct sample_tids tids;
    size_t first; /* of them: whose events the rings are of */
    struct ring *rings;
    size_t ring_count;
    int *fds;
    size_t fd_count, fd_room;
    bool opening; /* no sample counts yet */
    bool blind;   /* a record was lost meanwhile */
    size_t page_bytes;
    uint8_t *record; /* one that lay around the end of a ring */
};

/* ---- registers ---- */

#if defined(__x86_64__)
/* DWARF's numbers of what the kernel copies, in its order: asm/perf_regs.h. */
static const uint8_t dwarf_numbers[] = {0, 3, 2,  1,  4,  5,  6,  7, 16,
                                        8, 9, 10, 11, 12, 13, 14, 15};
enum { REGISTERS_FROM_R8 = 16 };
#define REGISTERS_MASK (0x1ffULL | 0xffULL << REGISTERS_FROM_R8)
#else
#define REGISTERS_MASK ((1ULL << REGISTER_COUNT) - 1)
#endif

static void
take_registers(const uint64_t *from, struct thread_registers *out)
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
        .sample_type =
            PERF_SAMPLE_TID | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .inherit = 1,
        /* not by children */
        .inherit_thread = perf->run->options->child_count == 0,
        .task = 1, /* a record of each that inherits */
        .exclude_hv = 1,
        .watermark = 1,
        .wakeup_watermark = UINT32_MAX, /* nobody waits for it */
        .sample_regs_user = REGISTERS_MASK,
        .sample_stack_user = SAMPLER_STACK_BYTES};
    if (perf->run->options->kernel) {
        perf->attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
        perf->attr.exclude_callchain_user = 1;
    }
}

/* What of it the kernel has and allows.  An errno, or
 * SAMPLE_REFUSED_KERNEL. */
static int
probe(struct perf *perf)
{
    int32_t tid = perf->tids.list[perf->first];

    for (;;) {
        int fd = open_event(perf, tid, -1);

        if (fd >= 0) {
            close(fd);
            return perf->run->options->kernel && perf->attr.exclude_kernel
                       ? SAMPLE_REFUSED_KERNEL
                       : 0;
        }
        if (errno == EINVAL && perf->attr.inherit_thread)
            perf->attr.inherit_thread = 0; /* before Linux 5.13 */
        else if (errno == EACCES && !perf->attr.exclude_kernel)
            perf->attr.exclude_kernel = 1; /* perf_event_paranoid 2 */
        else
            return errno;
    }
}

static void
close_events(struct perf *perf)
{
    for (size_t i = 0; i < perf->ring_count; i++) {
        if (perf->rings[i].page)
            munmap(perf->rings[i].page, perf->rings[i].size + perf->page_bytes);
    }
    for (size_t i = 0; i < perf->fd_count; i++)
        close(perf->fds[i]);
    perf->ring_count = perf->fd_count = 0;
}

/* The first event of a processor.  An errno. */
static int
open_ring(struct perf *perf, int32_t tid, int cpu, uint32_t pages)
{
    struct ring *ring = &perf->rings[perf->ring_count];
    void *map;
    int fd = open_event(perf, tid, cpu);

    if (fd < 0)
        return errno == ENODEV ? 0 : errno; /* it is switched off */
    perf->fds[perf->fd_count++] = fd;
    *ring =
        (struct ring){.cpu = cpu, .fd = fd, .size = pages * perf->page_bytes};
    map = mmap(NULL, ring->size + perf->page_bytes, PROT_READ | PROT_WRITE,
               MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return errno == EPERM ? ENOBUFS : errno;
    ring->page = map;
    ring->data = (uint8_t *)map + perf->page_bytes;
    perf->ring_count++;
    return 0;
}

/* As large as is allowed.  An errno. */
static int
open_rings(struct perf *perf, int cpus)
{
    int error = 0;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        perf->attr.sample_stack_user = sizes[i].stack_bytes;
        error = 0;
        for (int cpu = 0; cpu < cpus && error == 0; cpu++)
            error = open_ring(perf, perf->tids.list[perf->first], cpu,
                              sizes[i].pages);
        if (error != ENOBUFS && error != ENOMEM)
            return error;
        close_events(perf);
    }
    return error;
}

/* The events of the first thread that has not ended.  An errno. */
static int
open_first(struct perf *perf, int cpus)
{
    int error = ESRCH;

    for (; perf->first < perf->tids.count; perf->first++) {
        error = probe(perf);
        if (error == 0)
            error = open_rings(perf, cpus);
        if (error != ESRCH)
            break;
        close_events(perf);
    }
    return error;
}

/* ---- samples ---- */

/* The frames in the kernel: how many, and each.  What is behind them; NULL:
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

/* The kernel's layout, of perf_event_open(2): pid and tid, frames in the kernel
 * if they were asked for, the registers' ABI, the registers, the stack's size,
 * the stack, how much of it was copied. */
static int
take_sample(struct perf *perf, const uint8_t *at, size_t size,
            struct error *err)
{
    const size_t fixed = 8 + sizeof(struct thread_registers) + 8;
    struct sample_run *run = perf->run;
    struct sample sample = {0};
    const uint8_t *end = at + size;
    uint64_t words[REGISTER_COUNT], abi, room, copied;
    int32_t ids[2];

    memcpy(ids, at, sizeof(ids));
    at += sizeof(ids);
    if (!sample_run_has(run, ids[0]))
        return 0; /* another program's, which it started */
    sample.tid = ids[1];
    if (run->options->kernel && !(at = take_kernel(at, end, &sample)))
        return 0;
    size = (size_t)(end - at);
    if (size < sizeof(abi))
        return 0;
    memcpy(&abi, at, sizeof(abi));
    if (abi != PERF_SAMPLE_REGS_ABI_64 || size < fixed + 8) {
        run->report->lost++; /* it is about to end, or runs 32-bit code */
        return 0;
    }
    memcpy(words, at + 8, sizeof(words));
    take_registers(words, &sample.registers);
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

/* pid, its parent's, tid, its parent's. */
static void
take_fork(const struct perf *perf, const uint8_t *at)
{
    int32_t ids[4];

    memcpy(ids, at, sizeof(ids));
    if (sample_run_has(perf->run, ids[0]))
        sample_run_see(perf->run, ids[2]);
}

static int
take_record(struct perf *perf, const struct perf_event_header *header,
            const uint8_t *body, struct error *err)
{
    size_t size = header->size - sizeof(*header);
    uint64_t lost;

    if (perf->opening) {
        perf->blind = perf->blind || header->type == PERF_RECORD_LOST;
        if (header->type == PERF_RECORD_FORK && size >= 16)
            take_fork(perf, body);
        return 0;
    }
    if (header->type == PERF_RECORD_SAMPLE && size >= 24)
        return take_sample(perf, body, size, err);
    if (header->type == PERF_RECORD_LOST && size >= 16) {
        memcpy(&lost, body + 8, sizeof(lost));
        perf->run->report->lost += lost;
    }
    return 0;
}

/* All that a ring has. */
static int
drain_ring(struct perf *perf, struct ring *ring, struct error *err)
{
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->page->data_tail;
    int rc = 0;

    while (rc == 0 && tail != head) {
        struct perf_event_header header;
        size_t at = (size_t)(tail & (ring->size - 1)), first;
        const uint8_t *record = ring->data + at;

        memcpy(&header, record, sizeof(header)); /* 8 bytes, aligned */
        if (header.size < sizeof(header) || header.size > head - tail)
            break;
        first = ring->size - at;
        if (header.size > first) {
            memcpy(perf->record, record, first);
            memcpy(perf->record + first, ring->data, header.size - first);
            record = perf->record;
        }
        rc = take_record(perf, &header, record + sizeof(header), err);
        tail += header.size;
    }
    __atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
    return rc;
}

static int
drain(struct perf *perf, struct error *err)
{
    int rc = 0;

    for (size_t i = 0; i < perf->ring_count && rc == 0; i++)
        rc = drain_ring(perf, &perf->rings[i], err);
    return rc;
}

/* ---- all threads ---- */

/* All events of one more thread.  An errno. */
static int
open_thread(struct perf *perf, int32_t tid)
{
    for (size_t k = 0; k < perf->ring_count; k++) {
        const struct ring *ring = &perf->rings[k];
        int fd = open_event(perf, tid, ring->cpu);

        if (fd < 0 && errno == ESRCH)
            return 0; /* it has ended */
        if (fd < 0)
            return errno;
        perf->fds[perf->fd_count++] = fd;
        if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) != 0)
            return errno;
    }
    return 0;
}

/* The events of the other threads.  An errno; -1 with *err. */
static int
open_threads(struct perf *perf, struct error *err)
{
    int error = 0;

    sample_run_see(perf->run, perf->tids.list[perf->first]);
    for (size_t i = perf->first + 1; i < perf->tids.count && error == 0; i++) {
        sample_run_see(perf->run, perf->tids.list[i]);
        error = open_thread(perf, perf->tids.list[i]);
        if (error == 0 && i % OPENED_BEFORE_DRAIN == 0)
            error = drain(perf, err);
    }
    return error;
}

/* Those that are not seen yet, and have run: then what the kernel writes of a
 * birth has been written. */
static int
list_newborn(const struct perf *perf, struct sample_tids *tids,
             struct error *err)
{
    int32_t pid = perf->run->task_pid;
    struct sample_times times;
    size_t kept = 0;

    if (sample_run_tids(perf->run, tids, err) != 0)
        return -1;
    for (size_t i = 0; i < tids->count; i++)
        if (!sample_run_has_seen(perf->run, tids->list[i]) &&
            sample_task_times(pid, tids->list[i], &times) && times.slices > 0)
            tids->list[kept++] = tids->list[i];
    tids->count = kept;
    return 0;
}

/* Of those whose inheritance no record told: *opened, how many.  An errno; -1
 * with *err. */
static int
open_round(struct perf *perf, size_t *opened, struct error *err)
{
    struct sample_tids tids = {0};
    int error = list_newborn(perf, &tids, err);

    if (error == 0)
        error = drain(perf, err);
    for (size_t i = 0; i < tids.count && error == 0 && !perf->blind; i++) {
        if (sample_run_has_seen(perf->run, tids.list[i]))
            continue;
        if (perf->fd_count + perf->ring_count > perf->fd_room) {
            perf->run->report->unseen++;
            continue;
        }
        sample_run_see(perf->run, tids.list[i]);
        error = open_thread(perf, tids.list[i]);
        ++*opened;
    }
    sample_tids_free(&tids);
    return error;
}

/* An errno; -1 with *err. */
static int
open_newborn(struct perf *perf, struct error *err)
{
    size_t opened = 1;
    int error = 0;

    for (int i = 0; i < NEWBORN_ROUNDS && opened > 0 && error == 0; i++) {
        opened = 0;
        error = open_round(perf, &opened, err);
    }
    return error;
}

/* The rest of heapwired's descriptors is for connections: the limit was raised
 * at its start as far as it may be. */
static bool
has_room(size_t fds)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
           fds <= limit.rlim_cur / FDS_SHARE;
}

/* 1: why says why not; -1 with *err. */
static int
open_all(struct perf *perf, char *why, struct error *err)
{
    int32_t pid = perf->run->options->pid;
    int cpus = (int)sysconf(_SC_NPROCESSORS_CONF), error;
    size_t fds;

    if (sample_run_tids(perf->run, &perf->tids, err) != 0)
        return -1;
    if (perf->tids.count == 0)
        return 0;
    perf->run->report->unseen = (uint32_t)perf->tids.left_out;
    fds = perf->tids.count * (size_t)cpus;
    perf->fd_room = fds + NEWBORN_MAX * (size_t)cpus;
    perf->rings = mem_zalloc((size_t)cpus, sizeof(*perf->rings));
    perf->fds = mem_zalloc(perf->fd_room, sizeof(*perf->fds));
    perf->record = mem_alloc_unset(RECORD_MAX);
    if (!perf->rings || !perf->fds || !perf->record) {
        error_memory(err, "the events of threads");
        return -1;
    }
    set_attr(perf);
    if (!has_room(fds)) {
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

/* What was sampled while events were opened: of some threads only. */
static void
forget_until_now(struct perf *perf)
{
    for (size_t i = 0; i < perf->ring_count; i++) {
        struct perf_event_mmap_page *page = perf->rings[i].page;

        __atomic_store_n(&page->data_tail,
                         __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE),
                         __ATOMIC_RELEASE);
    }
}

/* What would be better. */
static void
say_limits(struct perf *perf)
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
                 "%s%llu of %llu ms on a processor were sampled: %sof each "
                 "thread the rest of a tick is missing on each processor, so "
                 "all of those shorter than a tick, which are in no share",
                 out[0] ? "; " : "", (unsigned long long)seen_ms,
                 (unsigned long long)used_ms,
                 report->kernel ? "" : "besides the kernel's time, ");
    if (perf->attr.sample_stack_user < SAMPLER_STACK_BYTES)
        snprintf(out + strlen(out), size - strlen(out),
                 "%sof stacks %u bytes are read: kernel.perf_event_mlock_kb, "
                 "or CAP_IPC_LOCK",
                 out[0] ? "; " : "", perf->attr.sample_stack_user);
}

static int
sample_until_over(struct perf *perf, struct error *err)
{
    struct sample_run *run = perf->run;
    uint64_t step_ms = DRAIN_SAMPLES * 1000 / run->hz;
    bool over = false;
    int rc = 0;

    if (step_ms > DRAIN_MAX_MS)
        step_ms = DRAIN_MAX_MS;
    forget_until_now(perf);
    perf->opening = false;
    run->report->threads_first = run->report->threads;
    sample_run_begin(run);
    while (rc == 0 && !over) {
        rc = sample_run_rest(run, sample_now_ns() + step_ms * 1000000, &over,
                             err);
        if (rc == 0)
            rc = drain(perf, err);
    }
    run->report->hz = run->hz;
    run->report->kernel = !perf->attr.exclude_kernel;
    say_limits(perf);
    return rc;
}

int
sample_by_perf(struct sample_run *run, char *why, struct error *err)
{
    struct perf perf = {.run = run,
                        .opening = true,
                        .page_bytes = (size_t)sysconf(_SC_PAGESIZE)};
    int rc;

    rc = open_all(&perf, why, err);
    if (rc == 0)
        rc = sample_until_over(&perf, err);
    close_events(&perf);
    sample_tids_free(&perf.tids);
    mem_free(perf.rings);
    mem_free(perf.fds);
    mem_free(perf.record);
    return rc;
}
