/* move_code_none.c - see move_code.h: for machines other than x86-64. */
#include "move_code.h"

#include "errors.h"

int
code_move_entry(const struct code *code, struct patch_function *out,
                struct error *err)
{
    (void)code, (void)out;
    error_set(err, ER_FEATURE_DISABLED,
              "cannot be moved on this machine: that is done only on x86-64");
    return -1;
}

size_t
code_find_calls(const struct code *code, uint64_t target, size_t *offsets,
                size_t max)
{
    (void)code, (void)target, (void)offsets;
    return max + 1;
}

enum code_reach
code_reaches(const struct code *code, uint64_t low, uint64_t high)
{
    (void)code, (void)low, (void)high;
    return CODE_REACH_UNKNOWN;
}
