/*
 * locate_inner.c - see locate_inner.h.
 *
 * heapwired's symboliser asks this for each address without a name in a program
 * that has a jemalloc in it: jemalloc's own frames are not part of the stack
 * that allocates.  The search below runs once per file; then an answer is a
 * binary search, and for other functions a look at their calls, up to a limit.
 *
 * Every function that mallctl calls, directly or not, is jemalloc's: jemalloc
 * calls its program only through pointers, and libc only through stubs.  So is
 * a function that calls one of those, as malloc and its kin do: a program calls
 * only the entry points, which are not reached from mallctl.  This holds in
 * whatever order a linker has put the code.
 *
 * malloc and operator new have a fast path: they take a block from the thread's
 * cache without a call, and jump to a slow function where there is none.  That
 * function is jemalloc's, and so are its callers: operator new jumps to one of
 * those.  A fast path is recognised by its use of variables of jemalloc (x86-64
 * alone).
 *
 * There is no disassembler: each byte that looks like a call of a function's
 * start, at most NEAR bytes away, is taken for one.
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
#include "search.h"

enum {
    REACHED_MAX = 2048,
    BODY_MAX = 1 << 16,
    NEAR = 1 << 20, /* jemalloc's code is smaller */
    FAST_MAX = 512, /* bytes of a fast path */
    FAST_MIN = 64,  /* that one counts for */
    FAST_STEPS = 2, /* malloc's, and operator new's */
    VARIABLES_MAX = 4096
};

/* A function that mallctl reaches.  One that calls no other is not used to
 * recognise callers: it may be a helper of the compiler or libc that the
 * program calls, too. */
struct reached {
    uint64_t start;
    bool calls; /* another reached function */
};

struct locate_inner {
    const struct elf_file *elf;
    struct locate_functions functions;
    struct reached list[REACHED_MAX]; /* sorted, once all are known */
    size_t count, seen, calls;
    uint64_t bytes_left;
    uint64_t variables[VARIABLES_MAX]; /* sorted, as list */
    size_t variable_count;
    uint64_t mallctl;
    uint64_t start, end; /* of the function that was asked for last */
    bool is_inner;       /* and the answer */
    uint8_t body[BODY_MAX];
};

/* What each direct call or jump out of a function does. */
typedef bool (*on_call)(struct locate_inner *inner, uint64_t target);

/* Reads the code of [start, end), at most max bytes; returns how many.  0 when
 * it cannot be read, or the limit is used up. */
static size_t
read_function_code(struct locate_inner *inner, uint64_t start, uint64_t end,
                   uint8_t *code, size_t max)
{
    uint64_t offset, left, size = end - start < max ? end - start : max;

    if (size > inner->bytes_left) {
        inner->bytes_left = 0;
        return 0;
    }
    inner->bytes_left -= size;
    if (!elf_offset_of(inner->elf, start, &offset, &left) || left < size ||
        elf_read_at(inner->elf, offset, size, code) != 0)
        return 0;
    return size;
}

static uint64_t
pc_relative_address(const uint8_t *at, uint64_t next)
{
    return next + (uint64_t)(int64_t)(int32_t)locate_load_u32(at);
}

/* Calls see for the targets of what may be a call in [start, end), until it
 * answers false.  Returns how much of that is in body now. */
static size_t
see_calls(struct locate_inner *inner, uint64_t start, uint64_t end, on_call see)
{
    const uint8_t *body = inner->body;
    size_t size = read_function_code(inner, start, end, inner->body, BODY_MAX);
    bool arm = inner->elf->machine == EM_AARCH64;
    uint64_t target;

    for (size_t i = 0; i + 5 <= size + (arm ? 1 : 0); i += arm ? 4 : 1) {
        if (arm) { /* bl, b */
            uint32_t w = locate_load_u32(body + i);

            if ((w & 0x7c000000) != 0x14000000)
                continue;
            target = start + i + (uint64_t)((int64_t)((uint64_t)w << 38) >> 36);
        } else if (body[i] == 0xe8 || body[i] == 0xe9) {
            target = pc_relative_address(body + i + 1, start + i + 5);
        } else {
            continue;
        }
        /* A jump within the function is a loop or a branch, no call. */
        if (target - start < end - start || !elf_is_code(inner->elf, target))
            continue;
        if (!see(inner, target))
            break;
    }
    return size;
}

/* Is it a stub of the PLT, which leads to another library?  True, too, if it
 * cannot be read: it is then not followed. */
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
        if (locate_load_u32(code) == 0xd503245f) /* bti c */
            i = 4;
        return (locate_load_u32(code + i) & 0x9f00001f) ==
               0x90000010; /* adrp x16 */
    }
    if (locate_load_u32(code) == 0xfa1e0ff3) /* endbr64 */
        i = 4;
    if (code[i] == 0xf2) /* bnd */
        i++;
    return code[i] == 0xff && code[i + 1] == 0x25; /* jmp *[rip + ...] */
}

static bool
add_reached(struct locate_inner *inner, uint64_t target)
{
    /* Farther away than jemalloc is large: a byte pattern, or other code. */
    if (target - inner->mallctl + NEAR > 2 * (uint64_t)NEAR)
        return true;
    if (++inner->calls > LOCATE_INNER_CALLS)
        return false;
    if (!locate_functions_start(&inner->functions, target) ||
        is_stub(inner, target))
        return true;
    /* the function whose body is being looked at calls one of the file's own */
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

static const struct reached *
find_reached(const struct locate_inner *inner, uint64_t start)
{
    struct reached key = {.start = start};

    return bsearch(&key, inner->list, inner->count, sizeof(key),
                   compare_reached);
}

/* mallctl itself does not count: the program may call it. */
static bool
see_inner(struct locate_inner *inner, uint64_t target)
{
    const struct reached *found = find_reached(inner, target);

    inner->is_inner = found && found->calls && target != inner->mallctl;
    return !inner->is_inner;
}

/* ---- fast paths: x86-64 ---- */

/* Only writable data counts: linkers merge equal read-only texts of jemalloc
 * and of the program. */
static bool
is_variable(const struct elf_file *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *s = &elf->segments[i];

        if (s->type == PT_LOAD && (s->flags & PF_W) &&
            address - s->address < s->memory_size)
            return true;
    }
    return false;
}

/* lea reg, [rip + disp32] */
static bool
is_lea(const uint8_t *at)
{
    return (at[0] & 0xfb) == 0x48 && at[1] == 0x8d && (at[2] & 0xc7) == 0x05;
}

/* Notes the variables whose addresses the function at start loads; its first
 * size bytes are in body. */
static void
note_variables(struct locate_inner *inner, uint64_t start, size_t size)
{
    uint64_t address;

    for (size_t i = 0; i + 7 <= size; i++) {
        if (!is_lea(inner->body + i))
            continue;
        address = pc_relative_address(inner->body + i + 3, start + i + 7);
        if (inner->variable_count < VARIABLES_MAX &&
            is_variable(inner->elf, address))
            inner->variables[inner->variable_count++] = address;
    }
}

/* The function that a fast path jumps to; 0: this is no fast path.  It uses a
 * variable of the thread (fs:) and one of jemalloc's, calls nothing, and jumps
 * to one other function only. */
static uint64_t
end_of_fast(struct locate_inner *inner, uint64_t start, uint64_t end)
{
    uint8_t code[FAST_MAX];
    size_t size = read_function_code(inner, start, end, code, sizeof(code));
    bool own = false, shared = false; /* a variable of the thread's; of all */
    uint64_t address, leads = 0;

    for (size_t i = 0; i + 7 <= size; i++) {
        own = own || (code[i] == 0x64 && (code[i + 1] & 0xf0) == 0x40); /* fs */
        address = pc_relative_address(code + i + 3, start + i + 7);
        shared = shared ||
                 (is_lea(code + i) &&
                  bsearch(&address, inner->variables, inner->variable_count,
                          sizeof(address), compare_u64));
    }
    for (size_t i = 0; i + 5 <= size; i++) {
        address = pc_relative_address(code + i + 1, start + i + 5);
        if ((code[i] != 0xe8 && code[i] != 0xe9) ||
            address - start < end - start ||
            !locate_functions_start(&inner->functions, address))
            continue;
        if (code[i] == 0xe8 || (leads != 0 && leads != address))
            return 0;
        leads = address;
    }
    return own && shared ? leads : 0;
}

/* Adds the functions that fast paths jump to, if these call jemalloc's.  The
 * list stays sorted up to inner->count while others are added behind it. */
static void
follow_fast(struct locate_inner *inner)
{
    uint64_t start = inner->mallctl < NEAR ? 0 : inner->mallctl - NEAR;
    uint64_t stop = inner->mallctl + NEAR, end, leads, from, to;
    size_t known = inner->count;

    inner->bytes_left = LOCATE_INNER_BYTES;
    for (; inner->bytes_left > FAST_MAX &&
           locate_functions_next(&inner->functions, start, &start) &&
           start < stop;
         start++) {
        inner->bytes_left -= FAST_MIN;
        if (!locate_functions_around(&inner->functions, start, &from, &end) ||
            end - start > FAST_MAX)
            continue;
        leads = end_of_fast(inner, start, end);
        if (leads == 0 || find_reached(inner, leads) ||
            !locate_functions_around(&inner->functions, leads, &from, &to))
            continue;
        inner->is_inner = false;
        see_calls(inner, from, to, see_inner);
        if (inner->is_inner && known < REACHED_MAX)
            inner->list[known++] = (struct reached){leads, true};
    }
    inner->count = known;
    qsort(inner->list, inner->count, sizeof(inner->list[0]), compare_reached);
}

static bool
find_reachable_functions(struct locate_inner *inner)
{
    uint64_t start, end;

    inner->bytes_left = LOCATE_INNER_BYTES;
    inner->list[inner->count++].start = inner->mallctl;
    for (; inner->seen < inner->count; inner->seen++) {
        if (locate_functions_around(&inner->functions,
                                    inner->list[inner->seen].start, &start,
                                    &end))
            note_variables(inner, start,
                           see_calls(inner, start, end, add_reached));
        if (inner->count > REACHED_MAX || inner->bytes_left == 0 ||
            inner->calls > LOCATE_INNER_CALLS)
            return false;
    }
    qsort(inner->list, inner->count, sizeof(inner->list[0]), compare_reached);
    qsort(inner->variables, inner->variable_count, sizeof(inner->variables[0]),
          compare_u64);
    /* Twice: the second finds operator new, which jumps to what the first
     * found. */
    for (int i = 0; i < FAST_STEPS; i++)
        follow_fast(inner);
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
    else if (!find_reachable_functions(inner))
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

bool
locate_inner_has(struct locate_inner *inner, uint64_t address)
{
    /* Samples have runs of addresses in one function: the last answer is
     * kept. */
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
