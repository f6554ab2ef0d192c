/*
 * patch_plan.h - how a program's own malloc is led to the recorder.
 *
 * heapwire-run decodes the entries of its functions, from the file; the
 * recorder in the program has no decoder, and carries out what stands here.  A
 * function's first instructions move to memory near it, where a jump leads on
 * behind them; a jump to the recorder takes their place.  All addresses are the
 * file's.
 *
 * The text, hexadecimal, is the value of a variable of the environment.  Pure.
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
    PATCH_JUMP = 5,          /* bytes of a jump with a 32-bit distance */
    PATCH_ORIGINAL_MAX = 19, /* replaced: whole instructions, at least a jump */
    PATCH_CODE_MAX = 64,     /* what they become elsewhere */
    PATCH_FIXES_MAX = 6,
    PATCH_CALLS_MAX = 16,
    PATCH_TEXT_MAX = 8192 /* with the NUL */
};

/* 4 bytes of the moved code are a distance: from the end of their instruction,
 * which is so many bytes behind them, to target. */
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

/* One of the functions calls another: that leads to its moved entry instead,
 * and counts once.  At address are the 4 bytes of the distance. */
struct patch_call {
    uint64_t address;
    uint8_t original[4];
    uint8_t function; /* of the plan's */
};

struct patch_plan {
    struct patch_function functions[PATCH_FUNCTIONS_MAX];
    size_t count;
    struct patch_call calls[PATCH_CALLS_MAX];
    size_t call_count;
};

/* False: the plan is longer than PATCH_TEXT_MAX. */
bool patch_plan_write(const struct patch_plan *plan, char out[PATCH_TEXT_MAX]);
/* False: it is none, or its sizes cannot be. */
bool patch_plan_read(const char *text, struct patch_plan *plan);

/* Fills the distances of the code that is to lie at address, where the program
 * is loaded bias bytes above its file's addresses.  False: one is too far. */
bool patch_fix_code(const struct patch_function *f, uint64_t place,
                    uint64_t bias, uint8_t code[PATCH_CODE_MAX]);
/* A distance of 4 bytes, to the target from behind them.  False: too far. */
bool patch_distance(uint64_t from, uint64_t target, uint8_t out[4]);

#endif
