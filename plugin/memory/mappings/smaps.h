/*
 * smaps.h - the text of /proc/<pid>/smaps, or of maps, as a list.
 *
 * Untrusted: an agent in somebody's process may have written it.  It comes in
 * pieces of whole lines; one of 100,000 mappings has 70 MB.
 */
#ifndef HW_SMAPS_H
#define HW_SMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct memory_map;
struct memory_range;

struct smaps {
    struct memory_map *map;
    /* the one whose figures follow; NULL: they are skipped */
    struct memory_range *now;
    uint64_t last_end;
    bool no_memory;
};

void smaps_begin(struct smaps *smaps, struct memory_map *map);
/* Takes the lines that are complete; returns how many bytes that was. */
size_t smaps_take(struct smaps *smaps, struct span text);

#endif
