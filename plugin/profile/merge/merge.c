/*
 * merge.c - see merge.h.
 *
 * A cluster may have a thousand nodes, so their profiles are never in memory
 * together: each is added when it arrives and freed.  keyed_stacks.h brings
 * equal stacks together, so a node adds only what no node before it had.
 * Addresses and the order of locations are settled at the end, in
 * merge_finish().
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
        buffer_sentence(out, missing);
    if (m->mixed_rates)
        buffer_sentence(out, "the nodes sample at different rates");
    if (has_mixed_durations(m))
        buffer_sentence(out, "the nodes were sampled for different times");
    for (uint32_t i = 0; i < texts_count(m->notes); i++) {
        if (i == MERGE_NOTES_SHOWN) {
            buffer_sentence(out, "other nodes have notes, too");
            break;
        }
        buffer_sentence(out, texts_get(m->notes, i));
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
    buffer_clear(&m->keyed.key);
    if (profile->kind != PROFILE_HEAP)
        buffer_format(&m->keyed.key, "node %" PRIu64 ": ", node);
    shown_name(profile->note, NOTE_MAX, &m->keyed.key);
    return keyed_stacks_number(&m->keyed, m->notes, &number);
}

static void
merge_write_program(const struct merge *m, struct buffer *out)
{
    uint32_t count = texts_count(m->programs);

    shown_name(count ? texts_get(m->programs, 0) : "nothing", NOTE_MAX, out);
    buffer_format(out, "%s on %zu node%s", count > 1 ? " and others" : "",
                  m->share_count, m->share_count == 1 ? "" : "s");
}

enum { NODE_NAME_MAX = 32 /* "node 10001" */ };

static int
add_node_root(struct merge *m, uint64_t node, uint32_t *number)
{
    const struct keyed_location place = {.build = UINT32_MAX};
    char name[NODE_NAME_MAX];
    struct frame frame = {name, "", 0};
    struct location root = {.frames = &frame, .frame_count = 1, .module = ""};

    snprintf(name, sizeof(name), "node %" PRIu64, node);
    buffer_clear(&m->keyed.key);
    /* without the NUL that other keys have */
    buffer_add(&m->keyed.key, name, strlen(name));
    if (keyed_stacks_location(&m->keyed, &root, &place, false, number) != 0)
        return -1;
    /* they remember name, which is on the stack */
    texts_clear_addresses(m->keyed.names);
    return 0;
}

/* One node may count frames of a place as the allocator's by its own list of
 * wrappers, and another may not.  Then they are two locations, and this one
 * does not get the address. */
static void
keep_wrapped_place_distinct(struct merge *m, const struct location *from,
                            struct keyed_location *place)
{
    if (from->wrapped == 0)
        return;
    buffer_u32(&m->keyed.key, from->wrapped);
    place->has_address = false;
}

/* A node's walk. */
struct merge_walk {
    struct merge *merge;
    const struct profile *profile;
};

/* keyed_walk.locate */
static int
locate_merged(void *arg, const struct location *location,
              struct keyed_location *place)
{
    const struct merge_walk *walk = arg;
    struct merge *m = walk->merge;

    if (merge_locate(m, walk->profile, m->share_count, location, place) != 0)
        return -1;
    keep_wrapped_place_distinct(m, location, place);
    return 0;
}

/* keyed_walk.add */
static void
add_merged_counts(void *arg, struct profile_stack *to, uint32_t number,
                  const struct profile_stack *from)
{
    (void)arg;
    (void)number;
    to->objects += from->objects;
    to->bytes += from->bytes;
    to->objects_ever += from->objects_ever;
    to->bytes_ever += from->bytes_ever;
    to->waste += from->waste;
    to->variance += from->variance;
    profile_add_saturated(&to->in_use.objects, from->in_use.objects);
    profile_add_saturated(&to->in_use.bytes, from->in_use.bytes);
    profile_add_saturated(&to->ever.objects, from->ever.objects);
    profile_add_saturated(&to->ever.bytes, from->ever.bytes);
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
        keyed_stacks_grow((void **)&m->shares, &m->share_capacity,
                          m->share_count, sizeof(*share));
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
    profile_add_saturated(&out->samples, profile->samples);
    return 0;
}

int
merge_check(const struct merge *m, const struct profile *profile,
            struct error *err)
{
    if (m->share_count == 0 || profile->kind == m->out->kind)
        return 0;
    error_set(err, ER_WRONG_ARGUMENTS,
              "its profile is of %s, and those of the other nodes are of %s: "
              "they cannot be added up",
              profile_kind_name(profile->kind),
              profile_kind_name(m->out->kind));
    return -1;
}

int
merge_add(struct merge *m, uint64_t node, const struct profile *profile,
          const atomic_bool *cancelled, struct error *err)
{
    struct merge_walk arg = {m, profile};
    uint32_t root;
    struct keyed_walk walk = {.profile = profile,
                              .root = m->by_node ? &root : NULL,
                              .fuller_names = true,
                              .locate = locate_merged,
                              .add = add_merged_counts,
                              .arg = &arg};

    m->keyed.cancelled = cancelled;
    if (add_merged_head(m, node, profile) != 0 ||
        (m->by_node && add_node_root(m, node, &root) != 0) ||
        keyed_stacks_add(&m->keyed, &walk) != 0) {
        if (m->keyed.stopped)
            error_set(err, ER_QUERY_INTERRUPTED,
                      "Query execution was interrupted");
        else
            error_memory(err, "the sum of profiles");
        return -1;
    }
    texts_clear_addresses(m->keyed.names); /* the profile may be freed */
    m->share_count++;
    return 0;
}

/* ---- the end ---- */

/* Gives the locations without an address one above all modules, where nothing
 * collides. */
static void
make_up_addresses(struct merge *m)
{
    for (size_t i = 0; i < m->keyed.location_count; i++)
        if (!m->keyed.locations[i].has_address)
            m->keyed.locations[i].location.address = m->top++;
}

static int
finish_stacks(struct merge *m)
{
    if (merge_symbols(m) != 0)
        return -1;
    make_up_addresses(m);
    return keyed_stacks_finish(&m->keyed, m->out);
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

    if (finish_stacks(m) != 0 || finish_modules(m) != 0 ||
        finish_merge_notes(m, missing) != 0) {
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
