/* test_unwind_tables.c - the tables of this process, by the real helper. */
#include "unwind_tables.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include "arena.h"
#include "mappings.h"
#include "memory_budget.h"
#include "own_tables.h"
#include "suite.h"
#include "unwind_store.h"

uint64_t __real_memory_left(void);
uint64_t __wrap_memory_left(void);

enum { DEPTH_MAX = 64 };

static char dir[64];
static const char *program;
static uint32_t deadline_ms;
static uint64_t left; /* of memory; 0: as it is */
static struct unwind_store *store;
static struct arena *arena;
static struct mappings maps;

static int
open_object(void *arg, const struct mapping *mapping)
{
    (void)arg;
    return own_open(mapping->path, mapping->start, mapping->end);
}

uint64_t
__wrap_memory_left(void)
{
    return left ? left : __real_memory_left();
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
    for (size_t i = 0; i < maps.count; i++)
        if (strcmp(maps.list[i].path, "[vdso]") == 0) /* as code_map.c does */
            ((struct mapping *)(uintptr_t)&maps.list[i])->inode = 1;
    program = HW_TEST_BIN "/heapwire-symbolizer";
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
new_walker(void)
{
    struct unwind_tables_options options = {
        .program = program, .store = store, .deadline_ms = deadline_ms};
    struct error err;
    struct unwind_tables *tables = unwind_tables_new(&options, &err);

    ck_assert_ptr_nonnull(tables);
    return tables;
}

static struct unwind_tables *
new_tables(const char *path, uint64_t bytes)
{
    const struct unwind_store_options options = {path, bytes};
    struct error why = {0};

    store = unwind_store_new(&options, &why);
    ck_assert_ptr_nonnull(store);
    ck_assert_str_eq(why.text, "");
    return new_walker();
}

static void
free_tables(struct unwind_tables *tables)
{
    unwind_tables_free(tables);
    unwind_store_free(store);
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
    ck_assert_msg(first.missing == 0, "%s", first.without[0].why);
    ck_assert_uint_ge(first.objects, 4); /* program, libc, loader, vdso */
    ck_assert_uint_eq(first.made, first.objects);
    ck_assert_uint_eq(count_files(), first.made);
    load(tables, &again); /* from memory */
    ck_assert_uint_eq(again.made, 0);
    ck_assert_uint_eq(again.bytes, first.bytes);
    ck_assert_uint_eq(memory_budget_used(), first.bytes);
    free_tables(tables);
    ck_assert_uint_eq(memory_budget_used(), 0);
    tables = new_tables(dir, 0);
    load(tables, &again); /* from the directory */
    ck_assert_uint_eq(again.made, 0);
    ck_assert_uint_eq(again.missing, 0);
    ck_assert_uint_eq(again.bytes, first.bytes);
    free_tables(tables);
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
    free_tables(tables);
}
END_TEST

START_TEST(a_damaged_file_is_made_again)
{
    struct unwind_tables *tables = new_tables(dir, 0);
    struct unwind_loaded loaded;
    char command[256];

    load(tables, &loaded);
    free_tables(tables);
    snprintf(command, sizeof(command), "for f in %s/*; do echo x >> $f; done",
             dir);
    ck_assert_int_eq(system(command), 0); // NOLINT: one thread
    tables = new_tables(dir, 0);
    load(tables, &loaded);
    ck_assert_uint_eq(loaded.missing, 0);
    ck_assert_uint_eq(loaded.made, loaded.objects);
    load(tables, &loaded);
    ck_assert_uint_eq(loaded.made, 0);
    free_tables(tables);
}
END_TEST

START_TEST(what_has_no_room_is_missing)
{
    struct unwind_tables *tables = new_tables(dir, 1 << 16);
    struct unwind_loaded loaded;

    load(tables, &loaded);
    ck_assert_uint_gt(loaded.missing, 0);
    ck_assert_str_ne(loaded.without[0].why, "");
    ck_assert_uint_le(loaded.bytes, 1 << 16);
    free_tables(tables);
}
END_TEST

START_TEST(what_clients_take_is_no_room)
{
    struct unwind_tables *tables = new_tables(dir, 0);
    struct memory_reservation clients = {0};
    struct unwind_loaded loaded;

    memory_charge(&clients, "ann", MEMORY_BUDGET_BYTES);
    load(tables, &loaded);
    ck_assert_uint_gt(loaded.missing, 0);
    ck_assert_ptr_nonnull(strstr(loaded.without[0].why, "that clients share"));
    (void)memory_reserve(&clients, "ann", 0);
    ck_assert_uint_lt(memory_budget_used(), MEMORY_BUDGET_SMALL);
    free_tables(tables);
}
END_TEST

START_TEST(all_walkers_have_the_same_tables)
{
    struct unwind_tables *one = new_tables(NULL, 0), *two = new_walker();
    struct unwind_source first, second;
    struct unwind_loaded loaded;
    uint64_t bytes;

    load(one, &loaded);
    bytes = loaded.bytes;
    load(two, &loaded);
    ck_assert_uint_eq(loaded.made, 0);
    ck_assert_uint_eq(loaded.bytes, bytes);
    first = unwind_tables_source(one);
    second = unwind_tables_source(two);
    ck_assert_uint_eq(first.count, second.count);
    for (size_t i = 0; i < first.count; i++)
        ck_assert_ptr_eq(first.list[i].table, second.list[i].table);
    unwind_tables_free(two);
    free_tables(one);
}
END_TEST

enum { WALKERS = 3, ROUNDS = 20 };

static void *
load_often(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct unwind_tables *tables = new_walker();
        struct unwind_loaded loaded;

        load(tables, &loaded);
        ck_assert_msg(loaded.missing == 0, "%s", loaded.without[0].why);
        unwind_tables_free(tables);
    }
    return arg;
}

START_TEST(many_load_at_once)
{
    struct unwind_tables *tables = new_tables(dir, 0);
    pthread_t threads[WALKERS];
    struct unwind_loaded loaded;
    struct error err;

    for (int i = 0; i < WALKERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, load_often, NULL),
                         0);
    ck_assert_int_eq(unwind_store_give(store, getuid(), getgid(), &err), 0);
    for (int i = 0; i < WALKERS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    load(tables, &loaded);
    ck_assert_uint_eq(loaded.made, 0);
    ck_assert_uint_eq(count_files(), loaded.objects);
    free_tables(tables);
}
END_TEST

static const struct mapping *
find_code(void)
{
    const struct mapping *m = maps.list;

    while (!m->executable || m->inode == 0)
        m++;
    return m;
}

/* It says that it was started, and does nothing. */
START_TEST(what_takes_all_the_time_is_not_tried_at_once)
{
    struct unwind_tables *tables;
    struct mappings one = {find_code(), 1};
    struct unwind_request request = {&one, open_object, NULL, -1};
    struct unwind_loaded loaded;
    struct error err = {0};
    char path[96], starts[96];
    FILE *script;
    struct stat st;

    snprintf(path, sizeof(path), "%s/stuck", dir);
    snprintf(starts, sizeof(starts), "%s/starts", dir);
    script = fopen(path, "w");
    ck_assert_ptr_nonnull(script);
    fprintf(script, "#!/bin/sh\necho >>%s\nexec sleep 100\n", starts);
    ck_assert_int_eq(fclose(script), 0);
    ck_assert_int_eq(chmod(path, 0700), 0);
    program = path;
    /* A busy machine's script may not have come to say it in the first. */
    for (deadline_ms = 1000; stat(starts, &st) != 0; deadline_ms *= 4) {
        ck_assert_uint_lt(deadline_ms, 100000);
        tables = new_tables(NULL, 0);
        for (int i = 0; i < 2; i++) {
            ck_assert_int_eq(
                unwind_tables_load(tables, &request, &loaded, &err), 0);
            ck_assert_uint_eq(loaded.missing, 1);
            ck_assert_str_ne(loaded.without[0].why, "");
        }
        free_tables(tables);
    }
    ck_assert_int_eq(st.st_size, 1);
}
END_TEST

START_TEST(without_memory_no_helper_is_started)
{
    struct unwind_tables *tables = new_tables(NULL, 0);
    struct unwind_loaded loaded;

    left = 100 << 20;
    load(tables, &loaded);
    ck_assert_uint_eq(loaded.missing, loaded.objects);
    ck_assert_ptr_nonnull(
        strstr(loaded.without[0].why, "only 100 MB of memory are left"));
    free_tables(tables);
    /* The least that it is started with is enough for small ones. */
    left = 128 << 20;
    tables = new_tables(NULL, 0);
    load(tables, &loaded);
    ck_assert_msg(loaded.missing == 0, "%s", loaded.without[0].why);
    free_tables(tables);
}
END_TEST

START_TEST(a_cancelled_load_fails)
{
    struct unwind_tables *tables = new_tables(NULL, 0);
    struct unwind_request request = {&maps, open_object, NULL,
                                     eventfd(1, EFD_CLOEXEC)};
    const atomic_bool cancelled = true;
    struct unwind_loaded loaded;
    struct error err = {0};

    ck_assert_int_eq(unwind_tables_load(tables, &request, &loaded, &err), -1);
    ck_assert_int_eq(err.code, ER_QUERY_INTERRUPTED);
    close(request.cancel_fd);
    request.cancel_fd = -1;
    request.cancelled = &cancelled;
    ck_assert_int_eq(unwind_tables_load(tables, &request, &loaded, &err), -1);
    load(tables, &loaded);
    ck_assert_uint_eq(loaded.missing, 0);
    free_tables(tables);
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
    tcase_add_test(tc, what_clients_take_is_no_room);
    tcase_add_test(tc, all_walkers_have_the_same_tables);
    tcase_add_test(tc, many_load_at_once);
    tcase_add_test(tc, what_takes_all_the_time_is_not_tried_at_once);
    tcase_add_test(tc, without_memory_no_helper_is_started);
    tcase_add_test(tc, a_cancelled_load_fails);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
