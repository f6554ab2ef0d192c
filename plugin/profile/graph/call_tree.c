/*
 * call_tree.c - see call_tree.h.
 *
 * Every stack walks down from the root, and a hash of (parent, name) finds the
 * child, so building takes time by the number of frames alone; a list of
 * children per node would be searched again and again below a server's main
 * loop.  Nodes are appended when they are first met.  So a parent has a smaller
 * index than its children, and sums, depths and cuts are single passes over an
 * array, without recursion: stacks may be a thousand frames deep.
 *
 * A picture of all nodes would be too large.  call_tree_cut_at() looks for the
 * weight at which just enough nodes are left, by doubling and then halving,
 * each step one pass.  Called on the thread that renders the view.
 */
#include "call_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "errors.h"
#include "hash.h"
#include "headline.h"
#include "memory.h"
#include "profile.h"
#include "stack_names.h"
#include "texts.h"
#include "view_options.h"

enum {
    TREE_MEMORY_MAX = 1 << 30,
    NODES_FIRST = 1024, /* a power of two */
    NODES_MAX = 1 << 23,
    NAME_BYTES_MAX = 1 << 20
};

/* The name of the node for stacks that have no frame left. */
static const char nameless[] = "(no frames)";

struct builder {
    const struct profile *profile;
    const struct view_options *options;
    struct error *err;
    struct call_tree *tree;
    struct stack_names names;
    struct stack_frame *frames; /* of the current stack */
    /* by frame of the symbols: 1 + its full name's number; 0: not made yet */
    uint32_t *full;
    bool full_names;
    struct buffer scratch;

    struct hash_index children; /* nodes by parent and text */
    uint32_t tree_node_capacity;
};

static int
grow_tree_nodes(struct builder *b)
{
    uint32_t room =
        b->tree_node_capacity ? b->tree_node_capacity * 2 : NODES_FIRST;
    struct call_tree_node *nodes;

    if (room > NODES_MAX)
        return -1;
    nodes = mem_realloc(b->tree->nodes, room * sizeof(*nodes));
    if (!nodes)
        return -1;
    b->tree->nodes = nodes;
    if (hash_index_reserve(&b->children, room) != 0)
        return -1;
    b->tree_node_capacity = room;
    return 0;
}

static int
descend_to_child(struct builder *b, uint32_t text, const char *module,
                 uint32_t *at)
{
    uint32_t hash = (uint32_t)hash_pair(hash_seed(b), *at, text);
    struct call_tree *tree = b->tree;
    struct hash_slot *slot;

    if (tree->count == b->tree_node_capacity && grow_tree_nodes(b) != 0)
        return -1;
    slot = hash_index_first(&b->children, hash);
    while (slot->entry && (tree->nodes[slot->entry - 1].parent != *at ||
                           tree->nodes[slot->entry - 1].text != text))
        slot = hash_index_next(&b->children, slot);
    if (slot->entry == 0) {
        tree->nodes[tree->count] =
            (struct call_tree_node){.name = texts_get(b->names.texts, text),
                                    .module = module ? module : "",
                                    .text = text,
                                    .parent = *at,
                                    .depth = tree->nodes[*at].depth + 1};
        if (text >= tree->text_count)
            tree->text_count = text + 1;
        *slot = (struct hash_slot){++tree->count, hash};
    }
    *at = slot->entry - 1;
    return 0;
}

/* The name of a frame as its symbol has it, with arguments.  Made once per
 * frame of a location. */
static int
full_name(struct builder *b, const struct stack_frame *frame, uint32_t *text)
{
    const struct location *location = &b->profile->locations[frame->location];
    uint32_t *known =
        &b->full[b->names.symbols.first[frame->location] + frame->frame];

    if (*known == 0) {
        buffer_clear(&b->scratch);
        buffer_text(&b->scratch, location->frames[frame->frame].function);
        if (frame->frame + 1 < location->frame_count)
            buffer_text(&b->scratch, "[inline]");
        if (b->scratch.failed || texts_add(b->names.texts, b->scratch.data,
                                           b->scratch.size, known) != 0)
            return -1;
        ++*known;
    }
    *text = *known - 1;
    return 0;
}

static int
add_stack_to_tree(struct builder *b, const struct profile_stack *stack)
{
    double weight = profile_value(stack, b->options->measure);
    const struct location *locations = b->profile->locations;
    struct call_tree_node *node;
    uint32_t at = 0, text;
    size_t count;

    if (stack_names_get(&b->names, stack, b->frames, &count) != 0)
        return -1;
    if (b->names.hidden)
        return 0;
    for (size_t i = count; i-- > 0;) {
        text = b->frames[i].name;
        if (b->full_names && full_name(b, &b->frames[i], &text) != 0)
            return -1;
        if (*texts_get(b->names.texts, text) &&
            descend_to_child(b, text, locations[b->frames[i].location].module,
                             &at) != 0)
            return -1;
    }
    if (at == 0 &&
        (texts_add(b->names.texts, nameless, strlen(nameless), &text) != 0 ||
         descend_to_child(b, text, NULL, &at) != 0))
        return -1;
    node = &b->tree->nodes[at];
    node->self += weight;
    if (measure_has_variance(b->options->measure))
        node->variance += stack->variance;
    return 0;
}

/* Children come after their parents, so that a pass from the end adds each node
 * to its parent when it is complete. */
static void
add_up(struct call_tree *tree)
{
    for (uint32_t i = 0; i < tree->count; i++) {
        tree->nodes[i].total = tree->nodes[i].self;
        tree->nodes[i].changed = fabs(tree->nodes[i].self);
    }
    for (uint32_t i = tree->count; i-- > 1;) {
        struct call_tree_node *node = &tree->nodes[i];
        struct call_tree_node *parent = &tree->nodes[node->parent];

        parent->total += node->total;
        parent->changed += node->changed;
        parent->variance += node->variance;
        tree->heaviest = fmax(tree->heaviest, fabs(node->total));
    }
    tree->heaviest = fmax(tree->heaviest, fabs(tree->nodes[0].total));
}

/* The standard errors for tree->errors.  Without memory nothing is
 * significant. */
static double
significance_of_tree(const struct call_tree *tree)
{
    struct significance_change *changes =
        mem_zalloc(tree->count, sizeof(*changes));
    double errors;

    for (uint32_t i = 0; changes && i < tree->count; i++)
        changes[i] = (struct significance_change){tree->nodes[i].total,
                                                  tree->nodes[i].variance};
    errors = changes ? significance_errors(changes, tree->count) : INFINITY;
    mem_free(changes);
    return errors;
}

static int
compare_by_name(const void *a, const void *b, void *arg)
{
    const struct call_tree_node *nodes = arg;
    const struct call_tree_node *x = &nodes[*(const uint32_t *)a];
    const struct call_tree_node *y = &nodes[*(const uint32_t *)b];

    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int
compare_heaviest(const void *a, const void *b, void *arg)
{
    const struct call_tree_node *nodes = arg;
    const struct call_tree_node *x = &nodes[*(const uint32_t *)a];
    const struct call_tree_node *y = &nodes[*(const uint32_t *)b];

    if (x->parent == y->parent && fabs(x->total) != fabs(y->total))
        return fabs(x->total) > fabs(y->total) ? -1 : 1;
    return compare_by_name(a, b, arg);
}

static int
compare_growth(const void *a, const void *b, void *arg)
{
    const struct call_tree_node *nodes = arg;
    const struct call_tree_node *x = &nodes[*(const uint32_t *)a];
    const struct call_tree_node *y = &nodes[*(const uint32_t *)b];

    if (x->parent == y->parent && x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return compare_by_name(a, b, arg);
}

static int
link_children(struct call_tree *tree, enum call_tree_order order,
              const struct view_options *options)
{
    int (*compare)(const void *, const void *, void *) =
        order == CALL_TREE_BY_NAME ? compare_by_name
        : options->by_growth       ? compare_growth
                                   : compare_heaviest;
    uint32_t count = tree->count - 1;
    uint32_t *sorted = mem_zalloc(tree->count, sizeof(*sorted));

    if (!sorted)
        return -1;
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = i + 1;
    qsort_r(sorted, count, sizeof(*sorted), compare, tree->nodes);
    /* From the last on, for each becomes the first of its siblings. */
    for (uint32_t i = count; i-- > 0;) {
        struct call_tree_node *node = &tree->nodes[sorted[i]];

        node->next = tree->nodes[node->parent].child;
        tree->nodes[node->parent].child = sorted[i];
    }
    mem_free(sorted);
    return 0;
}

static int
build_call_tree(struct builder *b, enum call_tree_order order)
{
    const struct profile *profile = b->profile;

    if (stack_names_init(&b->names, profile, b->options, b->tree->arena,
                         b->err) != 0 ||
        grow_tree_nodes(b) != 0)
        return -1;
    /* The root: no node has it as a child. */
    b->tree->nodes[0] = (struct call_tree_node){.name = "", .module = ""};
    b->tree->count = 1;
    b->frames = mem_zalloc(b->names.longest, sizeof(*b->frames));
    b->full = mem_zalloc(b->names.symbols.first[profile->location_count],
                         sizeof(*b->full));
    if (!b->frames || !b->full)
        return -1;
    for (size_t i = 0; i < profile->stack_count; i++) {
        if (view_cancelled(b->options, i, b->err))
            return -1;
        if (add_stack_to_tree(b, &profile->stacks[i]) != 0)
            return -1;
    }
    add_up(b->tree);
    if (b->profile->difference)
        b->tree->errors = significance_of_tree(b->tree);
    return link_children(b->tree, order, b->options);
}

struct call_tree *
call_tree_new(const struct profile *profile, const struct view_options *options,
              enum call_tree_names names, enum call_tree_order order,
              struct error *err)
{
    struct error why = {0};
    struct builder b = {.profile = profile, .err = &why};
    int rc = -1;

    b.options = options ? options : &view_defaults;
    b.full_names = names == CALL_TREE_FULL &&
                   b.options->granularity == GRANULARITY_FUNCTIONS;
    buffer_init(&b.scratch, NAME_BYTES_MAX);
    b.tree = mem_zalloc(1, sizeof(*b.tree));
    if (b.tree)
        b.tree->arena = arena_new(TREE_MEMORY_MAX);
    if (b.tree && b.tree->arena) {
        rc = build_call_tree(&b, order);
        stack_names_fini(&b.names);
    }
    mem_free(b.frames);
    mem_free(b.full);
    hash_index_fini(&b.children);
    buffer_fini(&b.scratch);
    if (rc == 0)
        return b.tree;
    call_tree_free(b.tree);
    if (why.code)
        error_set(err, why.code, "%s", why.text);
    else
        error_memory(err, "the call tree");
    return NULL;
}

void
call_tree_free(struct call_tree *tree)
{
    if (!tree)
        return;
    mem_free(tree->nodes);
    arena_free(tree->arena);
    mem_free(tree);
}

bool
call_tree_is_noise(const struct call_tree *tree,
                   const struct call_tree_node *node)
{
    return tree->errors > 0 && node->variance > 0 &&
           !significance_is(node->total, node->variance, tree->errors);
}

enum { HALVINGS = 12 };

/* of the whole: the first weight tried if least is 0 */
static const double first_step = 1e-7;

bool
call_tree_cut_keeps(const struct call_tree_cut *cut,
                    const struct call_tree *tree, uint32_t i)
{
    const struct call_tree_node *node = &tree->nodes[i];

    return node->changed > 0 && node->depth <= CALL_TREE_DEPTH_MAX &&
           (node->changed >= cut->least ||
            (node->changed >= cut->lighter && i < cut->end));
}

static void
count_kept_nodes(const struct call_tree *tree, struct call_tree_cut *cut)
{
    cut->kept = cut->deepest = 0;
    for (uint32_t i = 0; i < tree->count; i++) {
        if (!call_tree_cut_keeps(cut, tree, i))
            continue;
        cut->kept++;
        if (tree->nodes[i].depth > cut->deepest)
            cut->deepest = tree->nodes[i].depth;
    }
}

/* Where many nodes weigh the same, all or none of them would be kept: keeps the
 * first ones, as many as there is room for. */
static void
extend_cut_to_limit(const struct call_tree *tree, struct call_tree_cut *cut,
                    uint32_t frames_max)
{
    uint32_t room = frames_max - cut->kept;

    for (uint32_t i = 0; i < tree->count && room > 0; i++) {
        bool kept = call_tree_cut_keeps(cut, tree, i);

        cut->end = i + 1;
        room -= !kept && call_tree_cut_keeps(cut, tree, i);
    }
    count_kept_nodes(tree, cut);
}

struct call_tree_cut
call_tree_cut_at(const struct call_tree *tree, double least,
                 uint32_t frames_max)
{
    struct call_tree_cut cut = {.least = least};
    double too_small = least, small_enough;

    for (count_kept_nodes(tree, &cut); cut.kept > frames_max;
         count_kept_nodes(tree, &cut)) {
        too_small = cut.least;
        cut.least =
            too_small > 0 ? too_small * 2 : tree->nodes[0].changed * first_step;
    }
    /* The weight lies between one that keeps too many nodes and one that keeps
     * few enough. */
    small_enough = cut.least;
    for (int i = 0; i < HALVINGS && small_enough > too_small; i++) {
        cut.least = (too_small + small_enough) / 2;
        count_kept_nodes(tree, &cut);
        *(cut.kept > frames_max ? &too_small : &small_enough) = cut.least;
    }
    cut.least = small_enough;
    cut.lighter = too_small;
    count_kept_nodes(tree, &cut);
    extend_cut_to_limit(tree, &cut, frames_max);
    return cut;
}

static uint32_t
kept_from(const struct call_tree *tree, const struct call_tree_cut *cut,
          uint32_t i)
{
    while (i && !call_tree_cut_keeps(cut, tree, i))
        i = tree->nodes[i].next;
    return i;
}

/* The kept frame after `at` in a walk from callers to callees; 0: none. */
static uint32_t
next_kept_frame(const struct call_tree *tree, const struct call_tree_cut *cut,
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
call_rows_init(struct call_rows *out, const struct call_tree *tree,
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
        at = next_kept_frame(tree, &cut, at);
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
