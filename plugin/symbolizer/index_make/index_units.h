/*
 * index_units.h - adds all of DWARF to an index builder: every unit's
 * functions, inlined instances and lines, for addresses of which the unit is
 * the first.  Several threads read units.
 */
#ifndef HW_INDEX_UNITS_H
#define HW_INDEX_UNITS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf_budget.h"
#include "hash.h"
#include "reader.h"

struct dwarf_sections;
struct dwarf_units;
struct error;
struct index_builder;
struct symbol_index_source;

/* Names as in the debug information, each made readable once.  A name is
 * identified by its address, which must be the same for all threads. */
struct raw_name {
    struct span text;
    uint32_t name; /* the builder's number of the readable one */
    bool linkage;
};

struct raw_names {
    struct dwarf_budget *budget;
    struct raw_name *list;
    size_t count, capacity;
    struct hash_index index; /* of list, by address */
};

/* Addresses of one unit. */
struct index_area {
    uint64_t start, end;
};

struct index_units {
    const struct symbol_index_source *source;
    struct dwarf_sections *sections;
    struct dwarf_units *units;
    struct dwarf_budget *budget;
    struct index_area *areas; /* unit by unit, ascending */
    size_t area_count, areas_capacity;
    uint32_t *area_starts; /* index of each unit's first area; one entry more
                            * than units */
    size_t area_starts_capacity;
    atomic_size_t next; /* the next unit to read */

    pthread_mutex_t lock; /* guards all below */
    struct index_builder *builder;
    struct raw_names names;
    uint32_t *raw_of; /* number of the name of each of the builder's nodes */
    size_t raw_of_capacity;
    bool unplaced; /* a unit without known addresses was left out */
    bool failed;
};

/* units must be zeroed; builder and budget are borrowed. */
int index_units_init(struct index_units *units,
                     const struct symbol_index_source *source,
                     struct index_builder *builder, struct dwarf_budget *budget,
                     struct error *err);
void index_units_fini(struct index_units *units);

/* Reads all units; 0 even if some were left out. */
int index_units_read(struct index_units *units, struct error *err);

/* The name of one of the builder's nodes, as in the file. */
struct span index_units_raw_name(const struct index_units *units,
                                 uint32_t node);

#endif
