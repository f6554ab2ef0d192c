/*
 * locate_inner.c - see locate_inner.h.
 *
 * What mallctl calls, and what that calls, is jemalloc's: it never calls its
 * program but through pointers, nor libc but through stubs.  So is a function
 * that calls one of those, which malloc and its kin do: a program calls
 * nothing of jemalloc but what is not reached from mallctl.  This holds in
 * whatever order a linker has put the code.
 *
 * No disassembler: each byte that looks like a call of a function's start, at
 * most NEAR bytes away, is taken for one.
 */
#include "locate_inner.h"

#include <elf.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "errors.h"
#include "locate_functions.h"
#include "memory.h"

enum {
    REACHED_MAX = 2048,
    BODY_MAX = 1 << 16,
    NEAR = 1 << 20, /* jemalloc's code is smaller */
};

/* A function that mallctl reaches. */
struct reached {
    uint64_t start;
    bool calls; /* others that are: it is no helper of compiler or libc */
};

struct locate_inner {
    const struct elf_file *elf;
    struct locate_functions functions;
    struct reached list[REACHED_MAX]; /* sorted, once all are known */
    size_t count, seen, calls;
    uint64_t bytes_left;
    uint64_t mallctl;
    uint64_t start, end; /* of the function that was asked for last */
    bool is_inner;       /* and the answer */
    uint8_t body[BODY_MAX];
};

/* What each direct call or jump out of a function does. */
typedef bool (*on_call)(struct locate_inner *inner, uint64_t target);

static uint32_t
load32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return le32toh(v);
}

/* Calls see for the targets of what may be a call in [start, end), until it
 * answers false. */
static void
see_calls(struct locate_inner *inner, uint64_t start, uint64_t end, on_call see)
{
    const uint8_t *body = inner->body;
    uint64_t offset, left, size = end - start, target;
    bool arm = inner->elf->machine == EM_AARCH64;

    if (size > BODY_MAX)
        size = BODY_MAX;
    if (size > inner->bytes_left) {
        inner->bytes_left = 0;
        return;
    }
    inner->bytes_left -= size;
    if (!elf_offset_of(inner->elf, start, &offset, &left) || left < size ||
        elf_read_at(inner->elf, offset, size, inner->body) != 0)
        return;
    for (size_t i = 0; i + 5 <= size + (arm ? 1 : 0); i += arm ? 4 : 1) {
        if (arm) { /* bl, b */
            uint32_t w = load32(body + i);

            if ((w & 0x7c000000) != 0x14000000)
                continue;
            target = start + i + (uint64_t)((int64_t)((uint64_t)w << 38) >> 36);
        } else if (body[i] == 0xe8 || body[i] == 0xe9) {
            target = start + i + 5 +
                     (uint64_t)(int64_t)(int32_t)load32(body + i + 1);
        } else {
            continue;
        }
        if (target - start < end - start || !elf_is_code(inner->elf, target))
            continue;
        if (!see(inner, target))
            return;
    }
}

/* A stub that leads to another library. */
static bool
is_stub(const struct locate_inner *inner, uint64_t address)
{
    uint8_t code[8] = {0};
    uint64_t offset, left;
    size_t i = 0;

    if (!elf_offset_of(inner->elf, address, &offset, &left) ||
        elf_read_at(inner->elf, offset, sizeof(code), code) != 0)
        return true;
    if (inner->elf->machine == EM_AARCH64) {
        if (load32(code) == 0xd503245f) /* bti c */
            i = 4;
        return (load32(code + i) & 0x9f00001f) == 0x90000010; /* adrp x16 */
    }
    if (load32(code) == 0xfa1e0ff3) /* endbr64 */
        i = 4;
    if (code[i] == 0xf2) /* bnd */
        i++;
    return code[i] == 0xff && code[i + 1] == 0x25; /* jmp *[rip + ...] */
}

static bool
add_reached(struct locate_inner *inner, uint64_t target)
{
    if (target - inner->mallctl + NEAR > 2 * (uint64_t)NEAR)
        return true;
    if (++inner->calls > LOCATE_INNER_CALLS)
        return false;
    if (!locate_functions_start(&inner->functions, target) ||
        is_stub(inner, target))
        return true;
    inner->list[inner->seen].calls = true;
    for (size_t i = 0; i < inner->count; i++) {
        if (inner->list[i].start == target)
            return true;
    }
    if (inner->count < REACHED_MAX)
        inner->list[inner->count].start = target;
    inner->count++;
    return inner->count <= REACHED_MAX;
}

static int
compare_reached(const void *a, const void *b)
{
    const struct reached *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

static bool
reach(struct locate_inner *inner)
{
    uint64_t start, end;

    inner->bytes_left = LOCATE_INNER_BYTES;
    inner->list[inner->count++].start = inner->mallctl;
    for (; inner->seen < inner->count; inner->seen++) {
        if (inner->count > REACHED_MAX || inner->bytes_left == 0 ||
            inner->calls > LOCATE_INNER_CALLS)
            return false;
        if (locate_functions_around(&inner->functions,
                                    inner->list[inner->seen].start, &start,
                                    &end))
            see_calls(inner, start, end, add_reached);
    }
    qsort(inner->list, inner->count, sizeof(inner->list[0]), compare_reached);
    inner->bytes_left = LOCATE_INNER_ASKED_BYTES;
    return true;
}

struct locate_inner *
locate_inner_new(const struct elf_file *elf, uint64_t mallctl,
                 struct error *err)
{
    struct locate_inner *inner = mem_alloc(sizeof(*inner));

    if (!inner) {
        error_memory(err, "looking for jemalloc's functions");
        return NULL;
    }
    inner->elf = elf;
    inner->mallctl = mallctl;
    if (!locate_functions_init(&inner->functions, elf) ||
        !locate_functions_load(&inner->functions))
        error_set(err, ER_UNKNOWN,
                  "jemalloc's functions are not known: there is no table of "
                  "functions (.eh_frame_hdr), or it is too long");
    else if (!locate_functions_start(&inner->functions, mallctl))
        error_set(err, ER_UNKNOWN,
                  "jemalloc's functions are not known: by .eh_frame none "
                  "starts where mallctl is");
    else if (!reach(inner))
        error_set(err, ER_UNKNOWN,
                  "jemalloc's functions are not known: mallctl reaches more "
                  "than any jemalloc has");
    else
        return inner;
    locate_inner_free(inner);
    return NULL;
}

void
locate_inner_free(struct locate_inner *inner)
{
    if (inner)
        locate_functions_fini(&inner->functions);
    mem_free(inner);
}

static const struct reached *
find_reached(const struct locate_inner *inner, uint64_t start)
{
    struct reached key = {.start = start};

    return bsearch(&key, inner->list, inner->count, sizeof(key),
                   compare_reached);
}

static bool
see_inner(struct locate_inner *inner, uint64_t target)
{
    const struct reached *found = find_reached(inner, target);

    inner->is_inner = found && found->calls && target != inner->mallctl;
    return !inner->is_inner;
}

bool
locate_inner_has(struct locate_inner *inner, uint64_t address)
{
    if (address - inner->start < inner->end - inner->start)
        return inner->is_inner;
    inner->start = inner->end = 0;
    if (!locate_functions_around(&inner->functions, address, &inner->start,
                                 &inner->end)) {
        inner->start = inner->end = 0; /* of the function before it */
        return false;
    }
    inner->is_inner = find_reached(inner, inner->start) != NULL;
    if (!inner->is_inner)
        see_calls(inner, inner->start, inner->end, see_inner);
    return inner->is_inner;
}
