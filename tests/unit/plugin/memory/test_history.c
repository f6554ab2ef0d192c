/* test_history.c - samples in a ring, and what is left of damaged files. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "history.h"
#include "history_record.h"
#include "suite.h"

enum { AT_MS = 1795228267 };

static char dir[64], file[96], aside[96], other[96], said[4096];

static void
hear(const char *line)
{
    size_t size = strlen(said);

    snprintf(said + size, sizeof(said) - size, "%s\n", line);
}

static void
set_up(void)
{
    snprintf(dir, sizeof(dir), "/tmp/hw-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(file, sizeof(file), "%s/history", dir);
    snprintf(aside, sizeof(aside), "%s/history.damaged", dir);
    snprintf(other, sizeof(other), "%s/other", dir);
    said[0] = '\0';
}

static void
tear_down(void)
{
    unlink(file);
    unlink(aside);
    unlink(other);
    rmdir(dir);
}

static struct history_sample
sample_of(uint64_t n)
{
    struct history_sample sample = {.at_ms = (AT_MS + (int64_t)n) * 1000,
                                    .pid = 4711,
                                    .start_ticks = 99,
                                    .started_ms = AT_MS * (int64_t)1000,
                                    .profiling = n % 2,
                                    .unresponsive = n % 3 == 0,
                                    .rss = {true, n * 4096},
                                    .cgroup_limit = {n % 5 == 0, n % 5 ? 0 : n},
                                    .retained = {true, INT64_MAX}};

    if (n % 10 == 0)
        sample.allocated = (struct stats_figure){true, n};
    return sample;
}

static void
add(struct history *history, uint64_t from, uint64_t to)
{
    for (uint64_t n = from; n <= to; n++) {
        struct history_sample sample = sample_of(n);

        history_add(history, &sample);
    }
}

static void
check_sample(const struct history_sample *got, uint64_t n)
{
    struct history_sample expected = sample_of(n);

    ck_assert_int_eq(got->at_ms, expected.at_ms);
    ck_assert_int_eq(got->pid, expected.pid);
    ck_assert_uint_eq(got->start_ticks, expected.start_ticks);
    ck_assert_int_eq(got->started_ms, expected.started_ms);
    ck_assert_int_eq(got->profiling, expected.profiling);
    ck_assert_int_eq(got->unresponsive, expected.unresponsive);
    ck_assert_uint_eq(got->rss.value, expected.rss.value);
    ck_assert_int_eq(got->cgroup_limit.known, expected.cgroup_limit.known);
    ck_assert_uint_eq(got->cgroup_limit.value, expected.cgroup_limit.value);
    ck_assert_int_eq(got->allocated.known, expected.allocated.known);
    ck_assert(!got->cgroup_current.known);
    ck_assert_uint_eq(got->retained.value, INT64_MAX);
}

/* That there are samples from .. to, but for a run of some that are missing. */
static void
check_samples(struct history *history, uint64_t from, uint64_t to,
              uint64_t missing, uint64_t run)
{
    struct history_sample samples[100];
    uint64_t next = 0, n = from;
    size_t count;

    while ((count = history_read(history, &next, samples, 100)) > 0)
        for (size_t i = 0; i < count; i++, n++) {
            if (n == missing)
                n += run;
            check_sample(&samples[i], n);
        }
    ck_assert_uint_eq(n, to + 1);
}

START_TEST(samples_outlive_their_taker)
{
    int status;
    pid_t child = fork();
    struct history *history;
    struct stat st;

    if (child == 0) {
        history = history_open(dir, hear);
        add(history, 1, 250);
        kill(getpid(), SIGKILL);
    }
    waitpid(child, &status, 0);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(stat(file, &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0600);
    history = history_open(dir, hear);
    check_samples(history, 1, 250, 0, 0);
    add(history, 251, 260);
    history_close(history);
    history = history_open(dir, hear);
    check_samples(history, 1, 260, 0, 0);
    history_close(history);
    ck_assert_str_eq(said, "");
}
END_TEST

/* All at once, or the file alone: what is known is in the next one. */
START_TEST(what_is_deleted_is_written_again)
{
    struct history *history = history_open(dir, hear);

    add(history, 1, 200);
    unlink(file);
    add(history, 201, 202);
    ck_assert_ptr_nonnull(strstr(said, "/history was deleted"));
    unlink(file);
    rmdir(dir);
    add(history, 203, 204); /* and there is no place for it */
    check_samples(history, 1, 204, 0, 0);
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    said[0] = '\0';
    add(history, 205, 206);
    ck_assert_ptr_eq(strstr(said, "/history was deleted"),
                     strrchr(said, '/')); /* once */
    history_close(history);
    history = history_open(dir, hear);
    check_samples(history, 1, 206, 0, 0);
    history_close(history);
}
END_TEST

static void
overwrite(off_t at, const void *bytes, size_t size)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    ck_assert_int_eq(pwrite(fd, bytes, size, at), (ssize_t)size);
    close(fd);
}

/* By the resolution of their rows. */
static void
count_rows(struct history *history, size_t out[3])
{
    static struct history_sample samples[HISTORY_SAMPLES];
    uint64_t next = 0;
    size_t count = history_read(history, &next, samples, HISTORY_SAMPLES);

    out[0] = out[1] = out[2] = 0;
    for (size_t i = 0; i < count; i++) {
        const struct history_sample *s = &samples[i];

        ck_assert(i == 0 || s->at_ms > samples[i - 1].at_ms);
        ck_assert(i == 0 || s->seconds <= samples[i - 1].seconds);
        out[s->seconds == 1 ? 0 : s->seconds == 60 ? 1 : 2]++;
        /* The highest of those with the allocator's figures: each tenth. */
        if (s->seconds > 1) {
            int64_t slot_ms = (int64_t)s->seconds * 1000;

            ck_assert(s->allocated.known);
            ck_assert_int_gt(s->at_ms % slot_ms + 60000, slot_ms);
        }
    }
    ck_assert_uint_eq(history_read(history, &next, samples, 1), 0);
}

/* A faked clock: each second of hours, then one in ten seconds of weeks. */
START_TEST(what_is_old_is_thinned)
{
    const uint64_t hours = 5, day = 86400, weeks = 100 * day;
    struct history *history = history_open(dir, hear);
    struct stat st;
    size_t rows[3];

    add(history, 1, hours * 3600);
    count_rows(history, rows);
    ck_assert_uint_eq(rows[0], HISTORY_SECONDS);
    ck_assert_uint_ge(rows[1], (hours - 2) * 60);
    ck_assert_uint_le(rows[1], (hours - 2) * 60 + 1);
    ck_assert_uint_eq(rows[2], 0);
    history_close(history);
    history = history_open(dir, hear);
    count_rows(history, rows);
    ck_assert_uint_eq(rows[0], HISTORY_SECONDS);
    ck_assert_uint_ge(rows[1], (hours - 2) * 60);
    for (uint64_t n = hours * 3600 + 10; n < weeks; n += 50) {
        struct history_sample sample = sample_of(n);

        history_add(history, &sample);
    }
    count_rows(history, rows);
    ck_assert_uint_eq(rows[0], HISTORY_SECONDS);
    /* 50 s apart, the seconds are of four days. */
    ck_assert_uint_ge(rows[1], 2 * day / 60);
    ck_assert_uint_ge(rows[2], HISTORY_HOURS - 8 * 24);
    ck_assert_uint_le(rows[2], HISTORY_HOURS);
    history_close(history);
    ck_assert_int_eq(stat(file, &st), 0);
    ck_assert_int_eq(st.st_size, HISTORY_FILE_MAX);
    ck_assert_str_eq(said, "");
}
END_TEST

/* Each database has its row in a minute; of many in one, some have. */
START_TEST(databases_are_told_apart)
{
    struct history *history = history_open(NULL, NULL);
    struct history_sample sample, read[8];
    uint64_t next = 0;
    size_t count;

    for (int i = 0; i < 20; i++) {
        sample = sample_of(10);
        sample.at_ms = AT_MS / 60 * (int64_t)60000 + i * 1000;
        sample.pid = 1 + i / 10;
        history_add(history, &sample);
    }
    for (uint64_t n = 0; n < HISTORY_SECONDS; n++) {
        sample = sample_of(7200 + n);
        history_add(history, &sample);
    }
    count = history_read(history, &next, read, 2);
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(read[0].pid, 1);
    ck_assert_int_eq(read[1].pid, 2);
    ck_assert_uint_eq(read[1].seconds, 60);
    history_close(history);
}
END_TEST

/* A file of the version before: six hours of seconds. */
START_TEST(an_older_file_is_read)
{
    uint8_t record[HISTORY_RECORD];
    struct history *history;

    ck_assert(history_record_head(record, 1, 21600));
    overwrite(0, record, sizeof(record));
    for (uint64_t n = 21601; n <= 21600 + 100; n++) {
        struct history_sample sample = sample_of(n - 21600);

        ck_assert(history_record_encode(&sample, n, record));
        overwrite((off_t)((n - 1) % 21600 + 1) * HISTORY_RECORD, record,
                  sizeof(record));
    }
    history = history_open(dir, hear);
    check_samples(history, 1, 100, 0, 0);
    add(history, 101, 102);
    history_close(history);
    history = history_open(dir, hear);
    check_samples(history, 1, 102, 0, 0);
    history_close(history);
    ck_assert_str_eq(said, "");
    ck_assert_int_ne(access(aside, F_OK), 0);
}
END_TEST

START_TEST(without_a_directory_it_is_in_memory)
{
    struct history *history = history_open(NULL, hear);

    add(history, 1, 3);
    check_samples(history, 1, 3, 0, 0);
    history_close(history);
    ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(there_is_none_without_a_history)
{
    struct history_sample sample;
    uint64_t next = 0;

    ck_assert_uint_eq(history_read(NULL, &next, &sample, 1), 0);
    ck_assert(!history_last(NULL, 0, INT64_MAX, &sample));
    history_close(NULL);
}
END_TEST

/* Every byte of a record counts. */
START_TEST(a_torn_sample_is_passed_over)
{
    struct history *history = history_open(dir, hear);
    uint8_t byte;
    int fd;

    add(history, 1, 20);
    history_close(history);
    fd = open(file, O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(pread(fd, &byte, 1, 7 * HISTORY_RECORD + _i), 1);
    close(fd);
    byte ^= 0x10;
    overwrite(7 * HISTORY_RECORD + _i, &byte, 1);
    history = history_open(dir, hear);
    check_samples(history, 1, 20, 7, 1);
    add(history, 21, 22);
    check_samples(history, 1, 22, 7, 1);
    history_close(history);
    ck_assert_ptr_nonnull(strstr(said, "skipped 1 damaged sample"));
    ck_assert_int_ne(access(aside, F_OK), 0);
}
END_TEST

START_TEST(a_sample_in_anothers_place_is_passed_over)
{
    struct history *history = history_open(dir, hear);
    uint8_t record[HISTORY_RECORD];
    int fd;

    add(history, 1, 20);
    history_close(history);
    fd = open(file, O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(pread(fd, record, sizeof(record), 3 * HISTORY_RECORD),
                     HISTORY_RECORD);
    close(fd);
    overwrite(9 * HISTORY_RECORD, record, sizeof(record));
    history = history_open(dir, hear);
    check_samples(history, 1, 20, 9, 1);
    history_close(history);
}
END_TEST

/* What is cut off is gone, and written again where it belongs. */
START_TEST(a_file_that_was_cut_off_keeps_its_beginning)
{
    struct history *history = history_open(dir, hear);

    add(history, 1, 20);
    history_close(history);
    ck_assert_int_eq(truncate(file, 11 * HISTORY_RECORD + 5), 0);
    history = history_open(dir, hear);
    check_samples(history, 1, 10, 0, 0);
    add(history, 11, 12);
    history_close(history);
    history = history_open(dir, hear);
    check_samples(history, 1, 12, 0, 0);
    history_close(history);
}
END_TEST

static const char *const foreign[] = {"#!/bin/sh\nrm -rf /\n", "history", "",
                                      NULL};

/* Whatever lies there: another file, a link, a pipe, a directory. */
START_TEST(what_is_no_history_is_set_aside)
{
    static char bytes[HISTORY_FILE_MAX + 1];
    struct history *history;
    struct stat st;
    bool empty = false;

    if (_i < 3) {
        overwrite(0, foreign[_i], strlen(foreign[_i]));
        empty = !*foreign[_i];
    } else if (_i == 3) {
        memset(bytes, 'x', sizeof(bytes));
        overwrite(0, bytes, sizeof(bytes));
    } else if (_i == 4) {
        ck_assert_int_eq(symlink("/etc/passwd", file), 0);
    } else if (_i == 5) {
        ck_assert_int_eq(mkfifo(file, 0600), 0);
    } else if (_i == 6) {
        overwrite(0, bytes, HISTORY_RECORD);
    } else if (_i == 7) {
        overwrite(0, "x", 1);
        ck_assert_int_eq(link(file, other), 0);
    } else {
        overwrite(0, "x", 1);
        ck_assert_int_eq(chmod(file, 0644), 0);
    }
    history = history_open(dir, hear);
    add(history, 1, 30);
    history_close(history);
    ck_assert_int_eq(lstat(aside, &st), empty ? -1 : 0);
    ck_assert_int_eq(strstr(said, "renamed to") != NULL, !empty);
    history = history_open(dir, hear);
    check_samples(history, 1, 30, 0, 0);
    history_close(history);
}
END_TEST

/* Whole, but of no sense. */
START_TEST(hostile_numbers_do_no_harm)
{
    struct history *history = history_open(dir, hear);
    struct history_sample sample = sample_of(1), read[4];
    uint64_t next = 0;

    sample.at_ms = INT64_MAX;
    history_add(history, &sample);
    sample = sample_of(2);
    sample.started_ms = -5;
    history_add(history, &sample);
    sample = sample_of(3);
    sample.rss.value = UINT64_MAX;
    history_add(history, &sample);
    history_close(history);
    history = history_open(dir, hear);
    ck_assert_uint_eq(history_read(history, &next, read, 4), 1);
    ck_assert(!read[0].rss.known);
    history_close(history);
}
END_TEST

START_TEST(the_last_sample_of_a_time_is_found)
{
    struct history *history = history_open(NULL, NULL);
    const int64_t base_ms = (int64_t)AT_MS * 1000;
    struct history_sample last, another = sample_of(30);

    add(history, 1, 25);
    ck_assert(history_last(history, 0, INT64_MAX, &last));
    ck_assert_uint_eq(last.rss.value, 25 * 4096);
    ck_assert_uint_eq(last.allocated.value, 20);
    ck_assert_int_eq(last.allocator_ms, base_ms + 20000);
    ck_assert(history_last(history, base_ms, base_ms + 15500, &last));
    ck_assert_uint_eq(last.rss.value, 15 * 4096);
    ck_assert_uint_eq(last.allocated.value, 10);
    ck_assert(history_last(history, base_ms + 21000, base_ms + 22000, &last));
    ck_assert(!last.allocated.known && last.allocator_ms == 0);
    ck_assert(!history_last(history, base_ms + 26000, INT64_MAX, &last));
    ck_assert(!history_last(history, 0, 1, &last));
    another.pid++;
    another.allocated.known = false;
    history_add(history, &another);
    ck_assert(history_last(history, 0, INT64_MAX, &last));
    ck_assert_int_eq(last.pid, another.pid);
    ck_assert(!last.allocated.known);
    history_close(history);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("history");
    TCase *tc = tcase_create("history");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, samples_outlive_their_taker);
    tcase_add_test(tc, what_is_deleted_is_written_again);
    tcase_add_test(tc, what_is_old_is_thinned);
    tcase_add_test(tc, databases_are_told_apart);
    tcase_add_test(tc, an_older_file_is_read);
    tcase_add_test(tc, without_a_directory_it_is_in_memory);
    tcase_add_test(tc, there_is_none_without_a_history);
    tcase_add_loop_test(tc, a_torn_sample_is_passed_over, 0, HISTORY_RECORD);
    tcase_add_test(tc, a_sample_in_anothers_place_is_passed_over);
    tcase_add_test(tc, a_file_that_was_cut_off_keeps_its_beginning);
    tcase_add_loop_test(tc, what_is_no_history_is_set_aside, 0, 9);
    tcase_add_test(tc, hostile_numbers_do_no_harm);
    tcase_add_test(tc, the_last_sample_of_a_time_is_found);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
