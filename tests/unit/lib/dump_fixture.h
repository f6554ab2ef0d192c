/* dump_fixture.h - a heap dump's stacks, as a profile finds them. */
#ifndef HW_DUMP_FIXTURE_H
#define HW_DUMP_FIXTURE_H

#include <check.h>

#include "heap_dump.h"

/* The i-th, with its indices into dump's addresses. */
static inline const struct heap_stack *
fixture_stack(const struct heap_dump *dump, size_t i)
{
    for (const struct heap_piece *piece = dump->stacks.first; piece;
         i -= piece->count, piece = piece->next)
        if (i < piece->count)
            return &piece->stacks[i];
    ck_abort_msg("there is no such stack");
}

#endif
