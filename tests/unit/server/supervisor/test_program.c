/* test_program.c - finding the command. */
#include "wrapper.h"

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

START_TEST(scripts_are_recognised)
{
    write_file("#!/bin/sh\n", 10);
    ck_assert(program_is_script(path));
    write_file("#", 1);
    ck_assert(!program_is_script(path));
    write_file("", 0);
    ck_assert(!program_is_script(path));
    ck_assert(!program_is_script("/nonexistent"));
    ck_assert(!program_is_script("/bin/sh"));
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
    tcase_add_test(tcase, scripts_are_recognised);
    tcase_add_test(tcase, commands_are_found_as_the_shell_finds_them);
    suite_add_tcase(suite, tcase);
    rc = suite_run(suite);
    unlink(path);
    return rc;
}
