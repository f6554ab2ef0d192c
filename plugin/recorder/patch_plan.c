/*
 * patch_plan.c - see patch_plan.h.
 *
 * The reader runs inside of the database before main: it has no allocation and
 * no I/O, and trusts nothing, as anybody may set the variable.  Format: a
 * version byte, then counts, runs of bytes with a size in front, and 64-bit
 * addresses, all as two hexadecimal digits a byte.
 */
#include "patch_plan.h"

#include <string.h>

#include "ascii.h"
#include "reader.h"

enum { VERSION = 1, BYTES_MAX = PATCH_TEXT_MAX / 2 };

/* ---- writing ---- */

struct writer {
    char *out;
    size_t size;
    bool failed;
};

static void
put_plan_hex(struct writer *w, const void *data, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *bytes = data;

    if (w->failed || size >= (PATCH_TEXT_MAX - w->size) / 2) {
        w->failed = true;
        return;
    }
    for (size_t i = 0; i < size; i++) {
        w->out[w->size++] = digits[bytes[i] >> 4];
        w->out[w->size++] = digits[bytes[i] & 15];
    }
}

static void
put_plan_byte(struct writer *w, size_t value)
{
    uint8_t byte = (uint8_t)value;

    put_plan_hex(w, &byte, 1);
}

static void
put_plan_u64(struct writer *w, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        put_plan_byte(w, value >> 8 * i & 255);
}

static void
put_plan_run(struct writer *w, const void *data, size_t size)
{
    put_plan_byte(w, size);
    put_plan_hex(w, data, size);
}

bool
patch_plan_write(const struct patch_plan *plan, char out[PATCH_TEXT_MAX])
{
    struct writer w = {out, 0, false};

    put_plan_byte(&w, VERSION);
    put_plan_byte(&w, plan->count);
    for (size_t i = 0; i < plan->count; i++) {
        const struct patch_function *f = &plan->functions[i];

        put_plan_run(&w, f->name, strlen(f->name));
        put_plan_u64(&w, f->address);
        put_plan_run(&w, f->original, f->original_size);
        put_plan_run(&w, f->code, f->code_size);
        put_plan_byte(&w, f->fix_count);
        for (size_t k = 0; k < f->fix_count; k++) {
            put_plan_byte(&w, f->fixes[k].at);
            put_plan_byte(&w, f->fixes[k].behind);
            put_plan_u64(&w, f->fixes[k].target);
        }
    }
    put_plan_byte(&w, plan->call_count);
    for (size_t i = 0; i < plan->call_count; i++) {
        put_plan_u64(&w, plan->calls[i].address);
        put_plan_hex(&w, plan->calls[i].original, 4);
        put_plan_byte(&w, plan->calls[i].function);
    }
    out[w.size] = '\0';
    return !w.failed;
}

/* ---- reading ---- */

/* Returns the number of bytes; 0: the text is no hexadecimal. */
static size_t
parse_plan_hex(const char *text, uint8_t out[BYTES_MAX])
{
    size_t size = 0;

    for (; text[0] && size < BYTES_MAX; text += 2) {
        int high = lower_hex_digit(text[0]), low = lower_hex_digit(text[1]);

        if (high < 0 || low < 0)
            return 0;
        out[size++] = (uint8_t)(high << 4 | low);
    }
    return *text ? 0 : size;
}

/* Reads a run of at most room bytes; returns its size. */
static uint8_t
read_plan_run(struct reader *r, void *out, size_t room)
{
    uint8_t size = reader_u8(r);
    struct span span;

    if (size > room)
        r->failed = true;
    span = reader_bytes(r, size);
    if (r->failed)
        return 0;
    memcpy(out, span.data, span.size);
    return size;
}

static void
read_function(struct reader *r, struct patch_function *f)
{
    read_plan_run(r, f->name, PATCH_NAME_MAX - 1);
    f->address = reader_u64(r);
    f->original_size = read_plan_run(r, f->original, PATCH_ORIGINAL_MAX);
    f->code_size = read_plan_run(r, f->code, PATCH_CODE_MAX);
    f->fix_count = reader_u8(r);
    if (f->original_size < PATCH_JUMP || f->fix_count > PATCH_FIXES_MAX)
        r->failed = true;
    for (size_t i = 0; !r->failed && i < f->fix_count; i++) {
        struct patch_fix *fix = &f->fixes[i];

        fix->at = reader_u8(r);
        fix->behind = reader_u8(r);
        fix->target = reader_u64(r);
        /* The recorder writes these 4 bytes: they must lie within the code. */
        if (fix->at + 4 + fix->behind > f->code_size)
            r->failed = true;
    }
}

static void
read_calls(struct reader *r, struct patch_plan *plan)
{
    uint8_t count = reader_u8(r);

    if (count > PATCH_CALLS_MAX)
        r->failed = true;
    for (size_t i = 0; !r->failed && i < count; i++) {
        struct patch_call *call = &plan->calls[i];

        call->address = reader_u64(r);
        for (size_t k = 0; k < sizeof(call->original); k++)
            call->original[k] = reader_u8(r);
        call->function = reader_u8(r);
        if (call->function >= plan->count)
            r->failed = true;
    }
    plan->call_count = count;
}

bool
patch_plan_read(const char *text, struct patch_plan *plan)
{
    uint8_t bytes[BYTES_MAX];
    struct reader r = reader_of(bytes, parse_plan_hex(text, bytes));
    uint8_t count;

    memset(plan, 0, sizeof(*plan));
    if (reader_u8(&r) != VERSION)
        return false;
    count = reader_u8(&r);
    if (count > PATCH_FUNCTIONS_MAX)
        return false;
    for (size_t i = 0; !r.failed && i < count; i++)
        read_function(&r, &plan->functions[i]);
    plan->count = count;
    read_calls(&r, plan);
    return count > 0 && reader_done(&r);
}

/* ---- carrying out ---- */

bool
patch_distance(uint64_t from, uint64_t target, uint8_t out[4])
{
    int64_t distance = (int64_t)(target - from);

    if (distance > INT32_MAX || distance < INT32_MIN)
        return false;
    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)((uint64_t)distance >> 8 * i);
    return true;
}

bool
patch_fix_code(const struct patch_function *f, uint64_t place, uint64_t bias,
               uint8_t code[PATCH_CODE_MAX])
{
    memcpy(code, f->code, PATCH_CODE_MAX);
    for (size_t i = 0; i < f->fix_count; i++) {
        const struct patch_fix *fix = &f->fixes[i];

        if (!patch_distance(place + fix->at + 4 + fix->behind,
                            fix->target + bias, code + fix->at))
            return false;
    }
    return true;
}
