/* test_store_threads.c - one store, many threads; for tsan. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "errors.h"
#include "snapshot_fixture.h"
#include "store.h"
#include "suite.h"

static char told[1024];

static void
listen_to(const char *line)
{
    strncat(told, line, sizeof(told) - strlen(told) - 1);
}

static struct job {
    struct store *store;
    char mine;
} jobs[4];

static void *
work(void *arg)
{
    const struct job *job = arg;
    struct store *store = job->store;
    char name[] = "x_0";
    struct store_entry list[4];
    struct error why;

    name[0] = job->mine;
    for (int i = 0; i < 20; i++) {
        struct snapshot *s = fixture_snapshot(name, 5), *read;

        name[2] = (char)('0' + i % 10);
        memcpy(s->name, name, sizeof(name));
        store_add(store, s, &why); /* or its name is taken */
        snapshot_unref(s);
        store_list(store, list, 4);
        store_pin(store, name, i % 2, &why);
        read = store_get(store, name, &why);
        snapshot_unref(read);
        if (i % 3 == 0)
            store_delete(store, name, &why);
        store_expire(store);
    }
    return NULL;
}

/* Afterwards the files are what the list was. */
START_TEST(many_work_at_once)
{
    static const char mine[] = "abcd";
    char top[] = "/tmp/hw-store-XXXXXX", dir[64], command[64];
    struct store_options options = store_defaults;
    struct store_entry before[8], after[8];
    size_t before_count, after_count;
    pthread_t threads[4];
    struct store *store;
    struct error err;

    ck_assert_ptr_nonnull(mkdtemp(top));
    snprintf(dir, sizeof(dir), "%s/snapshots", top);
    options.dir = dir;
    options.count = 5;
    options.age_ms = 60000;
    store = store_open(&options, listen_to, &err);
    ck_assert_msg(store != NULL, "%s", err.text);
    for (int i = 0; i < 4; i++) {
        jobs[i] = (struct job){store, mine[i]};
        pthread_create(&threads[i], NULL, work, &jobs[i]);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    before_count = store_list(store, before, 8);
    store_close(store);
    store = store_open(&options, listen_to, &err);
    ck_assert_str_eq(told, "");
    after_count = store_list(store, after, 8);
    ck_assert_uint_eq(before_count, after_count);
    for (size_t i = 0; i < before_count; i++) {
        size_t same = 0;

        for (size_t j = 0; j < after_count; j++)
            same += strcmp(before[i].name, after[j].name) == 0 &&
                    before[i].pinned == after[j].pinned;
        ck_assert_uint_eq(same, 1);
    }
    store_close(store);
    snprintf(command, sizeof(command), "rm -rf %s", top);
    ck_assert_int_eq(system(command), 0); /* NOLINT: a name of our own */
}
END_TEST

static atomic_bool over;

static void *
read_on(void *arg)
{
    struct error err;

    while (!atomic_load(&over))
        snapshot_unref(store_get(arg, "kept", &err));
    return NULL;
}

/* Somebody deletes the file of a snapshot that is being read. */
START_TEST(one_reads_what_is_written_again)
{
    char top[] = "/tmp/hw-store-XXXXXX", dir[64], file[96], command[64];
    struct store_options options = store_defaults;
    struct snapshot *snapshot = fixture_snapshot("kept", 5);
    struct store *store;
    struct error err;
    pthread_t reader;

    ck_assert_ptr_nonnull(mkdtemp(top));
    snprintf(dir, sizeof(dir), "%s/snapshots", top);
    snprintf(file, sizeof(file), "%s/kept.snapshot", dir);
    options.dir = dir;
    store = store_open(&options, listen_to, &err);
    ck_assert_msg(store != NULL, "%s", err.text);
    ck_assert_int_eq(store_add(store, snapshot, &err), 0);
    snapshot_unref(snapshot);
    pthread_create(&reader, NULL, read_on, store);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(unlink(file), 0);
        store_expire(store);
    }
    atomic_store(&over, true);
    pthread_join(reader, NULL);
    ck_assert_ptr_nonnull(strstr(told, "is written again"));
    store_close(store);
    snprintf(command, sizeof(command), "rm -rf %s", top);
    ck_assert_int_eq(system(command), 0); /* NOLINT: a name of our own */
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("store_threads");
    TCase *tc = tcase_create("store_threads");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, many_work_at_once);
    tcase_add_test(tc, one_reads_what_is_written_again);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
