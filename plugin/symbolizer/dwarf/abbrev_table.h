/*
 * abbrev_table.h - a unit's abbreviations, prepared for skipping entries fast.
 */
#ifndef HW_ABBREV_TABLE_H
#define HW_ABBREV_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf_forms.h"
#include "dwarf_reader.h"
#include "reader.h"

struct dwarf_sections;
struct dwarf_unit;
struct error;

enum {
    ABBREVS_MAX = 1 << 20,      /* of one table */
    ABBREV_ATTRS_MAX = 1 << 22, /* of all its abbreviations */
    ABBREV_CACHE = 64,          /* tables kept */
    ABBREV_NOWHERE = UINT16_MAX
};

struct abbrev_attr {
    uint16_t name, form; /* 0: larger than any known one */
    uint8_t size;        /* the form's form_size, once in a table */
    uint64_t implicit;   /* the value of DW_FORM_implicit_const */
};

/* The next attribute of an abbreviation; false after the last, or on failure.
 */
bool abbrev_next_attr(struct reader *r, struct abbrev_attr *attr);

struct abbrev {
    uint64_t code;
    uint32_t first, count; /* its attributes */
    uint16_t tag;          /* 0: larger than any known one */
    bool children;
    bool inlined;     /* DW_TAG_inlined_subroutine */
    bool function;    /* not inlined, and with addresses */
    uint16_t sibling; /* bytes before a DW_AT_sibling of DW_FORM_ref4;
                         ABBREV_NOWHERE: none, or not known */
};

enum pass_flag {
    PASS_CHILDREN = 1,
    PASS_CODE = 2, /* function of struct abbrev */
    PASS_INLINED = 4,
    PASS_SHUT = 8, /* its children never have code */
    PASS_SLOW = 16 /* this struct does not suffice to skip it */
};

/* How to skip an entry, in 8 bytes. */
struct abbrev_pass {
    uint8_t flags;    /* of enum pass_flag */
    uint8_t blocks;   /* of DW_FORM_exprloc, _block or _block1 */
    uint8_t bytes[3]; /* before, between and behind the blocks */
    uint16_t sibling; /* as in struct abbrev; ABBREV_NOWHERE without children */
};

struct abbrev_table {
    struct abbrev *list;        /* ascending codes */
    struct abbrev_pass *passes; /* one per entry of list */
    struct abbrev_attr *attrs;
    size_t count, attr_count, capacity, attr_capacity, pass_capacity;
    struct dwarf_sections *sections; /* the budget is theirs */
    bool dense;                      /* codes are 1 to count */
    bool alternative;                /* some form refers to another file */
    /* The unit's properties that it was made for. */
    uint64_t offset, used;
    uint8_t version, address_size, offset_size;
    bool made;
    bool shared; /* more than one unit has asked for it */
};

/* The last tables.  A new one replaces a table that only one unit has asked
 * for, else the least recently used. */
struct abbrev_cache {
    struct abbrev_table tables[ABBREV_CACHE];
    struct abbrev_table *last;
    const struct abbrev_table *pinned; /* is never replaced */
    uint64_t clock;
};

/*
 * The unit's table; NULL with *err.  Unless pinned, it lasts until the next
 * call.  Damage ends the table; the abbreviations before it are kept.
 */
const struct abbrev_table *abbrev_cache_get(struct abbrev_cache *cache,
                                            struct dwarf_sections *sections,
                                            const struct dwarf_unit *unit,
                                            struct error *err);
void abbrev_cache_fini(struct abbrev_cache *cache); /* zeroed is fine */

/* The abbreviation of a code; NULL: there is none. */
const struct abbrev *abbrev_find_sparse(const struct abbrev_table *table,
                                        uint64_t code);

static inline const struct abbrev *
abbrev_find(const struct abbrev_table *table, uint64_t code)
{
    if (__builtin_expect(table->dense && code - 1 < table->count, 1))
        return &table->list[code - 1];
    return abbrev_find_sparse(table, code);
}

/* An abbreviation's attributes; NULL: it has none, as the whole table may. */
static inline const struct abbrev_attr *
abbrev_attrs(const struct abbrev_table *table, const struct abbrev *a)
{
    return a->count == 0 ? NULL : &table->attrs[a->first];
}

/* Skips the attributes of one entry; fails r for unknown forms. */
__attribute__((always_inline)) static inline void
abbrev_skip(struct reader *r, const struct dwarf_unit *unit,
            const struct abbrev_attr *attrs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (attrs[i].size == FORM_INDIRECT) {
            /* A copy, so that r itself may stay in registers. */
            struct reader copy = *r;

            form_skip(&copy, unit, DW_FORM_indirect);
            *r = copy;
        } else {
            form_skip_size(r, attrs[i].size);
        }
}

#endif
