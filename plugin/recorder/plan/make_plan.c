/*
 * make_plan.c - see make_plan.h.
 *
 * A wrong patch crashes a database, so a plan is made only if all of it can be
 * proved from the file.  Each function's whole code is decoded, not only its
 * entry: no jump may land within what is replaced.  If a function calls another
 * one of them, as realloc does malloc in jemalloc 5.1, the call is led to the
 * moved entry, or it would count twice.  A function that is only a jump to
 * another, as compilers make of two equal ones, is left as it is.
 *
 * Runs in heapwire-run before the database starts; linear in the code, times
 * the number of functions.
 */
#include "make_plan.h"

#include <elf.h>
#include <string.h>

#include "elf_file.h"
#include "errors.h"
#include "malloc_symbols.h"
#include "memory.h"
#include "move_code.h"
#include "patch_plan.h"

struct planning {
    const struct elf_file *elf;
    const char *prefix;
    struct malloc_symbols symbols;
    struct code code[MALLOC_SYMBOLS_MAX]; /* of each symbol; owns its bytes */
    /* of each symbol that is no part */
    struct patch_function moved[MALLOC_SYMBOLS_MAX];
    bool alias[MALLOC_SYMBOLS_MAX]; /* the second symbol of a function */
    bool left[MALLOC_SYMBOLS_MAX];  /* left as it is: a jump to another */
    struct patch_call calls[PATCH_CALLS_MAX];
    size_t calls_to[PATCH_CALLS_MAX]; /* index of the symbol that is called */
    size_t call_count;
    struct error *err;
};

static int
refuse_malloc_symbol(const struct planning *p, size_t i, const char *why)
{
    error_set(p->err, ER_FEATURE_DISABLED, "its %s%s %s", p->prefix,
              p->symbols.list[i].name, why);
    return -1;
}

static int
read_symbol_code(struct planning *p, size_t i)
{
    const struct malloc_symbol *symbol = &p->symbols.list[i];
    uint8_t *bytes = mem_alloc(symbol->size);
    uint64_t offset, left;

    p->code[i] = (struct code){bytes, symbol->size, symbol->address};
    if (!bytes) {
        error_memory(p->err, "the code of its malloc");
        return -1;
    }
    if (!elf_is_code(p->elf, symbol->address) ||
        !elf_offset_of(p->elf, symbol->address, &offset, &left) ||
        left < symbol->size ||
        elf_read_at(p->elf, offset, symbol->size, bytes) != 0)
        return refuse_malloc_symbol(p, i, "is not in its code");
    return 0;
}

/* Names of functions that may share their code, as they do the same. */
static bool
are_alike(const char *a, const char *b)
{
    return (strcmp(a, "aligned_alloc") == 0 && strcmp(b, "memalign") == 0) ||
           (strcmp(a, "memalign") == 0 && strcmp(b, "aligned_alloc") == 0);
}

/* Marks the second symbol of a function.  -1: refused, as one code has two
 * meanings, or one name two codes. */
static int
check_symbol_alias(struct planning *p, size_t i)
{
    const struct malloc_symbol *list = p->symbols.list;

    for (size_t k = 0; k < i; k++) {
        if (list[k].part)
            continue;
        if (list[k].address != list[i].address) {
            if (strcmp(list[k].name, list[i].name) == 0)
                return refuse_malloc_symbol(p, i, "is there twice");
            continue;
        }
        if (strcmp(list[k].name, list[i].name) != 0 &&
            !are_alike(list[k].name, list[i].name))
            return refuse_malloc_symbol(p, i,
                                        "is the code of another function, too");
        p->alias[i] = true;
    }
    return 0;
}

static int
move_entry(struct planning *p, size_t i)
{
    struct patch_function *moved = &p->moved[i];
    struct error why;

    memcpy(moved->name, p->symbols.list[i].name,
           strlen(p->symbols.list[i].name));
    return code_move_entry(&p->code[i], moved, &why) == 0
               ? 0
               : refuse_malloc_symbol(p, i, why.text);
}

/* Marks a function that is only a jump to another of the family. */
static void
leave_jump(struct planning *p, size_t i)
{
    const struct patch_function *moved = &p->moved[i];

    for (size_t k = 0; k < p->symbols.count; k++)
        if (k != i && !p->symbols.list[k].part && moved->code[0] == 0xe9 &&
            moved->fixes[0].at == 1 &&
            moved->fixes[0].target == p->symbols.list[k].address)
            p->left[i] = true;
}

/* Whether a call's distance lies in bytes that are replaced. */
static bool
is_in_replaced_entry(const struct planning *p, uint64_t address)
{
    for (size_t i = 0; i < p->symbols.count; i++) {
        const struct patch_function *moved = &p->moved[i];

        if (!p->symbols.list[i].part && address + 4 > moved->address &&
            address < moved->address + moved->original_size)
            return true;
    }
    return false;
}

/* Collects the calls of one function, or of a part of it, to another.  -1: they
 * cannot be redirected. */
static int
take_calls(struct planning *p, size_t from, size_t to)
{
    size_t offsets[PATCH_CALLS_MAX];
    size_t count = code_find_calls(&p->code[from], p->symbols.list[to].address,
                                   offsets, PATCH_CALLS_MAX - p->call_count);

    if (count > PATCH_CALLS_MAX - p->call_count || (count > 0 && p->left[to]))
        return -1;
    for (size_t i = 0; i < count; i++) {
        uint64_t address = p->code[from].address + offsets[i];

        if (is_in_replaced_entry(p, address))
            return -1;
        p->calls[p->call_count].address = address;
        memcpy(p->calls[p->call_count].original,
               p->code[from].bytes + offsets[i], 4);
        p->calls_to[p->call_count++] = to;
    }
    return 0;
}

/* Checks that no jump of a symbol's code lands in the replaced bytes of any
 * function. */
static int
check_code_reach(struct planning *p, size_t from)
{
    const struct malloc_symbol *list = p->symbols.list;

    for (size_t to = 0; to < p->symbols.count && !p->left[from]; to++) {
        bool itself = strcmp(list[from].name, list[to].name) == 0;
        enum code_reach reached;

        if (list[to].part || p->alias[to] || p->alias[from])
            continue;
        reached =
            code_reaches(&p->code[from], list[to].address + (itself ? 0 : 1),
                         p->moved[to].address + p->moved[to].original_size);
        if (reached == CODE_REACH_UNKNOWN)
            return refuse_malloc_symbol(p, from,
                                        "has a jump whose target is not known, "
                                        "or bytes that are no instruction");
        if (reached == CODE_REACHES)
            return refuse_malloc_symbol(
                p, from,
                itself ? "jumps back to its first instructions"
                       : "jumps into another one of its functions");
        if (!itself && take_calls(p, from, to) != 0)
            return refuse_malloc_symbol(
                p, from,
                "calls another one of its functions, which would "
                "count twice");
    }
    return 0;
}

static int
take_functions(struct planning *p, struct patch_plan *plan)
{
    bool has_malloc = false, has_free = false;

    memset(plan, 0, sizeof(*plan));
    for (size_t i = 0; i < p->symbols.count; i++) {
        const char *name = p->symbols.list[i].name;

        if (p->symbols.list[i].part || p->left[i] || p->alias[i])
            continue;
        for (size_t k = 0; k < p->call_count; k++)
            if (p->calls_to[k] == i)
                p->calls[k].function = (uint8_t)plan->count;
        if (plan->count == PATCH_FUNCTIONS_MAX)
            return refuse_malloc_symbol(p, i, "is one of too many functions");
        plan->functions[plan->count++] = p->moved[i];
        has_malloc = has_malloc || strcmp(name, "malloc") == 0;
        has_free = has_free || strcmp(name, "free") == 0;
    }
    memcpy(plan->calls, p->calls, sizeof(p->calls));
    plan->call_count = p->call_count;
    if (has_malloc && has_free)
        return 0;
    error_set(p->err, ER_FEATURE_DISABLED, "it has no symbol %s%s", p->prefix,
              has_malloc ? "free" : "malloc");
    return -1;
}

static int
make_patch_plan(struct planning *p, struct patch_plan *plan)
{
    size_t count = p->symbols.count;

    for (size_t i = 0; i < count; i++) {
        if (read_symbol_code(p, i) != 0 ||
            (!p->symbols.list[i].part &&
             (check_symbol_alias(p, i) != 0 || move_entry(p, i) != 0)))
            return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (!p->symbols.list[i].part)
            leave_jump(p, i);
    }
    for (size_t i = 0; i < count; i++) {
        if (check_code_reach(p, i) != 0)
            return -1;
    }
    return take_functions(p, plan);
}

int
patch_plan_make(int fd, const char *prefix, struct patch_plan *plan,
                struct error *err)
{
    struct planning *p = mem_alloc(sizeof(*p));
    struct elf_file elf = {.fd = -1};
    int rc = -1;

    if (!p) {
        error_memory(err, "a plan");
        return -1;
    }
    p->elf = &elf;
    p->prefix = prefix;
    p->err = err;
    if (elf_init(&elf, fd, "it", err) == 0) {
        if (elf.machine != EM_X86_64)
            error_set(err, ER_FEATURE_DISABLED,
                      "only on x86-64 is its malloc patched");
        else if (malloc_symbols_read(&elf, prefix, &p->symbols, err) == 0)
            rc = make_patch_plan(p, plan);
    }
    for (size_t i = 0; i < MALLOC_SYMBOLS_MAX; i++)
        mem_free((void *)p->code[i].bytes);
    elf_fini(&elf);
    mem_free(p);
    return rc;
}
