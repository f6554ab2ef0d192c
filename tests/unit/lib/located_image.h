/*
 * located_image.h - a small ELF file with the texts of a jemalloc and code that
 * calls its mallctl, for x86-64 or arm64: addresses are offsets.  For unit
 * tests and fuzz targets.
 */
#ifndef HW_LOCATED_IMAGE_H
#define HW_LOCATED_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    IMAGE_TEXTS = 0x200,
    IMAGE_SYMBOLS = 0x600,
    IMAGE_NAMES = 0x680,
    IMAGE_HASH = 0x700,
    IMAGE_DYNAMIC = 0x780,
    IMAGE_SECTIONS = 0x800,
    IMAGE_CODE = 0x1000,
    IMAGE_MALLCTL = IMAGE_CODE,
    IMAGE_OTHER = IMAGE_CODE + 0x40,
    IMAGE_CALLS = IMAGE_CODE + 0x80,
    IMAGE_SIZE = 0x1400
};

enum image_symbols { IMAGE_STRIPPED, IMAGE_EXPORTS, IMAGE_SYMTAB };

/* What calls are made after the names are loaded. */
struct image_wish {
    uint16_t machine;
    enum image_symbols symbols;
    unsigned names;  /* that mallctl is called with; 0: all */
    unsigned strays; /* that something else is */
    bool four;       /* arguments, not five */
};

static const char *const image_names[] = {
    "opt.abort",   "opt.narenas",  "opt.prof",     "config.debug",
    "config.fill", "config.stats", "arenas.page",  "arenas.quantum",
    "opt.zero",    "opt.retain",   "prof.interval"};

enum { IMAGE_NAMES_COUNT = sizeof(image_names) / sizeof(image_names[0]) };

static inline void
image_put(uint8_t *at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static inline size_t
image_call_x86(uint8_t *image, size_t at, size_t name, size_t target, bool four)
{
    static const uint8_t lea[] = {0x48, 0x8d, 0x3d},
                         fifth[] = {0x45, 0x31, 0xc0};

    memcpy(image + at, lea, 3);
    image_put(image + at + 3, name - (at + 7), 4);
    at += 7;
    if (!four) {
        memcpy(image + at, fifth, 3);
        at += 3;
    }
    image[at] = 0xe8;
    image_put(image + at + 1, target - (at + 5), 4);
    return at + 5;
}

/* Every second name goes by a register that calls leave alone. */
static inline size_t
image_call_arm(uint8_t *image, size_t at, size_t name, size_t target, bool four)
{
    uint32_t reg = at & 8 ? 21 : 0;
    uint64_t page = ((name & ~(size_t)4095) - (at & ~(size_t)4095)) >> 12;
    uint32_t words[5], n = 0;

    words[n++] = 0x90000000 | reg | (uint32_t)(page & 3) << 29 |
                 (uint32_t)(page >> 2 & 0x7ffff) << 5;
    words[n++] = 0x91000000 | reg | reg << 5 | (uint32_t)(name & 4095) << 10;
    if (reg)
        words[n++] = 0xaa0003e0 | reg << 16;
    if (!four)
        words[n++] = reg ? 0xaa1f03e4 : 0x52800004;
    words[n] = 0x94000000 |
               (uint32_t)((target - (at + 4 * (size_t)n)) >> 2 & 0x3ffffff);
    n++;
    for (uint32_t i = 0; i < n; i++, at += 4)
        image_put(image + at, words[i], 4);
    return at;
}

static inline void
image_symbol(uint8_t *at)
{
    Elf64_Sym symbol = {.st_name = 1,
                        .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                        .st_shndx = 1,
                        .st_value = IMAGE_MALLCTL,
                        .st_size = 64};

    memcpy(at + sizeof(symbol), &symbol, sizeof(symbol));
}

static inline void
image_dynamic(uint8_t *image)
{
    static const Elf64_Dyn dynamic[] = {{DT_STRTAB, {IMAGE_NAMES}},
                                        {DT_STRSZ, {32}},
                                        {DT_SYMTAB, {IMAGE_SYMBOLS}},
                                        {DT_GNU_HASH, {IMAGE_HASH}},
                                        {DT_NULL, {0}}};
    /* buckets, first symbol, bloom words, shift, bloom, bucket, chain */
    static const uint32_t hash[] = {1, 1, 1, 6, 0, 0, 1, 1};

    memcpy(image + IMAGE_DYNAMIC, dynamic, sizeof(dynamic));
    memcpy(image + IMAGE_HASH, hash, sizeof(hash));
}

static inline void
image_sections(uint8_t *image)
{
    static const Elf64_Shdr sections[] = {{0},
                                          {.sh_name = 12,
                                           .sh_type = SHT_SYMTAB,
                                           .sh_offset = IMAGE_SYMBOLS,
                                           .sh_size = 2 * sizeof(Elf64_Sym),
                                           .sh_link = 2},
                                          {.sh_name = 20,
                                           .sh_type = SHT_STRTAB,
                                           .sh_offset = IMAGE_NAMES,
                                           .sh_size = 32}};

    memcpy(image + IMAGE_SECTIONS, sections, sizeof(sections));
}

static inline void
image_make(uint8_t image[IMAGE_SIZE], const struct image_wish *wish)
{
    static const char texts[] = "<jemalloc>\0heap_v2/\0JE_MALLOC_CONF";
    static const char names[] = "\0je_mallctl\0.symtab\0.strtab";
    Elf64_Phdr segments[3] = {{.p_type = PT_LOAD,
                               .p_flags = PF_R,
                               .p_filesz = IMAGE_CODE,
                               .p_memsz = IMAGE_CODE},
                              {.p_type = PT_LOAD,
                               .p_flags = PF_R | PF_X,
                               .p_offset = IMAGE_CODE,
                               .p_vaddr = IMAGE_CODE,
                               .p_filesz = IMAGE_SIZE - IMAGE_CODE,
                               .p_memsz = IMAGE_SIZE - IMAGE_CODE},
                              {.p_type = PT_DYNAMIC,
                               .p_offset = IMAGE_DYNAMIC,
                               .p_vaddr = IMAGE_DYNAMIC,
                               .p_filesz = 5 * sizeof(Elf64_Dyn)}};
    Elf64_Ehdr header = {.e_ident = ELFMAG,
                         .e_type = ET_DYN,
                         .e_machine = wish->machine,
                         .e_phoff = sizeof(Elf64_Ehdr),
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = 3};
    size_t at = IMAGE_TEXTS + sizeof(texts), code = IMAGE_CALLS;
    unsigned mallctl = wish->names ? wish->names : IMAGE_NAMES_COUNT;

    memset(image, 0, IMAGE_SIZE);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    if (wish->symbols == IMAGE_SYMTAB) {
        header.e_shoff = IMAGE_SECTIONS;
        header.e_shentsize = sizeof(Elf64_Shdr);
        header.e_shnum = 3;
        header.e_shstrndx = 2;
        image_sections(image);
    }
    if (wish->symbols == IMAGE_EXPORTS)
        image_dynamic(image);
    if (wish->symbols != IMAGE_STRIPPED) {
        image_symbol(image + IMAGE_SYMBOLS);
        memcpy(image + IMAGE_NAMES, names, sizeof(names));
    }
    memcpy(image, &header, sizeof(header));
    memcpy(image + sizeof(header), segments, sizeof(segments));
    memcpy(image + IMAGE_TEXTS, texts, sizeof(texts));
    memset(image + IMAGE_MALLCTL, 0x5a, 0x80);
    for (unsigned i = 0; i < mallctl + wish->strays; i++) {
        const char *name = image_names[i % IMAGE_NAMES_COUNT];
        size_t target = i < mallctl ? IMAGE_MALLCTL : IMAGE_OTHER;

        memcpy(image + at, name, strlen(name) + 1);
        code = wish->machine == EM_AARCH64
                   ? image_call_arm(image, code, at, target, wish->four)
                   : image_call_x86(image, code, at, target, wish->four);
        at += strlen(name) + 1;
    }
}

#endif
