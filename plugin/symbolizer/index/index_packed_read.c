/* index_packed_read.c - unpacks blocks; see index_packed.h. */
#include <string.h>

#include "index_chunk.h"
#include "index_column.h"
#include "index_encoder.h"
#include "index_pack.h"
#include "index_packed.h"
#include "memory.h"

enum { TEXTS_BYTES = 4 << 10 /* a plain group ends above this */ };

struct index_unpacker {
    struct index_chunk chunk;
    struct index_encoder encoders[INDEX_SECTIONS];
    union {
        struct index_event events[INDEX_CHUNK_ITEMS];
        struct index_chunk_node nodes[INDEX_CHUNK_ITEMS];
        char texts[INDEX_CHUNK_TEXTS];
    };
};

struct index_unpacker *
index_unpacker_new(void)
{
    return mem_zalloc(1, sizeof(struct index_unpacker));
}

void
index_unpacker_free(struct index_unpacker *unpacker)
{
    mem_free(unpacker);
}

/* ---- items ---- */

/* Room for an item with that address or number. */
static uint32_t
next_item(struct index_encoder *encoder, enum index_section section,
          struct index_items *items, uint64_t key)
{
    if (items->count == INDEX_GROUP_ITEMS) {
        index_encoder_items(encoder, section, items);
        items->count = 0;
    }
    if (items->count == 0)
        items->first = key;
    return items->count++;
}

static void
put_event(enum index_section section, const struct index_event *event,
          struct index_items *items, uint32_t i)
{
    items->column[0][i] = event->address - items->first;
    if (section == INDEX_RANGES) {
        items->column[RANGE_NODE][i] = event->range;
    } else if (section == INDEX_ROWS) {
        items->file[i] = event->file;
        items->line[i] = event->line;
    } else {
        items->column[SYMBOL_BACK][i] = event->back;
        items->column[SYMBOL_NAME][i] = event->name;
    }
}

/* Adds the section's part of the events. */
static void
put_events(struct index_unpacker *unpacker, enum index_section section,
           uint32_t count)
{
    static const uint32_t kinds[] = {[INDEX_RANGES] = INDEX_EVENT_RANGE,
                                     [INDEX_ROWS] = INDEX_EVENT_ROW,
                                     [INDEX_SYMBOLS] = INDEX_EVENT_SYMBOL};
    struct index_encoder *encoder = &unpacker->encoders[section];
    struct index_items items;

    items.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct index_event *event = &unpacker->events[i];

        if (event->kinds & kinds[section])
            put_event(section, event, &items,
                      next_item(encoder, section, &items, event->address));
    }
    index_encoder_items(encoder, section, &items);
}

static bool
unpack_code(struct index_unpacker *unpacker, struct index_coder *coder,
            uint64_t first, uint32_t count)
{
    unpacker->events[0].address = first;
    if (!index_chunk_events(&unpacker->chunk, coder, unpacker->events, count))
        return false;
    for (int i = INDEX_RANGES; i <= INDEX_SYMBOLS; i++)
        put_events(unpacker, (enum index_section)i, count);
    return true;
}

static bool
unpack_nodes(struct index_unpacker *unpacker, struct index_coder *coder,
             uint64_t first, uint32_t count)
{
    struct index_encoder *encoder = &unpacker->encoders[INDEX_NODES];
    struct index_items items;

    if (!index_chunk_nodes(&unpacker->chunk, coder, unpacker->nodes, count))
        return false;
    items.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct index_chunk_node *node = &unpacker->nodes[i];
        uint32_t k = next_item(encoder, INDEX_NODES, &items, first + i);

        items.column[NODE_UP][k] = node->up;
        items.column[NODE_FUNCTION][k] = node->function;
        items.file[k] = node->file;
        items.line[k] = node->line;
    }
    index_encoder_items(encoder, INDEX_NODES, &items);
    return true;
}

/* ---- texts ---- */

/* One group of plain texts. */
struct text_group {
    struct buffer sizes, texts;
    uint64_t first;
    uint32_t count;
};

static void
end_group(struct index_encoder *encoder, struct text_group *group)
{
    struct buffer out;

    if (group->count == 0)
        return;
    buffer_init(&out, INDEX_BLOCK_MAX);
    buffer_u8(&out, (uint8_t)group->count);
    buffer_add(&out, group->sizes.data, group->sizes.size);
    index_pack_as_it_is(group->texts.data, group->texts.size, &out);
    if (group->sizes.failed || group->texts.failed)
        encoder->failed = true;
    index_encoder_texts(encoder, group->first, group->count, &out);
    buffer_fini(&out);
    buffer_clear(&group->sizes);
    buffer_clear(&group->texts);
    group->first += group->count;
    group->count = 0;
}

static bool
unpack_texts(struct index_unpacker *unpacker, enum index_section section,
             struct index_coder *coder, uint64_t first, uint32_t count)
{
    struct index_encoder *encoder = &unpacker->encoders[section];
    struct text_group group = {.first = first};
    size_t at = 0, size = 0;
    bool rc = true;

    buffer_init(&group.sizes, INDEX_BLOCK_MAX);
    buffer_init(&group.texts, INDEX_PACK_MAX);
    index_chunk_texts(&unpacker->chunk);
    for (uint32_t i = 0; i < count && rc; i++) {
        rc = index_chunk_text(&unpacker->chunk, coder, unpacker->texts, at,
                              size, &size);
        if (!rc)
            break;
        index_put_leb(&group.sizes, size);
        buffer_add(&group.texts, unpacker->texts + at, size);
        at += size + 1;
        group.count++;
        if (group.count == INDEX_GROUP_ITEMS || group.texts.size > TEXTS_BYTES)
            end_group(encoder, &group);
    }
    end_group(encoder, &group);
    buffer_fini(&group.sizes);
    buffer_fini(&group.texts);
    return rc;
}

/* ---- all ---- */

static bool
end_block(struct index_encoder *encoder, struct buffer *plain)
{
    static const uint8_t padding[8]; /* index_load reads that far */

    index_encoder_end(encoder);
    if (encoder->failed || encoder->block_count != 1)
        return false;
    *plain = encoder->blocks;
    encoder->blocks = (struct buffer){0};
    buffer_add(plain, padding, sizeof(padding));
    plain->size -= plain->failed ? 0 : sizeof(padding);
    return !plain->failed;
}

bool
index_unpack_block(struct index_unpacker *unpacker, enum index_section section,
                   uint64_t first, const uint8_t *data, size_t size,
                   struct buffer plain[INDEX_SECTIONS])
{
    int last = section == INDEX_RANGES ? INDEX_SYMBOLS : (int)section;
    struct reader r = reader_of(data, size);
    uint32_t count = reader_u16(&r);
    struct span rest = reader_rest(&r);
    struct index_coder coder;
    bool rc = false;

    if (r.failed || count == 0 || count > INDEX_CHUNK_ITEMS)
        return false;
    for (int i = (int)section; i <= last; i++) {
        index_encoder_init(&unpacker->encoders[i]);
        unpacker->encoders[i].block_bytes = INDEX_BLOCK_MAX;
        plain[i] = (struct buffer){0};
    }
    index_coder_read(&coder, (const uint8_t *)rest.data, rest.size);
    if (section == INDEX_RANGES)
        rc = unpack_code(unpacker, &coder, first, count);
    else if (section == INDEX_NODES)
        rc = unpack_nodes(unpacker, &coder, first, count);
    else
        rc = unpack_texts(unpacker, section, &coder, first, count);
    for (int i = (int)section; i <= last; i++) {
        rc = rc && end_block(&unpacker->encoders[i], &plain[i]);
        index_encoder_fini(&unpacker->encoders[i]);
    }
    for (int i = (int)section; i <= last && !rc; i++)
        buffer_fini(&plain[i]);
    return rc;
}
