/*
 * heap_dump.c - see heap_dump.h.
 *
 * One pass over the text.  Addresses repeat a lot (thousands of distinct ones
 * in hundreds of thousands), so each is stored once and stacks hold indices.
 * jemalloc sorts stacks from the leaf on: what a line has in common with the
 * one before is not read again.
 */
#include "heap_dump.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "hash.h"
#include "memory.h"
#include "reader.h"

enum {
    DUMP_MEMORY_MAX = 512 << 20, /* stacks' indices and mappings */
    STACKS_FIRST = 256,
    ADDRESSES_FIRST = 1024 /* a power of two */
};

struct parser {
    struct heap_dump *dump;
    struct error *err;
    size_t line; /* for messages */

    /* The stack that counts belong to; none before the first '@'. */
    bool in_stack;
    uint32_t *stack;
    uint32_t depth;

    struct span last;                   /* the last stack's text */
    uint32_t ends[HEAP_DUMP_DEPTH_MAX]; /* where its addresses end in it */

    size_t stack_room;
    size_t address_room; /* of dump->addresses */
    uint32_t *slots;     /* 1 + index by hash; twice address_room */
};

/* Reading within one line. */

static void
skip_blanks(struct reader *r)
{
    while (r->pos < r->end &&
           (*r->pos == ' ' || *r->pos == '\t' || *r->pos == '\r'))
        r->pos++;
}

static bool
take(struct reader *r, char c)
{
    if (r->failed || r->pos == r->end || *r->pos != (uint8_t)c)
        return false;
    r->pos++;
    return true;
}

static void
expect(struct reader *r, char c)
{
    if (!take(r, c))
        r->failed = true;
}

static uint64_t
decimal(struct reader *r)
{
    const uint8_t *first = r->pos;
    uint64_t v = 0;

    while (r->pos < r->end && *r->pos >= '0' && *r->pos <= '9') {
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, *r->pos - '0', &v))
            r->failed = true;
        r->pos++;
    }
    if (r->pos == first)
        r->failed = true;
    return v;
}

/* 1 + the digit; most of a dump is these. */
static const uint8_t hex_digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
    ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
    ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
    ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/*
 * Eight digits at once, if all are: false otherwise.  Of a byte the upper half
 * is 3, or of a letter 4 or 6; the lower one is 0 to 9, or 1 to 6.
 */
static bool
eight_digits(const uint8_t *at, uint32_t *value)
{
    const uint64_t ones = 0x0101010101010101ULL;
    uint64_t text, low, letters, v;

    memcpy(&text, at, sizeof(text));
    text = be64toh(text);
    letters = text >> 6 & ones;
    low = text & ones * 0x0f;
    if (((text | letters << 5) & ones * 0xf0) != (ones + letters) * 0x30 ||
        ((low + ones * 6 + letters * 3) & ones * 0x10) ||
        (~(low + ones * 0x0f) >> 4 & letters))
        return false;
    v = low + letters * 9;
    v = (v | v >> 4) & 0x00ff00ff00ff00ffULL;
    v = (v | v >> 8) & 0x0000ffff0000ffffULL;
    *value = (uint32_t)(v | v >> 16);
    return true;
}

static uint64_t
hexadecimal(struct reader *r)
{
    const uint8_t *at = r->pos, *first;
    uint64_t v = 0, lost = 0;
    uint32_t eight;
    uint8_t digit;

    if (r->end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x')
        at += 2;
    first = at;
    if (r->end - at >= 8 && eight_digits(at, &eight)) {
        v = eight;
        at += 8;
    }
    for (; at < r->end && (digit = hex_digits[*at]) != 0; at++) {
        lost |= v >> 60;
        v = v << 4 | (digit - 1);
    }
    if (at == first || lost)
        r->failed = true;
    r->pos = at;
    return v;
}

static int
fail(struct parser *p, const char *what)
{
    error_set(p->err, ER_UNKNOWN, "line %zu of the heap profile: %s", p->line,
              what);
    return -1;
}

/* The table of addresses. */

static uint32_t *
slot_of(const struct parser *p, uint64_t address)
{
    size_t mask = p->address_room * 2 - 1;
    size_t i = hash_mix(hash_seed(p->dump), address) & mask;

    while (p->slots[i] && p->dump->addresses[p->slots[i] - 1] != address)
        i = (i + 1) & mask;
    return &p->slots[i];
}

static int
grow_addresses(struct parser *p)
{
    struct heap_dump *dump = p->dump;
    size_t room = p->address_room ? p->address_room * 2 : ADDRESSES_FIRST;
    uint64_t *grown;
    uint32_t *slots;

    if (room > HEAP_DUMP_ADDRESSES_MAX)
        return fail(p, "too many distinct addresses");
    grown = mem_realloc(dump->addresses, room * sizeof(*grown));
    if (grown)
        dump->addresses = grown;
    slots = mem_zalloc(room * 2, sizeof(*slots));
    if (!grown || !slots) {
        mem_free(slots);
        error_memory(p->err, "the profile's addresses");
        return -1;
    }
    mem_free(p->slots);
    p->slots = slots;
    p->address_room = room;
    for (size_t i = 0; i < dump->address_count; i++)
        *slot_of(p, dump->addresses[i]) = (uint32_t)i + 1;
    return 0;
}

static int
add_address(struct parser *p, uint64_t address, uint32_t *index)
{
    struct heap_dump *dump = p->dump;
    uint32_t *slot;

    if ((!p->slots || dump->address_count == p->address_room) &&
        grow_addresses(p) != 0)
        return -1;
    slot = slot_of(p, address);
    if (*slot == 0) {
        dump->addresses[dump->address_count++] = address;
        *slot = (uint32_t)dump->address_count;
    }
    *index = *slot - 1;
    return 0;
}

/* The lines. */

static size_t
common_size(struct span a, struct span b)
{
    size_t size = a.size < b.size ? a.size : b.size, i = 0;
    uint64_t x, y;

    for (; size - i >= sizeof(x); i += sizeof(x)) {
        memcpy(&x, a.data + i, sizeof(x));
        memcpy(&y, b.data + i, sizeof(y));
        if (x != y)
            break;
    }
    while (i < size && a.data[i] == b.data[i])
        i++;
    return i;
}

/* How many addresses are the last stack's, with what ends them. */
static uint32_t
take_common(const struct parser *p, struct reader *r, struct span line)
{
    size_t size = common_size(line, p->last);
    uint32_t depth = 0;

    while (depth < p->depth && p->ends[depth] < size)
        depth++;
    if (depth > 0)
        r->pos += p->ends[depth - 1];
    return depth;
}

/* "@ 0x7f01 0x7f02 ..." after the '@'. */
static int
parse_stack(struct parser *p, struct reader r)
{
    struct span line = {(const char *)r.pos, reader_left(&r)};
    uint32_t indices[HEAP_DUMP_DEPTH_MAX], depth = take_common(p, &r, line);
    uint32_t *copy;
    uint64_t address;

    if (depth > 0)
        memcpy(indices, p->stack, depth * sizeof(*indices));
    for (skip_blanks(&r); r.pos < r.end; skip_blanks(&r)) {
        address = hexadecimal(&r);
        if (r.failed || (r.pos < r.end && *r.pos != ' ' && *r.pos != '\t' &&
                         *r.pos != '\r'))
            return fail(p, "not an address");
        if (depth == HEAP_DUMP_DEPTH_MAX)
            return fail(p, "a stack is too deep");
        if (depth > 0 && address > 0)
            address--;
        if (add_address(p, address, &indices[depth]) != 0)
            return -1;
        p->ends[depth++] = (uint32_t)((const char *)r.pos - line.data);
    }
    /* Never nothing: stacks are told apart by their pointer. */
    copy = arena_alloc(p->dump->arena, (depth + 1) * sizeof(*copy));
    if (!copy) {
        error_memory(p->err, "the profile's stacks");
        return -1;
    }
    memcpy(copy, indices, depth * sizeof(*copy));
    p->in_stack = true;
    p->last = line;
    p->stack = copy;
    p->depth = depth;
    return 0;
}

static int
add_stack(struct parser *p, const struct heap_stack *counts)
{
    struct heap_dump *dump = p->dump;
    struct heap_stack *grown;
    size_t room;

    if (dump->stack_count == p->stack_room) {
        room = p->stack_room ? p->stack_room * 2 : STACKS_FIRST;
        if (room > HEAP_DUMP_STACKS_MAX)
            return fail(p, "too many stacks");
        grown = mem_realloc(dump->stacks, room * sizeof(*grown));
        if (!grown) {
            error_memory(p->err, "the profile's stacks");
            return -1;
        }
        dump->stacks = grown;
        p->stack_room = room;
    }
    grown = &dump->stacks[dump->stack_count++];
    *grown = *counts;
    grown->addresses = p->stack;
    grown->depth = p->depth;
    return 0;
}

/* "t*: 3: 96 [0: 0]" after the 't'; newer jemallocs add a thread's name. */
static int
parse_counts(struct parser *p, struct reader r)
{
    bool all_threads = take(&r, '*');
    struct heap_stack counts = {0};

    if (!all_threads && (r.pos == r.end || *r.pos < '0' || *r.pos > '9'))
        return 0; /* some other word with a t */
    if (!all_threads)
        decimal(&r);
    expect(&r, ':');
    skip_blanks(&r);
    counts.objects = decimal(&r);
    expect(&r, ':');
    skip_blanks(&r);
    counts.bytes = decimal(&r);
    skip_blanks(&r);
    expect(&r, '[');
    skip_blanks(&r);
    counts.objects_ever = decimal(&r);
    expect(&r, ':');
    skip_blanks(&r);
    counts.bytes_ever = decimal(&r);
    expect(&r, ']');
    if (r.failed)
        return fail(p, "impossible counts");
    return p->in_stack && all_threads ? add_stack(p, &counts) : 0;
}

static int
parse_maps(struct parser *p, struct span text)
{
    /* Whole lines only: nothing there yet means cut off. */
    p->dump->truncated |= text.size == 0;
    return mappings_parse(p->dump->arena, text.data, text.size, &p->dump->maps,
                          NULL, p->err);
}

static int
parse_header(struct parser *p, struct span line)
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
    p->dump->rate = decimal(&r);
    skip_blanks(&r);
    if (!reader_done(&r) || p->dump->rate == 0)
        return fail(p, "not a sampling rate");
    return 0;
}

static int
parse_body(struct parser *p, struct reader *text)
{
    static const char maps[] = "MAPPED_LIBRARIES:";
    struct reader r;
    struct span line;
    int rc = 0;

    while (rc == 0 && reader_line(text, &line)) {
        p->line++;
        r = reader_of(line.data, line.size);
        skip_blanks(&r);
        if (take(&r, '@'))
            rc = parse_stack(p, r);
        else if (take(&r, 't'))
            rc = parse_counts(p, r);
        else if (line.size >= sizeof(maps) - 1 &&
                 memcmp(line.data, maps, sizeof(maps) - 1) == 0)
            return parse_maps(p, reader_rest(text));
    }
    p->dump->truncated = true; /* the mappings come last */
    return rc;
}

/* Sorting the addresses renumbers them. */

struct numbered {
    uint64_t address;
    uint32_t old;
};

static int
compare_numbered(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;

    return (x->address > y->address) - (x->address < y->address);
}

static int
sort_addresses(struct parser *p)
{
    struct heap_dump *dump = p->dump;
    struct numbered *list = mem_zalloc(dump->address_count, sizeof(*list));
    uint32_t *now = mem_zalloc(dump->address_count, sizeof(*now));
    const uint32_t *before = NULL;
    int rc = -1;

    if (!list || !now) {
        error_memory(p->err, "the profile's addresses");
        goto out;
    }
    for (size_t i = 0; i < dump->address_count; i++)
        list[i] = (struct numbered){dump->addresses[i], (uint32_t)i};
    qsort(list, dump->address_count, sizeof(*list), compare_numbered);
    for (size_t i = 0; i < dump->address_count; i++) {
        dump->addresses[i] = list[i].address;
        now[list[i].old] = (uint32_t)i;
    }
    for (size_t i = 0; i < dump->stack_count; i++) {
        const struct heap_stack *stack = &dump->stacks[i];
        uint32_t *indices = stack->addresses;

        /* Counts repeated under one '@' share its indices. */
        for (uint32_t k = 0; k < stack->depth && indices != before; k++)
            indices[k] = now[indices[k]];
        before = indices;
    }
    rc = 0;
out:
    mem_free(list);
    mem_free(now);
    return rc;
}

struct heap_dump *
heap_dump_parse(const char *text, size_t size, struct error *err)
{
    const char *newline = size ? memrchr(text, '\n', size) : NULL;
    size_t whole = newline ? (size_t)(newline - text) + 1 : 0;
    struct reader r = reader_of(text, whole);
    struct parser p = {.err = err};
    struct span line = {"", 0};
    struct heap_dump *done = NULL;

    p.dump = mem_zalloc(1, sizeof(*p.dump));
    if (p.dump)
        p.dump->arena = arena_new(DUMP_MEMORY_MAX);
    if (!p.dump || !p.dump->arena) {
        error_memory(err, "the profile");
        goto out;
    }
    p.dump->truncated = whole < size;
    p.line = 1;
    reader_line(&r, &line);
    if (parse_header(&p, line) == 0 && parse_body(&p, &r) == 0 &&
        sort_addresses(&p) == 0)
        done = p.dump;
out:
    mem_free(p.slots);
    if (!done)
        heap_dump_free(p.dump);
    return done;
}

void
heap_dump_free(struct heap_dump *dump)
{
    if (!dump)
        return;
    arena_free(dump->arena);
    mem_free(dump->stacks);
    mem_free(dump->addresses);
    mem_free(dump);
}
