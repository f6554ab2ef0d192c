/* test_file_store.c - what the folders that keep files rely on: writers beside
 * each other, files of others, and which files go. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "file_store.h"
#include "files.h"
#include "suite.h"

static char dir[] = "/tmp/hw-files-XXXXXX";
static struct file_store store;
static struct error err;
static char seen[512];

static bool
is_letters(const char *text, size_t size)
{
    return size > 0 && strspn(text, "abcdefghijklmnopqrstuvwxyz") >= size;
}

static const char *const endings[] = {".one", ".two", NULL};
static const struct file_kind kind = {"a test's file", endings, is_letters};

static void
set_up(void)
{
    strcpy(dir + sizeof(dir) - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_msg(file_store_open(&store, dir, &kind, &err) == 0, "%s",
                  err.text);
}

static void
tear_down(void)
{
    char command[64];

    file_store_close(&store);
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    ck_assert_int_eq(system(command), 0); /* NOLINT: a name of our own */
}

static void
note_found(void *arg, const struct file_found *file)
{
    size_t at = strlen(seen);

    (void)arg;
    snprintf(seen + at, sizeof(seen) - at, "+%.*s|%s|%llu ", (int)file->stem,
             file->name, file->ending, (unsigned long long)file->bytes);
}

static void
note_unusable_file(void *arg, const char *name, const char *why)
{
    size_t at = strlen(seen);

    (void)arg;
    snprintf(seen + at, sizeof(seen) - at, "-%s: %s ", name, why);
}

static const char *
scan(void)
{
    struct file_scan how = {note_found, note_unusable_file, NULL};

    seen[0] = '\0';
    ck_assert_int_eq(file_store_scan(&store, &how, &err), 0);
    return seen;
}

static int
write_one(const char *name, const char *text, bool replace)
{
    struct file_writer w;
    int64_t made_ms;
    int rc = -1;

    if (file_writer_open(&w, &store, name, &err) == 0 &&
        file_writer_write(&w, text, strlen(text), &err) == 0)
        rc = file_writer_commit(&w, replace, &made_ms, &err);
    file_writer_close(&w);
    return rc;
}

START_TEST(a_file_is_replaced_only_where_that_is_asked_for)
{
    ck_assert_int_eq(write_one("a.one", "old", false), 0);
    ck_assert_int_eq(write_one("a.one", "newer", false), -1);
    ck_assert_str_eq(scan(), "+a|.one|3 ");
    ck_assert_int_eq(write_one("a.one", "newer", true), 0);
    ck_assert_str_eq(scan(), "+a|.one|5 ");
    ck_assert_int_eq(write_one("b.two", "", false), 0);
    ck_assert_int_eq(file_store_rename(&store, "b.two", "a.one", &err), -1);
    ck_assert_int_eq(file_store_rename(&store, "b.two", "b.one", &err), 0);
    ck_assert(!file_store_has(&store, "b.two"));
    ck_assert_int_eq(file_store_remove(&store, "b.one", &err), 0);
    ck_assert_int_eq(file_store_remove(&store, "b.one", &err), 0);
    ck_assert_str_eq(scan(), "+a|.one|5 ");
}
END_TEST

/* As two processes do: a lock belongs to what was opened. */
START_TEST(two_write_one_name_and_a_start_disturbs_neither)
{
    struct file_writer first, second;
    int64_t made_ms;

    ck_assert_int_eq(file_writer_open(&first, &store, "a.one", &err), 0);
    ck_assert_int_eq(file_writer_open(&second, &store, "a.one", &err), 0);
    ck_assert_int_eq(file_writer_write(&first, "1", 1, &err), 0);
    ck_assert_int_eq(file_writer_write(&second, "22", 2, &err), 0);
    ck_assert_str_eq(scan(), "");
    ck_assert_int_eq(file_writer_commit(&first, true, &made_ms, &err), 0);
    ck_assert_str_eq(scan(), "+a|.one|1 ");
    ck_assert_int_eq(file_writer_commit(&second, true, &made_ms, &err), 0);
    ck_assert_str_eq(scan(), "+a|.one|2 ");
    file_writer_close(&first);
    file_writer_close(&second);
    ck_assert_str_eq(scan(), "+a|.one|2 ");
}
END_TEST

START_TEST(what_nobody_writes_any_more_goes_and_the_rest_stays)
{
    struct file_writer w;
    struct stat st;

    ck_assert_int_eq(file_writer_open(&w, &store, "a.one", &err), 0);
    fd_close(w.fd); /* its process was killed */
    ck_assert(file_store_has(&store, w.tmp));
    ck_assert_str_eq(scan(), "");
    ck_assert(!file_store_has(&store, w.tmp));
    fd_close(openat(store.fd, "A.one", O_CREAT | O_WRONLY, 0600));
    ck_assert_str_eq(scan(), "-A.one: it is not the name of a test's file ");
    ck_assert_int_eq(unlinkat(store.fd, "A.one", 0), 0);
    ck_assert_int_eq(symlinkat("/etc/passwd", store.fd, "a.one"), 0);
    ck_assert_str_eq(scan(), "-a.one: it is a symbolic link ");
    ck_assert_int_eq(file_store_read(&store, "a.one", &st, &err), -1);
    ck_assert_ptr_nonnull(
        strstr(err.text, "a.one is unusable: it is a symbolic link"));
    ck_assert_int_eq(write_one("a.one", "x", true), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "is in the way"));
    ck_assert_int_eq(file_store_remove(&store, "a.one", &err), -1);
    ck_assert_str_eq(scan(), "-a.one: it is a symbolic link ");
}
END_TEST

/* Else a user that may write there would be given any file of its disk. */
START_TEST(a_file_with_two_names_is_not_given_away)
{
    ck_assert_int_eq(write_one("a.one", "x", false), 0);
    ck_assert_int_eq(file_store_give(&store, geteuid(), getegid(), &err), 0);
    ck_assert_int_eq(linkat(store.fd, "a.one", store.fd, "elsewhere", 0), 0);
    ck_assert_int_eq(file_store_give(&store, geteuid(), getegid(), &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "a.one to uid"));
}
END_TEST

static uid_t
owner_of(const char *name)
{
    struct stat st;

    ck_assert_int_eq(fstatat(store.fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_uid;
}

/* A directory's owner may move any file there whose directory it owns. */
START_TEST(another_users_file_is_not_given_away)
{
    const uid_t before = 12345, after = 12346;

    if (geteuid() != 0)
        return;
    /* Root's own directory: the files first, and all or nothing. */
    ck_assert_int_eq(write_one("a.one", "x", false), 0);
    ck_assert_int_eq(linkat(store.fd, "a.one", store.fd, "elsewhere", 0), 0);
    ck_assert_int_eq(file_store_give(&store, before, before, &err), -1);
    ck_assert_uint_eq(owner_of("."), 0);
    ck_assert_int_eq(unlinkat(store.fd, "elsewhere", 0), 0);
    ck_assert_int_eq(file_store_give(&store, before, before, &err), 0);
    ck_assert_uint_eq(owner_of("."), before);
    ck_assert_uint_eq(owner_of("a.one"), before);
    /* The user's directory, when root starts again. */
    store.owner = before;
    ck_assert_int_eq(write_one("b.one", "root's", false), 0);
    ck_assert_int_eq(file_store_give(&store, after, after, &err), 0);
    ck_assert_uint_eq(owner_of("."), after);
    ck_assert_uint_eq(owner_of("a.one"), after);
    ck_assert_uint_eq(owner_of("b.one"), 0);
}
END_TEST

static const struct {
    size_t max_files;
    uint64_t max_bytes;
    const char *gone; /* "!": that is not enough */
} ceilings[] = {
    {9, 900, "e"},    {6, 900, "e"},     {5, 900, "ce"},   {4, 900, "bce"},
    {3, 900, "abce"}, {2, 900, "abce!"}, {9, 60, "e"},     {9, 59, "ce"},
    {9, 50, "ce"},    {9, 49, "bce"},    {9, 29, "abce!"}, {0, 0, "abce!"},
};

START_TEST(those_of_a_lower_turn_go_first_then_the_oldest)
{
    struct eviction_candidate held[] = {
        {2, 1, 10},           {1, 9, 10},          {1, 8, 10},
        {FILE_STAYS, 0, 10},  {FILE_GOES, 99, 10}, {FILE_STAYS, 50, 10},
        {FILE_STAYS, 51, 10},
    };
    size_t count = sizeof(held) / sizeof(held[0]), at = 0;
    char gone[16];

    bool fits = file_store_evict(held, count, ceilings[_i].max_files,
                                 ceilings[_i].max_bytes);
    for (size_t i = 0; i < count; i++)
        if (held[i].priority == FILE_GOES)
            gone[at++] = (char)('a' + i);
    if (!fits)
        gone[at++] = '!';
    gone[at] = '\0';
    ck_assert_str_eq(gone, ceilings[_i].gone);
}
END_TEST

/* Deleted with the directory that it is in, it is made again there alone. */
START_TEST(what_lies_in_the_place_of_its_directory_is_not_entered)
{
    char in[64], path[80], elsewhere[80], strange[96];
    struct file_store inner;

    snprintf(in, sizeof(in), "%s/in", dir);
    snprintf(path, sizeof(path), "%s/files", in);
    snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", dir);
    snprintf(strange, sizeof(strange), "%s/files", elsewhere);
    ck_assert_int_eq(mkdir(in, 0700), 0);
    ck_assert_int_eq(mkdir(elsewhere, 0700), 0);
    ck_assert_int_eq(file_store_open(&inner, path, &kind, &err), 0);
    ck_assert_int_eq(file_store_renew(&inner, &err), 0); /* it is there */
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(rmdir(in), 0);
    ck_assert_int_eq(symlink(elsewhere, in), 0);
    ck_assert_int_eq(file_store_renew(&inner, &err), -1);
    ck_assert_int_ne(access(strange, F_OK), 0);
    ck_assert_int_eq(unlink(in), 0);
    ck_assert_int_eq(mkdir(in, 0700), 0);
    ck_assert_int_eq(file_store_renew(&inner, &err), 1);
    ck_assert_int_eq(access(path, F_OK), 0);
    file_store_close(&inner);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("file_store");
    TCase *tc = tcase_create("file_store");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_file_is_replaced_only_where_that_is_asked_for);
    tcase_add_test(tc, two_write_one_name_and_a_start_disturbs_neither);
    tcase_add_test(tc, what_nobody_writes_any_more_goes_and_the_rest_stays);
    tcase_add_test(tc, a_file_with_two_names_is_not_given_away);
    tcase_add_test(tc, another_users_file_is_not_given_away);
    tcase_add_test(tc, what_lies_in_the_place_of_its_directory_is_not_entered);
    tcase_add_loop_test(tc, those_of_a_lower_turn_go_first_then_the_oldest, 0,
                        sizeof(ceilings) / sizeof(ceilings[0]));
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
