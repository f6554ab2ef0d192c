/*
 * heap_dump.c - see heap_dump.h.
 *
 * A dump of a large database has some hundred MB of text, nearly all of it
 * addresses of stacks.  One pass reads it, from memory or in pieces that fit a
 * core's cache: then memory holds the current line and at most one earlier line
 * that the reader keeps.  Stacks keep indices instead of addresses, half the
 * size and ready to look names up.
 *
 * The text comes from another process and may be anything: every list has a
 * ceiling, all memory is charged to an arena, and a cut text gives what its
 * whole lines say, marked as truncated.  Called by the controller with a new
 * dump, by snapshots that are read back, and by heapwire-prof; a dump belongs
 * to its thread.
 */
#include "heap_dump.h"

#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "dump_threads.h"
#include "errors.h"
#include "heap_stack_text.h"
#include "memory.h"
#include "reader.h"

enum { RADIX_BITS = 8 };

int
heap_stacks_init(struct heap_stacks *stacks, size_t limit_bytes)
{
    memset(stacks, 0, sizeof(*stacks));
    stacks->indices = arena_new(limit_bytes);
    return stacks->indices ? 0 : -1;
}

void
heap_stacks_fini(struct heap_stacks *stacks)
{
    struct heap_piece *next;

    for (struct heap_piece *piece = stacks->first; piece; piece = next) {
        next = piece->next;
        mem_free(piece);
    }
    arena_free(stacks->indices);
    memset(stacks, 0, sizeof(*stacks));
}

struct heap_stack *
heap_stacks_add(struct heap_stacks *stacks)
{
    struct heap_piece *piece = stacks->last;

    if (!piece || piece->count == HEAP_STACKS_PIECE) {
        /* Not from the arena: profile_new adopts that, and frees these. */
        piece = arena_charge(stacks->indices, sizeof(*piece))
                    ? mem_alloc(sizeof(*piece))
                    : NULL;
        if (!piece)
            return NULL;
        piece->next = NULL;
        piece->count = 0;
        if (stacks->last)
            stacks->last->next = piece;
        else
            stacks->first = piece;
        stacks->last = piece;
    }
    return &piece->stacks[piece->count++];
}

/* Replaces each index by new_indices' entry for it. */
static void
replace_address_indices(struct heap_stacks *stacks, const uint32_t *new_indices)
{
    const uint32_t *before = NULL;

    for (struct heap_piece *piece = stacks->first; piece; piece = piece->next)
        for (size_t i = 0; i < piece->count; i++) {
            const struct heap_stack *stack = &piece->stacks[i];
            uint32_t *indices = stack->addresses;

            /* Counts repeated under one '@' share the stack's indices. */
            for (uint32_t k = 0; k < stack->depth && indices != before; k++)
                indices[k] = new_indices[indices[k]];
            before = indices;
        }
}

struct numbered {
    uint64_t address;
    uint32_t old;
};

/* Radix sort, the lowest digit first.  A digit that all numbers share is
 * skipped: addresses share their upper ones.  The result is in list or in
 * other. */
static struct numbered *
sort_numbered(struct numbered *list, struct numbered *other, size_t count)
{
    size_t starts[1 << RADIX_BITS], sum, n;
    const uint64_t mask = (1 << RADIX_BITS) - 1;
    struct numbered *sorted;

    for (unsigned shift = 0; shift < 64; shift += RADIX_BITS) {
        memset(starts, 0, sizeof(starts));
        for (size_t i = 0; i < count; i++)
            starts[list[i].address >> shift & mask]++;
        if (count == 0 || starts[list[0].address >> shift & mask] == count)
            continue;
        sum = 0;
        for (size_t i = 0; i <= mask; i++, sum += n) {
            n = starts[i];
            starts[i] = sum;
        }
        for (size_t i = 0; i < count; i++)
            other[starts[list[i].address >> shift & mask]++] = list[i];
        sorted = other;
        other = list;
        list = sorted;
    }
    return list;
}

int
heap_stacks_sort(struct heap_stacks *stacks, uint64_t *list, size_t *count,
                 struct arena *holder)
{
    size_t kept = 0;
    const struct numbered *sorted;
    struct numbered *lists;
    uint32_t *new_indices;
    int rc = -1;

    if (!arena_charge(holder,
                      *count * (2 * sizeof(*lists) + sizeof(*new_indices))))
        return -1;
    lists = mem_zalloc(*count, 2 * sizeof(*lists));
    new_indices = mem_zalloc(*count, sizeof(*new_indices));
    if (!lists || !new_indices)
        goto out;
    for (size_t i = 0; i < *count; i++)
        lists[i] = (struct numbered){list[i], (uint32_t)i};
    sorted = sort_numbered(lists, lists + *count, *count);
    for (size_t i = 0; i < *count; i++) {
        if (i == 0 || sorted[i].address != sorted[i - 1].address)
            list[kept++] = sorted[i].address;
        new_indices[sorted[i].old] = (uint32_t)kept - 1;
    }
    *count = kept;
    replace_address_indices(stacks, new_indices);
    rc = 0;
out:
    mem_free(lists);
    mem_free(new_indices);
    return rc;
}

enum {
    /* ceiling for the stacks' indices, and for the rest */
    DUMP_MEMORY_MAX = 512 << 20
};

/* ---- the lines of the text ---- */

struct heap_lines {
    const char *pos, *end;            /* available and not taken yet */
    const struct heap_source *source; /* NULL: no more pieces */
    struct buffer window;             /* the source's pieces */
    struct span kept; /* a line taken earlier: it moves with the window */
};

enum {
    PIECE_BYTES = 256 << 10, /* fits a core's cache */
    WINDOW_MAX = 1 << 30
};

/* Reads either text, or source, which is borrowed. */
static void
heap_lines_init(struct heap_lines *lines, struct span text,
                const struct heap_source *source)
{
    memset(lines, 0, sizeof(*lines));
    lines->pos = text.size ? text.data : "";
    lines->end = lines->pos + text.size;
    lines->source = source;
    buffer_init(&lines->window, WINDOW_MAX);
}

/* Frees the taken part of the window.  The kept line moves first, because it
 * lies before what is left. */
static void
move_to_front(struct heap_lines *lines)
{
    size_t kept = lines->kept.size, left = (size_t)(lines->end - lines->pos);
    char *to = lines->window.data;

    if (kept > 0)
        memmove(to, lines->kept.data, kept);
    if (left > 0 && lines->pos != to + kept)
        memmove(to + kept, lines->pos, left);
    lines->kept.data = to;
    lines->pos = to + kept;
    lines->window.size = kept + left;
}

/* 1: more bytes came; 0: the end; -1 with *err. */
static int
read_more_dump_bytes(struct heap_lines *lines, struct error *err)
{
    struct buffer *window = &lines->window;
    size_t taken;
    char *place;
    ssize_t n;

    if (!lines->source)
        return 0;
    if (window->data)
        move_to_front(lines);
    taken = window->data ? (size_t)(lines->pos - window->data) : 0;
    place = buffer_reserve(window, PIECE_BYTES);
    if (!place) {
        error_memory(err, "a line of the heap profile");
        return -1;
    }
    n = lines->source->read(lines->source->arg, place, PIECE_BYTES, err);
    if (n < 0)
        return -1;
    buffer_claim(window, (size_t)n);
    lines->kept.data = window->data;
    lines->pos = window->data + taken;
    lines->end = window->data + window->size;
    if (n == 0)
        lines->source = NULL;
    return n > 0;
}

/* 1: the next whole line, without its '\n', valid until the next call; 0: none,
 * and the bytes left at pos are a cut line; -1 with *err. */
static int
heap_lines_next(struct heap_lines *lines, struct span *line, struct error *err)
{
    const char *newline = NULL;
    size_t seen = 0;
    int more = 1;

    while (more > 0 && !newline) {
        size_t left = (size_t)(lines->end - lines->pos);

        /* A newline is searched only in bytes that have come since the last
         * search. */
        if (left > seen)
            newline = memchr(lines->pos + seen, '\n', left - seen);
        seen = left;
        if (!newline)
            more = read_more_dump_bytes(lines, err);
    }
    if (!newline)
        return more;
    *line = (struct span){lines->pos, (size_t)(newline - lines->pos)};
    lines->pos = newline + 1;
    return 1;
}

/* All whole lines that are left.  -1 with *err. */
static int
heap_lines_rest(struct heap_lines *lines, struct span *rest, struct error *err)
{
    const char *newline = NULL;
    int more;

    do
        more = read_more_dump_bytes(lines, err);
    while (more > 0);
    if (lines->end > lines->pos)
        newline = memrchr(lines->pos, '\n', (size_t)(lines->end - lines->pos));
    *rest = (struct span){lines->pos, 0};
    if (newline)
        rest->size = (size_t)(newline - lines->pos) + 1;
    lines->pos += rest->size;
    return more;
}

/* ---- parsing ---- */

enum { SAFE_DIGITS = 18 /* this many decimal digits cannot overflow */ };

static inline bool
heap_text_take(struct reader *r, char c)
{
    if (r->failed || r->pos == r->end || *r->pos != (uint8_t)c)
        return false;
    r->pos++;
    return true;
}

static inline void
heap_text_expect(struct reader *r, char c)
{
    if (!heap_text_take(r, c))
        r->failed = true;
}

static inline uint64_t
heap_text_decimal(struct reader *r)
{
    const uint8_t *at = r->pos;
    uint64_t v = 0;
    uint8_t digit;

    for (; at < r->end && (digit = (uint8_t)(*at - '0')) <= 9; at++) {
        if (at - r->pos < SAFE_DIGITS)
            v = v * 10 + digit;
        else if (__builtin_mul_overflow(v, 10, &v) ||
                 __builtin_add_overflow(v, digit, &v))
            r->failed = true;
    }
    if (at == r->pos)
        r->failed = true;
    r->pos = at;
    return v;
}

struct parser {
    struct heap_dump *dump;
    struct error *err;
    struct heap_lines lines;
    struct heap_stack_text stacks;
    struct dump_threads threads;
    bool counted; /* the last stack has its counts */
};

static int
parse_stack(struct parser *p, struct reader r)
{
    struct span line = {(const char *)r.pos, reader_left(&r)};

    p->stacks.last = p->lines.kept; /* reading more may have moved it */
    if (heap_stack_text_read(&p->stacks, r) != 0)
        return -1;
    p->lines.kept = line;
    p->counted = false;
    return 0;
}

static int
add_parsed_stack(struct parser *p, const struct heap_stack *counts)
{
    struct heap_dump *dump = p->dump;
    struct heap_stack *stack;

    if (dump->stack_count == HEAP_DUMP_STACKS_MAX)
        return heap_stack_text_fail(&p->stacks, "too many stacks");
    stack = heap_stacks_add(&dump->stacks);
    if (!stack) {
        error_memory(p->err, "the profile's stacks");
        return -1;
    }
    *stack = *counts;
    stack->addresses = p->stacks.stack;
    stack->depth = p->stacks.depth;
    dump->stack_count++;
    /* A second line of counts under one '@' repeats the stack. */
    dump->sorted &= !p->counted;
    p->counted = true;
    return 0;
}

/* A line "t3: ..." before the first stack names a thread; later it is that
 * thread's share of the last stack. */
static int
add_thread_counts(struct parser *p, uint64_t number,
                  const struct heap_stack *counts, const struct reader *rest)
{
    struct span name = {(const char *)rest->pos, reader_left(rest)};
    int rc = 0;

    if (!p->stacks.stack)
        rc = dump_threads_name(&p->threads, number, name);
    else if (p->counted)
        rc = dump_threads_share(&p->threads, number, counts->objects,
                                counts->bytes);
    if (rc != 0)
        error_memory(p->err, "the profile's threads");
    return rc;
}

/* "t*: 3: 96 [0: 0]" after the 't'. */
static int
parse_counts(struct parser *p, struct reader r)
{
    bool all_threads = heap_text_take(&r, '*');
    struct heap_stack counts = {0};
    uint64_t number = 0;

    if (!all_threads && (r.pos == r.end || *r.pos < '0' || *r.pos > '9'))
        return 0; /* another line that begins with a t */
    if (!all_threads)
        number = heap_text_decimal(&r);
    heap_text_expect(&r, ':');
    reader_skip_blanks(&r);
    counts.objects = heap_text_decimal(&r);
    heap_text_expect(&r, ':');
    reader_skip_blanks(&r);
    counts.bytes = heap_text_decimal(&r);
    reader_skip_blanks(&r);
    heap_text_expect(&r, '[');
    reader_skip_blanks(&r);
    counts.objects_ever = heap_text_decimal(&r);
    heap_text_expect(&r, ':');
    reader_skip_blanks(&r);
    counts.bytes_ever = heap_text_decimal(&r);
    heap_text_expect(&r, ']');
    if (r.failed)
        return heap_stack_text_fail(&p->stacks, "impossible counts");
    if (!all_threads)
        return add_thread_counts(p, number, &counts, &r);
    return p->stacks.stack ? add_parsed_stack(p, &counts) : 0;
}

static int
parse_maps(struct parser *p)
{
    struct span text;

    if (heap_lines_rest(&p->lines, &text, p->err) != 0)
        return -1;
    /* Only whole lines come: an empty text was cut off. */
    p->dump->truncated |= text.size == 0;
    return mappings_parse(p->dump->arena, text.data, text.size, &p->dump->maps,
                          NULL, p->err);
}

static int
parse_dump_header(struct parser *p, struct span line)
{
    static const char magic[] = "heap_v2/";
    struct reader r = reader_of(line.data, line.size);

    if (line.size < sizeof(magic) - 1 ||
        memcmp(line.data, magic, sizeof(magic) - 1) != 0) {
        error_set(p->err, ER_UNKNOWN,
                  "not a jemalloc heap profile: it does not begin with %s",
                  magic);
        return -1;
    }
    reader_bytes(&r, sizeof(magic) - 1);
    p->dump->rate = heap_text_decimal(&r);
    reader_skip_blanks(&r);
    if (!reader_done(&r) || p->dump->rate == 0)
        return heap_stack_text_fail(&p->stacks, "not a sampling rate");
    return 0;
}

static int
parse_body(struct parser *p)
{
    static const char maps[] = "MAPPED_LIBRARIES:";
    struct reader r;
    struct span line;
    int rc = 0, more = 0;

    while (rc == 0 && (more = heap_lines_next(&p->lines, &line, p->err)) > 0) {
        p->stacks.line++;
        r = reader_of(line.data, line.size);
        reader_skip_blanks(&r);
        if (heap_text_take(&r, '@'))
            rc = parse_stack(p, r);
        else if (heap_text_take(&r, 't'))
            rc = parse_counts(p, r);
        else if (line.size >= sizeof(maps) - 1 &&
                 memcmp(line.data, maps, sizeof(maps) - 1) == 0)
            return parse_maps(p);
    }
    p->dump->truncated = true; /* the mappings come last */
    return more < 0 ? -1 : rc;
}

static int
sort_addresses(struct parser *p)
{
    struct heap_dump *dump = p->dump;

    mem_free(p->stacks.addresses.slots); /* makes room for sorting */
    p->stacks.addresses.slots = NULL;
    if (heap_stacks_sort(&dump->stacks, p->stacks.addresses.list,
                         &p->stacks.addresses.count, dump->arena) != 0) {
        error_memory(p->err, "the profile's addresses");
        return -1;
    }
    dump->addresses = p->stacks.addresses.list;
    dump->address_count = p->stacks.addresses.count;
    p->stacks.addresses.list = NULL;
    return 0;
}

static int
parse_dump_lines(struct parser *p)
{
    struct span line = {"", 0};

    p->stacks.line = 1;
    if (heap_lines_next(&p->lines, &line, p->err) < 0 ||
        parse_dump_header(p, line) != 0 || parse_body(p) != 0)
        return -1;
    p->dump->truncated |= p->lines.pos < p->lines.end; /* within a line */
    p->dump->sorted &= p->stacks.sorted;
    buffer_fini(&p->lines.window); /* makes room for sorting */
    return sort_addresses(p);
}

static struct heap_dump *
parse_dump_input(struct span text, const struct heap_source *source,
                 const struct arena_meter *meter, struct error *err)
{
    struct parser p = {.err = err};
    struct heap_dump *done = NULL;

    heap_lines_init(&p.lines, text, source);
    p.dump = mem_zalloc(1, sizeof(*p.dump));
    if (p.dump)
        p.dump->arena = arena_new(DUMP_MEMORY_MAX);
    if (!p.dump || !p.dump->arena ||
        heap_stacks_init(&p.dump->stacks, DUMP_MEMORY_MAX) != 0) {
        error_memory(err, "the profile");
        goto out;
    }
    arena_set_meter(p.dump->arena, meter);
    arena_set_meter(p.dump->stacks.indices, meter);
    if (heap_stack_text_init(&p.stacks, p.dump->stacks.indices, p.dump->arena,
                             err) != 0) {
        error_memory(err, "the profile's addresses");
        goto out;
    }
    p.dump->sorted = true;
    p.threads.dump = p.dump;
    if (parse_dump_lines(&p) != 0)
        goto out;
    done = p.dump;
out:
    buffer_fini(&p.lines.window);
    heap_stack_text_fini(&p.stacks);
    dump_threads_fini(&p.threads);
    if (!done)
        heap_dump_free(p.dump);
    return done;
}

struct heap_dump *
heap_dump_parse(const char *text, size_t size, struct error *err)
{
    return parse_dump_input((struct span){text, size}, NULL, NULL, err);
}

struct heap_dump *
heap_dump_parse_counted(const char *text, size_t size,
                        const struct arena_meter *meter, struct error *err)
{
    return parse_dump_input((struct span){text, size}, NULL, meter, err);
}

struct heap_dump *
heap_dump_read(const struct heap_source *source, struct error *err)
{
    return parse_dump_input((struct span){NULL, 0}, source, NULL, err);
}

void
heap_dump_free(struct heap_dump *dump)
{
    if (!dump)
        return;
    arena_free(dump->arena);
    heap_stacks_fini(&dump->stacks);
    mem_free(dump->addresses);
    mem_free(dump->shares);
    mem_free(dump);
}
