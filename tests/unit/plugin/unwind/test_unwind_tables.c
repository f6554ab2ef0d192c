/* test_unwind_tables.c - the tables of this process, by the real helper. */
#include "unwind_tables.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <ucontext.h>
#include <unistd.h>

#include "arena.h"
#include "mappings.h"
#include "own_tables.h"
#include "suite.h"

enum { DEPTH_MAX = 64 };

static char dir[64];
static struct arena *arena;
static struct mappings maps;

static int
open_object(void *arg, const struct mapping *mapping)
{
    (void)arg;
    return open(mapping->path, O_RDONLY | O_CLOEXEC);
}

static void
set_up(void)
{
    static char text[1 << 16];
    FILE *file = fopen("/proc/self/maps", "r");
    struct error err = {0};
    size_t skipped, size;

    ck_assert_ptr_nonnull(file);
    size = fread(text, 1, sizeof(text), file);
    fclose(file);
    arena = arena_new(1 << 20);
    ck_assert_ptr_nonnull(arena);
    ck_assert_int_eq(mappings_parse(arena, text, size, &maps, &skipped, &err),
                     0);
    snprintf(dir, sizeof(dir), "/tmp/hw-unwind-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void
tear_down(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", dir);
    ck_assert_int_eq(system(command), 0); // NOLINT: one thread
    arena_free(arena);
}

static struct unwind_tables *
new_tables(const char *path, uint64_t bytes)
{
    struct unwind_tables_options options = {.program = HW_TEST_BIN
                                            "/heapwire-symbolizer",
                                            .dir = path,
                                            .bytes = bytes};
    struct error why = {0};
    struct unwind_tables *tables = unwind_tables_new(&options, &why);

    ck_assert_ptr_nonnull(tables);
    ck_assert_str_eq(why.text, "");
    return tables;
}

static void
load(struct unwind_tables *tables, struct unwind_loaded *loaded)
{
    struct unwind_request request = {&maps, open_object, NULL, -1};
    struct error err = {0};

    ck_assert_msg(unwind_tables_load(tables, &request, loaded, &err) == 0, "%s",
                  err.text);
}

static unsigned
count_files(void)
{
    DIR *list = opendir(dir);
    unsigned count = 0;

    ck_assert_ptr_nonnull(list);
    for (struct dirent *entry; (entry = readdir(list)) != NULL;) // NOLINT: ours
        count += strstr(entry->d_name, ".hwunwind") != NULL;
    closedir(list);
    return count;
}

START_TEST(tables_are_made_once_and_kept)
{
    struct unwind_tables *tables = new_tables(dir, 0);
    struct unwind_loaded first, again;

    load(tables, &first);
    ck_assert_msg(first.missing == 0, "%s", first.why);
    ck_assert_uint_ge(first.objects, 4); /* program, libc, loader, vdso */
    ck_assert_uint_eq(first.made, first.objects);
    ck_assert_uint_eq(count_files(), first.made);
    load(tables, &again); /* from memory */
    ck_assert_uint_eq(again.made, 0);
    ck_assert_uint_eq(again.bytes, first.bytes);
    unwind_tables_free(tables);
    tables = new_tables(dir, 0);
    load(tables, &again); /* from the directory */
    ck_assert_uint_eq(again.made, 0);
    ck_assert_uint_eq(again.missing, 0);
    ck_assert_uint_eq(again.bytes, first.bytes);
    unwind_tables_free(tables);
}
END_TEST

START_TEST(the_walk_reaches_the_outermost_frame)
{
    struct unwind_tables *tables = new_tables(NULL, 0);
    struct unwind_source source;
    struct unwind_loaded loaded;
    struct thread_registers registers;
    struct thread_stack stack;
    uint64_t pcs[DEPTH_MAX];
    enum unwind_end why;
    ucontext_t context;

    load(tables, &loaded);
    source = unwind_tables_source(tables);
    ck_assert_int_eq(getcontext(&context), 0);
    registers = own_registers(&context);
    stack = own_stack(registers.values[REGISTER_SP]);
    ck_assert_uint_ge(
        unwind_walk(&source, &stack, &registers, pcs, DEPTH_MAX, &why), 4);
    ck_assert_int_eq(why, UNWIND_END_OUTERMOST);
    unwind_tables_free(tables);
}
END_TEST

START_TEST(a_damaged_file_is_made_again)
{
    struct unwind_tables *tables = new_tables(dir, 0);
    struct unwind_loaded loaded;
    char command[256];

    load(tables, &loaded);
    unwind_tables_free(tables);
    snprintf(command, sizeof(command), "for f in %s/*; do echo x >> $f; done",
             dir);
    ck_assert_int_eq(system(command), 0); // NOLINT: one thread
    tables = new_tables(dir, 0);
    load(tables, &loaded);
    ck_assert_uint_eq(loaded.missing, 0);
    ck_assert_uint_eq(loaded.made, loaded.objects);
    load(tables, &loaded);
    ck_assert_uint_eq(loaded.made, 0);
    unwind_tables_free(tables);
}
END_TEST

START_TEST(what_has_no_room_is_missing)
{
    struct unwind_tables *tables = new_tables(dir, 1 << 16);
    struct unwind_loaded loaded;

    load(tables, &loaded);
    ck_assert_uint_gt(loaded.missing, 0);
    ck_assert_str_ne(loaded.why, "");
    ck_assert_uint_le(loaded.bytes, 1 << 16);
    unwind_tables_free(tables);
}
END_TEST

START_TEST(a_cancelled_load_fails)
{
    struct unwind_tables *tables = new_tables(NULL, 0);
    struct unwind_request request = {&maps, open_object, NULL,
                                     eventfd(1, EFD_CLOEXEC)};
    struct unwind_loaded loaded;
    struct error err = {0};

    ck_assert_int_eq(unwind_tables_load(tables, &request, &loaded, &err), -1);
    ck_assert_int_eq(err.code, ER_QUERY_INTERRUPTED);
    close(request.cancel_fd);
    load(tables, &loaded);
    ck_assert_uint_eq(loaded.missing, 0);
    unwind_tables_free(tables);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("unwind_tables");
    TCase *tc = tcase_create("tables");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, tables_are_made_once_and_kept);
    tcase_add_test(tc, the_walk_reaches_the_outermost_frame);
    tcase_add_test(tc, a_damaged_file_is_made_again);
    tcase_add_test(tc, what_has_no_room_is_missing);
    tcase_add_test(tc, a_cancelled_load_fails);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
