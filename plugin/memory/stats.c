/*
 * stats.c - see stats.h.
 *
 * The agent's text is untrusted: it comes from a process that may be broken or
 * hostile.  Unknown names are passed over, so agent and heapwired may be of
 * different versions; numbers of bins and arenas have ceilings, and a word
 * where a number belongs is an error.  Tables map each figure's name to its
 * field, so a new figure is one row.
 *
 * All arrays have their largest size from the start (140 KB), so that nothing
 * has to grow.  Each line is compared with at most a dozen names.
 */
#include "stats.h"

#include <string.h>

#include "arena.h"
#include "errors.h"
#include "memory.h"
#include "reader.h"

enum {
    NAME_MAX_BYTES = 64,
    WORD_MAX_BYTES = 64,
    ARENAS_ALL = 4096, /* jemalloc's number for all arenas together */
    SHOWN = 80         /* bytes of a wrong line in its error */
};

/* Where a figure of a bin or an arena goes; behind "<prefix>.<number>.". */
struct figure_field {
    const char *name;
    size_t offset;
    bool pages; /* counted in pages; else as it is */
};

#define OF_BIN(name, member)                                                   \
    {                                                                          \
        name, offsetof(struct stats_bin, member), false                        \
    }
#define OF_ARENA(name, member, pages)                                          \
    {                                                                          \
        name, offsetof(struct stats_arena, member), pages                      \
    }

static const struct figure_field bin_sizes[] = {
    OF_BIN("size", size),
    OF_BIN("nregs", regions),
    OF_BIN("slab_size", slab_size),
    {NULL, 0, false},
};

static const struct figure_field bin_counts[] = {
    OF_BIN("nmalloc", nmalloc),
    OF_BIN("ndalloc", ndalloc),
    OF_BIN("nrequests", nrequests),
    OF_BIN("curregs", curregs),
    OF_BIN("curslabs", curslabs),
    OF_BIN("nonfull_slabs", nonfull_slabs),
    {NULL, 0, false},
};

static const struct figure_field large_figures[] = {
    {"curlextents", offsetof(struct stats_large, extents), false},
    {"size", offsetof(struct stats_large, size), false},
    {NULL, 0, false},
};

/* metadata has two sources: base is the blocks that jemalloc keeps its
 * structures in, internal what it allocates for itself elsewhere. */
static const struct figure_field arena_figures[] = {
    OF_ARENA("nthreads", threads, false),
    OF_ARENA("small.allocated", small_allocated, false),
    OF_ARENA("large.allocated", large_allocated, false),
    OF_ARENA("pactive", active, true),
    OF_ARENA("pdirty", dirty, true),
    OF_ARENA("pmuzzy", muzzy, true),
    OF_ARENA("mapped", mapped, false),
    OF_ARENA("retained", retained, false),
    OF_ARENA("base", metadata, false),
    OF_ARENA("internal", metadata, false),
    OF_ARENA("resident", resident, false),
    OF_ARENA("tcache_bytes", tcache, false),
    {NULL, 0, false},
};

static const struct {
    const char *name;
    size_t offset;
} totals[] = {
    {"stats.allocated", offsetof(struct stats, allocated)},
    {"stats.active", offsetof(struct stats, active)},
    {"stats.metadata", offsetof(struct stats, metadata)},
    {"stats.resident", offsetof(struct stats, resident)},
    {"stats.mapped", offsetof(struct stats, mapped)},
    {"stats.retained", offsetof(struct stats, retained)},
    {"heapwire.rss", offsetof(struct stats, rss)},
    {"heapwire.rss_file", offsetof(struct stats, rss_file)},
};

struct parser {
    struct stats *stats;
    struct stats_bin *bins;
    struct stats_large *larges;
    struct stats_arena *arenas;
    struct stats_named *named;
    uint64_t page; /* bytes */
    struct error *err;
};

static int
refuse_stats_line(struct parser *p, struct span line, const char *why)
{
    error_set(p->err, ER_UNKNOWN, "the agent's statistics have %s in '%.*s'",
              why, (int)(line.size < SHOWN ? line.size : SHOWN), line.data);
    return -1;
}

/* Accepts decimal digits alone, up to INT64_MAX, which is what a column can
 * hold. */
static bool
parse_stats_number(struct span text, uint64_t *out)
{
    uint64_t value = 0;

    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = (unsigned)(unsigned char)text.data[i] - '0';

        if (digit > 9 || value > ((uint64_t)INT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return text.size > 0;
}

/* "<prefix>.<number>.<rest>" */
static bool
split_numbered(struct span name, const char *prefix, uint64_t *number,
               struct span *rest)
{
    size_t size = strlen(prefix);
    struct span digits;
    const char *dot;

    if (name.size <= size || memcmp(name.data, prefix, size) != 0 ||
        name.data[size] != '.')
        return false;
    digits.data = name.data + size + 1;
    digits.size = name.size - size - 1;
    dot = memchr(digits.data, '.', digits.size);
    if (!dot)
        return false;
    rest->data = dot + 1;
    rest->size = digits.size - (size_t)(rest->data - digits.data);
    digits.size = (size_t)(dot - digits.data);
    return parse_stats_number(digits, number);
}

static int
put_stats_figure(struct parser *p, const struct figure_field *fields,
                 void *record, struct span field, struct span value,
                 struct span line)
{
    uint64_t number, *at;

    for (; fields->name; fields++) {
        if (!span_is(field, fields->name))
            continue;
        at = (uint64_t *)(void *)((char *)record + fields->offset);
        if (!parse_stats_number(value, &number))
            return refuse_stats_line(p, line, "no number");
        if (fields->pages &&
            (p->page == 0 || number > (uint64_t)INT64_MAX / p->page))
            return refuse_stats_line(p, line, "no possible number of pages");
        /* Added, not set: base and internal share a field.  arenas.page must
         * have come before. */
        *at += fields->pages ? number * p->page : number;
        return 0;
    }
    return 0; /* a figure that we do not know */
}

static int
put_bin(struct parser *p, const struct figure_field *fields, uint64_t index,
        struct span field, struct span value, struct span line)
{
    struct stats *stats = p->stats;

    if (index >= STATS_BINS_MAX || index > stats->bin_count)
        return refuse_stats_line(p, line, "no possible bin");
    if (index == stats->bin_count)
        stats->bin_count++;
    return put_stats_figure(p, fields, &p->bins[index], field, value, line);
}

/* They come one after the other, ascending. */
static int
put_large(struct parser *p, uint64_t index, struct span field,
          struct span value, struct span line)
{
    struct stats *stats = p->stats;
    struct stats_large *last =
        stats->large_count ? &p->larges[stats->large_count - 1] : NULL;

    if (!last || last->index != index) {
        if (stats->large_count == STATS_LARGES_MAX ||
            index >= STATS_LARGES_MAX || (last && index < last->index))
            return refuse_stats_line(p, line, "no possible size class");
        last = &p->larges[stats->large_count++];
        last->index = (uint32_t)index;
    }
    return put_stats_figure(p, large_figures, last, field, value, line);
}

static int
put_arena(struct parser *p, uint64_t index, struct span field,
          struct span value, struct span line)
{
    struct stats *stats = p->stats;
    struct stats_arena *last =
        stats->arena_count ? &p->arenas[stats->arena_count - 1] : NULL;

    if (!last || last->index != index) {
        if (stats->arena_count == STATS_ARENAS_MAX || index >= ARENAS_ALL ||
            (last && index < last->index))
            return refuse_stats_line(p, line, "no possible arena");
        last = &p->arenas[stats->arena_count++];
        last->index = (uint32_t)index;
    }
    return put_stats_figure(p, arena_figures, last, field, value, line);
}

static int
put_named(struct parser *p, struct span name, struct span value,
          struct span line)
{
    struct stats *stats = p->stats;
    struct stats_named *named = &p->named[stats->named_count];
    bool negative = value.size > 0 && value.data[0] == '-';
    struct span digits = {value.data + negative, value.size - negative};
    struct stats_figure *total;
    uint64_t number = 0;

    if (name.size > NAME_MAX_BYTES || value.size > WORD_MAX_BYTES)
        return refuse_stats_line(p, line, "a text that is too long");
    if (stats->named_count == STATS_NAMED_MAX)
        return refuse_stats_line(p, line, "too many figures");
    named->is_number = parse_stats_number(digits, &number);
    named->number = negative ? -(int64_t)number : (int64_t)number;
    named->name = arena_strndup(stats->arena, name.data, name.size);
    named->text = arena_strndup(stats->arena, value.data, value.size);
    if (!named->name || !named->text) {
        error_memory(p->err, "the node's statistics");
        return -1;
    }
    stats->named_count++;
    if (span_is(name, "arenas.page"))
        p->page = stats->page = number;
    for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
        if (!span_is(name, totals[i].name))
            continue;
        if (!named->is_number || negative)
            return refuse_stats_line(p, line, "no number");
        total =
            (struct stats_figure *)(void *)((char *)stats + totals[i].offset);
        total->known = true;
        total->value = number;
    }
    return 0;
}

static bool
is_printable(struct span text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < ' ' || text.data[i] > '~')
            return false;
    return true;
}

static int
parse_stats_line(struct parser *p, struct span line)
{
    const char *space = memchr(line.data, ' ', line.size);
    struct span name = {line.data, 0}, value, rest;
    uint64_t index, bin;

    if (!space || !is_printable(line))
        return refuse_stats_line(p, line, "no name and value");
    name.size = (size_t)(space - line.data);
    value.data = space + 1;
    value.size = line.size - name.size - 1;
    /* Sizes of bins and large classes come as arenas.*, their counts as
     * stats.arenas.4096.*, jemalloc's sum over all arenas. */
    if (split_numbered(name, "arenas.bin", &bin, &rest))
        return put_bin(p, bin_sizes, bin, rest, value, line);
    if (split_numbered(name, "arenas.lextent", &bin, &rest))
        return put_large(p, bin, rest, value, line);
    if (!split_numbered(name, "stats.arenas", &index, &rest))
        return put_named(p, name, value, line);
    if (index != ARENAS_ALL)
        return put_arena(p, index, rest, value, line);
    if (split_numbered(rest, "bins", &bin, &rest))
        return put_bin(p, bin_counts, bin, rest, value, line);
    if (split_numbered(rest, "lextents", &bin, &rest))
        return put_large(p, bin, rest, value, line);
    return 0;
}

static struct stats *
stats_new(void)
{
    enum { ARENA_BYTES = 4 << 20 };
    struct stats *stats = mem_zalloc(1, sizeof(*stats));

    if (!stats)
        return NULL;
    stats->references = 1;
    stats->arena = arena_new(ARENA_BYTES);
    if (stats->arena)
        return stats;
    mem_free(stats);
    return NULL;
}

struct stats *
stats_parse(const char *text, size_t size, struct error *err)
{
    struct parser p = {.stats = stats_new(), .err = err};
    struct reader r = reader_of(text, size);
    struct span line;

    if (p.stats) {
        p.bins = arena_alloc(p.stats->arena, STATS_BINS_MAX * sizeof(*p.bins));
        p.larges =
            arena_alloc(p.stats->arena, STATS_LARGES_MAX * sizeof(*p.larges));
        p.arenas =
            arena_alloc(p.stats->arena, STATS_ARENAS_MAX * sizeof(*p.arenas));
        p.named =
            arena_alloc(p.stats->arena, STATS_NAMED_MAX * sizeof(*p.named));
    }
    if (!p.stats || !p.bins || !p.larges || !p.arenas || !p.named) {
        error_memory(err, "the node's statistics");
        goto fail;
    }
    p.stats->bins = p.bins;
    p.stats->larges = p.larges;
    p.stats->arenas = p.arenas;
    p.stats->named = p.named;
    if (size > 0 && text[size - 1] != '\n') {
        error_set(err, ER_UNKNOWN, "the agent's statistics are cut off");
        goto fail;
    }
    while (reader_line(&r, &line))
        if (parse_stats_line(&p, line) != 0)
            goto fail;
    return p.stats;
fail:
    stats_unref(p.stats);
    return NULL;
}

bool
stats_together(int64_t a_ms, int64_t b_ms)
{
    return a_ms != 0 && b_ms != 0 && a_ms - b_ms <= STATS_TOGETHER_MS &&
           b_ms - a_ms <= STATS_TOGETHER_MS;
}

struct stats *
stats_ref(struct stats *stats)
{
    atomic_fetch_add_explicit(&stats->references, 1, memory_order_relaxed);
    return stats;
}

/* Release pairs with acquire: the thread that frees has seen all uses end. */
void
stats_unref(struct stats *stats)
{
    if (!stats || atomic_fetch_sub_explicit(&stats->references, 1,
                                            memory_order_acq_rel) > 1)
        return;
    arena_free(stats->arena);
    mem_free(stats);
}
