/*
 * tables_cpu.c - profiles of time as tables: what ran (cpu:10), or where
 * threads were while the clock went on (wall:10).
 *
 * A profile of time counts its samples as objects and their nanoseconds as
 * bytes, so most columns are those of tables_heap.c.  Taking one lasts as long
 * as its name says: so without a condition on the snapshot none is taken, and
 * only kept ones are here.
 */
#include <math.h>

#include "catalog_tables.h"
#include "functions.h"
#include "heap_walk.h"
#include "profile.h"
#include "select_sources.h"
#include "sql.h"

#define SNAPSHOT_COMMENT                                                       \
    "A condition such as cpu:10 or wall:10:20 takes one; without it, each "    \
    "kept one"

/* Sets seconds, rounded to microseconds. */
static void
set_seconds(struct value *out, double nanoseconds)
{
    out->type = VALUE_DOUBLE;
    out->real = round(nanoseconds / 1000) / 1000000;
}

/* ---- cpu_functions ---- */

enum {
    FUNCTIONS_SNAPSHOT,
    FUNCTIONS_FUNCTION,
    FUNCTIONS_MODULE,
    FUNCTIONS_SELF_SAMPLES,
    FUNCTIONS_SELF_TIME,
    FUNCTIONS_SELF_PERCENT,
    FUNCTIONS_TOTAL_SAMPLES,
    FUNCTIONS_TOTAL_TIME,
    FUNCTIONS_TOTAL_PERCENT,
    FUNCTIONS_SELF_ERROR,
    FUNCTIONS_TOTAL_ERROR
};

static void
functions_cell(struct heap_position *position, size_t column, struct value *out)
{
    /* The columns of heap_functions that show the same. */
    static const size_t same[] = {
        [FUNCTIONS_SNAPSHOT] = 0,     [FUNCTIONS_FUNCTION] = 1,
        [FUNCTIONS_MODULE] = 2,       [FUNCTIONS_SELF_SAMPLES] = 7,
        [FUNCTIONS_SELF_PERCENT] = 4, [FUNCTIONS_TOTAL_SAMPLES] = 8,
        [FUNCTIONS_TOTAL_PERCENT] = 6};
    const struct function *f =
        &position->source->functions->list[heap_position_index(position)];

    switch (column) {
    case FUNCTIONS_SELF_TIME:
        set_seconds(out, f->flat_bytes);
        break;
    case FUNCTIONS_TOTAL_TIME:
        set_seconds(out, f->cumulative_bytes);
        break;
    case FUNCTIONS_SELF_ERROR:
        set_seconds(out, sqrt(f->flat_variance));
        break;
    case FUNCTIONS_TOTAL_ERROR:
        set_seconds(out, sqrt(f->cumulative_variance));
        break;
    default:
        heap_functions_cell(position, same[column], out);
        break;
    }
}

static const struct catalog_column functions[] = {
    CATALOG_NODE_ID,
    {"snapshot", &type_name_nn, SNAPSHOT_COMMENT},
    {"function", &type_text_nn,
     "As in the call graph; (inline) follows inlined ones"},
    {"module", &type_text, "The program or library that has it"},
    {"flat_samples", &type_ubigint_nn,
     "Samples in which it ran itself; one by ptrace may stand for any time, so "
     "compare flat_time"},
    {"flat_time", &type_double_nn, "Seconds in which it ran itself"},
    {"flat_percent", &type_double_nn, "Percent of all time in the call graph"},
    {"cum_samples", &type_ubigint_nn,
     "Samples in which it or whatever it called ran"},
    {"cum_time", &type_double_nn,
     "Seconds in which it or whatever it called ran"},
    {"cum_percent", &type_double_nn, "Percent of all time in the call graph"},
    {"flat_error", &type_double_nn,
     "The standard error of flat_time, by sampling"},
    {"cum_error", &type_double_nn, "The standard error of cum_time"},
};

static const struct heap_walk functions_walk = {
    HEAP_FUNCTIONS, 3000, 1, functions_cell, .observed = true};

/* ---- cpu_stacks ---- */

enum {
    STACKS_SNAPSHOT,
    STACKS_STACK,
    STACKS_DEPTH,
    STACKS_SAMPLES,
    STACKS_TIME,
    STACKS_FUNCTION,
    STACKS_FOLDED
};

static void
stacks_cell(struct heap_position *position, size_t column, struct value *out)
{
    /* The columns of heap_stacks that show the same. */
    static const size_t same[] = {
        [STACKS_SNAPSHOT] = 0, [STACKS_STACK] = 1,    [STACKS_DEPTH] = 2,
        [STACKS_SAMPLES] = 4,  [STACKS_FUNCTION] = 5, [STACKS_FOLDED] = 6};

    if (column == STACKS_TIME)
        set_seconds(out, position->source->profile->stacks[position->at].bytes);
    else
        heap_stacks_cell(position, same[column], out);
}

static const struct catalog_column stacks[] = {
    {"snapshot", &type_name, SNAPSHOT_COMMENT, CATALOG_KEY},
    {"stack", &type_ubigint, "Its number within the snapshot, from 1",
     CATALOG_KEY},
    {"depth", &type_ubigint_nn, "Frames"},
    {"samples", &type_ubigint_nn,
     "Number of samples; one by ptrace may stand for any time"},
    {"time", &type_double_nn, "Seconds, its weight"},
    {"function", &type_text, "The leaf, which ran"},
    {"folded", &type_longtext,
     "The collapsed stack: its functions, the root first, as flamegraph.pl "
     "reads it"},
};

static const struct heap_walk stacks_walk = {HEAP_STACKS, 20000, 1, stacks_cell,
                                             .observed = true};

const struct catalog_table tables_cpu[] = {
    {"heapwire", "cpu_stacks", CATALOG_COLUMNS(stacks),
     .comment = "Call stacks of a profile of time, cpu:10 or wall:10",
     .privilege = PRIVILEGE_PROFILE, .walk = &stacks_walk},
    {"heapwire", "cpu_functions", CATALOG_OWN_COLUMNS(functions),
     .comment = "What each function took of a profile of time",
     .privilege = PRIVILEGE_PROFILE, .walk = &functions_walk},
    CATALOG_OF_ALL("cpu_functions", functions, PRIVILEGE_PROFILE,
                   &tables_cpu[1]),
    {NULL},
};
