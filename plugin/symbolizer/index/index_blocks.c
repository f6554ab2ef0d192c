/* index_blocks.c - see index_blocks.h; opening: index_blocks_open.c. */
#include "index_blocks.h"

#include <string.h>

#include "index_packed.h"
#include "memory.h"
#include "search.h"

enum { PADDING = 8 /* index_load reads that far */ };

void
index_blocks_close(struct index_blocks *blocks)
{
    for (int i = 0; i < INDEX_SECTIONS; i++) {
        struct index_table *table = &blocks->tables[i];

        for (uint32_t k = 0; k < INDEX_RUNS; k++)
            mem_free(table->runs[k].data);
        for (uint32_t k = 0; k < INDEX_KEPT; k++)
            buffer_fini(&table->kept[k].plain);
        mem_free(table->blocks);
    }
    index_unpacker_free(blocks->unpacker);
    mem_free(blocks->raw);
    memset(blocks, 0, sizeof(*blocks));
}

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

/* Sets the number of blocks, from number on, to read at once; returns their
 * bytes. */
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

/* Replaces another run; NULL: it cannot be read. */
static struct index_run *
read_run(const struct index_blocks *blocks, struct index_table *table,
         uint32_t number)
{
    const struct index_block *block = &table->blocks[number];
    struct index_run *run = &table->runs[table->next_run];
    size_t size;
    uint32_t count = run_length(table, number, &size);

    run->count = 0;
    if (run->room < size + PADDING) {
        mem_free(run->data);
        run->room = size + PADDING;
        run->data = mem_alloc(run->room);
    }
    if (!run->data) {
        run->room = 0;
        return NULL;
    }
    run->first = number;
    run->whole = 0;
    run->count = count;
    if (!index_blocks_read(blocks, run->data, size, block->offset)) {
        run->count = 1; /* the blocks behind it may be cut off */
        size = block->size;
        if (!index_blocks_read(blocks, run->data, size, block->offset)) {
            run->count = 0;
            return NULL;
        }
    }
    memset(run->data + size, 0, PADDING);
    table->next_run = (table->next_run + 1) % INDEX_RUNS;
    return run;
}

/* All bytes of the block; NULL: they cannot be read, or are damaged. */
static const uint8_t *
load(const struct index_blocks *blocks, struct index_table *table,
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
        run = read_run(blocks, table, number);
    if (!run)
        return NULL;
    bit = (uint32_t)1 << (number - run->first);
    data = run->data + (block->offset - table->blocks[run->first].offset);
    if (!(run->whole & bit) && index_sum(data, block->size) != block->sum)
        return NULL;
    run->whole |= bit;
    return data;
}

/* Keeps the unpacked block number in place of another. */
static void
keep(struct index_table *table, uint32_t number, const struct buffer *plain)
{
    struct index_kept *kept = &table->kept[table->next_kept];

    table->next_kept = (table->next_kept + 1) % INDEX_KEPT;
    table->group_block =
        table->count; /* the group may be in the replaced block */
    buffer_fini(&kept->plain);
    kept->plain = *plain;
    kept->number = number;
}

static bool
unpack_into(const struct index_blocks *blocks, enum index_section section,
            const struct index_block *block,
            struct buffer plain[INDEX_SECTIONS])
{
    return index_blocks_read(blocks, blocks->raw, block->size, block->offset) &&
           index_sum(blocks->raw, block->size) == block->sum &&
           index_unpack_block(blocks->unpacker, section, block->first,
                              blocks->raw, block->size, plain);
}

/* NULL: damaged, or no memory. */
static const struct buffer *
unpack(const struct index_blocks *blocks, enum index_section section,
       struct index_table *tables, uint32_t number)
{
    struct index_table *table = &tables[section];
    struct buffer plain[INDEX_SECTIONS];
    enum index_section from = section, to = section;
    size_t failures = mem_failures();

    for (uint32_t i = 0; i < INDEX_KEPT; i++)
        if (table->kept[i].plain.data && table->kept[i].number == number)
            return &table->kept[i].plain;
    if (table->damaged == number + 1)
        return NULL;
    if (section <= INDEX_SYMBOLS) {
        from = INDEX_RANGES;
        to = INDEX_SYMBOLS;
    }
    if (!unpack_into(blocks, from, &table->blocks[number], plain)) {
        if (mem_failures() == failures)
            table->damaged = number + 1;
        return NULL;
    }
    for (int i = (int)from; i <= (int)to; i++)
        keep(&tables[i], number, &plain[i]);
    return &table->kept[(table->next_kept + INDEX_KEPT - 1) % INDEX_KEPT].plain;
}

static bool
block_has(const struct index_table *table, uint32_t number, uint64_t key)
{
    return number < table->count && key >= table->blocks[number].first &&
           (number + 1 == table->count ||
            key < table->blocks[number + 1].first);
}

/* key is not before the first block's. */
static uint32_t
block_of(struct index_table *table, uint64_t key)
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

/* Finds and parses the group with key in a whole block. */
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
    if (low == 0) /* not ascending */
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
    size_t size;

    if (table->group_block < table->count && key >= table->group.first &&
        key < table->group.next)
        return &table->group;
    if (table->count == 0 || key < table->blocks[0].first ||
        (section >= INDEX_NODES && key >= table->items))
        return NULL;
    number = block_of(table, key);
    table->group_block = table->count;
    if (blocks->packed) {
        const struct buffer *plain =
            unpack(blocks, section, blocks->tables, number);

        data = plain ? (const uint8_t *)plain->data : NULL;
        size = plain ? plain->size : 0;
    } else {
        data = load(blocks, table, number);
        size = table->blocks[number].size;
    }
    if (!data ||
        !parse_group(blocks, section, number, data, size, key, &table->group)) {
        blocks->failed = true;
        return NULL;
    }
    table->group_block = number;
    return &table->group;
}
