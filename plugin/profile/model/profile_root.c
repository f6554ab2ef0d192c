/*
 * profile_root.c - see profile_root.h.
 *
 * Instead of teaching every form about threads, a second profile is made in
 * which each stack ends in a frame named after its thread: differences, sums,
 * graphs and tables then work unchanged.  Parts (live_parts.h) say which
 * threads a stack has; their estimates are exact, and what is known only of the
 * whole stack (the variance of its bytes, its waste, the bytes of its samples)
 * is divided among its parts by their bytes.
 *
 * It costs a copy of each stack per thread, but no names.  Called on the thread
 * that renders the view or carries out the statement.
 */
#include "profile_root.h"

#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "errors.h"
#include "live_parts.h"
#include "memory.h"
#include "profile.h"
#include "texts.h"
#include "view_options.h"

enum { ROOTED_MEMORY_MAX = 1 << 30, LABEL_MAX = 64, NO_STACK = UINT32_MAX };

/* Addresses of roots lie above any code, and below the kernel's half, which
 * stack_names.c does not show. */
static const uint64_t root_address = INT64_MAX - ((uint64_t)1 << 32);

struct rooting {
    const struct profile *from;
    struct profile *out;
    unsigned roots;      /* PROFILE_BY_* */
    struct texts *texts; /* the labels; a root has the number of its label */
    uint32_t *threads, *pools; /* by thread: the number of its label */
    uint32_t *stack_indices;   /* by label: where it has the current stack */
    struct profile_stack *list;
};

const char *
profile_no_threads(const struct profile *profile)
{
    return profile->kind != PROFILE_HEAP
               ? "it is a profile of time, and not of the heap"
           : profile->nodes > 0 ? "it is a sum of several nodes"
           : profile->difference
               ? "it is a difference"
               : "neither a recorder nor jemalloc's profile recorded them, or "
                 "the snapshot is from an older heapwire";
}

/* ---- labels ---- */

static int
add_root_label(struct rooting *r, struct buffer *label, uint32_t *number)
{
    return label->failed
               ? -1
               : texts_add(r->texts, label->data, label->size, number);
}

static void
write_thread(struct buffer *out, const struct heap_thread *thread)
{
    buffer_clear(out);
    if (thread->tid == 0 && thread->number == 0 && *thread->name == '\0') {
        buffer_text(out, PROFILE_NO_THREAD);
        return;
    }
    buffer_text(out, "thread");
    if (thread->tid > 0)
        buffer_format(out, " %" PRIu32, thread->tid);
    else if (thread->number > 0)
        buffer_format(out, " #%" PRIu64, thread->number - 1);
    if (*thread->name) {
        buffer_char(out, ' ');
        shown_name(thread->name, HEAP_THREAD_NAME_MAX, out);
    }
}

static void
write_pool(struct buffer *out, const struct heap_thread *thread)
{
    char pool[HEAP_THREAD_NAME_MAX + 1];

    heap_thread_pool(thread->name, pool);
    buffer_clear(out);
    buffer_text(out, *pool ? PROFILE_POOL : PROFILE_NO_POOL);
    shown_name(pool, HEAP_THREAD_NAME_MAX, out);
}

static int
make_labels(struct rooting *r)
{
    const struct heap_threads *threads = &r->from->parts->threads;
    struct buffer label;
    int rc = 0;

    buffer_init(&label, LABEL_MAX);
    for (size_t i = 0; i < threads->count && rc == 0; i++) {
        if (r->roots & PROFILE_BY_THREAD) {
            write_thread(&label, &threads->list[i]);
            rc = add_root_label(r, &label, &r->threads[i]);
        }
        if (rc == 0 && r->roots & PROFILE_BY_POOL) {
            write_pool(&label, &threads->list[i]);
            rc = add_root_label(r, &label, &r->pools[i]);
        }
    }
    buffer_fini(&label);
    return rc;
}

/* Makes the locations: the profile's own, and then one for each label, whose
 * addresses ascend too. */
static int
make_locations(struct rooting *r)
{
    const struct profile *from = r->from;
    uint32_t labels = texts_count(r->texts);
    size_t count = from->location_count + labels;
    struct location *list = arena_alloc(r->out->arena, count * sizeof(*list));
    struct frame *frames = arena_alloc(r->out->arena, labels * sizeof(*frames));

    if (!list || !frames)
        return -1;
    if (from->location_count > 0)
        memcpy(list, from->locations, from->location_count * sizeof(*list));
    for (uint32_t i = 0; i < labels; i++) {
        const char *label = texts_get(r->texts, i);

        frames[i] = (struct frame){label, label, 0};
        list[from->location_count + i] =
            (struct location){.address = root_address + i,
                              .frames = &frames[i],
                              .frame_count = 1,
                              .module = ""};
    }
    r->out->locations = list;
    r->out->location_count = count;
    return 0;
}

/* ---- stacks ---- */

/* A part's share of a number that is known only for the whole stack. */
static double
part_share_of(double whole, double part_bytes, double stack_bytes)
{
    return stack_bytes > 0 ? whole * (part_bytes / stack_bytes) : 0;
}

/* Appends a copy of the stack with the roots of thread.  NULL: no memory. */
static struct profile_stack *
add_rooted(struct rooting *r, const struct profile_stack *from, uint32_t thread)
{
    uint32_t locations = (uint32_t)r->from->location_count;
    uint32_t *copy =
        arena_alloc(r->out->arena, (from->depth + 2) * sizeof(*copy));
    struct profile_stack *to = &r->list[r->out->stack_count];
    uint32_t depth = from->depth;

    if (!copy)
        return NULL;
    if (depth > 0)
        memcpy(copy, from->locations, depth * sizeof(*copy));
    if (r->roots & PROFILE_BY_THREAD)
        copy[depth++] = locations + r->threads[thread];
    if (r->roots & PROFILE_BY_POOL)
        copy[depth++] = locations + r->pools[thread];
    to->locations = copy;
    to->depth = depth;
    r->out->stack_count++;
    return to;
}

static int
root_part(struct rooting *r, const struct profile_stack *from,
          size_t first_place, const struct live_part *part)
{
    uint32_t *place = &r->stack_indices[r->roots & PROFILE_BY_THREAD
                                            ? r->threads[part->thread]
                                            : r->pools[part->thread]];
    struct profile_stack *to;

    /* An index below first_place is left from a stack before. */
    if (*place == NO_STACK || *place < first_place) {
        *place = (uint32_t)r->out->stack_count;
        if (!add_rooted(r, from, part->thread))
            return -1;
    }
    to = &r->list[*place];
    to->objects += part->objects;
    to->bytes += part->bytes;
    to->variance += part_share_of(from->variance, part->bytes, from->bytes);
    to->waste += part_share_of(from->waste, part->bytes, from->bytes);
    to->in_use.objects += part->samples;
    to->in_use.bytes += (uint64_t)part_share_of((double)from->in_use.bytes,
                                                part->bytes, from->bytes);
    return 0;
}

static int
root_stacks(struct rooting *r, const struct view_options *options,
            struct error *err)
{
    const struct live_parts *parts = r->from->parts;
    size_t first_place = 0;

    for (size_t i = 0; i < parts->count; i++) {
        const struct live_part *part = &parts->list[i];

        if (i == 0 || part->stack != part[-1].stack)
            first_place = r->out->stack_count;
        if (view_cancelled(options, i, err))
            return -1;
        if (root_part(r, &r->from->stacks[part->stack], first_place, part) != 0)
            return -1;
    }
    r->out->stacks = r->list;
    profile_add_up(r->out);
    return 0;
}

/* ---- the profile ---- */

static int
make_rooted(struct rooting *r, const struct view_options *options,
            struct error *err)
{
    const struct live_parts *parts = r->from->parts;
    size_t labels = 2 * parts->threads.count;
    struct arena *arena = r->out->arena;

    r->texts = texts_new(arena);
    r->threads = arena_alloc(arena, labels * sizeof(*r->threads));
    r->stack_indices = arena_alloc(arena, labels * sizeof(*r->stack_indices));
    r->list = arena_alloc(arena, parts->count * sizeof(*r->list));
    if (!r->texts || !r->threads || !r->stack_indices || !r->list)
        return -1;
    r->pools = r->threads + parts->threads.count;
    for (size_t i = 0; i < labels; i++)
        r->stack_indices[i] = NO_STACK;
    if (make_labels(r) != 0 || make_locations(r) != 0)
        return -1;
    return root_stacks(r, options, err);
}

/* Copies all of a profile except for its stacks and sums. */
static void
copy_rest(struct profile *out, const struct profile *from, unsigned roots)
{
    struct arena *arena = out->arena;

    *out = *from;
    out->arena = arena;
    out->names = NULL; /* from keeps them */
    out->parts = NULL;
    out->stack_count = 0;
    out->objects = out->bytes = out->objects_ever = out->bytes_ever = 0;
    out->waste_bytes = 0;
    out->accumulated = false;
    out->counted_ms = 0;
    out->roots = roots;
}

static int
check_rooted(const struct profile *profile, const struct view_options *options,
             struct error *err)
{
    const char *word = options->by_pool ? "by_pool" : "by_thread";
    size_t last = profile->location_count;

    if (options->measure == MEASURE_ALLOC_SPACE ||
        options->measure == MEASURE_ALLOC_OBJECTS)
        error_set(err, ER_WRONG_ARGUMENTS,
                  "%s: what was ever allocated is not known by thread; use "
                  "by=inuse_space or by=inuse_objects",
                  word);
    else if (!profile->parts)
        error_set(err, ER_WRONG_ARGUMENTS,
                  "%s: the threads of this profile are not known: %s", word,
                  profile_no_threads(profile));
    else if (last > 0 && profile->locations[last - 1].address >= root_address)
        error_set(err, ER_WRONG_ARGUMENTS,
                  "%s: the profile has addresses that no program has", word);
    else
        return 0;
    return -1;
}

unsigned
profile_roots(const struct view_options *options)
{
    return (options->by_thread ? PROFILE_BY_THREAD : 0U) |
           (options->by_pool ? PROFILE_BY_POOL : 0U);
}

int
profile_root(const struct profile *profile, const struct view_options *options,
             struct profile **out, struct error *err)
{
    struct rooting r = {.from = profile, .roots = profile_roots(options)};
    struct error why = {0};

    *out = NULL;
    if (r.roots == 0 || r.roots == profile->roots ||
        (profile->stack_count == 0 && profile->kind == PROFILE_HEAP))
        return 0;
    if (check_rooted(profile, options, err) != 0)
        return -1;
    r.out = mem_zalloc(1, sizeof(*r.out));
    if (r.out)
        r.out->arena = arena_new(ROOTED_MEMORY_MAX);
    if (r.out && r.out->arena) {
        copy_rest(r.out, profile, r.roots);
        if (make_rooted(&r, options, &why) == 0)
            *out = r.out;
    }
    texts_free(r.texts);
    if (*out)
        return 0;
    if (why.code)
        *err = why;
    else
        error_memory(err, "a profile by thread");
    profile_free(r.out);
    return -1;
}
