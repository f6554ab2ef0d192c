/* index_blocks_open.c - opens an index file: checks header and tables.  See
 * index_blocks.h. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "index_blocks.h"
#include "index_packed.h"
#include "memory.h"

enum {
    BLOCK_ITEMS_MAX =
        INDEX_BLOCK_MAX / INDEX_GROUP_ENTRY_SIZE * INDEX_GROUP_ITEMS
};

struct header {
    uint32_t version, size;
    uint64_t file_size;
    size_t id_size;
    uint32_t counts[INDEX_SECTIONS], sums[INDEX_SECTIONS];
};

bool
index_blocks_read(const struct index_blocks *blocks, void *data, size_t size,
                  uint64_t offset)
{
    char *to = data;

    if (blocks->file) {
        if (offset > blocks->file_size || size > blocks->file_size - offset)
            return false;
        memcpy(data, blocks->file + offset, size);
        return true;
    }
    while (size > 0) {
        ssize_t n = pread(blocks->fd, to, size, (off_t)offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        to += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

static int
damaged(struct error *err, const char *what)
{
    error_set(err, ER_UNKNOWN, "its symbol index is unusable: %s", what);
    return -1;
}

/* The fields that both forms begin with. */
static int
parse_start(const uint8_t *bytes, struct header *out, struct error *err)
{
    struct reader r = reader_of(bytes, INDEX_PACKED_ID);
    struct span magic = reader_bytes(&r, sizeof(INDEX_MAGIC) - 1);
    bool plain, packed;

    out->version = reader_u32(&r);
    out->size = reader_u32(&r);
    out->file_size = reader_u64(&r);
    out->id_size = reader_u8(&r);
    plain = out->version == INDEX_VERSION && out->size == INDEX_HEADER_SIZE;
    packed = out->version == (INDEX_VERSION | INDEX_PACKED) &&
             out->size >= INDEX_PACKED_ID + 4 &&
             out->size <= INDEX_PACKED_HEADER_MAX;
    if (!span_is(magic, INDEX_MAGIC))
        return damaged(err, "it is no such file");
    if (!plain && !packed)
        return damaged(err, "it is of another version");
    return 0;
}

/* Checks the whole header's sum and the build-id; leaves r behind it. */
static int
check_header(const uint8_t *bytes, const struct header *header,
             const uint8_t *build_id, size_t build_id_size, struct reader *r,
             struct error *err)
{
    uint32_t size = header->size - 4;
    struct reader end = reader_of(bytes + size, 4);
    struct span id;

    if (reader_u32(&end) != index_sum(bytes, size))
        return damaged(err, "its header is damaged");
    *r = reader_of(bytes, size);
    reader_bytes(r, INDEX_PACKED_ID);
    id = reader_bytes(r, header->id_size);
    if (r->failed || header->id_size > INDEX_BUILD_ID_MAX)
        return damaged(err, "its header makes no sense");
    if (header->id_size != build_id_size || build_id_size == 0 ||
        memcmp(id.data, build_id, build_id_size) != 0)
        return damaged(err, "it was made for another build");
    return 0;
}

/* ---- plain ---- */

static int
parse_sections(struct index_blocks *blocks, struct reader *r,
               struct header *out, struct error *err)
{
    bool too_many = false;

    reader_bytes(r, INDEX_BUILD_ID_MAX - out->id_size + 7);
    for (int i = 0; i < INDEX_SECTIONS; i++) {
        uint64_t items;

        out->counts[i] = reader_u32(r);
        out->sums[i] = reader_u32(r);
        items = reader_u64(r);
        if (out->counts[i] > INDEX_BLOCKS_MAX ||
            items > (uint64_t)out->counts[i] * BLOCK_ITEMS_MAX ||
            (i >= INDEX_NODES && items > INDEX_ITEMS_MAX))
            too_many = true;
        blocks->tables[i].items = items;
    }
    if (!reader_done(r) || too_many)
        return damaged(err, "its header makes no sense");
    return 0;
}

/* Blocks must follow each other without gaps from *offset on. */
static bool
parse_table(const uint8_t *bytes, struct index_table *table, uint64_t *offset)
{
    const uint64_t from = *offset;

    for (uint32_t i = 0; i < table->count; i++, bytes += INDEX_ENTRY_SIZE) {
        struct index_block *block = &table->blocks[i];
        uint64_t last = index_load(bytes + 16);

        block->first = index_load(bytes);
        block->offset = index_load(bytes + 8);
        block->size = (uint32_t)last;
        block->sum = (uint32_t)(last >> 32);
        if (block->offset != *offset || block->size > INDEX_BLOCK_MAX ||
            (i > 0 && block->first <= block[-1].first))
            return false;
        *offset += block->size;
    }
    /* Each group of so many items has at least a byte. */
    return table->items <= (*offset - from) * INDEX_GROUP_ITEMS;
}

static int
read_tables(struct index_blocks *blocks, const struct header *header,
            struct error *err)
{
    size_t size = 0, place = 0;
    uint64_t offset;
    uint8_t *bytes = NULL;
    int rc = -1;

    for (int i = 0; i < INDEX_SECTIONS; i++)
        size += (size_t)header->counts[i] * INDEX_ENTRY_SIZE;
    offset = INDEX_HEADER_SIZE + size;
    if (offset > header->file_size)
        return damaged(err, "its tables are cut off");
    bytes = mem_alloc(size);
    if (!bytes) {
        error_memory(err, "a symbol index's tables");
        goto out;
    }
    if (!index_blocks_read(blocks, bytes, size, INDEX_HEADER_SIZE)) {
        damaged(err, "its tables cannot be read");
        goto out;
    }
    for (int i = 0; i < INDEX_SECTIONS; i++) {
        struct index_table *table = &blocks->tables[i];
        size_t part = (size_t)header->counts[i] * INDEX_ENTRY_SIZE;

        table->blocks =
            mem_alloc((size_t)header->counts[i] * sizeof(*table->blocks));
        if (!table->blocks) {
            error_memory(err, "a symbol index's tables");
            goto out;
        }
        table->count = table->group_block = header->counts[i];
        if (index_sum(bytes + place, part) != header->sums[i] ||
            !parse_table(bytes + place, table, &offset)) {
            damaged(err, "its tables are damaged");
            goto out;
        }
        place += part;
    }
    if (offset != header->file_size) {
        damaged(err, "its tables make no sense");
        goto out;
    }
    rc = 0;
out:
    mem_free(bytes);
    return rc;
}

/* ---- packed ---- */

static bool
parse_packed_table(struct reader *r, struct index_table *table,
                   uint64_t *offset)
{
    uint64_t first = 0;

    for (uint32_t i = 0; i < table->count; i++) {
        uint64_t step = index_leb(r), size = index_leb(r);

        if (r->failed || (i > 0 && step == 0) || step > UINT64_MAX - first ||
            size > INDEX_BLOCK_MAX)
            return false;
        first += step;
        table->blocks[i] =
            (struct index_block){first, *offset, (uint32_t)size, reader_u32(r)};
        *offset += size;
    }
    return !r->failed;
}

static bool
table_alloc(struct index_table *table, uint64_t count, uint64_t items)
{
    table->blocks = mem_alloc((size_t)count * sizeof(*table->blocks));
    table->count = table->group_block = (uint32_t)count;
    table->items = items;
    return table->blocks;
}

static int
parse_packed(struct index_blocks *blocks, struct reader *r,
             const struct header *header, struct error *err)
{
    static const enum index_section sections[INDEX_STREAMS] = {
        INDEX_RANGES, INDEX_NODES, INDEX_NAMES, INDEX_FILES};
    struct index_table *tables = blocks->tables;
    uint64_t offset = header->size;

    for (int i = 0; i < INDEX_STREAMS; i++) {
        uint64_t count = index_leb(r), items = index_leb(r);
        struct index_table *table = &tables[sections[i]];

        if (r->failed || count > INDEX_BLOCKS_MAX ||
            count > (uint64_t)(r->end - r->pos) ||
            items > count * INDEX_CHUNK_ITEMS || items > INDEX_ITEMS_MAX)
            return damaged(err, "its header makes no sense");
        if (!table_alloc(table, count, items))
            goto no_memory;
        if (!parse_packed_table(r, table, &offset))
            return damaged(err, "its tables are damaged");
    }
    if (!reader_done(r) || offset != header->file_size)
        return damaged(err, "its tables make no sense");
    for (int i = INDEX_ROWS; i <= INDEX_SYMBOLS; i++) {
        size_t size = tables[INDEX_RANGES].count * sizeof(*tables->blocks);

        if (!table_alloc(&tables[i], tables[INDEX_RANGES].count,
                         tables[INDEX_RANGES].items))
            goto no_memory;
        if (size)
            memcpy(tables[i].blocks, tables[INDEX_RANGES].blocks, size);
    }
    blocks->packed = true;
    blocks->raw = mem_alloc(INDEX_BLOCK_MAX);
    blocks->unpacker = index_unpacker_new();
    if (blocks->raw && blocks->unpacker)
        return 0;
no_memory:
    error_memory(err, "a symbol index's tables");
    return -1;
}

/* ---- both ---- */

static int
open_blocks(struct index_blocks *blocks, uint64_t size, const uint8_t *build_id,
            size_t build_id_size, struct error *err)
{
    uint8_t start[INDEX_PACKED_ID], *bytes;
    struct header header;
    struct reader r;
    int rc = -1;

    if (!index_blocks_read(blocks, start, sizeof(start), 0))
        return damaged(err, "it is too short");
    if (parse_start(start, &header, err) != 0)
        return -1;
    if (header.size > size)
        return damaged(err, "it is too short");
    bytes = mem_alloc(header.size);
    if (!bytes) {
        error_memory(err, "a symbol index's header");
        return -1;
    }
    if (!index_blocks_read(blocks, bytes, header.size, 0)) {
        damaged(err, "it is too short");
        goto out;
    }
    if (check_header(bytes, &header, build_id, build_id_size, &r, err) != 0)
        goto out;
    if (header.file_size != size)
        damaged(err, "its length has changed");
    else if (header.version & INDEX_PACKED)
        rc = parse_packed(blocks, &r, &header, err);
    else if (parse_sections(blocks, &r, &header, err) == 0)
        rc = read_tables(blocks, &header, err);
out:
    mem_free(bytes);
    return rc;
}

int
index_blocks_open(struct index_blocks *blocks, int fd, const uint8_t *build_id,
                  size_t build_id_size, struct error *err)
{
    struct stat st;

    blocks->fd = fd;
    if (fstat(fd, &st) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot look at the symbol index");
        return -1;
    }
    return open_blocks(blocks, (uint64_t)st.st_size, build_id, build_id_size,
                       err);
}

int
index_blocks_open_bytes(struct index_blocks *blocks, const void *file,
                        size_t size, const uint8_t *build_id,
                        size_t build_id_size, struct error *err)
{
    blocks->fd = -1;
    blocks->file = file;
    blocks->file_size = size;
    return open_blocks(blocks, size, build_id, build_id_size, err);
}
