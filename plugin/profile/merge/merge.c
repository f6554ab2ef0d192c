/*
 * merge.c - see merge.h.
 *
 * A cluster may have a thousand nodes, so their profiles are never in memory
 * together: each is added when it arrives and freed.  As in diff.c, a key
 * (bytes) says what makes locations or stacks equal, and sets of texts number
 * the keys, so that a node adds only what no node before it had.  Addresses and
 * the order of locations are settled at the end, in merge_finish().
 *
 * merge_sum.c has the keys.  Called by sql/cluster on the thread of the
 * statement.
 */
#include "merge.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "reader.h"
#include "errors.h"
#include "mappings.h"
#include "memory.h"
#include "merge_sum.h"
#include "profile.h"
#include "texts.h"

enum {
    NOTE_MAX = 300, /* bytes of one node's note, and of the program's name */
    /* Bytes of the sum's note: missing (its ceiling is 2,048), and all
     * notes. */
    NOTES_BYTES_MAX = 3072 + MERGE_NOTES_SHOWN * (NOTE_MAX + 40)
};

/* The largest first, whether it grew or shrank. */
static int
compare_nodes_by_bytes(const void *a, const void *b)
{
    const struct merge_share *x = a, *y = b;
    double i = fabs(x->bytes), k = fabs(y->bytes);

    if (i != k)
        return i > k ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Writes a node's share, with its part of the whole; in a difference that would
 * mean nothing. */
static void
write_share(const struct merge *m, double bytes, struct buffer *out)
{
    static const struct view_options times = {.measure = MEASURE_TIME};
    char text[FIGURE_TEXT];

    figure_text(bytes, &times, m->difference, text);
    if (m->out->kind != PROFILE_HEAP)
        buffer_format(out, " %s", text);
    else
        buffer_format(out, m->difference ? " %+.1f MB" : " %.1f MB",
                      bytes / (1 << 20));
    if (!m->difference && m->out->bytes > 0)
        buffer_format(out, " (%.1f%%)", 100 * bytes / m->out->bytes);
}

static void
merge_write_shares(struct merge *m, struct buffer *out)
{
    size_t shown = m->share_count;
    double others = 0;

    if (shown > MERGE_SHARES_SHOWN)
        shown = MERGE_SHARES_SHOWN;
    if (m->share_count > 0)
        qsort(m->shares, m->share_count, sizeof(*m->shares),
              compare_nodes_by_bytes);
    buffer_text(out, m->difference                  ? "Grew by node:"
                     : m->out->kind == PROFILE_HEAP ? "In use by node:"
                                                    : "Time by node:");
    for (size_t i = 0; i < shown; i++) {
        buffer_format(out, "%s %" PRIu64, i ? "," : "", m->shares[i].node);
        write_share(m, m->shares[i].bytes, out);
    }
    if (shown == m->share_count)
        return;
    for (size_t i = shown; i < m->share_count; i++)
        others += m->shares[i].bytes;
    buffer_format(out, ", %zu others", m->share_count - shown);
    write_share(m, others, out);
}

static void
write_sentence(struct buffer *out, const char *text)
{
    if (out->size > 0)
        buffer_text(out, "; ");
    buffer_text(out, text);
}

/* Whether the nodes were sampled for different times: by more than timers are
 * late. */
static bool
has_mixed_durations(const struct merge *m)
{
    return m->out->duration_ms - m->shortest_ms > m->out->duration_ms / 20;
}

static void
merge_write_note(const struct merge *m, const char *missing, struct buffer *out)
{
    if (*missing)
        write_sentence(out, missing);
    if (m->mixed_rates)
        write_sentence(out, "the nodes sample at different rates");
    if (has_mixed_durations(m))
        write_sentence(out, "the nodes were sampled for different times");
    for (uint32_t i = 0; i < texts_count(m->notes); i++) {
        if (i == MERGE_NOTES_SHOWN) {
            write_sentence(out, "other nodes have notes, too");
            break;
        }
        write_sentence(out, texts_get(m->notes, i));
    }
}

/* Keeps the note of a node's profile, equal ones once.  In a profile of time a
 * note is about what happened to that node, so it names the node. */
static int
add_merged_note(struct merge *m, uint64_t node, const struct profile *profile)
{
    uint32_t number;

    if (*profile->note == '\0')
        return 0;
    buffer_clear(&m->key);
    if (profile->kind != PROFILE_HEAP)
        buffer_format(&m->key, "node %" PRIu64 ": ", node);
    shown_name(profile->note, NOTE_MAX, &m->key);
    return merge_number(m, m->notes, &number);
}

static void
merge_write_program(const struct merge *m, struct buffer *out)
{
    uint32_t count = texts_count(m->programs);

    shown_name(count ? texts_get(m->programs, 0) : "nothing", NOTE_MAX, out);
    buffer_format(out, "%s on %zu node%s", count > 1 ? " and others" : "",
                  m->share_count, m->share_count == 1 ? "" : "s");
}

enum {
    NODE_NAME_MAX = 32, /* "node 10001" */
    CANCEL_EVERY = 256
};

/* ---- locations ---- */

/* How much is known of a location.  Another node may know more, as it has debug
 * information. */
static int
location_detail_level(const struct location *location)
{
    const struct frame *frame = &location->frames[location->frame_count - 1];

    return (location->symbol != NULL) + 2 * (*frame->file != '\0');
}

static int
copy_names(struct merge *m, const struct location *from,
           struct merge_location *to)
{
    uint64_t address = to->location.address;

    if (location_copy(m->arena, m->texts, from, &to->location) != 0)
        return -1;
    to->location.address = address;
    return 0;
}

/* Finds or adds the location whose key is m->key.  A node that knows more of it
 * replaces its names. */
static int
add_merged_location(struct merge *m, const struct location *from,
                    const struct merge_location *place, uint32_t *number)
{
    struct merge_location *to;

    if (merge_number(m, m->location_keys, number) != 0)
        return -1;
    if (*number < m->location_count) {
        to = &m->locations[*number];
        return location_detail_level(from) >
                       location_detail_level(&to->location)
                   ? copy_names(m, from, to)
                   : 0;
    }
    to = merge_grow_list((void **)&m->locations, &m->location_capacity,
                         m->location_count, sizeof(*to));
    if (!to)
        return -1;
    *to = *place;
    if (copy_names(m, from, to) != 0)
        return -1;
    m->location_count++;
    return 0;
}

static int
add_node_root(struct merge *m, uint64_t node, uint32_t *number)
{
    const struct merge_location place = {.build = UINT32_MAX};
    char name[NODE_NAME_MAX];
    struct frame frame = {name, "", 0};
    struct location root = {.frames = &frame, .frame_count = 1, .module = ""};

    snprintf(name, sizeof(name), "node %" PRIu64, node);
    buffer_clear(&m->key);
    /* without the NUL that other keys have */
    buffer_add(&m->key, name, strlen(name));
    if (add_merged_location(m, &root, &place, number) != 0)
        return -1;
    /* they remember name, which is on the stack */
    texts_clear_addresses(m->texts);
    return 0;
}

static bool
is_merge_cancelled(const atomic_bool *cancelled, size_t i)
{
    return i % CANCEL_EVERY == 0 && cancelled && atomic_load(cancelled);
}

/* One node may count frames of a place as the allocator's by its own list of
 * wrappers, and another may not.  Then they are two locations, and this one
 * does not get the address. */
static void
keep_wrapped_place_distinct(struct merge *m, const struct location *from,
                            struct merge_location *place)
{
    if (from->wrapped == 0)
        return;
    buffer_u32(&m->key, from->wrapped);
    place->has_address = false;
}

/* Adds the profile's locations; numbers[i] becomes the number of location i in
 * the sum.  *stopped: it was cancelled. */
static int
add_merged_locations(struct merge *m, const struct profile *profile,
                     uint32_t *numbers, const atomic_bool *cancelled,
                     bool *stopped)
{
    for (size_t i = 0; i < profile->location_count; i++) {
        struct merge_location place = {.has_address = false};

        place.location.address = profile->locations[i].address;
        *stopped = is_merge_cancelled(cancelled, i);
        if (*stopped || merge_locate(m, profile, m->share_count,
                                     &profile->locations[i], &place) != 0)
            return -1;
        keep_wrapped_place_distinct(m, &profile->locations[i], &place);
        if (add_merged_location(m, &profile->locations[i], &place,
                                &numbers[i]) != 0)
            return -1;
    }
    return 0;
}

/* ---- stacks ---- */

static void
add_sum_saturated(uint64_t *to, uint64_t n)
{
    if (__builtin_add_overflow(*to, n, to))
        *to = UINT64_MAX;
}

static void
add_merged_counts(struct profile_stack *to, const struct profile_stack *from)
{
    to->objects += from->objects;
    to->bytes += from->bytes;
    to->objects_ever += from->objects_ever;
    to->bytes_ever += from->bytes_ever;
    to->waste += from->waste;
    to->variance += from->variance;
    add_sum_saturated(&to->in_use.objects, from->in_use.objects);
    add_sum_saturated(&to->in_use.bytes, from->in_use.bytes);
    add_sum_saturated(&to->ever.objects, from->ever.objects);
    add_sum_saturated(&to->ever.bytes, from->ever.bytes);
}

/* The sum's stack with the locations in m->key. */
static struct profile_stack *
find_or_add_stack(struct merge *m)
{
    size_t depth = m->key.size / sizeof(uint32_t);
    struct profile_stack *to;
    uint32_t number, *copy;

    if (merge_number(m, m->stack_keys, &number) != 0)
        return NULL;
    if (number < m->stack_count)
        return &m->stacks[number];
    to = merge_grow_list((void **)&m->stacks, &m->stack_capacity,
                         m->stack_count, sizeof(*to));
    copy = arena_alloc(m->arena, m->key.size);
    if (!to || !copy)
        return NULL;
    if (m->key.size > 0)
        memcpy(copy, m->key.data, m->key.size);
    *to = (struct profile_stack){.locations = copy, .depth = (uint32_t)depth};
    m->stack_count++;
    return to;
}

static int
add_merged_stacks(struct merge *m, const struct profile *profile,
                  const uint32_t *numbers, const uint32_t *root,
                  const atomic_bool *cancelled, bool *stopped)
{
    for (size_t i = 0; i < profile->stack_count; i++) {
        const struct profile_stack *from = &profile->stacks[i];
        struct profile_stack *to;

        buffer_clear(&m->key);
        for (uint32_t k = 0; k < from->depth; k++)
            buffer_add(&m->key, &numbers[from->locations[k]], sizeof(*numbers));
        if (root)
            buffer_add(&m->key, root, sizeof(*root));
        *stopped = is_merge_cancelled(cancelled, i);
        to = *stopped ? NULL : find_or_add_stack(m);
        if (!to)
            return -1;
        add_merged_counts(to, from);
    }
    return 0;
}

/* ---- a node ---- */

static void
add_times(struct profile_origin *to, const struct profile_origin *from,
          bool first)
{
    int64_t since = from->active_since_ms;

    to->live = from->live && (first || to->live);
    if (first || from->taken_ms > to->taken_ms)
        to->taken_ms = from->taken_ms;
    if (since > 0 && (to->active_since_ms == 0 || since < to->active_since_ms))
        to->active_since_ms = since;
}

static int
add_merged_head(struct merge *m, uint64_t node, const struct profile *profile)
{
    const char *program = base_name(profile->program);
    struct profile *out = m->out;
    bool first = m->share_count == 0;
    struct merge_share *share =
        merge_grow_list((void **)&m->shares, &m->share_capacity, m->share_count,
                        sizeof(*share));
    uint32_t number;

    if (!share || add_merged_note(m, node, profile) != 0 ||
        texts_add(m->programs, program, strlen(program), &number) != 0)
        return -1;
    *share = (struct merge_share){node, profile->bytes};
    m->difference = profile->difference;
    out->kind = profile->kind;
    if (profile->duration_ms > out->duration_ms)
        out->duration_ms = profile->duration_ms;
    if (first || profile->duration_ms < m->shortest_ms)
        m->shortest_ms = profile->duration_ms;
    /* Profiles of time add up whatever their rates are, because a sample has
     * its time with it. */
    m->mixed_rates |=
        !first && profile->rate != out->rate && profile->kind == PROFILE_HEAP;
    m->counts_ever &= profile->accumulated || profile->stack_count == 0;
    m->has_waste &= profile->wasted || profile->stack_count == 0;
    add_times(&out->origin, &profile->origin, first);
    if (first)
        out->rate = profile->rate;
    out->truncated |= profile->truncated;
    out->unseen.bytes += profile->unseen.bytes;
    if (profile->unseen.bytes > 0)
        out->unseen.why =
            out->unseen.why && strcmp(out->unseen.why, profile->unseen.why) != 0
                ? "not in the nodes' profiles"
                : profile->unseen.why;
    out->accumulated |= profile->accumulated;
    out->wasted |= profile->wasted;
    add_sum_saturated(&out->samples, profile->samples);
    return 0;
}

int
merge_check(const struct merge *m, const struct profile *profile,
            struct error *err)
{
    if (m->share_count == 0 || profile->kind == m->out->kind)
        return 0;
    error_set(err, ER_WRONG_ARGUMENTS,
              "it has a profile of %s, and the others of %s: they cannot be "
              "added up",
              profile_kind_name(profile->kind),
              profile_kind_name(m->out->kind));
    return -1;
}

int
merge_add(struct merge *m, uint64_t node, const struct profile *profile,
          const atomic_bool *cancelled, struct error *err)
{
    uint32_t *numbers, root;
    bool stopped = false;
    int rc = -1;

    numbers = mem_zalloc(profile->location_count, sizeof(*numbers));
    if (!numbers || add_merged_head(m, node, profile) != 0 ||
        (m->by_node && add_node_root(m, node, &root) != 0) ||
        add_merged_locations(m, profile, numbers, cancelled, &stopped) != 0 ||
        add_merged_stacks(m, profile, numbers, m->by_node ? &root : NULL,
                          cancelled, &stopped) != 0)
        goto out;
    texts_clear_addresses(m->texts);
    m->share_count++;
    rc = 0;
out:
    mem_free(numbers);
    if (stopped)
        error_set(err, ER_QUERY_INTERRUPTED, "Query execution was interrupted");
    else if (rc != 0)
        error_memory(err, "the sum of profiles");
    return rc;
}

/* ---- the end ---- */

static int
compare_locations_by_address(const void *a, const void *b, void *arg)
{
    const struct merge_location *list = arg;
    uint64_t x = list[*(const uint32_t *)a].location.address;
    uint64_t y = list[*(const uint32_t *)b].location.address;

    return x < y ? -1 : x > y;
}

/* Gives the locations without an address one above all modules, where nothing
 * collides. */
static void
make_up_addresses(struct merge *m)
{
    for (size_t i = 0; i < m->location_count; i++)
        if (!m->locations[i].has_address)
            m->locations[i].location.address = m->top++;
}

static int
finish_locations(struct merge *m)
{
    size_t count = m->location_count;
    uint32_t *order = arena_alloc(m->scratch, count * sizeof(*order));
    struct location *list = arena_alloc(m->arena, count * sizeof(*list));

    if (!order || !list || merge_symbols(m) != 0)
        return -1;
    make_up_addresses(m);
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    if (count > 0)
        qsort_r(order, count, sizeof(*order), compare_locations_by_address,
                m->locations);
    for (size_t i = 0; i < count; i++) {
        list[i] = m->locations[order[i]].location;
        m->locations[order[i]].final = (uint32_t)i;
    }
    m->out->locations = list;
    m->out->location_count = count;
    return 0;
}

static int
finish_stacks(struct merge *m)
{
    struct profile_stack *list =
        arena_alloc(m->arena, m->stack_count * sizeof(*list));

    if (!list)
        return -1;
    for (size_t i = 0; i < m->stack_count; i++) {
        /* the list is in our arena */
        uint32_t *locations = (uint32_t *)m->stacks[i].locations;

        list[i] = m->stacks[i];
        for (uint32_t k = 0; k < list[i].depth; k++)
            locations[k] = m->locations[locations[k]].final;
    }
    m->out->stacks = list;
    m->out->stack_count = m->stack_count;
    profile_add_up(m->out);
    return 0;
}

static int
compare_modules(const void *a, const void *b)
{
    const struct profile_module *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

static int
finish_modules(struct merge *m)
{
    size_t size = m->module_count * sizeof(*m->modules);
    struct profile_module *list = arena_alloc(m->arena, size);

    if (!list)
        return -1;
    if (size > 0) {
        memcpy(list, m->modules, size);
        qsort(list, m->module_count, sizeof(*list), compare_modules);
    }
    m->out->modules = list;
    m->out->module_count = m->module_count;
    return 0;
}

/* Copies words to *to, and empties them for the next text. */
static int
keep_merge_note(struct merge *m, struct buffer *words, const char **to)
{
    bool failed = words->failed;

    *to = arena_strndup(m->arena, words->data ? words->data : "", words->size);
    buffer_clear(words);
    return failed || !*to ? -1 : 0;
}

static int
finish_merge_notes(struct merge *m, const char *missing)
{
    struct profile *out = m->out;
    struct buffer words;
    int rc;

    buffer_init(&words, NOTES_BYTES_MAX);
    merge_write_program(m, &words);
    rc = keep_merge_note(m, &words, &out->program);
    merge_write_shares(m, &words);
    rc |= keep_merge_note(m, &words, &out->memory);
    merge_write_note(m, missing, &words);
    rc |= keep_merge_note(m, &words, &out->note);
    buffer_fini(&words);
    return rc;
}

struct profile *
merge_finish(struct merge *m, const char *missing, struct error *err)
{
    struct profile *out = m->out;

    if (finish_locations(m) != 0 || finish_stacks(m) != 0 ||
        finish_modules(m) != 0 || finish_merge_notes(m, missing) != 0) {
        error_memory(err, "the sum of profiles");
        return NULL;
    }
    if (has_mixed_durations(m))
        /* no single duration is true, and a rate would be wrong */
        out->duration_ms = 0;
    out->nodes = m->share_count;
    out->difference = m->difference;
    out->accumulated &= m->counts_ever;
    out->wasted &= m->has_waste;
    m->out = NULL;
    return out;
}
