/* test_index_faults.c - the keeper of symbol indexes, without memory. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "errors.h"
#include "failing_memory.h"
#include "index_service.h"
#include "suite.h"

START_TEST(without_memory_there_is_an_error)
{
    char directory[] = "/tmp/hw-indexes-XXXXXX", dir[64];
    struct index_service_options options = index_service_defaults;
    struct index_service *keeper = NULL;
    struct error err;

    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(dir, sizeof(dir), "%s/symbols", directory);
    options.dir = dir;
    options.program = "/none";
    for (failing = 1; !keeper; failing++) {
        allocations = 0;
        memset(&err, 0, sizeof(err));
        keeper = index_service_start(&options, &err);
        if (!keeper)
            ck_assert_ptr_nonnull(strstr(err.text, "memory"));
    }
    ck_assert_uint_gt(failing, 2);
    index_service_stop(keeper);
    ck_assert_int_eq(rmdir(dir), 0);
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("index_faults");
    TCase *tc = tcase_create("index_faults");

    tcase_add_test(tc, without_memory_there_is_an_error);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
