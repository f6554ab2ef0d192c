/*
 * locate_code.c - which function the code calls after it has loaded a name of
 * mallctl's; see locate_work.h.
 *
 * jemalloc's own code, and many programs, call mallctl with constant names:
 * code that loads the address of "opt.prof" as first argument calls mallctl
 * next.  Each such call is a vote for its target.  A disassembler for two
 * machines would be large and still lose its way in data between functions;
 * instead, patterns of the instructions that load an address are matched at
 * every byte (x86-64) or word (arm64), and of the next call.  A wrong match
 * "calls" anything, so wrong votes do not agree, and locate_pick.c counts.  The
 * time is linear in the size of the code, which LOCATE_BYTES_MAX bounds.
 */
#include <elf.h>
#include <endian.h>
#include <string.h>

#include "locate_functions.h"
#include "locate_work.h"

static const struct reference *
reference_at(const struct locate_work *work, uint64_t address)
{
    uint64_t slot = address * 0x9e3779b97f4a7c15u;

    for (slot >>= 32;; slot++) {
        uint16_t number = work->slots[slot % REFERENCE_SLOTS];

        if (number == 0)
            return NULL;
        if (work->references[number - 1].address == address)
            return &work->references[number - 1];
    }
}

static void
index_references(struct locate_work *work)
{
    for (size_t i = 0; i < work->reference_count; i++) {
        uint64_t slot = work->references[i].address * 0x9e3779b97f4a7c15u >> 32;

        while (work->slots[slot % REFERENCE_SLOTS] != 0)
            slot++;
        work->slots[slot % REFERENCE_SLOTS] = (uint16_t)(i + 1);
    }
}

/* Counts a vote: the code loads the name what, and calls target next. */
static void
add_target_vote(struct locate_work *work, uint32_t what, uint64_t target)
{
    uint64_t slot = target * 0x9e3779b97f4a7c15u >> 32;

    work->voted++;
    for (size_t tries = 0; tries < VOTES_MAX; tries++, slot++) {
        struct vote *vote = &work->votes[slot % VOTES_MAX];

        if (vote->count > 0 && vote->target != target)
            continue;
        vote->target = target;
        vote->count++;
        vote->names[what / 64] |= (uint64_t)1 << (what % 64);
        return;
    }
}

uint32_t
locate_votes(const struct locate_work *work, uint64_t target)
{
    uint32_t count = 0;

    for (size_t i = 0; i < VOTES_MAX; i++) {
        if (work->votes[i].count > 0 && work->votes[i].target == target)
            count += work->votes[i].count;
    }
    return count;
}

/* True if the address that is loaded at place is that of a name of mallctl's. A
 * load of a variable's name is noted: its code is near its mallctl's. */
static bool
names_something(struct locate_work *work, uint64_t address, uint64_t place,
                uint32_t *what)
{
    const struct reference *r = reference_at(work, address);
    struct variable *v;

    if (!r)
        return false;
    *what = r->what;
    if (r->what < REFERS_TO_VARIABLE)
        return true;
    v = &work->variables[r->what - REFERS_TO_VARIABLE];
    if (v->used_at == 0)
        v->used_at = place;
    return false;
}

/* --- x86-64 --- */

enum { RDI = 7, MOVE_WITHIN = 192, CALL_WITHIN = 64, FIFTH_WITHIN = 96 };

/* The place behind the instruction that moves reg to the first argument; 0:
 * none is near.  A name that is loaded for another argument is not
 * mallctl's. */
static size_t
passed_x86(const struct piece *piece, size_t at, unsigned reg)
{
    uint8_t move[] = {(uint8_t)(0x48 | (reg & 8) >> 1), 0x89,
                      (uint8_t)(0xc7 | (reg & 7) << 3)};
    size_t left = piece->size - at;
    const uint8_t *found;

    if (reg == RDI)
        return at;
    found = memmem(piece->bytes + at, left < MOVE_WITHIN ? left : MOVE_WITHIN,
                   move, sizeof(move));
    return found ? (size_t)(found - piece->bytes) + sizeof(move) : 0;
}

/* The target of a call at that place, or 0. */
static uint64_t
call_x86(const struct locate_work *work, const struct piece *piece, size_t at)
{
    uint64_t target;

    if (piece->bytes[at] != 0xe8 || at + 5 > piece->size)
        return 0;
    target = piece->address + at + 5 +
             (uint64_t)(int64_t)(int32_t)locate_load_u32(piece->bytes + at + 1);
    return elf_is_code(work->elf, target) ? target : 0;
}

/* Whether the call at that place has a fifth argument: r8, set since the call
 * before.  Other functions have fewer; so has a clone of mallctl that a
 * compiler has made for callers that only read, and which must not be called
 * with five. */
static bool
has_fifth_x86(const struct locate_work *work, const struct piece *piece,
              size_t at)
{
    const uint8_t *bytes = piece->bytes;

    for (size_t i = at < 3 ? 0 : at - 3, n = 0; i > 0 && n < FIFTH_WITHIN;
         i--, n++) {
        uint8_t first = bytes[i], second = bytes[i + 1], third = bytes[i + 2];

        if (i + 5 <= at && call_x86(work, piece, i) != 0)
            return false;
        if ((first == 0x45 && (second == 0x31 || second == 0x33) &&
             third == 0xc0) ||                   /* xor r8d, r8d */
            (first == 0x41 && second == 0xb8) || /* mov r8d, imm32 */
            ((first & 0xfb) == 0x49 && second == 0x89 &&
             (third & 0xc7) == 0xc0)) /* mov r8, reg */
            return true;
    }
    return false;
}

static void
follow_x86(struct locate_work *work, const struct piece *piece, size_t at,
           unsigned reg, uint32_t what)
{
    size_t end;

    at = passed_x86(piece, at, reg);
    if (at == 0)
        return;
    for (end = at + CALL_WITHIN; at < end && at < piece->size; at++) {
        uint64_t target = call_x86(work, piece, at);

        if (target == 0)
            continue;
        if (has_fifth_x86(work, piece, at))
            add_target_vote(work, what, target);
        return;
    }
}

/* lea reg, [rip + disp32] */
static void
see_lea(struct locate_work *work, const struct piece *piece, const uint8_t *p)
{
    size_t next = (size_t)(p - piece->bytes) + 7;
    uint64_t address = piece->address + next +
                       (uint64_t)(int64_t)(int32_t)locate_load_u32(p + 3);
    uint32_t what;

    if (names_something(work, address, piece->address + next, &what))
        follow_x86(work, piece, next, (p[2] >> 3 & 7) | (p[0] & 4) << 1, what);
}

/* mov reg, imm32 */
static void
see_mov(struct locate_work *work, const struct piece *piece, const uint8_t *p)
{
    size_t next = (size_t)(p - piece->bytes) + 5;
    uint32_t what;

    if (names_something(work, locate_load_u32(p + 1), piece->address + next,
                        &what))
        follow_x86(work, piece, next,
                   (p[0] & 7) | (next > 5 && p[-1] == 0x41 ? 8 : 0), what);
}

static void
see_x86(struct locate_work *work, const struct piece *piece)
{
    bool fixed = work->elf->type == ET_EXEC;
    const uint8_t *p = piece->bytes + piece->begin;
    const uint8_t *end = piece->bytes + piece->end;
    const uint8_t *last = piece->bytes + piece->size;

    /* Only a program of a fixed address can hold an address in four bytes. */
    for (; fixed && p < end && last - p >= 5; p++) {
        if ((*p & 0xf8) == 0xb8)
            see_mov(work, piece, p);
    }
    p = piece->bytes + piece->begin;
    for (; p < end && last - p >= 7; p++) {
        p = memchr(p + 1, 0x8d, (size_t)(last - p - 6));
        if (!p || --p >= end)
            return;
        if ((p[0] & 0xfb) == 0x48 && (p[2] & 0xc7) == 0x05)
            see_lea(work, piece, p);
    }
}

/* --- arm64 --- */

enum { NO_PAGE = 1, REGISTERS = 32, MOVES_WITHIN = 48, BRANCH_WITHIN = 16 };

static uint64_t
sign_extend(uint64_t value, unsigned bits)
{
    uint64_t sign = (uint64_t)1 << (bits - 1);

    return ((value & ((sign << 1) - 1)) ^ sign) - sign;
}

/* As passed_x86: mov x0, reg. */
static size_t
passed_arm(const struct piece *piece, size_t at, unsigned reg)
{
    size_t end = at + (size_t)4 * MOVES_WITHIN;

    if (reg == 0)
        return at;
    for (; at < end && at + 4 <= piece->size; at += 4) {
        if (locate_load_u32(piece->bytes + at) == (0xaa0003e0 | reg << 16))
            return at + 4; /* mov x0, reg */
    }
    return 0;
}

static bool
is_branch(uint32_t w) /* bl */
{
    return (w & 0xfc000000) == 0x94000000;
}

/* As has_fifth_x86, for the register x4: mov w4, imm; mov x4, reg. */
static bool
has_fifth_arm(const struct piece *piece, size_t at)
{
    for (size_t n = 0; at >= 4 && n < BRANCH_WITHIN; n++) {
        uint32_t w = locate_load_u32(piece->bytes + (at -= 4));

        if (is_branch(w))
            return false;
        if ((w & 0x7fe0001f) == 0x52800004 || (w & 0x7fe0ffff) == 0x2a0003e4)
            return true;
    }
    return false;
}

static void
follow_arm(struct locate_work *work, const struct piece *piece, size_t at,
           uint32_t what)
{
    size_t end = at + (size_t)4 * BRANCH_WITHIN;

    for (; at < end && at + 4 <= piece->size; at += 4) {
        uint32_t w = locate_load_u32(piece->bytes + at);
        uint64_t target;

        if (!is_branch(w))
            continue;
        target = piece->address + at + sign_extend((uint64_t)w << 2, 28);
        if (elf_is_code(work->elf, target) && has_fifth_arm(piece, at))
            add_target_vote(work, what, target);
        return;
    }
}

/* An address is made by adrp (the page) and add (the offset in it), maybe with
 * other instructions between: so the page of each register is remembered. */
static void
see_arm(struct locate_work *work, const struct piece *piece)
{
    uint64_t pages[REGISTERS];
    size_t i = piece->begin;

    for (size_t k = 0; k < REGISTERS; k++)
        pages[k] = NO_PAGE;
    for (i += -(piece->address + i) % 4; i < piece->end && i + 4 <= piece->size;
         i += 4) {
        uint32_t w = locate_load_u32(piece->bytes + i), reg = w % REGISTERS,
                 what;
        uint64_t place = piece->address + i, address, immediate;
        size_t next;

        if ((w & 0x1f000000) == 0x10000000) { /* adr, adrp */
            immediate = (w >> 29 & 3) | (w >> 5 & 0x7ffff) << 2;
            if (w >> 31) {
                pages[reg] = (place & ~(uint64_t)4095) +
                             (sign_extend(immediate, 21) << 12);
                continue;
            }
            address = place + sign_extend(immediate, 21);
        } else if ((w & 0xff000000) == 0x58000000) { /* ldr reg, literal */
            uint64_t literal = i + (sign_extend(w >> 5, 19) << 2);

            if (literal > piece->size || piece->size - literal < 8)
                continue;
            address = locate_load_u32(piece->bytes + literal) |
                      (uint64_t)locate_load_u32(piece->bytes + literal + 4)
                          << 32;
        } else if ((w & 0xff800000) == 0x91000000) { /* add reg, reg, imm */
            address = pages[w >> 5 & 31];
            immediate = w >> 10 & 0xfff;
            if (address == NO_PAGE)
                continue;
            address += w >> 22 & 1 ? immediate << 12 : immediate;
        } else {
            continue;
        }
        if (!names_something(work, address, place, &what))
            continue;
        next = passed_arm(piece, i + 4, reg);
        if (next > 0)
            follow_arm(work, piece, next, what);
    }
}

void
locate_code(struct locate_work *work)
{
    index_references(work);
    if (work->reference_count == 0)
        return;
    if (work->elf->machine == EM_X86_64)
        locate_work_pieces(work, PF_X, 0, see_x86);
    else if (work->elf->machine == EM_AARCH64)
        locate_work_pieces(work, PF_X, 0, see_arm);
}
