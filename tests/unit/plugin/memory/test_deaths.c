/* test_deaths.c - how databases ended, as lines of a file. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffer.h"
#include "deaths.h"
#include "errors.h"
#include "suite.h"

static char dir[64], file[96], aside[96], other[96];

static void
set_up(void)
{
    snprintf(dir, sizeof(dir), "/tmp/hw-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(file, sizeof(file), "%s/deaths", dir);
    snprintf(aside, sizeof(aside), "%s/deaths.damaged", dir);
    snprintf(other, sizeof(other), "%s/other", dir);
}

static void
tear_down(void)
{
    unlink(file);
    unlink(aside);
    unlink(other);
    ck_assert_int_eq(rmdir(dir), 0);
}

static struct death
death_of(int n)
{
    struct death death = {.at_ms = 1795228267000 + n,
                          .started_ms = 1795228260000,
                          .pid = 4711 + n,
                          .signalled = n % 2,
                          .code = n % 2 ? 9 : 3,
                          .restarted = (enum death_restart)(n % 3),
                          .unknown = n % 8 == 6,
                          .attached = n % 8 == 6,
                          .oom_before = {n % 3 == 0, n % 3 ? 0 : 5},
                          .oom_after = {true, 7},
                          .oom_machine = n % 4 == 1,
                          .recorded = n % 5 == 4 ? 4712 : 0};

    snprintf(death.program, sizeof(death.program), "/usr/bin/a program=%d", n);
    return death;
}

static void
check_death(const struct death *got, int n)
{
    struct death expected = death_of(n);

    ck_assert_int_eq(got->at_ms, expected.at_ms);
    ck_assert_int_eq(got->started_ms, expected.started_ms);
    ck_assert_int_eq(got->pid, expected.pid);
    ck_assert_int_eq(got->signalled, expected.signalled);
    ck_assert_int_eq(got->unknown, expected.unknown);
    ck_assert_int_eq(got->attached, expected.attached);
    ck_assert_int_eq(got->code, expected.unknown ? 0 : expected.code);
    ck_assert_int_eq(got->asked, 0);
    ck_assert_int_eq(got->oom_before.known, expected.oom_before.known);
    ck_assert_uint_eq(got->oom_before.value, expected.oom_before.value);
    ck_assert_uint_eq(got->oom_after.value, 7);
    ck_assert_int_eq(got->oom_machine, expected.oom_machine);
    ck_assert_int_eq(got->restarted, expected.restarted);
    ck_assert_int_eq(got->recorded, expected.recorded);
    ck_assert_str_eq(got->program, expected.program);
}

static void
append(int from, int to)
{
    struct error err;

    for (int n = from; n <= to; n++) {
        struct death death = death_of(n);

        ck_assert_msg(deaths_append(dir, &death, &err) == 0, "%s", err.text);
    }
}

static void
write_file(const char *text, mode_t mode)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

START_TEST(what_is_appended_is_read)
{
    struct death deaths[8];
    struct stat st;

    ck_assert_uint_eq(deaths_read(dir, deaths, 8), 0);
    append(0, 4);
    ck_assert_int_eq(stat(file, &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0600);
    ck_assert_uint_eq(deaths_read(dir, deaths, 8), 5);
    for (int n = 0; n < 5; n++)
        check_death(&deaths[n], n);
    ck_assert_uint_eq(deaths_read(dir, deaths, 2), 2);
    check_death(&deaths[0], 3);
    check_death(&deaths[1], 4);
}
END_TEST

START_TEST(what_is_deleted_is_written_again)
{
    struct death deaths[8];
    int fd = deaths_watch(dir, -1);

    ck_assert_int_eq(fd, -1); /* a look makes nothing */
    append(0, 1);
    fd = deaths_watch(dir, fd);
    append(2, 2);
    ck_assert_int_eq(deaths_watch(dir, fd), fd);
    unlink(file);
    fd = deaths_watch(dir, fd);
    ck_assert_uint_eq(deaths_read(dir, deaths, 8), 3);
    unlink(file);
    rmdir(dir);
    ck_assert_int_eq(deaths_watch(dir, fd), fd); /* there is no place for it */
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    fd = deaths_watch(dir, fd);
    ck_assert_uint_eq(deaths_read(dir, deaths, 8), 3);
    for (int n = 0; n < 3; n++)
        check_death(&deaths[n], n);
    /* Not over what is newer. */
    unlink(file);
    append(3, 3);
    fd = deaths_watch(dir, fd);
    ck_assert_uint_eq(deaths_read(dir, deaths, 8), 1);
    close(fd);
}
END_TEST

START_TEST(what_is_deleted_waits_for_room)
{
    struct death deaths[4];
    struct rlimit limit, whole;
    int fd, limited, full;

    append(0, 1);
    fd = deaths_watch(dir, -1);
    unlink(file);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &whole), 0);
    signal(SIGXFSZ, SIG_IGN);
    limit = whole;
    limit.rlim_cur = 20;
    /* Check has a file to write, too. */
    limited = setrlimit(RLIMIT_FSIZE, &limit);
    full = deaths_watch(dir, fd);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &whole), 0);
    ck_assert_int_eq(limited, 0);
    ck_assert_int_eq(full, fd);
    ck_assert_uint_eq(deaths_read(dir, deaths, 4), 0);
    fd = deaths_watch(dir, fd);
    ck_assert_uint_eq(deaths_read(dir, deaths, 4), 2);
    check_death(&deaths[0], 0);
    check_death(&deaths[1], 1);
    close(fd);
}
END_TEST

static struct buffer newer_line;
static volatile sig_atomic_t lock; /* -1: released */

static void
append_and_release(int number)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    (void)number;
    (void)!write(fd, newer_line.data, newer_line.size);
    close(fd);
    close(lock);
    lock = -1;
}

/* Older lines do not come behind it. */
START_TEST(what_is_deleted_waits_for_one_that_appends)
{
    static const struct itimerval soon = {.it_value.tv_usec = 50000};
    struct death deaths[4], newer = death_of(2);
    int fd;

    append(0, 1);
    fd = deaths_watch(dir, -1);
    unlink(file);
    buffer_init(&newer_line, DEATHS_FILE_MAX);
    death_format(&newer, &newer_line);
    buffer_char(&newer_line, '\n');
    lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(flock(lock, LOCK_EX), 0);
    signal(SIGALRM, append_and_release);
    ck_assert_int_eq(setitimer(ITIMER_REAL, &soon, NULL), 0);
    fd = deaths_watch(dir, fd);
    while (lock >= 0)
        ;
    ck_assert_uint_eq(deaths_read(dir, deaths, 4), 1);
    check_death(&deaths[0], 2);
    buffer_fini(&newer_line);
    close(fd);
}
END_TEST

START_TEST(a_line_that_does_not_fit_leaves_the_file_as_it_was)
{
    struct death deaths[4], death = death_of(2);
    struct rlimit limit, whole;
    struct stat before, st;
    struct error err;
    int limited, rc;

    append(0, 1);
    ck_assert_int_eq(stat(file, &before), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &whole), 0);
    signal(SIGXFSZ, SIG_IGN);
    limit = whole;
    limit.rlim_cur = (rlim_t)before.st_size + 20;
    /* Check has a file to write, too. */
    limited = setrlimit(RLIMIT_FSIZE, &limit);
    rc = deaths_append(dir, &death, &err);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &whole), 0);
    ck_assert_int_eq(limited, 0);
    ck_assert_int_eq(rc, -1);
    ck_assert_int_eq(stat(file, &st), 0);
    ck_assert_int_eq(st.st_size, before.st_size);
    append(2, 2);
    ck_assert_uint_eq(deaths_read(dir, deaths, 4), 3);
    check_death(&deaths[2], 2);
}
END_TEST

START_TEST(reserved_room_is_not_read)
{
    struct death deaths[4];
    struct stat st;

    deaths_reserve(dir);
    ck_assert_int_eq(stat(file, &st), 0);
    ck_assert_int_eq(st.st_size, 0);
    ck_assert_uint_eq(deaths_read(dir, deaths, 4), 0);
    append(0, 1);
    deaths_reserve(dir);
    ck_assert_uint_eq(deaths_read(dir, deaths, 4), 2);
    check_death(&deaths[1], 1);
}
END_TEST

START_TEST(the_oldest_go)
{
    static struct death deaths[DEATHS_MAX];
    struct stat st;
    size_t count;

    append(0, 2000);
    ck_assert_int_eq(stat(file, &st), 0);
    ck_assert_int_le(st.st_size, DEATHS_FILE_MAX);
    count = deaths_read(dir, deaths, DEATHS_MAX);
    ck_assert_uint_gt(count, 100);
    for (size_t i = 0; i < count; i++)
        check_death(&deaths[i], 2001 - (int)count + (int)i);
}
END_TEST

enum { WRITERS = 4, LINES = 60 };

START_TEST(two_that_append_at_once_lose_nothing)
{
    static struct death list[DEATHS_MAX];
    struct error err;
    struct death death;
    bool seen[WRITERS * LINES] = {false};
    size_t count;
    int status;
    pid_t child;

    for (int n = 0; n < 400; n++) { /* so that it is rewritten on the way */
        death = death_of(n + 10000);
        ck_assert_int_eq(deaths_append(dir, &death, &err), 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        child = fork();
        ck_assert_int_ge(child, 0);
        if (child > 0)
            continue;
        for (int n = 0; n < LINES; n++) {
            death = death_of(i * LINES + n);
            if (deaths_append(dir, &death, &err) != 0)
                _exit(1);
        }
        _exit(0);
    }
    for (int i = 0; i < WRITERS; i++) {
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    count = deaths_read(dir, list, DEATHS_MAX);
    ck_assert_uint_ge(count, WRITERS * LINES);
    for (size_t i = 0; i < count; i++)
        if (list[i].pid - 4711 < WRITERS * LINES)
            seen[list[i].pid - 4711] = true;
    for (int n = 0; n < WRITERS * LINES; n++)
        ck_assert_msg(seen[n], "%d is lost", n);
}
END_TEST

START_TEST(a_torn_line_spoils_no_other)
{
    struct death deaths[8];

    append(0, 1);
    write_file("2026-11-21 02:31:07 at=1795228267000 started=17952", 0600);
    append(2, 2);
    ck_assert_uint_eq(deaths_read(dir, deaths, 8), 3);
    for (int n = 0; n < 3; n++)
        check_death(&deaths[n], n);
}
END_TEST

START_TEST(a_line_that_is_none_drives_out_no_death)
{
    struct death deaths[2];

    append(0, 1);
    write_file("whatever\n\n", 0600);
    ck_assert_uint_eq(deaths_read(dir, deaths, 2), 2);
    check_death(&deaths[0], 0);
    check_death(&deaths[1], 1);
}
END_TEST

START_TEST(a_torn_line_spoils_no_other_where_the_oldest_go)
{
    static struct death deaths[DEATHS_MAX];
    struct stat st;
    int n = 0;
    size_t count;

    do {
        append(n, n);
        n++;
        ck_assert_int_eq(stat(file, &st), 0);
    } while (st.st_size < DEATHS_FILE_MAX - 120);
    write_file("at=1795228267000 program=/us", 0600);
    append(n, n);
    ck_assert_int_eq(stat(file, &st), 0);
    ck_assert_int_lt(st.st_size, DEATHS_FILE_MAX - 120);
    count = deaths_read(dir, deaths, DEATHS_MAX);
    ck_assert_uint_gt(count, 100);
    check_death(&deaths[count - 1], n);
    check_death(&deaths[count - 2], n - 1);
}
END_TEST

#define LIFE "at=9 started=1 pid=3 "

static const struct {
    const char *line;
    bool is_death;
} lines[] = {
    {LIFE "signal=9 asked=0 program=/x", true},
    {LIFE "status=0 asked=15 program=", true},
    {"whatever " LIFE "new=1 status=0 asked=0 program=x", true},
    {"", false},
    {"program=x", false},
    {LIFE "signal=9 asked=0", false},
    {LIFE "asked=0 program=x", false},
    {LIFE "status=1 signal=9 asked=0 program=x", false},
    {LIFE "status=256 asked=0 program=x", false},
    {LIFE "signal=-9 asked=0 program=x", false},
    {LIFE "signal=9x asked=0 program=x", false},
    {LIFE "signal= asked=0 program=x", false},
    {LIFE "signal=99999999999999999999999999 asked=0 program=x", false},
    {"at=253402300800000 started=1 pid=3 status=0 asked=0 program=x", false},
    {"at=9 started=1 pid=4294967296 status=0 asked=0 program=x", false},
};

START_TEST(a_line_is_a_death_or_none)
{
    struct span line = {lines[_i].line, strlen(lines[_i].line)};
    struct death death;

    ck_assert_int_eq(death_parse(line, &death), lines[_i].is_death);
}
END_TEST

START_TEST(every_line_may_be_cut_off_anywhere)
{
    struct death death = death_of(3), got;
    struct buffer line;

    buffer_init(&line, DEATHS_LINE_MAX);
    death_format(&death, &line);
    for (size_t size = 0; size <= line.size; size++) {
        struct span part = {line.data, size};

        if (death_parse(part, &got))
            ck_assert_int_eq(got.pid, death.pid);
    }
    check_death(&got, 3);
    buffer_fini(&line);
}
END_TEST

START_TEST(a_program_cannot_make_lines)
{
    struct death death = death_of(0), deaths[4];
    struct error err;

    snprintf(death.program, sizeof(death.program), "a\n" LIFE "b\033[1m");
    ck_assert_int_eq(deaths_append(dir, &death, &err), 0);
    ck_assert_uint_eq(deaths_read(dir, deaths, 4), 1);
    ck_assert_str_eq(deaths[0].program, "a?" LIFE "b?[1m");
}
END_TEST

START_TEST(what_is_no_file_of_ours_is_set_aside)
{
    struct death deaths[4];
    struct stat st;
    FILE *large;

    if (_i == 0) {
        ck_assert_int_eq(symlink(other, file), 0);
    } else if (_i == 1) {
        ck_assert_int_eq(mkfifo(file, 0600), 0);
    } else if (_i == 2) {
        write_file("x", 0644);
    } else if (_i == 3) {
        write_file("x", 0600);
        ck_assert_int_eq(link(file, other), 0);
    } else {
        large = fopen(file, "we");
        for (int i = 0; i < 3 * DEATHS_FILE_MAX; i++)
            fputc('x', large);
        fclose(large);
        ck_assert_int_eq(chmod(file, 0600), 0);
    }
    ck_assert_uint_eq(deaths_read(dir, deaths, 4), 0);
    append(1, 2);
    ck_assert_uint_eq(deaths_read(dir, deaths, 4), 2);
    check_death(&deaths[1], 2);
    ck_assert_int_eq(lstat(aside, &st), 0);
    ck_assert_int_eq(lstat(other, &st), _i == 3 ? 0 : -1);
}
END_TEST

static const struct {
    struct death death;
    const char *text;
    bool clean;
} ends[] = {
    {{.code = 0}, "ended with status 0", true},
    {{.code = 1}, "ended with status 1", false},
    {{.code = 1, .asked = 15},
     "ended with status 1, asked to end by signal 15",
     true},
    {{.signalled = true, .code = 11},
     "was killed by signal 11 (SIGSEGV)",
     false},
    {{.signalled = true, .code = 15, .asked = 15},
     "was killed by signal 15 (SIGTERM), asked to end by signal 15",
     true},
    {{.signalled = true,
      .code = 9,
      .oom_before = {true, 2},
      .oom_after = {true, 3}},
     "was killed by signal 9 (SIGKILL); the kernel killed 1 process of its "
     "cgroup for want of memory while it ran",
     false},
    {{.signalled = true,
      .code = 9,
      .oom_before = {true, 2},
      .oom_after = {true, 4},
      .oom_machine = true},
     "was killed by signal 9 (SIGKILL); the kernel killed 2 processes of the "
     "machine for want of memory while it ran",
     false},
    {{.signalled = true, .code = 9, .oom_after = {true, 3}},
     "was killed by signal 9 (SIGKILL)",
     false},
    {{.signalled = true, .code = 6, .restarted = DEATH_WITHOUT_HEAPWIRE},
     "was killed by signal 6 (SIGABRT), before it served: it was started again "
     "without heapwire in it",
     false},
    {{.signalled = true, .code = 6, .restarted = DEATH_WITHOUT_OPTIONS},
     "was killed by signal 6 (SIGABRT), before its main was reached: it was "
     "started again without prof:true and without a preloaded jemalloc of "
     "heapwire-run's",
     false},
    {{.unknown = true, .attached = true},
     "ended; how is not known, because heapwire-run was attached to it and is "
     "not its parent",
     false},
    {{.signalled = true, .code = 100},
     "was killed by signal 100 (SIG?)",
     false},
};

START_TEST(an_end_is_described_in_words)
{
    char text[512], little[8];

    death_describe(&ends[_i].death, text, sizeof(text));
    ck_assert_str_eq(text, ends[_i].text);
    ck_assert_int_eq(death_was_clean(&ends[_i].death), ends[_i].clean);
    death_describe(&ends[_i].death, little, sizeof(little));
    ck_assert_uint_eq(strlen(little), 7);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("deaths");
    TCase *tc = tcase_create("deaths");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, what_is_appended_is_read);
    tcase_add_test(tc, what_is_deleted_is_written_again);
    tcase_add_test(tc, what_is_deleted_waits_for_room);
    tcase_add_test(tc, what_is_deleted_waits_for_one_that_appends);
    tcase_add_test(tc, a_line_that_does_not_fit_leaves_the_file_as_it_was);
    tcase_add_test(tc, reserved_room_is_not_read);
    tcase_add_test(tc, the_oldest_go);
    tcase_add_test(tc, two_that_append_at_once_lose_nothing);
    tcase_add_test(tc, a_torn_line_spoils_no_other);
    tcase_add_test(tc, a_line_that_is_none_drives_out_no_death);
    tcase_add_test(tc, a_torn_line_spoils_no_other_where_the_oldest_go);
    tcase_add_loop_test(tc, a_line_is_a_death_or_none, 0,
                        sizeof(lines) / sizeof(lines[0]));
    tcase_add_test(tc, every_line_may_be_cut_off_anywhere);
    tcase_add_test(tc, a_program_cannot_make_lines);
    tcase_add_loop_test(tc, what_is_no_file_of_ours_is_set_aside, 0, 5);
    tcase_add_loop_test(tc, an_end_is_described_in_words, 0,
                        sizeof(ends) / sizeof(ends[0]));
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
