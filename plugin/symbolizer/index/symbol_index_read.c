/*
 * symbol_index_read.c - see symbol_index.h: answers from an index file.
 *
 * A look-up goes section by section for all addresses, instead of address by
 * address: ascending addresses then touch each block once, and each text is
 * unpacked once.  Nothing in the file is trusted: numbers that lead out of it
 * end the question, and a node's parent must have a lower number, so that no
 * chain is a circle.  In the helper, or in heapwire-prof by one index and one
 * thread each for several parts.
 */
#include "arena.h"
#include "errors.h"
#include "index_blocks.h"
#include "index_texts.h"
#include "memory.h"
#include "symbol_index.h"

enum { STOP_STEP = 256 /* addresses */ };

/* a hostile file could have each text unpack to its maximum */
static const size_t text_bytes_max = (size_t)512 << 20;

/* A frame found: a function or an inlined instance, and its source line. */
struct frame_found {
    uint32_t name, file, line;
    uint32_t name_number; /* number given by the text callback; 0: none */
    bool linkage, inlined;
};

/* The findings for one address. */
struct found {
    uint64_t symbol_start, symbol_end;
    uint32_t symbol;              /* number of its name */
    uint32_t range;               /* INDEX_NO_FUNCTION and the like */
    uint32_t file, line;          /* source line of the code itself */
    uint32_t frame, frame_count;  /* its part of frames */
    enum symbol_index_answer how; /* the result so far */
};

struct symbol_index {
    struct index_blocks blocks;
    struct index_texts names, files;
    unsigned symbol_use; /* which use symbols have among names */
    struct arena *arena; /* holds the texts */
    struct found *found;
    struct frame_found *frames;
    size_t frame_count, frame_capacity;
    struct code_frame chain[NAMES_INLINE_MAX];
};

struct symbol_index *
symbol_index_open(int fd, const uint8_t *build_id, size_t build_id_size,
                  struct error *err)
{
    struct symbol_index *index = mem_zalloc(1, sizeof(*index));

    if (index)
        index->arena = arena_new(text_bytes_max);
    if (!index || !index->arena) {
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

/* Frees the results of the last question. */
static void
free_last_question(struct symbol_index *index)
{
    index_texts_end(&index->names);
    index_texts_end(&index->files);
    mem_free(index->found);
    mem_free(index->frames);
    index->found = NULL;
    index->frames = NULL;
    index->frame_count = index->frame_capacity = 0;
}

void
symbol_index_close(struct symbol_index *index)
{
    if (!index)
        return;
    free_last_question(index);
    index_blocks_close(&index->blocks);
    arena_free(index->arena);
    mem_free(index);
}

bool
symbol_index_symbols_only(const struct symbol_index *index)
{
    return index->blocks.tables[INDEX_FILES].items == 0;
}

/* ---- look-up ---- */

/* Reads file and line from the four columns that begin at column; false: the
 * numbers make no sense. */
static bool
read_source_line(struct symbol_index *index, const struct index_group *group,
                 unsigned column, uint32_t item, uint32_t *file, uint32_t *line)
{
    const struct index_column *c = &group->column[column];
    uint64_t which = index_column_get(&c[SOURCE_WHICH], item), number, in;

    /* the column may say anything */
    if (which >= group->sources)
        return false;
    in = index_column_get(&c[SOURCE_LINES], (uint32_t)which) +
         index_column_get(&c[SOURCE_LINE_OFFSET], item);
    number = index_column_get(&c[SOURCE_FILES], (uint32_t)which);
    *file = (uint32_t)number;
    *line = in > UINT32_MAX ? 0 : (uint32_t)in;
    return index_texts_want(&index->files, 0, number);
}

/* Looks up address in the ranges. */
static bool
find_range(struct symbol_index *index, uint64_t address, struct found *found)
{
    const struct index_group *group =
        index_blocks_find(&index->blocks, INDEX_RANGES, address);
    uint64_t value;

    found->range = INDEX_NO_FUNCTION;
    if (!group)
        return !index->blocks.failed;
    value = index_column_raw(&group->column[RANGE_NODE],
                             index_group_item(group, address));
    if (value >= INDEX_FIRST_NODE) {
        value += group->column[RANGE_NODE].base;
        if (value < INDEX_FIRST_NODE || value > INDEX_ITEMS_MAX)
            return false;
    }
    /* the index knows that it does not know: the caller asks DWARF */
    if (value == INDEX_LEFT_OUT)
        found->how = INDEX_UNKNOWN;
    found->range = (uint32_t)value;
    return true;
}

/* Besides the symbol, finds how far its answer holds: up to the next item. */
static bool
find_indexed_symbol(struct symbol_index *index, uint64_t address,
                    struct found *found)
{
    const struct index_group *group =
        index_blocks_find(&index->blocks, INDEX_SYMBOLS, address);
    const struct index_column *c;
    uint64_t name, back;
    uint32_t item;

    if (!group) {
        const struct index_table *table = &index->blocks.tables[INDEX_SYMBOLS];

        if (table->count > 0)
            found->symbol_end = table->blocks[0].first;
        return !index->blocks.failed;
    }
    c = group->column;
    item = index_group_item(group, address);
    name = index_column_get(&c[SYMBOL_NAME], item);
    found->symbol_end =
        item + 1 < group->items
            ? group->first + index_column_get(&c[SYMBOL_ADDRESS], item + 1)
            : group->next;
    back = index_column_get(&c[SYMBOL_BACK], item);
    if (name != 0 || back != 0)
        found->symbol_start = group->first +
                              index_column_get(&c[SYMBOL_ADDRESS], item) -
                              back + (name == 0);
    found->symbol = (uint32_t)name;
    /* Numbers may have overflowed above: then they do not contain the
     * address. */
    if (found->symbol_start > address ||
        (item + 1 < group->items && found->symbol_end <= address))
        return false;
    return index_texts_want(&index->names, index->symbol_use, name);
}

static bool
find_row(struct symbol_index *index, uint64_t address, struct found *found)
{
    const struct index_group *group =
        index_blocks_find(&index->blocks, INDEX_ROWS, address);

    return group ? read_source_line(index, group, ROW_SOURCE,
                                    index_group_item(group, address),
                                    &found->file, &found->line)
                 : !index->blocks.failed;
}

/* Another frame; NULL: no memory. */
static struct frame_found *
new_frame(struct symbol_index *index)
{
    size_t room = index->frame_capacity * 2;
    struct frame_found *grown;

    if (index->frame_count == index->frame_capacity) {
        grown = mem_realloc(index->frames, room * sizeof(*grown));
        if (!grown)
            return NULL;
        index->frames = grown;
        index->frame_capacity = room;
    }
    return &index->frames[index->frame_count++];
}

/* Adds the frames from the range's node up to the outermost.  -1: no memory;
 * damage is found->how, and the frames so far do not count. */
static int
add_inline_frames(struct symbol_index *index, struct found *found, bool lines)
{
    uint32_t node = found->range - INDEX_FIRST_NODE;
    uint32_t file = found->file, line = found->line;

    found->how = INDEX_DAMAGED;
    found->frame = (uint32_t)index->frame_count;
    while (found->frame_count < NAMES_INLINE_MAX) {
        const struct index_group *group =
            index_blocks_find(&index->blocks, INDEX_NODES, node);
        struct frame_found *frame = group ? new_frame(index) : NULL;
        uint64_t function, up;
        uint32_t item;

        if (!frame)
            return group ? -1 : 0;
        item = (uint32_t)(node - group->first);
        up = index_column_get(&group->column[NODE_UP], item);
        function = index_column_get(&group->column[NODE_FUNCTION], item);
        *frame = (struct frame_found){.name = (uint32_t)(function / 8),
                                      .file = file,
                                      .line = line,
                                      .linkage = function & 2,
                                      .inlined = function & 1};
        /* up leads to a lower number, so this ends */
        if (up > node || !index_texts_want(&index->names, 0, function / 8) ||
            (lines &&
             !read_source_line(index, group, NODE_SOURCE, item, &file, &line)))
            return 0;
        found->frame_count++;
        if (up == 0)
            break;
        node -= (uint32_t)up;
    }
    found->how = INDEX_KNOWN;
    return 0;
}

/* Whether the caller wants to stop.  Asked every STOP_STEP addresses, as a
 * hostile file can make each of them slow. */
static bool
is_stopped(const struct symbol_index_question *question, uint32_t i)
{
    return i % STOP_STEP == 0 && question->stop &&
           question->stop(question->arg);
}

/* One section for all addresses; those that are damaged or unknown by now are
 * left alone. */
static int
find_addresses_in_section(struct symbol_index *index,
                          const struct symbol_index_question *question,
                          enum index_section section,
                          bool (*find)(struct symbol_index *index,
                                       uint64_t address, struct found *found))
{
    index_blocks_expect(&index->blocks, section, question->count);
    for (uint32_t i = 0; i < question->count; i++) {
        struct found *found = &index->found[i];

        if (is_stopped(question, i))
            return -1;
        /* damage of one block must not fail addresses in others */
        index->blocks.failed = false;
        if (found->how == INDEX_KNOWN &&
            !find(index, question->addresses[i], found))
            found->how = INDEX_DAMAGED;
    }
    return 0;
}

static int
find_asked_code(struct symbol_index *index,
                const struct symbol_index_question *question)
{
    if (find_addresses_in_section(index, question, INDEX_RANGES, find_range) !=
            0 ||
        find_addresses_in_section(index, question, INDEX_SYMBOLS,
                                  find_indexed_symbol) != 0)
        return -1;
    return question->no_lines ? 0
                              : find_addresses_in_section(index, question,
                                                          INDEX_ROWS, find_row);
}

static int
climb_all(struct symbol_index *index,
          const struct symbol_index_question *question)
{
    index_blocks_expect(&index->blocks, INDEX_NODES, question->count);
    for (uint32_t i = 0; i < question->count; i++) {
        struct found *found = &index->found[i];

        if (is_stopped(question, i))
            return -1;
        if (found->how == INDEX_KNOWN && found->range >= INDEX_FIRST_NODE &&
            add_inline_frames(index, found, !question->no_lines) != 0)
            return -1;
    }
    return 0;
}

/* Sets the numbers of all names here, on the look-up's thread: another one may
 * make the answers. */
static void
number_names(struct symbol_index *index, uint32_t count)
{
    for (const struct found *found = index->found; count > 0; found++, count--)
        for (uint32_t i = 0; i < found->frame_count; i++) {
            struct frame_found *frame = &index->frames[found->frame + i];
            struct index_text text;

            if (index_texts_get(&index->names, 0, frame->name, &text))
                frame->name_number = text.number;
        }
}

/* Ranges, symbols and rows first, then the nodes that ranges lead to, then
 * files and names: by then it is known which texts are wanted. */
int
symbol_index_look_up(struct symbol_index *index,
                     const struct symbol_index_question *question)
{
    const struct index_table *tables = index->blocks.tables;
    int rc;

    free_last_question(index);
    arena_clear(index->arena);
    index->frame_capacity = (size_t)question->count * 2 + 1;
    index->frames = mem_alloc(index->frame_capacity * sizeof(*index->frames));
    index->found = mem_zalloc(question->count, sizeof(*index->found));
    index->symbol_use = question->with_symbols ? 1 : 0;
    if (!index->frames || !index->found ||
        !index_texts_begin(&index->names, index->symbol_use + 1,
                           tables[INDEX_NAMES].items) ||
        !index_texts_begin(&index->files, 1, tables[INDEX_FILES].items))
        return -1;
    for (uint32_t i = 0; i < question->count; i++)
        index->found[i].symbol_end = UINT64_MAX;
    if (find_asked_code(index, question) != 0 ||
        climb_all(index, question) != 0)
        return -1;
    rc = index_texts_take(&index->files, &index->blocks, INDEX_FILES,
                          index->arena, question);
    if (rc == 0)
        rc = index_texts_take(&index->names, &index->blocks, INDEX_NAMES,
                              index->arena, question);
    if (rc == 0 && question->text)
        number_names(index, question->count);
    return rc;
}

/* ---- answers ---- */

/* With a number the text is the caller's, and "#" stands for it. */
static bool
fill_name(const struct symbol_index *index, const struct frame_found *from,
          struct code_frame *frame)
{
    struct index_text text = {{"#", 1}, from->name_number};
    bool whole = from->name_number ||
                 index_texts_get(&index->names, 0, from->name, &text);

    frame->name = text.text;
    frame->name_number = text.number;
    return whole;
}

static bool
fill_file(const struct symbol_index *index, uint32_t file,
          struct code_frame *frame)
{
    struct index_text text;
    bool whole = index_texts_get(&index->files, 0, file, &text);

    frame->file = text.text;
    frame->file_number = text.number;
    return whole;
}

static bool
fill_code_frame(const struct symbol_index *index,
                const struct frame_found *from, struct code_frame *to)
{
    *to = (struct code_frame){
        .inlined = from->inlined,
        .linkage = from->linkage,
        .readable = true,
        .lasting = true,
        .line = from->line,
    };
    return fill_name(index, from, to) && fill_file(index, from->file, to);
}

static bool
fill_chain(struct symbol_index *index, const struct found *found,
           struct code_chain *chain)
{
    for (uint32_t i = 0; i < found->frame_count; i++)
        if (!fill_code_frame(index, &index->frames[found->frame + i],
                             &index->chain[i]))
            return false;
    chain->count = found->frame_count;
    /* a line without a function: one frame without a name */
    if (found->range == INDEX_NO_FUNCTION && (found->file || found->line)) {
        index->chain[0] = (struct code_frame){.line = found->line,
                                              .readable = true,
                                              .lasting = true,
                                              .name = {"", 0}};
        if (!fill_file(index, found->file, &index->chain[0]))
            return false;
        chain->count = 1;
    }
    return true;
}

enum symbol_index_answer
symbol_index_answer(struct symbol_index *index, uint32_t i,
                    struct code_chain *chain, struct index_symbol *symbol)
{
    const struct found *found = &index->found[i];
    struct index_text name;

    *chain = (struct code_chain){index->chain, 0};
    *symbol = (struct index_symbol){
        found->symbol_start, found->symbol_end, {"", 0}, 0};
    if (found->how != INDEX_KNOWN)
        return found->how;
    if (!index_texts_get(&index->names, index->symbol_use, found->symbol,
                         &name) ||
        !fill_chain(index, found, chain)) {
        chain->count = 0;
        return INDEX_DAMAGED;
    }
    symbol->name = name.text;
    symbol->number = name.number;
    return INDEX_KNOWN;
}
