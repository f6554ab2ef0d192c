/*
 * unwind_table.c - see unwind_table.h.
 *
 * A look-up is one step to the page of 64 KiB and a binary search among that
 * page's rows: 4 bytes a row and no pointer, so that the bytes may lie in a
 * file that is mapped anywhere.  All fields are loaded by memcpy, as nothing
 * promises that they are aligned.  Opening checks the checksum and every size
 * once; look-ups clamp each index all the same, so that bytes which change
 * later give a wrong rule and never a read outside.
 */
#include "unwind_table.h"

#include <elf.h>
#include <string.h>

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#else
enum { MACHINE = EM_AARCH64 };
#endif

enum {
    AT_VERSION = 8,
    AT_MACHINE = 12,
    AT_ID_SIZE = 14,
    AT_ID = 16,
    AT_PAGES = 80,
    AT_ROWS = 84,
    AT_RULES = 88,
    AT_SUM = 96
};

_Static_assert(AT_SUM + sizeof(uint64_t) == UNWIND_HEADER, "the header's end");
_Static_assert(sizeof(struct unwind_rule) == UNWIND_RULE_BYTES, "no padding");

static uint32_t
load_u32(const uint8_t *bytes)
{
    uint32_t v;

    memcpy(&v, bytes, sizeof(v));
    return v;
}

static uint16_t
load_u16(const uint8_t *bytes)
{
    uint16_t v;

    memcpy(&v, bytes, sizeof(v));
    return v;
}

uint64_t
unwind_table_sum(uint64_t sum, const void *bytes, size_t size)
{
    const uint8_t *next = bytes;
    uint64_t word;

    for (; size > 0; next += sizeof(word)) {
        size_t n = size < sizeof(word) ? size : sizeof(word);

        word = 0;
        memcpy(&word, next, n);
        /* 2^64 / golden ratio; the sum finds damage, not forgery */
        sum = (sum ^ word) * 0x9e3779b97f4a7c15ULL;
        sum ^= sum >> 32;
        size -= n;
    }
    return sum;
}

static bool
header_fits(const uint8_t *head, const void *build_id, size_t build_id_size)
{
    return memcmp(head, "HWUNWIND", AT_VERSION) == 0 &&
           load_u32(head + AT_VERSION) == UNWIND_VERSION &&
           load_u16(head + AT_MACHINE) == MACHINE &&
           build_id_size <= UNWIND_BUILD_ID_MAX &&
           load_u16(head + AT_ID_SIZE) == build_id_size &&
           (build_id_size == 0 ||
            memcmp(head + AT_ID, build_id, build_id_size) == 0);
}

bool
unwind_table_open(struct unwind_table *table, const void *bytes, size_t size,
                  const void *build_id, size_t build_id_size)
{
    const uint8_t *head = bytes;
    uint64_t pages, rows, rules, pages_bytes, rules_bytes, sum;

    if (size < UNWIND_HEADER || !header_fits(head, build_id, build_id_size))
        return false;
    pages = load_u32(head + AT_PAGES);
    rows = load_u32(head + AT_ROWS);
    rules = load_u32(head + AT_RULES);
    if (pages > UNWIND_PAGES_MAX || rows > UNWIND_ROWS_MAX ||
        rules > UNWIND_RULES_MAX)
        return false;
    pages_bytes = (pages + 1) * sizeof(uint32_t);
    rules_bytes = rules * UNWIND_RULE_BYTES;
    if (size !=
        UNWIND_HEADER + pages_bytes + rules_bytes + rows * sizeof(uint32_t))
        return false;
    memcpy(&sum, head + AT_SUM, sizeof(sum));
    if (sum != unwind_table_sum(unwind_table_sum(0, head, AT_SUM),
                                head + UNWIND_HEADER, size - UNWIND_HEADER))
        return false;
    table->pages = head + UNWIND_HEADER;
    table->rules = table->pages + pages_bytes;
    table->rows = table->rules + rules_bytes;
    table->page_count = (uint32_t)pages;
    table->rule_count = (uint32_t)rules;
    table->row_count = (uint32_t)rows;
    return true;
}

/* The first row of a page; at most row_count. */
static uint32_t
first_row(const struct unwind_table *table, uint64_t page)
{
    uint32_t row = load_u32(table->pages + page * sizeof(row));

    return row < table->row_count ? row : table->row_count;
}

uint32_t
unwind_table_number(const struct unwind_table *table, uint64_t offset)
{
    uint64_t page = offset >> UNWIND_PAGE_BITS;
    uint16_t low = (uint16_t)offset;
    uint32_t from, to;

    if (page >= table->page_count)
        return UNWIND_RULES_MAX;
    /* The row sought is the last one at or before the offset: maybe the last
     * one of an earlier page. */
    from = first_row(table, page);
    to = first_row(table, page + 1);
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;

        if (load_u16(table->rows + (size_t)middle * 4) <= low)
            from = middle + 1;
        else
            to = middle;
    }
    return from == 0 ? UNWIND_RULES_MAX
                     : load_u16(table->rows + (size_t)(from - 1) * 4 + 2);
}

struct unwind_rule
unwind_table_find(const struct unwind_table *table, uint64_t offset)
{
    struct unwind_rule rule = {.cfa = UNWIND_NONE};
    uint32_t number = unwind_table_number(table, offset);

    if (number < table->rule_count)
        memcpy(&rule, table->rules + (size_t)number * UNWIND_RULE_BYTES,
               sizeof(rule));
    return rule;
}
