/*
 * heap_stack_text.c - see heap_stack_text.h.
 *
 * Parsing addresses is most of the work of reading a dump, so it is avoided.
 * jemalloc sorts stacks from the leaf on, and all stacks have few roots:
 * addresses that a line shares with the line before, at either end, are copied
 * as indices.  The others are read digit by digit: eight digits at a time, in
 * one register, were worth 3 to 9 % of the parsing of large dumps, and cost 160
 * more lines.  Inner part of heap_dump.c.
 */
#include "heap_stack_text.h"

#include <string.h>

#include "arena.h"
#include "errors.h"
#include "hash.h"
#include "heap_dump.h"
#include "memory.h"

int
heap_stack_text_fail(const struct heap_stack_text *t, const char *what)
{
    error_set(t->err, ER_UNKNOWN, "line %zu of the heap profile: %s", t->line,
              what);
    return -1;
}

/* ---- an address ---- */

/* 1 + the digit's value; 0: not a digit. */
static const uint8_t heap_text_hex_digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
    ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
    ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
    ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* False: it is no address, or one of more than 64 bits. */
static inline bool
parse_stack_address(struct reader *r, uint64_t *address)
{
    const uint8_t *at = r->pos, *first, *high;
    uint64_t v = 0;
    uint8_t digit;

    if (r->end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x')
        at += 2;
    first = at;
    while (at < r->end && *at == '0')
        at++;
    for (high = at; at < r->end && (digit = heap_text_hex_digits[*at]) != 0;
         at++)
        v = (v << 4) + digit - 1;
    *address = v;
    r->pos = at;
    return at > first && at - high <= 2 * (ptrdiff_t)sizeof(v) &&
           (at == r->end || *at == ' ' || *at == '\t' || *at == '\r');
}

/* ---- the distinct addresses of the text ---- */

enum { FIRST_CAPACITY = 1024 /* a power of two */ };

struct heap_address_slot {
    uint64_t address;
    uint32_t number; /* 1 + index; 0: free */
};

static inline struct heap_address_slot *
heap_addresses_home_slot(const struct heap_addresses *addresses,
                         uint64_t address)
{
    return &addresses->slots[hash_pair(addresses->seed, address, 0) &
                             (addresses->capacity * 2 - 1)];
}

static inline void
heap_addresses_expect(const struct heap_addresses *addresses, uint64_t address)
{
    /* The table is larger than the cache: the slots of a line's addresses are
     * fetched while the rest of the line is read. */
    __builtin_prefetch(heap_addresses_home_slot(addresses, address));
}

/* The address's slot, or the free slot where it belongs. */
static inline struct heap_address_slot *
heap_addresses_slot(const struct heap_addresses *addresses, uint64_t address)
{
    struct heap_address_slot *slot =
        heap_addresses_home_slot(addresses, address);

    while (slot->number && slot->address != address)
        if (++slot == addresses->slots + addresses->capacity * 2)
            slot = addresses->slots;
    return slot;
}

static int
grow_address_table(struct heap_addresses *addresses)
{
    size_t room =
        addresses->capacity ? addresses->capacity * 2 : FIRST_CAPACITY;
    const struct heap_address_slot *before = addresses->slots;
    const size_t slots = addresses->capacity * 2;
    struct heap_address_slot *grown;
    uint64_t *list;

    if (room > HEAP_DUMP_ADDRESSES_MAX ||
        !arena_charge(addresses->index_arena,
                      room * (sizeof(*list) + 2 * sizeof(*grown))))
        return -1;
    list = mem_realloc(addresses->list, room * sizeof(*list));
    if (!list)
        return -1;
    addresses->list = list;
    grown = mem_zalloc(room * 2, sizeof(*grown));
    if (!grown)
        return -1;
    addresses->slots = grown;
    addresses->capacity = room;
    for (size_t i = 0; i < slots; i++)
        if (before[i].number)
            *heap_addresses_slot(addresses, before[i].address) = before[i];
    mem_free((void *)before);
    return 0;
}

/* Charges all memory to holder.  -1: no memory. */
static int
heap_addresses_init(struct heap_addresses *addresses, struct arena *holder)
{
    *addresses = (struct heap_addresses){.seed = hash_seed(addresses),
                                         .index_arena = holder};
    return grow_address_table(addresses);
}

/* Its index in the list, where it is added if it is not there yet. */
static inline int
number_stack_address(struct heap_stack_text *t, uint64_t address,
                     uint32_t *index)
{
    struct heap_addresses *addresses = &t->addresses;
    struct heap_address_slot *slot = heap_addresses_slot(addresses, address);

    if (slot->number == 0) {
        if (addresses->count == HEAP_DUMP_ADDRESSES_MAX)
            return heap_stack_text_fail(t, "too many distinct addresses");
        if (addresses->count == addresses->capacity) {
            if (grow_address_table(addresses) != 0) {
                error_memory(t->err, "the profile's addresses");
                return -1;
            }
            slot = heap_addresses_slot(addresses, address);
        }
        addresses->list[addresses->count++] = address;
        *slot = (struct heap_address_slot){address, (uint32_t)addresses->count};
    }
    *index = slot->number - 1;
    return 0;
}

/* ---- a line ---- */

/* How many bytes two lines have in common at their starts. */
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

/* How many of the last size bytes before a_end and b_end are the same. */
static size_t
common_tail(const char *a_end, const char *b_end, size_t size)
{
    size_t i = 0;
    uint64_t x, y;

    for (; size - i >= sizeof(x); i += sizeof(x)) {
        memcpy(&x, a_end - i - sizeof(x), sizeof(x));
        memcpy(&y, b_end - i - sizeof(y), sizeof(y));
        if (x != y)
            break;
    }
    while (i < size && a_end[-1 - (ptrdiff_t)i] == b_end[-1 - (ptrdiff_t)i])
        i++;
    return i;
}

/* Skips the addresses at the start of line that the last stack has too; returns
 * how many.  The last one that is partly common is not counted. */
static uint32_t
take_common(const struct heap_stack_text *t, struct reader *r, struct span line)
{
    const uint32_t *ends = t->ends[t->current];
    size_t size = common_size(line, t->last);
    uint32_t depth = 0;

    while (depth < t->depth && ends[depth] < size)
        depth++;
    if (depth > 0)
        r->pos += ends[depth - 1];
    return depth;
}

/* Returns from which address on the last stack ends like r does, and takes
 * these addresses off r's end.  Each is compared with the blank before it, so
 * that no address matches by its last digits alone. */
static uint32_t
leave_common(const struct heap_stack_text *t, struct reader *r)
{
    const uint32_t *ends = t->ends[t->current];
    const struct span last = t->last;
    size_t left = reader_left(r), size;
    uint32_t from = t->depth;

    size = common_tail((const char *)r->end, last.data + last.size,
                       left < last.size ? left : last.size);
    while (from > 1 && last.size - ends[from - 2] <= size)
        from--;
    if (from > 0 && from < t->depth)
        r->end -= last.size - ends[from - 1];
    return from;
}

/* Appends the last stack's addresses, from index from on, to the depth
 * addresses of this one. */
static uint32_t
append_common_tail(struct heap_stack_text *t, uint32_t *indices, uint32_t depth,
                   uint32_t from, size_t size)
{
    const uint32_t *ends = t->ends[t->current];
    uint32_t *to = t->ends[!t->current];
    uint32_t moved = (uint32_t)(size - t->last.size); /* modulo 2^32 */

    for (; from < t->depth; from++, depth++) {
        indices[depth] = t->stack[from];
        to[depth] = ends[from] + moved;
    }
    return depth;
}

/* Reads at most room addresses of text, a part of line, and prefetches their
 * slots meanwhile.  Returns their number, or -1.  first: the stack begins with
 * them.  Not inlined, so that the loop has all registers. */
static __attribute__((noinline)) int
split(struct heap_stack_text *t, const struct reader *text, const char *line,
      bool first, uint32_t *ends, uint32_t room)
{
    const struct heap_addresses addresses = t->addresses;
    struct reader r = *text;
    uint64_t address;
    uint32_t n = 0;

    for (reader_skip_blanks(&r); r.pos < r.end; reader_skip_blanks(&r)) {
        if (n == room)
            return heap_stack_text_fail(t, "a stack is too deep");
        if (!parse_stack_address(&r, &address))
            return heap_stack_text_fail(t, "not an address");
        if (address > 0 && (n > 0 || !first)) /* where a call returns to */
            address--;
        heap_addresses_expect(&addresses, address);
        t->words[n] = address;
        ends[n++] = (uint32_t)((const char *)r.pos - line);
    }
    return (int)n;
}

static int
parse_addresses(struct heap_stack_text *t, const struct reader *text,
                const char *line, uint32_t *indices, uint32_t *depth)
{
    int n = split(t, text, line, *depth == 0, t->ends[!t->current] + *depth,
                  HEAP_DUMP_DEPTH_MAX - *depth);

    for (int i = 0; i < n; i++, ++*depth)
        if (number_stack_address(t, t->words[i], &indices[*depth]) != 0)
            return -1;
    return n < 0 ? -1 : 0;
}

bool
heap_stack_is_behind(const uint64_t *list, const struct heap_stack *stack,
                     const struct heap_stack *last, uint32_t common)
{
    uint64_t a, b, change;

    while (common < stack->depth && common < last->depth &&
           stack->addresses[common] == last->addresses[common])
        common++;
    if (common == last->depth)
        return common < stack->depth;
    if (common == stack->depth)
        return false;
    change = common > 0; /* the text has the return address, 1 more */
    a = list[stack->addresses[common]] + change;
    b = list[last->addresses[common]] + change;
    /* jemalloc compares with memcmp: on x86-64 and arm64 the lowest byte
     * first. */
    return __builtin_bswap64(a) > __builtin_bswap64(b);
}

int
heap_stack_text_read(struct heap_stack_text *t, struct reader r)
{
    struct span line = {(const char *)r.pos, reader_left(&r)};
    uint32_t *indices = t->indices, depth = take_common(t, &r, line);
    const uint32_t common = depth;
    uint32_t from = t->depth, none = 0;
    uint32_t *copy;

    if (depth > 0) {
        memcpy(indices, t->stack, depth * sizeof(*indices));
        memcpy(t->ends[!t->current], t->ends[t->current],
               depth * sizeof(**t->ends));
        /* Not for depth 0: the first address is kept as it is, all later ones
         * less 1. */
        from = leave_common(t, &r);
    }
    if (parse_addresses(t, &r, line.data, indices, &depth) != 0)
        return -1;
    if (t->depth - from > HEAP_DUMP_DEPTH_MAX - depth)
        return heap_stack_text_fail(t, "a stack is too deep");
    depth = append_common_tail(t, indices, depth, from, line.size);
    /* Allocates even for depth 0: stacks are told apart by their pointer. */
    copy = depth ? arena_copy(t->stack_arena, indices, depth * sizeof(*copy))
                 : arena_copy(t->stack_arena, &none, sizeof(none));
    if (!copy) {
        error_memory(t->err, "the profile's stacks");
        return -1;
    }
    t->sorted &=
        !t->stack ||
        heap_stack_is_behind(
            t->addresses.list,
            &(struct heap_stack){.addresses = indices, .depth = depth},
            &(struct heap_stack){.addresses = t->stack, .depth = t->depth},
            common);
    t->last = line;
    t->current = !t->current;
    t->stack = copy;
    t->depth = depth;
    return 0;
}

int
heap_stack_text_init(struct heap_stack_text *t, struct arena *holder,
                     struct arena *addresses, struct error *err)
{
    t->err = err;
    t->stack_arena = holder;
    t->sorted = true;
    return heap_addresses_init(&t->addresses, addresses);
}

void
heap_stack_text_fini(struct heap_stack_text *t)
{
    mem_free(t->addresses.list);
    mem_free(t->addresses.slots);
}
