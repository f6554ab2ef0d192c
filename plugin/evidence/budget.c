/* budget.c - one budget: its check against a profile, its crossing, its line.
 *
 * A function's budget counts each stack that has the function anywhere in it,
 * once, as cumulative bytes in heap_functions do.  The stacks of a profile may
 * be a hundred thousand, so names are matched first: each distinct text gets a
 * mask of the budgets that it matches (BUDGETS_MAX is 64 for that), and a
 * stack's budgets are the masks of its frames, ored together.  A pool's budget
 * adds the parts that its threads allocated.  Pure; memory up to
 * MEASURE_BYTES_MAX, freed before the return. */
#include "budgets.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent_protocol.h"
#include "arena.h"
#include "buffer.h"
#include "errors.h"
#include "heap_threads.h"
#include "live_parts.h"
#include "memory.h"
#include "profile.h"
#include "profile_root.h"
#include "stack_names.h"
#include "texts.h"

enum { MEASURE_BYTES_MAX = 1 << 30 };

static const int64_t at_max_ms = 253402300799999; /* year 9999 */

#define NAME_KEY "name="

/* ---- the check ---- */

struct measuring {
    const struct profile *profile;
    struct stack_names names;
    uint64_t *masks; /* for each text: the budgets that it matches */
    uint64_t *pools; /* for each thread: the budgets of its pool */
    struct stack_frame *frames;
    double variances[BUDGETS_MAX];
};

/* The only comparison of names: texts times budgets, not frames times
 * budgets. */
static void
mark_texts(struct measuring *m, const struct budget *list, size_t count)
{
    for (uint32_t text = 0; text < m->names.texts_max; text++)
        for (size_t i = 0; i < count; i++)
            if (budget_matches(&list[i], texts_get(m->names.texts, text)))
                m->masks[text] |= (uint64_t)1 << i;
}

/* The budgets of a stack.  A frame counts by its name with template arguments,
 * and by the function's name alone. */
static uint64_t
mask_stack(const struct measuring *m, size_t frames)
{
    const struct symbols *symbols = &m->names.symbols;
    uint64_t mask = 0;

    for (size_t i = 0; i < frames; i++) {
        const struct stack_frame *frame = &m->frames[i];
        uint32_t at = symbols->first[frame->location] + frame->frame;

        mask |= m->masks[frame->name] | m->masks[symbols->short_names[at]];
    }
    return mask;
}

static int
weigh_stacks(struct measuring *m, struct budget *list)
{
    for (size_t i = 0; i < m->profile->stack_count; i++) {
        const struct profile_stack *stack = &m->profile->stacks[i];
        size_t frames = 0;

        if (stack_names_get(&m->names, stack, m->frames, &frames) != 0)
            return -1;
        for (uint64_t mask = mask_stack(m, frames); mask; mask &= mask - 1) {
            int at = __builtin_ctzll(mask);

            list[at].now += stack->bytes;
            m->variances[at] += stack->variance;
        }
    }
    return 0;
}

/* A pool's budget is compared with pools, not with threads. */
static void
mark_threads(struct measuring *m, const struct budget *list, size_t count)
{
    const struct heap_threads *threads = &m->profile->parts->threads;
    char pool[HEAP_THREAD_NAME_MAX + 1];

    for (size_t thread = 0; thread < threads->count; thread++) {
        heap_thread_pool(threads->list[thread].name, pool);
        for (size_t i = 0; i < count; i++)
            if (budget_pool(&list[i]) &&
                strcmp(budget_pool(&list[i]), pool) == 0)
                m->pools[thread] |= (uint64_t)1 << i;
    }
}

/* A stack's variance is divided among its parts by their bytes, as in
 * profile_root.c. */
static void
weigh_parts(struct measuring *m, struct budget *list)
{
    const struct live_parts *parts = m->profile->parts;

    for (size_t i = 0; i < parts->count; i++) {
        const struct live_part *part = &parts->list[i];
        const struct profile_stack *stack = &m->profile->stacks[part->stack];
        uint64_t mask = m->pools[part->thread];

        for (; mask; mask &= mask - 1) {
            int at = __builtin_ctzll(mask);

            list[at].now += part->bytes;
            if (stack->bytes > 0)
                m->variances[at] +=
                    stack->variance * (part->bytes / stack->bytes);
        }
    }
}

/* A profile without threads says nothing of pools; but an empty one does: they
 * have nothing in use. */
static int
measure_pools(struct measuring *m, struct budget *list, size_t count)
{
    const struct live_parts *parts = m->profile->parts;

    if (parts) {
        m->pools = mem_zalloc(parts->threads.count + 1, sizeof(*m->pools));
        if (!m->pools)
            return -1;
        mark_threads(m, list, count);
        weigh_parts(m, list);
    }
    for (size_t i = 0; i < count; i++)
        if (!parts && m->profile->stack_count > 0 && budget_pool(&list[i]))
            list[i].state = BUDGET_THREADLESS;
    return 0;
}

int
budget_measure(const struct profile *profile, struct budget *list, size_t count,
               struct error *err)
{
    struct measuring m = {.profile = profile};
    struct arena *arena = arena_new(MEASURE_BYTES_MAX);
    int rc = -1;

    for (size_t i = 0; i < count; i++) {
        list[i].now = list[i].margin = 0;
        list[i].state = BUDGET_UNSEEN;
    }
    if (!arena)
        error_memory(err, "the names of functions");
    if (!arena || stack_names_share(&m.names, profile, NULL, arena, err) != 0)
        goto out;
    m.masks = mem_zalloc(m.names.texts_max, sizeof(*m.masks));
    m.frames = mem_zalloc(m.names.longest, sizeof(*m.frames));
    if (m.masks && m.frames) {
        mark_texts(&m, list, count);
        rc = weigh_stacks(&m, list) == 0 ? measure_pools(&m, list, count) : -1;
    }
    if (rc != 0)
        error_memory(err, "what functions and pools with a budget have in use");
    for (size_t i = 0; i < count; i++)
        list[i].margin = PROFILE_95 * sqrt(m.variances[i]);
out:
    mem_free(m.masks);
    mem_free(m.pools);
    mem_free(m.frames);
    stack_names_fini(&m.names);
    arena_free(arena);
    return rc;
}

/* Whether something of that name has memory in use. */
static bool
holds_memory(const struct budget *budget)
{
    return budget->state == BUDGET_UNSEEN && budget->now > 0;
}

int
budget_find_kind(const struct profile *profile, struct budget *budget,
                 struct error *err)
{
    struct budget both[2] = {*budget, {.name = ""}};
    size_t kinds = budget_may_be_pool(budget) ? 2 : 1;

    if (kinds == 2)
        snprintf(both[1].name, sizeof(both[1].name), PROFILE_POOL "%.*s",
                 HEAP_THREAD_NAME_MAX, budget->name);
    if (budget_measure(profile, both, kinds, err) != 0)
        return -1;
    if (holds_memory(&both[0]) != holds_memory(&both[1])) {
        *budget = both[holds_memory(&both[1])];
        return 0;
    }
    if (holds_memory(&both[0]))
        error_set(err, ER_WRONG_ARGUMENTS,
                  "'%s' is the name of a function and of a pool of threads: "
                  "write '" BUDGET_FUNCTION "%s' or '" PROFILE_POOL "%s'",
                  budget->name, budget->name, budget->name);
    else
        error_set(err, ER_WRONG_ARGUMENTS,
                  "no function and no pool of threads called '%.*s' has memory "
                  "in use: heapwire.heap_functions and heap_threads list them; "
                  "for one that is still to come, write '" BUDGET_FUNCTION
                  "NAME' or '" PROFILE_POOL "NAME'",
                  BUDGET_SHOWN, budget->name);
    return -1;
}

static bool
is_budget_of(const struct budget *budget, const struct agent_hello *hello)
{
    return budget->pid == hello->pid &&
           budget->start_ticks == hello->start_ticks;
}

enum budget_transition
budget_step(struct budget *budget, int64_t taken_ms,
            const struct agent_hello *hello)
{
    double limit = (double)budget->limit;
    bool was_over = budget->over && is_budget_of(budget, hello);

    budget->checked_ms = taken_ms;
    if (budget->state == BUDGET_THREADLESS)
        return BUDGET_STAYS;
    /* Between the limit and BUDGET_FALL_PERCENT below it, nothing changes: an
     * estimate that goes up and down around the limit is one crossing. */
    if (was_over && budget->now < limit * (100 - BUDGET_FALL_PERCENT) / 100) {
        budget->over = false;
        budget->state = BUDGET_WITHIN;
        return BUDGET_FALLS;
    }
    if (was_over || budget->now <= limit) {
        budget->over = was_over;
        budget->state = was_over ? BUDGET_OVER : BUDGET_WITHIN;
        return BUDGET_STAYS;
    }
    budget->over = true;
    budget->state = BUDGET_OVER;
    budget->crossed_ms = taken_ms;
    budget->crossings++;
    budget->pid = hello->pid;
    budget->start_ticks = hello->start_ticks;
    budget->snapshot[0] = '\0';
    return BUDGET_CROSSES;
}

/* ---- its line ---- */

void
budget_format(const struct budget *budget, struct buffer *out)
{
    buffer_format(
        out,
        "limit=%" PRIu64 " over=%d crossed=%" PRId64 " crossings=%" PRIu64
        " pid=%" PRId32 " start=%" PRIu64 " snapshot=%s " NAME_KEY "%s\n",
        budget->limit, budget->over, budget->crossed_ms, budget->crossings,
        budget->pid, budget->start_ticks, budget->snapshot, budget->name);
}

/* Reads "key=123 ", a number of at most max, which is below UINT64_MAX. */
static uint64_t
read_budget_number(struct reader *r, const char *key, uint64_t max)
{
    struct span name = reader_bytes(r, strlen(key));
    uint64_t number = 0;
    size_t digits = 0;
    uint8_t c;

    if (!span_is(name, key))
        r->failed = true;
    while ((c = reader_u8(r)) != ' ' && !r->failed) {
        if (c < '0' || c > '9' || number > (max - (c - '0')) / 10) {
            r->failed = true;
            break;
        }
        number = number * 10 + (c - '0');
        digits++;
    }
    if (digits == 0 || number > max)
        r->failed = true;
    return number;
}

/* Reads "snapshot=name "; the name may be empty. */
static void
read_budget_snapshot(struct reader *r, char out[SNAPSHOT_NAME_MAX + 1])
{
    struct span key = reader_bytes(r, strlen("snapshot="));
    size_t size = 0;
    uint8_t c;

    if (!span_is(key, "snapshot="))
        r->failed = true;
    while ((c = reader_u8(r)) != ' ' && !r->failed) {
        if (size == SNAPSHOT_NAME_MAX) {
            r->failed = true;
            break;
        }
        out[size++] = (char)c;
    }
    out[size] = '\0';
    if (size > 0 && !snapshot_is_name(out, size))
        r->failed = true;
}

bool
budget_parse(struct span line, struct budget *out)
{
    struct reader r = reader_of(line.data, line.size);
    struct span name;

    memset(out, 0, sizeof(*out));
    out->limit = read_budget_number(&r, "limit=", INT64_MAX);
    out->over = read_budget_number(&r, "over=", 1) == 1;
    out->crossed_ms =
        (int64_t)read_budget_number(&r, "crossed=", (uint64_t)at_max_ms);
    out->crossings = read_budget_number(&r, "crossings=", INT64_MAX);
    out->pid = (int32_t)read_budget_number(&r, "pid=", INT32_MAX);
    out->start_ticks = read_budget_number(&r, "start=", INT64_MAX);
    read_budget_snapshot(&r, out->snapshot);
    name = reader_bytes(&r, strlen(NAME_KEY));
    if (!span_is(name, NAME_KEY))
        r.failed = true;
    name = reader_rest(&r);
    if (r.failed || out->limit == 0 || budget_check_name(name, NULL) != 0)
        return false;
    memcpy(out->name, name.data, name.size);
    return true;
}
