/*
 * tables_samples.c - what is known of samples besides their stacks, as tables:
 * the threads that allocated them (also by pool, and how pools grew), their
 * ages, and what was allocated and freed again.
 *
 * Ages and rates are known only where a recorder notes each sample; the
 * threads also of jemalloc's.  The functions are heap_stacks'.  A snapshot
 * that does not have these data has no rows, and a warning says why.
 */
#include <math.h>
#include <string.h>

#include "catalog_tables.h"
#include "functions.h"
#include "heap_threads.h"
#include "heap_walk.h"
#include "profile.h"
#include "select_sources.h"
#include "snapshot.h"
#include "sql.h"
#include "texts.h"

/* Sets the leaf's name; NULL where all frames are the allocator's. */
static void
set_leaf(const struct heap_position *position, struct value *out)
{
    if (position->frame_count > 0)
        cell_text(out, texts_get(position->source->functions->names.texts,
                                 position->frames[0].name));
}

/* ---- heap_threads ---- */

enum {
    THREADS_SNAPSHOT,
    THREADS_TID,
    THREADS_NAME,
    THREADS_POOL,
    THREADS_BYTES,
    THREADS_OBJECTS,
    THREADS_PERCENT,
    THREADS_TOP,
    THREADS_TOP_BYTES,
    THREADS_SAMPLES,
    THREADS_NUMBER
};

static void
set_pool(struct heap_position *position, const char *name, struct value *out)
{
    char pool[HEAP_THREAD_NAME_MAX + 1];

    heap_thread_pool(name, pool);
    buffer_clear(&position->text);
    buffer_text(&position->text, pool);
    if (position->text.failed)
        return;
    out->type = VALUE_TEXT;
    out->data = position->text.data;
    out->size = position->text.size;
}

static void
threads_cell(struct heap_position *position, size_t column, struct value *out)
{
    const struct thread_row *row =
        &position->source->parts.threads[position->at];
    double all = position->source->profile->bytes;

    switch (column) {
    case THREADS_SNAPSHOT:
        cell_text(out, position->source->label);
        break;
    case THREADS_TID:
        if (row->thread->tid)
            cell_int(out, row->thread->tid);
        break;
    case THREADS_NAME:
        cell_known(out, row->thread->name);
        break;
    case THREADS_POOL:
        if (*row->thread->name)
            set_pool(position, row->thread->name, out);
        break;
    case THREADS_BYTES:
        cell_estimate(out, row->bytes);
        break;
    case THREADS_OBJECTS:
        cell_estimate(out, row->objects);
        break;
    case THREADS_PERCENT:
        out->type = VALUE_DOUBLE;
        out->real = all > 0 ? round(row->bytes / all * 10000) / 100 : 0;
        break;
    case THREADS_TOP:
        cell_known(out, row->top);
        break;
    case THREADS_TOP_BYTES:
        if (*row->top)
            cell_estimate(out, row->top_bytes);
        break;
    case THREADS_SAMPLES:
        cell_int(out, row->samples);
        break;
    case THREADS_NUMBER:
        if (row->thread->number)
            cell_int(out, row->thread->number - 1);
        break;
    default:
        break;
    }
}

static const struct catalog_column threads[] = {
    CATALOG_NODE_ID,
    {"snapshot", &type_name_nn, HEAP_SNAPSHOT_COMMENT},
    {"tid", &type_ubigint,
     "The kernel's number of the thread; NULL: jemalloc profiles, a newer "
     "thread has the number now, or the row sums ended threads"},
    {"name", &type_name,
     "As the thread was called when it last allocated with a new stack (of "
     "jemalloc: was sampled); NULL unknown"},
    {"pool", &type_name, "The name, each number in it replaced by *"},
    {"live_bytes", &type_ubigint_nn,
     "In use, allocated by the thread, whoever uses it"},
    {"live_objects", &type_ubigint_nn, "In use, allocated by the thread"},
    {"percent", &type_double_nn, "Percent of all bytes in use"},
    {"top_function", &type_text,
     "The function that itself allocated most of live_bytes"},
    {"top_bytes", &type_ubigint, "Bytes in use that it allocated"},
    {"samples", &type_ubigint_nn, "Sampled objects that these are made from"},
    {"number", &type_ubigint,
     "jemalloc's own of the thread; NULL where a recorder profiles"},
};

static const struct heap_walk threads_walk = {HEAP_THREADS, 100, 100,
                                              threads_cell, .keyless = true};

/* ---- heap_pool_diff ---- */

enum {
    POOLS_SNAPSHOT,
    POOLS_BASE,
    POOLS_POOL,
    POOLS_GROWN,
    POOLS_ERROR,
    POOLS_OBJECTS,
    POOLS_SIGNIFICANT,
    POOLS_TOP,
    POOLS_TOP_BYTES
};

static void
pools_cell(struct heap_position *position, size_t column, struct value *out)
{
    const struct pool_row *row = &position->source->pools.list[position->at];

    switch (column) {
    case POOLS_SNAPSHOT:
        cell_text(out, position->source->label);
        break;
    case POOLS_BASE:
        cell_text(out, position->source->base);
        break;
    case POOLS_POOL:
        cell_known(out, row->pool);
        break;
    case POOLS_GROWN:
        cell_estimate(out, row->bytes);
        break;
    case POOLS_ERROR:
        cell_estimate(out, sqrt(row->variance));
        break;
    case POOLS_OBJECTS:
        cell_estimate(out, row->objects);
        break;
    case POOLS_SIGNIFICANT:
        out->type = VALUE_INT;
        out->integer = row->significant;
        break;
    case POOLS_TOP:
        cell_known(out, row->top);
        break;
    case POOLS_TOP_BYTES:
        if (*row->top)
            cell_estimate(out, row->top_bytes);
        break;
    default:
        break;
    }
}

static const struct catalog_column pools[] = {
    {"snapshot", &type_name_nn, HEAP_SNAPSHOT_COMMENT},
    {"base", &type_name_nn,
     "What it is compared with: base = '...' must name it"},
    {"pool", &type_name, "As in heap_threads"},
    {"grown_bytes", &type_bigint_nn,
     "More in use than before, allocated by its threads"},
    {"error", &type_ubigint_nn, "Its standard error"},
    {"grown_objects", &type_bigint_nn, "More objects"},
    {"significant", &type_boolean_nn,
     "grown_bytes is no sampling noise, as in heap_diff"},
    {"top_function", &type_text,
     "The function that itself grew most in the pool; NULL: none grew"},
    {"top_bytes", &type_bigint, "Bytes by which it grew"},
};

static const struct heap_walk pools_walk = {
    HEAP_POOLS, 100, 100, pools_cell, .compares = true, .keyless = true};

/* ---- heap_ages ---- */

enum {
    AGES_SNAPSHOT,
    AGES_STACK,
    AGES_FUNCTION,
    AGES_AGE,
    AGES_FROM,
    AGES_BYTES,
    AGES_OBJECTS
};

static void
ages_cell(struct heap_position *position, size_t column, struct value *out)
{
    const struct age_row *row = &position->source->parts.ages[position->at];

    switch (column) {
    case AGES_SNAPSHOT:
        cell_text(out, position->source->label);
        break;
    case AGES_STACK:
        cell_int(out, (uint64_t)row->stack + 1);
        break;
    case AGES_FUNCTION:
        set_leaf(position, out);
        break;
    case AGES_AGE:
        cell_text(out, heap_age_name(row->age));
        break;
    case AGES_FROM:
        cell_int(out, heap_age_from_s(row->age));
        break;
    case AGES_BYTES:
        cell_estimate(out, row->bytes);
        break;
    case AGES_OBJECTS:
        cell_estimate(out, row->objects);
        break;
    default:
        break;
    }
}

static const struct catalog_column ages[] = {
    CATALOG_NODE_ID,
    {"snapshot", &type_name, HEAP_SNAPSHOT_COMMENT, CATALOG_KEY},
    {"stack", &type_ubigint, "As in heap_stacks", CATALOG_KEY},
    {"function", &type_text,
     "Its leaf, which allocates; NULL where all frames are the allocator's"},
    {"age", &type_name_nn,
     "How long ago it was allocated: under 1 s, 1 s to 10 s, 10 s to 1 min, "
     "1 min to 10 min, 10 min to 1 h, 1 h to 6 h, 6 h to 1 day, over 1 day"},
    {"age_from_s", &type_ubigint, "Where that begins, in seconds", CATALOG_KEY},
    {"bytes", &type_ubigint_nn, "In use"},
    {"objects", &type_ubigint_nn, "In use"},
};

static const struct heap_walk ages_walk = {HEAP_AGES, 20000, 4, ages_cell};

/* ---- heap_churn ---- */

enum {
    CHURN_SNAPSHOT,
    CHURN_STACK,
    CHURN_FUNCTION,
    CHURN_ALLOCATED_BYTES,
    CHURN_FREED_BYTES,
    CHURN_ALLOCATED_OBJECTS,
    CHURN_FREED_OBJECTS
};

/* Sets a rate per second: of all that was ever allocated, or of what was
 * freed, which is what is no longer in use. */
static void
set_rate(const struct heap_position *position, double ever, double in_use,
         struct value *out)
{
    double sum = ever > in_use ? ever - in_use : 0;

    out->type = VALUE_DOUBLE;
    out->real =
        round(sum / (double)position->source->profile->counted_ms * 1e6) / 1e3;
}

static void
churn_cell(struct heap_position *position, size_t column, struct value *out)
{
    const struct profile_stack *stack =
        &position->source->profile->stacks[position->at];

    switch (column) {
    case CHURN_SNAPSHOT:
        cell_text(out, position->source->label);
        break;
    case CHURN_STACK:
        cell_int(out, (uint64_t)position->at + 1);
        break;
    case CHURN_FUNCTION:
        set_leaf(position, out);
        break;
    case CHURN_ALLOCATED_BYTES:
        set_rate(position, stack->bytes_ever, 0, out);
        break;
    case CHURN_FREED_BYTES:
        set_rate(position, stack->bytes_ever, stack->bytes, out);
        break;
    case CHURN_ALLOCATED_OBJECTS:
        set_rate(position, stack->objects_ever, 0, out);
        break;
    case CHURN_FREED_OBJECTS:
        set_rate(position, stack->objects_ever, stack->objects, out);
        break;
    default:
        break;
    }
}

static const struct catalog_column churn[] = {
    CATALOG_NODE_ID,
    {"snapshot", &type_name, HEAP_SNAPSHOT_COMMENT, CATALOG_KEY},
    {"stack", &type_ubigint, "As in heap_stacks", CATALOG_KEY},
    {"function", &type_text,
     "Its leaf, which allocates; NULL where all frames are the allocator's"},
    {"allocated_bytes", &type_double_nn,
     "Bytes per second since the recorder's first sample"},
    {"freed_bytes", &type_double_nn,
     "Bytes per second since the recorder's first sample"},
    {"allocated_objects", &type_double_nn,
     "Objects per second since the recorder's first sample"},
    {"freed_objects", &type_double_nn,
     "Objects per second since the recorder's first sample"},
};

static const struct heap_walk churn_walk = {HEAP_CHURN, 20000, 1, churn_cell};

const struct catalog_table tables_samples[] = {
    {"heapwire", "heap_threads", CATALOG_OWN_COLUMNS(threads),
     .comment = "What each thread has allocated that is in use",
     .privilege = PRIVILEGE_PROFILE, .walk = &threads_walk},
    {"heapwire", "heap_ages", CATALOG_OWN_COLUMNS(ages),
     .comment = "What is in use, by call stack and age",
     .privilege = PRIVILEGE_PROFILE, .walk = &ages_walk},
    {"heapwire", "heap_churn", CATALOG_OWN_COLUMNS(churn),
     .comment = "What is allocated and freed a second, by call stack",
     .privilege = PRIVILEGE_PROFILE, .walk = &churn_walk},
    CATALOG_OF_ALL("heap_threads", threads, PRIVILEGE_PROFILE,
                   &tables_samples[0]),
    {"heapwire", "heap_pool_diff", CATALOG_COLUMNS(pools),
     .comment = "What grew from one snapshot to another, by pool of threads",
     .privilege = PRIVILEGE_PROFILE, .walk = &pools_walk},
    CATALOG_OF_ALL("heap_ages", ages, PRIVILEGE_PROFILE, &tables_samples[1]),
    CATALOG_OF_ALL("heap_churn", churn, PRIVILEGE_PROFILE, &tables_samples[2]),
    {NULL},
};
