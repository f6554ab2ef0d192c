/*
 * move_code.c - see move_code.h.
 *
 * x86-64 code cannot simply be copied: jumps and data references are relative
 * to the instruction.  Of the instructions that a jump of 5 bytes covers, short
 * jumps get their long form, relative data references (RIP-relative) become
 * fixes that the recorder computes once it knows the addresses, and all else
 * that depends on its place is refused.  Decoding is Zydis's work; it runs in
 * heapwire-run, never in the database.
 */
#include "move_code.h"

#include <Zydis/Zydis.h>
#include <string.h>

#include "errors.h"
#include "patch_plan.h"

struct instruction {
    ZydisDecodedInstruction zydis;
    const uint8_t *bytes;
    uint64_t address;
};

/* The instruction at an offset of the code. */
static bool
decode_instruction(const struct code *code, size_t at, struct instruction *out)
{
    ZydisDecoder decoder;

    out->bytes = code->bytes + at;
    out->address = code->address + at;
    return ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
                                         ZYDIS_STACK_WIDTH_64)) &&
           ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
               &decoder, NULL, out->bytes, code->size - at, &out->zydis));
}

static bool
is_relative_branch(const struct instruction *in)
{
    return in->zydis.raw.imm[0].is_relative;
}

static uint64_t
branch_target(const struct instruction *in)
{
    return in->address + in->zydis.length +
           (uint64_t)in->zydis.raw.imm[0].value.s;
}

/* An indirect jump, as by the table of a switch, whose targets are not known.
 * A jump through a RIP-relative slot, as to a shared library, is none. */
static bool
is_open_jump(const struct instruction *in)
{
    return in->zydis.meta.category == ZYDIS_CATEGORY_UNCOND_BR &&
           !(in->zydis.attributes & ZYDIS_ATTRIB_IS_RELATIVE);
}

enum code_reach
code_reaches(const struct code *code, uint64_t low, uint64_t high)
{
    struct instruction in;
    enum code_reach reach = CODE_REACHES_NOT;

    for (size_t at = 0; at < code->size; at += in.zydis.length) {
        if (!decode_instruction(code, at, &in) || is_open_jump(&in))
            return CODE_REACH_UNKNOWN;
        if (is_relative_branch(&in) && branch_target(&in) >= low &&
            branch_target(&in) < high)
            reach = CODE_REACHES;
    }
    return reach;
}

size_t
code_find_calls(const struct code *code, uint64_t target, size_t *offsets,
                size_t max)
{
    struct instruction in;
    size_t count = 0;

    for (size_t at = 0; at < code->size; at += in.zydis.length) {
        if (!decode_instruction(code, at, &in))
            return max + 1;
        if (!is_relative_branch(&in) || branch_target(&in) != target)
            continue;
        if (in.zydis.raw.imm[0].size != 32)
            return max + 1;
        if (count < max)
            offsets[count] = at + in.zydis.raw.imm[0].offset;
        count++;
    }
    return count;
}

/* ---- moving ---- */

/* Appends bytes to the moved code; false: no room. */
static bool
emit_moved_code(struct patch_function *out, const void *bytes, size_t size)
{
    if (size > (size_t)(PATCH_CODE_MAX - out->code_size))
        return false;
    memcpy(out->code + out->code_size, bytes, size);
    out->code_size = (uint8_t)(out->code_size + size);
    return true;
}

/* Adds a fix for the 4 bytes that begin before_end bytes before the end of what
 * was emitted. */
static bool
emit_fix(struct patch_function *out, size_t before_end, uint64_t target)
{
    if (out->fix_count == PATCH_FIXES_MAX)
        return false;
    out->fixes[out->fix_count++] =
        (struct patch_fix){.at = (uint8_t)(out->code_size - before_end),
                           .behind = (uint8_t)(before_end - 4),
                           .target = target};
    return true;
}

static bool
emit_jump(struct patch_function *out, uint64_t target)
{
    return emit_moved_code(out, "\xe9\0\0\0", PATCH_JUMP) &&
           emit_fix(out, 4, target);
}

/* Emits a jump, conditional or not, in its long form with a 32-bit distance.
 * NULL, or why that is not possible. */
static const char *
move_branch(const struct instruction *in, struct patch_function *out)
{
    const ZydisDecodedInstruction *z = &in->zydis;
    bool is_short = z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
    uint8_t conditional[] = {0x0f, 0x80 | (z->opcode & 0x0f), 0, 0, 0, 0};
    bool moved;

    if (z->meta.category == ZYDIS_CATEGORY_CALL)
        return "begins with a call";
    if (z->raw.prefix_count > 0)
        return "begins with a jump that has a prefix";
    if (is_short && (z->opcode == 0xe9 || z->opcode == 0xeb))
        moved = emit_jump(out, branch_target(in));
    else if (is_short
                 ? z->opcode >> 4 == 7
                 : z->opcode_map == ZYDIS_OPCODE_MAP_0F && z->opcode >> 4 == 8)
        moved = emit_moved_code(out, conditional, sizeof(conditional)) &&
                emit_fix(out, 4, branch_target(in));
    else
        return "begins with a jump that has no long form";
    return moved ? NULL : "begins with too many jumps";
}

/* Emits a moved instruction.  NULL, or why it cannot be moved. */
static const char *
move_instruction(const struct instruction *in, struct patch_function *out)
{
    const ZydisDecodedInstruction *z = &in->zydis;
    bool relative = z->attributes & ZYDIS_ATTRIB_IS_RELATIVE;

    if (is_relative_branch(in))
        return move_branch(in, out);
    if (z->meta.category == ZYDIS_CATEGORY_CALL ||
        z->meta.category == ZYDIS_CATEGORY_INTERRUPT)
        return "begins with a call";
    /* mod 0, rm 5 is a RIP-relative reference with a 32-bit distance; other
     * relative ones, such as with a 32-bit address, are refused. */
    if (relative && (z->raw.modrm.mod != 0 || z->raw.modrm.rm != 5 ||
                     z->raw.disp.size != 32 || z->address_width != 64))
        return "begins with an instruction that is valid only at its own "
               "address";
    if (!emit_moved_code(out, in->bytes, z->length) ||
        (relative &&
         !emit_fix(out, (size_t)(z->length - z->raw.disp.offset),
                   in->address + z->length + (uint64_t)z->raw.disp.value)))
        return "begins with too many instructions";
    return NULL;
}

int
code_move_entry(const struct code *code, struct patch_function *out,
                struct error *err)
{
    const char *why = NULL;
    struct instruction in;
    size_t from = 0, to;

    if (decode_instruction(code, 0, &in) &&
        in.zydis.mnemonic == ZYDIS_MNEMONIC_ENDBR64)
        from = in.zydis.length;
    out->address = code->address + from;
    out->code_size = out->fix_count = 0;
    for (to = from; !why && to < from + PATCH_JUMP; to += in.zydis.length) {
        if (to >= code->size)
            why = "is too short for a jump";
        else if (!decode_instruction(code, to, &in))
            why = "begins with bytes that are no instruction";
        else
            why = move_instruction(&in, out);
        if (why)
            break;
    }
    if (!why && !emit_jump(out, code->address + to))
        why = "begins with too many instructions";
    if (why) {
        error_set(err, ER_FEATURE_DISABLED, "%s", why);
        return -1;
    }
    out->original_size = (uint8_t)(to - from);
    memcpy(out->original, code->bytes + from, to - from);
    return 0;
}
