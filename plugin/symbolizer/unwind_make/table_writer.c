/*
 * table_writer.c - see table_writer.h.
 *
 * A large program has a million rows but a few thousand distinct rules, so a
 * row is 4 bytes with a rule's number, found by a hash table.  Rows that change
 * nothing are dropped: most functions start like their neighbours end.
 */
#include "table_writer.h"

#include <string.h>

#include "buffer.h"
#include "hash.h"
#include "memory.h"

enum { ROWS_FIRST = 1024, AT_SUM = UNWIND_HEADER - 8 };

static const struct unwind_rule none = {.cfa = UNWIND_NONE};

int
table_writer_init(struct table_writer *w)
{
    *w = (struct table_writer){.row_count = 0};
    w->rules = mem_zalloc(UNWIND_RULES_MAX, sizeof(*w->rules));
    return w->rules ? hash_index_reserve(&w->rule_index, UNWIND_RULES_MAX) : -1;
}

void
table_writer_fini(struct table_writer *w)
{
    mem_free(w->rows);
    mem_free(w->rules);
    hash_index_fini(&w->rule_index);
}

/* The rule's number; UNWIND_RULES_MAX: there is no room for another.  The hash
 * is over the bytes: rules have no padding (unwind_table.c asserts it). */
static uint32_t
number_unwind_rule(struct table_writer *w, const struct unwind_rule *rule)
{
    uint32_t hash =
        (uint32_t)hash_bytes(hash_seed(w), (const char *)rule, sizeof(*rule));
    struct hash_slot *slot = hash_index_first(&w->rule_index, hash);

    for (; slot->entry; slot = hash_index_next(&w->rule_index, slot))
        if (memcmp(&w->rules[slot->entry - 1], rule, sizeof(*rule)) == 0)
            return slot->entry - 1;
    if (w->rule_count == UNWIND_RULES_MAX)
        return UNWIND_RULES_MAX;
    w->rules[w->rule_count++] = *rule;
    *slot = (struct hash_slot){(uint32_t)w->rule_count, hash};
    return slot->entry - 1;
}

static int
grow_table_rows(struct table_writer *w)
{
    size_t room = w->row_capacity ? w->row_capacity * 2 : ROWS_FIRST;
    struct table_row *rows = mem_realloc(w->rows, room * sizeof(*rows));

    if (!rows)
        return -1;
    w->rows = rows;
    w->row_capacity = room;
    return 0;
}

int
table_writer_add(struct table_writer *w, uint64_t offset,
                 const struct unwind_rule *rule)
{
    struct table_row *last = w->row_count ? &w->rows[w->row_count - 1] : NULL;
    uint32_t number;

    /* a row has 32 bits of offset: page and rest */
    if (offset > UINT32_MAX)
        return 0;
    number = number_unwind_rule(w, rule);
    if (number == UNWIND_RULES_MAX) {
        w->dropped++;
        number = number_unwind_rule(w, &none); /* put_rows() adds it first in
                                                * nearly every object */
    }
    if (last && last->rule == number)
        return 0;
    /* a row without code: the next one replaces it */
    if (last && last->offset == offset) {
        last->rule = (uint16_t)number;
        return 0;
    }
    if (w->row_count == UNWIND_ROWS_MAX ||
        ((!w->rows || w->row_count == w->row_capacity) &&
         grow_table_rows(w) != 0))
        return -1;
    w->rows[w->row_count++] =
        (struct table_row){(uint32_t)offset, (uint16_t)number};
    return 0;
}

static void
put_unwind_header(const struct table_writer *w, uint16_t machine,
                  const void *build_id, size_t build_id_size, uint32_t pages,
                  struct buffer *out)
{
    static const char zeros[UNWIND_BUILD_ID_MAX];

    buffer_text(out, "HWUNWIND");
    buffer_u32(out, UNWIND_VERSION);
    buffer_u16(out, machine);
    buffer_u16(out, (uint16_t)build_id_size);
    buffer_add(out, build_id, build_id_size);
    buffer_add(out, zeros, sizeof(zeros) - build_id_size);
    buffer_u32(out, pages);
    buffer_u32(out, (uint32_t)w->row_count);
    buffer_u32(out, (uint32_t)w->rule_count);
    buffer_u32(out, 0);
    buffer_u64(out, 0); /* filled in at the end */
}

/* A page's first row is the first at or behind its start; code before that row
 * has the rule of the row before, maybe of another page. */
int
table_writer_write(const struct table_writer *w, uint16_t machine,
                   const void *build_id, size_t build_id_size,
                   struct buffer *out)
{
    size_t mark = out->size, row = 0;
    uint32_t pages =
        w->row_count
            ? (w->rows[w->row_count - 1].offset >> UNWIND_PAGE_BITS) + 1
            : 0;
    uint64_t sum;

    if (build_id_size > UNWIND_BUILD_ID_MAX)
        build_id_size = 0;
    put_unwind_header(w, machine, build_id, build_id_size, pages, out);
    for (uint32_t page = 0; page < pages; page++) {
        while (w->rows[row].offset >> UNWIND_PAGE_BITS < page)
            row++;
        buffer_u32(out, (uint32_t)row);
    }
    buffer_u32(out, (uint32_t)w->row_count);
    buffer_add(out, w->rules, w->rule_count * sizeof(*w->rules));
    for (row = 0; row < w->row_count; row++) {
        buffer_u16(out, (uint16_t)w->rows[row].offset);
        buffer_u16(out, w->rows[row].rule);
    }
    if (out->failed)
        return -1;
    sum = unwind_table_sum(unwind_table_sum(0, out->data + mark, AT_SUM),
                           out->data + mark + UNWIND_HEADER,
                           out->size - mark - UNWIND_HEADER);
    memcpy(out->data + mark + AT_SUM, &sum, sizeof(sum));
    return 0;
}
