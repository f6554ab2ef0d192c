/*
 * statistics.c - jemalloc's statistics as text; see jemalloc.h.
 *
 * malloc_stats_print would write them in a format for people, which differs
 * between versions; here each figure of a table is read by its mallctl name,
 * and those that a version lacks are left out.  Only `epoch` is expensive
 * (mallctl_refresh), so it runs at most once a second, and once before a dump,
 * which costs more.  It never runs concurrently with a dump: both are this
 * thread's work.
 */
#include "jemalloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "agent_tools.h"

enum {
    BINS_MAX = 256,     /* jemalloc has 36 to 232 */
    ARENAS_MAX = 1024,  /* listed at most */
    ARENAS_SEEN = 4096, /* MALLCTL_ARENAS_ALL, so no arena's number */
    LINE_MAX_BYTES = 256,
    OUT_BYTES = 8192
};

/* As jemalloc declares them. */
enum figure_type { SIZE, SSIZE, U64, U32, BOOL, WORD };

struct figure {
    const char *name; /* of a bin or an arena: the part after its number */
    enum figure_type type;
};

static const struct figure process_figures[] = {
    {"config.stats", BOOL},
    {"config.prof", BOOL},
    {"arenas.narenas", U32},
    {"arenas.nbins", U32},
    {"arenas.page", SIZE},
    {"arenas.dirty_decay_ms", SSIZE},
    {"arenas.muzzy_decay_ms", SSIZE},
    {"stats.allocated", SIZE},
    {"stats.active", SIZE},
    {"stats.metadata", SIZE},
    {"stats.metadata_thp", SIZE},
    {"stats.resident", SIZE},
    {"stats.mapped", SIZE},
    {"stats.retained", SIZE},
    {"stats.zero_reallocs", SIZE},
    {"stats.background_thread.num_threads", SIZE},
    {"stats.background_thread.num_runs", U64},
    {"stats.background_thread.run_interval", U64},
    {"opt.narenas", U32},
    {"opt.percpu_arena", WORD},
    {"opt.background_thread", BOOL},
    {"background_thread", BOOL},
    {"opt.dirty_decay_ms", SSIZE},
    {"opt.muzzy_decay_ms", SSIZE},
    {"opt.thp", WORD},
    {"opt.metadata_thp", WORD},
    {"opt.retain", BOOL},
    {"config.cache_oblivious", BOOL},
    {"opt.cache_oblivious", BOOL},
    {"opt.tcache", BOOL},
    {"opt.lg_tcache_max", SIZE},
    {"opt.tcache_max", SIZE},
    {"opt.oversize_threshold", SIZE},
    {"opt.prof", BOOL},
    {"opt.prof_active", BOOL},
    {"opt.prof_thread_active_init", BOOL},
    {"opt.lg_prof_sample", SIZE},
    {"opt.lg_prof_interval", SSIZE},
    {"opt.prof_accum", BOOL},
    {"opt.prof_gdump", BOOL},
    {"opt.prof_final", BOOL},
    {"opt.prof_leak", BOOL},
    {"opt.prof_leak_error", BOOL},
    {"opt.prof_sys_thread_name", BOOL},
    {"opt.prof_bt_max", U32},
    {"opt.abort", BOOL},
    {"prof.active", BOOL},
    {"prof.thread_active_init", BOOL},
    {"prof.lg_sample", SIZE},
    {"prof.interval", U64},
};

static const struct figure sizes_of_bin[] = {
    {"size", SIZE},
    {"nregs", U32},
    {"slab_size", SIZE},
};

/* The figures of all arenas together. */
#define BINS   "stats.arenas.4096.bins"
#define LARGES "stats.arenas.4096.lextents"

static const struct figure of_bin[] = {
    {"nmalloc", U64},  {"ndalloc", U64},   {"nrequests", U64},
    {"curregs", SIZE}, {"curslabs", SIZE}, {"nonfull_slabs", SIZE},
};

static const struct figure of_arena[] = {
    {"nthreads", U32},  {"small.allocated", SIZE}, {"large.allocated", SIZE},
    {"pactive", SIZE},  {"pdirty", SIZE},          {"pmuzzy", SIZE},
    {"mapped", SIZE},   {"retained", SIZE},        {"base", SIZE},
    {"internal", SIZE}, {"resident", SIZE},        {"tcache_bytes", SIZE},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct writer {
    mallctl_fn *mallctl;
    int fd, error; /* sticky */
    size_t used;
    char bytes[OUT_BYTES];
};

static void
flush_statistics(struct writer *w)
{
    if (w->error == 0)
        w->error = agent_write_all(w->fd, w->bytes, w->used);
    w->used = 0;
}

static void write_statistics_line(struct writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
write_statistics_line(struct writer *w, const char *format, ...)
{
    va_list args;
    int n;

    if (sizeof(w->bytes) - w->used < LINE_MAX_BYTES)
        flush_statistics(w);
    va_start(args, format);
    n = vsnprintf(w->bytes + w->used, LINE_MAX_BYTES, format, args);
    va_end(args);
    if (n > 0 && n < LINE_MAX_BYTES) /* a line that was cut is left out */
        w->used += (size_t)n;
}

static void
write_mallctl_figure(struct writer *w, const char *name, enum figure_type type)
{
    static const size_t sizes[] = {sizeof(size_t),   sizeof(ssize_t),
                                   sizeof(uint64_t), sizeof(unsigned),
                                   sizeof(bool),     sizeof(const char *)};
    union {
        size_t size;
        ssize_t ssize;
        uint64_t u64;
        unsigned u32;
        bool truth;
        const char *word;
    } value = {.u64 = 0};

    if (mallctl_read(w->mallctl, name, &value, sizes[type]) != 0)
        return;
    switch (type) {
    case SIZE:
        write_statistics_line(w, "%s %zu\n", name, value.size);
        break;
    case SSIZE:
        write_statistics_line(w, "%s %zd\n", name, value.ssize);
        break;
    case U64:
        write_statistics_line(w, "%s %llu\n", name,
                              (unsigned long long)value.u64);
        break;
    case U32:
        write_statistics_line(w, "%s %u\n", name, value.u32);
        break;
    case BOOL:
        write_statistics_line(w, "%s %d\n", name, value.truth);
        break;
    case WORD:
        if (value.word)
            write_statistics_line(w, "%s %s\n", name, value.word);
        break;
    }
}

static void
write_numbered_figures(struct writer *w, const char *kind, unsigned number,
                       const struct figure *figures, size_t count)
{
    char name[AGENT_NAME_MAX];

    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "%s.%u.%s", kind, number, figures[i].name);
        write_mallctl_figure(w, name, figures[i].type);
    }
}

static unsigned
read_mallctl_count(struct writer *w, const char *name)
{
    unsigned count = 0;

    if (mallctl_read(w->mallctl, name, &count, sizeof(count)) != 0)
        return 0;
    return count;
}

static uint64_t
value_of(struct writer *w, const char *name, size_t size)
{
    uint64_t value = 0; /* little-endian or of 8 bytes */

    return mallctl_read(w->mallctl, name, &value, size) == 0 ? value : 0;
}

/* The sum of "<sizes>.<i>.size" times "<counts>.<i>.nrequests" over all i. */
static uint64_t
bytes_requested(struct writer *w, const char *number, const char *sizes,
                const char *counts)
{
    unsigned count = read_mallctl_count(w, number);
    char name[AGENT_NAME_MAX];
    uint64_t bytes = 0, size;

    for (unsigned i = 0; i < count && i < BINS_MAX; i++) {
        snprintf(name, sizeof(name), "%s.%u.size", sizes, i);
        size = value_of(w, name, sizeof(size_t));
        snprintf(name, sizeof(name), "%s.%u.nrequests", counts, i);
        bytes += size * value_of(w, name, sizeof(uint64_t));
    }
    return bytes;
}

/* The bytes ever allocated, which jemalloc itself does not report: their growth
 * tells how many samples are taken, one in 2^lg_sample bytes.  A lower bound:
 * blocks served by a thread's cache count only when it is filled or flushed. */
static void
allocated_ever(struct writer *w)
{
    unsigned long long bytes =
        bytes_requested(w, "arenas.nbins", "arenas.bin", BINS);

    bytes += bytes_requested(w, "arenas.nlextents", "arenas.lextent", LARGES);
    write_statistics_line(w, "heapwire.allocated_ever %llu\n", bytes);
}

/* The value of "prof.stats.<kind>.<i>.accum". */
struct sampled {
    uint64_t bytes, count;
};

/* Adds the samples of one kind ever taken; false: this jemalloc does not
 * count. */
static bool
samples_of(struct writer *w, const char *number, const char *kind,
           unsigned long long *samples)
{
    unsigned count = read_mallctl_count(w, number);
    char name[AGENT_NAME_MAX];
    struct sampled one_size;

    for (unsigned i = 0; i < count && i < BINS_MAX; i++) {
        snprintf(name, sizeof(name), "prof.stats.%s.%u.accum", kind, i);
        if (mallctl_read(w->mallctl, name, &one_size, sizeof(one_size)) != 0)
            return false;
        *samples += one_size.count;
    }
    return true;
}

/* The exact number of samples, where jemalloc (5.3 on, opt.prof_stats)
 * counts. */
static void
sampled_ever(struct writer *w)
{
    unsigned long long samples = 0;

    if (samples_of(w, "arenas.nbins", "bins", &samples) &&
        samples_of(w, "arenas.nlextents", "lextents", &samples))
        write_statistics_line(w, "heapwire.sampled_ever %llu\n", samples);
}

/* Stacks that the library's unwinder took, if others are walked by tables. */
static void
by_library(struct writer *w)
{
    uint64_t count;

    if (backtrace_count_by_library(&count))
        write_statistics_line(w, "heapwire.by_library %llu\n",
                              (unsigned long long)count);
}

/* The size classes above the bins', but only those in use. */
static void
write_large_statistics(struct writer *w)
{
    unsigned count = read_mallctl_count(w, "arenas.nlextents");
    char name[AGENT_NAME_MAX];

    for (unsigned i = 0; i < count && i < BINS_MAX; i++) {
        snprintf(name, sizeof(name), LARGES ".%u.curlextents", i);
        if (value_of(w, name, sizeof(size_t)) == 0)
            continue;
        write_mallctl_figure(w, name, SIZE);
        snprintf(name, sizeof(name), "arenas.lextent.%u.size", i);
        write_mallctl_figure(w, name, SIZE);
    }
}

/* Skips arenas that no thread has used yet. */
static bool
is_arena_initialised(struct writer *w, unsigned arena)
{
    char name[AGENT_NAME_MAX];
    bool value = false;

    snprintf(name, sizeof(name), "arena.%u.initialized", arena);
    return mallctl_read(w->mallctl, name, &value, sizeof(value)) == 0 && value;
}

static void
write_arena_statistics(struct writer *w)
{
    unsigned count = read_mallctl_count(w, "arenas.narenas"), listed = 0,
             left_out = 0;

    for (unsigned i = 0; i < count && i < ARENAS_SEEN; i++) {
        if (!is_arena_initialised(w, i))
            continue;
        if (listed == ARENAS_MAX) {
            left_out++;
            continue;
        }
        write_numbered_figures(w, "stats.arenas", i, of_arena, COUNT(of_arena));
        listed++;
    }
    if (left_out > 0)
        write_statistics_line(w, "heapwire.arenas_left_out %u\n", left_out);
}

/* "<size> <resident> <of files> ...", in pages. */
static void
read_rss_pages(struct jemalloc *jemalloc)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned long long resident, shared;
    char text[128];

    jemalloc->rss = jemalloc->rss_file = 0;
    if (agent_read_small("/proc/self/statm", text, sizeof(text)) < 0 ||
        sscanf(text, "%*s %llu %llu", &resident, &shared) != 2)
        return;
    jemalloc->rss = resident * page;
    jemalloc->rss_file = shared * page;
}

/* Reads the kernel's figures together with jemalloc's, for comparison.  The
 * program may have refreshed jemalloc's since. */
static void
write_kernel_figures(struct writer *w, const struct jemalloc *jemalloc)
{
    uint64_t epoch = 0;

    write_statistics_line(
        w, "heapwire.epoch_age_ms %lld\n",
        (long long)(agent_monotonic_ms() - jemalloc->epoch.at_ms));
    if (jemalloc->rss == 0 ||
        mallctl_read(w->mallctl, "epoch", &epoch, sizeof(epoch)) != 0 ||
        epoch != jemalloc->epoch.number)
        return;
    write_statistics_line(w, "heapwire.rss %llu\n",
                          (unsigned long long)jemalloc->rss);
    write_statistics_line(w, "heapwire.rss_file %llu\n",
                          (unsigned long long)jemalloc->rss_file);
}

int
statistics_refresh(struct jemalloc *jemalloc)
{
    int64_t before_ms = jemalloc->epoch.at_ms;
    int error = mallctl_refresh(jemalloc->mallctl, &jemalloc->epoch);

    if (error == 0 && jemalloc->epoch.at_ms != before_ms)
        read_rss_pages(jemalloc);
    return error;
}

int
statistics_write(struct jemalloc *jemalloc, int fd)
{
    struct writer w;
    unsigned bins;
    int error = jemalloc->of_dump ? 0 : statistics_refresh(jemalloc);

    jemalloc->of_dump = false;
    if (error != 0)
        return error;
    w.mallctl = jemalloc->mallctl;
    w.fd = fd;
    w.error = 0;
    w.used = 0;
    write_kernel_figures(&w, jemalloc);
    for (size_t i = 0; i < COUNT(process_figures); i++)
        write_mallctl_figure(&w, process_figures[i].name,
                             process_figures[i].type);
    allocated_ever(&w);
    sampled_ever(&w);
    by_library(&w);
    bins = read_mallctl_count(&w, "arenas.nbins");
    for (unsigned i = 0; i < bins && i < BINS_MAX; i++) {
        write_numbered_figures(&w, "arenas.bin", i, sizes_of_bin,
                               COUNT(sizes_of_bin));
        write_numbered_figures(&w, BINS, i, of_bin, COUNT(of_bin));
    }
    write_large_statistics(&w);
    write_arena_statistics(&w);
    flush_statistics(&w);
    return w.error;
}
