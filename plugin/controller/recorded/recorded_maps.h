/*
 * recorded_maps.h - where the files lay of a process that cannot be asked.
 *
 * A library may come to the addresses of one that has been closed, while blocks
 * live that either has allocated.  As each frame tells its module, both have
 * names: the later one is moved to addresses that no process has, in stacks and
 * mappings alike, and stays there as long as the process lives.
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
    bool searched, asked; /* for its file: here, of the agent */
    bool found;
    uint64_t device, inode;
    struct recorded_code code[RECORDED_CODE_MAX];
    uint32_t code_count;
};

/* Zeroed, but for segment.  Of who has the agent, as its objects are: clear
 * both together. */
struct recorded_maps {
    int segment;                   /* the recorder's; borrowed; -1: none */
    uint64_t owner, owner_started; /* as the segment has them */
    uint32_t executions;
    struct recorded_module *list; /* by module */
    uint32_t count;
};

/* Looks for the files of modules that are new: where they lie, and among what
 * the agent says is mapped (NULL: it was not asked), whose files objects has
 * then.  *complete: none is worth asking for.  -1 with *err without memory. */
int recorded_maps_find(struct recorded_maps *maps,
                       const struct segment_copy *copy,
                       const struct mappings *mapped, struct objects *objects,
                       bool *complete, struct error *err);
void recorded_maps_clear(struct recorded_maps *maps);

/* Appends them as the text of /proc/<pid>/maps, code alone.  After
 * recorded_maps_find of that copy. */
int recorded_maps_write(const struct recorded_maps *maps,
                        const struct segment_copy *copy, struct buffer *out,
                        struct error *err);

/* By module: what its addresses are moved by.  The caller frees it; NULL: no
 * memory. */
uint64_t *recorded_moves(const struct segment_copy *copy);

#endif
