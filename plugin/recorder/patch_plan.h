/*
 * patch_plan.h - how a program's own malloc is led to the recorder.
 *
 * heapwire-run decodes the entries of its functions, from the file; the
 * recorder in the program has no decoder, and carries out this plan.  A
 * function's first instructions are moved to memory near it, and are followed
 * by a jump to the instruction behind them; a jump to the recorder takes their
 * place.  All addresses are those of the file.
 *
 * The plan is passed as hexadecimal text in an environment variable.  Pure.
 */
#ifndef HW_PATCH_PLAN_H
#define HW_PATCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATCH_ENV "HEAPWIRE_PATCH"

enum {
    PATCH_FUNCTIONS_MAX = 16,
    PATCH_NAME_MAX = 16,
    PATCH_JUMP = 5, /* bytes of a jump with a 32-bit distance */
    /* bytes replaced: whole instructions, at least a jump's 5 */
    PATCH_ORIGINAL_MAX = 19,
    PATCH_CODE_MAX = 64, /* bytes that they become elsewhere */
    PATCH_FIXES_MAX = 6,
    PATCH_CALLS_MAX = 16,
    PATCH_TEXT_MAX = 8192 /* with the NUL */
};

/* The 4 bytes at at in the moved code are a distance to target, from the end of
 * their instruction, which lies behind bytes after them. */
struct patch_fix {
    uint8_t at, behind;
    uint64_t target;
};

struct patch_function {
    char name[PATCH_NAME_MAX]; /* malloc, ...: without a prefix */
    uint64_t address;          /* of the first byte replaced */
    uint8_t original[PATCH_ORIGINAL_MAX];
    uint8_t original_size;
    uint8_t code[PATCH_CODE_MAX]; /* with the jump back */
    uint8_t code_size;
    struct patch_fix fixes[PATCH_FIXES_MAX];
    uint8_t fix_count;
};

/* A call of one of the functions to another.  It is led to the other's moved
 * entry, past the recorder, so that it counts once.  At address are the 4 bytes
 * of its distance. */
struct patch_call {
    uint64_t address;
    uint8_t original[4];
    uint8_t function; /* index in the plan */
};

struct patch_plan {
    struct patch_function functions[PATCH_FUNCTIONS_MAX];
    size_t count;
    struct patch_call calls[PATCH_CALLS_MAX];
    size_t call_count;
};

/* False: the plan is longer than PATCH_TEXT_MAX. */
bool patch_plan_write(const struct patch_plan *plan, char out[PATCH_TEXT_MAX]);
/* False: the text is no plan, or its sizes are impossible. */
bool patch_plan_read(const char *text, struct patch_plan *plan);

/* Copies the moved code and fills in its distances, for code that is to lie at
 * place in a program that is loaded bias bytes above its file's addresses.
 * False: a target is too far. */
bool patch_fix_code(const struct patch_function *f, uint64_t place,
                    uint64_t bias, uint8_t code[PATCH_CODE_MAX]);
/* Writes the 4 bytes of a distance from from to target.  False: too far. */
bool patch_distance(uint64_t from, uint64_t target, uint8_t out[4]);

#endif
