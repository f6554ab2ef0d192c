/* suite.h - the main() that every unit test shares. */
#ifndef HW_SUITE_H
#define HW_SUITE_H

#include <check.h>
#include <stdlib.h>

static inline int
suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;

    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
