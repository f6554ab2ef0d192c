/*
 * tables_heap.c - a heap profile as tables.
 *
 * CREATE TABLE heapwire.heap_functions (
 *     snapshot varchar(64) NOT NULL, function varchar(1024) NOT NULL,
 *     module varchar(1024), flat_bytes bigint unsigned NOT NULL,
 *     flat_percent double NOT NULL, cum_bytes bigint unsigned NOT NULL,
 *     cum_percent double NOT NULL, flat_objects bigint unsigned NOT NULL,
 *     cum_objects bigint unsigned NOT NULL,
 *     flat_error bigint unsigned NOT NULL, cum_error bigint unsigned NOT NULL)
 * CREATE TABLE heapwire.heap_stacks (
 *     snapshot varchar(64) NOT NULL, stack bigint unsigned NOT NULL,
 *     depth bigint unsigned NOT NULL, bytes bigint unsigned NOT NULL,
 *     objects bigint unsigned NOT NULL, function varchar(1024),
 *     folded longtext)
 * CREATE TABLE heapwire.heap_frames (
 *     snapshot varchar(64) NOT NULL, stack bigint unsigned NOT NULL,
 *     depth bigint unsigned NOT NULL, function varchar(1024) NOT NULL,
 *     symbol longtext NOT NULL, file varchar(1024), line bigint unsigned,
 *     inlined tinyint(1) NOT NULL, module varchar(1024),
 *     module_offset bigint unsigned, bytes bigint unsigned NOT NULL,
 *     objects bigint unsigned NOT NULL)
 *
 * Names and weights are the call graph's: the allocator's own frames are left
 * out, and stacks of such functions alone belong to no function.  Without a
 * condition on the snapshot it is a fresh one, called 'now'; with one, each
 * that is kept and asked for.  The name of none is an error: no rows would look
 * like a heap without anything in it.
 */
#include <math.h>
#include <string.h>

#include "catalog_tables.h"
#include "functions.h"
#include "handle.h"
#include "heap_cell.h"
#include "heap_walk.h"
#include "profile.h"
#include "select_pins.h"
#include "snapshot.h"
#include "sql.h"
#include "texts.h"

#define SNAPSHOT_COMMENT                                                       \
    "The kept one that a condition on it asks for; else a fresh one, now"

static void
set_int(struct value *out, uint64_t number)
{
    out->type = VALUE_INT;
    out->integer = number < INT64_MAX ? (int64_t)number : INT64_MAX;
}

/* Rounds to hundredths. */
static void
set_percent(struct value *out, double part, double whole)
{
    out->type = VALUE_DOUBLE;
    out->real = whole > 0 ? round(part / whole * 10000) / 100 : 0;
}

static const char *
frame_name(const struct heap_place *place, size_t frame)
{
    return texts_get(place->pin->functions->names.texts,
                     place->frames[frame].name);
}

/* ---- heap_functions ---- */

enum {
    FUNCTIONS_SNAPSHOT,
    FUNCTIONS_FUNCTION,
    FUNCTIONS_MODULE,
    FUNCTIONS_FLAT_BYTES,
    FUNCTIONS_FLAT_PERCENT,
    FUNCTIONS_CUM_BYTES,
    FUNCTIONS_CUM_PERCENT,
    FUNCTIONS_FLAT_OBJECTS,
    FUNCTIONS_CUM_OBJECTS,
    FUNCTIONS_FLAT_ERROR,
    FUNCTIONS_CUM_ERROR
};

static void
functions_cell(struct heap_place *place, size_t column, struct value *out)
{
    const struct functions *functions = place->pin->functions;
    const struct function *f = &functions->list[heap_place_index(place)];

    switch (column) {
    case FUNCTIONS_SNAPSHOT:
        cell_text(out, place->pin->label);
        break;
    case FUNCTIONS_FUNCTION:
        cell_text(out, f->name);
        break;
    case FUNCTIONS_MODULE:
        cell_known(out, f->module);
        break;
    case FUNCTIONS_FLAT_BYTES:
        cell_estimate(out, f->flat_bytes);
        break;
    case FUNCTIONS_FLAT_PERCENT:
        set_percent(out, f->flat_bytes, functions->bytes);
        break;
    case FUNCTIONS_CUM_BYTES:
        cell_estimate(out, f->cumulative_bytes);
        break;
    case FUNCTIONS_CUM_PERCENT:
        set_percent(out, f->cumulative_bytes, functions->bytes);
        break;
    case FUNCTIONS_FLAT_OBJECTS:
        cell_estimate(out, f->flat_objects);
        break;
    case FUNCTIONS_CUM_OBJECTS:
        cell_estimate(out, f->cumulative_objects);
        break;
    case FUNCTIONS_FLAT_ERROR:
        cell_estimate(out, sqrt(f->flat_variance));
        break;
    case FUNCTIONS_CUM_ERROR:
        cell_estimate(out, sqrt(f->cumulative_variance));
        break;
    default:
        break;
    }
}

static const struct catalog_column functions[] = {
    CATALOG_NODE_ID,
    [1 + FUNCTIONS_SNAPSHOT] = {"snapshot", &type_name, SNAPSHOT_COMMENT,
                                CATALOG_SET},
    [1 +
        FUNCTIONS_FUNCTION] = {"function", &type_text,
                               "As in the call graph; (inline) follows inlined "
                               "ones",
                               CATALOG_SET},
    [1 + FUNCTIONS_MODULE] = {"module", &type_text,
                              "The program or library that has it"},
    [1 + FUNCTIONS_FLAT_BYTES] = {"flat_bytes", &type_ubigint,
                                  "In use, allocated by the function itself",
                                  CATALOG_SET},
    [1 + FUNCTIONS_FLAT_PERCENT] = {"flat_percent", &type_double,
                                    "Of all bytes that are in the call graph",
                                    CATALOG_SET},
    [1 + FUNCTIONS_CUM_BYTES] =
        {"cum_bytes", &type_ubigint,
         "In use, allocated by it and whatever it called", CATALOG_SET},
    [1 + FUNCTIONS_CUM_PERCENT] = {"cum_percent", &type_double,
                                   "Of all bytes that are in the call graph",
                                   CATALOG_SET},
    [1 + FUNCTIONS_FLAT_OBJECTS] = {"flat_objects", &type_ubigint,
                                    "In use, allocated by the function itself",
                                    CATALOG_SET},
    [1 + FUNCTIONS_CUM_OBJECTS] = {"cum_objects", &type_ubigint,
                                   "In use, allocated by it and whatever it "
                                   "called",
                                   CATALOG_SET},
    [1 + FUNCTIONS_FLAT_ERROR] =
        {"flat_error", &type_ubigint,
         "The standard error of flat_bytes, by sampling", CATALOG_SET},
    [1 + FUNCTIONS_CUM_ERROR] = {"cum_error", &type_ubigint,
                                 "The standard error of cum_bytes",
                                 CATALOG_SET},
};

static const struct heap_walk functions_walk = {HEAP_FUNCTIONS, 3000, 1,
                                                functions_cell};

const struct catalog_table table_heap_functions = {
    .database = "heapwire",
    .name = "heap_functions",
    .comment = "What each function has allocated that is in use",
    .columns = functions + 1,
    .column_count = sizeof(functions) / sizeof(functions[0]) - 1,
    .privilege = PRIVILEGE_PROFILE,
    .walk = &functions_walk};

const struct catalog_table table_cluster_heap_functions = {
    .database = "heapwire",
    .name = "cluster_heap_functions",
    .comment = "heapwire.heap_functions of every node",
    .columns = functions,
    .column_count = sizeof(functions) / sizeof(functions[0]),
    .privilege = PRIVILEGE_PROFILE | PRIVILEGE_CLUSTER,
    .of = &table_heap_functions};

/* ---- heap_stacks ---- */

enum {
    STACKS_SNAPSHOT,
    STACKS_STACK,
    STACKS_DEPTH,
    STACKS_BYTES,
    STACKS_OBJECTS,
    STACKS_FUNCTION,
    STACKS_COLLAPSED
};

/* "main;serve;parse": the root first, as flame graphs read it.  A ; within a
 * name (Rust's [u8; 4]) would part it. */
static void
set_collapsed(struct heap_place *place, struct value *out)
{
    struct buffer *text = &place->text;

    buffer_clear(text);
    for (size_t i = place->frame_count; i > 0; i--) {
        size_t start = text->size;

        buffer_text(text, frame_name(place, i - 1));
        for (size_t k = start; k < text->size; k++)
            if (text->data[k] == ';')
                text->data[k] = ':';
        if (i > 1)
            buffer_char(text, ';');
    }
    out->type = VALUE_TEXT;
    out->data = text->data;
    /* SQLite refuses a value of this size */
    out->size = text->failed ? SELECT_VALUE_MAX + 1 : text->size;
}

static void
stacks_cell(struct heap_place *place, size_t column, struct value *out)
{
    const struct profile_stack *stack = &place->pin->profile->stacks[place->at];

    switch (column) {
    case STACKS_SNAPSHOT:
        cell_text(out, place->pin->label);
        break;
    case STACKS_STACK:
        set_int(out, (uint64_t)place->at + 1);
        break;
    case STACKS_DEPTH:
        set_int(out, place->frame_count);
        break;
    case STACKS_BYTES:
        cell_estimate(out, stack->bytes);
        break;
    case STACKS_OBJECTS:
        cell_estimate(out, stack->objects);
        break;
    case STACKS_FUNCTION:
        if (place->frame_count > 0)
            cell_text(out, frame_name(place, 0));
        break;
    case STACKS_COLLAPSED:
        if (place->frame_count > 0)
            set_collapsed(place, out);
        break;
    default:
        break;
    }
}

static const struct catalog_column stacks[] = {
    [STACKS_SNAPSHOT] = {"snapshot", &type_name, SNAPSHOT_COMMENT, CATALOG_KEY},
    [STACKS_STACK] = {"stack", &type_ubigint,
                      "Its number within the snapshot, from 1", CATALOG_KEY},
    [STACKS_DEPTH] = {"depth", &type_ubigint, "Frames without the allocator's",
                      CATALOG_SET},
    [STACKS_BYTES] = {"bytes", &type_ubigint, "In use", CATALOG_SET},
    [STACKS_OBJECTS] = {"objects", &type_ubigint, "In use", CATALOG_SET},
    [STACKS_FUNCTION] = {"function", &type_text,
                         "The leaf, which allocates; NULL where all frames "
                         "are the allocator's"},
    [STACKS_COLLAPSED] =
        {"folded", &type_longtext,
         "The collapsed stack: its functions, the root first, as "
         "flamegraph.pl reads it"},
};

static const struct heap_walk stacks_walk = {HEAP_STACKS, 20000, 1,
                                             stacks_cell};

const struct catalog_table table_heap_stacks = {
    .database = "heapwire",
    .name = "heap_stacks",
    .comment = "Call stacks, and what was allocated there that is in use",
    .columns = stacks,
    .column_count = sizeof(stacks) / sizeof(stacks[0]),
    .privilege = PRIVILEGE_PROFILE,
    .walk = &stacks_walk};

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
frames_cell(struct heap_place *place, size_t column, struct value *out)
{
    const struct profile *profile = place->pin->profile;
    const struct profile_stack *stack = &profile->stacks[place->at];
    const struct stack_frame *at = &place->frames[place->frame];
    const struct location *location = &profile->locations[at->location];
    const struct frame *frame = &location->frames[at->frame];

    switch (column) {
    case FRAMES_SNAPSHOT:
        cell_text(out, place->pin->label);
        break;
    case FRAMES_STACK:
        set_int(out, (uint64_t)place->at + 1);
        break;
    case FRAMES_DEPTH:
        set_int(out, place->frame);
        break;
    case FRAMES_FUNCTION:
        cell_text(out, frame_name(place, place->frame));
        break;
    case FRAMES_SYMBOL:
        cell_text(out, frame->function);
        break;
    case FRAMES_FILE:
        cell_known(out, frame->file);
        break;
    case FRAMES_LINE:
        if (frame->line)
            set_int(out, frame->line);
        break;
    case FRAMES_INLINED:
        set_int(out, at->frame + 1 < location->frame_count);
        break;
    case FRAMES_MODULE:
        cell_known(out, location->module);
        break;
    case FRAMES_MODULE_OFFSET:
        if (*location->module)
            set_int(out, location->module_offset);
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
    [FRAMES_SNAPSHOT] = {"snapshot", &type_name, SNAPSHOT_COMMENT, CATALOG_KEY},
    [FRAMES_STACK] = {"stack", &type_ubigint, "As in heap_stacks", CATALOG_KEY},
    [FRAMES_DEPTH] = {"depth", &type_ubigint, "0 for the leaf, which allocates",
                      CATALOG_KEY},
    [FRAMES_FUNCTION] = {"function", &type_text, "As in heap_functions",
                         CATALOG_SET},
    [FRAMES_SYMBOL] = {"symbol", &type_longtext, "The function's full name",
                       CATALOG_SET},
    [FRAMES_FILE] = {"file", &type_text, "Of the source; NULL unknown"},
    [FRAMES_LINE] = {"line", &type_ubigint, "Of the file; NULL unknown"},
    [FRAMES_INLINED] = {"inlined", &type_boolean,
                        "Compiled into the next frame", CATALOG_SET},
    [FRAMES_MODULE] = {"module", &type_text, "The program or library"},
    [FRAMES_MODULE_OFFSET] = {"module_offset", &type_ubigint,
                              "The address as addr2line takes it"},
    [FRAMES_BYTES] = {"bytes", &type_ubigint, "In use, of the whole stack",
                      CATALOG_SET},
    [FRAMES_OBJECTS] = {"objects", &type_ubigint, "In use, of the whole stack",
                        CATALOG_SET},
};

static const struct heap_walk frames_walk = {HEAP_FRAMES, 600000, 30,
                                             frames_cell};

const struct catalog_table table_heap_frames = {
    .database = "heapwire",
    .name = "heap_frames",
    .comment = "The frames of the call stacks, a row each",
    .columns = frames,
    .column_count = sizeof(frames) / sizeof(frames[0]),
    .privilege = PRIVILEGE_PROFILE,
    .walk = &frames_walk};
