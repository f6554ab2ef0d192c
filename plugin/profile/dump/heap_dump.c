/*
 * heap_dump.c - see heap_dump.h.
 *
 * One pass over the text.  Stacks hold indices of addresses.  jemalloc sorts
 * stacks from the leaf on, and all stacks have few roots: addresses that a line
 * shares with the line before, at either end, are not parsed again.
 */
#include "heap_dump.h"

#include <string.h>

#include "arena.h"
#include "errors.h"
#include "hash.h"
#include "heap_text.h"
#include "memory.h"
#include "reader.h"

enum {
    DUMP_MEMORY_MAX = 512 << 20 /* of stacks' indices, and of mappings */
};

/* ---- the distinct addresses of the text, found by their spelling ---- */

enum { ROOM_FIRST = 1024 /* a power of two */ };

/* The slot holds the spelling itself, so a look-up reads one place in memory.
 */
struct heap_address_slot {
    struct heap_text_word word;
    uint32_t number; /* 1 + index; 0: free */
};

/*
 * A text repeats thousands of addresses in hundreds of thousands of places;
 * each spelling is converted to a number only once.  An address with several
 * spellings has several indices until the list is sorted.
 */
struct heap_addresses {
    uint64_t *list; /* in the order of first use */
    size_t count, room;
    struct heap_address_slot *slots; /* by hash; twice the room */
    uint64_t seed;
    struct arena *holder;
};

static inline struct heap_address_slot *
heap_addresses_place(const struct heap_addresses *addresses,
                     const struct heap_text_word *word)
{
    return &addresses->slots[hash_pair(addresses->seed, word->text[0],
                                       word->text[1]) &
                             (addresses->room * 2 - 1)];
}

static inline void
heap_addresses_expect(const struct heap_addresses *addresses,
                      const struct heap_text_word *word)
{
    __builtin_prefetch(heap_addresses_place(addresses, word));
}

/* The spelling's slot, or the free slot where it belongs. */
static inline struct heap_address_slot *
heap_addresses_slot(const struct heap_addresses *addresses,
                    const struct heap_text_word *word)
{
    struct heap_address_slot *slot = heap_addresses_place(addresses, word);

    while (slot->number && (slot->word.text[0] != word->text[0] ||
                            slot->word.text[1] != word->text[1]))
        if (++slot == addresses->slots + addresses->room * 2)
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
grow(struct heap_addresses *addresses)
{
    size_t room = addresses->room ? addresses->room * 2 : ROOM_FIRST;
    const struct heap_address_slot *before = addresses->slots;
    const size_t slots = addresses->room * 2;
    struct heap_address_slot *grown;
    uint64_t *list;

    if (room > HEAP_DUMP_ADDRESSES_MAX ||
        !arena_hold(addresses->holder,
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
    addresses->room = room;
    for (size_t i = 0; i < slots; i++)
        if (before[i].number)
            *heap_addresses_slot(addresses, &before[i].word) = before[i];
    mem_free((void *)before);
    return 0;
}

/* Counts all memory as holder's.  -1: no memory. */
static int
heap_addresses_init(struct heap_addresses *addresses, struct arena *holder)
{
    *addresses =
        (struct heap_addresses){.seed = hash_seed(addresses), .holder = holder};
    return grow(addresses);
}

static void
heap_addresses_fini(struct heap_addresses *addresses)
{
    mem_free(addresses->list);
    mem_free(addresses->slots);
}

/* Adds an address that is not there yet.  -1: no memory, or too many. */
static int
heap_addresses_add(struct heap_addresses *addresses,
                   const struct heap_text_word *word, uint64_t address,
                   uint32_t *index)
{
    if (addresses->count == addresses->room && grow(addresses) != 0)
        return -1;
    *index = (uint32_t)addresses->count;
    addresses->list[addresses->count++] = address;
    *heap_addresses_slot(addresses, word) =
        (struct heap_address_slot){*word, (uint32_t)addresses->count};
    return 0;
}

/* ---- parsing ---- */

struct parser {
    struct heap_dump *dump;
    struct error *err;
    size_t line; /* for messages */
    struct heap_lines lines;

    /* The stack that counts belong to; false before the first '@'.  counted: it
     * has counts already. */
    bool in_stack, counted;
    uint32_t *stack;
    uint32_t depth;

    /* Where each address of the last stack ends in its line, which lines keep;
     * and the same for the stack being read. */
    uint32_t ends[2][HEAP_DUMP_DEPTH_MAX];
    unsigned turn;
    /* Of the stack being read.  Not a local: it would be zeroed for each line.
     */
    struct heap_text_word words[HEAP_DUMP_DEPTH_MAX];
    uint32_t indices[HEAP_DUMP_DEPTH_MAX];

    struct heap_addresses addresses;
};

static int
fail(struct parser *p, const char *what)
{
    error_set(p->err, ER_UNKNOWN, "line %zu of the heap profile: %s", p->line,
              what);
    return -1;
}

/* A stack's first address is marked: no call returns to it, so it differs from
 * the same text further on. */
static int
add_address(struct parser *p, struct heap_text_word word, uint32_t *index)
{
    struct heap_text_word digits = word;
    uint64_t address;
    bool first = word.text[1] & heap_text_mark;

    digits.text[1] &= ~heap_text_mark;
    if (!heap_text_word_value(&digits, &address))
        return fail(p, "not an address");
    if (!first && address > 0)
        address--;
    if (heap_addresses_add(&p->addresses, &word, address, index) == 0)
        return 0;
    if (p->addresses.count == HEAP_DUMP_ADDRESSES_MAX)
        return fail(p, "too many distinct addresses");
    error_memory(p->err, "the profile's addresses");
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

/* Likewise at their ends; each has at least size bytes. */
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

/* Copies the addresses at the start that the last stack has too, and their
 * ends; returns how many. */
static uint32_t
take_common(const struct parser *p, struct reader *r, struct span line)
{
    const uint32_t *ends = p->ends[p->turn];
    size_t size = common_size(line, p->lines.kept);
    uint32_t depth = 0;

    while (depth < p->depth && ends[depth] < size)
        depth++;
    if (depth > 0)
        r->pos += ends[depth - 1];
    return depth;
}

/* From which address on the last stack ends like the rest of r, each address
 * with the blank before it; shortens r by that. */
static uint32_t
leave_common(const struct parser *p, struct reader *r)
{
    const uint32_t *ends = p->ends[p->turn];
    const struct span last = p->lines.kept;
    size_t left = reader_left(r), size;
    uint32_t from = p->depth;

    size = common_tail((const char *)r->end, last.data + last.size,
                       left < last.size ? left : last.size);
    while (from > 1 && last.size - ends[from - 2] <= size)
        from--;
    if (from > 0 && from < p->depth)
        r->end -= last.size - ends[from - 1];
    return from;
}

/* Appends the last stack's addresses from there on to the depth addresses of
 * this one. */
static uint32_t
add_common(struct parser *p, uint32_t *indices, uint32_t depth, uint32_t from,
           size_t size)
{
    const uint32_t *ends = p->ends[p->turn];
    uint32_t *to = p->ends[!p->turn];
    uint32_t moved = (uint32_t)(size - p->lines.kept.size); /* modulo 2^32 */

    for (; from < p->depth; from++, depth++) {
        indices[depth] = p->stack[from];
        to[depth] = ends[from] + moved;
    }
    return depth;
}

/* Addresses in any other spelling. */
static int
parse_unusual(struct parser *p, struct reader *r, struct heap_text_word *word)
{
    uint64_t address = heap_text_hexadecimal(r);

    if (r->failed || (r->pos < r->end && *r->pos != ' ' && *r->pos != '\t' &&
                      *r->pos != '\r'))
        return fail(p, "not an address");
    *word = heap_text_word_of(address);
    return 0;
}

/* Splits text, a part of line, into at most room words, and prefetches their
 * slots meanwhile.  Returns how many, or -1.  Not inlined, so that it has all
 * registers. */
static __attribute__((noinline)) int
split(struct parser *p, const struct reader *text, const char *line,
      struct heap_text_word *words, uint32_t *ends, uint32_t room)
{
    const struct heap_addresses addresses = p->addresses;
    const uint8_t *seen = (const uint8_t *)p->lines.end;
    struct reader r = *text, rest;
    uint32_t n = 0;

    for (heap_text_skip_blanks(&r); r.pos < r.end; heap_text_skip_blanks(&r)) {
        if (n == room)
            return fail(p, "a stack is too deep");
        if (!heap_text_usual_word(&r, seen, &words[n])) {
            rest = r; /* lets r stay in registers */
            if (parse_unusual(p, &rest, &words[n]) != 0)
                return -1;
            r.pos = rest.pos;
        }
        heap_addresses_expect(&addresses, &words[n]);
        ends[n++] = (uint32_t)((const char *)r.pos - line);
    }
    return (int)n;
}

static int
parse_addresses(struct parser *p, const struct reader *text, const char *line,
                uint32_t *indices, uint32_t *depth)
{
    struct heap_text_word *words = p->words;
    int n = split(p, text, line, words, p->ends[!p->turn] + *depth,
                  HEAP_DUMP_DEPTH_MAX - *depth);

    if (n > 0 && *depth == 0)
        words[0].text[1] |= heap_text_mark;
    for (int i = 0; i < n; i++, ++*depth)
        if (!heap_addresses_find(&p->addresses, &words[i], &indices[*depth]) &&
            add_address(p, words[i], &indices[*depth]) != 0)
            return -1;
    return n < 0 ? -1 : 0;
}

/* "@ 0x7f01 0x7f02 ..." after the '@'. */
static int
parse_stack(struct parser *p, struct reader r)
{
    struct span line = {(const char *)r.pos, reader_left(&r)};
    uint32_t *indices = p->indices, depth = take_common(p, &r, line);
    const uint32_t common = depth;
    uint32_t from = p->depth, none = 0;
    uint32_t *copy;

    if (depth > 0) {
        memcpy(indices, p->stack, depth * sizeof(*indices));
        memcpy(p->ends[!p->turn], p->ends[p->turn], depth * sizeof(**p->ends));
        from = leave_common(p, &r); /* not the first: it is marked */
    }
    if (parse_addresses(p, &r, line.data, indices, &depth) != 0)
        return -1;
    if (p->depth - from > HEAP_DUMP_DEPTH_MAX - depth)
        return fail(p, "a stack is too deep");
    depth = add_common(p, indices, depth, from, line.size);
    /* Allocates even for depth 0: stacks are told apart by their pointer. */
    copy = depth ? arena_copy(p->dump->stacks.indices, indices,
                              depth * sizeof(*copy))
                 : arena_copy(p->dump->stacks.indices, &none, sizeof(none));
    if (!copy) {
        error_memory(p->err, "the profile's stacks");
        return -1;
    }
    p->dump->sorted &=
        !p->in_stack ||
        heap_stack_is_behind(
            p->addresses.list,
            &(struct heap_stack){.addresses = indices, .depth = depth},
            &(struct heap_stack){.addresses = p->stack, .depth = p->depth},
            common);
    p->in_stack = true;
    p->counted = false;
    p->lines.kept = line;
    p->turn = !p->turn;
    p->stack = copy;
    p->depth = depth;
    return 0;
}

static int
add_stack(struct parser *p, const struct heap_stack *counts)
{
    struct heap_dump *dump = p->dump;
    struct heap_stack *stack;

    if (dump->stack_count == HEAP_DUMP_STACKS_MAX)
        return fail(p, "too many stacks");
    stack = heap_stacks_add(&dump->stacks);
    if (!stack) {
        error_memory(p->err, "the profile's stacks");
        return -1;
    }
    *stack = *counts;
    stack->addresses = p->stack;
    stack->depth = p->depth;
    dump->stack_count++;
    dump->sorted &= !p->counted;
    p->counted = true;
    return 0;
}

/* "t*: 3: 96 [0: 0]" after the 't'; newer versions of jemalloc add a thread's
 * name. */
static int
parse_counts(struct parser *p, struct reader r)
{
    bool all_threads = heap_text_take(&r, '*');
    struct heap_stack counts = {0};

    if (!all_threads && (r.pos == r.end || *r.pos < '0' || *r.pos > '9'))
        return 0; /* another word with a t */
    if (!all_threads)
        heap_text_decimal(&r);
    heap_text_expect(&r, ':');
    heap_text_skip_blanks(&r);
    counts.objects = heap_text_decimal(&r);
    heap_text_expect(&r, ':');
    heap_text_skip_blanks(&r);
    counts.bytes = heap_text_decimal(&r);
    heap_text_skip_blanks(&r);
    heap_text_expect(&r, '[');
    heap_text_skip_blanks(&r);
    counts.objects_ever = heap_text_decimal(&r);
    heap_text_expect(&r, ':');
    heap_text_skip_blanks(&r);
    counts.bytes_ever = heap_text_decimal(&r);
    heap_text_expect(&r, ']');
    if (r.failed)
        return fail(p, "impossible counts");
    return p->in_stack && all_threads ? add_stack(p, &counts) : 0;
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
    p->dump->rate = heap_text_decimal(&r);
    heap_text_skip_blanks(&r);
    if (!reader_done(&r) || p->dump->rate == 0)
        return fail(p, "not a sampling rate");
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
        p->line++;
        r = reader_of(line.data, line.size);
        heap_text_skip_blanks(&r);
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

    mem_free(p->addresses.slots); /* makes room for sorting */
    p->addresses.slots = NULL;
    if (heap_stacks_sort(&dump->stacks, p->addresses.list, &p->addresses.count,
                         dump->arena) != 0) {
        error_memory(p->err, "the profile's addresses");
        return -1;
    }
    dump->addresses = p->addresses.list;
    dump->address_count = p->addresses.count;
    p->addresses.list = NULL;
    return 0;
}

static int
parse_all(struct parser *p)
{
    struct span line = {"", 0};

    p->line = 1;
    if (heap_lines_next(&p->lines, &line, p->err) < 0 ||
        parse_header(p, line) != 0 || parse_body(p) != 0)
        return -1;
    p->dump->truncated |= heap_lines_cut(&p->lines);
    heap_lines_fini(&p->lines); /* makes room for sorting */
    return sort_addresses(p);
}

static struct heap_dump *
parse(struct span text, const struct heap_source *source,
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
    arena_count(p.dump->arena, meter);
    arena_count(p.dump->stacks.indices, meter);
    if (heap_addresses_init(&p.addresses, p.dump->arena) != 0) {
        error_memory(err, "the profile's addresses");
        goto out;
    }
    p.dump->sorted = true;
    if (parse_all(&p) != 0)
        goto out;
    done = p.dump;
out:
    heap_lines_fini(&p.lines);
    heap_addresses_fini(&p.addresses);
    if (!done)
        heap_dump_free(p.dump);
    return done;
}

struct heap_dump *
heap_dump_parse(const char *text, size_t size, struct error *err)
{
    return parse((struct span){text, size}, NULL, NULL, err);
}

struct heap_dump *
heap_dump_parse_counted(const char *text, size_t size,
                        const struct arena_meter *meter, struct error *err)
{
    return parse((struct span){text, size}, NULL, meter, err);
}

struct heap_dump *
heap_dump_read(const struct heap_source *source, struct error *err)
{
    return parse((struct span){NULL, 0}, source, NULL, err);
}

void
heap_dump_free(struct heap_dump *dump)
{
    if (!dump)
        return;
    arena_free(dump->arena);
    heap_stacks_fini(&dump->stacks);
    mem_free(dump->addresses);
    mem_free(dump);
}
