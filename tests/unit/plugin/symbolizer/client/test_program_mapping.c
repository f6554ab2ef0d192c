/* test_program_mapping.c - a binary's place in a process's address space. */
#include <elf.h>

#include "elf_file.h"
#include "mappings.h"
#include "symbolizer.h"
#include "suite.h"

static struct elf_segment segments[] = {
    {PT_LOAD, PF_R, 0, 0, 0x900, 0x900, 0x1000},
    {PT_LOAD, PF_R | PF_X, 0x1010, 0x2010, 0x2100, 0x2100, 0x1000},
};

static const struct elf_file elf = {.segments = segments, .segment_count = 2};

static const struct mapping list[] = {
    {0x10000, 0x11000, 0, 1, 2, false, false, "/bin/db"},
    {0x11000, 0x13000, 0x1000, 1, 2, true, false, "/bin/short"},
    {0x14000, 0x17000, 0x2000, 1, 3, true, false, "/bin/elsewhere"},
    {0x18000, 0x1b000, 0x1000, 1, 4, true, false, "/lib/fits.so"},
    {0x20000, 0x23000, 0x1000, 1, 5, true, true, "/other/db"},
    {0x30000, 0x33000, 0x1000, 1, 6, true, false, "/bin/db"},
    {0x40000, 0x43000, 0x1000, 0, 0, true, false, ""},
};

static const struct {
    const char *path;
    size_t first, count;
    uint64_t start; /* 0: none */
} cases[] = {
    {"/bin/db", 0, 7, 0x30000},     /* the path */
    {"/copy/of/db", 0, 6, 0x20000}, /* the file name */
    {"/tmp/x", 0, 7, 0x18000},      /* the first that fits */
    {"/tmp/x", 4, 1, 0x20000},      /* the only one, deleted or not */
    {"/bin/db", 0, 3, 0},           /* another place or size in the file */
    {"/bin/db", 6, 1, 0},           /* no file */
    {"/bin/db", 0, 0, 0},
};

START_TEST(it_is_found_by_its_headers)
{
    struct mappings maps = {list + cases[_i].first, cases[_i].count};
    const struct mapping *m = program_mapping(&maps, &elf, cases[_i].path);

    ck_assert_uint_eq(m ? m->start : 0, cases[_i].start);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("program_mapping");
    TCase *tc = tcase_create("program_mapping");

    tcase_add_loop_test(tc, it_is_found_by_its_headers, 0,
                        sizeof(cases) / sizeof(cases[0]));
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
