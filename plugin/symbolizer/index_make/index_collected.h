/* index_collected.h - what was added to an index file. */
#ifndef HW_INDEX_COLLECTED_H
#define HW_INDEX_COLLECTED_H

#include <stdbool.h>
#include <stddef.h>

#include "index_dictionary.h"
#include "index_intervals.h"
#include "dwarf_room.h"

struct index_node;

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

#endif
