/*
 * locate_give.c - checks the address of mallctl that a user gives.
 *
 * Called as mallctl, any other function would end the database.  So the address
 * must agree with the file: the file has a jemalloc, a function starts there,
 * and that function's code reads five arguments and no sixth, or the calls that
 * the scan takes for mallctl's go there.  This stops mistakes, such as an
 * address of another build; some other functions of five arguments pass, too.
 */
#include <elf.h>
#include <endian.h>
#include <string.h>
#include <strings.h>

#include "errors.h"
#include "locate_work.h"
#include "memory.h"

enum {
    CODE_BYTES = 128,
    R8 = 0, /* the register's number without its REX bit */
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

/* Is r8 written (mov, lea, mov imm, xor)?  What is read from r8 afterwards is
 * no argument. */
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
        /* Arguments do not survive a call: what is behind the first says
         * nothing. */
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

/* Whether the function's code reads all of five arguments, and no sixth. */
static bool
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

struct search {
    struct locate_work *work;
    const char *symbol;
    uint64_t address; /* 0: not found yet */
};

static bool
is_exact_name(void *arg, const char *before, uint64_t address)
{
    struct search *search = arg;

    if (before[0] == '\0')
        search->address = address;
    return search->address == 0;
}

static bool
search_source(void *arg, const struct symbol_source *source)
{
    struct search *search = arg;
    struct symbol_query query = {search->symbol, is_exact_name, search};

    source->find(source->elf, search->work, &query);
    return search->address == 0;
}

/* The jemalloc whose prefix the symbol has; the first one if none has. */
static struct locate_jemalloc *
jemalloc_of(struct locate *file, const char *symbol)
{
    size_t size = symbol ? strlen(symbol) : 0, tail = strlen("mallctl");
    size_t prefix = size >= tail ? size - tail : 0;

    for (size_t i = 0; symbol && i < file->count; i++) {
        struct locate_jemalloc *j = &file->jemallocs[i];

        if (strlen(j->prefix) == prefix &&
            strncasecmp(j->prefix, symbol, prefix) == 0)
            return j;
    }
    if (file->count == 0)
        file->count = 1;
    return &file->jemallocs[0];
}

/* NULL, or why it cannot be a mallctl. */
static const char *
check_mallctl_address(struct locate_work *work, uint64_t address, bool symbol)
{
    enum locate_start start = locate_starts(work->elf, address);

    if (!elf_is_code(work->elf, address))
        return "there is no code";
    if (start == LOCATE_START_ELSEWHERE)
        return "by .eh_frame no function starts there";
    if (start == LOCATE_START_UNKNOWN && !symbol)
        return "the file has no .eh_frame_hdr, which would say that a function "
               "starts there";
    locate_texts(work);
    if (!(work->marks & LOCATE_JEMALLOC))
        return "the file has no jemalloc";
    if (locate_takes_five(work, address))
        return NULL;
    locate_code(work);
    return locate_votes(work, address) > 0
               ? NULL
               : "the function there does not take five arguments, as mallctl "
                 "does";
}

int
locate_give(struct locate *file, int fd, const char *path, const char *symbol,
            uint64_t address, struct error *err)
{
    struct search search = {.symbol = symbol, .address = address};
    struct locate_jemalloc *j;
    struct elf_file elf;
    const char *why;
    int rc = -1;

    if (elf_init(&elf, fd, path, err) != 0)
        return -1;
    search.work = locate_work_new(&elf, err);
    if (!search.work)
        goto out;
    if (symbol)
        locate_symbols(&elf, path, search_source, &search);
    if (symbol && search.address == 0) {
        error_set(err, ER_WRONG_VALUE, "%s has no function %s", path, symbol);
        goto out;
    }
    why = check_mallctl_address(search.work, search.address, symbol != NULL);
    if (why) {
        error_set(err, ER_WRONG_VALUE, "%s has no mallctl at 0x%llx: %s", path,
                  (unsigned long long)search.address, why);
        goto out;
    }
    j = jemalloc_of(file, symbol);
    j->mallctl = search.address;
    j->how = LOCATE_GIVEN;
    locate_identify(file, &elf);
    rc = 0;
out:
    elf_fini(&elf);
    mem_free(search.work);
    return rc;
}
