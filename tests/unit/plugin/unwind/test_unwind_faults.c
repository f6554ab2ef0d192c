/* test_unwind_faults.c - without memory, no table is made. */
#include <fcntl.h>
#include <unistd.h>

#include "buffer.h"
#include "elf_file.h"
#include "errors.h"
#include "failing_memory.h"
#include "suite.h"
#include "unwind_make.h"
#include "unwind_table.h"

enum { ALLOCATIONS_MAX = 1000 };

START_TEST(each_allocation_may_fail)
{
    struct unwind_table table;
    bool made = false;

    for (unsigned i = 1; !made && i < ALLOCATIONS_MAX; i++) {
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        struct elf_file elf = {0};
        struct error err = {0};
        struct buffer bytes;

        buffer_init(&bytes, UNWIND_TABLE_BYTES_MAX);
        ck_assert_int_eq(elf_init(&elf, fd, "self", &err), 0);
        ck_assert_int_eq(elf_load_sections(&elf, &err), 0);
        allocations = 0;
        failing = i;
        made = unwind_make(&elf, &bytes, &err) == 0;
        failing = 0;
        if (made)
            ck_assert(unwind_table_open(&table, bytes.data, bytes.size,
                                        elf.build_id, elf.build_id_size));
        else
            ck_assert_int_eq(err.code, ER_OUT_OF_MEMORY);
        buffer_fini(&bytes);
        elf_fini(&elf);
        close(fd);
    }
    ck_assert(made);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("unwind_faults");
    TCase *tc = tcase_create("faults");

    tcase_add_test(tc, each_allocation_may_fail);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
