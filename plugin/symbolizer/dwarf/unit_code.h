/*
 * unit_code.h - the functions and inlined subroutines of one unit, and their
 * addresses.
 *
 * Walks over the unit's entries once (DWARF 2 to 5), and skips those without
 * code as cheaply as their abbreviations allow.  It follows DW_AT_sibling past
 * inlined subroutines without an asked address, and nowhere else: local classes
 * and lambdas have their code deep inside.
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

/* A function, or an inlined instance of one. */
struct code_node {
    uint64_t entry;  /* .debug_info offset of its DW_TAG_*: its identity */
    uint32_t parent; /* the node that it was inlined into; CODE_NONE */
    uint32_t call_file, call_line; /* where; 0 unknown */
    bool inlined;
    bool linkage; /* name is DW_AT_linkage_name, or DW_AT_name in a language
                     without mangling, as binutils counts C */
    struct span
        name; /* found through DW_AT_abstract_origin and _specification, in
                 other units too; "": none; lasts as long as the sections */
};

/* [start, end) is node's, except for ranges of nodes inlined into it. */
struct code_range {
    uint64_t start, end;
    uint32_t node;
};

struct unit_code {
    struct code_node *nodes;
    size_t node_count;
    struct code_range *ranges; /* in the order of their entries */
    size_t range_count;
    uint8_t why;                  /* enum dwarf_why: why it is not whole */
    struct unit_scratch *scratch; /* memory that the next unit reuses */
};

/* Reads unit's code.  With addresses (ascending), keeps only nodes that contain
 * one of them, and their parents.  -1: *err and out->why say that the unit is
 * invalid, of unknown kind, or that there is no room; nodes read before are
 * kept.  out is zeroed, or holds another unit of the same file, which is
 * replaced. */
int unit_code_read(struct dwarf_units *units, const struct dwarf_unit *unit,
                   const uint64_t *addresses, size_t address_count,
                   struct unit_code *out, struct error *err);
void unit_code_fini(struct unit_code *code); /* a zeroed struct is fine */

/*
 * Splits the ranges so that none overlap and each has its innermost node;
 * sorted.  Of several ranges at an address the smallest wins, and of equal ones
 * the last in the file, as in binutils and LLVM.
 */
int unit_code_flatten(struct unit_code *code, struct error *err);

#endif
