/*
 * tables_memory.c - heapwire.memory: the database's memory in one row, every
 * count beside the next larger one, and in words what lies between them; and
 * memory_history, its past.
 *
 * Allocator, kernel, cgroup and profile count different things at different
 * moments, and most questions are about the gaps: fragmentation, pages kept,
 * stacks, page cache.  Each explain_ function looks at one gap and adds a
 * sentence to the note, if both figures are known and of one moment.  A figure
 * that is not known is NULL and the note says why; the row itself never fails.
 */
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "catalog_tables.h"
#include "clock.h"
#include "collate.h"
#include "errors.h"
#include "free_pages.h"
#include "history.h"
#include "lever_job.h"
#include "memory.h"
#include "node_status.h"
#include "outlook.h"
#include "profile.h"
#include "reconciliation.h"
#include "snapshot.h"
#include "sql.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "stats.h"
#include "stats_allocators.h"

/* The columns of memory_history, without node_id; from RSS on they are the
 * figures of give_figure(). */
enum { AT, SECONDS, PID, STARTED, PROFILING, RESPONSIVE, RSS };

enum { FIGURES = 10 };

static void
give_int(struct value *out, int64_t value)
{
    out->type = VALUE_INT;
    out->integer = value;
}

static void
set_history_time(struct value *out, int64_t wall_ms, char text[ROWSET_TEXT])
{
    if (wall_ms <= 0)
        return;
    clock_text(wall_ms, text, ROWSET_TEXT);
    out->type = VALUE_TEXT;
    out->data = text;
    out->size = strlen(text);
}

static void
give_figure(struct value *out, const struct history_sample *s, size_t i)
{
    const struct stats_figure *const figures[FIGURES] = {
        &s->rss,       &s->cgroup_current, &s->cgroup_cache, &s->cgroup_limit,
        &s->allocated, &s->active,         &s->metadata,     &s->resident,
        &s->mapped,    &s->retained};

    if (figures[i]->known && figures[i]->value <= INT64_MAX)
        give_int(out, (int64_t)figures[i]->value);
}

static void
memory_history_cell(const void *taken, size_t row, size_t column,
                    struct value *out, char text[ROWSET_TEXT])
{
    const struct history_sample *sample =
        (const struct history_sample *)taken + row;

    switch (column) {
    case AT:
        set_history_time(out, sample->at_ms, text);
        break;
    case SECONDS:
        give_int(out, sample->seconds);
        break;
    case PID:
        give_int(out, sample->pid);
        break;
    case STARTED:
        set_history_time(out, sample->started_ms, text);
        break;
    case PROFILING:
        give_int(out, sample->profiling);
        break;
    case RESPONSIVE:
        give_int(out, !sample->unresponsive);
        break;
    default:
        give_figure(out, sample, column - RSS);
    }
}

/* Takes a copy of the samples and makes cells from it when they are read: all
 * cells at once would take four times the memory, for some 20,000 rows. */
static void
produce_memory_history(const struct catalog_scope *scope, struct rowset *out)
{
    struct history *history = scope->session->node->history;
    struct history_sample *samples =
        history ? mem_alloc(HISTORY_SAMPLES * sizeof(*samples)) : NULL;
    uint64_t next = 0;

    if (samples)
        rowset_take(out, samples,
                    history_read(history, &next, samples, HISTORY_SAMPLES),
                    memory_history_cell);
    else if (history)
        out->failed = true;
}

static const struct catalog_column memory_history[] = {
    CATALOG_NODE_ID,
    {"at", &type_time, "UTC; only times when a database was there"},
    {"seconds", &type_ubigint_nn,
     "How many the row stands for: 1, of the last two hours; 60, of a week; "
     "3600, of twelve weeks: of these it is the one with the highest rss, of "
     "those with the allocator's figures if there are any"},
    {"pid", &type_ubigint_nn, "The process id of the database then"},
    {"started", &type_time, "When that database came up, UTC"},
    {"profiling", &type_boolean_nn, "Whether it was on"},
    {"responsive", &type_boolean_nn,
     "Whether the agent in it answered; its own threads may wait all the "
     "same"},
    {"rss", &type_bigint, "Bytes in memory, by the kernel's count"},
    {"cgroup_current", &type_bigint,
     "Bytes that the cgroup uses, page cache included"},
    {"cgroup_cache", &type_bigint,
     "Bytes of cgroup_current that are file pages, which the kernel takes back "
     "first"},
    {"cgroup_limit", &type_bigint,
     "The smallest limit of the cgroup and those around it; NULL: none"},
    {"allocated", &type_bigint,
     "Bytes the program has in use; jemalloc's figures: each ten seconds, and "
     "of up to three seconds before"},
    {"active", &type_bigint, "Bytes of pages that hold them"},
    {"metadata", &type_bigint, "Bytes of jemalloc's bookkeeping"},
    {"resident", &type_bigint, "Bytes in memory, by jemalloc's count"},
    {"mapped", &type_bigint, "Bytes of address space in use"},
    {"retained", &type_bigint, "Bytes of address space kept, without memory"},
};

enum {
    NOTE_MAX = 4096,  /* bytes; room for every possible sentence */
    NOTE_SHOWN = 1024 /* characters, which the column has */
};

/* 2 to the 63rd: an estimate may be larger than an integer holds. */
#define MOST_BYTES 9223372036854775808.0

static void
add_memory_figure(struct rowset *out, struct stats_figure figure)
{
    rowset_int_if(out, figure.known, (int64_t)figure.value);
}

/* Computes a - b, which may be negative; false: one is not known. */
static bool
subtract_figures(struct stats_figure a, struct stats_figure b, int64_t *out)
{
    *out = (int64_t)(a.value - b.value);
    return a.known && b.known;
}

/* Adds a sentence to the note, with a number of bytes inside. */
static void
append_note_bytes(struct buffer *note, const char *before, double bytes,
                  const char *after)
{
    if (note->size > 0)
        buffer_text(note, "; ");
    buffer_text(note, before);
    buffer_format(note, "%.1f MB", bytes / (1 << 20));
    buffer_text(note, after);
}

static const char *
find_allocator_option(const struct stats *stats, const char *name)
{
    for (size_t i = 0; i < stats->named_count; i++)
        if (strcmp(stats->named[i].name, name) == 0)
            return stats->named[i].text;
    return NULL;
}

static void
explain_allocator(const struct stats *stats, struct buffer *note)
{
    char at[CLOCK_TEXT];
    int64_t gap;

    /* The agent does not answer now, but did before. */
    if (stats->failure && stats->allocator_ms > 0) {
        clock_text(stats->allocator_ms, at, sizeof(at));
        buffer_sentence(note, "the allocator's figures are of ");
        buffer_format(note, "%s UTC: %s", at, stats->failure);
        return;
    }
    if (stats->failure) {
        buffer_sentence(note, "the allocator's figures are not known: ");
        buffer_text(note, stats->failure);
        return;
    }
    if (stats->unusable) {
        buffer_sentence(note, stats->unusable);
        return;
    }
    if (stats->named_count == 0) {
        buffer_sentence(note,
                        "the database does not allocate through jemalloc: only "
                        "the kernel's figures are known");
        return;
    }
    if (!stats->allocated.known) {
        buffer_sentence(note, "this jemalloc was built without statistics");
        return;
    }
    if (subtract_figures(stats->active, stats->allocated, &gap) && gap > 0)
        append_note_bytes(note, "active exceeds allocated by ", (double)gap,
                          ": free parts of pages in use (fragmentation)");
    if (subtract_figures(stats->resident, stats->active, &gap) &&
        stats->metadata.known && gap > (int64_t)stats->metadata.value)
        append_note_bytes(note, "resident exceeds active and metadata by ",
                          (double)gap - (double)stats->metadata.value,
                          ": free pages not given back to the kernel yet");
}

/* Explains why free memory does not leave rss. */
static void
explain_free(const struct stats *stats, struct buffer *note)
{
    struct buffer text;

    buffer_init(&text, NOTE_MAX);
    free_pages_write(stats, &text);
    if (text.size > 0)
        buffer_sentence(note, text.data);
    buffer_fini(&text);
}

/* Computes rss without what all jemallocs of the database count as resident.
 * False: one of them is not known, or they were not taken together. */
static bool
subtract_all_jemallocs(const struct stats *stats, int64_t *out)
{
    if (!subtract_figures(stats->rss, stats->resident, out))
        return false;
    *out -= (int64_t)elsewhere_resident(stats).value;
    return stats_together(stats->allocator_ms, stats->taken_ms);
}

/* Names what somebody has changed for a time, which may be the reason for the
 * rest. */
static void
explain_levers(const struct catalog_scope *scope, struct buffer *note)
{
    struct node_status status;

    controller_status(scope->session->node->controller, &status);
    for (int i = 0; i < NODE_LEVERS; i++) {
        if (!status.levers[i].in_force || (status.state != NODE_CONNECTED &&
                                           status.state != NODE_UNRESPONSIVE))
            continue;
        buffer_sentence(note, "in force (heapwire.levers): ");
        lever_write_in_force((enum node_lever)i, &status.levers[i], note);
    }
}

/* Explains what lies in the jemallocs beside the profiled one. */
static void
explain_elsewhere(const struct stats *stats, struct buffer *note)
{
    struct buffer text;

    buffer_init(&text, ELSEWHERE_TEXT_MAX);
    elsewhere_write(stats, &text);
    if (text.size > 0)
        buffer_sentence(note, text.data);
    buffer_fini(&text);
}

/* Explains the gap between rss and resident.  The kernel counts huge pages as
 * a whole, jemalloc the used parts. */
static void
explain_rss(const struct stats *stats, struct buffer *note)
{
    const char *thp = find_allocator_option(stats, "opt.thp");
    uint64_t shared = stats->rss_shared.known &&
                              stats->rss_shared.value <= stats->rss_file.value
                          ? stats->rss_shared.value
                          : 0;
    bool others = elsewhere_resident(stats).known;
    int64_t gap;

    if (!stats->rss.known) {
        buffer_sentence(note,
                        "rss is not known: the database is in a pid namespace "
                        "that heapwired does not see");
        return;
    }
    if (!subtract_figures(stats->rss, stats->resident, &gap))
        return;
    if (!stats_together(stats->allocator_ms, stats->taken_ms)) {
        buffer_format(
            note,
            "%sjemalloc's figures are %.1f s older than rss, which is "
            "not compared with them",
            note->size > 0 ? "; " : "",
            (double)(stats->taken_ms - stats->allocator_ms) / 1000);
        return;
    }
    subtract_all_jemallocs(stats, &gap);
    if (gap < 0) {
        append_note_bytes(note,
                          others ? "resident, of all jemallocs, exceeds rss by "
                                 : "resident exceeds rss by ",
                          -(double)gap,
                          ": pages never touched, or swapped out");
        return;
    }
    append_note_bytes(
        note,
        others ? "rss exceeds resident, of all jemallocs, by "
               : "rss exceeds resident by ",
        (double)gap,
        elsewhere_uncounted(stats)
            ? ": stacks, code, other allocators, and a jemalloc whose figures "
              "are not known"
            : ": at least that is not jemalloc's (stacks, code, other "
              "allocators), whose resident counts pages that were never "
              "touched, too");
    if (stats->rss_file.known)
        buffer_format(note, ", mapped files are %.1f MB of rss",
                      (double)(stats->rss_file.value - shared) / (1 << 20));
    if (shared > 0)
        buffer_format(note, ", shared memory is %.1f MB",
                      (double)shared / (1 << 20));
    if (stats->rss_file.known)
        buffer_text(note, " (heapwire.mappings has each)");
    /* more than threads' stacks and code explain */
    if (thp && (uint64_t)gap > stats->resident.value / 4)
        buffer_format(
            note, ", or huge pages that are used in part (opt.thp is %s)", thp);
}

static void
explain_cgroup(const struct stats *stats, struct buffer *note)
{
    char text[64];

    if (!stats->cgroup_current.known)
        buffer_sentence(note, "the cgroup cannot be read from here");
    else if (!stats->cgroup_limit.known)
        buffer_sentence(note, "no cgroup of the database has a limit");
    else if (stats->cgroup_limit.value > 0) {
        snprintf(text, sizeof(text), "the cgroup uses %.0f%% of its limit",
                 100.0 * (double)stats->cgroup_current.value /
                     (double)stats->cgroup_limit.value);
        buffer_sentence(note, text);
    }
}

/* Explains how much of the memory the profile has.  It is compared with what
 * was allocated when it was taken, since the row's figures may be of another
 * moment. */
static void
explain_profile(const struct catalog_scope *scope, struct buffer *note)
{
    const struct snapshot *snapshot = scope->snapshot;
    struct node_status status;
    struct unseen unseen;
    double pages;
    char since[CLOCK_TEXT];

    if (!snapshot) {
        buffer_sentence(note, "profile_bytes is NULL: ");
        controller_status(scope->session->node->controller, &status);
        /* how it ended stands with the allocator's figures */
        buffer_text(note, status.state == NODE_GONE ? "the database has ended"
                                                    : scope->no_total);
        return;
    }
    unseen_find(snapshot->profile, &snapshot->memory, &snapshot->hello,
                &unseen);
    clock_text(snapshot->hello.active_since_ms, since, sizeof(since));
    append_note_bytes(note, "the profile has ", snapshot->profile->bytes, "");
    if (unseen.compared && snapshot->memory.allocated.value > 0)
        buffer_format(note, ", %.0f%% of the %.1f MB that were allocated then",
                      100.0 * snapshot->profile->bytes /
                          (double)snapshot->memory.allocated.value,
                      (double)snapshot->memory.allocated.value / (1 << 20));
    buffer_format(note,
                  ": what was allocated since %s UTC, when profiling first "
                  "became active, and is still in use; an estimate "
                  "from samples",
                  since);
    pages = reconciliation_sample_pages(&snapshot->hello,
                                        snapshot->profile->samples);
    if (pages > 0)
        append_note_bytes(note, "up to ", pages,
                          " of allocated are pages of the samples themselves");
}

static void
append_duration(struct buffer *note, const char *before, double seconds)
{
    if (seconds < 2 * 3600)
        buffer_format(note, "%s %.0f minutes", before, seconds / 60);
    else
        buffer_format(note, "%s %.1f hours", before, seconds / 3600);
}

/* Explains when memory meets its limit, or why that is not known. */
static void
explain_outlook(const struct outlook *outlook, struct buffer *note)
{
    const char *limit = outlook->headroom.of_cgroup
                            ? "the cgroup's limit"
                            : "what the machine has left";

    if (outlook->grows) {
        buffer_format(
            note, "%smemory grows by %.1f MB an hour (%.1f to %.1f, ",
            note->size > 0 ? "; " : "", outlook->rate * 3600 / (1 << 20),
            outlook->low * 3600 / (1 << 20), outlook->high * 3600 / (1 << 20));
        append_duration(note, "over the last", outlook->seen_s);
        buffer_char(note, ')');
    }
    if (outlook->ends) {
        buffer_format(note, " and meets %s", limit);
        append_duration(note, " in", outlook->left_s);
        return;
    }
    buffer_sentence(note, "full_at is NULL: ");
    buffer_text(note, outlook->why);
}

static void
add_outlook(const struct outlook *outlook, struct rowset *out)
{
    if (outlook->ends)
        rowset_time(out, outlook->full_ms);
    else
        rowset_null(out);
    if (outlook->ends)
        rowset_double(out, outlook->left_s / 3600);
    else
        rowset_null(out);
    rowset_int_if(out, outlook->grows && outlook->rate * 3600 < MOST_BYTES,
                  (int64_t)(outlook->rate * 3600));
}

static void
add_memory_note(const struct catalog_scope *scope,
                const struct outlook *outlook, struct rowset *out)
{
    struct buffer note;

    buffer_init(&note, NOTE_MAX);
    explain_levers(scope, &note);
    explain_allocator(scope->stats, &note);
    if (!scope->stats->failure)
        explain_free(scope->stats, &note);
    explain_elsewhere(scope->stats, &note);
    explain_rss(scope->stats, &note);
    if (scope->stats->children)
        buffer_sentence(&note, scope->stats->children);
    explain_cgroup(scope->stats, &note);
    explain_outlook(outlook, &note);
    explain_profile(scope, &note);
    out->failed |= note.failed;
    if (note.size > 0)
        rowset_bytes(out, note.data,
                     utf8_prefix(buffer_span(&note), NOTE_SHOWN));
    else
        rowset_null(out);
    buffer_fini(&note);
}

static void
add_profile(const struct catalog_scope *scope, struct rowset *out)
{
    double bytes;

    if (!scope->snapshot) {
        rowset_nulls(out, 2);
        return;
    }
    bytes = scope->snapshot->profile->bytes;
    rowset_int(out, bytes < MOST_BYTES ? (int64_t)bytes : INT64_MAX);
    rowset_int(out, (int64_t)scope->snapshot->profile->samples);
}

/* In the order of memory_columns. */
static void
produce_memory(const struct catalog_scope *scope, struct rowset *out)
{
    const struct stats *stats = scope->stats;
    struct outlook outlook;
    int64_t unexplained;
    bool known;

    outlook_find(scope->session->node->history, &outlook);
    rowset_time(out, stats->taken_ms);
    add_memory_figure(out, stats->allocated);
    add_memory_figure(out, stats->active);
    add_memory_figure(out, stats->metadata);
    add_memory_figure(out, stats->resident);
    add_memory_figure(out, stats->mapped);
    add_memory_figure(out, stats->retained);
    add_memory_figure(out, stats->rss);
    add_memory_figure(out, stats->rss_file);
    add_memory_figure(out, stats->rss_shared);
    add_memory_figure(out, stats->cgroup_current);
    add_memory_figure(out, stats->cgroup_cache);
    add_memory_figure(out, stats->cgroup_limit);
    add_profile(scope, out);
    known = subtract_all_jemallocs(stats, &unexplained);
    rowset_int_if(out, known, unexplained);
    add_memory_note(scope, &outlook, out);
    rowset_int(out, stats->failure == NULL);
    add_outlook(&outlook, out);
}

static const struct catalog_column memory_columns[] = {
    CATALOG_NODE_ID,
    {"taken", &type_time_nn, "When, UTC: jemalloc's figures and rss together"},
    {"allocated", &type_bigint, "Bytes the program has in use"},
    {"active", &type_bigint, "Bytes of pages that hold them"},
    {"metadata", &type_bigint, "Bytes of jemalloc's bookkeeping"},
    {"resident", &type_bigint, "Bytes in memory, by jemalloc's count"},
    {"mapped", &type_bigint, "Bytes of address space in use"},
    {"retained", &type_bigint, "Bytes of address space kept, without memory"},
    {"rss", &type_bigint, "Bytes in memory, by the kernel's count"},
    {"rss_file", &type_bigint,
     "Bytes of rss that are mapped files and shared memory"},
    {"rss_shared", &type_bigint,
     "Bytes of rss_file that are shared memory and not of files"},
    {"cgroup_current", &type_bigint,
     "Bytes that the cgroup uses, page cache included"},
    {"cgroup_cache", &type_bigint,
     "Bytes of cgroup_current that are file pages, which the kernel takes back "
     "first"},
    {"cgroup_limit", &type_bigint,
     "The smallest limit of the cgroup and those around it; NULL: none"},
    {"profile_bytes", &type_bigint,
     "Bytes in use by the heap profile; NULL: profiling is not active", 0,
     NEED_TOTAL},
    {"profile_samples", &type_bigint, "Samples that this is estimated from", 0,
     NEED_TOTAL},
    {"unexplained", &type_bigint,
     "rss - resident of all jemallocs: at least that is not theirs; NULL: they "
     "are not of one moment"},
    {"note", &type_text, "What lies between the figures, in words", 0,
     NEED_TOTAL},
    {"answered", &type_boolean_nn,
     "Whether the agent in it answered (its own threads may wait all the "
     "same: threads); 0: jemalloc's figures are from its last answer; if the "
     "database has ended, all figures are of taken"},
    {"full_at", &type_time,
     "When it meets the cgroup's limit or what the machine has left, as it "
     "grows, UTC; NULL: note says why"},
    {"hours_left", &type_double, "Hours until full_at"},
    {"growth_per_hour", &type_bigint,
     "Bytes an hour by which it grows; NULL: it does not grow, or that is not "
     "certain"},
};

const struct catalog_table tables_memory[] = {
    {"heapwire", "memory", CATALOG_OWN_COLUMNS(memory_columns), produce_memory,
     "The database's memory by jemalloc, kernel, cgroup and profile",
     PRIVILEGE_STATUS, NEED_STATS},
    CATALOG_OF_ALL("memory", memory_columns, PRIVILEGE_STATUS,
                   &tables_memory[0]),
    {"heapwire", "memory_history", CATALOG_OWN_COLUMNS(memory_history),
     produce_memory_history,
     "The database's memory of the last weeks, oldest first", PRIVILEGE_STATUS},
    CATALOG_OF_ALL("memory_history", memory_history, PRIVILEGE_STATUS,
                   &tables_memory[2]),
    {NULL},
};
