/*
 * locate_five.c - whether a function takes five arguments, by its own code.
 *
 * As in locate_code.c, patterns instead of a disassembler.  A fifth argument
 * that is used is saved or moved before the first call, which overwrites its
 * register; one that is overwritten first is none (sdallocx has three, and r8
 * for its own use); where a sixth is, too, it is another function.  mallctl
 * first looks whether all is initialised, which may be a call: so it saves all
 * five.
 */
#include <elf.h>
#include <endian.h>
#include <string.h>

#include "locate_work.h"

enum {
    CODE_BYTES = 128,
    R8 = 0, /* as instructions have it */
    R9 = 1,
    FIFTH_X86 = 1 << 8, /* a bit of each register that is read */
    SIXTH_X86 = 1 << 9,
    FIVE_X86 = 1 << 7 | 1 << 6 | 1 << 2 | 1 << 1 | FIFTH_X86, /* rdi, ... */
    FIVE_ARM = 31,
    FIFTH_ARM = 1 << 4
};

/* mov r/m64, reg */
static unsigned
reads_x86(const uint8_t *at)
{
    if ((at[0] & 0xfa) != 0x48 || at[1] != 0x89)
        return 0;
    return 1U << ((at[2] >> 3 & 7) | (at[0] & 4) << 1);
}

/* mov reg, r64 */
static bool
writes_x86(const uint8_t *at, unsigned reg)
{
    return (at[0] & 0xfb) == 0x49 && at[1] == 0x89 &&
           (at[2] & 0xc7) == (0xc0 | reg);
}

/* mov or lea to r8 from anywhere, mov imm, xor: what is read from then on is no
 * argument. */
static bool
sets_r8(const uint8_t *at)
{
    bool to_r8 = (at[2] >> 3 & 7) == R8;

    return writes_x86(at, R8) ||
           ((at[0] & 0xfa) == 0x48 && (at[0] & 4) &&
            (at[1] == 0x8b || at[1] == 0x8d) && to_r8) ||
           ((at[0] & 0xfe) == 0x44 && at[1] == 0x8b && to_r8) ||
           (at[0] == 0x41 && at[1] == 0xb8) ||
           (at[0] == 0x45 && (at[1] == 0x31 || at[1] == 0x33) && at[2] == 0xc0);
}

static bool
takes_five_x86(const struct locate_work *work, uint64_t address,
               const uint8_t *code, size_t size)
{
    bool moved = false; /* the sixth's register is another's */
    unsigned read = 0;

    for (size_t i = 0; i + 5 <= size; i++) {
        const uint8_t *at = code + i;
        int32_t distance;

        memcpy(&distance, at + 1, sizeof(distance));
        if (*at == 0xe8 &&
            elf_is_code(work->elf, address + i + 5 +
                                       (uint64_t)(int64_t)(int32_t)le32toh(
                                           (uint32_t)distance)))
            break;
        if (!(read & FIFTH_X86) && sets_r8(at))
            return false;
        read |= reads_x86(at);
        moved = moved || writes_x86(at, R9);
        if (!moved && (read & SIXTH_X86))
            return false;
    }
    return (read & FIVE_X86) == FIVE_X86;
}

/* orr reg, xzr, x<which>; str x<which>; stp x<which>, or with it */
static bool
reads_arm(uint32_t w, unsigned which)
{
    return (w & 0xffffffe0) == (0xaa0003e0 | which << 16) ||
           (w & 0xffc0001f) == (0xf9000000 | which) ||
           ((w & 0xfe400000) == 0xa8000000 &&
            ((w & 31) == which || (w >> 10 & 31) == which));
}

/* mov x4, reg; ldr x4; mov w4, imm */
static bool
sets_x4(uint32_t w)
{
    return (w & 0xffe0ffff) == 0xaa0003e4 || (w & 0xffc0001f) == 0xf9400004 ||
           (w & 0x7fe0001f) == 0x52800004;
}

static bool
takes_five_arm(const uint8_t *code, size_t size)
{
    unsigned read = 0;
    bool moved = false;

    for (size_t i = 0; i + 4 <= size; i += 4) {
        uint32_t w;

        memcpy(&w, code + i, sizeof(w));
        w = le32toh(w);
        if ((w & 0xfc000000) == 0x94000000) /* bl */
            break;
        for (unsigned which = 0; which < 5; which++)
            read |= (unsigned)reads_arm(w, which) << which;
        if (!(read & FIFTH_ARM) && sets_x4(w))
            return false;
        moved = moved || (w & 0xffe0ffff) == 0xaa0003e5; /* mov x5, reg */
        if (!moved && reads_arm(w, 5))
            return false;
    }
    return (read & FIVE_ARM) == FIVE_ARM;
}

bool
locate_takes_five(const struct locate_work *work, uint64_t address)
{
    uint8_t code[CODE_BYTES];
    uint64_t offset, left;

    if (!elf_offset_of(work->elf, address, &offset, &left))
        return false;
    if (left > sizeof(code))
        left = sizeof(code);
    if (elf_read_at(work->elf, offset, (size_t)left, code) != 0)
        return false;
    return work->elf->machine == EM_AARCH64
               ? takes_five_arm(code, (size_t)left)
               : takes_five_x86(work, address, code, (size_t)left);
}
