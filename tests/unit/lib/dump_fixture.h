/* dump_fixture.h - a heap dump's stacks, as a profile finds them. */
#ifndef HW_DUMP_FIXTURE_H
#define HW_DUMP_FIXTURE_H

#include <check.h>

#include "heap_dump.h"

/* The i-th of all, with its indices into dump's addresses. */
static inline const struct heap_stack *
fixture_stack(struct heap_dump *dump, size_t i)
{
    for (int part = 0; part < HEAP_DUMP_PARTS; part++) {
        struct heap_stacks *stacks = &dump->parts[part];

        heap_stacks_place(stacks);
        for (const struct heap_piece *piece = stacks->first; piece;
             i -= piece->count, piece = piece->next)
            if (i < piece->count)
                return &piece->stacks[i];
    }
    ck_abort_msg("there is no such stack");
}

#endif
