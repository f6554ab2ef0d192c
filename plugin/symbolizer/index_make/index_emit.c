/*
 * index_emit.c - see index_encoder.h: turns collected facts into the file's
 * sections.
 *
 * An index should be a few per cent of the debug information, so nearly all of
 * this is about order: what is used together gets neighbouring numbers, and
 * numbers are stored as differences from a group's least.  Nodes that no code
 * needs are dropped, equal ones are joined, texts are sorted so that packing
 * finds their common beginnings.  An item that repeats the one before it is not
 * written.  Takes a few sorts of arrays in memory.
 */
#include "index_encoder.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "hash.h"
#include "index_builder.h"
#include "index_column.h"

/* A group of texts ends above this: a look-up unpacks it. */
enum { TEXTS_BYTES = 8 << 10 };

/* Negative levels have no code per letter: look-ups unpack in half the time of
 * the default level, and the file is 3 % larger. */
enum { TEXTS_LEVEL = -1 };

/* ---- the order of nodes ---- */

/* The functions and inlined instances in the file's order.  Those that no range
 * needs are left out.  A function's nodes are adjacent, and functions are in
 * the order of their longest code, so that neighbours refer to each other with
 * few bits.  Instances that nobody can distinguish (inlined from one line into
 * one node, with a linkage name) become one. */
struct numbering {
    struct index_node *nodes; /* by new number, parents first */
    size_t count, capacity;
    uint32_t *number; /* by collected node: its new number */
    size_t number_capacity;
};

/* A node's sort key. */
struct node_order {
    uint64_t key;     /* start of the longest range of its root */
    uint64_t longest; /* the length of that range; roots only */
    uint32_t node, root;
};

static int
compare_nodes_by_address(const void *a, const void *b)
{
    const struct node_order *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->root != y->root)
        return x->root < y->root ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Marks the nodes that ranges need, and their parents; a marked node's parents
 * are marked already. */
static void
mark_used_nodes(const struct index_collected *all, uint32_t *used)
{
    memset(used, 0, all->node_count * sizeof(*used));
    for (size_t i = 0; i < all->ranges.count; i++)
        for (uint32_t node = all->ranges.items[i].a;
             node != INDEX_NONE && !used[node]; node = all->nodes[node].parent)
            used[node] = 1;
}

/* Fills order with the used nodes, sorted; returns how many.  Parents have
 * lower numbers, so one pass finds all roots. */
static size_t
collect_node_order(const struct index_collected *all, const uint32_t *used,
                   struct node_order *order)
{
    size_t count = 0;

    for (size_t i = 0; i < all->node_count; i++) {
        uint32_t parent = all->nodes[i].parent;

        order[i].node = (uint32_t)i;
        order[i].root = parent == INDEX_NONE ? (uint32_t)i : order[parent].root;
        order[i].key = order[i].longest = 0;
    }
    for (size_t i = 0; i < all->ranges.count; i++) {
        const struct index_interval *item = &all->ranges.items[i];
        struct node_order *root;

        if (item->a == INDEX_NONE)
            continue;
        root = &order[order[item->a].root];
        if (item->end - item->start > root->longest) {
            root->longest = item->end - item->start;
            root->key = item->start;
        }
    }
    for (size_t i = 0; i < all->node_count; i++)
        order[i].key = order[order[i].root].key;
    for (size_t i = 0; i < all->node_count; i++)
        if (used[i])
            order[count++] = order[i];
    qsort(order, count, sizeof(*order), compare_nodes_by_address);
    return count;
}

static uint64_t
hash_index_node(const void *seed, const struct index_node *node)
{
    uint64_t h = hash_mix(hash_seed(seed), node->parent);

    h = hash_mix(h, (uint64_t)node->name << 32 | node->call_line);
    return hash_mix(h, node->call_file);
}

static bool
index_node_equals(const struct index_node *a, const struct index_node *b)
{
    return a->parent == b->parent && a->name == b->name &&
           a->call_file == b->call_file && a->call_line == b->call_line &&
           a->inlined && b->inlined && a->linkage && b->linkage;
}

/* Appends node unless there is an equal one; returns its number.  The index has
 * room for all. */
static uint32_t
number_index_node(struct numbering *numbering, const struct index_node *node,
                  const struct hash_index *index)
{
    uint32_t hash = (uint32_t)hash_index_node(index, node);
    struct hash_slot *slot = hash_index_first(index, hash);

    for (; slot->entry; slot = hash_index_next(index, slot))
        if (index_node_equals(&numbering->nodes[slot->entry - 1], node))
            return slot->entry - 1;
    numbering->nodes[numbering->count] = *node;
    *slot = (struct hash_slot){(uint32_t)++numbering->count, hash};
    return slot->entry - 1;
}

/* Numbers all used nodes.  numbering must be zeroed; false: no room. */
static bool
numbering_init(struct numbering *numbering, const struct index_collected *all)
{
    struct node_order *order = NULL;
    size_t order_capacity = 0, count;
    struct hash_index index = {0};
    bool rc = false;

    if (!dwarf_budget_grow(all->budget, &numbering->number,
                           &numbering->number_capacity, all->node_count,
                           sizeof(*numbering->number)) ||
        !dwarf_budget_grow(all->budget, &order, &order_capacity,
                           all->node_count, sizeof(*order)))
        goto out;
    if (all->node_count > 0)
        mark_used_nodes(all, numbering->number);
    count =
        all->node_count ? collect_node_order(all, numbering->number, order) : 0;
    if (!dwarf_budget_grow(all->budget, &numbering->nodes, &numbering->capacity,
                           count, sizeof(*numbering->nodes)) ||
        !dwarf_budget_grow_index(all->budget, &index, count))
        goto out;
    for (size_t i = 0; i < count; i++) {
        struct index_node node = all->nodes[order[i].node];

        if (node.parent != INDEX_NONE)
            node.parent = numbering->number[node.parent];
        numbering->number[order[i].node] =
            number_index_node(numbering, &node, &index);
    }
    rc = true;
out:
    dwarf_budget_drop(all->budget, &order, &order_capacity, sizeof(*order));
    dwarf_budget_drop_index(all->budget, &index);
    return rc;
}

static void
numbering_fini(struct numbering *numbering, const struct index_collected *all)
{
    dwarf_budget_drop(all->budget, &numbering->nodes, &numbering->capacity,
                      sizeof(*numbering->nodes));
    dwarf_budget_drop(all->budget, &numbering->number,
                      &numbering->number_capacity, sizeof(*numbering->number));
    numbering->count = 0;
}

/* ---- sections ---- */

/* Collects the items of a section into groups. */
struct stream {
    struct index_encoder *encoder;
    enum index_section section;
    struct index_items items;
};

static void
stream_flush(struct stream *stream)
{
    if (stream->items.count > 0)
        index_encoder_items(stream->encoder, stream->section, &stream->items);
    stream->items.count = 0;
}

/* Makes room for an item with this key; returns its place in the group. */
static uint32_t
stream_next(struct stream *stream, uint64_t key)
{
    if (stream->items.count == INDEX_GROUP_ITEMS)
        stream_flush(stream);
    if (stream->items.count == 0)
        stream->items.first = key;
    return stream->items.count++;
}

static void
put_stream_range(struct stream *stream, uint64_t address, uint64_t value)
{
    uint32_t i = stream_next(stream, address);

    stream->items.column[RANGE_ADDRESS][i] = address - stream->items.first;
    stream->items.column[RANGE_NODE][i] = value;
}

static void
emit_ranges(const struct index_collected *all,
            const struct numbering *numbering, struct stream *stream)
{
    uint64_t value = INDEX_NO_FUNCTION, end = 0;

    for (size_t i = 0; i < all->ranges.count; i++) {
        const struct index_interval *item = &all->ranges.items[i];
        uint64_t next =
            item->a == INDEX_NONE
                ? INDEX_LEFT_OUT
                : (uint64_t)numbering->number[item->a] + INDEX_FIRST_NODE;

        if (end < item->start && value != INDEX_NO_FUNCTION) {
            /* a gap: code of no function */
            put_stream_range(stream, end, INDEX_NO_FUNCTION);
            value = INDEX_NO_FUNCTION;
        }
        if (next != value)
            put_stream_range(stream, item->start, next);
        value = next;
        end = item->end;
    }
    if (value != INDEX_NO_FUNCTION)
        put_stream_range(stream, end, INDEX_NO_FUNCTION);
    stream_flush(stream);
}

static void
put_row(struct stream *stream, uint64_t address, uint32_t file, uint32_t line)
{
    uint32_t i = stream_next(stream, address);

    stream->items.column[ROW_ADDRESS][i] = address - stream->items.first;
    stream->items.file[i] = file;
    stream->items.line[i] = line;
}

/* A row holds until the next one, so gaps between units need one that says
 * "unknown". */
static void
emit_rows(const struct index_collected *all, struct stream *stream)
{
    uint32_t file = 0, line = 0;
    uint64_t end = 0;

    for (size_t i = 0; i < all->rows.count; i++) {
        const struct index_interval *item = &all->rows.items[i];
        uint32_t path = all->files.words[item->a].rank;

        if (end < item->start && (file || line)) {
            put_row(stream, end, 0, 0);
            file = line = 0;
        }
        if (path != file || item->b != line)
            put_row(stream, item->start, path, item->b);
        file = path;
        line = item->b;
        end = item->end;
    }
    if (file || line)
        put_row(stream, end, 0, 0);
    stream_flush(stream);
}

static void
put_symbol(struct stream *stream, uint64_t address, uint64_t back,
           uint32_t name)
{
    uint32_t i = stream_next(stream, address);

    stream->items.column[SYMBOL_ADDRESS][i] = address - stream->items.first;
    stream->items.column[SYMBOL_BACK][i] = back;
    stream->items.column[SYMBOL_NAME][i] = name;
}

static void
emit_symbols(const struct index_collected *all, struct stream *stream)
{
    uint64_t end = 0, symbol = 0;
    uint32_t name = 0;
    bool said = false; /* the code up to end has a symbol or function */

    for (size_t i = 0; i < all->symbols.count; i++) {
        const struct index_interval *item = &all->symbols.items[i];
        uint32_t own = all->names.words[item->a].rank;
        uint64_t start = item->start - item->b;

        if (said && end < item->start) {
            put_symbol(stream, end, 0, 0);
            said = false;
        }
        if (!own && !item->b) {
            if (said)
                put_symbol(stream, item->start, 0, 0);
        } else if (!said || own != name || start != symbol) {
            put_symbol(stream, item->start, item->b, own);
        }
        said = own || item->b;
        name = own;
        symbol = start;
        end = item->end;
    }
    if (said)
        put_symbol(stream, end, 0, 0);
    stream_flush(stream);
}

static void
emit_nodes(const struct index_collected *all, const struct numbering *numbering,
           struct stream *stream)
{
    for (size_t i = 0; i < numbering->count; i++) {
        const struct index_node *node = &numbering->nodes[i];
        uint64_t name = all->names.words[node->name].rank;
        uint32_t k = stream_next(stream, i);

        stream->items.column[NODE_UP][k] =
            node->parent == INDEX_NONE ? 0 : i - node->parent;
        stream->items.column[NODE_FUNCTION][k] =
            name * 8 + (node->linkage ? 2 : 0) + (node->inlined ? 1 : 0);
        stream->items.file[k] = all->files.words[node->call_file].rank;
        stream->items.line[k] = node->call_line;
    }
    stream_flush(stream);
}

/* Writes one group of texts, from first up to end. */
static void
put_text_group(const struct index_dictionary *dictionary, size_t first,
               size_t end, ZSTD_CCtx *zstd, struct index_encoder *encoder)
{
    uint8_t packed[ZSTD_COMPRESSBOUND(INDEX_TEXTS_MAX)];
    struct buffer group, texts;
    size_t size;

    buffer_init(&group, INDEX_BLOCK_MAX);
    buffer_init(&texts, INDEX_TEXTS_MAX);
    buffer_u8(&group, (uint8_t)(end - first));
    for (size_t i = first; i < end; i++) {
        struct span text = index_dictionary_word(dictionary, i);

        buffer_leb(&group, text.size);
        buffer_add(&texts, text.data, text.size);
    }
    size = ZSTD_compressCCtx(zstd, packed, sizeof(packed), texts.data,
                             texts.size, TEXTS_LEVEL);
    if (texts.failed || ZSTD_isError(size))
        encoder->failed = true;
    else
        buffer_add(&group, packed, size);
    index_encoder_texts(encoder, first, (uint32_t)(end - first), &group);
    buffer_fini(&group);
    buffer_fini(&texts);
}

static void
emit_texts(const struct index_dictionary *dictionary,
           struct index_encoder *encoder)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    size_t first = 0, bytes = 0;

    for (size_t i = 0; zstd && i < dictionary->sorted_count; i++) {
        bytes += index_dictionary_word(dictionary, i).size;
        if (i + 1 - first == INDEX_GROUP_TEXTS || bytes > TEXTS_BYTES ||
            i + 1 == dictionary->sorted_count) {
            put_text_group(dictionary, first, i + 1, zstd, encoder);
            first = i + 1;
            bytes = 0;
        }
    }
    if (!zstd)
        encoder->failed = true;
    ZSTD_freeCCtx(zstd);
}

/* Ranks the texts that are still referred to: dropped nodes may have left some
 * without use.  Without debug information there are no files, not even "",
 * which marks such an index. */
static bool
rank_texts(struct index_collected *all, const struct numbering *numbering)
{
    for (size_t i = 0; i < numbering->count; i++) {
        index_dictionary_use(&all->names, numbering->nodes[i].name);
        index_dictionary_use(&all->files, numbering->nodes[i].call_file);
    }
    for (size_t i = 0; i < all->rows.count; i++)
        index_dictionary_use(&all->files, all->rows.items[i].a);
    for (size_t i = 0; i < all->symbols.count; i++)
        index_dictionary_use(&all->names, all->symbols.items[i].a);
    return index_dictionary_rank(&all->names) &&
           (all->symbols_only || index_dictionary_rank(&all->files));
}

/* Nodes are numbered first: which texts are used, and by which numbers ranges
 * refer to nodes, depends on it. */
bool
index_emit(struct index_collected *all,
           struct index_encoder encoders[INDEX_SECTIONS])
{
    struct numbering numbering = {0};
    struct stream streams[INDEX_NODES + 1];
    bool rc = false;

    for (int i = 0; i <= INDEX_NODES; i++) {
        streams[i].encoder = &encoders[i];
        streams[i].section = (enum index_section)i;
        streams[i].items.count = 0;
    }
    if (!numbering_init(&numbering, all) || !rank_texts(all, &numbering))
        goto out;
    emit_ranges(all, &numbering, &streams[INDEX_RANGES]);
    emit_rows(all, &streams[INDEX_ROWS]);
    emit_symbols(all, &streams[INDEX_SYMBOLS]);
    emit_nodes(all, &numbering, &streams[INDEX_NODES]);
    emit_texts(&all->names, &encoders[INDEX_NAMES]);
    emit_texts(&all->files, &encoders[INDEX_FILES]);
    rc = true;
    for (int i = 0; i < INDEX_SECTIONS; i++) {
        index_encoder_end(&encoders[i]);
        rc = rc && !encoders[i].failed;
    }
out:
    numbering_fini(&numbering, all);
    return rc;
}
