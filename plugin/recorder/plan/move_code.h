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

/* Fills all but the name: what stands behind endbr64, if it begins so, is
 * moved.  -1, and *err says of the function what forbids it, as "begins with a
 * call". */
int code_move_entry(const struct code *code, struct patch_function *out,
                    struct error *err);

/* Whether one of its jumps or calls, if its target stands in the instruction,
 * lands in [low, high). */
enum code_reach {
    CODE_REACHES_NOT,
    CODE_REACHES,
    /* Some bytes are no instruction, or a jump's target comes from a register
     * or a table. */
    CODE_REACH_UNKNOWN
};
enum code_reach code_reaches(const struct code *code, uint64_t low,
                             uint64_t high);

/* The offsets, in the code, of the distances that lead its jumps and calls to
 * target exactly; how many, of which max are filled in.  Where one has no 32
 * bits, more than max. */
size_t code_find_calls(const struct code *code, uint64_t target,
                       size_t *offsets, size_t max);

#endif
