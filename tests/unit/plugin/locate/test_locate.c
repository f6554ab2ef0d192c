/* test_locate.c - which jemalloc a file brings: locate_hosts.cmake builds
 * them. */
#include "locate.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "locate_inner.h"
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
    {"moved", "je_", "JE_MALLOC_CONF", LOCATE_DYNAMIC, LOCATE_SYMTAB,
     LOCATE_SCAN},
    {"no_frames", "je_", "JE_MALLOC_CONF", LOCATE_DYNAMIC, LOCATE_SYMTAB,
     LOCATE_SCAN},
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
    /* Without a build-id it cannot be known whether the debug file belongs to
     * it. */
    locate_host("no_id", ".split");
    ck_assert_int_eq(file.jemallocs[0].how, LOCATE_SCAN);
}
END_TEST

/* A compiler that sees a function and its callers may make a clone of it with
 * fewer arguments, which must not be called. */
START_TEST(what_is_no_mallctl_any_more_is_not_found)
{
    locate_host("cloned", ".stripped");
    ck_assert_uint_eq(file.count, 1);
    ck_assert_str_eq(file.jemallocs[0].prefix, "je_");
    ck_assert_int_eq(file.jemallocs[0].how, LOCATE_NOWHERE);
    ck_assert_uint_eq(file.jemallocs[0].mallctl, 0);
}
END_TEST

static const struct {
    const char *name;
    enum locate_start here, behind;
} starts[] = {
    {"je", LOCATE_START_HERE, LOCATE_START_ELSEWHERE},
    {"fixed", LOCATE_START_HERE, LOCATE_START_ELSEWHERE},
    {"no_frames", LOCATE_START_UNKNOWN, LOCATE_START_UNKNOWN},
};

START_TEST(where_functions_start_is_known_without_symbols)
{
    char path[512];
    struct elf_file elf;
    uint64_t mallctl;
    int fd;

    locate_host(starts[_i].name, "");
    mallctl = file.jemallocs[0].mallctl;
    snprintf(path, sizeof(path), HW_TEST_HOSTS "/host_%s.stripped",
             starts[_i].name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(elf_init(&elf, fd, path, &err), 0);
    ck_assert_int_eq(locate_starts(&elf, mallctl), starts[_i].here);
    for (uint64_t i = 1; i < 4; i++) {
        ck_assert_int_eq(locate_starts(&elf, mallctl + i), starts[_i].behind);
        ck_assert_int_eq(locate_starts(&elf, mallctl - i), starts[_i].behind);
    }
    ck_assert_int_eq(locate_starts(&elf, 0), starts[_i].behind);
    ck_assert_int_eq(locate_starts(&elf, UINT64_MAX), starts[_i].behind);
    elf_fini(&elf);
    close(fd);
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

/* Debian builds jemalloc for amd64 alone with profiles. */
#ifdef __x86_64__
enum { DEBIANS_PROFILES = LOCATE_PROFILES };
#define AT_THE_HEADER "there is no code"
#else
enum { DEBIANS_PROFILES = 0 };
#define AT_THE_HEADER "" /* a segment of code may begin with the header */
#endif

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
    ck_assert_uint_eq(file.marks, LOCATE_JEMALLOC | DEBIANS_PROFILES |
                                      LOCATE_COUNTS | LOCATE_NAMES |
                                      LOCATE_LIBC_START);
    ck_assert_int_eq(strncmp(file.version, "5.", 2), 0);
}
END_TEST

static const struct {
    const char *host, *function;
    bool inner;
} functions[] = {
    {"real", "je_malloc_default", true},
    {"real", "calloc", true},
    {"real", "posix_memalign", true},
#ifdef __x86_64__
    {"real", "je_prof_tctx_create", true},
    {"real_cxx", "_Z13fallback_implILb0EEPvm", true}, /* of operator new */
    {"real_cxx", "_Z13fallback_implILb1EEPvm", true},
#endif
    {"real", "je_arena_malloc_hard", true},
    {"real", "main", false},
    {"real", "_start", false},
    {"real_cxx", "je_malloc_default", true},
    {"real_cxx", "calloc", true},
    {"real_cxx", "program_new", false},
    {"real_cxx", "program_new_nothrow", false},
    {"real_cxx", "program_malloc", false},
    {"real_cxx", "program_wrapped", false},
    {"real_cxx", "main", false},
};

/* The address of a function, by nm. */
static uint64_t
address_of(const char *name, const char *function)
{
    char command[512], line[512], symbol[256];
    unsigned long long address, found = 0;
    FILE *symbols;

    snprintf(command, sizeof(command), "nm " HW_TEST_HOSTS "/host_%s", name);
    symbols = popen(command, "re"); /* NOLINT: one thread */
    ck_assert_ptr_nonnull(symbols);
    while (fgets(line, sizeof(line), symbols)) {
        if (sscanf(line, "%llx %*c %255s", &address, symbol) == 2 &&
            strcmp(symbol, function) == 0)
            found = address;
    }
    pclose(symbols);
    ck_assert_msg(found != 0, "%s", function);
    return found;
}

/* In the stripped program, at an address that is known from the other one. */
START_TEST(functions_of_jemalloc_are_known_without_symbols)
{
    const char *host = functions[_i].host;
    struct locate_inner *inner;
    struct elf_file elf;
    uint64_t mallctl, address = address_of(host, functions[_i].function);
    char path[512];
    int fd;

    snprintf(path, sizeof(path), HW_TEST_HOSTS "/host_%s.stripped", host);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(elf_init(&elf, fd, "", &err), 0);
    locate(path);
    mallctl = file.jemallocs[0].mallctl;
    inner = locate_inner_new(&elf, mallctl, &err);
    ck_assert_ptr_nonnull(inner);
    for (uint64_t behind = 0; behind < 2; behind++)
        ck_assert_msg(locate_inner_has(inner, address + behind) ==
                          functions[_i].inner,
                      "%s", functions[_i].function);
    ck_assert(!locate_inner_has(inner, 0));
    ck_assert(!locate_inner_has(inner, UINT64_MAX));
    locate_inner_free(inner);
    ck_assert_ptr_null(locate_inner_new(&elf, mallctl + 1, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "none starts where mallctl is"));
    elf_fini(&elf);
    close(fd);
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

/* Tries the files that are installed here; with HEAPWIRE_TEST_ALL all of them,
 * which takes a minute. */
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

/* ---- the user's word ---- */

/* Why the address is refused; "" if it is not. */
static const char *
against(const char *path, const char *symbol, uint64_t address)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc;

    ck_assert_int_ge(fd, 0);
    err.text[0] = '\0';
    rc = locate_give(&file, fd, path, symbol, address, &err);
    ck_assert_int_eq(rc, *err.text ? -1 : 0);
    close(fd);
    return err.text;
}

static void
ck_against(const char *path, uint64_t address, const char *words)
{
    const char *said = against(path, NULL, address);

    ck_assert_msg(*words ? strstr(said, words) != NULL : *said == '\0',
                  "%s, 0x%llx: %s", path, (unsigned long long)address, said);
}

static uint64_t
entry_of(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct elf_file elf;
    uint64_t entry = 0;

    ck_assert_int_eq(elf_init(&elf, fd, path, &err), 0);
    ck_assert_int_eq(pread(fd, &entry, sizeof(entry), 24), 8);
    elf_fini(&elf);
    close(fd);
    return entry;
}

START_TEST(an_address_is_taken_where_a_mallctl_is_called)
{
    static const char *const names[] = {"je", "fixed", "moved", "real"};
    char path[512];
    uint64_t address;

    locate_host(names[_i], "");
    address = file.jemallocs[0].mallctl;
    snprintf(path, sizeof(path), HW_TEST_HOSTS "/host_%s.stripped", names[_i]);
    locate(path);
    ck_against(path, address, "");
    ck_assert_int_eq(file.jemallocs[0].how, LOCATE_GIVEN);
    ck_assert_uint_eq(file.jemallocs[0].mallctl, address);
    ck_against(path, address + 1, "no function starts there");
    ck_against(path, address - 1, "no function starts there");
    ck_against(path, entry_of(path), "not take five");
    ck_against(path, 16, "no mallctl at 0x10: " AT_THE_HEADER);
    ck_assert_uint_eq(file.jemallocs[0].mallctl, address);
}
END_TEST

START_TEST(a_file_without_a_jemalloc_has_no_mallctl)
{
    locate("/bin/sh");
    ck_against("/bin/sh", entry_of("/bin/sh"), "the file has no jemalloc");
}
END_TEST

START_TEST(an_address_without_frames_is_refused)
{
    locate_host("no_frames", "");
    ck_against(HW_TEST_HOSTS "/host_no_frames.stripped",
               file.jemallocs[0].mallctl, "has no .eh_frame_hdr");
    ck_assert_str_eq(against(HW_TEST_HOSTS "/host_no_frames", "je_mallctl", 0),
                     "");
}
END_TEST

START_TEST(a_function_that_nobody_calls_must_take_five)
{
    char path[512];

    snprintf(path, sizeof(path), HW_TEST_HOSTS "/host_given%d", 2 * _i);
    locate(path);
    ck_assert_ptr_nonnull(strstr(against(path, "four", 0), "not take five"));
    ck_assert_ptr_nonnull(strstr(against(path, "six", 0), "not take five"));
    ck_assert_ptr_nonnull(strstr(against(path, "main", 0), "not take five"));
    ck_assert_ptr_nonnull(strstr(against(path, "scratch", 0), "not take five"));
    ck_assert_str_eq(against(path, "five", 0), "");
    if (_i > 0) /* where what is not needed is not saved */
        ck_assert_ptr_nonnull(
            strstr(against(path, "two_and_fifth", 0), "not take five"));
    ck_assert_ptr_nonnull(
        strstr(against(path, "seven", 0), "no function seven"));
}
END_TEST

static bool
exports_malloc(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool found;

    ck_assert_int_ge(fd, 0);
    found = locate_exports_malloc(fd);
    close(fd);
    return found;
}

START_TEST(a_malloc_that_all_call_is_exported)
{
    Dl_info found;

    ck_assert(dladdr((void *)(uintptr_t)malloc, &found) != 0);
    ck_assert(exports_malloc(found.dli_fname));
    ck_assert(!exports_malloc("/usr/bin/env")); /* it calls one */
    ck_assert(!exports_malloc("/etc/passwd"));
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
    tcase_add_loop_test(tcase, where_functions_start_is_known_without_symbols,
                        0, sizeof(starts) / sizeof(starts[0]));
    tcase_add_test(tcase, without_a_build_id_the_code_identifies);
    tcase_add_test(tcase, two_in_one_program_are_distinguished);
    tcase_add_test(tcase, debians_jemalloc_is_found_in_a_program);
    tcase_add_loop_test(tcase, functions_of_jemalloc_are_known_without_symbols,
                        0, sizeof(functions) / sizeof(functions[0]));
    tcase_add_test(tcase, what_has_no_jemalloc_has_none);
    tcase_add_test(tcase, nothing_that_is_installed_is_taken_for_one);
    tcase_add_loop_test(tcase, an_address_is_taken_where_a_mallctl_is_called, 0,
                        4);
    tcase_add_test(tcase, a_file_without_a_jemalloc_has_no_mallctl);
    tcase_add_test(tcase, an_address_without_frames_is_refused);
    tcase_add_test(tcase, a_malloc_that_all_call_is_exported);
    tcase_add_loop_test(tcase, a_function_that_nobody_calls_must_take_five, 0,
                        2);
    tcase_set_timeout(tcase, 300);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
