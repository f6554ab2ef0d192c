/*
 * heap_stack_text.c - see heap_stack_text.h.
 *
 * Parsing addresses is most of the work of reading a dump, so it is avoided.
 * jemalloc sorts stacks from the leaf on, and all stacks have few roots:
 * addresses that a line shares with the line before, at either end, are copied
 * as indices.  The others are looked up by their spelling, sixteen bytes in two
 * registers, without conversion to a number; only the first occurrence is
 * converted.
 *
 * The usual spelling is jemalloc's own; any other takes a slow path, and gives
 * the same indices after sorting.  Inner part of heap_dump.c.
 */
#include "heap_stack_text.h"

#include <endian.h>
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

/* ---- an address, as it is spelled ---- */

enum { HEAP_TEXT_EIGHT = sizeof(uint64_t) };

/* 1 + the digit's value; 0: not a digit. */
static const uint8_t heap_text_hex_digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
    ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
    ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
    ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

static const uint64_t heap_text_ones = 0x0101010101010101ULL;

/* The highest bit of a word's last byte, which no spelling of an address sets:
 * it tells a leaf's address from a caller's. */
static const uint64_t heap_text_mark = 1ULL << 63;

static inline uint64_t
heap_text_load_eight(const uint8_t *at)
{
    uint64_t text;

    memcpy(&text, at, sizeof(text));
    return le64toh(text);
}

/* All bits of the bytes before the first blank or control character. */
static inline uint64_t
heap_text_up_to_blank(uint64_t text)
{
    /* The subtraction borrows from the bytes behind a blank only, so the first
     * blank is found exactly. */
    uint64_t blanks =
        (text - heap_text_ones * '!') & ~text & heap_text_ones << 7;

    return ((blanks & -blanks) >> 7) - 1;
}

/* How many bytes a mask of heap_text_up_to_blank() covers. */
static inline unsigned
heap_text_mask_size(uint64_t mask)
{
    return ~mask ? (unsigned)__builtin_ctzll(~mask) / 8 : HEAP_TEXT_EIGHT;
}

/* Reads the word between 0x and a blank or the end, which may be an address.
 * False if it is spelled otherwise.  May read bytes up to end, which is r's end
 * or behind it. */
static inline bool
heap_text_usual_word(struct reader *r, const uint8_t *end,
                     struct heap_text_word *word)
{
    const uint8_t *at = r->pos + 2;
    uint64_t mask, text;

    if (end - r->pos < 2 + 2 * HEAP_TEXT_EIGHT || r->pos[0] != '0' ||
        r->pos[1] != 'x')
        return false;
    text = heap_text_load_eight(at);
    mask = heap_text_up_to_blank(text);
    word->text[0] = text & mask;
    word->text[1] = 0;
    if (!~mask) {
        at += HEAP_TEXT_EIGHT;
        text = heap_text_load_eight(at);
        mask = heap_text_up_to_blank(text);
        word->text[1] = text & mask;
    }
    at += heap_text_mask_size(mask);
    if ((at != r->end && (at > r->end || *at != ' ')) ||
        word->text[1] & heap_text_mark)
        return false;
    r->pos = at;
    return true;
}

/* The spelling in which an address of unusual spelling is looked up: sixteen
 * digits, with leading zeros. */
static inline struct heap_text_word
heap_text_word_of(uint64_t address)
{
    struct heap_text_word word = {{0, 0}};

    for (unsigned i = 0; i < 2 * HEAP_TEXT_EIGHT; i++, address <<= 4)
        word.text[i / HEAP_TEXT_EIGHT] |=
            (uint64_t) "0123456789abcdef"[address >> 60]
            << 8 * (i % HEAP_TEXT_EIGHT);
    return word;
}

/* The number that a word spells; false: it spells none. */
static inline bool
heap_text_word_value(const struct heap_text_word *word, uint64_t *value)
{
    unsigned i = 0;
    uint8_t byte, digit;

    *value = 0;
    for (; i < 2 * HEAP_TEXT_EIGHT; i++) {
        byte = (uint8_t)(word->text[i / HEAP_TEXT_EIGHT] >>
                         8 * (i % HEAP_TEXT_EIGHT));
        digit = heap_text_hex_digits[byte];
        if (byte == 0 && i > 0)
            break;
        if (digit == 0)
            return false;
        *value = *value << 4 | (digit - 1U);
    }
    return true;
}

static inline uint64_t
heap_text_hexadecimal(struct reader *r)
{
    const uint8_t *at = r->pos, *first;
    uint64_t v = 0, lost = 0;
    uint8_t digit;

    if (r->end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x')
        at += 2;
    first = at;
    for (; at < r->end && (digit = heap_text_hex_digits[*at]) != 0; at++) {
        lost |= v >> 60;
        v = v << 4 | (digit - 1);
    }
    if (at == first || lost)
        r->failed = true;
    r->pos = at;
    return v;
}

/* ---- the distinct addresses of the text, found by their spelling ---- */

enum { FIRST_CAPACITY = 1024 /* a power of two */ };

/* A slot holds the spelling itself, so that a look-up reads one place in
 * memory. */
struct heap_address_slot {
    struct heap_text_word word;
    uint32_t number; /* 1 + index; 0: free */
};

static inline struct heap_address_slot *
heap_addresses_home_slot(const struct heap_addresses *addresses,
                         const struct heap_text_word *word)
{
    return &addresses->slots[hash_pair(addresses->seed, word->text[0],
                                       word->text[1]) &
                             (addresses->capacity * 2 - 1)];
}

static inline void
heap_addresses_expect(const struct heap_addresses *addresses,
                      const struct heap_text_word *word)
{
    /* The table is larger than the cache: the slots of a line's words are
     * fetched while the rest of the line is split. */
    __builtin_prefetch(heap_addresses_home_slot(addresses, word));
}

/* The spelling's slot, or the free slot where it belongs. */
static inline struct heap_address_slot *
heap_addresses_slot(const struct heap_addresses *addresses,
                    const struct heap_text_word *word)
{
    struct heap_address_slot *slot = heap_addresses_home_slot(addresses, word);

    while (slot->number && (slot->word.text[0] != word->text[0] ||
                            slot->word.text[1] != word->text[1]))
        if (++slot == addresses->slots + addresses->capacity * 2)
            slot = addresses->slots;
    return slot;
}

static inline bool
heap_addresses_find(const struct heap_addresses *addresses,
                    const struct heap_text_word *word, uint32_t *index)
{
    uint32_t number = heap_addresses_slot(addresses, word)->number;

    *index = number - 1;
    return number > 0;
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
            *heap_addresses_slot(addresses, &before[i].word) = before[i];
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

/* Adds an address that is not there yet.  -1: no memory, or too many. */
static int
heap_addresses_add(struct heap_addresses *addresses,
                   const struct heap_text_word *word, uint64_t address,
                   uint32_t *index)
{
    if (addresses->count == addresses->capacity &&
        grow_address_table(addresses) != 0)
        return -1;
    *index = (uint32_t)addresses->count;
    addresses->list[addresses->count++] = address;
    *heap_addresses_slot(addresses, word) =
        (struct heap_address_slot){*word, (uint32_t)addresses->count};
    return 0;
}

/* ---- a line ---- */

/* A stack's first address is marked: it is where the program was, not where a
 * call returns to, so it is another address than the same text further on. */
static int
add_stack_address(struct heap_stack_text *t, struct heap_text_word word,
                  uint32_t *index)
{
    struct heap_text_word digits = word;
    uint64_t address;
    bool first = word.text[1] & heap_text_mark;

    digits.text[1] &= ~heap_text_mark;
    if (!heap_text_word_value(&digits, &address))
        return heap_stack_text_fail(t, "not an address");
    if (!first && address > 0)
        address--;
    if (heap_addresses_add(&t->addresses, &word, address, index) == 0)
        return 0;
    if (t->addresses.count == HEAP_DUMP_ADDRESSES_MAX)
        return heap_stack_text_fail(t, "too many distinct addresses");
    error_memory(t->err, "the profile's addresses");
    return -1;
}

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

/* Reads an address in any other spelling. */
static int
parse_unusual(struct heap_stack_text *t, struct reader *r,
              struct heap_text_word *word)
{
    uint64_t address = heap_text_hexadecimal(r);

    if (r->failed || (r->pos < r->end && *r->pos != ' ' && *r->pos != '\t' &&
                      *r->pos != '\r'))
        return heap_stack_text_fail(t, "not an address");
    *word = heap_text_word_of(address);
    return 0;
}

/* Splits text, a part of line, into at most room words, and prefetches their
 * slots.  Returns how many, or -1.  Not inlined, so that the loop has all
 * registers. */
static __attribute__((noinline)) int
split(struct heap_stack_text *t, const struct reader *text, const char *line,
      struct heap_text_word *words, uint32_t *ends, uint32_t room)
{
    const struct heap_addresses addresses = t->addresses;
    const uint8_t *seen = t->end;
    struct reader r = *text, rest;
    uint32_t n = 0;

    for (reader_skip_blanks(&r); r.pos < r.end; reader_skip_blanks(&r)) {
        if (n == room)
            return heap_stack_text_fail(t, "a stack is too deep");
        if (!heap_text_usual_word(&r, seen, &words[n])) {
            rest = r; /* a copy, so that r stays in registers */
            if (parse_unusual(t, &rest, &words[n]) != 0)
                return -1;
            r.pos = rest.pos;
        }
        heap_addresses_expect(&addresses, &words[n]);
        ends[n++] = (uint32_t)((const char *)r.pos - line);
    }
    return (int)n;
}

static int
parse_addresses(struct heap_stack_text *t, const struct reader *text,
                const char *line, uint32_t *indices, uint32_t *depth)
{
    struct heap_text_word *words = t->words;
    int n = split(t, text, line, words, t->ends[!t->current] + *depth,
                  HEAP_DUMP_DEPTH_MAX - *depth);

    if (n > 0 && *depth == 0)
        words[0].text[1] |= heap_text_mark;
    for (int i = 0; i < n; i++, ++*depth)
        if (!heap_addresses_find(&t->addresses, &words[i], &indices[*depth]) &&
            add_stack_address(t, words[i], &indices[*depth]) != 0)
            return -1;
    return n < 0 ? -1 : 0;
}

bool
heap_stack_is_behind(const uint64_t *list, const struct heap_stack *stack,
                     const struct heap_stack *last, uint32_t common)
{
    uint64_t a, b, change;

    /* An address with two spellings has two indices. */
    while (common < stack->depth && common < last->depth &&
           (stack->addresses[common] == last->addresses[common] ||
            list[stack->addresses[common]] == list[last->addresses[common]]))
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
        from = leave_common(t, &r); /* only behind the first, which is marked */
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
