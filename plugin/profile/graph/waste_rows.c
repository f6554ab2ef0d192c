/*
 * waste_rows.c - see waste_rows.h.
 *
 * waste.c shares the free regions of each size class out among stacks; users
 * want functions, and sums that they can check.  So the rows by function and
 * class are joined by rows for what no function has, and together they make up
 * jemalloc's own figures: resident, active and allocated differ by exactly
 * these rows, and the last of each kind is computed as the rest.
 *
 * Made on the thread of the statement, or of the diagnosis; parts are sorted
 * once by leaf and class.
 */
#include "waste_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "functions.h"
#include "memory.h"
#include "profile.h"
#include "texts.h"
#include "waste.h"

enum { NAMELESS = UINT32_MAX, OTHER_ROWS = 9 };

/* A part with the name of its stack's leaf. */
struct named_part {
    uint32_t name; /* a number in the texts, or NAMELESS */
    const struct waste_part *part;
};

static int
compare_named(const void *a, const void *b)
{
    const struct named_part *x = a, *y = b;

    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return x->part->number < y->part->number
               ? -1
               : x->part->number > y->part->number;
}

/* Names each part and sorts them by name and class.  Parts are ordered by
 * stack, so each stack's name is asked for once. */
static int
name_parts(const struct waste *waste, struct functions *functions,
           struct named_part *out)
{
    struct stack_frame *frames =
        mem_zalloc(functions->names.longest + 1, sizeof(*frames));
    uint32_t name = NAMELESS, stack = UINT32_MAX;

    if (!frames)
        return -1;
    for (size_t i = 0; i < waste->count; i++) {
        const struct waste_part *part = &waste->parts[i];

        if (part->stack != stack) {
            stack = part->stack;
            name = functions_stack(functions, stack, frames) > 0
                       ? frames[0].name
                       : NAMELESS;
        }
        out[i] = (struct named_part){name, part};
    }
    if (waste->count > 0)
        qsort(out, waste->count, sizeof(*out), compare_named);
    mem_free(frames);
    return 0;
}

static double
utilization_of(const struct waste_class *of)
{
    double regions = (double)of->slabs * (double)of->regions;

    return of->slab_size > 0 && regions > 0
               ? fmin(1, (double)of->in_use / regions)
               : -1;
}

static struct waste_row *
add_class_row(struct waste_rows *rows, const struct waste_class *of)
{
    struct waste_row *row = &rows->list[rows->count++];

    *row = (struct waste_row){.kind = of->slab_size > 0 ? "slabs" : "large",
                              .size_class = of->size,
                              .has_live = true,
                              .has_error = true,
                              .utilization = utilization_of(of),
                              .within = "active"};
    return row;
}

static const char *
method_name(enum waste_method method)
{
    static const char *const names[] = {
        [WASTE_SAMPLES] = "samples",
        [WASTE_ONE_CLASS] = "one class",
        [WASTE_SPREAD] = "spread",
    };

    return names[method];
}

/* Adds the row of one function and class.  Sampling errors of different stacks
 * are independent, so their squares add up; the bounds of the method may all
 * lie on one side, so they add up as they are. */
static void
add_function_row(struct waste_rows *rows, const struct waste *waste,
                 const struct functions *functions,
                 const struct named_part *parts, size_t count)
{
    uint32_t number = parts[0].part->number;
    const struct waste_class *of = &waste->heap.classes[number];
    struct waste_row *row = add_class_row(rows, of);
    enum waste_method method = WASTE_SAMPLES;
    double variance = 0, bound = 0;

    if (parts[0].name != NAMELESS)
        row->function = texts_get(functions->names.texts, parts[0].name);
    for (size_t i = 0; i < count; i++) {
        const struct waste_part *part = parts[i].part;

        row->objects += part->objects;
        row->asked_bytes += part->asked;
        variance += part->variance;
        bound += part->bound;
        if (part->method > method)
            method = part->method;
    }
    row->method = method_name(method);
    row->has_asked = method == WASTE_SAMPLES;
    row->live_bytes = row->objects * (double)of->size;
    row->waste = row->objects * waste->each[number];
    row->error = fmin(waste_free_bytes(of),
                      (sqrt(variance) + bound) * waste->each[number]);
}

/* Adds the row of a class's regions in use that no stack has, and which keep
 * slabs like the others.  Their number is a rest, so its error is that of all
 * the stacks together. */
static void
add_unseen_row(struct waste_rows *rows, const struct waste *waste,
               uint32_t number)
{
    const struct waste_class *of = &waste->heap.classes[number];
    struct waste_row *row;
    double variance = 0;

    if (waste->unseen[number] <= 0 || waste_free_bytes(of) <= 0)
        return;
    for (size_t i = 0; i < waste->count; i++)
        if (waste->parts[i].number == number)
            variance += waste->parts[i].variance;
    row = add_class_row(rows, of);
    row->method = "not in the profile";
    row->objects = waste->unseen[number];
    row->live_bytes = row->objects * (double)of->size;
    row->waste = row->objects * waste->each[number];
    row->error =
        fmin(waste_free_bytes(of), sqrt(variance) * waste->each[number]);
}

static void
add_other_row(struct waste_rows *rows, const char *kind, double bytes,
              const char *within, const char *method)
{
    /* a negative rest: the figures were read at different moments */
    if (bytes > 0)
        rows->list[rows->count++] = (struct waste_row){.kind = kind,
                                                       .waste = bytes,
                                                       .has_error = true,
                                                       .utilization = -1,
                                                       .within = within,
                                                       .method = method};
}

/* Adds the rows of what is no function's.  active - allocated is each class's
 * free regions, the slabs' ends, the padding, and a rest; resident - active is
 * dirty pages and metadata. */
static void
add_other_rows(struct waste_rows *rows, const struct waste_heap *heap)
{
    double all = (double)heap->active - (double)heap->allocated, ends = 0;
    double not_active = (double)heap->resident - (double)heap->active;
    const char *counted =
        heap->arenas_left_out ? "counted, some arenas are missing" : "counted";

    for (uint32_t i = 0; i < heap->class_count; i++) {
        ends += waste_end_bytes(&heap->classes[i]);
        all -= waste_free_bytes(&heap->classes[i]);
    }
    add_other_row(rows, "slab ends", ends, "active", "counted");
    add_other_row(rows, "large padding", (double)heap->large_padding, "active",
                  "counted");
    add_other_row(rows, "other pages", all - ends - (double)heap->large_padding,
                  "active", "active - allocated - the rows above");
    add_other_row(rows, "dirty", (double)heap->dirty, "resident", counted);
    add_other_row(rows, "metadata", not_active - (double)heap->dirty,
                  "resident", "resident - active - dirty");
    add_other_row(rows, "tcache", (double)heap->tcache, "allocated", counted);
    add_other_row(rows, "muzzy", (double)heap->muzzy, NULL, counted);
    add_other_row(rows, "retained", (double)heap->retained, NULL, "counted");
}

static int
compare_rows_by_waste(const void *a, const void *b)
{
    const struct waste_row *x = a, *y = b;

    if (x->waste != y->waste)
        return x->waste < y->waste ? 1 : -1;
    if (x->size_class != y->size_class)
        return x->size_class < y->size_class ? -1 : 1;
    return strcmp(x->function ? x->function : "",
                  y->function ? y->function : "");
}

int
waste_rows_init(struct waste_rows *out, const struct profile *profile,
                struct functions *functions, struct error *err)
{
    const struct waste *waste = profile->waste;
    struct named_part *parts = mem_zalloc(waste->count + 1, sizeof(*parts));
    size_t room = waste->count + waste->heap.class_count + OTHER_ROWS, next;

    memset(out, 0, sizeof(*out));
    out->list = mem_zalloc(room, sizeof(*out->list));
    if (!parts || !out->list || name_parts(waste, functions, parts) != 0) {
        error_memory(err, "the waste of a snapshot");
        mem_free(parts);
        waste_rows_fini(out);
        return -1;
    }
    for (size_t i = 0; i < waste->count; i = next) {
        for (next = i + 1; next < waste->count &&
                           compare_named(&parts[i], &parts[next]) == 0;)
            next++;
        add_function_row(out, waste, functions, &parts[i], next - i);
    }
    for (uint32_t i = 0; i < waste->heap.class_count; i++)
        add_unseen_row(out, waste, i);
    add_other_rows(out, &waste->heap);
    qsort(out->list, out->count, sizeof(*out->list), compare_rows_by_waste);
    mem_free(parts);
    return 0;
}

void
waste_rows_fini(struct waste_rows *rows)
{
    mem_free(rows->list);
    memset(rows, 0, sizeof(*rows));
}
