/*
 * tables_heap.c - a heap profile as tables: functions, differences, stacks,
 * frames and a flame graph's boxes.
 *
 * This file has columns and cells alone; heap_walk.c moves through the
 * snapshot.  Names and weights are the call graph's: the allocator's own
 * frames are left out, and a stack of such frames alone belongs to no
 * function.  Without a condition on the snapshot it is a fresh one, called
 * 'now'; with one, each kept snapshot that meets it.  A name that no snapshot
 * has is an error: no rows would look like an empty heap.
 */
#include <math.h>
#include <string.h>

#include "catalog_tables.h"
#include "functions.h"
#include "handle.h"
#include "heap_walk.h"
#include "profile.h"
#include "select_sources.h"
#include "headline.h"
#include "snapshot.h"
#include "sql.h"
#include "texts.h"

/* What a column of heap_functions or heap_diff shows. */
enum shown {
    SNAPSHOT,
    BASE,
    FUNCTION,
    MODULE,
    FLAT_BYTES,
    FLAT_PERCENT,
    FLAT_ERROR,
    FLAT_OBJECTS,
    CUM_BYTES,
    CUM_PERCENT,
    CUM_ERROR,
    CUM_OBJECTS,
    SIGNIFICANT
};

/* Sets a percentage, rounded to hundredths. */
static void
set_percent(struct value *out, double part, double whole)
{
    out->type = VALUE_DOUBLE;
    out->real = whole > 0 ? round(part / whole * 10000) / 100 : 0;
}

static void
set_function_cell(const struct heap_position *position, enum shown what,
                  struct value *out)
{
    const struct functions *functions = position->source->functions;
    const struct function *f = &functions->list[heap_position_index(position)];

    switch (what) {
    case SNAPSHOT:
        cell_text(out, position->source->label);
        break;
    case BASE:
        cell_text(out, position->source->base);
        break;
    case FUNCTION:
        cell_text(out, f->name);
        break;
    case MODULE:
        cell_known(out, f->module);
        break;
    case FLAT_BYTES:
        cell_estimate(out, f->flat_bytes);
        break;
    case FLAT_PERCENT:
        set_percent(out, f->flat_bytes, functions->bytes);
        break;
    case FLAT_ERROR:
        cell_estimate(out, sqrt(f->flat_variance));
        break;
    case FLAT_OBJECTS:
        cell_estimate(out, f->flat_objects);
        break;
    case CUM_BYTES:
        cell_estimate(out, f->cumulative_bytes);
        break;
    case CUM_PERCENT:
        set_percent(out, f->cumulative_bytes, functions->bytes);
        break;
    case CUM_ERROR:
        cell_estimate(out, sqrt(f->cumulative_variance));
        break;
    case CUM_OBJECTS:
        cell_estimate(out, f->cumulative_objects);
        break;
    case SIGNIFICANT:
        out->type = VALUE_INT;
        out->integer = significance_is(
            f->cumulative_bytes, f->cumulative_variance, functions->errors);
        break;
    }
}

/* ---- heap_functions ---- */

void
heap_functions_cell(struct heap_position *position, size_t column,
                    struct value *out)
{
    static const enum shown columns[] = {SNAPSHOT,    FUNCTION,     MODULE,
                                         FLAT_BYTES,  FLAT_PERCENT, CUM_BYTES,
                                         CUM_PERCENT, FLAT_OBJECTS, CUM_OBJECTS,
                                         FLAT_ERROR,  CUM_ERROR};

    set_function_cell(position, columns[column], out);
}

static const struct catalog_column functions[] = {
    CATALOG_NODE_ID,
    {"snapshot", &type_name_nn, HEAP_SNAPSHOT_COMMENT},
    {"function", &type_text_nn,
     "As in the call graph; (inline) follows inlined ones"},
    {"module", &type_text, "The program or library that has it"},
    {"flat_bytes", &type_ubigint_nn,
     "In use, allocated by the function itself"},
    {"flat_percent", &type_double_nn,
     "Percent of all bytes that are in the call graph"},
    {"cum_bytes", &type_ubigint_nn,
     "In use, allocated by it and whatever it called"},
    {"cum_percent", &type_double_nn,
     "Percent of all bytes that are in the call graph"},
    {"flat_objects", &type_ubigint_nn,
     "In use, allocated by the function itself"},
    {"cum_objects", &type_ubigint_nn,
     "In use, allocated by it and whatever it called"},
    {"flat_error", &type_ubigint_nn,
     "The standard error of flat_bytes, by sampling"},
    {"cum_error", &type_ubigint_nn, "The standard error of cum_bytes"},
};

static const struct heap_walk functions_walk = {HEAP_FUNCTIONS, 3000, 1,
                                                heap_functions_cell};

/* ---- heap_diff ---- */

static void
diff_cell(struct heap_position *position, size_t column, struct value *out)
{
    static const enum shown columns[] = {
        SNAPSHOT,  BASE,      FUNCTION,     MODULE,      FLAT_BYTES, FLAT_ERROR,
        CUM_BYTES, CUM_ERROR, FLAT_OBJECTS, CUM_OBJECTS, SIGNIFICANT};

    set_function_cell(position, columns[column], out);
}

static const struct catalog_column diff[] = {
    {"snapshot", &type_name_nn,
     "The kept snapshot that snapshot = '...' asks for; else a fresh one, now"},
    {"base", &type_name_nn,
     "What it is compared with: base = '...' must name it"},
    {"function", &type_text_nn, "As in heap_functions"},
    {"module", &type_text, "The program or library that has it"},
    {"flat_bytes", &type_bigint_nn,
     "More in use than before, allocated by the function itself"},
    {"flat_error", &type_ubigint_nn,
     "Its standard error, by the sampling of what was allocated and freed "
     "between"},
    {"cum_bytes", &type_bigint_nn,
     "More in use than before, allocated by it and whatever it called"},
    {"cum_error", &type_ubigint_nn, "Its standard error"},
    {"flat_objects", &type_bigint_nn, "More objects, of the function itself"},
    {"cum_objects", &type_bigint_nn,
     "More objects, of it and whatever it called"},
    {"significant", &type_boolean_nn,
     "cum_bytes is no sampling noise: of a hundred differences in which "
     "nothing grew one has any function that is"},
};

static const struct heap_walk diff_walk = {HEAP_FUNCTIONS, 3000, 1, diff_cell,
                                           true};

static const char *
frame_name(const struct heap_position *position, size_t frame)
{
    return texts_get(position->source->functions->names.texts,
                     position->frames[frame].name);
}

static void
set_buffered(const struct heap_position *position, struct value *out)
{
    out->type = VALUE_TEXT;
    out->data = position->text.data;
    /* A text that did not fit becomes too large for SQLite, which then fails
     * the statement rather than show a part. */
    out->size =
        position->text.failed ? SELECT_VALUE_MAX + 1 : position->text.size;
}

/* ---- heap_stacks ---- */

enum {
    STACKS_SNAPSHOT,
    STACKS_STACK,
    STACKS_DEPTH,
    STACKS_BYTES,
    STACKS_OBJECTS,
    STACKS_FUNCTION,
    STACKS_COLLAPSED,
    STACKS_SIZE_CLASS
};

/* Writes "main;serve;parse", the root first, as flame graphs read it.  A ;
 * within a name (Rust's [u8; 4]) would split it and becomes a colon. */
static void
set_collapsed(struct heap_position *position, struct value *out)
{
    struct buffer *text = &position->text;

    buffer_clear(text);
    for (size_t i = position->frame_count; i > 0; i--) {
        size_t start = text->size;

        buffer_text(text, frame_name(position, i - 1));
        for (size_t k = start; k < text->size; k++)
            if (text->data[k] == ';')
                text->data[k] = ':';
        if (i > 1)
            buffer_char(text, ';');
    }
    set_buffered(position, out);
}

void
heap_stacks_cell(struct heap_position *position, size_t column,
                 struct value *out)
{
    const struct profile_stack *stack =
        &position->source->profile->stacks[position->at];

    switch (column) {
    case STACKS_SNAPSHOT:
        cell_text(out, position->source->label);
        break;
    case STACKS_STACK:
        cell_int(out, (uint64_t)position->at + 1);
        break;
    case STACKS_DEPTH:
        cell_int(out, position->frame_count);
        break;
    case STACKS_BYTES:
        cell_estimate(out, stack->bytes);
        break;
    case STACKS_OBJECTS:
        cell_estimate(out, stack->objects);
        break;
    case STACKS_FUNCTION:
        if (position->frame_count > 0)
            cell_text(out, frame_name(position, 0));
        break;
    case STACKS_COLLAPSED:
        if (position->frame_count > 0)
            set_collapsed(position, out);
        break;
    case STACKS_SIZE_CLASS:
        if (stack->size_class > 0)
            cell_int(out, stack->size_class);
        break;
    default:
        break;
    }
}

static const struct catalog_column stacks[] = {
    {"snapshot", &type_name, HEAP_SNAPSHOT_COMMENT, CATALOG_KEY},
    {"stack", &type_ubigint, "Its number within the snapshot, from 1",
     CATALOG_KEY},
    {"depth", &type_ubigint_nn, "Frames without the allocator's"},
    {"bytes", &type_ubigint_nn, "In use"},
    {"objects", &type_ubigint_nn, "In use"},
    {"function", &type_text,
     "The leaf, which allocates; NULL where all frames are the allocator's"},
    {"folded", &type_longtext,
     "The collapsed stack: its functions, the root first, as flamegraph.pl "
     "reads it"},
    {"size_class", &type_ubigint,
     "Bytes of jemalloc's size class that most of bytes are of; NULL unknown"},
};

static const struct heap_walk stacks_walk = {HEAP_STACKS, 20000, 1,
                                             heap_stacks_cell};

/* ---- heap_frames ---- */

enum {
    FRAMES_SNAPSHOT,
    FRAMES_STACK,
    FRAMES_DEPTH,
    FRAMES_FUNCTION,
    FRAMES_SYMBOL,
    FRAMES_FILE,
    FRAMES_LINE,
    FRAMES_INLINED,
    FRAMES_MODULE,
    FRAMES_MODULE_OFFSET,
    FRAMES_BYTES,
    FRAMES_OBJECTS
};

static void
frames_cell(struct heap_position *position, size_t column, struct value *out)
{
    const struct profile *profile = position->source->profile;
    const struct profile_stack *stack = &profile->stacks[position->at];
    const struct stack_frame *at = &position->frames[position->frame];
    const struct location *location = &profile->locations[at->location];
    const struct frame *frame = &location->frames[at->frame];

    switch (column) {
    case FRAMES_SNAPSHOT:
        cell_text(out, position->source->label);
        break;
    case FRAMES_STACK:
        cell_int(out, (uint64_t)position->at + 1);
        break;
    case FRAMES_DEPTH:
        cell_int(out, position->frame);
        break;
    case FRAMES_FUNCTION:
        cell_text(out, frame_name(position, position->frame));
        break;
    case FRAMES_SYMBOL:
        cell_text(out, frame->function);
        break;
    case FRAMES_FILE:
        cell_known(out, frame->file);
        break;
    case FRAMES_LINE:
        if (frame->line)
            cell_int(out, frame->line);
        break;
    case FRAMES_INLINED:
        /* An address has the inlined functions first; only the last frame is
         * called. */
        cell_int(out, at->frame + 1 < location->frame_count);
        break;
    case FRAMES_MODULE:
        cell_known(out, location->module);
        break;
    case FRAMES_MODULE_OFFSET:
        if (*location->module)
            cell_int(out, location->module_offset);
        break;
    case FRAMES_BYTES:
        cell_estimate(out, stack->bytes);
        break;
    case FRAMES_OBJECTS:
        cell_estimate(out, stack->objects);
        break;
    default:
        break;
    }
}

static const struct catalog_column frames[] = {
    {"snapshot", &type_name, HEAP_SNAPSHOT_COMMENT, CATALOG_KEY},
    {"stack", &type_ubigint, "As in heap_stacks", CATALOG_KEY},
    {"depth", &type_ubigint, "0 for the leaf, which allocates", CATALOG_KEY},
    {"function", &type_text_nn, "As in heap_functions"},
    {"symbol", &type_longtext_nn, "The function's full name"},
    {"file", &type_text, "The source file; NULL: unknown"},
    {"line", &type_ubigint, "The line in file; NULL: unknown"},
    {"inlined", &type_boolean_nn, "Compiled into the next frame"},
    {"module", &type_text, "The program or library"},
    {"module_offset", &type_ubigint, "The address as addr2line takes it"},
    {"bytes", &type_ubigint_nn, "In use, of the whole stack"},
    {"objects", &type_ubigint_nn, "In use, of the whole stack"},
};

static const struct heap_walk frames_walk = {HEAP_FRAMES, 600000, 30,
                                             frames_cell};

/* ---- heap_flame_graph ---- */

enum { CALLS_SNAPSHOT, CALLS_FRAME, CALLS_LEVEL, CALLS_LABEL, CALLS_VALUE };

static void
calls_cell(struct heap_position *position, size_t column, struct value *out)
{
    const struct call_rows *calls = &position->source->calls;

    switch (column) {
    case CALLS_SNAPSHOT:
        cell_text(out, position->source->label);
        break;
    case CALLS_FRAME:
        cell_int(out, (uint64_t)position->at + 1);
        break;
    case CALLS_LEVEL:
        cell_int(out, call_row_depth(calls, position->at));
        break;
    case CALLS_LABEL:
        buffer_clear(&position->text);
        call_row_name(calls, position->at, &position->text);
        set_buffered(position, out);
        break;
    case CALLS_VALUE:
        cell_estimate(out, calls->list[position->at].total);
        break;
    default:
        cell_estimate(out, call_row_self(calls, position->at));
        break;
    }
}

/* The names of the last four are those that Grafana's flame graph panel looks
 * for.  They are signed, since the panel takes unsigned numbers for texts. */
static const struct catalog_column calls[] = {
    {"snapshot", &type_name, HEAP_SNAPSHOT_COMMENT, CATALOG_KEY},
    {"frame", &type_bigint, "Its number, callers first, from 1", CATALOG_KEY},
    {"level", &type_bigint_nn, "0 for the root"},
    {"label", &type_text_nn, "The function, as in heap_functions"},
    {"value", &type_bigint_nn, "In use, allocated by it and what it called"},
    {"self", &type_bigint_nn, "In use, allocated by the function itself"},
};

static const struct heap_walk calls_walk = {HEAP_CALLS, 20000, 1, calls_cell};

const struct catalog_table tables_heap[] = {
    {"heapwire", "heap_flame_graph", CATALOG_COLUMNS(calls),
     .comment =
         "The calls as a flame graph, depth first, callers before callees",
     .privilege = PRIVILEGE_PROFILE, .walk = &calls_walk},
    {"heapwire", "heap_stacks", CATALOG_COLUMNS(stacks),
     .comment = "Call stacks, and what was allocated there that is in use",
     .privilege = PRIVILEGE_PROFILE, .walk = &stacks_walk},
    {"heapwire", "heap_frames", CATALOG_COLUMNS(frames),
     .comment = "The frames of the call stacks, a row each",
     .privilege = PRIVILEGE_PROFILE, .walk = &frames_walk},
    {"heapwire", "heap_functions", CATALOG_OWN_COLUMNS(functions),
     .comment = "What each function has allocated that is in use",
     .privilege = PRIVILEGE_PROFILE, .walk = &functions_walk},
    CATALOG_OF_ALL("heap_functions", functions, PRIVILEGE_PROFILE,
                   &tables_heap[3]),
    {"heapwire", "heap_diff", CATALOG_COLUMNS(diff),
     .comment = "What grew from one snapshot to another, by function",
     .privilege = PRIVILEGE_PROFILE, .walk = &diff_walk},
    {NULL},
};
