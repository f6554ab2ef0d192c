/*
 * recorded_maps.h - where files were mapped in a process that cannot be asked.
 *
 * A library may be loaded at the addresses of one that was closed, while blocks
 * live that both have allocated.  As each frame names its module, both can be
 * told apart: the later one is moved to addresses that no process has, in
 * stacks and mappings alike, for as long as the process lives.
 */
#ifndef HW_RECORDED_MAPS_H
#define HW_RECORDED_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct error;
struct mappings;
struct objects;
struct segment_copy;

enum { RECORDED_CODE_MAX = 4 };

struct recorded_code {
    uint64_t start, end, offset;
};

struct recorded_module {
    /* its path was tried; the mappings that the agent reported were, too */
    bool searched, asked;
    bool found;
    uint64_t device, inode;
    struct recorded_code code[RECORDED_CODE_MAX];
    uint32_t code_count;
};

/* The modules of one process, kept from dump to dump; zeroed at first, but for
 * segment.  Whoever uses it holds the agent, as for the objects with the
 * modules' files: clear both together. */
struct recorded_maps {
    int segment; /* the recorder's; borrowed; -1: none */
    /* whose modules these are: from the segment's header */
    uint64_t owner, owner_started;
    uint32_t executions;
    struct recorded_module *list; /* by the segment's index of the module */
    uint32_t count;
};

/* Looks for the files of new modules: at their paths, and among the mappings
 * that the agent reported (mapped, with their files in objects; NULL: it was
 * not asked).  *complete: asking the agent would find no more.  -1 with *err:
 * no memory. */
int recorded_maps_find(struct recorded_maps *maps,
                       const struct segment_copy *copy,
                       const struct mappings *mapped, struct objects *objects,
                       bool *complete, struct error *err);
void recorded_maps_clear(struct recorded_maps *maps);

/* Appends the modules as text in the form of /proc/<pid>/maps, code only.  Call
 * it after recorded_maps_find of that copy. */
int recorded_maps_write(const struct recorded_maps *maps,
                        const struct segment_copy *copy, struct buffer *out,
                        struct error *err);

/* For each module the distance by which its addresses are moved.  The caller
 * frees it; NULL: no memory. */
uint64_t *recorded_moves(const struct segment_copy *copy);

#endif
