/* http_metrics.c - see http_metrics.h. */
#include "http_metrics.h"

#include <inttypes.h>
#include <string.h>

#include "buffer.h"
#include "cursor.h"

enum metric_kind { GAUGE, COUNTER, INFO };

/* Without a database the table is an error, which would hide all the rest. */
#define MEMORY(column)                                                         \
    "CASE WHEN p.state <> 'absent' THEN (SELECT " column                       \
    " FROM heapwire.memory) END"

/* The statement's tables: p profiler, s snapshots, d deaths. */
static const struct {
    const char *name;
    enum metric_kind kind;
    const char *expression;
    const char *help;
    const char *label; /* of INFO: the name of its value */
} metrics[] = {
    {"heapwire_database_up", GAUGE, "p.state = 'connected'",
     "1: the database is connected and answers"},
    {"heapwire_database_state_info", INFO, "p.state",
     "connected, unresponsive, gone or absent", "state"},
    {"heapwire_database_start_time_seconds", GAUGE, "unix_timestamp(p.started)",
     "When the database started"},
    {"heapwire_allocator_allocated_bytes", GAUGE, MEMORY("allocated"),
     "Bytes that the program has in use"},
    {"heapwire_allocator_active_bytes", GAUGE, MEMORY("active"),
     "Bytes of the pages that hold them"},
    {"heapwire_allocator_metadata_bytes", GAUGE, MEMORY("metadata"),
     "Bytes of jemalloc's bookkeeping"},
    {"heapwire_allocator_resident_bytes", GAUGE, MEMORY("resident"),
     "Bytes in memory by jemalloc's count"},
    {"heapwire_allocator_mapped_bytes", GAUGE, MEMORY("mapped"),
     "Bytes of address space in use"},
    {"heapwire_allocator_retained_bytes", GAUGE, MEMORY("retained"),
     "Bytes of address space that jemalloc keeps without memory"},
    {"heapwire_allocator_info", INFO, "p.jemalloc_version",
     "The database's jemalloc", "version"},
    {"heapwire_process_resident_bytes", GAUGE, MEMORY("rss"),
     "Bytes of the database in memory by the kernel's count"},
    {"heapwire_process_resident_file_bytes", GAUGE, MEMORY("rss_file"),
     "The part of them that is mapped files and shared memory"},
    {"heapwire_process_resident_shared_bytes", GAUGE, MEMORY("rss_shared"),
     "The part of these that is shared memory without a file"},
    {"heapwire_memory_unexplained_bytes", GAUGE, MEMORY("unexplained"),
     "RSS beyond jemalloc's resident bytes"},
    {"heapwire_cgroup_memory_bytes", GAUGE, MEMORY("cgroup_current"),
     "Bytes that the database's cgroup uses with page cache"},
    {"heapwire_cgroup_memory_limit_bytes", GAUGE, MEMORY("cgroup_limit"),
     "The smallest limit of the cgroup and those around it"},
    {"heapwire_profiler_available", GAUGE, "p.reason = ''",
     "1: profiling can be switched on"},
    {"heapwire_profiler_active", GAUGE, "p.active",
     "1: allocations are sampled"},
    {"heapwire_profiler_sample_rate_bytes", GAUGE, "p.sample_rate",
     "Mean bytes between two samples"},
    {"heapwire_profiler_cpu_ratio", GAUGE, "p.overhead / 100",
     "Estimated cost of profiling as a share of one CPU"},
    {"heapwire_profiler_cpu_budget_ratio", GAUGE, "p.budget / 100",
     "Cost above which profiling switches itself off"},
    {"heapwire_profiler_changes", COUNTER, "p.changes",
     "How often profiling was switched"},
    {"heapwire_profiler_resets", COUNTER, "p.resets",
     "How often all samples were forgotten"},
    {"heapwire_profiler_guarded_timestamp_seconds", GAUGE,
     "unix_timestamp(p.guarded)", "When profiling last switched itself off"},
    {"heapwire_snapshots", GAUGE, "s.kept", "Snapshots that the node keeps"},
    {"heapwire_snapshots_pinned", GAUGE, "s.pinned",
     "Those that eviction spares"},
    {"heapwire_snapshots_size_bytes", GAUGE, "s.bytes", "Their bytes"},
    {"heapwire_snapshots_last_timestamp_seconds", GAUGE,
     "unix_timestamp(s.last)", "When the newest was taken"},
    {"heapwire_deaths", GAUGE, "d.known", "Recorded ends of the database"},
    {"heapwire_deaths_last_timestamp_seconds", GAUGE, "unix_timestamp(d.last)",
     "When the newest was"},
    {"heapwire_build_info", INFO, "'" HW_VERSION "'",
     "The version of heapwired", "version"},
};

enum { METRICS = sizeof(metrics) / sizeof(metrics[0]) };

void
http_metrics_statement(struct buffer *out)
{
    for (size_t i = 0; i < METRICS; i++)
        buffer_format(out, "%s%s", i ? ", " : "SELECT ", metrics[i].expression);
    buffer_text(out, " FROM heapwire.profiler p"
                     " JOIN (SELECT count(*) AS kept, sum(pinned) AS pinned,"
                     " sum(size) AS bytes, max(taken) AS last"
                     " FROM heapwire.snapshots) s"
                     " JOIN (SELECT count(*) AS known, max(at) AS last"
                     " FROM heapwire.deaths) d");
}

static void
add_label(struct buffer *out, const struct value *v)
{
    for (size_t i = 0; i < v->size; i++) {
        if (v->data[i] == '\n')
            buffer_text(out, "\\n");
        else if (v->data[i] == '"' || v->data[i] == '\\')
            buffer_format(out, "\\%c", v->data[i]);
        else
            buffer_char(out, v->data[i]);
    }
}

/* Decimals come as texts. */
static void
add_number(struct buffer *out, const struct value *v)
{
    if (v->type == VALUE_INT)
        buffer_format(out, " %" PRId64 "\n", v->integer);
    else if (v->type == VALUE_DOUBLE)
        buffer_format(out, " %.17g\n", v->real);
    else
        buffer_format(out, " %.*s\n", (int)v->size, v->data);
}

static void
add_metric(size_t i, const struct value *v, bool open, struct buffer *out)
{
    static const char *const kinds[] = {"gauge", "counter", "gauge"};
    const char *name = metrics[i].name;
    enum metric_kind kind = metrics[i].kind;
    const char *total = kind == COUNTER ? "_total" : "";
    bool is_text = v->type == VALUE_TEXT || v->type == VALUE_BLOB;

    if (v->type == VALUE_NULL || (kind == INFO && !is_text))
        return;
    /* OpenMetrics describes the family, the older text each series. */
    buffer_format(out, "# HELP %s%s %s\n# TYPE %s%s %s\n%s%s", name,
                  open ? "" : total, metrics[i].help, name, open ? "" : total,
                  kinds[kind], name, total);
    if (kind == INFO) {
        buffer_format(out, "{%s=\"", metrics[i].label);
        add_label(out, v);
        buffer_text(out, "\"} 1\n");
    } else {
        add_number(out, v);
    }
}

void
http_metrics_write(const struct value *row, size_t count, bool open,
                   struct buffer *out)
{
    for (size_t i = 0; i < METRICS && i < count; i++)
        add_metric(i, &row[i], open, out);
    if (open)
        buffer_text(out, "# EOF\n");
}
