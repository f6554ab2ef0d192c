/*
 * symbol_index_read.c - answers from an index file.  See
 * symbol_index_format.h; nothing in the file is believed: numbers that lead
 * out of it, or round in it, end the question.
 */
#include <string.h>

#include "errors.h"
#include "index_blocks.h"
#include "index_texts.h"
#include "memory.h"
#include "symbol_index.h"

/* Above all offsets of a .debug_info, whose chains are mixed with ours. */
static const uint64_t ENTRY = (uint64_t)1 << 63;

struct symbol_index {
    struct index_blocks blocks;
    struct index_texts texts;
    struct code_frame frames[NAMES_INLINE_MAX];
};

struct place {
    uint64_t file;
    uint32_t line;
};

struct symbol_index *
symbol_index_open(int fd, const uint8_t *build_id, size_t build_id_size,
                  struct error *err)
{
    struct symbol_index *index = mem_zalloc(1, sizeof(*index));

    if (!index || !index_texts_init(&index->texts)) {
        error_memory(err, "a symbol index");
        goto fail;
    }
    if (index_blocks_open(&index->blocks, fd, build_id, build_id_size, err) !=
        0)
        goto fail;
    return index;
fail:
    symbol_index_close(index);
    return NULL;
}

void
symbol_index_close(struct symbol_index *index)
{
    if (!index)
        return;
    index_blocks_close(&index->blocks);
    index_texts_fini(&index->texts);
    mem_free(index);
}

/* The place in the columns from column on; false: there is none such. */
static bool
place_of(const struct index_group *group, unsigned column, uint32_t item,
         struct place *place)
{
    const struct index_column *c = &group->column[column];
    uint64_t which = index_column_get(&c[PLACE_WHICH], item), line;

    if (which >= group->places)
        return false;
    line = index_column_get(&c[PLACE_LINES], (uint32_t)which) +
           index_column_get(&c[PLACE_LINE], item);
    place->file = index_column_get(&c[PLACE_FILES], (uint32_t)which);
    place->line = line > UINT32_MAX ? 0 : (uint32_t)line;
    return true;
}

static bool
place_texts(struct symbol_index *index, const struct place *place,
            struct code_frame *frame)
{
    frame->line = place->line;
    return index_texts_get(&index->texts, &index->blocks, INDEX_FILES,
                           place->file, &frame->file);
}

/* Frames from node up; place is where the code itself comes from. */
static bool
climb(struct symbol_index *index, uint64_t node, struct place place,
      uint32_t *count)
{
    for (*count = 0; *count < NAMES_INLINE_MAX; ++*count) {
        struct code_frame *frame = &index->frames[*count];
        const struct index_group *group =
            index_blocks_find(&index->blocks, INDEX_NODES, node);
        uint64_t function, up;
        struct place call;
        uint32_t item;

        if (!group)
            return false;
        item = (uint32_t)(node - group->first);
        up = index_column_get(&group->column[NODE_UP], item);
        function = index_column_get(&group->column[NODE_FUNCTION], item);
        if (up > node || !place_of(group, NODE_PLACE, item, &call))
            return false;
        frame->entry = ENTRY | node;
        frame->inlined = function & 1;
        frame->linkage = function & 2;
        frame->low = function & 4 ? 0 : UINT64_MAX;
        frame->readable = frame->lasting = true;
        if (!place_texts(index, &place, frame) ||
            !index_texts_get(&index->texts, &index->blocks, INDEX_NAMES,
                             function / 8, &frame->name))
            return false;
        if (up == 0) {
            ++*count;
            return true;
        }
        node -= up;
        place = call;
    }
    return true;
}

static bool
find_row(struct symbol_index *index, uint64_t address, struct place *place)
{
    const struct index_group *group =
        index_blocks_find(&index->blocks, INDEX_ROWS, address);

    place->file = 0;
    place->line = 0;
    return group ? place_of(group, ROW_PLACE, index_group_item(group, address),
                            place)
                 : !index->blocks.failed;
}

static bool
find_symbol(struct symbol_index *index, uint64_t address,
            struct index_symbol *symbol)
{
    const struct index_group *group =
        index_blocks_find(&index->blocks, INDEX_SYMBOLS, address);
    const struct index_column *c;
    uint64_t name;
    uint32_t item;

    if (!group) {
        const struct index_table *table = &index->blocks.tables[INDEX_SYMBOLS];

        if (table->count > 0)
            symbol->end = table->blocks[0].first;
        return !index->blocks.failed;
    }
    c = group->column;
    item = index_group_item(group, address);
    symbol->start = group->first + index_column_get(&c[SYMBOL_ADDRESS], item) -
                    index_column_get(&c[SYMBOL_BACK], item);
    symbol->end =
        item + 1 < group->items
            ? group->first + index_column_get(&c[SYMBOL_ADDRESS], item + 1)
            : group->next;
    name = index_column_get(&c[SYMBOL_NAME], item);
    if (name == 0)
        symbol->start = 0;
    return index_texts_get(&index->texts, &index->blocks, INDEX_NAMES, name,
                           &symbol->name);
}

/* What the ranges have for address: INDEX_NO_FUNCTION and so on. */
static bool
find_range(struct symbol_index *index, uint64_t address, uint64_t *value)
{
    const struct index_group *group =
        index_blocks_find(&index->blocks, INDEX_RANGES, address);
    uint32_t item;

    *value = INDEX_NO_FUNCTION;
    if (!group)
        return !index->blocks.failed;
    item = index_group_item(group, address);
    *value = index_column_raw(&group->column[RANGE_NODE], item);
    if (*value >= INDEX_FIRST_NODE)
        *value += group->column[RANGE_NODE].base;
    return true;
}

bool
symbol_index_ask(struct symbol_index *index, uint64_t address,
                 struct code_chain *chain, struct index_symbol *symbol,
                 int *failed)
{
    struct place place;
    uint64_t range;

    chain->frames = index->frames;
    chain->count = 0;
    *symbol = (struct index_symbol){0, UINT64_MAX, {"", 0}};
    *failed = 0;
    index->blocks.failed = false;
    if (!find_range(index, address, &range))
        goto fail;
    if (range == INDEX_LEFT_OUT)
        return false;
    if (!find_symbol(index, address, symbol) ||
        !find_row(index, address, &place))
        goto fail;
    if (range >= INDEX_FIRST_NODE) {
        if (!climb(index, range - INDEX_FIRST_NODE, place, &chain->count))
            goto fail;
    } else if (place.file != 0 || place.line != 0) {
        index->frames[0] = (struct code_frame){
            .readable = true, .lasting = true, .name = {"", 0}};
        if (!place_texts(index, &place, &index->frames[0]))
            goto fail;
        chain->count = 1;
    }
    return true;
fail:
    chain->count = 0;
    symbol->name = (struct span){"", 0};
    *failed = -1;
    return false;
}
