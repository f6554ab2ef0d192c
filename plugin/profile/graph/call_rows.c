/* call_rows.c - see call_rows.h. */
#include "call_rows.h"

#include <string.h>

#include "buffer.h"
#include "call_tree.h"
#include "errors.h"
#include "memory.h"
#include "view_options.h"

static uint32_t
kept_from(const struct call_tree *tree, const struct call_tree_cut *cut,
          uint32_t i)
{
    while (i && !call_tree_cut_keeps(cut, tree, i))
        i = tree->nodes[i].next;
    return i;
}

/* The frame after that one; 0: there is none. */
static uint32_t
after(const struct call_tree *tree, const struct call_tree_cut *cut,
      uint32_t at)
{
    const struct call_tree_node *nodes = tree->nodes;
    uint32_t next = kept_from(tree, cut, nodes[at].child);

    for (; !next && at; at = nodes[at].parent)
        next = kept_from(tree, cut, nodes[at].next);
    return next;
}

static void
add_rows_of(struct call_rows *rows, const struct call_tree_cut *cut,
            uint32_t at)
{
    const struct call_tree_node *nodes = rows->tree->nodes;
    struct call_row rest = {.node = at};

    rows->list[rows->count++] =
        (struct call_row){at, 0, nodes[at].total, nodes[at].changed};
    for (uint32_t k = nodes[at].child; k; k = nodes[k].next) {
        if (nodes[k].changed == 0 || call_tree_cut_keeps(cut, rows->tree, k))
            continue;
        rest.left_out++;
        rest.total += nodes[k].total;
        rest.changed += nodes[k].changed;
    }
    if (rest.left_out)
        rows->list[rows->count++] = rest;
}

int
call_rows_make(struct call_rows *out, const struct call_tree *tree,
               const struct view_options *options, struct error *err)
{
    struct call_tree_cut cut = call_tree_cut_at(tree, 0, CALL_ROWS_FRAMES_MAX);
    uint32_t at = 0;

    *out = (struct call_rows){.tree = tree};
    out->list = mem_zalloc((size_t)cut.kept * 2 + 1, sizeof(*out->list));
    if (!out->list) {
        error_memory(err, "the list of calls");
        return -1;
    }
    if (cut.kept == 0)
        return 0;
    do {
        if (view_cancelled(options, out->count, err)) {
            call_rows_fini(out);
            return -1;
        }
        add_rows_of(out, &cut, at);
        at = after(tree, &cut, at);
    } while (at);
    return 0;
}

void
call_rows_fini(struct call_rows *rows)
{
    mem_free(rows->list);
    memset(rows, 0, sizeof(*rows));
}

uint32_t
call_row_depth(const struct call_rows *rows, uint32_t i)
{
    const struct call_row *row = &rows->list[i];

    return rows->tree->nodes[row->node].depth + (row->left_out > 0);
}

double
call_row_self(const struct call_rows *rows, uint32_t i)
{
    const struct call_row *row = &rows->list[i];

    return row->left_out ? row->total : rows->tree->nodes[row->node].self;
}

void
call_row_name(const struct call_rows *rows, uint32_t i, struct buffer *out)
{
    const struct call_row *row = &rows->list[i];

    if (row->left_out)
        buffer_format(out, "(%u smaller callee%s)", row->left_out,
                      row->left_out == 1 ? "" : "s");
    else
        shown_name(row->node ? rows->tree->nodes[row->node].name : "all",
                   CALL_ROWS_NAME_MAX, out);
}
