/* test_index_files.c - making, finding and passing index files, with helpers
 * that misbehave. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"
#include "elf_file.h"
#include "errors.h"
#include "failing_memory.h"
#include "files.h"
#include "helper.h"
#include "index_files.h"
#include "suite.h"
#include "symbolizer_wire.h"

enum { DEADLINE_MS = 60000, SHORT_MS = 500, SLACK_MS = 30000 };

static char directory[] = "/tmp/hw-index-XXXXXX";
static char target[64], program[64];
static struct elf_file elf;
static struct helper *helper;
static int cancel[2];

static void
set_up(void)
{
    struct error err;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    strcpy(directory + sizeof(directory) - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(target, sizeof(target), "%s/x.hwindex", directory);
    ck_assert_int_eq(elf_init(&elf, fd, "this", &err), 0);
    if (elf.build_id_size == 0) /* not every compiler gives one */
        elf.build_id_size = 20;
    ck_assert_int_eq(pipe2(cancel, O_CLOEXEC), 0);
}

static void
tear_down(void)
{
    char command[128];

    helper_free(helper);
    helper = NULL;
    fd_close(elf.fd);
    elf_fini(&elf);
    fd_close(cancel[0]);
    fd_close(cancel[1]);
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}

static void
helper_is(const char *behaviour)
{
    struct helper_options options = {program, (uint64_t)4 << 30, 10000,
                                     cancel[0]};
    struct error err;

    snprintf(program, sizeof(program), "%s/%s", directory, behaviour);
    ck_assert_int_eq(symlink(HW_TEST_BIN "/fake_symbolizer", program), 0);
    helper = helper_new(&options, &err);
    ck_assert_ptr_nonnull(helper);
}

/* Nothing but the helper's link and the files that are named. */
static size_t
entries(void)
{
    DIR *d = opendir(directory);
    size_t count = 0;

    while (readdir(d))
        count++;
    closedir(d);
    return count - 2;
}

static int
make_within(unsigned ms, struct error *err)
{
    memset(err, 0, sizeof(*err));
    return index_file_make(helper, &elf, "/bin/x", target, ms, NULL, err);
}

static int
make(struct error *err)
{
    return make_within(DEADLINE_MS, err);
}

START_TEST(an_index_is_what_the_helper_says)
{
    struct buffer text;
    struct error err;
    struct stat st;

    helper_is("parts");
    umask(022);
    for (int i = 0; i < 2; i++) { /* over an old one, by the same helper */
        ck_assert_msg(make(&err) == 0, "%s", err.text);
        buffer_init(&text, 1000);
        ck_assert_int_eq(file_read_all(target, &text, &err), 0);
        ck_assert_str_eq(text.data, "indexindexindexindexindexindex");
        buffer_fini(&text);
    }
    ck_assert_int_eq(stat(target, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0644);
    ck_assert_uint_eq(entries(), 2);
}
END_TEST

START_TEST(symbols_only_is_reported_or_refused)
{
    static const char *const confused[] = {"bare_twice", "bare_late",
                                           "bare_at_length"};
    char remark[INDEX_REMARK_MAX] = "an older one";
    struct error err = {0};

    helper_is("bare");
    ck_assert_int_eq(make(&err), -1); /* without a place for the reason */
    ck_assert_str_eq(err.text, "has no debug information");
    ck_assert_uint_eq(entries(), 1);
    ck_assert_int_eq(index_file_make(helper, &elf, "/bin/x", target,
                                     DEADLINE_MS, remark, &err),
                     0);
    ck_assert_str_eq(remark, "it has no?debug information");
    ck_assert_uint_eq(entries(), 2);
    ck_assert_int_eq(unlink(target), 0);
    for (size_t i = 0; i < sizeof(confused) / sizeof(confused[0]); i++) {
        helper_free(helper);
        helper_is(confused[i]);
        ck_assert_int_eq(index_file_make(helper, &elf, "/bin/x", target,
                                         DEADLINE_MS, remark, &err),
                         -1);
        ck_assert_msg(strstr(err.text, "garbage"), "%s", err.text);
        ck_assert_uint_eq(entries(), 2 + i);
    }
    helper_free(helper);
    helper_is("parts");
    ck_assert_int_eq(index_file_make(helper, &elf, "/bin/x", target,
                                     DEADLINE_MS, remark, &err),
                     0);
    ck_assert_str_eq(remark, "");
}
END_TEST

static const struct {
    const char *behaviour, *why;
    unsigned deadline_ms; /* a busy machine's helper may start late */
} failures[] = {
    {"half_parts", "status 1", DEADLINE_MS},
    {"no_parts", "the symbol index is empty", DEADLINE_MS},
    {"parts_and_complaint", "has no debug information", DEADLINE_MS},
    {"bare_unasked", "garbage", DEADLINE_MS},
    {"endless_parts", "took too long", SHORT_MS},
    {"other", "garbage", DEADLINE_MS},
    {"garbage", "garbage", DEADLINE_MS},
    {"huge", "garbage", DEADLINE_MS},
    {"hang", "took too long", SHORT_MS},
    {"die", "status 7", DEADLINE_MS},
    {"crash", "signal 9", DEADLINE_MS},
    {"version", "another version", DEADLINE_MS},
    {"not_loaded", "which library", DEADLINE_MS},
};

START_TEST(a_failure_leaves_nothing_but_what_was_there)
{
    unsigned deadline_ms = failures[_i].deadline_ms;
    uint64_t start = clock_ms();
    struct buffer text;
    struct error err;
    int fd;

    helper_is(failures[_i].behaviour);
    ck_assert_int_eq(make_within(deadline_ms, &err), -1);
    ck_assert_msg(strstr(err.text, failures[_i].why), "%s", err.text);
    ck_assert_uint_lt(clock_ms() - start, deadline_ms + SLACK_MS);
    ck_assert_uint_eq(entries(), 1);
    fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(fd_write_all(fd, "old", 3), 0);
    fd_close(fd);
    ck_assert_int_eq(make_within(deadline_ms, &err), -1);
    ck_assert_uint_eq(entries(), 2);
    buffer_init(&text, 1000);
    ck_assert_int_eq(file_read_all(target, &text, &err), 0);
    ck_assert_str_eq(text.data, "old");
    buffer_fini(&text);
}
END_TEST

START_TEST(a_cancel_leaves_nothing)
{
    struct error err;

    helper_is("hang");
    ck_assert_int_eq(fd_write_all(cancel[1], "x", 1), 0);
    ck_assert_int_eq(make(&err), -1);
    ck_assert_str_eq(err.text, "cancelled");
    ck_assert_uint_eq(entries(), 1);
}
END_TEST

START_TEST(a_failed_write_is_reported)
{
    struct error err;

    helper_is("parts");
    /* As a full disk does; and it is no failure of the helper's.  Check has
     * files to write, too. */
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < HELPER_FAILURES_MAX + 1; i++) {
        struct rlimit none = {12, RLIM_INFINITY},
                      all = {RLIM_INFINITY, RLIM_INFINITY};
        int limited = setrlimit(RLIMIT_FSIZE, &none), rc = make(&err);

        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &all), 0);
        ck_assert_int_eq(limited, 0);
        ck_assert_int_eq(rc, -1);
        ck_assert_msg(strstr(err.text, "x.hwindex: File too large"), "%s",
                      err.text);
    }
    ck_assert_uint_eq(entries(), 1);
    snprintf(target, sizeof(target), "%s/none/x.hwindex", directory);
    ck_assert_int_eq(make(&err), -1);
    ck_assert_msg(strstr(err.text, "No such file or directory"), "%s",
                  err.text);
}
END_TEST

START_TEST(what_is_no_file_is_not_replaced)
{
    struct stat before, after;
    struct error err;

    helper_is("parts");
    for (int kind = 0; kind < 3; kind++) {
        ck_assert_int_eq(kind == 0   ? mkdir(target, 0755)
                         : kind == 1 ? mkfifo(target, 0600)
                                     : symlink("/dev/null", target),
                         0);
        ck_assert_int_eq(lstat(target, &before), 0);
        ck_assert_int_eq(make(&err), -1);
        ck_assert_msg(strstr(err.text, "x.hwindex is in the way"), "%s",
                      err.text);
        ck_assert_int_eq(lstat(target, &after), 0);
        ck_assert_uint_eq(before.st_ino, after.st_ino);
        ck_assert_uint_eq(entries(), 2);
        ck_assert_int_eq(remove(target), 0);
    }
}
END_TEST

START_TEST(without_a_build_id_there_is_no_index)
{
    struct error err;

    helper_is("parts");
    elf.build_id_size = 0;
    ck_assert_int_eq(make(&err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "/bin/x has no build-id"));
    ck_assert_uint_eq(entries(), 1);
    elf.build_id_size = 20;
    ck_assert_int_eq(make(&err), 0);
    elf.build_id_size = 0;
    target[strlen(target) - strlen(INDEX_FILE_SUFFIX)] = '\0';
    ck_assert_int_eq(index_file_open(&elf, NULL, target, NULL), -1);
}
END_TEST

static void
write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
    fd_close(fd);
}

static struct error why; /* of opens */

static void
opens(const char *own, const char *path, const char *text)
{
    char found[16] = "";
    int fd = index_file_open(&elf, own, path, &why);

    ck_assert_int_eq(fd >= 0, text != NULL);
    if (!text)
        return;
    ck_assert_int_gt(read(fd, found, sizeof(found) - 1), 0);
    ck_assert_str_eq(found, text);
    fd_close(fd);
}

START_TEST(our_own_index_goes_before_the_shipped_one)
{
    char path[64], beside[80], ours[80];

    memset(elf.build_id, 0xa1, sizeof(elf.build_id));
    elf.build_id_size = 3;
    snprintf(path, sizeof(path), "%s/bin", directory);
    snprintf(beside, sizeof(beside), "%s.hwindex", path);
    snprintf(ours, sizeof(ours), "%s/a1a1a1.hwindex", directory);
    opens(directory, path, NULL);
    ck_assert_str_eq(why.text, "");
    write_file(beside, "beside");
    opens(NULL, path, "beside");
    opens(directory, path, "beside");
    opens("/nonexistent", path, "beside");
    write_file(ours, "ours");
    opens(directory, path, "ours");
    opens(NULL, path, "beside");
    opens(directory, NULL, "ours");
    opens("/nonexistent", NULL, NULL);
    ck_assert_int_eq(unlink(beside), 0);
    ck_assert_int_eq(symlink(ours, beside), 0);
    opens(NULL, path, NULL); /* never through a link */
    ck_assert_str_eq(why.text, "its symbol index bin.hwindex is skipped: "
                               "it is a symbolic link");
    ck_assert_int_eq(unlink(ours), 0);
    ck_assert_int_eq(mkfifo(ours, 0600), 0);
    opens(directory, path, NULL);
    ck_assert_int_eq(unlink(ours), 0);
    ck_assert_int_eq(mkdir(ours, 0700), 0);
    opens(directory, path, NULL);
    ck_assert_str_eq(why.text, "its symbol index a1a1a1.hwindex is "
                               "skipped: it is not a regular file");
    ck_assert_int_eq(unlink(beside), 0);
    write_file(beside, "beside");
    opens(directory, path, "beside"); /* but with a warning */
    ck_assert_ptr_nonnull(strstr(why.text, "a1a1a1.hwindex is skipped"));
}
END_TEST

START_TEST(what_others_may_have_written_is_not_used)
{
    char path[64], beside[80];

    snprintf(path, sizeof(path), "%s/bin", directory);
    snprintf(beside, sizeof(beside), "%s.hwindex", path);
    write_file(beside, "beside");
    ck_assert_int_eq(chmod(beside, 0646), 0);
    opens(NULL, path, NULL);
    ck_assert_ptr_nonnull(strstr(why.text, "it is world-writable"));
    ck_assert_int_eq(chmod(beside, 0664), 0);
    opens(NULL, path, "beside");
    if (geteuid() != 0)
        return;
    ck_assert_int_eq(chown(beside, 12345, 0), 0);
    opens(NULL, path, NULL);
    ck_assert_ptr_nonnull(strstr(why.text, "belongs neither to the owner"));
    /* The object's owner may. */
    fd_close(elf.fd);
    elf.fd = open(beside, O_RDONLY | O_CLOEXEC);
    opens(NULL, path, "beside");
}
END_TEST

START_TEST(a_path_fits_or_is_refused)
{
    char path[32], long_enough[128];

    memset(elf.build_id, 0xa1, sizeof(elf.build_id));
    elf.build_id_size = 3;
    ck_assert_int_eq(index_file_path(&elf, "/d", path, 18), 0);
    ck_assert_str_eq(path, "/d/a1a1a1.hwindex");
    ck_assert_int_eq(index_file_path(&elf, "/d", path, 17), -1);
    elf.build_id_size = 0;
    ck_assert_int_eq(
        index_file_path(&elf, "/d", long_enough, sizeof(long_enough)), -1);
}
END_TEST

static char answered[64];

static bool
take_text(void *arg, struct span text)
{
    (void)arg;
    snprintf(answered, sizeof(answered), "%.*s", (int)text.size, text.data);
    return true;
}

static bool
take(void *arg, const struct wire_reply *reply)
{
    (void)arg;
    return reply->frame_count == 1;
}

START_TEST(an_index_comes_along_with_its_object)
{
    static const uint64_t offset = 1;
    struct helper_question question = {.object_fd = elf.fd,
                                       .index_fd = -1,
                                       .path = "/bin/x",
                                       .offsets = &offset,
                                       .count = 1,
                                       .deadline_ms = DEADLINE_MS,
                                       .text = take_text,
                                       .answer = take};
    struct error err;

    helper_is("second");
    write_file(target, "the index");
    ck_assert_int_eq(helper_ask(helper, &question, &err), HELPER_DONE);
    ck_assert_str_eq(answered, "index 0, 1 descriptors");
    question.index_fd = open(target, O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(helper_ask(helper, &question, &err), HELPER_DONE);
        ck_assert_str_eq(answered, "the index");
    }
    fd_close(question.index_fd);
}
END_TEST

START_TEST(questions_sent_ahead_are_answered_in_their_turn)
{
    static const uint64_t offset = 1;
    struct helper_question first = {.object_fd = elf.fd,
                                    .index_fd = -1,
                                    .path = "/bin/x",
                                    .offsets = &offset,
                                    .count = 1,
                                    .deadline_ms = DEADLINE_MS,
                                    .text = take_text,
                                    .answer = take};
    struct helper_question second = first, third = first;
    struct error err;

    helper_is("second");
    write_file(target, "the index");
    second.index_fd = open(target, O_RDONLY | O_CLOEXEC);
    third.symbols_only = true;
    ck_assert(helper_ask_ahead(helper, &first));
    ck_assert(helper_ask_ahead(helper, &second));
    ck_assert(helper_ask_ahead(helper, &first)); /* is on its way */
    ck_assert(!helper_ask_ahead(helper, &third));
    ck_assert_int_eq(helper_ask(helper, &first, &err), HELPER_DONE);
    ck_assert_str_eq(answered, "index 0, 1 descriptors");
    ck_assert(helper_ask_ahead(helper, &third));
    ck_assert_int_eq(helper_ask(helper, &second, &err), HELPER_DONE);
    ck_assert_str_eq(answered, "the index");
    /* Another one than was sent. */
    ck_assert_int_eq(helper_ask(helper, &second, &err), HELPER_DONE);
    ck_assert_str_eq(answered, "the index");
    ck_assert_int_eq(helper_ask(helper, &third, &err), HELPER_DONE);
    ck_assert_str_eq(answered, "index 0, 1 descriptors");
    first.count = 1 << 20; /* more than a socket holds */
    ck_assert(!helper_ask_ahead(helper, &first));
    fd_close(second.index_fd);
}
END_TEST

START_TEST(a_later_question_without_memory_fails_alone)
{
    static const uint64_t offsets[4096];
    struct helper_question first = {.object_fd = elf.fd,
                                    .index_fd = -1,
                                    .path = "/bin/x",
                                    .offsets = offsets,
                                    .count = 1,
                                    .deadline_ms = DEADLINE_MS,
                                    .text = take_text,
                                    .answer = take};
    struct helper_question later = first;
    struct error err;

    helper_is("second");
    later.count = sizeof(offsets) / sizeof(offsets[0]);
    ck_assert(helper_ask_ahead(helper, &first));
    allocations = 0;
    failing = 1;
    ck_assert(!helper_ask_ahead(helper, &later));
    failing = 0;
    ck_assert_int_eq(helper_ask(helper, &first, &err), HELPER_DONE);
    ck_assert_str_eq(answered, "index 0, 1 descriptors");
}
END_TEST

START_TEST(a_question_to_a_dead_helper_fails_like_others)
{
    static const uint64_t offset = 1;
    struct helper_question question = {.object_fd = elf.fd,
                                       .index_fd = -1,
                                       .path = "/bin/x",
                                       .offsets = &offset,
                                       .count = 1,
                                       .deadline_ms = DEADLINE_MS,
                                       .text = take_text,
                                       .answer = take};
    struct helper_question next = question;
    struct error err;

    helper_is("die");
    next.no_lines = true;
    (void)helper_ask_ahead(helper, &question);
    (void)helper_ask_ahead(helper, &next); /* it may be dead by now */
    ck_assert_int_eq(helper_ask(helper, &question, &err), HELPER_FAILED);
    ck_assert_ptr_nonnull(strstr(err.text, "status 7"));
    ck_assert_int_eq(helper_ask(helper, &next, &err), HELPER_FAILED);
    ck_assert_ptr_nonnull(strstr(err.text, "status 7"));
}
END_TEST

START_TEST(helpers_that_cannot_be_killed_do_not_pile_up)
{
    static const uint64_t offset = 1;
    struct helper_question question = {.object_fd = elf.fd,
                                       .index_fd = -1,
                                       .path = "/bin/x",
                                       .offsets = &offset,
                                       .count = 1,
                                       .deadline_ms = DEADLINE_MS,
                                       .text = take_text,
                                       .answer = take};
    struct error err = {0};
    uint64_t until;

    helper_is("undead");
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(helper_ask(helper, &question, &err), HELPER_DONE);
        helper_end(helper);
    }
    ck_assert_int_eq(helper_ask(helper, &question, &err), HELPER_EXHAUSTED);
    ck_assert_msg(strstr(err.text, "do not end"), "%s", err.text);
    ck_assert_int_eq(unlink(program), 0); /* their disk is back */
    until = clock_ms() + SLACK_MS;
    do
        usleep(10000);
    while (helper_ask(helper, &question, &err) == HELPER_EXHAUSTED &&
           clock_ms() < until);
    ck_assert_msg(strstr(err.text, "cannot start"), "%s", err.text);
    while (waitpid(-1, NULL, 0) > 0) /* the others, when they can end */
        ;
}
END_TEST

START_TEST(unrequested_parts_are_garbage)
{
    static const uint64_t offset = 1;
    struct helper_question question = {.object_fd = elf.fd,
                                       .index_fd = -1,
                                       .path = "/bin/x",
                                       .offsets = &offset,
                                       .count = 1,
                                       .deadline_ms = DEADLINE_MS,
                                       .text = take_text,
                                       .answer = take};
    struct error err;

    helper_is("other");
    ck_assert_int_eq(helper_ask(helper, &question, &err), HELPER_FAILED);
    ck_assert_ptr_nonnull(strstr(err.text, "garbage"));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("index_files");
    TCase *tc = tcase_create("index_files");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, an_index_is_what_the_helper_says);
    tcase_add_test(tc, symbols_only_is_reported_or_refused);
    tcase_add_loop_test(tc, a_failure_leaves_nothing_but_what_was_there, 0,
                        sizeof(failures) / sizeof(failures[0]));
    tcase_add_test(tc, a_cancel_leaves_nothing);
    tcase_add_test(tc, a_failed_write_is_reported);
    tcase_add_test(tc, what_is_no_file_is_not_replaced);
    tcase_add_test(tc, without_a_build_id_there_is_no_index);
    tcase_add_test(tc, our_own_index_goes_before_the_shipped_one);
    tcase_add_test(tc, what_others_may_have_written_is_not_used);
    tcase_add_test(tc, a_path_fits_or_is_refused);
    tcase_add_test(tc, an_index_comes_along_with_its_object);
    tcase_add_test(tc, questions_sent_ahead_are_answered_in_their_turn);
    tcase_add_test(tc, a_later_question_without_memory_fails_alone);
    tcase_add_test(tc, a_question_to_a_dead_helper_fails_like_others);
    tcase_add_test(tc, helpers_that_cannot_be_killed_do_not_pile_up);
    tcase_add_test(tc, unrequested_parts_are_garbage);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
