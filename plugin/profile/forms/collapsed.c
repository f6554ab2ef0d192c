/* collapsed.c - see forms.h. */
#include "forms.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "call_tree.h"
#include "errors.h"
#include "memory.h"
#include "shown_name.h"
#include "view_options.h"

enum { NAME_MAX_BYTES = 64 << 10 };

static void
add_name(struct buffer *out, const char *name)
{
    size_t from = out->size;

    shown_name(name, NAME_MAX_BYTES, out);
    for (; !out->failed && from < out->size; from++)
        if (out->data[from] == ';')
            out->data[from] = ':';
}

/* path has room for every node of the longest stack. */
static void
add_line(struct buffer *out, const struct call_tree *tree, uint32_t leaf,
         uint32_t *path)
{
    uint32_t depth = tree->nodes[leaf].depth;

    for (uint32_t at = leaf, i = depth; i-- > 0; at = tree->nodes[at].parent)
        path[i] = at;
    for (uint32_t i = 0; i < depth; i++) {
        if (i > 0)
            buffer_char(out, ';');
        add_name(out, tree->nodes[path[i]].name);
    }
    buffer_format(out, " %.0f\n", trunc(tree->nodes[leaf].self));
}

static int
compare_self(const void *a, const void *b, void *arg)
{
    const struct call_tree_node *nodes = arg;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    double x = fabs(nodes[i].self), y = fabs(nodes[k].self);

    if (x != y)
        return x > y ? -1 : 1;
    return i < k ? -1 : i > k; /* in the dump's order */
}

static int
add_lines(struct buffer *out, const struct call_tree *tree, uint32_t *leaves,
          uint32_t *path, const struct view_options *options, struct error *err)
{
    uint32_t count = 0;

    for (uint32_t i = 1; i < tree->count; i++)
        if (trunc(tree->nodes[i].self) != 0)
            leaves[count++] = i;
    qsort_r(leaves, count, sizeof(*leaves), compare_self, tree->nodes);
    for (uint32_t i = 0; i < count && !out->failed; i++) {
        if (view_cancelled(options, i, err))
            return -1;
        add_line(out, tree, leaves[i], path);
    }
    if (!out->failed)
        return 0;
    error_set(
        err, ER_OUT_OF_MEMORY,
        "the collapsed stacks are larger than %zu bytes or memory ran out",
        out->max);
    return -1;
}

int
collapsed_write(const struct profile *profile,
                const struct view_options *options, struct buffer *out,
                struct error *err)
{
    struct call_tree *tree =
        call_tree_new(profile, options, CALL_TREE_FULL, CALL_TREE_BY_NAME, err);
    uint32_t *leaves, *path, deepest = 0;
    int rc = -1;

    if (!tree)
        return -1;
    for (uint32_t i = 0; i < tree->count; i++)
        if (tree->nodes[i].depth > deepest)
            deepest = tree->nodes[i].depth;
    leaves = mem_zalloc(tree->count, sizeof(*leaves));
    path = mem_zalloc(deepest + 1, sizeof(*path));
    if (leaves && path)
        rc = add_lines(out, tree, leaves, path,
                       options ? options : &view_defaults, err);
    else
        error_memory(err, "the collapsed stacks");
    mem_free(leaves);
    mem_free(path);
    call_tree_free(tree);
    return rc;
}
