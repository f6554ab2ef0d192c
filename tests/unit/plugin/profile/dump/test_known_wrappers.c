/* test_known_wrappers.c - well-known databases' allocation functions. */
#include <string.h>

#include "buffer.h"
#include "allocator.h"
#include "suite.h"

static const struct {
    const char *program, *function;
    bool is;
} functions[] = {
    {"/usr/bin/redis-server", "zmalloc_usable", true},
    {"/usr/bin/redis-check-rdb", "ztrycalloc_usable_internal", true},
    {"redis-server", "zstrdup", true},
    {"redis-server", "sdsnewlen", false},
    {"redis-server", "zset", false},
    {"/opt/valkey-server", "valkey_malloc", true},
    {"/opt/keydb-server", "zmalloc(unsigned long, MALLOC_CLASS)", true},
    {"/srv/redis-1/app", "zmalloc", false},
    {"/usr/sbin/mariadbd", "my_malloc", true},
    {"/usr/sbin/mysqld", "my_malloc(unsigned int, unsigned long, int)", true},
    {"mysqld-debug", "MEM_ROOT::AllocSlow(unsigned long)", true},
    {"mariadbd", "my_multi_malloc_large", true},
    {"mariadbd", "alloc_root", true},
    {"mariadbd", "init_alloc_root", false},
    {"mysql", "my_malloc", false},
    {"/usr/lib/postgresql/15/bin/postgres", "palloc0", true},
    {"postgres", "MemoryContextAllocExtended", true},
    {"postgres", "AllocSetAlloc.part.0", true},
    {"postgres", "AllocSetContextCreateInternal", false},
    {"postgres", "psprintf", false},
    {"", "zmalloc", false},
};

START_TEST(they_are_known_by_program)
{
    const char *function = functions[_i].function;
    const char *list = known_wrappers(functions[_i].program, NULL);
    struct buffer scratch;

    buffer_init(&scratch, 1024);
    ck_assert_msg(wrappers_have(list, (struct span){function, strlen(function)},
                                &scratch) == functions[_i].is,
                  "%s of %s", function, functions[_i].program);
    buffer_fini(&scratch);
}
END_TEST

START_TEST(the_users_list_may_switch_them_off)
{
    static const char program[] = "redis-server";

    ck_assert_str_ne(known_wrappers(program, ""), "");
    ck_assert_str_ne(known_wrappers(program, "f"), "");
    ck_assert_str_ne(known_wrappers(program, "nonesuch"), "");
    ck_assert_str_ne(known_wrappers(program, "f,none"), "");
    ck_assert_str_eq(known_wrappers(program, "none"), "");
    ck_assert_str_eq(known_wrappers(program, "none,f"), "");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("known_wrappers");
    TCase *tc = tcase_create("known_wrappers");

    tcase_add_loop_test(tc, they_are_known_by_program, 0,
                        sizeof(functions) / sizeof(functions[0]));
    tcase_add_test(tc, the_users_list_may_switch_them_off);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
