/* index_blocks.c - see index_blocks.h. */
#include "index_blocks.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "memory.h"
#include "search.h"

enum { PADDING = 8 /* index_load reads that far */ };

static const size_t kept_max[INDEX_SECTIONS] = {
    [INDEX_NODES] = INDEX_NODES_CACHE_BYTES,
    [INDEX_NAMES] = INDEX_CACHE_BYTES,
    [INDEX_FILES] = INDEX_CACHE_BYTES,
};

struct header {
    uint64_t size;
    uint32_t counts[INDEX_SECTIONS], sums[INDEX_SECTIONS];
    uint64_t items[INDEX_SECTIONS];
};

static bool
read_at(int fd, void *data, size_t size, uint64_t offset)
{
    char *to = data;

    while (size > 0) {
        ssize_t n = pread(fd, to, size, (off_t)offset);

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
    error_set(err, ER_UNKNOWN, "its symbol index is of no use: %s", what);
    return -1;
}

static int
parse_header(const uint8_t *bytes, const uint8_t *build_id,
             size_t build_id_size, struct header *out, struct error *err)
{
    struct reader r = reader_of(bytes, INDEX_HEADER_SIZE);
    struct span magic = reader_bytes(&r, sizeof(INDEX_MAGIC) - 1), id;
    uint32_t version = reader_u32(&r), size = reader_u32(&r);
    bool too_many = false;
    size_t id_size;

    if (!span_is(magic, INDEX_MAGIC))
        return damaged(err, "it is no such file");
    if (version != INDEX_VERSION || size != INDEX_HEADER_SIZE)
        return damaged(err, "it is of another version");
    out->size = reader_u64(&r);
    id_size = reader_u8(&r);
    id = reader_bytes(&r, INDEX_BUILD_ID_MAX);
    reader_bytes(&r, 7);
    for (int i = 0; i < INDEX_SECTIONS; i++) {
        out->counts[i] = reader_u32(&r);
        out->sums[i] = reader_u32(&r);
        out->items[i] = reader_u64(&r);
        if (out->counts[i] > INDEX_BLOCKS_MAX)
            too_many = true;
    }
    if (reader_u32(&r) != index_sum(bytes, INDEX_HEADER_SIZE - 4))
        return damaged(err, "its header is damaged");
    if (!reader_done(&r) || too_many || id_size > INDEX_BUILD_ID_MAX)
        return damaged(err, "its header makes no sense");
    if (id_size != build_id_size || build_id_size == 0 ||
        memcmp(id.data, build_id, build_id_size) != 0)
        return damaged(err, "it was made of another build");
    return 0;
}

/* Blocks follow each other without gaps from *offset on. */
static bool
parse_table(struct reader *r, struct index_table *table, uint64_t *offset)
{
    for (uint32_t i = 0; i < table->count; i++) {
        struct index_block *block = &table->blocks[i];

        block->first = reader_u64(r);
        block->offset = reader_u64(r);
        block->size = reader_u32(r);
        block->sum = reader_u32(r);
        if (r->failed || block->offset != *offset ||
            block->size > INDEX_BLOCK_MAX ||
            (i > 0 && block->first <= block[-1].first))
            return false;
        *offset += block->size;
    }
    return true;
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
    if (offset > header->size)
        return damaged(err, "its tables are cut off");
    bytes = mem_alloc(size);
    if (!bytes) {
        error_memory(err, "a symbol index's tables");
        goto out;
    }
    if (!read_at(blocks->fd, bytes, size, INDEX_HEADER_SIZE)) {
        damaged(err, "its tables cannot be read");
        goto out;
    }
    for (int i = 0; i < INDEX_SECTIONS; i++) {
        struct index_table *table = &blocks->tables[i];
        size_t part = (size_t)header->counts[i] * INDEX_ENTRY_SIZE;
        struct reader r = reader_of(bytes + place, part);

        table->blocks = mem_zalloc(header->counts[i], sizeof(*table->blocks));
        table->kept = mem_zalloc(header->counts[i], sizeof(*table->kept));
        table->kept_max = kept_max[i];
        if (!table->blocks || !table->kept) {
            error_memory(err, "a symbol index's tables");
            goto out;
        }
        table->count = table->group_block = header->counts[i];
        table->items = header->items[i];
        if (index_sum(bytes + place, part) != header->sums[i] ||
            !parse_table(&r, table, &offset)) {
            damaged(err, "its tables are damaged");
            goto out;
        }
        place += part;
    }
    if (offset != header->size) {
        damaged(err, "its tables make no sense");
        goto out;
    }
    rc = 0;
out:
    mem_free(bytes);
    return rc;
}

int
index_blocks_open(struct index_blocks *blocks, int fd, const uint8_t *build_id,
                  size_t build_id_size, struct error *err)
{
    uint8_t bytes[INDEX_HEADER_SIZE];
    struct header header;
    struct stat st;

    blocks->fd = fd;
    if (fstat(fd, &st) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot look at the symbol index");
        return -1;
    }
    if (!read_at(fd, bytes, sizeof(bytes), 0))
        return damaged(err, "it is too short");
    if (parse_header(bytes, build_id, build_id_size, &header, err) != 0)
        return -1;
    if ((uint64_t)st.st_size != header.size)
        return damaged(err, "it is not as long as it was");
    return read_tables(blocks, &header, err);
}

void
index_blocks_close(struct index_blocks *blocks)
{
    for (int i = 0; i < INDEX_SECTIONS; i++) {
        for (uint32_t k = 0; k < blocks->tables[i].count; k++)
            mem_free(blocks->tables[i].blocks[k].data);
        mem_free(blocks->tables[i].blocks);
        mem_free(blocks->tables[i].kept);
    }
    memset(blocks, 0, sizeof(*blocks));
}

/* The oldest go; a group that was found in one of them is forgotten. */
static void
make_room(struct index_table *table, size_t size)
{
    while (table->kept_count > 0 &&
           table->kept_bytes + size > table->kept_max) {
        struct index_block *old = table->kept[table->kept_first];

        table->kept_first = (table->kept_first + 1) % table->count;
        table->kept_count--;
        table->kept_bytes -= old->size;
        mem_free(old->data);
        old->data = NULL;
        if (table->group_block < table->count &&
            &table->blocks[table->group_block] == old)
            table->group_block = table->count;
    }
}

static bool
load(const struct index_blocks *blocks, struct index_table *table,
     struct index_block *block)
{
    uint8_t *data;

    if (block->data)
        return true;
    make_room(table, block->size);
    data = mem_alloc((size_t)block->size + PADDING);
    if (!data)
        return false;
    memset(data + block->size, 0, PADDING);
    if (!read_at(blocks->fd, data, block->size, block->offset) ||
        index_sum(data, block->size) != block->sum) {
        mem_free(data);
        return false;
    }
    block->data = data;
    table->kept[(table->kept_first + table->kept_count) % table->count] = block;
    table->kept_count++;
    table->kept_bytes += block->size;
    return true;
}

static uint32_t
block_of(const struct index_table *table, uint64_t key)
{
    return (uint32_t)SEARCH_ABOVE(table->blocks, table->count, first, key) -
           1; /* the caller has seen that key is not before the first */
}

struct group_entry {
    uint64_t first;
    uint32_t offset;
};

static struct group_entry
entry_at(const struct index_block *block, uint32_t i)
{
    uint64_t bytes =
        index_load(block->data + 2 + (size_t)i * INDEX_GROUP_ENTRY_SIZE);
    struct group_entry entry;

    entry.first = block->first + (uint32_t)bytes;
    entry.offset = (uint16_t)(bytes >> 32);
    return entry;
}

static bool
parse_items(enum index_section section, struct reader *r,
            struct index_group *group)
{
    const struct index_shape *shape = &index_shapes[section];
    unsigned columns = shape->columns + shape->places * PLACE_COLUMNS;

    group->items = index_u8(r);
    group->places = shape->places ? index_u8(r) : 0;
    if (group->items == 0 || group->items > INDEX_GROUP_ITEMS ||
        (shape->places && group->places == 0))
        return false;
    for (unsigned i = 0; i < columns; i++)
        index_column_head(r, &group->column[i]);
    for (unsigned i = 0; i < columns; i++)
        index_column_bits(r,
                          i >= shape->columns &&
                                  i < shape->columns + PLACE_WHICH
                              ? group->places
                              : group->items,
                          &group->column[i]);
    group->texts = *r;
    return !r->failed;
}

/* Of a whole block: finds and takes apart the group with key. */
static bool
parse_group(struct index_blocks *blocks, enum index_section section,
            uint32_t number, uint64_t key, struct index_group *group)
{
    const struct index_table *table = &blocks->tables[section];
    const struct index_block *block = &table->blocks[number];
    struct reader r = reader_of(block->data, block->size);
    uint32_t count = reader_u16(&r), low = 0, high = count;
    struct group_entry entry;
    struct span rest;
    size_t end;

    reader_bytes(&r, (size_t)count * INDEX_GROUP_ENTRY_SIZE);
    rest = reader_rest(&r);
    if (r.failed || count == 0 || entry_at(block, 0).first != block->first)
        return false;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (entry_at(block, middle).first <= key)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) /* not ascending */
        return false;
    entry = entry_at(block, low - 1);
    group->first = entry.first;
    end = rest.size;
    if (low < count) {
        group->next = entry_at(block, low).first;
        end = entry_at(block, low).offset;
    } else if (number + 1 < table->count) {
        group->next = table->blocks[number + 1].first;
    } else {
        group->next = section < INDEX_NODES ? UINT64_MAX : table->items;
    }
    if (entry.offset > end || end > rest.size || group->first > key ||
        group->next <= group->first)
        return false;
    r = reader_of(rest.data + entry.offset, end - entry.offset);
    return parse_items(section, &r, group) &&
           (section < INDEX_NODES ||
            group->next - group->first == group->items);
}

const struct index_group *
index_blocks_find(struct index_blocks *blocks, enum index_section section,
                  uint64_t key)
{
    struct index_table *table = &blocks->tables[section];
    uint32_t number;

    if (table->group_block < table->count && key >= table->group.first &&
        key < table->group.next)
        return &table->group;
    if (table->count == 0 || key < table->blocks[0].first ||
        (section >= INDEX_NODES && key >= table->items))
        return NULL;
    number = block_of(table, key);
    table->group_block = table->count;
    if (!load(blocks, table, &table->blocks[number]) ||
        !parse_group(blocks, section, number, key, &table->group)) {
        blocks->failed = true;
        return NULL;
    }
    table->group_block = number;
    return &table->group;
}

uint32_t
index_group_item(const struct index_group *group, uint64_t key)
{
    uint32_t low = 0, high = group->items;

    key -= group->first;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (index_column_get(&group->column[0], middle) <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}
