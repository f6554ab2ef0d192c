/*
 * dwarf_room.h - the memory that one file's debug information may take: for all
 * that its sections read and inflate, and that others keep of them.  Any
 * thread.
 */
#ifndef HW_DWARF_ROOM_H
#define HW_DWARF_ROOM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct dwarf_sections;

/* The sections' own, see dwarf_sections_room. */
struct dwarf_room {
    size_t max;                        /* bytes */
    atomic_size_t used, peak, refused; /* counters: relaxed */
};

/* Room for what the caller keeps; false: there is none. */
bool dwarf_room_take(struct dwarf_sections *sections, size_t size);
/* Likewise, for what is as well left undone: not counted as refused. */
bool dwarf_room_try(struct dwarf_sections *sections, size_t size);
void dwarf_room_give(struct dwarf_sections *sections, size_t size);
/* How often there was none: what was read meanwhile may lack something. */
size_t dwarf_room_refused(struct dwarf_sections *sections);
/* There was none for a reason that was not asked here. */
void dwarf_room_refuse(struct dwarf_sections *sections);
size_t dwarf_room_peak(struct dwarf_sections *sections);

#endif
