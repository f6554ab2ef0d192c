/*
 * part_rows.c - see part_rows.h.
 *
 * Two tables of SQL come from the same list of live parts (model/live_parts.h),
 * which is ordered by stack: ages by stack are runs of that list, and threads
 * are sums over all of it.  The function that has most in a thread needs an
 * order by thread, so a copy with the leaf's name is sorted for it; a table of
 * threads times functions would be mostly empty.
 *
 * Made on the thread of the statement, at a cost of n log n for n parts.
 */
#include "part_rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "functions.h"
#include "live_parts.h"
#include "memory.h"
#include "profile.h"
#include "texts.h"

/* What one thread has in use that one function allocated. */
struct thread_amount {
    uint32_t thread, name; /* name: a number in the texts, or NAMELESS */
    double bytes;
};

enum { NAMELESS = UINT32_MAX };

/* ---- threads ---- */

static int
compare_amounts_by_thread(const void *a, const void *b)
{
    const struct thread_amount *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

/* Writes an amount for each part.  Parts are ordered by stack, so each stack's
 * name is asked for once. */
static void
list_thread_amounts(struct functions *functions, const struct live_parts *parts,
                    struct stack_frame *frames, struct thread_amount *out)
{
    uint32_t name = NAMELESS, stack = UINT32_MAX;

    for (size_t i = 0; i < parts->count; i++) {
        const struct live_part *part = &parts->list[i];

        if (part->stack != stack) {
            stack = part->stack;
            name = functions_stack(functions, stack, frames) > 0
                       ? frames[0].name
                       : NAMELESS;
        }
        out[i] = (struct thread_amount){part->thread, name, part->bytes};
    }
    if (parts->count > 0)
        qsort(out, parts->count, sizeof(*out), compare_amounts_by_thread);
}

/* Whether a function has more than the largest so far.  Of two that have as
 * much, the one whose name comes first counts as larger, so that equal profiles
 * give equal rows. */
static bool
is_larger(double bytes, const char *name, double top_bytes, const char *top)
{
    return *top == '\0' || bytes > top_bytes ||
           (bytes == top_bytes && strcmp(name, top) < 0);
}

static void
find_tops(const struct functions *functions, const struct thread_amount *shares,
          size_t count, struct thread_row *rows)
{
    double bytes;

    for (size_t i = 0, next; i < count; i = next) {
        struct thread_row *row = &rows[shares[i].thread];
        const char *name;

        bytes = 0;
        /* The amounts of one thread and function are neighbors. */
        for (next = i; next < count && compare_amounts_by_thread(
                                           &shares[i], &shares[next]) == 0;
             next++)
            bytes += shares[next].bytes;
        if (shares[i].name == NAMELESS)
            continue;
        name = texts_get(functions->names.texts, shares[i].name);
        if (!is_larger(bytes, name, row->top_bytes, row->top))
            continue;
        row->top = name;
        row->top_bytes = bytes;
    }
}

static int
compare_thread_rows_by_bytes(const void *a, const void *b)
{
    const struct thread_row *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Leaves out the threads that have nothing in use, and sorts the others. */
static void
order_threads(struct part_rows *rows)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < rows->thread_count; i++)
        if (rows->threads[i].samples > 0)
            rows->threads[kept++] = rows->threads[i];
    rows->thread_count = kept;
    if (kept > 0)
        qsort(rows->threads, kept, sizeof(*rows->threads),
              compare_thread_rows_by_bytes);
}

static int
make_threads(struct part_rows *rows, const struct live_parts *parts,
             struct functions *functions)
{
    struct thread_amount *shares =
        mem_zalloc(parts->count + 1, sizeof(*shares));
    struct stack_frame *frames =
        mem_zalloc(functions->names.longest + 1, sizeof(*frames));
    int rc = -1;

    rows->thread_count = (uint32_t)parts->threads.count;
    rows->threads = mem_zalloc(rows->thread_count + 1, sizeof(*rows->threads));
    if (!shares || !frames || !rows->threads)
        goto out;
    for (uint32_t i = 0; i < rows->thread_count; i++)
        rows->threads[i] =
            (struct thread_row){.thread = &parts->threads.list[i], .top = ""};
    for (size_t i = 0; i < parts->count; i++) {
        struct thread_row *row = &rows->threads[parts->list[i].thread];

        row->samples += parts->list[i].samples;
        row->objects += parts->list[i].objects;
        row->bytes += parts->list[i].bytes;
    }
    list_thread_amounts(functions, parts, frames, shares);
    find_tops(functions, shares, parts->count, rows->threads);
    order_threads(rows);
    rc = 0;
out:
    mem_free(shares);
    mem_free(frames);
    return rc;
}

/* ---- ages ---- */

static void
add_ages(struct part_rows *rows, uint32_t stack, const struct age_row *ages)
{
    for (uint32_t age = 0; age < HEAP_AGE_CLASSES; age++)
        if (ages[age].objects > 0)
            rows->ages[rows->age_count++] = (struct age_row){
                stack, age, ages[age].objects, ages[age].bytes};
}

static int
make_ages(struct part_rows *rows, const struct live_parts *parts)
{
    struct age_row ages[HEAP_AGE_CLASSES];

    rows->ages = mem_zalloc(parts->count + 1, sizeof(*rows->ages));
    if (!rows->ages)
        return -1;
    for (size_t i = 0, next; i < parts->count; i = next) {
        uint32_t stack = parts->list[i].stack;

        memset(ages, 0, sizeof(ages));
        for (next = i; next < parts->count && parts->list[next].stack == stack;
             next++) {
            const struct live_part *part = &parts->list[next];

            ages[part->age].objects += part->objects;
            ages[part->age].bytes += part->bytes;
        }
        add_ages(rows, stack, ages);
    }
    return 0;
}

int
part_rows_init(struct part_rows *out, const struct profile *profile,
               struct functions *functions, struct error *err)
{
    memset(out, 0, sizeof(*out));
    if (make_threads(out, profile->parts, functions) == 0 &&
        make_ages(out, profile->parts) == 0)
        return 0;
    part_rows_fini(out);
    error_memory(err, "the threads and ages of a snapshot");
    return -1;
}

void
part_rows_fini(struct part_rows *rows)
{
    mem_free(rows->threads);
    mem_free(rows->ages);
    memset(rows, 0, sizeof(*rows));
}

void
part_rows_find(const struct part_rows *rows, uint32_t stack, uint32_t *first,
               uint32_t *end)
{
    uint32_t low = 0, high = rows->age_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (rows->ages[middle].stack < stack)
            low = middle + 1;
        else
            high = middle;
    }
    for (*first = low; low < rows->age_count; low++)
        if (rows->ages[low].stack != stack)
            break;
    *end = low;
}
