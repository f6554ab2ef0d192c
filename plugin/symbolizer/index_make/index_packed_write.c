/* index_packed_write.c - packs a plain index file; see index_packed.h. */
#include <string.h>

#include "errors.h"
#include "index_blocks.h"
#include "index_chunk.h"
#include "index_column.h"
#include "index_dictionary.h"
#include "index_packed.h"
#include "memory.h"

enum { TEXTS_AIM = INDEX_CHUNK_TEXTS - INDEX_TEXT_MAX - 1 };

/* The items of one section, in their order. */
struct cursor {
    struct index_blocks *blocks;
    enum index_section section;
    const struct index_group *group; /* NULL: no more */
    uint32_t item;
    uint64_t left; /* including this one */
};

/* Growing packed blocks of a kind. */
struct stream {
    struct buffer table, blocks;
    uint64_t before; /* the last block's first */
    uint64_t count, items;
};

/* New numbers of texts, in the order of their first use. */
struct order {
    uint32_t *new_of, *old_of;
    uint32_t count;
};

struct packing {
    struct index_blocks blocks; /* of the plain one */
    struct order names, files;
    struct stream streams[INDEX_STREAMS];
    struct index_chunk chunk;
    struct index_event events[INDEX_CHUNK_ITEMS];
    struct index_chunk_node nodes[INDEX_CHUNK_ITEMS];
    char texts[INDEX_CHUNK_TEXTS];
    bool failed;
};

/* ---- the plain file ---- */

static void
find_group(struct cursor *cursor, uint64_t key)
{
    cursor->group =
        cursor->left ? index_blocks_find(cursor->blocks, cursor->section, key)
                     : NULL;
    cursor->item = 0;
}

static struct cursor
cursor_of(struct packing *p, enum index_section section)
{
    const struct index_table *table = &p->blocks.tables[section];
    struct cursor cursor = {.blocks = &p->blocks,
                            .section = section,
                            .left = table->count ? table->items : 0};

    if (cursor.left)
        find_group(&cursor, table->blocks[0].first);
    return cursor;
}

static void
cursor_next(struct cursor *cursor)
{
    cursor->left--;
    if (++cursor->item == cursor->group->items)
        find_group(cursor, cursor->group->next);
}

static uint64_t
column(const struct cursor *cursor, unsigned i)
{
    return index_column_get(&cursor->group->column[i], cursor->item);
}

static uint64_t
address(const struct cursor *cursor)
{
    return cursor->group ? cursor->group->first + column(cursor, 0)
                         : UINT64_MAX;
}

static uint32_t
range_of(const struct cursor *cursor)
{
    const struct index_column *c = &cursor->group->column[RANGE_NODE];
    uint64_t value = index_column_raw(c, cursor->item);

    return (uint32_t)(value < INDEX_FIRST_NODE ? value : value + c->base);
}

/* The place in the columns from i on. */
static void
place_of(const struct cursor *cursor, unsigned i, uint32_t *file,
         uint32_t *line)
{
    const struct index_column *c = &cursor->group->column[i];
    uint32_t which = (uint32_t)index_column_get(&c[PLACE_WHICH], cursor->item);

    *file = (uint32_t)index_column_get(&c[PLACE_FILES], which);
    *line = (uint32_t)(index_column_get(&c[PLACE_LINES], which) +
                       index_column_get(&c[PLACE_LINE], cursor->item));
}

/* ---- texts in another order ---- */

static bool
order_init(struct order *order, size_t count)
{
    order->new_of = mem_zalloc(count, sizeof(*order->new_of));
    order->old_of = mem_zalloc(count, sizeof(*order->old_of));
    order->count = count ? 1 : 0; /* "" keeps 0 */
    return order->new_of && order->old_of;
}

static void
order_fini(struct order *order)
{
    mem_free(order->new_of);
    mem_free(order->old_of);
}

static void
use(struct order *order, uint64_t old)
{
    if (old == 0 || order->new_of[old])
        return;
    order->old_of[order->count] = (uint32_t)old;
    order->new_of[old] = order->count++;
}

/* Symbols come first: functions have the same names, in nearly the same order.
 */
static void
find_orders(struct packing *p)
{
    struct cursor cursor = cursor_of(p, INDEX_SYMBOLS);
    uint32_t file, line;

    for (; cursor.group; cursor_next(&cursor))
        use(&p->names, column(&cursor, SYMBOL_NAME));
    cursor = cursor_of(p, INDEX_ROWS);
    for (; cursor.group; cursor_next(&cursor)) {
        place_of(&cursor, ROW_PLACE, &file, &line);
        use(&p->files, file);
    }
    cursor = cursor_of(p, INDEX_NODES);
    for (; cursor.group; cursor_next(&cursor)) {
        use(&p->names, column(&cursor, NODE_FUNCTION) / 8);
        place_of(&cursor, NODE_PLACE, &file, &line);
        use(&p->files, file);
    }
}

/* ---- streams ---- */

static void
begin_block(struct packing *p, enum index_stream stream, uint32_t count,
            struct index_coder *coder)
{
    buffer_u16(&p->streams[stream].blocks, (uint16_t)count);
    index_coder_write(coder, &p->streams[stream].blocks);
}

/* Ends the block that begins at start. */
static void
end_block(struct packing *p, enum index_stream stream, uint64_t first,
          size_t start, uint32_t items)
{
    struct stream *s = &p->streams[stream];
    size_t size = s->blocks.size - start;

    if (s->blocks.failed || size > INDEX_BLOCK_MAX) {
        p->failed = true;
        return;
    }
    index_put_leb(&s->table, first - s->before);
    index_put_leb(&s->table, size);
    buffer_u32(&s->table,
               index_sum((const uint8_t *)s->blocks.data + start, size));
    s->before = first;
    s->count++;
    s->items += items;
    if (s->table.failed)
        p->failed = true;
}

static void
put_events(struct packing *p, uint32_t count)
{
    size_t start = p->streams[INDEX_CODE].blocks.size;
    struct index_coder coder;

    if (count == 0)
        return;
    begin_block(p, INDEX_CODE, count, &coder);
    if (!index_chunk_events(&p->chunk, &coder, p->events, count))
        p->failed = true;
    index_coder_end(&coder);
    end_block(p, INDEX_CODE, p->events[0].address, start, count);
}

/* Adds to now what the three sections begin at address. */
static void
take_event(struct packing *p, struct cursor cursors[3], struct index_event *now,
           uint64_t *symbol)
{
    now->kinds = 0;
    if (address(&cursors[INDEX_RANGES]) == now->address &&
        cursors[INDEX_RANGES].group) {
        now->kinds |= INDEX_EVENT_RANGE;
        now->range = range_of(&cursors[INDEX_RANGES]);
        cursor_next(&cursors[INDEX_RANGES]);
    }
    if (address(&cursors[INDEX_ROWS]) == now->address &&
        cursors[INDEX_ROWS].group) {
        now->kinds |= INDEX_EVENT_ROW;
        place_of(&cursors[INDEX_ROWS], ROW_PLACE, &now->file, &now->line);
        now->file = p->files.new_of[now->file];
        cursor_next(&cursors[INDEX_ROWS]);
    }
    if (address(&cursors[INDEX_SYMBOLS]) == now->address &&
        cursors[INDEX_SYMBOLS].group) {
        const struct cursor *c = &cursors[INDEX_SYMBOLS];

        now->kinds |= INDEX_EVENT_SYMBOL;
        now->name = p->names.new_of[column(c, SYMBOL_NAME)];
        *symbol = now->address - column(c, SYMBOL_BACK);
        cursor_next(&cursors[INDEX_SYMBOLS]);
    }
    now->back = now->name ? now->address - *symbol : 0;
}

/* Each block begins with all facts that hold at its start. */
static void
pack_code(struct packing *p)
{
    struct cursor cursors[3] = {cursor_of(p, INDEX_RANGES),
                                cursor_of(p, INDEX_ROWS),
                                cursor_of(p, INDEX_SYMBOLS)};
    struct index_event now = {0};
    uint32_t count = 0;
    uint64_t symbol = 0;

    while (!p->failed &&
           (cursors[0].group || cursors[1].group || cursors[2].group)) {
        now.address = UINT64_MAX;
        for (int i = 0; i < 3; i++)
            if (address(&cursors[i]) < now.address)
                now.address = address(&cursors[i]);
        take_event(p, cursors, &now, &symbol);
        if (count == INDEX_CHUNK_ITEMS ||
            (count > 0 && now.address - p->events[0].address > UINT32_MAX)) {
            put_events(p, count);
            count = 0;
        }
        if (count == 0)
            now.kinds = 7;
        p->events[count++] = now;
    }
    put_events(p, count);
}

static void
pack_nodes(struct packing *p)
{
    struct cursor cursor = cursor_of(p, INDEX_NODES);
    struct index_coder coder;
    uint64_t first = 0;

    while (cursor.group && !p->failed) {
        size_t start = p->streams[INDEX_NODE_CHUNKS].blocks.size;
        uint32_t count = 0;

        for (; cursor.group && count < INDEX_CHUNK_ITEMS;
             cursor_next(&cursor)) {
            struct index_chunk_node *node = &p->nodes[count++];
            uint64_t function = column(&cursor, NODE_FUNCTION);

            node->up = (uint32_t)column(&cursor, NODE_UP);
            node->function =
                p->names.new_of[function / 8] * 8 + (uint32_t)(function % 8);
            place_of(&cursor, NODE_PLACE, &node->file, &node->line);
            node->file = p->files.new_of[node->file];
        }
        begin_block(p, INDEX_NODE_CHUNKS, count, &coder);
        if (!index_chunk_nodes(&p->chunk, &coder, p->nodes, count))
            p->failed = true;
        index_coder_end(&coder);
        end_block(p, INDEX_NODE_CHUNKS, first, start, count);
        first += count;
    }
}

static void
pack_texts(struct packing *p, enum index_stream stream,
           const struct order *order, const struct index_dictionary *words)
{
    uint32_t first = 0, i;

    for (; first < order->count && !p->failed; first = i) {
        struct buffer *blocks = &p->streams[stream].blocks;
        size_t start = blocks->size, at = 0, size = 0;
        struct index_coder coder;

        begin_block(p, stream, 0, &coder);
        index_chunk_texts(&p->chunk);
        for (i = first; i < order->count && at < TEXTS_AIM &&
                        i - first < INDEX_CHUNK_ITEMS && !p->failed;
             i++) {
            struct span word = index_dictionary_word(words, order->old_of[i]);
            size_t before = size;

            size = word.size;
            if (size)
                memcpy(p->texts + at, word.data, size);
            if (!index_chunk_text(&p->chunk, &coder, p->texts, at, before,
                                  &size))
                p->failed = true;
            at += size + 1;
        }
        index_coder_end(&coder);
        if (!blocks->failed) {
            blocks->data[start] = (char)(i - first);
            blocks->data[start + 1] = (char)((i - first) >> 8);
        }
        end_block(p, stream, first, start, i - first);
    }
}

/* ---- the file ---- */

static void
put_file(struct packing *p, const uint8_t *build_id, size_t build_id_size,
         struct buffer *out)
{
    uint64_t size = INDEX_PACKED_ID + build_id_size + 4;
    struct buffer rest;

    buffer_init(&rest, INDEX_PACKED_HEADER_MAX);
    for (int i = 0; i < INDEX_STREAMS; i++) {
        index_put_leb(&rest, p->streams[i].count);
        index_put_leb(&rest, p->streams[i].items);
        if (p->streams[i].count)
            buffer_add(&rest, p->streams[i].table.data,
                       p->streams[i].table.size);
    }
    size += rest.size;
    buffer_text(out, INDEX_MAGIC);
    buffer_u32(out, INDEX_VERSION | INDEX_PACKED);
    buffer_u32(out, (uint32_t)size);
    for (int i = 0; i < INDEX_STREAMS; i++)
        size += p->streams[i].blocks.size;
    buffer_u64(out, size);
    buffer_u8(out, (uint8_t)build_id_size);
    buffer_add(out, build_id, build_id_size);
    buffer_add(out, rest.data, rest.size);
    if (!out->failed)
        buffer_u32(out, index_sum((uint8_t *)out->data, out->size));
    for (int i = 0; i < INDEX_STREAMS; i++)
        if (p->streams[i].count)
            buffer_add(out, p->streams[i].blocks.data,
                       p->streams[i].blocks.size);
    if (rest.failed || out->failed)
        p->failed = true;
    buffer_fini(&rest);
}

int
index_pack_file(const struct buffer *plain, const uint8_t *build_id,
                size_t build_id_size, const struct index_dictionary *names,
                const struct index_dictionary *files, struct buffer *out,
                struct error *err)
{
    struct packing *p = mem_zalloc(1, sizeof(*p));
    int rc = -1;

    if (!p) {
        error_memory(err, "a symbol index");
        return -1;
    }
    for (int i = 0; i < INDEX_STREAMS; i++) {
        buffer_init(&p->streams[i].table, INDEX_PACKED_HEADER_MAX);
        buffer_init(&p->streams[i].blocks, out->max);
    }
    if (index_blocks_open_bytes(&p->blocks, plain->data, plain->size, build_id,
                                build_id_size, err) != 0)
        goto out;
    if (!order_init(&p->names, names->sorted_count) ||
        !order_init(&p->files, files->sorted_count)) {
        error_memory(err, "a symbol index");
        goto out;
    }
    find_orders(p);
    pack_code(p);
    pack_nodes(p);
    pack_texts(p, INDEX_NAME_CHUNKS, &p->names, names);
    pack_texts(p, INDEX_FILE_CHUNKS, &p->files, files);
    put_file(p, build_id, build_id_size, out);
    for (int i = 0; i < INDEX_STREAMS; i++)
        if (p->streams[i].count > INDEX_BLOCKS_MAX)
            p->failed = true;
    if (p->failed || p->blocks.failed)
        error_memory(err, "a packed symbol index");
    else
        rc = 0;
out:
    for (int i = 0; i < INDEX_STREAMS; i++) {
        buffer_fini(&p->streams[i].table);
        buffer_fini(&p->streams[i].blocks);
    }
    order_fini(&p->names);
    order_fini(&p->files);
    index_blocks_close(&p->blocks);
    mem_free(p);
    return rc;
}
