/*
 * node_facts.c - gathers the facts of a diagnosis; see node_facts.h.
 *
 * A diagnosis must also be possible of a database that hangs or has died, so
 * each source may fail: what it would have told stays unknown, and diagnosis.c
 * says so.  Only a cancelled wait, or a lack of memory, ends the whole.  Texts
 * are copied into one arena, since the rows, snapshots and statuses that they
 * come from are released here; everything behind this file is pure.  Runs on
 * the statement's thread; it may wait for the agent, and for the mappings.
 */
#include "node_facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "await.h"
#include "buffer.h"
#include "controller.h"
#include "deaths.h"
#include "errors.h"
#include "facts_of_stats.h"
#include "functions.h"
#include "heap_threads.h"
#include "heap_trend.h"
#include "history.h"
#include "live_parts.h"
#include "memory.h"
#include "memory_budget.h"
#include "node_status.h"
#include "outlook.h"
#include "owners.h"
#include "profile.h"
#include "snapshot.h"
#include "stats.h"
#include "stats_allocators.h"
#include "store.h"
#include "waste_rows.h"

enum { FACTS_BYTES_MAX = 1 << 20, FREE_TEXT_MAX = 1024 };

/* NULL for an empty text; where the arena is full, a text that says so. */
static const char *
copy_fact_text(struct arena *arena, const char *text)
{
    const char *copy;

    if (!text || !*text)
        return NULL;
    copy = arena_strndup(arena, text, strlen(text));
    return copy ? copy : "(no memory for the name)";
}

/* ---- what the node is ---- */

/* A pid may be reused, so the start must be the same, too. */
static void
find_snapshots(const struct node_sources *from,
               const struct node_status *status, struct arena *arena,
               struct diagnosis_facts *out)
{
    struct store *store = controller_store(from->controller);
    struct store_entry *kept = mem_alloc_unset(STORE_COUNT_MAX * sizeof(*kept));
    size_t count = kept ? store_list(store, kept, STORE_COUNT_MAX) : 0;
    const struct store_entry *first = NULL, *last = NULL;

    for (size_t i = 0; i < count; i++) {
        if (kept[i].kind != PROFILE_HEAP ||
            kept[i].hello.pid != status->hello.pid ||
            kept[i].hello.started_ms != status->hello.started_ms)
            continue;
        /* After a reset of the profile, older snapshots cannot be compared with
         * now. */
        if (kept[i].hello.resets == status->hello.resets &&
            (!first || kept[i].taken_ms < first->taken_ms))
            first = &kept[i];
        if (!last || kept[i].taken_ms > last->taken_ms)
            last = &kept[i];
    }
    out->first_snapshot = first ? copy_fact_text(arena, first->name) : NULL;
    out->last_snapshot = last ? copy_fact_text(arena, last->name) : NULL;
    mem_free(kept);
}

static void
find_death(const struct node_sources *from, const struct node_status *status,
           struct diagnosis_facts *out)
{
    struct death death;
    /* The last death in the file may be of another database. */
    bool is_its = from->state_dir &&
                  deaths_read(from->state_dir, &death, 1) == 1 &&
                  death.pid == status->hello.pid;

    out->ended_clean = is_its && death_was_clean(&death);
    if (is_its)
        out->oom_kills = (struct fact){true, death_oom_kills(&death)};
}

static void
read_node_status(const struct node_sources *from, struct arena *arena,
                 struct diagnosis_facts *out)
{
    static const enum fact_state states[] = {[NODE_ABSENT] = FACT_ABSENT,
                                             [NODE_CONNECTED] = FACT_SERVES,
                                             [NODE_UNRESPONSIVE] = FACT_HANGS,
                                             [NODE_GONE] = FACT_ENDED};
    struct node_status status;

    controller_status(from->controller, &status);
    out->state = states[status.state];
    out->state_since_ms = status.since_ms;
    if (status.state == NODE_GONE) {
        out->state_why = copy_fact_text(arena, status.ending);
        find_death(from, &status, out);
    } else if (status.state == NODE_UNRESPONSIVE && status.stopped) {
        out->state_why = "a signal has stopped it";
        out->stopped_pid = status.peer;
    } else if (status.state == NODE_ABSENT) {
        out->state_why = copy_fact_text(arena, status.absence_why);
    }
    if (status.state != NODE_ABSENT)
        find_snapshots(from, &status, arena, out);
    out->node_id = from->node_id;
    out->has_levers = status.state == NODE_CONNECTED &&
                      (status.knows & AGENT_KNOWS_LEVERS) != 0;
    out->profiling = status.state == NODE_CONNECTED && status.hello.active != 0;
    out->was_profiling = status.state == NODE_GONE && status.hello.active != 0;
    out->profiling_why = copy_fact_text(arena, from->no_snapshot);
}

/* ---- what allocator and kernel say ---- */

/* Reads the last LEAST_FROM_S seconds of history: history_read() gives the
 * oldest samples first, so all are read in chunks and only the last are
 * kept. */
static void
read_samples(const struct node_sources *from, struct diagnosis_facts *out)
{
    enum { CHUNK = 256, LAST = LEAST_FROM_S + 10 };
    struct history_sample *samples =
        mem_alloc((LAST + CHUNK) * sizeof(*samples));
    uint64_t next = 0;
    size_t count = 0, got;

    while (samples && (got = history_read(from->history, &next, samples + count,
                                          CHUNK)) > 0) {
        count += got;
        if (count <= LAST)
            continue;
        memmove(samples, samples + count - LAST, LAST * sizeof(*samples));
        count = LAST;
    }
    if (samples)
        facts_of_samples(samples, count, out);
    mem_free(samples);
}

static void
take_figures(const struct node_sources *from, const struct stats *stats,
             struct arena *arena, struct diagnosis_facts *out)
{
    struct buffer text;

    facts_of_stats(stats, memory_left_machine(), out);
    for (size_t i = 0; i < stats->allocator_count; i++)
        if (stats->allocators[i].chosen)
            out->variable =
                copy_fact_text(arena, stats->allocators[i].variable);
    buffer_init(&text, FREE_TEXT_MAX);
    free_pages_write(stats, &text);
    if (text.size > 0)
        out->free_why = arena_strndup(arena, text.data, text.size);
    buffer_fini(&text);
    read_samples(from, out);
}

/* A failure leaves a diagnosis by the other facts: the database may just have
 * ended.  -1 with *err: the wait is over. */
static int
read_stats(const struct node_sources *from, struct arena *arena,
           struct diagnosis_facts *out, struct error *err)
{
    const struct job_request request = {.kind = JOB_STATS, .owner = from->user};
    struct job_result result = {0};

    if (!from->await)
        return 0;
    if (controller_wait(controller_submit(from->controller, &request,
                                          await_waker(from->await), err),
                        from->await, &result, err) != 0)
        return await_is_over(from->await) ? -1 : 0;
    take_figures(from, result.stats, arena, out);
    stats_unref(result.stats);
    return 0;
}

static int
read_owners_of(const struct node_sources *from, struct arena *arena,
               struct diagnosis_facts *out, struct error *err)
{
    struct owner_sums sums;
    struct error why;

    if (!owners_are_wanted(out))
        return 0;
    if (!from->await) {
        out->owners_why = "a SELECT that cannot wait does not ask for it";
        return 0;
    }
    if (owners_find(from->controller, from->user, from->await,
                    out->has_jemalloc ? out->outside.value : out->rss.value,
                    &sums, &why) != 0) {
        out->owners_why = copy_fact_text(arena, why.text);
        if (!await_is_over(from->await))
            return 0;
        *err = why;
        return -1;
    }
    for (size_t i = 0; i < sums.count; i++)
        out->owners[out->owner_count++] = (struct fact_holder){
            copy_fact_text(arena, sums.list[i].name), sums.list[i].bytes};
    out->owners_more = sums.more;
    out->owned_by_jemalloc = sums.jemalloc;
    out->owners_ms = sums.taken_ms;
    out->page_tables = sums.page_tables;
    return 0;
}

/* ---- what the profile says ---- */

/* Inserts it into the list of the largest holders, if it is one of them. */
static void
insert_holder(struct fact_holder list[FACTS_HOLDERS], size_t *count,
              const char *name, double bytes)
{
    size_t place = *count;

    if (bytes < 1)
        return;
    while (place > 0 && (double)list[place - 1].bytes < bytes)
        place--;
    if (place == FACTS_HOLDERS)
        return;
    if (*count < FACTS_HOLDERS)
        (*count)++;
    memmove(&list[place + 1], &list[place],
            (*count - 1 - place) * sizeof(list[0]));
    list[place] = (struct fact_holder){name, (uint64_t)bytes};
}

/* Only the names of the few that remain are copied, at the end. */
static void
read_holders(const struct functions *functions, struct arena *arena,
             struct diagnosis_facts *out)
{
    for (uint32_t i = 0; i < functions->count; i++)
        insert_holder(out->holders, &out->holder_count, functions->list[i].name,
                      functions->list[i].flat_bytes);
    for (size_t i = 0; i < out->holder_count; i++)
        out->holders[i].name = copy_fact_text(arena, out->holders[i].name);
}

struct thread_sum {
    char name[HEAP_THREAD_NAME_MAX + 32]; /* of a pool, or one thread */
    double bytes;
};

static int
compare_thread_sums(const void *a, const void *b)
{
    return strcmp(((const struct thread_sum *)a)->name,
                  ((const struct thread_sum *)b)->name);
}

static void
write_thread_or_pool_name(const struct heap_thread *thread, bool alone,
                          char *out, size_t size)
{
    char pool[HEAP_THREAD_NAME_MAX + 1];

    heap_thread_pool(thread->name, pool);
    if (alone && thread->tid != 0)
        snprintf(out, size, "%s (tid %" PRIu32 ")", thread->name, thread->tid);
    else if (alone && thread->number != 0)
        snprintf(out, size, "%s (#%" PRIu64 ")", thread->name,
                 thread->number - 1);
    else
        snprintf(out, size, "%s", *pool ? pool : "threads without a name");
}

/* Adds up by name; returns how many names there are. */
static size_t
sum_threads(const struct live_parts *parts, bool alone, struct thread_sum *sums)
{
    size_t count = parts->threads.count, names = 0;

    for (size_t i = 0; i < count; i++) {
        sums[i].bytes = 0;
        write_thread_or_pool_name(&parts->threads.list[i], alone, sums[i].name,
                                  sizeof(sums[i].name));
    }
    for (size_t i = 0; i < parts->count; i++)
        sums[parts->list[i].thread].bytes += parts->list[i].bytes;
    qsort(sums, count, sizeof(*sums), compare_thread_sums);
    for (size_t i = 0; i < count; i++)
        if (names > 0 && compare_thread_sums(&sums[names - 1], &sums[i]) == 0)
            sums[names - 1].bytes += sums[i].bytes;
        else
            sums[names++] = sums[i];
    return names;
}

/* Sums by pool, or, where one pool has everything, as a server's connections
 * may, by thread. */
static int
read_thread_holders(const struct live_parts *parts, struct arena *arena,
                    struct diagnosis_facts *out, struct error *err)
{
    size_t count = parts ? parts->threads.count : 0, names;
    struct thread_sum *sums;

    if (count < 2)
        return 0;
    sums = mem_alloc(count * sizeof(*sums));
    if (!sums) {
        error_memory(err, "the threads of the heap");
        return -1;
    }
    /* first by pool; again by thread if that gave only one */
    for (int alone = 0; alone <= 1 && out->thread_count < 2; alone++) {
        names = sum_threads(parts, alone, sums);
        out->thread_count = 0;
        for (size_t i = 0; i < names; i++)
            insert_holder(out->threads, &out->thread_count, sums[i].name,
                          sums[i].bytes);
    }
    if (out->thread_count == 1)
        out->thread_count = 0; /* one thread has all */
    for (size_t i = 0; i < out->thread_count; i++)
        out->threads[i].name = copy_fact_text(arena, out->threads[i].name);
    mem_free(sums);
    return 0;
}

static int
read_waste(const struct profile *profile, struct functions *functions,
           struct arena *arena, struct diagnosis_facts *out, struct error *err)
{
    struct waste_rows rows;

    if (!profile->waste)
        return 0;
    if (waste_rows_init(&rows, profile, functions, err) != 0)
        return -1;
    for (uint32_t i = 0; i < rows.count && !out->waste.function; i++) {
        const struct waste_row *row = &rows.list[i];
        double low = row->waste - (row->has_error ? row->error : 0);

        if (row->function && row->size_class > 0)
            out->waste = (struct fact_waste){
                copy_fact_text(arena, row->function), row->size_class,
                (uint64_t)row->waste, low > 0 ? (uint64_t)low : 0,
                (uint64_t)(row->waste + (row->has_error ? row->error : 0))};
    }
    waste_rows_fini(&rows);
    return 0;
}

static int
read_profile(const struct node_sources *from, struct arena *arena,
             struct diagnosis_facts *out, struct error *err)
{
    struct functions *functions;
    int rc;

    if (!from->snapshot)
        return 0;
    out->profile_bytes =
        (struct fact){true, (uint64_t)from->snapshot->profile->bytes};
    functions = functions_new(from->snapshot->profile, from->options, err);
    if (!functions)
        return -1;
    read_holders(functions, arena, out);
    rc = read_thread_holders(from->snapshot->profile->parts, arena, out, err);
    if (rc == 0)
        rc = read_waste(from->snapshot->profile, functions, arena, out, err);
    functions_free(functions);
    return rc;
}

/* ---- what grows ---- */

static const enum fact_trend_kind kinds[] = {[TREND_UNKNOWN] = FACT_UNCERTAIN,
                                             [TREND_STEADY] = FACT_STEADY,
                                             [TREND_GROWS] = FACT_GROWS,
                                             [TREND_FILLS] = FACT_FILLS,
                                             [TREND_SAW_TOOTH] =
                                                 FACT_SAW_TOOTH};

static int
read_trends(const struct node_sources *from, struct arena *arena,
            struct diagnosis_facts *out, struct error *err)
{
    struct heap_trend_rows rows;

    if (!from->trends)
        return 0;
    if (heap_trend_init(from->trends, from->snapshot, from->options, &rows,
                        err) != 0)
        return -1;
    for (size_t i = 0; i < rows.count && out->trend_count < FACTS_TRENDS; i++) {
        const struct heap_trend_row *row = &rows.list[i];

        if (row->trend.verdict == TREND_UNKNOWN) {
            if (!out->trend_why)
                out->trend_why = copy_fact_text(arena, row->trend.why);
            continue;
        }
        out->trends[out->trend_count++] = (struct fact_trend){
            .function = copy_fact_text(arena, row->function),
            .kind = kinds[row->trend.verdict],
            .bytes = (uint64_t)row->bytes,
            .per_hour = row->trend.slope * 3600,
            .low = row->trend.low * 3600,
            .high = row->trend.high * 3600,
            .points = row->trend.points,
            .pace = row->trend.pace,
            .pace_low = row->trend.pace_low,
            .pace_high = row->trend.pace_high,
            .hours = row->trend.span_s / 3600,
            .alone = row->total_gain_known &&
                     row->total_gain < row->trend.slope * row->trend.span_s / 2,
            .old_part = {row->old_percent >= 0, (uint64_t)row->old_percent},
            .old_s = row->old_s};
    }
    heap_trend_fini(&rows);
    return 0;
}

static void
read_outlook(const struct node_sources *from, struct diagnosis_facts *out)
{
    struct outlook outlook;

    out->hours_left = -1;
    if (!from->history)
        return;
    outlook_find(from->history, &outlook);
    out->growth_judged = outlook.judged;
    out->growth_why = outlook.grows ? NULL : outlook.why; /* static */
    out->grows = outlook.grows;
    if (outlook.grows) {
        out->growth = outlook.rate * 3600;
        out->growth_low = outlook.low * 3600;
        out->growth_high = outlook.high * 3600;
        out->growth_hours = outlook.seen_s / 3600;
    }
    if (outlook.grows)
        *(outlook.ends ? &out->hours_left : &out->hours_far) =
            outlook.left_s / 3600;
}

static int
gather_facts(const struct node_sources *from, struct arena *arena,
             struct diagnosis_facts *out, struct error *err)
{
    read_node_status(from, arena, out);
    read_outlook(from, out);
    if (read_stats(from, arena, out, err) != 0 ||
        read_owners_of(from, arena, out, err) != 0 ||
        read_profile(from, arena, out, err) != 0)
        return -1;
    return read_trends(from, arena, out, err);
}

struct node_diagnosis *
node_diagnosis_new(const struct node_sources *from, struct error *err)
{
    struct node_diagnosis *made = mem_zalloc(1, sizeof(*made));

    if (made)
        made->arena = arena_new(FACTS_BYTES_MAX);
    if (!made || !made->arena)
        error_memory(err, "a diagnosis");
    else if (gather_facts(from, made->arena, &made->facts, err) == 0) {
        diagnosis_find(&made->facts, &made->diagnosis);
        return made;
    }
    node_diagnosis_free(made);
    return NULL;
}

void
node_diagnosis_free(struct node_diagnosis *made)
{
    if (!made)
        return;
    arena_free(made->arena);
    mem_free(made);
}
