/*
 * move_code.h - decodes the machine code of a function, and moves its entry.
 *
 * For x86-64, by a library.  Pure: bytes in, a plan for one function out.
 */
#ifndef HW_MOVE_CODE_H
#define HW_MOVE_CODE_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct patch_function;

/* A function, or a part of one, as the file has it. */
struct code {
    const uint8_t *bytes;
    size_t size;
    uint64_t address;
};

/* Fills all but the name.  An endbr64 at the beginning stays; what follows is
 * moved.  -1 with *err: what about the function forbids it, such as "begins
 * with a call". */
int code_move_entry(const struct code *code, struct patch_function *out,
                    struct error *err);

/* Whether a jump or call whose target is part of the instruction lands in [low,
 * high). */
enum code_reach {
    CODE_REACHES_NOT,
    CODE_REACHES,
    /* Some bytes are no instruction, or a jump's target comes from a register
     * or a table. */
    CODE_REACH_UNKNOWN
};
enum code_reach code_reaches(const struct code *code, uint64_t low,
                             uint64_t high);

/* Finds the jumps and calls to exactly target, and fills in the offsets, in the
 * code, of at most max of their distances.  Returns their number; more than max
 * if a distance has fewer than 32 bits. */
size_t code_find_calls(const struct code *code, uint64_t target,
                       size_t *offsets, size_t max);

#endif
