/* test_locate.c - what jemalloc a file brings: locate_hosts.cmake has them. */
#include "locate.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "suite.h"

static struct locate file;
static struct error err;

static void
locate(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(locate_read(&file, fd, path, &err), 0);
    close(fd);
}

static void
locate_host(const char *name, const char *suffix)
{
    char path[512];

    snprintf(path, sizeof(path), HW_TEST_HOSTS "/host_%s%s", name, suffix);
    locate(path);
}

static const struct {
    const char *name, *prefix, *variable;
    enum locate_kind kind;
    enum locate_how how; /* before it is stripped */
    enum locate_how then;
    unsigned marks;
} hosts[] = {
    {"je", "je", "JEMALLOC_CONF", LOCATE_DYNAMIC, LOCATE_SYMTAB, LOCATE_SCAN},
    {"fixed", "je_", "JE_MALLOC_CONF", LOCATE_DYNAMIC, LOCATE_SYMTAB,
     LOCATE_SCAN},
    {"static", "_rjem_", "_RJEM_MALLOC_CONF", LOCATE_STATIC, LOCATE_SYMTAB,
     LOCATE_SCAN},
    {"static_pie", "je_", "JE_MALLOC_CONF", LOCATE_STATIC_PIE, LOCATE_SYMTAB,
     LOCATE_SCAN},
    {"any", "Any_", "ANY_MALLOC_CONF", LOCATE_DYNAMIC, LOCATE_SYMTAB,
     LOCATE_SCAN, LOCATE_SETS_PROF | LOCATE_SETS_ACTIVE | LOCATE_SETS_SAMPLE},
    {"plain", "", "MALLOC_CONF", LOCATE_DYNAMIC, LOCATE_SYMTAB, LOCATE_SCAN},
    {"exported", "je_", "JE_MALLOC_CONF", LOCATE_DYNAMIC, LOCATE_EXPORTED,
     LOCATE_EXPORTED},
    {"renamed", "zz_", "JE_MALLOC_CONF", LOCATE_DYNAMIC, LOCATE_SYMTAB,
     LOCATE_SCAN},
    {"no_id", "je_", "JE_MALLOC_CONF", LOCATE_DYNAMIC, LOCATE_SYMTAB,
     LOCATE_SCAN},
};

START_TEST(a_prefixed_jemalloc_is_found_with_and_without_symbols)
{
    const unsigned own =
        LOCATE_JEMALLOC | LOCATE_PROFILES |
        (hosts[_i].kind == LOCATE_DYNAMIC ? LOCATE_LIBC_START : 0);
    struct locate whole;

    locate_host(hosts[_i].name, "");
    whole = file;
    ck_assert_int_eq(file.kind, hosts[_i].kind);
    ck_assert_uint_eq(file.marks, own | hosts[_i].marks);
    ck_assert_uint_eq(file.count, 1);
    ck_assert_str_eq(file.jemallocs[0].prefix, hosts[_i].prefix);
    ck_assert_str_eq(file.jemallocs[0].variable, hosts[_i].variable);
    ck_assert_int_eq(file.jemallocs[0].how, hosts[_i].how);
    ck_assert_uint_ne(file.jemallocs[0].mallctl, 0);

    locate_host(hosts[_i].name, ".stripped");
    ck_assert_int_eq(file.kind, hosts[_i].kind);
    ck_assert_uint_eq(file.marks, whole.marks);
    ck_assert_uint_eq(file.count, 1);
    ck_assert_str_eq(file.jemallocs[0].variable, hosts[_i].variable);
    ck_assert_int_eq(file.jemallocs[0].how, hosts[_i].then);
    ck_assert_uint_eq(file.jemallocs[0].mallctl, whole.jemallocs[0].mallctl);
    ck_assert_str_eq(file.jemallocs[0].identity, whole.jemallocs[0].identity);
}
END_TEST

START_TEST(a_split_debug_file_of_the_same_build_is_asked)
{
    uint64_t mallctl;

    locate_host("any", "");
    mallctl = file.jemallocs[0].mallctl;
    locate_host("any", ".split");
    ck_assert_int_eq(file.jemallocs[0].how, LOCATE_DEBUG);
    ck_assert_str_eq(file.jemallocs[0].prefix, "Any_");
    ck_assert_uint_eq(file.jemallocs[0].mallctl, mallctl);
    /* Which is whose cannot be said without a build-id. */
    locate_host("no_id", ".split");
    ck_assert_int_eq(file.jemallocs[0].how, LOCATE_SCAN);
}
END_TEST

/* A compiler that sees callers and function at once makes another one of it,
 * with fewer arguments: that is not to be called. */
START_TEST(what_is_no_mallctl_any_more_is_not_found)
{
    locate_host("cloned", ".stripped");
    ck_assert_uint_eq(file.count, 1);
    ck_assert_str_eq(file.jemallocs[0].prefix, "je_");
    ck_assert_int_eq(file.jemallocs[0].how, LOCATE_NOWHERE);
    ck_assert_uint_eq(file.jemallocs[0].mallctl, 0);
}
END_TEST

START_TEST(without_a_build_id_the_code_identifies)
{
    const char *identity = file.jemallocs[0].identity;

    locate_host("no_id", "");
    ck_assert_str_eq(file.build_id, "");
    ck_assert_int_eq(identity[0], '-');
    ck_assert_uint_eq(strlen(identity), 1 + 2 * LOCATE_CODE_BYTES);
}
END_TEST

/* Each with its own variable, though the texts are shared. */
START_TEST(two_in_one_program_are_distinguished)
{
    struct locate whole;

    locate_host("two", "");
    whole = file;
    ck_assert_uint_eq(file.count, 2);
    ck_assert_uint_ne(file.jemallocs[0].mallctl, file.jemallocs[1].mallctl);
    locate_host("two", ".stripped");
    ck_assert_uint_eq(file.count, 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(file.jemallocs[i].how, LOCATE_SCAN);
        ck_assert_str_eq(file.jemallocs[i].prefix, whole.jemallocs[i].prefix);
        ck_assert_uint_eq(file.jemallocs[i].mallctl,
                          whole.jemallocs[i].mallctl);
    }
}
END_TEST

START_TEST(debians_jemalloc_is_found_in_a_program)
{
    uint64_t mallctl;

    locate_host("real", "");
    mallctl = file.jemallocs[0].mallctl;
    ck_assert_int_ne(file.jemallocs[0].how, LOCATE_SCAN);
    locate_host("real", ".stripped");
    ck_assert_uint_eq(file.count, 1);
    ck_assert_uint_eq(file.jemallocs[0].mallctl, mallctl);
    ck_assert_str_eq(file.jemallocs[0].prefix, "");
    ck_assert_str_eq(file.jemallocs[0].variable, "MALLOC_CONF");
    ck_assert_uint_eq(file.marks, LOCATE_JEMALLOC | LOCATE_PROFILES |
                                      LOCATE_COUNTS | LOCATE_LIBC_START);
    ck_assert_int_eq(strncmp(file.version, "5.", 2), 0);
}
END_TEST

START_TEST(what_has_no_jemalloc_has_none)
{
    static const char *const others[] = {"/bin/sh", "/proc/self/exe",
                                         "/etc/passwd", "/dev/null"};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        locate(others[i]);
        ck_assert_uint_eq(file.count, 0);
        ck_assert_uint_eq(file.marks & LOCATE_JEMALLOC, 0);
    }
    ck_assert_int_eq(file.kind, LOCATE_OTHER);
}
END_TEST

static unsigned files, finds;

static int
see_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
    int fd = -1;

    (void)at;
    if (type == FTW_F && st->st_size > 0)
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return 0;
    ck_assert_int_eq(locate_read(&file, fd, path, &err), 0);
    close(fd);
    files++;
    finds += file.count > 0;
    ck_assert_msg(file.count == 0 || strstr(path, "jemalloc"), "%s", path);
    return 0;
}

/* Whatever is installed here; HEAPWIRE_TEST_ALL: all of it, for a minute. */
START_TEST(nothing_that_is_installed_is_taken_for_one)
{
    static const char *const trees[] = {"/usr/bin", "/usr/sbin", "/usr/lib",
                                        "/usr/libexec"};
    const char *all = getenv("HEAPWIRE_TEST_ALL"); /* NOLINT: one thread */

    if (!all) {
        static const char *const some[] = {"/usr/sbin/mariadbd", "/bin/bash",
                                           "/usr/bin/redis-server"};
        struct stat st;

        for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
            if (stat(some[i], &st) == 0)
                see_file(some[i], &st, FTW_F, NULL);
        }
        return;
    }
    for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
        nftw(trees[i], see_file, 32, FTW_PHYS);
    printf("%u files, %u of jemalloc\n", files, finds);
    ck_assert_uint_gt(files, 100);
    ck_assert_uint_gt(finds, 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("locate");
    TCase *tcase = tcase_create("locate");

    tcase_add_loop_test(tcase,
                        a_prefixed_jemalloc_is_found_with_and_without_symbols,
                        0, sizeof(hosts) / sizeof(hosts[0]));
    tcase_add_test(tcase, a_split_debug_file_of_the_same_build_is_asked);
    tcase_add_test(tcase, what_is_no_mallctl_any_more_is_not_found);
    tcase_add_test(tcase, without_a_build_id_the_code_identifies);
    tcase_add_test(tcase, two_in_one_program_are_distinguished);
    tcase_add_test(tcase, debians_jemalloc_is_found_in_a_program);
    tcase_add_test(tcase, what_has_no_jemalloc_has_none);
    tcase_add_test(tcase, nothing_that_is_installed_is_taken_for_one);
    tcase_set_timeout(tcase, 300);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
