/*
 * tree.c - see forms.h.
 *
 * A tree in a terminal has too few columns: a stack of fifty frames, indented
 * by each, leaves no room for names.  So only branches are indented, and a
 * chain of single callees stays in one column.  Nodes are chosen by weight
 * before anything is printed, so that a fixed number of lines shows the largest
 * part of the memory; what is left out below a node is one line "... 3 more".
 *
 * Recursion happens only where the tree branches, at most TREE_BRANCHES_MAX
 * deep: stacks may be a thousand frames deep, and the thread that renders is
 * some pool's.
 */
#include "forms.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "call_tree.h"
#include "headline.h"
#include "errors.h"
#include "memory.h"
#include "profile.h"
#include "view_options.h"

enum {
    NAME_BYTES = 4 * TREE_COLUMNS,
    FIGURES = 22, /* columns of "   34.7 MB 100.0%  ~ " */
    STEP = 3,     /* columns of one indentation */
    STEP_BYTES = 8,
    NOTE_BYTES = 600,
    NOTE_COLUMNS = 100
};

static const char here[] = "\xe2\x94\x9c\xe2\x94\x80 "; /* ├─ */
static const char last[] = "\xe2\x94\x94\xe2\x94\x80 "; /* └─ */
static const char below[] = "\xe2\x94\x82  ";           /* │ */
static const char blank[] = "   ";

struct printer {
    const struct profile *profile;
    struct view_options options;
    struct call_tree *tree;
    struct buffer *out;
    struct buffer name;
    bool *kept; /* by node: it has a line */
    double limit;
    /* the bars of the current line's branches */
    char indent[TREE_BRANCHES_MAX * STEP_BYTES];
};

static int
compare_weight(const void *a, const void *b, void *arg)
{
    const struct call_tree_node *nodes = arg;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

    if (nodes[i].changed != nodes[k].changed)
        return nodes[i].changed > nodes[k].changed ? -1 : 1;
    return i < k ? -1 : i > k;
}

/* Keeps the heaviest nodes.  Their callers weigh no less and come earlier in
 * the list, so they are kept too. */
static int
choose_tree_nodes(struct printer *p)
{
    const struct call_tree *tree = p->tree;
    uint32_t *ranked = mem_zalloc(tree->count, sizeof(*ranked)), count = 0;

    p->kept = mem_zalloc(tree->count, sizeof(*p->kept));
    if (!ranked || !p->kept) {
        mem_free(ranked);
        return -1;
    }
    p->limit = p->options.nodefraction * tree->nodes[0].changed;
    for (uint32_t i = 1; i < tree->count; i++)
        if (tree->nodes[i].changed > p->limit)
            ranked[count++] = i;
    qsort_r(ranked, count, sizeof(*ranked), compare_weight, tree->nodes);
    for (uint32_t i = 0; i < count && i < p->options.nodecount; i++)
        p->kept[ranked[i]] = true;
    mem_free(ranked);
    return 0;
}

static void
add_tree_figures(struct printer *p, double value, bool noise)
{
    double all = p->profile->difference ? p->tree->nodes[0].changed
                                        : p->tree->nodes[0].total;
    char text[FIGURE_TEXT];

    if (measure_is_amount(p->options.measure))
        figure_text(value, &p->options, p->profile->difference, text);
    else
        snprintf(text, sizeof(text), p->profile->difference ? "%+.0f" : "%.0f",
                 value);
    buffer_format(p->out, "%10s %5.1f%% %s", text,
                  all > 0 ? value * 100 / all : 0, noise ? "~ " : "  ");
}

static void
add_tree_name(struct printer *p, const char *name, size_t branches)
{
    size_t columns = TREE_COLUMNS - FIGURES - branches * STEP, size;

    buffer_clear(&p->name);
    shown_name(name, NAME_BYTES, &p->name);
    if (p->name.failed || p->name.size == 0) {
        p->out->failed |= p->name.failed;
        return;
    }
    size = p->name.size;
    if (shown_columns(p->name.data, size) > columns) {
        size = shown_fit(p->name.data, size, columns - 1);
        buffer_add(p->out, p->name.data, size);
        buffer_text(p->out, "\xe2\x80\xa6");
    } else {
        buffer_add(p->out, p->name.data, size);
    }
}

static void
add_tree_line(struct printer *p, const struct call_tree_node *node,
              size_t branches, const char *mark)
{
    add_tree_figures(p, node->total, call_tree_is_noise(p->tree, node));
    buffer_text(p->out, p->indent);
    buffer_text(p->out, mark);
    add_tree_name(p, node->name, branches + (*mark != '\0'));
    buffer_char(p->out, '\n');
}

/* The sum of the children that have no lines of their own. */
struct rest {
    uint32_t count;
    double total, changed;
};

static uint32_t
summarize_children(const struct printer *p, uint32_t at, struct rest *rest,
                   uint32_t *only)
{
    const struct call_tree_node *nodes = p->tree->nodes;
    uint32_t kept = 0;

    *rest = (struct rest){0};
    for (uint32_t i = nodes[at].child; i; i = nodes[i].next) {
        if (p->kept[i]) {
            *only = i;
            kept++;
            continue;
        }
        rest->count++;
        rest->total += nodes[i].total;
        rest->changed += nodes[i].changed;
    }
    return kept;
}

static void add_branches(struct printer *p, uint32_t at, uint32_t kept,
                         const struct rest *rest, size_t branches);

/* Adds the lines below node `at`, whose own line is written.  A chain of single
 * callees is a loop; only branches recurse. */
static void
add_below(struct printer *p, uint32_t at, size_t branches)
{
    const struct call_tree_node *nodes = p->tree->nodes;
    struct rest rest;
    uint32_t only = 0, kept;

    for (;;) {
        kept = summarize_children(p, at, &rest, &only);
        if (rest.changed <= p->limit)
            rest.count = 0; /* too small for a line */
        if (kept != 1 || rest.count || fabs(nodes[at].self) > p->limit)
            break;
        add_tree_line(p, &nodes[only], branches, "");
        at = only;
    }
    if (kept > 0)
        add_branches(p, at, kept, &rest, branches);
}

static void
add_special(struct printer *p, double value, const char *mark,
            const char *format, uint32_t count)
{
    add_tree_figures(p, value, false);
    buffer_text(p->out, p->indent);
    buffer_text(p->out, mark);
    buffer_format(p->out, "%s", count ? "\xe2\x80\xa6 " : "");
    if (count)
        buffer_format(p->out, "%u ", count);
    buffer_text(p->out, format);
    buffer_char(p->out, '\n');
}

static void
add_branches(struct printer *p, uint32_t at, uint32_t kept,
             const struct rest *rest, size_t branches)
{
    const struct call_tree_node *nodes = p->tree->nodes;
    size_t end = strlen(p->indent);
    bool top = at == 0;

    if (branches == TREE_BRANCHES_MAX - 1) {
        add_special(p, nodes[at].total - nodes[at].self, last,
                    "branches deeper", 0);
        return;
    }
    if (fabs(nodes[at].self) > p->limit)
        add_special(p, nodes[at].self, here, "(itself)", 0);
    for (uint32_t i = nodes[at].child; i && !p->out->failed;
         i = nodes[i].next) {
        bool final;

        if (!p->kept[i])
            continue;
        final = --kept == 0 && rest->count == 0;
        add_tree_line(p, &nodes[i], branches, top ? "" : final ? last : here);
        if (!top)
            snprintf(p->indent + end, sizeof(p->indent) - end, "%s",
                     final ? blank : below);
        add_below(p, i, branches + !top);
        p->indent[end] = '\0';
    }
    if (rest->count)
        add_special(p, rest->total, top ? "" : last, "more", rest->count);
}

static void
add_tree_note(struct printer *p, const char *note)
{
    size_t size;

    buffer_clear(&p->name);
    shown_name(note, NOTE_BYTES, &p->name);
    p->out->failed |= p->name.failed;
    for (size_t at = 0; !p->out->failed && at < p->name.size; at += size) {
        size = shown_line(p->name.data + at, p->name.size - at, NOTE_COLUMNS);
        buffer_add(p->out, p->name.data + at, size);
        buffer_char(p->out, '\n');
    }
}

static void
add_tree_head(struct printer *p, bool shown)
{
    char text[EMPTINESS_TEXT];

    headline_add(p->out, p->profile, &p->options, TREE_COLUMNS / 2);
    buffer_char(p->out, '\n');
    unshown_add(p->out, p->profile, &p->options, "\n");
    add_tree_note(p, p->profile->memory);
    add_tree_note(p, p->profile->note);
    if (p->profile->truncated)
        add_tree_note(p, "The profile was cut off.");
    emptiness_text(p->profile, &p->options, shown, text);
    add_tree_note(p, text);
    if (p->profile->difference && p->tree->nodes[0].changed > 0)
        add_tree_note(p,
                      "Percents are of all that changed; ~ is within sampling "
                      "noise.");
}

static int
print_call_tree(struct printer *p, struct error *err)
{
    struct rest rest;
    uint32_t only, kept;

    if (choose_tree_nodes(p) != 0) {
        error_memory(err, "the tree");
        return -1;
    }
    kept = summarize_children(p, 0, &rest, &only);
    add_tree_head(p, kept > 0);
    add_branches(p, 0, kept, &rest, 0);
    if (!p->out->failed)
        return 0;
    error_set(err, ER_OUT_OF_MEMORY,
              "the tree is larger than %zu bytes or memory ran out",
              p->out->max);
    return -1;
}

int
tree_write(const struct profile *profile, const struct view_options *options,
           struct buffer *out, struct error *err)
{
    struct printer p = {.profile = profile, .out = out};
    int rc;

    p.options = profile_view(profile, options);
    p.tree = call_tree_new(profile, &p.options, CALL_TREE_SHORT,
                           CALL_TREE_HEAVIEST, err);
    if (!p.tree)
        return -1;
    buffer_init(&p.name, (size_t)2 * NAME_BYTES);
    rc = print_call_tree(&p, err);
    mem_free(p.kept);
    buffer_fini(&p.name);
    call_tree_free(p.tree);
    return rc;
}
