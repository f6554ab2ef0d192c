/*
 * raw.c - see forms.h: raw, its symbols, and collapsed stacks.
 *
 * raw gives a profile back as jemalloc wrote it, so that jeprof can be run on
 * it for comparison.  Addresses alone name nothing on another host;
 * raw_write_symbols answers what jeprof asks a server for.  Estimates must not
 * be scaled twice: a recorder's profile, whose samples have weights, is written
 * as if every object had been sampled.
 *
 * Collapsed stacks are here because they are text as simple as this.  All of it
 * is a walk over the stacks, called on the thread that renders the view.
 */
#include "forms.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "allocator.h"
#include "buffer.h"
#include "call_tree.h"
#include "errors.h"
#include "memory.h"
#include "profile.h"
#include "view_options.h"

enum { PATH_BYTES = 4096 };

static void
add_raw_counts(struct buffer *out, const struct profile_sampled *in_use,
               const struct profile_sampled *ever)
{
    buffer_format(out,
                  "  t*: %" PRIu64 ": %" PRIu64 " [%" PRIu64 ": %" PRIu64 "]\n",
                  in_use->objects, in_use->bytes, ever->objects, ever->bytes);
}

static void
sum_sampled_counts(struct profile_sampled *to,
                   const struct profile_sampled *more)
{
    to->objects += more->objects;
    to->bytes += more->bytes;
}

/* The sampled counts, which readers scale by the rate.  For a weighted
 * profile the estimates, which go with a rate of 1, at which every object is
 * sampled. */
static struct profile_sampled
in_use_of(const struct profile *profile, const struct profile_stack *stack)
{
    return profile->weighted
               ? (struct profile_sampled){(uint64_t)llrint(stack->objects),
                                          (uint64_t)llrint(stack->bytes)}
               : stack->in_use;
}

static struct profile_sampled
ever_of(const struct profile *profile, const struct profile_stack *stack)
{
    return profile->weighted
               ? (struct profile_sampled){(uint64_t)llrint(stack->objects_ever),
                                          (uint64_t)llrint(stack->bytes_ever)}
               : stack->ever;
}

/* Adds a stack.  Callers get their return address back, 1 more: see
 * heap_dump.h. */
static void
add_raw_stack(struct buffer *out, const struct profile *profile,
              const struct profile_stack *stack)
{
    struct profile_sampled in_use = in_use_of(profile, stack);
    struct profile_sampled ever = ever_of(profile, stack);

    buffer_char(out, '@');
    for (uint32_t i = 0; i < stack->depth; i++)
        buffer_format(out, " 0x%" PRIx64,
                      profile->locations[stack->locations[i]].address +
                          (i > 0));
    buffer_char(out, '\n');
    add_raw_counts(out, &in_use, &ever);
}

/* A number in place of the inode, which is not known: equal files get equal
 * numbers, and only what is no file gets 0. */
static size_t
inode_of(const struct profile *profile, size_t i)
{
    size_t first = 0;

    if (*profile->modules[i].path != '/')
        return 0;
    while (strcmp(profile->modules[first].path, profile->modules[i].path) != 0)
        first++;
    return first + 1;
}

static void
add_mapped_libraries(struct buffer *out, const struct profile *profile)
{
    buffer_text(out, "\nMAPPED_LIBRARIES:\n");
    for (size_t i = 0; i < profile->module_count; i++) {
        const struct profile_module *module = &profile->modules[i];

        buffer_format(
            out, "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 %zu ",
            module->start, module->end, module->offset, inode_of(profile, i));
        shown_name(module->path, PATH_BYTES, out);
        buffer_char(out, '\n');
    }
}

/* jemalloc's text exists only for the heap. */
static int
check_kind(const struct profile *profile, const char *what, struct error *err)
{
    if (profile->kind == PROFILE_HEAP)
        return 0;
    error_set(
        err, ER_WRONG_ARGUMENTS,
        "%s: jemalloc's text exists only for the heap; use pprof or collapsed",
        what);
    return -1;
}

int
raw_write(const struct profile *profile, const struct view_options *options,
          struct buffer *out, struct error *err)
{
    struct profile_sampled in_use = {0}, ever = {0};

    if (!options)
        options = &view_defaults;
    if (check_kind(profile, "a profile of time cannot be written as raw",
                   err) != 0)
        return -1;
    if (profile->difference) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "a difference cannot be written as raw: jemalloc's text "
                  "holds samples, which only a snapshot has; write each of "
                  "the two, and compare them with jeprof --base");
        return -1;
    }
    if (profile->nodes > 0) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "a sum of nodes cannot be written as raw: jemalloc's text "
                  "holds the samples of one process; write each node's own");
        return -1;
    }
    for (size_t i = 0; i < profile->stack_count; i++) {
        struct profile_sampled one = in_use_of(profile, &profile->stacks[i]);

        sum_sampled_counts(&in_use, &one);
        one = ever_of(profile, &profile->stacks[i]);
        sum_sampled_counts(&ever, &one);
    }
    buffer_format(out, "heap_v2/%" PRIu64 "\n",
                  profile->weighted ? 1 : profile->rate);
    add_raw_counts(out, &in_use, &ever);
    for (size_t i = 0; i < profile->stack_count && !out->failed; i++) {
        if (view_cancelled(options, i, err))
            return -1;
        add_raw_stack(out, profile, &profile->stacks[i]);
    }
    add_mapped_libraries(out, profile);
    if (!out->failed)
        return 0;
    error_set(err, ER_OUT_OF_MEMORY,
              "the raw profile is larger than %zu bytes or memory ran out",
              out->max);
    return -1;
}

/* "--" separates two names, so it must not occur within one (operator--), nor
 * arise at the end of one (operator-). */
static void
add_raw_symbol(struct buffer *out, const char *name, const char *end)
{
    size_t from = out->size, to;

    shown_name(name, PATH_BYTES, out);
    to = out->size;
    buffer_text(out, end);
    for (; !out->failed && from < to; from++)
        if (out->data[from] == '-' && out->data[from + 1] == '-')
            out->data[from] = '~';
}

/* Finds the locations in jemalloc's own code that have only such code between
 * them and the leaf of some stack.  NULL: no memory. */
static bool *
find_inner_locations(const struct profile *profile)
{
    bool *inner = mem_zalloc(profile->location_count + 1, sizeof(*inner));

    for (size_t i = 0; inner && i < profile->stack_count; i++) {
        const struct profile_stack *stack = &profile->stacks[i];

        for (uint32_t k = 0; k < stack->depth; k++) {
            if (!profile->locations[stack->locations[k]].in_allocator)
                break;
            inner[stack->locations[k]] = true;
        }
    }
    return inner;
}

/* jeprof drops the allocator by the outermost name, and does not know its inner
 * functions: these are called malloc. */
static void
add_location_symbols(struct buffer *out, const struct location *location,
                     bool inner)
{
    uint32_t k = location->frame_count;

    buffer_format(out, "0x%016" PRIx64 " ", location->address);
    if (inner &&
        !allocator_is_skipped_by_jeprof(location->frames[k - 1].function)) {
        buffer_text(out, "malloc\n");
        return;
    }
    while (k-- > 0)
        add_raw_symbol(out, location->frames[k].function, k > 0 ? "--" : "\n");
}

int
raw_write_symbols(const struct profile *profile,
                  const struct view_options *options, struct buffer *out,
                  struct error *err)
{
    bool *inner;

    if (check_kind(profile, "a profile of time has no addresses for jeprof",
                   err) != 0)
        return -1;
    if (profile->nodes > 0) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "addresses are those of one process: a sum of nodes has none "
                  "to name; ask each node for its own");
        return -1;
    }
    inner = find_inner_locations(profile);
    if (!inner) {
        error_memory(err, "the functions' names");
        return -1;
    }
    for (size_t i = 0; i < profile->location_count && !out->failed; i++) {
        if (view_cancelled(options ? options : &view_defaults, i, err)) {
            mem_free(inner);
            return -1;
        }
        add_location_symbols(out, &profile->locations[i], inner[i]);
    }
    mem_free(inner);
    if (!out->failed)
        return 0;
    error_set(err, ER_OUT_OF_MEMORY,
              "the symbols are larger than %zu bytes or memory ran out",
              out->max);
    return -1;
}

enum { NAME_MAX_BYTES = 64 << 10 };

static void
add_collapsed_name(struct buffer *out, const char *name)
{
    size_t from = out->size;

    shown_name(name, NAME_MAX_BYTES, out);
    for (; !out->failed && from < out->size; from++)
        if (out->data[from] == ';')
            out->data[from] = ':';
}

/* Adds the line of a node.  path has room for the nodes of the longest
 * stack. */
static void
add_collapsed_line(struct buffer *out, const struct call_tree *tree,
                   uint32_t leaf, uint32_t *path)
{
    uint32_t depth = tree->nodes[leaf].depth;

    for (uint32_t at = leaf, i = depth; i-- > 0; at = tree->nodes[at].parent)
        path[i] = at;
    for (uint32_t i = 0; i < depth; i++) {
        if (i > 0)
            buffer_char(out, ';');
        add_collapsed_name(out, tree->nodes[path[i]].name);
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
    return i < k ? -1 : i > k; /* equal ones in the dump's order */
}

static int
add_collapsed_lines(struct buffer *out, const struct call_tree *tree,
                    uint32_t *leaves, uint32_t *path,
                    const struct view_options *options, struct error *err)
{
    uint32_t count = 0;

    for (uint32_t i = 1; i < tree->count; i++)
        if (trunc(tree->nodes[i].self) != 0)
            leaves[count++] = i;
    qsort_r(leaves, count, sizeof(*leaves), compare_self, tree->nodes);
    for (uint32_t i = 0; i < count && !out->failed; i++) {
        if (view_cancelled(options, i, err))
            return -1;
        add_collapsed_line(out, tree, leaves[i], path);
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
    struct view_options view = profile_view(profile, options);
    uint32_t *leaves, *path, deepest = 0;
    struct call_tree *tree;
    int rc = -1;

    tree =
        call_tree_new(profile, &view, CALL_TREE_FULL, CALL_TREE_BY_NAME, err);
    if (!tree)
        return -1;
    for (uint32_t i = 0; i < tree->count; i++)
        if (tree->nodes[i].depth > deepest)
            deepest = tree->nodes[i].depth;
    leaves = mem_zalloc(tree->count, sizeof(*leaves));
    path = mem_zalloc(deepest + 1, sizeof(*path));
    if (leaves && path)
        rc = add_collapsed_lines(out, tree, leaves, path, &view, err);
    else
        error_memory(err, "the collapsed stacks");
    mem_free(leaves);
    mem_free(path);
    call_tree_free(tree);
    return rc;
}
