/*
 * unit_code.h - the functions and inlined subroutines of one unit, and the
 * addresses of each.
 *
 * One walk over the unit's entries (DWARF 2 to 5).  Entries that have no code
 * are passed over as cheaply as their abbreviations allow.  DW_AT_sibling is
 * followed past inlined subroutines without an address that was asked for, and
 * nowhere else: local classes and lambdas have their code deep inside.
 */
#ifndef HW_UNIT_CODE_H
#define HW_UNIT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct dwarf_unit;
struct dwarf_units;
struct error;
struct unit_scratch;

enum {
    CODE_DEPTH_MAX = 4096, /* nested entries */
    CODE_NODES_MAX = 1 << 24,
    CODE_RANGES_MAX = 1 << 25
};

static const uint32_t CODE_NONE = UINT32_MAX;

/* A function, or one place where it was inlined. */
struct code_node {
    uint64_t entry;  /* .debug_info offset of its DW_TAG_*: its identity */
    uint32_t parent; /* the node that it was inlined into; CODE_NONE */
    uint32_t call_file, call_line; /* where; 0 unknown */
    bool inlined;
    bool linkage;     /* name is DW_AT_linkage_name, or DW_AT_name in a language
                         that needs none, as binutils counts C */
    struct span name; /* through DW_AT_abstract_origin and _specification, in
                         other units, too; "" when it has none; lasts as the
                         sections do */
};

/* [start, end) is node's; inside of it a node inlined into it may have some. */
struct code_range {
    uint64_t start, end;
    uint32_t node;
};

struct unit_code {
    struct code_node *nodes;
    size_t node_count;
    struct code_range *ranges; /* in the order of their entries */
    size_t range_count;
    uint8_t why;                  /* enum dwarf_why: when it is not whole */
    struct unit_scratch *scratch; /* memory that the next unit uses again */
};

/*
 * unit's code.  With addresses (ascending), only nodes with one of them in it,
 * and their parents, are kept.  -1 with *err and out->why where the unit makes
 * no sense, is of a kind that is not known, or there is no room: what came
 * before is kept.  out is zeroed by the caller, or was filled from another unit
 * of the same file, which is forgotten.
 */
int unit_code_read(struct dwarf_units *units, const struct dwarf_unit *unit,
                   const uint64_t *addresses, size_t address_count,
                   struct unit_code *out, struct error *err);
void unit_code_fini(struct unit_code *code); /* a zeroed struct is fine */

/*
 * Splits the ranges so that none overlap and each says its innermost node:
 * sorted, for index and look-up.  Of several at one address the smallest has
 * it, and of equal ones the last in the file, as binutils and LLVM have it.
 */
int unit_code_flatten(struct unit_code *code, struct error *err);

#endif
