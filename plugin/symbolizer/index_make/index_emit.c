/* index_emit.c - see index_emit.h. */
#include "index_emit.h"

#include "index_builder.h"
#include "index_collected.h"
#include "index_column.h"
#include "index_numbering.h"
#include "index_pack.h"

/* A group of texts ends above this: a look-up unpacks it. */
enum { TEXTS_BYTES = 4 << 10 };

/* Items to be put into groups. */
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

/* Room for the next item, with its key. */
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
put_range(struct stream *stream, uint64_t address, uint64_t value)
{
    uint32_t i = stream_next(stream, address);

    stream->items.column[RANGE_ADDRESS][i] = address - stream->items.first;
    stream->items.column[RANGE_NODE][i] = value;
}

static void
emit_ranges(const struct index_collected *all,
            const struct index_numbering *numbering, struct stream *stream,
            struct symbol_index_figures *figures)
{
    uint64_t value = INDEX_NO_FUNCTION, end = 0;

    for (size_t i = 0; i < all->ranges.count; i++) {
        const struct index_interval *item = &all->ranges.items[i];
        uint64_t next =
            item->a == INDEX_NONE
                ? INDEX_LEFT_OUT
                : (uint64_t)numbering->number[item->a] + INDEX_FIRST_NODE;

        if (end < item->start && value != INDEX_NO_FUNCTION) {
            put_range(stream, end, INDEX_NO_FUNCTION);
            value = INDEX_NO_FUNCTION;
        }
        if (next != value) {
            put_range(stream, item->start, next);
            figures->ranges++;
        }
        value = next;
        end = item->end;
    }
    if (value != INDEX_NO_FUNCTION)
        put_range(stream, end, INDEX_NO_FUNCTION);
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

static void
emit_rows(const struct index_collected *all, struct stream *stream,
          struct symbol_index_figures *figures)
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
        if (path != file || item->b != line) {
            put_row(stream, item->start, path, item->b);
            figures->rows++;
        }
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
emit_symbols(const struct index_collected *all, struct stream *stream,
             struct symbol_index_figures *figures)
{
    uint64_t end = 0, symbol = 0;
    uint32_t name = 0;
    bool said = false; /* of the code up to end */

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
            figures->symbols += own != 0;
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
emit_nodes(const struct index_collected *all,
           const struct index_numbering *numbering, struct stream *stream,
           struct symbol_index_figures *figures)
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
        if (node->inlined)
            figures->inlined++;
        else
            figures->functions++;
    }
    stream_flush(stream);
}

/* One group: the texts from first up to end. */
static void
put_texts(const struct index_dictionary *dictionary, size_t first, size_t end,
          struct index_encoder *encoder)
{
    struct buffer group, texts;

    buffer_init(&group, INDEX_BLOCK_MAX);
    buffer_init(&texts, INDEX_PACK_MAX);
    buffer_u8(&group, (uint8_t)(end - first));
    for (size_t i = first; i < end; i++) {
        struct span text = index_dictionary_word(dictionary, i);

        index_put_leb(&group, text.size);
        buffer_add(&texts, text.data, text.size);
    }
    if (texts.failed || !index_pack(texts.data, texts.size, &group))
        encoder->failed = true;
    index_encoder_texts(encoder, first, (uint32_t)(end - first), &group);
    buffer_fini(&group);
    buffer_fini(&texts);
}

static void
emit_texts(const struct index_dictionary *dictionary,
           struct index_encoder *encoder)
{
    size_t first = 0, bytes = 0;

    for (size_t i = 0; i < dictionary->sorted_count; i++) {
        bytes += index_dictionary_word(dictionary, i).size;
        if (i + 1 - first == INDEX_GROUP_ITEMS || bytes > TEXTS_BYTES) {
            put_texts(dictionary, first, i + 1, encoder);
            first = i + 1;
            bytes = 0;
        }
    }
    if (first < dictionary->sorted_count)
        put_texts(dictionary, first, dictionary->sorted_count, encoder);
}

/* Ranks the texts that the kept numbers refer to. */
static bool
rank_texts(struct index_collected *all, const struct index_numbering *numbering)
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

bool
index_emit(struct index_collected *all,
           struct index_encoder encoders[INDEX_SECTIONS],
           struct symbol_index_figures *figures)
{
    struct index_numbering numbering = {0};
    struct stream streams[INDEX_NODES + 1];
    bool rc = false;

    for (int i = 0; i <= INDEX_NODES; i++) {
        streams[i].encoder = &encoders[i];
        streams[i].section = (enum index_section)i;
        streams[i].items.count = 0;
    }
    if (!index_numbering_init(&numbering, all) || !rank_texts(all, &numbering))
        goto out;
    emit_ranges(all, &numbering, &streams[INDEX_RANGES], figures);
    emit_rows(all, &streams[INDEX_ROWS], figures);
    emit_symbols(all, &streams[INDEX_SYMBOLS], figures);
    emit_nodes(all, &numbering, &streams[INDEX_NODES], figures);
    emit_texts(&all->names, &encoders[INDEX_NAMES]);
    emit_texts(&all->files, &encoders[INDEX_FILES]);
    rc = true;
    for (int i = 0; i < INDEX_SECTIONS; i++) {
        index_encoder_end(&encoders[i]);
        rc = rc && !encoders[i].failed;
    }
out:
    index_numbering_fini(&numbering, all);
    return rc;
}
