/*
 * index_encoder.c - see index_encoder.h.
 *
 * A column stores base + a few bits for each item, so one far value would widen
 * all of its group: hence the special bases here, and source lines as a short
 * list of files with offsets (four columns in place of two).  Sections grow
 * side by side in memory and are written at the end, since the header needs
 * their sizes.  The dictionary has each text once; its numbers change when it
 * is ranked.
 */
#include "index_encoder.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "dwarf_budget.h"
#include "errors.h"
#include "hash.h"
#include "index_column.h"
#include "symbol_index_format.h"

enum { SECTION_MAX = 1 << 30 /* bytes of a section */ };

void
index_encoder_init(struct index_encoder *encoder)
{
    memset(encoder, 0, sizeof(*encoder));
    buffer_init(&encoder->table, (size_t)INDEX_BLOCKS_MAX * INDEX_ENTRY_SIZE);
    buffer_init(&encoder->blocks, SECTION_MAX);
    buffer_init(&encoder->heads, INDEX_BLOCK_MAX);
    buffer_init(&encoder->groups, INDEX_BLOCK_MAX);
}

void
index_encoder_fini(struct index_encoder *encoder)
{
    buffer_fini(&encoder->table);
    buffer_fini(&encoder->blocks);
    buffer_fini(&encoder->heads);
    buffer_fini(&encoder->groups);
}

/* Ends the current block: table of groups, then the groups.  Its sum is over
 * all of it, so that a reader checks it once. */
void
index_encoder_end(struct index_encoder *encoder)
{
    size_t start = encoder->blocks.size, size;

    if (encoder->group_count == 0)
        return;
    buffer_u16(&encoder->blocks, (uint16_t)encoder->group_count);
    buffer_add(&encoder->blocks, encoder->heads.data, encoder->heads.size);
    buffer_add(&encoder->blocks, encoder->groups.data, encoder->groups.size);
    size = encoder->blocks.size - start;
    if (encoder->heads.failed || encoder->groups.failed ||
        encoder->blocks.failed || size > INDEX_BLOCK_MAX) {
        encoder->failed = true;
        return;
    }
    buffer_u64(&encoder->table, encoder->first);
    buffer_u64(&encoder->table, start);
    buffer_u32(&encoder->table, (uint32_t)size);
    buffer_u32(&encoder->table,
               index_sum((uint8_t *)encoder->blocks.data + start, size));
    if (encoder->table.failed)
        encoder->failed = true;
    encoder->block_count++;
    encoder->group_count = 0;
    buffer_clear(&encoder->heads);
    buffer_clear(&encoder->groups);
}

/* Adds a group to the current block, or begins another one. */
static void
put_group(struct index_encoder *encoder, uint64_t first, uint32_t items,
          const struct buffer *group)
{
    /* a group's place in its block has 16 bits, its first key 32 */
    if (encoder->heads.size + encoder->groups.size + group->size >
            INDEX_BLOCK_BYTES ||
        first - encoder->first > UINT32_MAX)
        index_encoder_end(encoder);
    if (encoder->group_count == 0)
        encoder->first = first;
    buffer_u32(&encoder->heads, (uint32_t)(first - encoder->first));
    buffer_u16(&encoder->heads, (uint16_t)encoder->groups.size);
    buffer_add(&encoder->groups, group->data, group->size);
    encoder->group_count++;
    encoder->items += items;
}

void
index_encoder_texts(struct index_encoder *encoder, uint64_t first,
                    uint32_t count, const struct buffer *group)
{
    if (group->failed)
        encoder->failed = true;
    else
        put_group(encoder, first, count, group);
}

static uint64_t
least_group_value(const uint64_t *values, uint32_t count, uint64_t from)
{
    uint64_t found = UINT64_MAX;

    for (uint32_t i = 0; i < count; i++)
        if (values[i] >= from && values[i] < found)
            found = values[i];
    return found == UINT64_MAX ? from : found;
}

/* A base that takes fewer LEB128 bytes than the least value, if no value gets
 * wider by it. */
static uint64_t
short_base(const uint64_t *values, uint32_t count)
{
    uint64_t base = least_group_value(values, count, 0), most = base, mask;

    for (uint32_t i = 0; i < count; i++)
        most = values[i] > most ? values[i] : most;
    if (most == base)
        return base;
    mask = UINT64_MAX >> __builtin_clzll(most - base);
    for (uint64_t short_one = 0x7f; short_one < base;
         short_one = short_one << 7 | 0x7f)
        if (most - short_one <= mask)
            return short_one;
    return base;
}

static void
put_encoded_column(struct index_encoder *encoder, const uint64_t *values,
                   uint32_t count, struct buffer *head, struct buffer *bits)
{
    uint64_t base = short_base(values, count), less[INDEX_GROUP_ITEMS];

    for (uint32_t i = 0; i < count; i++)
        less[i] = values[i] - base;
    if (!index_column_put(less, count, base, head, bits))
        encoder->failed = true;
}

/* Encodes ranges' nodes: these count from the group's least, and the special
 * values (no function, left out) keep their small numbers. */
static void
put_range_nodes(struct index_encoder *encoder, const struct index_items *items,
                struct buffer *head, struct buffer *bits)
{
    const uint64_t *nodes = items->column[RANGE_NODE];
    uint64_t base = least_group_value(nodes, items->count, INDEX_FIRST_NODE);
    uint64_t less[INDEX_GROUP_ITEMS];

    base -= INDEX_FIRST_NODE;
    for (uint32_t i = 0; i < items->count; i++)
        less[i] = nodes[i] < INDEX_FIRST_NODE ? nodes[i] : nodes[i] - base;
    if (!index_column_put(less, items->count, base, head, bits))
        encoder->failed = true;
}

struct source_lines {
    uint32_t count;
    uint64_t files[INDEX_GROUP_ITEMS], lines[INDEX_GROUP_ITEMS];
    uint64_t which[INDEX_GROUP_ITEMS], line[INDEX_GROUP_ITEMS];
};

/* Groups the items' lines by file: a file's least line is its base. */
static void
sort_source_lines(const struct index_items *items, struct source_lines *out)
{
    out->count = 0;
    for (uint32_t i = 0; i < items->count; i++) {
        uint32_t k = 0;

        while (k < out->count && out->files[k] != items->file[i])
            k++;
        /* the group's list is short: 64 items come from few files */
        if (k == out->count) {
            out->files[k] = items->file[i];
            out->lines[k] = items->line[i];
            out->count++;
        }
        if (items->line[i] < out->lines[k])
            out->lines[k] = items->line[i];
        out->which[i] = k;
    }
    for (uint32_t i = 0; i < items->count; i++)
        out->line[i] = items->line[i] - out->lines[out->which[i]];
}

void
index_encoder_items(struct index_encoder *encoder, enum index_section section,
                    const struct index_items *items)
{
    const struct index_shape *shape = &index_shapes[section];
    struct buffer head, bits;
    struct source_lines sources = {0};

    buffer_init(&head, INDEX_BLOCK_MAX);
    buffer_init(&bits, INDEX_BLOCK_MAX);
    buffer_u8(&head, (uint8_t)items->count);
    if (shape->has_source) {
        sort_source_lines(items, &sources);
        buffer_u8(&head, (uint8_t)sources.count);
    }
    for (unsigned i = 0; i < shape->columns; i++)
        if (section == INDEX_RANGES && i == RANGE_NODE)
            put_range_nodes(encoder, items, &head, &bits);
        else
            put_encoded_column(encoder, items->column[i], items->count, &head,
                               &bits);
    if (shape->has_source) {
        put_encoded_column(encoder, sources.files, sources.count, &head, &bits);
        put_encoded_column(encoder, sources.lines, sources.count, &head, &bits);
        put_encoded_column(encoder, sources.which, items->count, &head, &bits);
        put_encoded_column(encoder, sources.line, items->count, &head, &bits);
    }
    /* all heads come before all bits: a reader knows every width first */
    if (bits.size)
        buffer_add(&head, bits.data, bits.size);
    if (head.failed || bits.failed)
        encoder->failed = true;
    else
        put_group(encoder, items->first, items->count, &head);
    buffer_fini(&head);
    buffer_fini(&bits);
}

/* Byte by byte as symbol_index_format.h describes it. */
static void
put_index_header(struct buffer *out, struct index_encoder *encoders,
                 const uint8_t *build_id, size_t build_id_size, uint64_t size)
{
    static const uint8_t zero[INDEX_BUILD_ID_MAX + 7];

    buffer_text(out, INDEX_MAGIC);
    buffer_u32(out, INDEX_VERSION);
    buffer_u32(out, INDEX_HEADER_SIZE);
    buffer_u64(out, size);
    buffer_u8(out, (uint8_t)build_id_size);
    buffer_add(out, build_id, build_id_size);
    buffer_add(out, zero, sizeof(zero) - build_id_size);
    for (int i = 0; i < INDEX_SECTIONS; i++) {
        const struct buffer *table = &encoders[i].table;

        buffer_u32(out, encoders[i].block_count);
        buffer_u32(out, index_sum((const uint8_t *)table->data, table->size));
        buffer_u64(out, encoders[i].items);
    }
    if (!out->failed)
        buffer_u32(out, index_sum((uint8_t *)out->data, out->size));
}

/* Turns the tables' offsets into offsets in the file, which are known only now.
 * Returns the file's size. */
static uint64_t
place_blocks(struct index_encoder *encoders)
{
    uint64_t offset = INDEX_HEADER_SIZE;

    for (int i = 0; i < INDEX_SECTIONS; i++)
        offset += encoders[i].table.size;
    for (int i = 0; i < INDEX_SECTIONS; i++) {
        for (uint32_t k = 0; k < encoders[i].block_count; k++) {
            uint8_t *entry = (uint8_t *)encoders[i].table.data +
                             (size_t)k * INDEX_ENTRY_SIZE + 8;
            uint64_t from_start = htole64(index_load(entry) + offset);

            memcpy(entry, &from_start, sizeof(from_start));
        }
        offset += encoders[i].blocks.size;
    }
    return offset;
}

int
index_encoder_write(struct index_encoder encoders[INDEX_SECTIONS],
                    const uint8_t *build_id, size_t build_id_size,
                    int (*write)(void *arg, const void *data, size_t size,
                                 struct error *err),
                    void *arg, struct error *err)
{
    struct buffer header;
    int rc = -1;

    buffer_init(&header, INDEX_HEADER_SIZE);
    for (int i = 0; i < INDEX_SECTIONS; i++)
        if (encoders[i].failed) {
            error_memory(err, "a symbol index");
            goto out;
        }
    put_index_header(&header, encoders, build_id, build_id_size,
                     place_blocks(encoders));
    if (header.failed) {
        error_memory(err, "a symbol index");
        goto out;
    }
    /* in the order of the file, so that the receiver needs no seeking */
    if (write(arg, header.data, header.size, err) != 0)
        goto out;
    for (int i = 0; i < INDEX_SECTIONS; i++)
        if (encoders[i].table.size && write(arg, encoders[i].table.data,
                                            encoders[i].table.size, err) != 0)
            goto out;
    for (int i = 0; i < INDEX_SECTIONS; i++)
        if (encoders[i].blocks.size && write(arg, encoders[i].blocks.data,
                                             encoders[i].blocks.size, err) != 0)
            goto out;
    rc = 0;
out:
    buffer_fini(&header);
    return rc;
}

bool
index_dictionary_init(struct index_dictionary *dictionary,
                      struct dwarf_budget *budget)
{
    memset(dictionary, 0, sizeof(*dictionary));
    dictionary->budget = budget;
    dictionary->arena = arena_new(SIZE_MAX / 2);
    return dictionary->arena &&
           index_dictionary_add(dictionary, (struct span){"", 0}) == 0;
}

void
index_dictionary_fini(struct index_dictionary *dictionary)
{
    if (!dictionary->budget)
        return;
    arena_free(dictionary->arena);
    dwarf_budget_give(dictionary->budget, dictionary->arena_charged);
    dwarf_budget_drop(dictionary->budget, &dictionary->words,
                      &dictionary->words_capacity, sizeof(*dictionary->words));
    dwarf_budget_drop_index(dictionary->budget, &dictionary->index);
    dwarf_budget_drop(dictionary->budget, &dictionary->sorted,
                      &dictionary->sorted_capacity,
                      sizeof(*dictionary->sorted));
    memset(dictionary, 0, sizeof(*dictionary));
}

/* Seeded, since names come from the file: nobody may fill one chain. */
static uint64_t
hash_dictionary_text(const struct index_dictionary *dictionary,
                     struct span text)
{
    uint64_t h = hash_mix(hash_seed(dictionary), text.size), last = 0;

    for (; text.size >= 8; text.data += 8, text.size -= 8)
        h = hash_mix(h, index_load((const uint8_t *)text.data));
    if (text.size)
        memcpy(&last, text.data, text.size);
    return hash_mix(h, last);
}

static bool
index_word_equals(const struct index_word *word, struct span text)
{
    return word->size == text.size &&
           (text.size == 0 || memcmp(word->data, text.data, text.size) == 0);
}

uint32_t
index_dictionary_add(struct index_dictionary *dictionary, struct span text)
{
    struct index_word *word;
    struct hash_slot *slot;
    uint32_t hash;

    /* readers get texts that end with a NUL: none may be inside */
    text.size = text.size ? strnlen(text.data, text.size) : 0;
    if (text.size > INDEX_TEXT_MAX)
        text.size = INDEX_TEXT_MAX;
    if (!dwarf_budget_grow_index(dictionary->budget, &dictionary->index,
                                 dictionary->count + 1))
        return UINT32_MAX;
    hash = (uint32_t)hash_dictionary_text(dictionary, text);
    slot = hash_index_first(&dictionary->index, hash);
    for (; slot->entry; slot = hash_index_next(&dictionary->index, slot))
        if (index_word_equals(&dictionary->words[slot->entry - 1], text))
            return slot->entry - 1;
    if (dictionary->count >= INDEX_ITEMS_MAX ||
        !dwarf_budget_grow(dictionary->budget, &dictionary->words,
                           &dictionary->words_capacity, dictionary->count + 1,
                           sizeof(*word)) ||
        !dwarf_budget_take(dictionary->budget, text.size + 1))
        return UINT32_MAX;
    /* charged by text, as the arena itself has no ceiling */
    dictionary->arena_charged += text.size + 1;
    word = &dictionary->words[dictionary->count];
    word->data = arena_strndup(dictionary->arena, text.data, text.size);
    word->size = (uint32_t)text.size;
    word->rank = 0;
    if (!word->data)
        return UINT32_MAX;
    *slot = (struct hash_slot){(uint32_t)++dictionary->count, hash};
    return (uint32_t)dictionary->count - 1;
}

void
index_dictionary_use(struct index_dictionary *dictionary, uint32_t number)
{
    dictionary->words[number].rank = 1;
}

static int
compare_words_by_text(const void *a, const void *b, void *arg)
{
    const struct index_word *words = arg;
    const struct index_word *x = &words[*(const uint32_t *)a];
    const struct index_word *y = &words[*(const uint32_t *)b];
    int order = memcmp(x->data, y->data, x->size < y->size ? x->size : y->size);

    return order ? order : (x->size > y->size) - (x->size < y->size);
}

bool
index_dictionary_rank(struct index_dictionary *dictionary)
{
    size_t n = 0;

    /* number 0 must stay "" in the file */
    index_dictionary_use(dictionary, 0);
    if (!dwarf_budget_grow(dictionary->budget, &dictionary->sorted,
                           &dictionary->sorted_capacity, dictionary->count,
                           sizeof(*dictionary->sorted)))
        return false;
    for (size_t i = 0; i < dictionary->count; i++)
        if (dictionary->words[i].rank)
            dictionary->sorted[n++] = (uint32_t)i;
    qsort_r(dictionary->sorted, n, sizeof(*dictionary->sorted),
            compare_words_by_text, dictionary->words);
    for (size_t i = 0; i < n; i++)
        dictionary->words[dictionary->sorted[i]].rank = (uint32_t)i;
    dictionary->sorted_count = n;
    return true;
}

struct span
index_dictionary_word(const struct index_dictionary *dictionary, size_t rank)
{
    const struct index_word *word =
        &dictionary->words[dictionary->sorted[rank]];

    return (struct span){word->data, word->size};
}
