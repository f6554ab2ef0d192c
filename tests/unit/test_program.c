/* test_program.c - finding the command, and telling what it is. */
#include "program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "memory.h"
#include "suite.h"

static char path[] = "/tmp/test_program.XXXXXX";

static void
write_file(const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq((int)write(fd, data, size), (int)size);
    close(fd);
}

/* A whole program in 512 bytes: one PT_LOAD, a PT_INTERP, a PT_DYNAMIC, and
 * names of our choice. */
static size_t
make_program(uint8_t image[512], const char *names, size_t names_size)
{
    enum { SEGMENTS = 3, DYNAMIC_AT = 256, NAMES_AT = 304, BASE = 0x400000 };
    Elf64_Ehdr header = {.e_type = ET_DYN,
                         .e_phoff = sizeof(Elf64_Ehdr),
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = SEGMENTS};
    Elf64_Phdr segments[SEGMENTS] = {
        {.p_type = PT_INTERP},
        {.p_type = PT_LOAD, .p_vaddr = BASE, .p_filesz = 512},
        {.p_type = PT_DYNAMIC,
         .p_offset = DYNAMIC_AT,
         .p_filesz = 3 * sizeof(Elf64_Dyn)},
    };
    Elf64_Dyn dynamic[3] = {{.d_tag = DT_STRTAB, .d_un.d_val = BASE + NAMES_AT},
                            {.d_tag = DT_STRSZ, .d_un.d_val = names_size},
                            {.d_tag = DT_NULL}};

    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    memset(image, 0, 512);
    memcpy(image, &header, sizeof(header));
    memcpy(image + sizeof(header), segments, sizeof(segments));
    memcpy(image + DYNAMIC_AT, dynamic, sizeof(dynamic));
    memcpy(image + NAMES_AT, names, names_size);
    return NAMES_AT + names_size;
}

static const struct {
    const char *names;
    size_t size;
    enum program_kind kind;
} cases[] = {
    {"\0libc.so.6\0malloc", 18, PROGRAM_PLAIN},
    {"\0libjemalloc.so.2", 18, PROGRAM_ALLOCATOR},
    {"\0libjemalloc.so", 16, PROGRAM_ALLOCATOR},
    {"\0libtcmalloc_minimal.so.4", 26, PROGRAM_ALLOCATOR},
    {"\0free\0mallctl", 14, PROGRAM_ALLOCATOR},
    {"\0je_mallctl", 12, PROGRAM_ALLOCATOR},
    {"\0_rjem_mallctl\0x", 17, PROGRAM_ALLOCATOR},
    {"\0mallctlbymib\0my_mallctl", 25, PROGRAM_PLAIN},
    {"\0mallctl", 8, PROGRAM_PLAIN}, /* its NUL is cut off */
};

START_TEST(names_tell_an_allocator)
{
    uint8_t image[512];

    write_file(image, make_program(image, cases[_i].names, cases[_i].size));
    ck_assert_int_eq(program_kind(path), cases[_i].kind);
}
END_TEST

START_TEST(a_cut_off_program_is_never_an_allocator)
{
    uint8_t image[512];
    size_t size = make_program(image, "\0mallctl", 9);

    write_file(image, size);
    ck_assert_int_eq(program_kind(path), PROGRAM_ALLOCATOR);
    for (size_t n = 0; n < size; n++) {
        write_file(image, n);
        ck_assert_int_ne(program_kind(path), PROGRAM_ALLOCATOR);
    }
}
END_TEST

START_TEST(any_wild_byte_is_survived)
{
    static const uint8_t wild[] = {0x00, 0x7f, 0x80, 0xff};
    uint8_t image[512];
    size_t size = make_program(image, "\0mallctl", 9);

    for (size_t at = 0; at < size; at++) {
        uint8_t was = image[at];

        image[at] = wild[_i];
        write_file(image, size);
        ck_assert_int_le(program_kind(path), PROGRAM_UNKNOWN);
        image[at] = was;
    }
}
END_TEST

START_TEST(scripts_and_strangers_are_told)
{
    write_file("#!/bin/sh\n", 10);
    ck_assert_int_eq(program_kind(path), PROGRAM_SCRIPT);
    write_file("#", 1);
    ck_assert_int_eq(program_kind(path), PROGRAM_UNKNOWN);
    write_file("", 0);
    ck_assert_int_eq(program_kind(path), PROGRAM_UNKNOWN);
    ck_assert_int_eq(program_kind("/nonexistent"), PROGRAM_UNKNOWN);
    ck_assert_int_eq(program_kind("/bin/sh"), PROGRAM_PLAIN);
}
END_TEST

START_TEST(commands_are_found_as_the_shell_finds_them)
{
    struct error err;
    int status = 0;
    char *found;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe) */
    setenv("PATH", "/nonexistent:/bin:/usr/bin", 1);
    found = program_find("sh", &status, &err);
    ck_assert_str_eq(found, "/bin/sh");
    mem_free(found);
    found = program_find("/bin/../bin/sh", &status, &err);
    ck_assert_str_eq(found, "/bin/../bin/sh");
    mem_free(found);
    ck_assert_ptr_null(program_find("no-such-command", &status, &err));
    ck_assert_int_eq(status, 127);
    ck_assert_ptr_null(program_find("/etc", &status, &err));
    ck_assert_int_eq(status, 126);
    ck_assert_ptr_null(program_find("", &status, &err));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("program");
    TCase *tcase = tcase_create("program");
    int fd = mkstemp(path), rc;

    close(fd);
    tcase_add_loop_test(tcase, names_tell_an_allocator, 0,
                        sizeof(cases) / sizeof(cases[0]));
    tcase_add_test(tcase, a_cut_off_program_is_never_an_allocator);
    tcase_add_loop_test(tcase, any_wild_byte_is_survived, 0, 4);
    tcase_add_test(tcase, scripts_and_strangers_are_told);
    tcase_add_test(tcase, commands_are_found_as_the_shell_finds_them);
    suite_add_tcase(suite, tcase);
    rc = suite_run(suite);
    unlink(path);
    return rc;
}
