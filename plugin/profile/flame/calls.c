/*
 * calls.c - see calls.h.
 *
 * The JSON of a tree could be nested objects, but a tree of 100,000 frames is
 * then large and slow to read, and as deep as the deepest stack, which some
 * parsers refuse.  So it is a table in columns: the depths give the tree back,
 * a name is written once and repeated as a number, and numbers compress well.
 *
 * Called on the thread that renders the view, and by flamegraph.c for the list
 * within its picture.
 */
#include "calls.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "buffer.h"
#include "call_tree.h"
#include "headline.h"
#include "errors.h"
#include "clean_text.h"
#include "memory.h"
#include "profile.h"
#include "texts.h"
#include "view_options.h"

enum { TITLE_BYTES = 100, NOTE_BYTES = 8000, SCRATCH_MAX = 1 << 16 };

struct listing {
    const struct profile *profile;
    const struct call_tree *tree;
    const struct view_options *options;
    struct buffer *out, scratch;
    struct call_rows rows;
    /* by text of the tree: 1 + its index in "names"; 0: not used yet */
    uint32_t *numbers;
    uint32_t *named; /* by index in "names": the first row with that name */
    uint32_t name_count;
};

static int
prepare_call_rows(struct listing *l, struct error *err)
{
    if (call_rows_init(&l->rows, l->tree, l->options, err) != 0)
        return -1;
    l->named = mem_zalloc((size_t)l->rows.count + 1, sizeof(*l->named));
    l->numbers =
        mem_zalloc((size_t)l->tree->text_count + 1, sizeof(*l->numbers));
    if (l->named && l->numbers)
        return 0;
    error_memory(err, "the list of calls");
    return -1;
}

/* ---- as JSON ---- */

static void
add_shown(struct listing *l, const char *text, size_t max)
{
    buffer_clear(&l->scratch);
    shown_name(text, max, &l->scratch);
    json_append_string(l->scratch.size ? l->scratch.data : "", l->scratch.size,
                       l->out);
    l->out->failed |= l->scratch.failed;
}

static void
begin_json_array(struct listing *l, const char *key)
{
    buffer_format(l->out, ",\n\"%s\":[", key);
}

static void
add_json_comma(struct listing *l, uint32_t i)
{
    if (i > 0)
        buffer_char(l->out, ',');
}

static void
add_calls_note(struct listing *l, const char *text)
{
    if (!*text)
        return;
    if (l->out->data[l->out->size - 1] != '[')
        buffer_char(l->out, ',');
    add_shown(l, text, NOTE_BYTES);
}

static void
add_calls_head(struct listing *l)
{
    double unseen = unshown_bytes(l->profile, l->options);
    const char *unit = figure_what(l->options->measure);
    char why[EMPTINESS_TEXT];

    buffer_text(l->out, "{\"title\":");
    buffer_clear(&l->scratch);
    headline_add(&l->scratch, l->profile, l->options, TITLE_BYTES);
    json_append_string(l->scratch.size ? l->scratch.data : "", l->scratch.size,
                       l->out);
    l->out->failed |= l->scratch.failed;
    begin_json_array(l, "notes");
    if (l->out->failed)
        return;
    add_calls_note(l, l->profile->memory);
    add_calls_note(l, l->profile->note);
    if (l->profile->truncated)
        add_calls_note(l, "The profile was cut off.");
    add_calls_note(
        l, emptiness_text(l->profile, l->options, l->rows.count > 0, why));
    buffer_format(l->out,
                  "],\n\"measure\":\"%s\",\"unit\":\"%s\",\"space\":%s,"
                  "\"difference\":%s",
                  figure_where(l->options->measure, l->profile->kind), unit,
                  strcmp(unit, "bytes") == 0 ? "true" : "false",
                  l->profile->difference ? "true" : "false");
    if (unseen > 0) {
        buffer_format(l->out, ",\"unseen\":%.0f,\"unseen_why\":", unseen);
        add_shown(l, l->profile->unseen.why, NOTE_BYTES);
    }
}

static void
add_row_name(struct listing *l, uint32_t i)
{
    buffer_clear(&l->scratch);
    call_row_name(&l->rows, i, &l->scratch);
    json_append_string(l->scratch.size ? l->scratch.data : "", l->scratch.size,
                       l->out);
    l->out->failed |= l->scratch.failed;
}

/* Names are numbered in the order in which they first occur.  A row that sums
 * callees up, and the root, have names of their own. */
static void
add_numbers(struct listing *l)
{
    begin_json_array(l, "name");
    for (uint32_t i = 0; i < l->rows.count; i++) {
        const struct call_row *row = &l->rows.list[i];
        uint32_t *number = &l->numbers[l->tree->nodes[row->node].text];
        uint32_t own = 0;

        if (row->left_out || row->node == 0)
            number = &own;
        if (*number == 0) {
            l->named[l->name_count++] = i;
            *number = l->name_count;
        }
        add_json_comma(l, i);
        buffer_format(l->out, "%u", *number - 1);
    }
    buffer_char(l->out, ']');
}

static void
add_names(struct listing *l)
{
    begin_json_array(l, "names");
    for (uint32_t i = 0; i < l->name_count; i++) {
        add_json_comma(l, i);
        add_row_name(l, l->named[i]);
    }
    buffer_char(l->out, ']');
}

static const char *
listed_name_module(const struct listing *l, uint32_t name)
{
    const struct call_row *row = &l->rows.list[l->named[name]];

    return row->left_out ? "" : l->tree->nodes[row->node].module;
}

static int
add_calls_modules(struct listing *l, struct error *err)
{
    /* Modules belong to names, of which there are fewer than rows. */
    struct texts *modules = texts_new_borrowing(l->tree->arena, false);
    uint32_t i = 0, number;

    begin_json_array(l, "module");
    for (; modules && i < l->name_count; i++) {
        if (texts_add_lasting(modules, listed_name_module(l, i), &number) != 0)
            break;
        add_json_comma(l, i);
        buffer_format(l->out, "%u", number);
    }
    buffer_char(l->out, ']');
    begin_json_array(l, "modules");
    for (uint32_t k = 0; modules && k < texts_count(modules); k++) {
        add_json_comma(l, k);
        add_shown(l, texts_get(modules, k), CALL_ROWS_NAME_MAX);
    }
    buffer_char(l->out, ']');
    texts_free(modules);
    if (i == l->name_count)
        return 0;
    error_memory(err, "the list of calls");
    return -1;
}

static double
listed_call_depth(const struct listing *l, uint32_t i)
{
    return call_row_depth(&l->rows, i);
}

static double
listed_call_total(const struct listing *l, uint32_t i)
{
    return l->rows.list[i].total;
}

static double
listed_call_self(const struct listing *l, uint32_t i)
{
    return call_row_self(&l->rows, i);
}

static double
changed_of(const struct listing *l, uint32_t i)
{
    return l->rows.list[i].changed;
}

static double
noise_of(const struct listing *l, uint32_t i)
{
    const struct call_row *row = &l->rows.list[i];

    return !row->left_out &&
           call_tree_is_noise(l->tree, &l->tree->nodes[row->node]);
}

static const struct {
    const char *key;
    double (*value)(const struct listing *l, uint32_t i);
    bool of_differences;
} columns[] = {{"depth", listed_call_depth, false},
               {"total", listed_call_total, false},
               {"self", listed_call_self, false},
               {"changed", changed_of, true},
               {"noise", noise_of, true}};

static int
add_columns(struct listing *l, struct error *err)
{
    for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
        if (columns[c].of_differences && !l->profile->difference)
            continue;
        begin_json_array(l, columns[c].key);
        for (uint32_t i = 0; i < l->rows.count && !l->out->failed; i++) {
            if (view_cancelled(l->options, i, err))
                return -1;
            add_json_comma(l, i);
            /* + 0.0 makes -0 a 0 */
            buffer_format(l->out, "%.0f", round(columns[c].value(l, i)) + 0.0);
        }
        buffer_char(l->out, ']');
    }
    buffer_text(l->out, "}\n");
    return 0;
}

int
calls_add(const struct profile *profile, const struct call_tree *tree,
          const struct view_options *options, struct buffer *out,
          struct error *err)
{
    struct view_options view = profile_view(profile, options);
    struct listing l = {
        .profile = profile, .tree = tree, .options = &view, .out = out};
    int rc = -1;

    buffer_init(&l.scratch, SCRATCH_MAX);
    if (prepare_call_rows(&l, err) == 0) {
        add_calls_head(&l);
        add_numbers(&l);
        add_names(&l);
        if (add_calls_modules(&l, err) == 0)
            rc = add_columns(&l, err);
    }
    if (rc == 0 && out->failed) {
        error_set(err, ER_OUT_OF_MEMORY,
                  "the list of calls is larger than %zu bytes or memory ran "
                  "out",
                  out->max);
        rc = -1;
    }
    call_rows_fini(&l.rows);
    mem_free(l.named);
    mem_free(l.numbers);
    buffer_fini(&l.scratch);
    return rc;
}

int
calls_write(const struct profile *profile, const struct view_options *options,
            struct buffer *out, struct error *err)
{
    struct call_tree *tree = call_tree_new(profile, options, CALL_TREE_SHORT,
                                           CALL_TREE_BY_NAME, err);
    int rc;

    if (!tree)
        return -1;
    rc = calls_add(profile, tree, options, out, err);
    call_tree_free(tree);
    return rc;
}
