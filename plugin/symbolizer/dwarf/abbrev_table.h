/*
 * abbrev_table.h - the abbreviations of a unit, made ready for passing over
 * entries quickly: neighbouring attributes of fixed size are one step.
 */
#ifndef HW_ABBREV_TABLE_H
#define HW_ABBREV_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    uint16_t name, form; /* 0: larger than any that is known */
    uint64_t implicit;   /* of DW_FORM_implicit_const */
};

/* The next of an abbreviation's attributes; false after the last, or failed. */
bool abbrev_next_attr(struct reader *r, struct abbrev_attr *attr);

struct abbrev {
    uint64_t code;
    uint32_t first, count; /* its attributes */
    uint32_t plan;         /* its first step */
    uint16_t tag;          /* 0: larger than any that is known */
    bool children;
    bool inlined;     /* DW_TAG_inlined_subroutine */
    bool function;    /* one that is not inlined, with addresses */
    uint16_t sibling; /* bytes before a DW_AT_sibling of DW_FORM_ref4;
                         ABBREV_NOWHERE: there is none, or it is not known */
};

enum pass_flag {
    PASS_CHILDREN = 1,
    PASS_CODE = 2, /* function of struct abbrev */
    PASS_INLINED = 4,
    PASS_SHUT = 8,  /* its children never have code */
    PASS_STEPS = 16 /* it takes more than what is said here */
};

/* What most entries need to be passed over, in few bytes. */
struct abbrev_pass {
    uint8_t flags;    /* of enum pass_flag */
    uint8_t blocks;   /* of DW_FORM_exprloc, _block or _block1 */
    uint8_t bytes[3]; /* before, between and behind them */
    uint16_t sibling; /* as of struct abbrev; ABBREV_NOWHERE without children */
};

struct abbrev_table {
    struct abbrev *list;        /* ascending codes */
    struct abbrev_pass *passes; /* of list's */
    struct abbrev_attr *attrs;
    uint32_t *steps;
    size_t count, attr_count, step_count;
    size_t capacity, attr_capacity, step_capacity, pass_capacity;
    struct dwarf_sections *sections; /* of whose room it takes */
    bool dense;                      /* codes are 1 to count */
    bool alternative;                /* some form is of another file */
    /* what it was made for */
    uint64_t offset, used;
    uint8_t version, address_size, offset_size;
    bool made;
    bool shared; /* asked for by more than the unit that is walked */
};

/* One that a single unit asked for makes room, else the least recently used. */
struct abbrev_cache {
    struct abbrev_table tables[ABBREV_CACHE];
    struct abbrev_table *last;
    const struct abbrev_table *pinned; /* stays, whatever is asked for */
    uint64_t clock;
};

/*
 * The unit's table, NULL with *err.  Lasts, if it is not pinned, until the
 * cache is asked for another.  What is damaged ends the table, with what came
 * before kept.
 */
const struct abbrev_table *abbrev_cache_get(struct abbrev_cache *cache,
                                            struct dwarf_sections *sections,
                                            const struct dwarf_unit *unit,
                                            struct error *err);
void abbrev_cache_fini(struct abbrev_cache *cache); /* zeroed is fine */

/* NULL: there is no such code. */
const struct abbrev *abbrev_find_sparse(const struct abbrev_table *table,
                                        uint64_t code);

static inline const struct abbrev *
abbrev_find(const struct abbrev_table *table, uint64_t code)
{
    if (__builtin_expect(table->dense && code - 1 < table->count, 1))
        return &table->list[code - 1];
    return abbrev_find_sparse(table, code);
}

/* A step is a number and, in its low bits, what it counts: see abbrev_skip.h.
 */
enum { STEP_BITS = 4 };

enum abbrev_step {
    STEP_END,
    STEP_BYTES,
    STEP_LEBS,
    STEP_TEXT,
    STEP_BLOCK1,
    STEP_BLOCK2,
    STEP_BLOCK4,
    STEP_BLOCK,
    STEP_INDIRECT,
    STEP_UNKNOWN
};

#endif
