/*
 * text.c - see forms.h.
 *
 * Two reports from the same weights.  text is jeprof's, line for line, for
 * scripts that read it.  top is for a terminal: names with template arguments,
 * cut in the middle to the width; a limited number of lines; and in a
 * difference what shrank comes beside what grew, because a loss is no less a
 * change.
 *
 * graph.c weighs; this orders and prints.  The report is as large as the number
 * of functions.  Called on the thread that renders the view.
 */
#include "forms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "clean_text.h"
#include "errors.h"
#include "graph.h"
#include "headline.h"
#include "memory.h"
#include "profile.h"
#include "view_options.h"

enum {
    TEXT_MEMORY_MAX = 1 << 30,
    REMARK_BYTES = 16 << 10,
    FIGURE_COLUMNS = 41 /* before a name, unless they are wider */
};

/* A report that is being written. */
struct report {
    const struct profile *profile;
    const struct view_options *options;
    struct weights weights;
    const struct weight **lines; /* in order */
    uint32_t line_count;
    bool cut; /* top: names are cut to a terminal's width */
    struct buffer scratch;
    double errors; /* standard errors from which a change is significant */
    struct buffer *out;
    struct error *err;
};

static int
compare_flat(const void *a, const void *b)
{
    const struct weight *x = *(const struct weight *const *)a;
    const struct weight *y = *(const struct weight *const *)b;

    if (x->flat != y->flat)
        return x->flat < y->flat ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* The order of a difference: the largest changes first, whether they grew or
 * shrank. */
static int
compare_change(const void *a, const void *b)
{
    const struct weight *x = *(const struct weight *const *)a;
    const struct weight *y = *(const struct weight *const *)b;

    if (fabs(x->flat) != fabs(y->flat))
        return fabs(x->flat) < fabs(y->flat) ? 1 : -1;
    if (fabs(x->cumulative) != fabs(y->cumulative))
        return fabs(x->cumulative) < fabs(y->cumulative) ? 1 : -1;
    return compare_flat(a, b);
}

static int
compare_flat_and_cumulative(const void *a, const void *b)
{
    const struct weight *x = *(const struct weight *const *)a;
    const struct weight *y = *(const struct weight *const *)b;

    if (x->flat != y->flat || x->cumulative == y->cumulative)
        return compare_flat(a, b);
    return x->cumulative < y->cumulative ? 1 : -1;
}

/* The errors for struct report.  Without memory nothing is significant. */
static double
significance_of_weights(const struct weights *weights)
{
    struct significance_change *changes =
        mem_zalloc(weights->count, sizeof(*changes));
    double errors;

    for (uint32_t i = 0; changes && i < weights->count; i++)
        changes[i] = (struct significance_change){
            weights->list[i].cumulative, weights->list[i].cumulative_variance};
    errors = changes ? significance_errors(changes, weights->count) : INFINITY;
    mem_free(changes);
    return errors;
}

static int
order_text_lines(struct report *r)
{
    const struct weights *weights = &r->weights;

    r->lines = mem_zalloc(weights->count, sizeof(const struct weight *));
    if (!r->lines) {
        error_memory(r->err, "the report");
        return -1;
    }
    for (uint32_t i = 0; i < weights->count; i++)
        if (weights->list[i].name &&
            (weights->list[i].flat != 0 || weights->list[i].cumulative != 0))
            r->lines[r->line_count++] = &weights->list[i];
    if (r->line_count > 0)
        qsort(r->lines, r->line_count, sizeof(const struct weight *),
              r->cut && r->profile->difference && !r->options->by_growth
                  ? compare_change
              : r->cut || r->options->by_growth ? compare_flat_and_cumulative
                                                : compare_flat);
    return 0;
}

static void
add_text_name(struct buffer *out, const char *name)
{
    char text[TEXT_NAME_MAX + 1];
    size_t size = strnlen(name, TEXT_NAME_MAX);

    for (int i = 0; name[size] && i < 3; i++)
        if (((unsigned char)name[size] & 0xc0) == 0x80)
            size--; /* to the start of a character */
    clean_text((struct span){name, size}, text);
    buffer_text(out, text);
    if (name[size])
        buffer_text(out, "...");
}

/* Adds a remark about the profile, broken into lines. */
static void
add_remark(struct report *r, const char *text)
{
    struct buffer *clean = &r->scratch;
    size_t size;

    buffer_clear(clean);
    shown_name(text, REMARK_BYTES, clean);
    r->out->failed |= clean->failed;
    for (size_t at = 0; !clean->failed && at < clean->size; at += size) {
        size = shown_line(clean->data + at, clean->size - at, TEXT_COLUMNS);
        buffer_add(r->out, clean->data + at, size);
        buffer_char(r->out, '\n');
    }
}

static void
add_short_name(struct report *r, const char *name, size_t columns)
{
    buffer_clear(&r->scratch);
    shown_name(name, TEXT_NAME_MAX, &r->scratch);
    r->out->failed |= r->scratch.failed;
    if (r->scratch.size)
        shown_middle(r->scratch.data, r->scratch.size, columns, r->out);
}

/* Whether the report marks numbers that may be chance: a difference by growth,
 * in a measure with standard errors. */
static bool
has_noise(const struct report *r)
{
    return r->options->by_growth && r->profile->difference &&
           measure_has_variance(r->options->measure);
}

static void
add_text_head(struct report *r)
{
    const struct profile *profile = r->profile;
    double total = profile_total(profile, r->options->measure);
    char value[FIGURE_TEXT], why[EMPTINESS_TEXT];

    add_remark(r, profile->memory);
    if (profile->truncated)
        add_remark(r, "The profile was cut off");
    if (profile->origin.live) /* heapwire-prof prints it on stderr */
        add_remark(r, profile->note);
    if (total != 0)
        buffer_format(r->out, "Total: %s %s\n",
                      figure_value(total, r->options, value),
                      figure_unit(r->options));
    unshown_add(r->out, profile, r->options, "\n");
    if (has_noise(r) && r->line_count > 0)
        buffer_text(r->out, "~ may be chance: within the sampling error\n");
    emptiness_text(profile, r->options, r->line_count > 0, why);
    if (*why)
        buffer_format(r->out, "%s\n", why);
}

static const char *
noise_mark(const struct report *r, double value, double variance)
{
    if (!has_noise(r))
        return "";
    return value != 0 && !significance_is(value, variance, r->errors) ? "~"
                                                                      : " ";
}

/* top shows 0 without a sign; text keeps jeprof's "-0.0%". */
static const char *
shown_figure(const struct report *r, const char *figure)
{
    bool is_zero = figure[0] == '-' && !figure[strspn(figure, "-0.%")];

    return r->cut && is_zero ? figure + 1 : figure;
}

static void
add_text_line(struct report *r, const struct weight *w, double sum)
{
    double total = r->weights.focus;
    char flat[FIGURE_TEXT], flat_part[FIGURE_TEXT], sum_part[FIGURE_TEXT];
    char all[FIGURE_TEXT], all_part[FIGURE_TEXT];

    buffer_format(
        r->out, "%8s%s %6s %6s %8s%s %6s ",
        shown_figure(r, figure_value(w->flat, r->options, flat)),
        noise_mark(r, w->flat, w->flat_variance),
        shown_figure(r, figure_percent(w->flat, total, flat_part)),
        shown_figure(r, figure_percent(sum, total, sum_part)),
        shown_figure(r, figure_value(w->cumulative, r->options, all)),
        noise_mark(r, w->cumulative, w->cumulative_variance),
        shown_figure(r, figure_percent(w->cumulative, total, all_part)));
    if (r->cut)
        add_short_name(r, w->name, TEXT_COLUMNS - FIGURE_COLUMNS);
    else
        add_text_name(r->out, w->name);
    buffer_char(r->out, '\n');
}

static int
write_lines(struct report *r, uint32_t limit)
{
    double sum = 0;

    add_text_head(r);
    for (uint32_t i = 0; i < r->line_count && i < limit; i++) {
        if (view_cancelled(r->options, i, r->err))
            return -1;
        sum += r->lines[i]->flat;
        add_text_line(r, r->lines[i], sum);
    }
    if (!r->out->failed)
        return 0;
    error_set(r->err, ER_OUT_OF_MEMORY,
              "the report is larger than %zu bytes or memory ran out",
              r->out->max);
    return -1;
}

static int
render_text_report(const struct profile *profile,
                   const struct view_options *options, uint32_t limit, bool cut,
                   struct buffer *out, struct error *err)
{
    struct report r = {.profile = profile, .cut = cut, .out = out, .err = err};
    struct view_options view = profile_view(profile, options);
    struct arena *arena = arena_new(TEXT_MEMORY_MAX);
    int rc = -1;

    r.options = &view;
    buffer_init(&r.scratch, (size_t)2 * REMARK_BYTES);
    if (!arena)
        error_memory(err, "the report");
    else if (weights_init(&r.weights, profile, r.options, arena, err) == 0 &&
             order_text_lines(&r) == 0) {
        if (has_noise(&r))
            r.errors = significance_of_weights(&r.weights);
        rc = write_lines(&r, limit);
    }
    weights_fini(&r.weights);
    mem_free(r.lines);
    buffer_fini(&r.scratch);
    arena_free(arena);
    return rc;
}

int
text_write(const struct profile *profile, const struct view_options *options,
           struct buffer *out, struct error *err)
{
    struct view_options jeprofs = options ? *options : view_defaults;

    jeprofs.jeprof_names = true;
    return render_text_report(profile, &jeprofs, UINT32_MAX, false, out, err);
}

int
text_write_top(const struct profile *profile,
               const struct view_options *options, struct buffer *out,
               struct error *err)
{
    return render_text_report(
        profile, options,
        options ? options->nodecount : view_defaults.nodecount, true, out, err);
}
