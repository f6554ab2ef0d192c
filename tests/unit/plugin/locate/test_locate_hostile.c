/* test_locate_hostile.c - code of two machines, and files that lie. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "errors.h"
#include "locate.h"
#include "locate_inner.h"
#include "located_image.h"
#include "suite.h"

static struct locate file;
static uint8_t image[IMAGE_SIZE];

static void
locate(const void *bytes, size_t size)
{
    int fd = memfd_create("image", MFD_CLOEXEC);
    struct error err;

    ck_assert_int_eq((int)write(fd, bytes, size), (int)size);
    ck_assert_int_eq(locate_read(&file, fd, NULL, &err), 0);
    close(fd);
}

static void
locate_image_spec(const struct image_spec *wish)
{
    image_make(image, wish);
    locate(image, sizeof(image));
    ck_assert_uint_eq(file.count, 1);
    ck_assert_str_eq(file.jemallocs[0].prefix, "je_");
    ck_assert_str_eq(file.jemallocs[0].variable, "JE_MALLOC_CONF");
}

/* If it is found, it is found at its real address. */
static void
check_found(enum locate_how how)
{
    ck_assert_int_eq(file.jemallocs[0].how, how);
    ck_assert_uint_eq(file.jemallocs[0].mallctl,
                      how == LOCATE_NOWHERE ? 0 : IMAGE_MALLCTL);
}

static const uint16_t machines[] = {EM_X86_64, EM_AARCH64};

START_TEST(code_and_symbols_are_found)
{
    uint16_t machine = machines[_i];

    locate_image_spec(&(struct image_spec){machine});
    check_found(LOCATE_SCAN);
    ck_assert_uint_eq(file.votes, IMAGE_NAMES_COUNT);
    locate_image_spec(&(struct image_spec){machine, IMAGE_EXPORTS});
    check_found(LOCATE_EXPORTED);
    locate_image_spec(&(struct image_spec){machine, IMAGE_SYMTAB});
    check_found(LOCATE_SYMTAB);
}
END_TEST

START_TEST(five_names_and_four_fifths_are_needed)
{
    uint16_t machine = machines[_i];

    locate_image_spec(&(struct image_spec){machine, .names = 5});
    check_found(LOCATE_SCAN);
    locate_image_spec(&(struct image_spec){machine, .names = 4});
    check_found(LOCATE_NOWHERE);
    locate_image_spec(&(struct image_spec){machine, .names = 8, .strays = 2});
    check_found(LOCATE_SCAN);
    locate_image_spec(&(struct image_spec){machine, .names = 8, .strays = 3});
    check_found(LOCATE_NOWHERE);
    locate_image_spec(&(struct image_spec){machine, .four = true});
    check_found(LOCATE_NOWHERE);
    ck_assert_uint_eq(file.votes, 0);
}
END_TEST

START_TEST(another_machine_is_not_scanned)
{
    locate_image_spec(&(struct image_spec){EM_RISCV});
    check_found(LOCATE_NOWHERE);
    locate_image_spec(&(struct image_spec){EM_RISCV, IMAGE_EXPORTS});
    check_found(LOCATE_EXPORTED);
}
END_TEST

/* Whatever is found must be an address of code in the file. */
static void
check_sane(size_t size)
{
    ck_assert_uint_le(file.count, LOCATE_JEMALLOCS_MAX);
    for (size_t i = 0; i < file.count; i++) {
        const struct locate_jemalloc *j = &file.jemallocs[i];

        ck_assert_uint_lt(strlen(j->prefix), LOCATE_PREFIX_MAX);
        ck_assert_uint_lt(strlen(j->variable), LOCATE_VARIABLE_MAX);
        ck_assert((j->mallctl == 0) == (j->how == LOCATE_NOWHERE));
    }
    (void)size;
}

static const struct image_spec hostile[] = {
    {EM_X86_64, IMAGE_STRIPPED},
    {EM_X86_64, IMAGE_EXPORTS},
    {EM_X86_64, IMAGE_SYMTAB},
    {EM_AARCH64, IMAGE_STRIPPED},
};

START_TEST(a_file_that_is_cut_off_is_read_as_far_as_it_goes)
{
    image_make(image, &hostile[_i]);
    for (size_t size = 0; size < IMAGE_SIZE; size += size < 0x100 ? 1 : 7) {
        locate(image, size);
        check_sane(size);
    }
}
END_TEST

START_TEST(any_wild_byte_in_its_tables_is_survived)
{
    static const uint8_t wild[] = {0x00, 0x7f, 0x80, 0xff};

    image_make(image, &hostile[_i]);
    for (size_t at = 0; at < IMAGE_CODE;
         at = at == 0x100 ? IMAGE_SYMBOLS : at + 1) {
        uint8_t was = image[at];

        for (size_t k = 0; k < sizeof(wild); k++) {
            image[at] = wild[k];
            locate(image, sizeof(image));
            check_sane(sizeof(image));
        }
        image[at] = was;
        if (at >= IMAGE_SECTIONS + 3 * sizeof(Elf64_Shdr))
            break;
    }
}
END_TEST

/* A symbol outside of the code, or of no function, is ignored. */
START_TEST(a_symbol_must_be_a_function_in_the_code)
{
    static const uint64_t elsewhere[] = {0, IMAGE_TEXTS, IMAGE_SIZE,
                                         (uint64_t)1 << 63, UINT64_MAX};
    Elf64_Sym *symbol = (Elf64_Sym *)(void *)(image + IMAGE_SYMBOLS) + 1;

    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
        image_make(image, &hostile[1]);
        symbol->st_value = elsewhere[i];
        locate(image, sizeof(image));
        check_found(LOCATE_SCAN);
    }
    image_make(image, &hostile[1]);
    symbol->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    locate(image, sizeof(image));
    check_found(LOCATE_SCAN);
}
END_TEST

/* A symbol of that name without the jemalloc is another library's. */
START_TEST(without_the_mark_a_symbol_says_nothing)
{
    image_make(image, &hostile[1]);
    image[IMAGE_TEXTS] = '>';
    locate(image, sizeof(image));
    ck_assert_uint_eq(file.count, 0);
}
END_TEST

/* Two million symbols, all of whose names end like it, and one that is meant.
 */
START_TEST(millions_of_symbols_take_no_second)
{
    enum { SYMBOLS = 2000000, NAMES = 32 << 20 };
    const size_t table = IMAGE_SIZE,
                 names = table + SYMBOLS * sizeof(Elf64_Sym);
    Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(image + IMAGE_SECTIONS);
    uint8_t *whole = calloc(1, names + NAMES);
    uint64_t before;

    ck_assert_ptr_nonnull(whole);
    image_make(image, &hostile[2]);
    sections[1].sh_offset = table;
    sections[1].sh_size = SYMBOLS * sizeof(Elf64_Sym);
    sections[2].sh_offset = names;
    sections[2].sh_size = NAMES;
    memcpy(whole, image, sizeof(image));
    for (size_t i = 0; i < SYMBOLS; i++) {
        memcpy(whole + table + i * sizeof(Elf64_Sym),
               image + IMAGE_SYMBOLS + sizeof(Elf64_Sym), sizeof(Elf64_Sym));
        image_put(whole + table + i * sizeof(Elf64_Sym),
                  1 + i * 16 % (NAMES - 32), 4);
    }
    for (size_t at = 1; at + 32 < NAMES; at += 16)
        memcpy(whole + names + at, "xx_mallctl", 11);
    memcpy(whole + names, image + IMAGE_NAMES, 32);
    before = suite_cpu_ms();
    locate(whole, names + NAMES);
    before = suite_cpu_ms() - before;
    ck_assert_uint_eq(file.count, 1);
    ck_assert_uint_eq(file.jemallocs[0].mallctl, IMAGE_MALLCTL);
    ck_assert_msg(before < 5000, "%llu ms", (unsigned long long)before);
    free(whole);
}
END_TEST

/* ---- functions that call one another without end ---- */

enum {
    MAZE_FUNCTIONS = 2000,
    MAZE_CODE = 0x1000,
    MAZE_STEP = 512, /* they overlap: each is 64 KB long */
    MAZE_BODY = 1 << 16,
    MAZE_FRAMES = MAZE_CODE + MAZE_FUNCTIONS * MAZE_STEP + MAZE_BODY,
    MAZE_TABLE = MAZE_FRAMES + 16 * MAZE_FUNCTIONS,
    MAZE_SIZE = MAZE_TABLE + 12 + 8 * MAZE_FUNCTIONS
};

static uint8_t maze[MAZE_SIZE];

/* Each call leads from its place to another function. */
static void
make_maze(void)
{
    const Elf64_Phdr segments[2] = {{.p_type = PT_LOAD,
                                     .p_flags = PF_R | PF_X,
                                     .p_filesz = MAZE_SIZE,
                                     .p_memsz = MAZE_SIZE},
                                    {.p_type = PT_GNU_EH_FRAME,
                                     .p_flags = PF_R,
                                     .p_offset = MAZE_TABLE,
                                     .p_vaddr = MAZE_TABLE,
                                     .p_filesz = MAZE_SIZE - MAZE_TABLE}};
    Elf64_Ehdr header = {.e_ident = ELFMAG,
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_phoff = sizeof(Elf64_Ehdr),
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = 2};
    const uint8_t head[] = {1, 0x1b, 0x03, 0x3b};

    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    memcpy(maze, &header, sizeof(header));
    memcpy(maze + sizeof(header), segments, sizeof(segments));
    for (uint64_t at = MAZE_CODE, i = 0; at + 5 <= MAZE_FRAMES; at += 5, i++) {
        maze[at] = 0xe8;
        image_put(maze + at + 1,
                  MAZE_CODE + i * 7 % MAZE_FUNCTIONS * MAZE_STEP - (at + 5), 4);
    }
    memcpy(maze + MAZE_TABLE, head, sizeof(head));
    image_put(maze + MAZE_TABLE + 8, MAZE_FUNCTIONS, 4);
    for (uint64_t i = 0; i < MAZE_FUNCTIONS; i++) {
        uint64_t start = MAZE_CODE + i * MAZE_STEP;
        uint64_t fde = MAZE_FRAMES + 16 * i;

        image_put(maze + fde + 8, start - (fde + 8), 4);
        image_put(maze + fde + 12, MAZE_BODY, 4);
        image_put(maze + MAZE_TABLE + 12 + 8 * i, start - MAZE_TABLE, 4);
        image_put(maze + MAZE_TABLE + 16 + 8 * i, fde - MAZE_TABLE, 4);
    }
}

/* No jemalloc is so large: it is given up in time, with a reason. */
START_TEST(a_maze_of_calls_has_an_end)
{
    int fd = memfd_create("maze", MFD_CLOEXEC);
    struct timespec before, after;
    struct elf_file elf;
    struct error err;

    make_maze();
    ck_assert_int_eq((int)write(fd, maze, MAZE_SIZE), MAZE_SIZE);
    ck_assert_int_eq(elf_init(&elf, fd, "", &err), 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    ck_assert_ptr_null(locate_inner_new(&elf, MAZE_CODE, &err));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    ck_assert_ptr_nonnull(
        strstr(err.text, "mallctl reaches more than any jemalloc has"));
    ck_assert_int_lt((after.tv_sec - before.tv_sec) * 1000 +
                         (after.tv_nsec - before.tv_nsec) / 1000000,
                     1000);
    elf_fini(&elf);
    close(fd);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("locate_hostile");
    TCase *tcase = tcase_create("locate_hostile");
    const int kinds = sizeof(hostile) / sizeof(hostile[0]);

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, code_and_symbols_are_found, 0, 2);
    tcase_add_loop_test(tcase, five_names_and_four_fifths_are_needed, 0, 2);
    tcase_add_test(tcase, another_machine_is_not_scanned);
    tcase_add_loop_test(tcase, a_file_that_is_cut_off_is_read_as_far_as_it_goes,
                        0, kinds);
    tcase_add_loop_test(tcase, any_wild_byte_in_its_tables_is_survived, 0,
                        kinds);
    tcase_add_test(tcase, a_symbol_must_be_a_function_in_the_code);
    tcase_add_test(tcase, without_the_mark_a_symbol_says_nothing);
    tcase_add_test(tcase, millions_of_symbols_take_no_second);
    tcase_add_test(tcase, a_maze_of_calls_has_an_end);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
