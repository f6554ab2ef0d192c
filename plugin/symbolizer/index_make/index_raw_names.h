/*
 * index_raw_names.h - names as in the debug information, each made readable
 * once.
 *
 * A name is identified by its address, so it must stay there for all threads.
 */
#ifndef HW_INDEX_RAW_NAMES_H
#define HW_INDEX_RAW_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct index_room;

struct index_raw_name {
    struct span text;
    uint32_t name; /* the builder's number of the readable one */
    bool linkage;
};

struct index_raw_names {
    const struct index_room *room;
    struct index_raw_name *list;
    size_t count, capacity;
    uint32_t *places; /* of list + 1; 0: free */
    size_t places_capacity;
};

void index_raw_names_init(struct index_raw_names *names,
                          const struct index_room *room);
void index_raw_names_fini(struct index_raw_names *names); /* zeroed is fine */

/* The number of text in the list; *added: its name must still be set.
 * UINT32_MAX: no room. */
uint32_t index_raw_names_add(struct index_raw_names *names, struct span text,
                             bool linkage, bool *added);

#endif
