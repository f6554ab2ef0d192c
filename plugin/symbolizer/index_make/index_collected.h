/*
 * index_collected.h - what was added to an index file: facts about ranges of
 * addresses, in any order and then sorted; and how it becomes sections.
 */
#ifndef HW_INDEX_COLLECTED_H
#define HW_INDEX_COLLECTED_H

#include <stdbool.h>
#include <stddef.h>

#include "dwarf_room.h"
#include "index_encoder.h"

struct index_node;

struct index_interval {
    uint64_t start, end;
    uint32_t a, b; /* the fact */
};

struct index_intervals {
    struct index_interval *items;
    size_t count, capacity;
};

struct index_collected {
    struct dwarf_room *room;
    struct index_intervals ranges;  /* a: the node; INDEX_NONE: left out */
    struct index_intervals rows;    /* a: the file, b: the line */
    struct index_intervals symbols; /* a: the name, b: bytes to its start */
    struct index_node *nodes;
    size_t node_count, node_capacity;
    struct index_dictionary names, files;
    bool symbols_only; /* then there are no files, not even "" */
};

/* ---- index_emit.c ---- */

/* Intervals are sorted; false: no room. */
bool index_emit(struct index_collected *all,
                struct index_encoder encoders[INDEX_SECTIONS]);

#endif
