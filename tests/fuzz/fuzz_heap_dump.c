/*
 * fuzz_heap_dump.c - any bytes as jemalloc's heap profile, with its mappings.
 *
 * The text is read whole, then piece by piece, the first byte giving the size
 * of a piece: both have to agree.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "fuzz_target.h"
#include "heap_dump.h"
#include "heap_stack_text.h"
#include "names.h"
#include "profile.h"

enum { NAMES_BYTES = 1 << 20 };

struct pieces {
    struct span rest;
    size_t most; /* bytes at a time */
};

/* heap_source.read */
static ssize_t
read_piece(void *arg, char *to, size_t room, struct error *err)
{
    struct pieces *pieces = arg;
    size_t size = pieces->rest.size;

    (void)err;
    if (size > room)
        size = room;
    if (size > pieces->most)
        size = pieces->most;
    memcpy(to, pieces->rest.data, size);
    pieces->rest.data += size;
    pieces->rest.size -= size;
    return (ssize_t)size;
}

/* ---- one dump ---- */

static void
check_mappings(const struct mappings *maps)
{
    for (size_t i = 0; i < maps->count; i++) {
        const struct mapping *m = &maps->list[i];

        if (m->start >= m->end || (i > 0 && m->start < maps->list[i - 1].end) ||
            mappings_find(maps, m->start) != m ||
            mappings_find(maps, m->end - 1) != m)
            abort();
    }
}

/* Where the next stack is. */
struct place {
    const struct heap_piece *piece;
    size_t i;
};

static struct place
first_of(const struct heap_dump *dump)
{
    return (struct place){dump->stacks.first, 0};
}

static const struct heap_stack *
next(struct place *at)
{
    if (at->piece && at->i == at->piece->count)
        *at = (struct place){at->piece->next, 0};
    if (!at->piece || at->i == at->piece->count)
        abort(); /* fewer than it says */
    return &at->piece->stacks[at->i++];
}

/* Strictly ascending, as it says: no stack comes twice. */
static void
check_order(const struct heap_dump *dump)
{
    struct place at = first_of(dump);
    const struct heap_stack *stack, *last = NULL;

    for (size_t i = 0; i < dump->stack_count; i++, last = stack) {
        stack = next(&at);
        if (last && !heap_stack_is_behind(dump->addresses, stack, last, 0))
            abort();
    }
}

static void
check_dump(const struct heap_dump *dump)
{
    size_t count = 0;

    for (size_t i = 1; i < dump->address_count; i++)
        if (dump->addresses[i] <= dump->addresses[i - 1])
            abort();
    for (const struct heap_piece *piece = dump->stacks.first; piece;
         piece = piece->next)
        for (size_t i = 0; i < piece->count; i++, count++)
            for (uint32_t k = 0; k < piece->stacks[i].depth; k++)
                if (piece->stacks[i].depth > HEAP_DUMP_DEPTH_MAX ||
                    piece->stacks[i].addresses[k] >= dump->address_count)
                    abort();
    if (count != dump->stack_count || dump->rate == 0)
        abort();
    if (dump->sorted)
        check_order(dump);
    check_mappings(&dump->maps);
}

/* ---- two ---- */

static void
check_same_maps(const struct mappings *a, const struct mappings *b)
{
    if (a->count != b->count)
        abort();
    for (size_t i = 0; i < a->count; i++)
        if (a->list[i].start != b->list[i].start ||
            a->list[i].end != b->list[i].end ||
            strcmp(a->list[i].path, b->list[i].path) != 0)
            abort();
}

static void
check_same(const struct heap_dump *a, const struct heap_dump *b)
{
    struct place x = first_of(a), y = first_of(b);

    if (a->rate != b->rate || a->stack_count != b->stack_count ||
        a->sorted != b->sorted || a->truncated != b->truncated ||
        a->address_count != b->address_count ||
        (a->address_count > 0 &&
         memcmp(a->addresses, b->addresses,
                a->address_count * sizeof(*a->addresses)) != 0))
        abort();
    for (size_t i = 0; i < a->stack_count; i++) {
        const struct heap_stack *s = next(&x), *t = next(&y);

        if (s->depth != t->depth || s->objects != t->objects ||
            s->bytes != t->bytes || s->objects_ever != t->objects_ever ||
            s->bytes_ever != t->bytes_ever ||
            (s->depth > 0 && memcmp(s->addresses, t->addresses,
                                    s->depth * sizeof(*s->addresses)) != 0))
            abort();
    }
    check_same_maps(&a->maps, &b->maps);
}

/* Frees other.  NULL: that text was refused. */
static void
compare(const struct heap_dump *dump, struct heap_dump *other)
{
    if (!dump != !other)
        abort();
    if (dump) {
        check_dump(other);
        check_same(dump, other);
    }
    heap_dump_free(other);
}

/* ---- both ways ---- */

static struct heap_dump *
read_pieces(struct span text, size_t most)
{
    struct pieces pieces = {text, most};
    const struct heap_source source = {read_piece, &pieces};
    struct error err;

    return heap_dump_read(&source, &err);
}

/* Takes dump's stacks. */
static void
check_profile(struct heap_dump *dump)
{
    struct names *names = names_new(NAMES_BYTES);
    bool sorted = dump->sorted;
    struct profile *profile;
    struct error err;

    profile = names ? profile_new(dump, names, "", NULL, &err) : NULL;
    if (!profile)
        abort();
    if (profile->stack_count > dump->stack_count ||
        (sorted && profile->stack_count != dump->stack_count) ||
        !isfinite(profile->bytes) || !isfinite(profile->objects) ||
        profile->bytes < 0 || profile->objects < 0)
        abort();
    profile_free(profile);
    names_free(names);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text;
    struct heap_dump *dump;
    struct error err;
    size_t most;
    char *bytes;

    if (size == 0)
        return 0;
    most = 1 + (size_t)data[0];
    text.size = size - 1;
    text.data = bytes =
        malloc(text.size + !text.size); /* exact, for the sanitizers */
    if (!bytes)
        return 0;
    memcpy(bytes, data + 1, text.size);
    dump = heap_dump_parse(text.data, text.size, &err);
    if (dump)
        check_dump(dump);
    compare(dump, read_pieces(text, most));
    if (dump)
        check_profile(dump);
    heap_dump_free(dump);
    free(bytes);
    return 0;
}
