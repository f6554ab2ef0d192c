/* node_facts.c - see node_facts.h. */
#include "node_facts.h"

#include <string.h>

#include "arena.h"
#include "clock.h"
#include "controller.h"
#include "deaths.h"
#include "errors.h"
#include "facts_of_stats.h"
#include "functions.h"
#include "heap_trend.h"
#include "memory.h"
#include "node_status.h"
#include "outlook.h"
#include "profile.h"
#include "snapshot.h"
#include "store.h"
#include "waste_rows.h"

enum { FACTS_BYTES_MAX = 1 << 20 };

/* NULL for none, and where the arena is full. */
static const char *
copy_text(struct arena *arena, const char *text)
{
    return text && *text ? arena_strndup(arena, text, strlen(text)) : NULL;
}

/* ---- what the node is ---- */

static void
find_last_snapshot(const struct node_sources *from,
                   const struct node_status *status, struct arena *arena,
                   struct diagnosis_facts *out)
{
    struct store *store = controller_store(from->controller);
    struct store_entry *kept = mem_alloc_unset(STORE_COUNT_MAX * sizeof(*kept));
    size_t count = kept ? store_list(store, kept, STORE_COUNT_MAX) : 0;
    const struct store_entry *last = NULL;

    for (size_t i = 0; i < count; i++)
        if (kept[i].kind == PROFILE_HEAP &&
            kept[i].hello.pid == status->hello.pid &&
            kept[i].hello.started_ms == status->hello.started_ms &&
            (!last || kept[i].taken_ms > last->taken_ms))
            last = &kept[i];
    out->last_snapshot = last ? copy_text(arena, last->name) : NULL;
    mem_free(kept);
}

static void
find_death(const struct node_sources *from, const struct node_status *status,
           struct diagnosis_facts *out)
{
    struct death death;
    bool is_its = from->state_dir &&
                  deaths_read(from->state_dir, &death, 1) == 1 &&
                  death.pid == status->hello.pid;

    out->ended_clean = is_its && death_was_clean(&death);
    if (is_its)
        out->oom_kills = (struct fact){true, death_oom_kills(&death)};
}

static void
read_status(const struct node_sources *from, struct arena *arena,
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
        out->state_why = copy_text(arena, status.ending);
        find_death(from, &status, out);
        find_last_snapshot(from, &status, arena, out);
    } else if (status.state == NODE_UNRESPONSIVE && status.stopped) {
        out->state_why = "a signal has stopped it";
    } else if (status.state == NODE_ABSENT) {
        out->state_why = copy_text(arena, status.absence);
    }
    out->profiling = status.state == NODE_CONNECTED && status.hello.active != 0;
    out->profiling_why = copy_text(arena, from->no_snapshot);
}

/* ---- what the profile says ---- */

static void
read_holders(const struct functions *functions, struct arena *arena,
             struct diagnosis_facts *out)
{
    for (uint32_t i = 0; i < functions->count; i++) {
        const struct function *f = &functions->list[i];
        size_t place = out->holder_count;

        if (f->flat_bytes < 1)
            continue;
        while (place > 0 &&
               (double)out->holders[place - 1].bytes < f->flat_bytes)
            place--;
        if (place == FACTS_HOLDERS)
            continue;
        if (out->holder_count < FACTS_HOLDERS)
            out->holder_count++;
        memmove(&out->holders[place + 1], &out->holders[place],
                (out->holder_count - 1 - place) * sizeof(out->holders[0]));
        out->holders[place] =
            (struct fact_holder){f->name, (uint64_t)f->flat_bytes};
    }
    for (size_t i = 0; i < out->holder_count; i++)
        out->holders[i].name = copy_text(arena, out->holders[i].name);
}

static int
read_waste(const struct profile *profile, struct functions *functions,
           struct arena *arena, struct diagnosis_facts *out, struct error *err)
{
    struct waste_rows rows;

    if (!profile->waste)
        return 0;
    if (waste_rows_make(&rows, profile, functions, err) != 0)
        return -1;
    for (uint32_t i = 0; i < rows.count && out->waste_count < FACTS_WASTES;
         i++) {
        const struct waste_row *row = &rows.list[i];
        double low = row->waste - (row->has_error ? row->error : 0);

        if (!row->function || row->size_class == 0)
            continue;
        out->wastes[out->waste_count++] = (struct fact_waste){
            copy_text(arena, row->function),
            row->size_class,
            row->has_live ? (uint64_t)row->live_bytes : 0,
            (uint64_t)row->waste,
            low > 0 ? (uint64_t)low : 0,
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
    if (heap_trend_make(from->trends, from->snapshot, from->options, &rows,
                        err) != 0)
        return -1;
    for (size_t i = 0; i < rows.count && out->trend_count < FACTS_TRENDS; i++) {
        const struct heap_trend_row *row = &rows.list[i];

        if (row->trend.verdict == TREND_UNKNOWN) {
            if (!out->trend_why)
                out->trend_why = copy_text(arena, row->trend.why);
            continue;
        }
        out->trends[out->trend_count++] =
            (struct fact_trend){.function = copy_text(arena, row->function),
                                .kind = kinds[row->trend.verdict],
                                .bytes = (uint64_t)row->bytes,
                                .per_hour = row->trend.slope * 3600,
                                .low = row->trend.low * 3600,
                                .high = row->trend.high * 3600};
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
    if (outlook.ends)
        out->hours_left = outlook.left_s / 3600;
    if (outlook.room.known && !outlook.room.of_cgroup)
        out->available = (struct fact){true, outlook.room.left};
}

static int
gather_facts(const struct node_sources *from, struct arena *arena,
             struct diagnosis_facts *out, struct error *err)
{
    out->now_ms = clock_wall_ms();
    read_status(from, arena, out);
    if (from->stats)
        facts_of_stats(from->stats, out);
    read_outlook(from, out);
    if (read_profile(from, arena, out, err) != 0)
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
