/*
 * fuzz_dwarf.c - any bytes as an ELF file with debug information: addresses of
 * its code are resolved with lines, then every unit is read whole.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dwarf.h"
#include "elf_file.h"
#include "errors.h"
#include "fuzz_target.h"
#include "names.h"
#include "unit_code.h"

enum {
    MEMORY = 8 << 20,
    ADDRESSES_MAX = 512,
    FEW = 16,        /* which may all be the first unit's */
    CODE_MAX = 4096, /* bytes of a section with code */
    UNITS_MAX = 64
};

/* The sums keep the compiler from leaving the reads out. */
static uint64_t
sum_of(struct span text)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < text.size; i++)
        sum += (uint8_t)text.data[i];
    return sum;
}

static void
resolve(struct dwarf *dwarf, const struct elf_file *elf, uint32_t max)
{
    uint64_t addresses[ADDRESSES_MAX] = {0}, sum = 0, last = 0;
    uint32_t count = 0;
    struct code_chain chain;
    struct error err;

    for (size_t i = 0; i < elf->section_count; i++) {
        const struct elf_section *s = &elf->sections[i];

        for (uint64_t at = 0; (s->flags & SHF_EXECINSTR) && at < s->size &&
                              at < CODE_MAX && count < max;
             at += 3)
            if (count == 0 || s->address + at > last)
                last = addresses[count++] = s->address + at;
    }
    if (dwarf_resolve(dwarf, addresses, count, &err) != 0)
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (dwarf_chain_at(dwarf, i, &chain) >= DWARF_WHY_COUNT ||
            chain.count > NAMES_INLINE_MAX)
            abort();
        for (uint32_t k = 0; k < chain.count; k++)
            sum += sum_of(chain.frames[k].name) + sum_of(chain.frames[k].file);
    }
    if (sum == UINT64_MAX)
        abort();
}

static void
check(const struct unit_code *code)
{
    for (size_t i = 0; i < code->node_count; i++)
        if (code->nodes[i].parent != CODE_NONE && code->nodes[i].parent >= i)
            abort();
    for (size_t i = 0; i < code->range_count; i++)
        if (code->ranges[i].node >= code->node_count ||
            code->ranges[i].start >= code->ranges[i].end ||
            (i > 0 && code->ranges[i].start < code->ranges[i - 1].end))
            abort();
}

static void
read_whole(struct dwarf *dwarf)
{
    struct dwarf_units *units = dwarf_get_units(dwarf);
    struct unit_code code = {0};

    for (size_t i = 0; i < dwarf_units_count(units) && i < UNITS_MAX; i++) {
        (void)unit_code_read(units, dwarf_units_get(units, i), NULL, 0, &code,
                             NULL);
        if (unit_code_flatten(&code, NULL) == 0)
            check(&code);
    }
    unit_code_fini(&code);
}

static bool
has_packed(const struct elf_file *elf)
{
    for (size_t i = 0; i < elf->section_count; i++)
        if ((elf->sections[i].flags & SHF_COMPRESSED) ||
            strncmp(elf->sections[i].name, ".zdebug", 7) == 0)
            return true;
    return false;
}

/* As the helper does: of packed sections only what is needed. */
static void
resolve_only(const struct elf_file *elf)
{
    static const struct dwarf_options options = {MEMORY, 1, true, true};
    struct error err;
    struct dwarf *dwarf = dwarf_new(elf, &options, &err);

    if (dwarf)
        resolve(dwarf, elf, FEW);
    dwarf_free(dwarf);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct dwarf_options options = {MEMORY, 1, true, false};
    struct elf_file elf;
    struct dwarf *dwarf = NULL;
    struct error err;
    int fd = memfd_create("dwarf", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    if (elf_init(&elf, fd, "fuzzed", &err) == 0) {
        if (elf_load_sections(&elf, &err) == 0)
            dwarf = dwarf_new(&elf, &options, &err);
        if (dwarf) {
            resolve(dwarf, &elf, ADDRESSES_MAX);
            read_whole(dwarf);
        }
        dwarf_free(dwarf);
        if (has_packed(&elf))
            resolve_only(&elf);
        elf_fini(&elf);
    }
    close(fd);
    return 0;
}
