/*
 * index_blocks.c - see index_blocks.h.
 *
 * An index has up to hundreds of MB, and a look-up needs a few kilobytes of it.
 * So the file has blocks of about 8 KB with a table of their first keys, which
 * is read whole when the file is opened; a block has groups of at most 64 items
 * or 255 texts, and each group can be read without the others.  Nothing is
 * trusted: header and tables are checked at once, a block's sum when it is
 * first used, and each number inside a group when it is read, since a correct
 * sum does not make a file honest.
 */
#include "index_blocks.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "memory.h"
#include "search.h"

enum {
    PADDING = 8, /* index_load reads 8 bytes at any item */
    BLOCK_ITEMS_MAX =
        INDEX_BLOCK_MAX / INDEX_GROUP_ENTRY_SIZE * INDEX_GROUP_TEXTS
};

struct header {
    uint64_t file_size;
    uint32_t counts[INDEX_SECTIONS], sums[INDEX_SECTIONS];
};

static bool
read_index_bytes(const struct index_blocks *blocks, void *data, size_t size,
                 uint64_t offset)
{
    char *to = data;

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

/* ---- opening ---- */

static int
set_damaged_index_error(struct error *err, const char *what)
{
    error_set(err, ER_UNKNOWN, "its symbol index is unusable: %s", what);
    return -1;
}

/* The version is checked before all else, as the rest depends on it.  Earlier
 * versions had a packed form, too, with a bit above the number. */
static int
check_format(struct reader r, struct error *err)
{
    struct span magic = reader_bytes(&r, sizeof(INDEX_MAGIC) - 1);
    uint32_t version = reader_u32(&r);

    if (r.failed || !span_is(magic, INDEX_MAGIC))
        return set_damaged_index_error(err, "the file is not a symbol index");
    if (version == INDEX_VERSION)
        return 0;
    error_set(err, ER_UNKNOWN,
              "its symbol index is unusable: its format is %u%s, but only "
              "format %u can be read: make it again with heapwire-prof --index",
              version & 0xffff, version > 0xffff ? " (packed)" : "",
              INDEX_VERSION);
    return -1;
}

static int
parse_index_header(struct index_blocks *blocks,
                   const uint8_t bytes[INDEX_HEADER_SIZE],
                   const uint8_t *build_id, size_t build_id_size,
                   struct header *out, struct error *err)
{
    static const size_t sum_at = INDEX_HEADER_SIZE - 4;
    struct reader r = reader_of(bytes, INDEX_HEADER_SIZE);
    bool wrong;
    struct span id;
    size_t id_size;

    reader_bytes(&r, sizeof(INDEX_MAGIC) - 1 + 4); /* magic and version: see
                                                    * check_format */
    wrong = reader_u32(&r) != INDEX_HEADER_SIZE;
    out->file_size = reader_u64(&r);
    id_size = reader_u8(&r);
    id = reader_bytes(&r, INDEX_BUILD_ID_MAX);
    reader_bytes(&r, 7);
    for (int i = 0; i < INDEX_SECTIONS; i++) {
        uint64_t items;

        out->counts[i] = reader_u32(&r);
        out->sums[i] = reader_u32(&r);
        items = reader_u64(&r);
        /* bounds what the tables below may take, before they are read */
        if (out->counts[i] > INDEX_BLOCKS_MAX ||
            items > (uint64_t)out->counts[i] * BLOCK_ITEMS_MAX ||
            (i >= INDEX_NODES && items > INDEX_ITEMS_MAX))
            wrong = true;
        blocks->tables[i].items = items;
    }
    if (reader_u32(&r) != index_sum(bytes, sum_at))
        return set_damaged_index_error(err, "its header is damaged");
    if (!reader_done(&r) || wrong || id_size > INDEX_BUILD_ID_MAX)
        return set_damaged_index_error(err, "its header makes no sense");
    /* a file of the same name may be of another build */
    if (id_size != build_id_size || build_id_size == 0 ||
        memcmp(id.data, build_id, build_id_size) != 0)
        return set_damaged_index_error(err, "it was made for another build");
    return 0;
}

/* Parses a section's table.  Blocks must follow each other without gaps from
 * *offset on, so that none can lie outside the file or in another. */
static bool
parse_block_table(const uint8_t *bytes, struct index_table *table,
                  uint64_t *offset)
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
    return table->items <= (*offset - from) * INDEX_GROUP_TEXTS;
}

/* Reads all sections' tables: 24 bytes a block, so some hundred KB of a large
 * index.  Together they must account for every byte of the file. */
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
        return set_damaged_index_error(err, "its tables are cut off");
    bytes = mem_alloc(size);
    if (!bytes) {
        error_memory(err, "a symbol index's tables");
        goto out;
    }
    if (!read_index_bytes(blocks, bytes, size, INDEX_HEADER_SIZE)) {
        set_damaged_index_error(err, "its tables cannot be read");
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
            !parse_block_table(bytes + place, table, &offset)) {
            set_damaged_index_error(err, "its tables are damaged");
            goto out;
        }
        place += part;
    }
    if (offset != header->file_size) {
        set_damaged_index_error(err, "its tables make no sense");
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
    size_t size = sizeof(bytes);
    struct header header;
    struct stat st;

    blocks->fd = fd;
    if (fstat(fd, &st) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot look at the symbol index");
        return -1;
    }
    if ((uint64_t)st.st_size < size)
        size = (size_t)st.st_size;
    if (!read_index_bytes(blocks, bytes, size, 0))
        return set_damaged_index_error(err, "it cannot be read");
    if (check_format(reader_of(bytes, size), err) != 0)
        return -1;
    if (size < sizeof(bytes))
        return set_damaged_index_error(err, "it is too short");
    if (parse_index_header(blocks, bytes, build_id, build_id_size, &header,
                           err) != 0)
        return -1;
    /* cut, or still being written in place by somebody else */
    if (header.file_size != (uint64_t)st.st_size)
        return set_damaged_index_error(err, "its length has changed");
    return read_tables(blocks, &header, err);
}

void
index_blocks_close(struct index_blocks *blocks)
{
    for (int i = 0; i < INDEX_SECTIONS; i++) {
        struct index_table *table = &blocks->tables[i];

        for (uint32_t k = 0; k < INDEX_RUNS; k++)
            mem_free(table->runs[k].data);
        mem_free(table->blocks);
    }
    memset(blocks, 0, sizeof(*blocks));
}

/* ---- finding ---- */

/* With many keys to come, several will be in neighbouring blocks: one read of a
 * run costs less than one for each block. */
void
index_blocks_expect(struct index_blocks *blocks, enum index_section section,
                    uint64_t keys)
{
    struct index_table *table = &blocks->tables[section];

    table->ahead = 1;
    if (table->count > 0 && keys > table->count)
        table->ahead = keys / table->count < INDEX_RUN_BLOCKS
                           ? (uint32_t)(keys / table->count)
                           : INDEX_RUN_BLOCKS;
}

/* How many blocks, from number on, to read at once, and *size, their bytes. */
static uint32_t
run_length(const struct index_table *table, uint32_t number, size_t *size)
{
    uint32_t count = 1;

    *size = table->blocks[number].size;
    while (count < table->ahead && number + count < table->count &&
           *size + table->blocks[number + count].size <= INDEX_BLOCK_MAX)
        *size += table->blocks[number + count++].size;
    return count;
}

/* Reads a run of blocks in place of the oldest.  NULL: it cannot be read. */
static struct index_run *
read_block_run(const struct index_blocks *blocks, struct index_table *table,
               uint32_t number)
{
    const struct index_block *block = &table->blocks[number];
    struct index_run *run = &table->runs[table->next_run];
    size_t size;
    uint32_t count = run_length(table, number, &size);

    run->count = 0;
    if (run->capacity < size + PADDING) {
        mem_free(run->data);
        run->capacity = size + PADDING;
        run->data = mem_alloc(run->capacity);
    }
    if (!run->data) {
        run->capacity = 0;
        return NULL;
    }
    run->first = number;
    run->verified = 0;
    run->count = count;
    if (!read_index_bytes(blocks, run->data, size, block->offset)) {
        run->count = 1; /* the file may be cut behind this block: try it
                         * alone */
        size = block->size;
        if (!read_index_bytes(blocks, run->data, size, block->offset)) {
            run->count = 0;
            return NULL;
        }
    }
    /* read, but never used */
    memset(run->data + size, 0, PADDING);
    table->next_run = (table->next_run + 1) % INDEX_RUNS;
    return run;
}

/* The block's bytes; NULL: they cannot be read, or are damaged. */
static const uint8_t *
load_index_block(const struct index_blocks *blocks, struct index_table *table,
                 uint32_t number)
{
    const struct index_block *block = &table->blocks[number];
    struct index_run *run = NULL;
    const uint8_t *data;
    uint32_t bit;

    for (uint32_t i = 0; i < INDEX_RUNS && !run; i++)
        if (number - table->runs[i].first < table->runs[i].count)
            run = &table->runs[i];
    if (!run)
        run = read_block_run(blocks, table, number);
    if (!run)
        return NULL;
    bit = (uint32_t)1 << (number - run->first);
    data = run->data + (block->offset - table->blocks[run->first].offset);
    if (!(run->verified & bit) && index_sum(data, block->size) != block->sum)
        return NULL;
    run->verified |= bit;
    return data;
}

static bool
block_has(const struct index_table *table, uint32_t number, uint64_t key)
{
    return number < table->count && key >= table->blocks[number].first &&
           (number + 1 == table->count ||
            key < table->blocks[number + 1].first);
}

/* The block of a key that is not before the first block's.  Ascending keys are
 * mostly in the same block, or in the next. */
static uint32_t
index_block_number(struct index_table *table, uint64_t key)
{
    if (block_has(table, table->near, key))
        return table->near;
    if (block_has(table, table->near + 1, key))
        return ++table->near;
    table->near =
        (uint32_t)SEARCH_ABOVE(table->blocks, table->count, first, key) - 1;
    return table->near;
}

struct group_entry {
    uint64_t first;
    uint32_t offset;
};

static struct group_entry
entry_at(const struct index_block *block, const uint8_t *data, uint32_t i)
{
    uint64_t bytes = index_load(data + 2 + (size_t)i * INDEX_GROUP_ENTRY_SIZE);
    struct group_entry entry;

    entry.first = block->first + (uint32_t)bytes;
    entry.offset = (uint16_t)(bytes >> 32);
    return entry;
}

/* The heads of all columns come first, then their bits.  Nothing is copied:
 * columns point into the block, with 8 bytes behind it. */
static bool
parse_items(enum index_section section, struct reader *r,
            struct index_group *group)
{
    const struct index_shape *shape = &index_shapes[section];
    unsigned columns = shape->columns + shape->has_source * SOURCE_COLUMNS;

    group->items = index_u8(r);
    group->sources = shape->has_source ? index_u8(r) : 0;
    if (group->items == 0 ||
        (columns > 0 && group->items > INDEX_GROUP_ITEMS) ||
        (shape->has_source && group->sources == 0))
        return false;
    for (unsigned i = 0; i < columns; i++)
        index_column_head(r, &group->column[i]);
    for (unsigned i = 0; i < columns; i++)
        index_column_bits(r,
                          i >= shape->columns &&
                                  i < shape->columns + SOURCE_WHICH
                              ? group->sources
                              : group->items,
                          &group->column[i]);
    group->texts = *r;
    return !r->failed;
}

/* Finds and parses the group with key in a block. */
static bool
parse_group(struct index_blocks *blocks, enum index_section section,
            uint32_t number, const uint8_t *data, size_t size, uint64_t key,
            struct index_group *group)
{
    const struct index_table *table = &blocks->tables[section];
    const struct index_block *block = &table->blocks[number];
    struct reader r = reader_of(data, size);
    uint32_t count = reader_u16(&r), low = 0, high = count;
    struct group_entry entry;
    struct span rest;
    size_t end;

    reader_bytes(&r, (size_t)count * INDEX_GROUP_ENTRY_SIZE);
    rest = reader_rest(&r);
    if (r.failed || count == 0 ||
        entry_at(block, data, 0).first != block->first)
        return false;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (entry_at(block, data, middle).first <= key)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) /* the block's entries do not ascend */
        return false;
    entry = entry_at(block, data, low - 1);
    group->first = entry.first;
    end = rest.size;
    if (low < count) {
        group->next = entry_at(block, data, low).first;
        end = entry_at(block, data, low).offset;
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
    const uint8_t *data;
    uint32_t number;

    if (table->group_block < table->count && key >= table->group.first &&
        key < table->group.next)
        return &table->group;
    if (table->count == 0 || key < table->blocks[0].first ||
        (section >= INDEX_NODES && key >= table->items))
        return NULL;
    number = index_block_number(table, key);
    /* until the new group is whole, there is none */
    table->group_block = table->count;
    data = load_index_block(blocks, table, number);
    if (!data || !parse_group(blocks, section, number, data,
                              table->blocks[number].size, key, &table->group)) {
        blocks->failed = true;
        return NULL;
    }
    table->group_block = number;
    return &table->group;
}
