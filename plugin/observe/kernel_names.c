/*
 * kernel_names.c - see kernel_names.h.
 *
 * Loads all of /proc/kallsyms (15 MB with all modules) for a profile that asked
 * for kernel frames, sorted by address, and drops it with the profile.  Lookup
 * is a binary search.  Made-up addresses are hashes of names, so the same
 * function has the same address on each node and after each boot, and profiles
 * can be compared and summed.
 */
#include "kernel_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "memory.h"
#include "profile.h"

enum {
    TEXT_BYTES_MAX = 64 << 20, /* a kernel with all its modules has 15 MB */
    NAME_MAX_BYTES = 128,
    HASH_BITS = 61
};

#define KERNEL_HALF (UINT64_C(1) << 63)

struct kernel_symbol {
    uint64_t address;
    uint32_t name; /* offset of its name in text, ended by NUL */
    uint32_t
        /* of aliases at one address, the first in the file is taken */
        file_order;
    bool code, taken;
};

struct kernel_names {
    struct buffer text;
    struct kernel_symbol *list; /* ascending */
    size_t count;
};

/* ---- /proc/kallsyms: "ffffffff81000000 T _text[\t[module]]" ---- */

static bool
parse_kallsyms_line(char *line, const char *text, struct kernel_symbol *out)
{
    char *end, type;

    out->address = strtoull(line, &end, 16);
    if (out->address < KERNEL_HALF || end[0] != ' ' || !end[1] || end[2] != ' ')
        return false; /* all are 0 where kptr_restrict hides them */
    type = (char)(end[1] | 0x20);
    out->code = type == 't' || type == 'w';
    line = end + 3;
    line[strcspn(line, "\t ")] = '\0';
    out->name = (uint32_t)(line - text);
    return *line != '\0';
}

static int
compare_symbols(const void *a, const void *b)
{
    const struct kernel_symbol *x = a, *y = b;

    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->file_order > y->file_order) - (x->file_order < y->file_order);
}

static int
parse_lines(struct kernel_names *names)
{
    char *text = names->text.data, *end = text + names->text.size - 1;
    size_t lines = 0;

    for (char *at = text; at < end; at++)
        lines += *at == '\n';
    names->list = mem_zalloc(lines + 1, sizeof(*names->list));
    if (!names->list)
        return -1;
    for (char *line = text, *next; line < end; line = next) {
        struct kernel_symbol *symbol = &names->list[names->count];

        /* memchr, as names end with a NUL by now */
        next = memchr(line, '\n', (size_t)(end - line));
        next = next ? next : end;
        *next++ = '\0';
        symbol->file_order = (uint32_t)names->count;
        if (parse_kallsyms_line(line, text, symbol))
            names->count++;
    }
    qsort(names->list, names->count, sizeof(*names->list), compare_symbols);
    return 0;
}

/* Makes the names of text, which it owns from here on. */
static struct kernel_names *
new_names(struct buffer *text, struct error *err)
{
    struct kernel_names *names = mem_zalloc(1, sizeof(*names));

    buffer_add(text, "", 1);
    if (names && !text->failed) {
        names->text = *text;
        if (parse_lines(names) == 0)
            return names;
    } else {
        buffer_fini(text);
    }
    kernel_names_free(names);
    error_memory(err, "the names of the kernel's functions");
    return NULL;
}

struct kernel_names *
kernel_names_parse(const char *text, size_t size, struct error *err)
{
    struct buffer copy;

    buffer_init(&copy, TEXT_BYTES_MAX);
    buffer_add(&copy, text, size);
    return new_names(&copy, err);
}

/* A file that cannot be read, as in many containers, gives no names; that is no
 * error. */
struct kernel_names *
kernel_names_load(struct error *err)
{
    struct error unread;
    struct buffer text;

    buffer_init(&text, TEXT_BYTES_MAX);
    if (file_read_all("/proc/kallsyms", &text, &unread) != 0)
        buffer_clear(&text);
    return new_names(&text, err);
}

void
kernel_names_free(struct kernel_names *names)
{
    if (!names)
        return;
    buffer_fini(&names->text);
    mem_free(names->list);
    mem_free(names);
}

bool
kernel_names_known(const struct kernel_names *names)
{
    return names->count > 0;
}

/* ---- addresses ---- */

static const char *
kernel_symbol_name(const struct kernel_names *names,
                   const struct kernel_symbol *symbol)
{
    return names->text.data + symbol->name;
}

/* FNV-1a, without a seed: all nodes must get the same address.  A collision
 * merges two functions, and nobody gains by making one. */
static uint64_t
make_address(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    return KERNEL_NAMES_FIRST + 1 + (hash >> (64 - HASH_BITS));
}

/* The function that holds the address; NULL: none, or it is data. */
static struct kernel_symbol *
find_kernel_symbol(const struct kernel_names *names, uint64_t address)
{
    size_t low = 0, high = names->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (names->list[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    for (low--;
         low > 0 && names->list[low - 1].address == names->list[low].address;)
        low--;
    return names->list[low].code ? &names->list[low] : NULL;
}

size_t
kernel_names_take(struct kernel_names *names, const uint64_t *frames,
                  size_t count, uint64_t *out, size_t room)
{
    size_t taken = 0, passed = 0;

    for (size_t i = 0; i < count && taken < room; i++) {
        struct kernel_symbol *symbol;

        /* Markers of perf (PERF_CONTEXT_KERNEL) are the highest numbers. */
        if (frames[i] < KERNEL_HALF || frames[i] >= (uint64_t)-4095)
            continue;
        symbol = find_kernel_symbol(names, frames[i] - (passed++ > 0));
        out[taken] = KERNEL_NAMES_FIRST;
        if (symbol) {
            symbol->taken = true;
            out[taken] = make_address(kernel_symbol_name(names, symbol));
        }
        /* Adjacent frames without a name become one. */
        if (symbol || taken == 0 || out[taken - 1] != KERNEL_NAMES_FIRST)
            taken++;
    }
    return taken;
}

/* ---- names ---- */

static int
name_kernel_location(struct profile *profile, uint64_t address,
                     const char *name)
{
    struct location *list = /* it lies in our arena */
        (struct location *)(uintptr_t)profile->locations;
    size_t low = 0, high = profile->location_count;
    struct frame *frame;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (list[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == profile->location_count || list[low].address != address)
        return 0; /* its stack was beyond the ceilings */
    frame = arena_alloc(profile->arena, sizeof(*frame));
    if (!frame)
        return -1;
    *frame = (struct frame){
        .function = arena_strndup(profile->arena, name, strlen(name)),
        .file = ""};
    list[low] =
        (struct location){.address = address,
                          .frames = frame,
                          .frame_count = 1,
                          .module = "[kernel]",
                          .module_offset = address - KERNEL_NAMES_FIRST};
    return frame->function ? 0 : -1;
}

int
kernel_names_fill(const struct kernel_names *names, struct profile *profile)
{
    char name[NAME_MAX_BYTES];

    if (name_kernel_location(profile, KERNEL_NAMES_FIRST, "[kernel]") != 0)
        return -1;
    for (size_t i = 0; i < names->count; i++) {
        const char *symbol = kernel_symbol_name(names, &names->list[i]);

        if (!names->list[i].taken)
            continue;
        snprintf(name, sizeof(name), "%.*s_[k]",
                 (int)(sizeof(name) - sizeof("_[k]")), symbol);
        if (name_kernel_location(profile, make_address(symbol), name) != 0)
            return -1;
    }
    return 0;
}
