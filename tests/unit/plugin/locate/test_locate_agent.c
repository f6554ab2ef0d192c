/* test_locate_agent.c - locating as the agent does it: malloc is the host's. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "errors.h"
#include "locate.h"
#include "memory.h"
#include "suite.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static unsigned calls;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

/* What libc does inside its functions comes here as well. */
__attribute__((visibility("default"))) void *
malloc(size_t size)
{
    calls++;
    return __libc_malloc(size);
}

__attribute__((visibility("default"))) void *
calloc(size_t count, size_t size)
{
    calls++;
    return __libc_calloc(count, size);
}

__attribute__((visibility("default"))) void *
realloc(void *old, size_t size)
{
    calls++;
    return __libc_realloc(old, size);
}

START_TEST(the_hosts_malloc_is_never_called)
{
    static const char *const hosts[] = {"/host_je", "/host_je.stripped",
                                        "/host_any.split", "/host_real"};
    struct locate file;
    struct error err;

    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        char path[512];
        unsigned before;
        int fd, rc;

        snprintf(path, sizeof(path), HW_TEST_HOSTS "%s", hosts[i]);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        before = calls;
        rc = locate_read(&file, fd, NULL, &err);
        ck_assert_uint_eq(calls, before);
        ck_assert_int_eq(rc, 0);
        ck_assert_uint_eq(file.count, 1);
        ck_assert_int_ne(file.jemallocs[0].how, LOCATE_NOWHERE);
        close(fd);
    }
    ck_assert_uint_gt(calls, 0);
}
END_TEST
#endif

START_TEST(a_block_grows_and_keeps_what_is_in_it)
{
    char *block = mem_alloc(3);

    ck_assert_ptr_nonnull(block);
    memcpy(block, "ab", 3);
    for (size_t size = 5000; size < 50000000; size *= 10) {
        block = mem_realloc(block, size);
        ck_assert_ptr_nonnull(block);
        ck_assert_str_eq(block, "ab");
        ck_assert_int_eq(block[size - 1], 0);
    }
    mem_free(block);
    mem_free(NULL);
    ck_assert_ptr_null(mem_alloc(SIZE_MAX));
    ck_assert_ptr_null(mem_alloc(SIZE_MAX - 16));
    ck_assert_ptr_null(mem_zalloc(SIZE_MAX, 2));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("locate_agent");
    TCase *tcase = tcase_create("locate_agent");

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    tcase_add_test(tcase, the_hosts_malloc_is_never_called);
#endif
    tcase_add_test(tcase, a_block_grows_and_keeps_what_is_in_it);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
