/* test_index_service.c - symbol indexes are made, kept and let go, with helpers
 * that misbehave. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "index_service.h"
#include "suite.h"
#include "symbolizer.h"

enum { WAIT_MS = 100000, SLOW_MS = 50 };

static char directory[] = "/tmp/hw-indexes-XXXXXX";
static char dir[64], program[96];
static struct elf_file elf;
static struct index_service *keeper;
static struct index_service_options options;
static struct index_entry list[INDEX_ENTRIES_MAX];

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char logged[4096];

static void
log_one(const char *line)
{
    pthread_mutex_lock(&log_lock);
    snprintf(logged + strlen(logged), sizeof(logged) - strlen(logged), "%s\n",
             line);
    pthread_mutex_unlock(&log_lock);
}

/* Helpers would get idle processors alone: beside other tests there is none. */
int
sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
    (void)pid, (void)policy, (void)param;
    return 0;
}

/* Waits for it: the keeper's thread logs after it has changed an entry. */
static bool
has_logged(const char *text)
{
    uint64_t until = clock_ms() + WAIT_MS;
    bool has = false;

    while (!has && clock_ms() < until) {
        pthread_mutex_lock(&log_lock);
        has = strstr(logged, text) != NULL;
        pthread_mutex_unlock(&log_lock);
        if (!has)
            (void)poll(NULL, 0, 5);
    }
    return has;
}

static void
forget_log(void)
{
    pthread_mutex_lock(&log_lock);
    logged[0] = '\0';
    pthread_mutex_unlock(&log_lock);
}

/* Of keepers to come: one that runs may be about to start its own. */
static void
helper_is(const char *behaviour)
{
    snprintf(program, sizeof(program), "%s/%s", directory, behaviour);
    (void)unlink(program);
    ck_assert_int_eq(symlink(HW_TEST_BIN "/fake_symbolizer", program), 0);
}

static void
set_up(void)
{
    struct error err;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    strcpy(directory + sizeof(directory) - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(dir, sizeof(dir), "%s/symbols", directory);
    ck_assert_int_eq(elf_init(&elf, fd, "this", &err), 0);
    logged[0] = '\0';
    options = index_service_defaults;
    options.dir = dir;
    options.program = program;
    options.rules.debug_bytes = UINT64_MAX;
    options.rules.slow_ms = SLOW_MS;
    options.quiet_ms = 0;
    options.log = log_one;
    signal(SIGXFSZ, SIG_IGN); /* of files that grow too large */
}

static void
start(void)
{
    struct error err = {0};

    keeper = index_service_start(&options, &err);
    ck_assert_msg(keeper != NULL, "%s", err.text);
}

static void
stop(void)
{
    index_service_stop(keeper);
    keeper = NULL;
}

static void
tear_down(void)
{
    char command[128];
    int status;

    stop();
    fd_close(elf.fd);
    elf_fini(&elf);
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
    /* None runs on: what is left was killed. */
    while (waitpid(-1, &status, 0) > 0)
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ck_assert_int_eq(errno, ECHILD);
}

/* The build is told apart by one byte. */
static void
build_is(uint8_t number)
{
    elf.build_id_size = 20;
    memset(elf.build_id, 0xa0, elf.build_id_size);
    elf.build_id[19] = number;
}

static char *
path_of(uint8_t number, const char *ending)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/", dir);
    for (int i = 0; i < 19; i++)
        strcat(path, "a0");
    snprintf(path + strlen(path), 16, "%02x%s", number, ending);
    return path;
}

static void
ask(uint8_t number, const char *path, uint32_t elapsed_ms)
{
    struct symbolizer_asked asked = {
        .elf = &elf, .path = path, .elapsed_ms = elapsed_ms};

    build_is(number);
    index_service_asked(keeper, &asked);
}

static void
refuse(uint8_t number, const char *why)
{
    struct symbolizer_asked asked = {
        .elf = &elf, .path = "/bin/x", .refused = why};

    build_is(number);
    index_service_asked(keeper, &asked);
}

static const struct index_entry *
entry(uint8_t number)
{
    size_t count = index_service_list(keeper, list, INDEX_ENTRIES_MAX);

    for (size_t i = 0; i < count; i++)
        if (list[i].id.bytes[19] == number)
            return &list[i];
    return NULL;
}

static const struct index_entry *
await(uint8_t number, enum index_state state)
{
    uint64_t until = clock_ms() + WAIT_MS;
    const struct index_entry *e;

    while (!(e = entry(number)) || e->state != state) {
        ck_assert_msg(clock_ms() < until, "%d is not %d but %d: %s\n%s", number,
                      (int)state, e ? (int)e->state : -1, e ? e->why : "",
                      logged);
        (void)poll(NULL, 0, 5);
    }
    return e;
}

static struct error open_error;

static int
open_index(uint8_t number)
{
    build_is(number);
    return index_service_open(keeper, &elf, &open_error);
}

static size_t
files(void)
{
    DIR *d = opendir(dir);
    size_t count = 0;

    while (readdir(d))
        count++;
    closedir(d);
    return count - 2;
}

static void
await_file(void)
{
    while (files() == 0)
        (void)poll(NULL, 0, 5);
}

START_TEST(a_costly_object_gets_an_index)
{
    const struct index_entry *e;
    int64_t now = clock_wall_ms();
    struct stat st;
    char text[8];
    int fd;

    helper_is("parts");
    start();
    ck_assert_int_eq(stat(dir, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    ck_assert_int_eq(open_index(1), -1);
    ask(1, "/opt/bin/db", SLOW_MS);
    e = await(1, INDEX_READY);
    ck_assert_str_eq(e->object, "db");
    ck_assert_uint_eq(e->bytes, 5 * strlen("/opt/bin/db"));
    ck_assert_int_ge(e->made_ms, now);
    ck_assert_int_ge(e->used_ms, now);
    ck_assert(has_logged("made the symbol index of db (a0a0"));
    ck_assert_int_eq(stat(path_of(1, ".hwindex"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0600);
    ck_assert_uint_eq(files(), 1);
    fd = open_index(1);
    ck_assert_int_eq(read(fd, text, 5), 5);
    ck_assert_mem_eq(text, "index", 5);
    fd_close(fd);
    /* And the next heapwired has it. */
    stop();
    start();
    e = entry(1);
    ck_assert_int_eq(e->state, INDEX_READY);
    ck_assert_str_eq(e->object, "");
    ck_assert_uint_eq(e->bytes, 5 * strlen("/opt/bin/db"));
    ck_assert_int_ge(e->used_ms, now);
    fd = open_index(1);
    ck_assert_int_ge(fd, 0);
    fd_close(fd);
}
END_TEST

START_TEST(much_debug_information_is_costly_too)
{
    helper_is("parts");
    options.rules.debug_bytes = 1000; /* this test has more */
    start();
    ask(1, "/bin/x", 0);
    ck_assert_uint_gt(await(1, INDEX_READY)->debug_bytes, 1000);
    ck_assert(has_logged(" % of its debug information, in "));
}
END_TEST

START_TEST(what_is_cheap_or_has_no_build_id_gets_none)
{
    struct symbolizer_asked asked = {
        .elf = &elf, .path = "/bin/x", .elapsed_ms = SLOW_MS};

    helper_is("parts");
    start();
    ask(1, "/bin/x", SLOW_MS - 1);
    elf.build_id_size = 7;
    index_service_asked(keeper, &asked);
    elf.build_id_size = 0;
    index_service_asked(keeper, &asked);
    ck_assert_int_eq(index_service_open(keeper, &elf, &open_error), -1);
    ck_assert_uint_eq(index_service_list(keeper, list, INDEX_ENTRIES_MAX), 0);
    ck_assert_uint_eq(files(), 0);
}
END_TEST

START_TEST(an_index_beside_the_object_is_reported)
{
    struct symbolizer_asked asked = {
        .elf = &elf, .path = "/bin/x", .indexed = true, .elapsed_ms = SLOW_MS};

    helper_is("parts");
    start();
    build_is(1);
    index_service_asked(keeper, &asked);
    ck_assert_int_eq(entry(1)->state, INDEX_SHIPPED);
    ck_assert_str_eq(entry(1)->object, "x");
    ck_assert_int_eq(open_index(1), -1);
    ask(1, "/bin/x", SLOW_MS); /* it is gone */
    (void)await(1, INDEX_READY);
    index_service_asked(keeper, &asked);
    ck_assert_int_eq(entry(1)->state, INDEX_READY);
}
END_TEST

static const struct {
    const char *behaviour, *why;
} failures[] = {
    {"half_parts", "status 1"},
    {"no_parts", "the symboliser returned nothing"},
    {"parts_and_complaint", ""},
    {"bare", "has no debug information"}, /* symbols alone gain it nothing */
    {"endless_parts", "it has more than 100000 bytes"},
    {"garbage", "garbage"},
    {"die", "status 7"},
    {"die_late", "status 7"},
    {"crash", "signal 9"},
    {"good", ""},
    {"nothing_of_that_name", "status 2"},
};

START_TEST(a_failure_leaves_no_file_and_is_not_repeated_soon)
{
    const struct index_entry *e;

    helper_is(failures[_i].behaviour);
    options.rules.bytes = 100000;
    start();
    ask(1, "/bin/x", SLOW_MS);
    e = await(1, INDEX_FAILED);
    ck_assert_msg(strstr(e->why, failures[_i].why) && *e->why, "%s", e->why);
    ck_assert(has_logged("no symbol index of x was made: "));
    ck_assert_uint_eq(files(), 0);
    ck_assert_int_eq(open_index(1), -1);
    helper_is("parts");
    ask(1, "/bin/x", SLOW_MS);
    ck_assert_int_eq(entry(1)->state, INDEX_FAILED);
}
END_TEST

START_TEST(three_failures_are_the_last)
{
    helper_is("die");
    options.rules.retry_ms = 0;
    start();
    for (int i = 0; i < INDEX_FAILURES_MAX; i++) {
        ask(1, "/bin/x", SLOW_MS);
        (void)await(1, INDEX_FAILED);
    }
    ask(1, "/bin/x", SLOW_MS);
    ck_assert_int_eq(entry(1)->state, INDEX_FAILED);
}
END_TEST

START_TEST(a_damaged_one_is_made_again_once)
{
    int fd;

    helper_is("parts");
    start();
    ask(1, "/bin/x", SLOW_MS);
    (void)await(1, INDEX_READY);
    refuse(1, "a block is damaged");
    ck_assert(has_logged("of x was refused: a block is damaged"));
    (void)await(1, INDEX_READY);
    fd = open_index(1);
    ck_assert_int_ge(fd, 0);
    fd_close(fd);
    refuse(1, "damaged again");
    ck_assert_int_eq(entry(1)->state, INDEX_FAILED);
    ck_assert_str_eq(entry(1)->why, "damaged again");
    ck_assert_int_eq(open_index(1), -1);
}
END_TEST

/* Another user's cannot be used: then we make our own. */
START_TEST(what_is_wrong_with_a_shipped_one_is_mended)
{
    helper_is("parts");
    start();
    refuse(1, "of another build");
    ck_assert_str_eq(await(1, INDEX_READY)->why, "of another build");
    stop();
    start();
    ck_assert_str_eq(entry(1)->why, "");
}
END_TEST

START_TEST(a_shipped_index_fault_is_reported_once)
{
    struct symbolizer_asked asked = {
        .elf = &elf, .path = "/bin/x", .indexed = true};

    helper_is("die");
    start();
    refuse(1, "it is a symbolic link");
    ck_assert(has_logged("it is a symbolic link"));
    ck_assert_str_eq(await(1, INDEX_FAILED)->why,
                     "the symboliser ended with status 7; it is a symbolic "
                     "link");
    ck_assert(has_logged("no symbol index")); /* the thread's last line */
    forget_log();
    refuse(1, "it is a symbolic link");
    ck_assert_str_eq(logged, "");
    refuse(1, "it is damaged");
    ck_assert(has_logged("it is damaged"));
    build_is(1);
    index_service_asked(keeper, &asked); /* it is well */
    ck_assert_str_eq(entry(1)->why, "");
}
END_TEST

static void
make_link(const char *path)
{
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
}

static void
make_directory(const char *path)
{
    ck_assert_int_eq(mkdir(path, 0700), 0);
}

static const struct {
    void (*make)(const char *path);
    const char *what;
} bad_files[] = {{make_link, "symbolic link"},
                 {make_directory, "not a regular file"}};

START_TEST(what_is_no_file_is_neither_used_nor_replaced)
{
    struct stat st;

    helper_is("parts");
    options.rules.retry_ms = 0;
    start();
    ask(1, "/bin/x", SLOW_MS);
    (void)await(1, INDEX_READY);
    ck_assert_int_eq(unlink(path_of(1, ".hwindex")), 0);
    bad_files[_i].make(path_of(1, ".hwindex"));
    ck_assert_int_eq(open_index(1), -1);
    ck_assert_int_eq(entry(1)->state, INDEX_FAILED);
    ck_assert_msg(strstr(entry(1)->why, bad_files[_i].what), "%s",
                  entry(1)->why);
    ask(1, "/bin/x", SLOW_MS);
    (void)await(1, INDEX_FAILED);
    ck_assert_msg(strstr(entry(1)->why, "is in the way"), "%s", entry(1)->why);
    stop();
    start();
    ck_assert_ptr_null(entry(1));
    ck_assert(has_logged(bad_files[_i].what));
    ck_assert_int_eq(lstat(path_of(1, ".hwindex"), &st), 0);
    ck_assert(!S_ISREG(st.st_mode));
    ck_assert_int_eq(stat("/etc/passwd", &st), 0);
    ck_assert_uint_eq(files(), 1);
}
END_TEST

START_TEST(a_file_that_was_removed_is_not_listed_and_made_again)
{
    helper_is("parts");
    start();
    ask(1, "/bin/x", SLOW_MS);
    (void)await(1, INDEX_READY);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(unlink(path_of(1, ".hwindex")), 0);
        if (i == 0) {
            ck_assert_int_eq(open_index(1), -1);
            ck_assert_str_eq(open_error.text, "");
        }
        ck_assert_int_eq(entry(1)->state, INDEX_NONE);
        ck_assert_uint_eq(entry(1)->bytes, 0);
        ck_assert_str_eq(entry(1)->why, "");
        ask(1, "/bin/x", SLOW_MS);
        (void)await(1, INDEX_READY);
    }
    /* One of which nothing else is known. */
    stop();
    start();
    ck_assert_int_eq(entry(1)->state, INDEX_READY);
    ck_assert_int_eq(unlink(path_of(1, ".hwindex")), 0);
    ck_assert_ptr_null(entry(1));
}
END_TEST

/* Each is 30 bytes; three do not fit. */
START_TEST(those_unused_for_longest_go)
{
    helper_is("parts");
    options.rules.bytes = 70;
    start();
    ask(1, "/bin/x", SLOW_MS);
    (void)await(1, INDEX_READY);
    (void)poll(NULL, 0, 20);
    ask(2, "/bin/y", SLOW_MS);
    (void)await(2, INDEX_READY);
    (void)poll(NULL, 0, 20);
    ask(1, "/bin/x", 0); /* is in use */
    (void)poll(NULL, 0, 20);
    ask(3, "/bin/z", SLOW_MS);
    (void)await(3, INDEX_READY);
    ck_assert_ptr_null(entry(2));
    ck_assert_int_eq(entry(1)->state, INDEX_READY);
    ck_assert_uint_eq(files(), 2);
    ck_assert_int_eq(access(path_of(2, ".hwindex"), F_OK), -1);
    /* A smaller ceiling holds at once. */
    stop();
    options.rules.bytes = 40;
    start();
    ck_assert_uint_eq(files(), 1);
    ck_assert_uint_eq(index_service_list(keeper, list, INDEX_ENTRIES_MAX), 1);
    /* One that is larger than all may be does not cost the others. */
    ask(4, "/bin/much_longer", SLOW_MS);
    (void)await(4, INDEX_FAILED);
    ck_assert_uint_eq(files(), 1);
}
END_TEST

START_TEST(a_start_removes_what_was_not_finished)
{
    static const char *const odd[] = {"notes", "a0.hwindex", "A0A0.hwindex"};
    char path[128];

    helper_is("parts");
    start();
    stop();
    fd_close(creat(path_of(1, ".tmp"), 0600));
    fd_close(creat(path_of(2, ".hwindex"), 0600));
    make_link(path_of(3, ".tmp"));
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, odd[i]);
        fd_close(creat(path, 0600));
    }
    start();
    ck_assert_int_eq(access(path_of(1, ".tmp"), F_OK), -1);
    ck_assert_int_eq(entry(2)->state, INDEX_READY);
    ck_assert_uint_eq(files(), 5);
    for (size_t i = 0; i < 3; i++)
        ck_assert_msg(has_logged(odd[i]), "%s: %s", odd[i], logged);
    ck_assert(has_logged(".tmp is skipped: it cannot be removed"));
}
END_TEST

START_TEST(another_node_in_the_same_directory_is_not_disturbed)
{
    struct index_service *other;
    struct error err = {0};
    char text[8];
    int fd;

    /* That one is at it, and this one starts, and fails at it. */
    helper_is("hang");
    start();
    ask(1, "/bin/x", SLOW_MS);
    (void)await(1, INDEX_MAKING);
    other = keeper;
    await_file();
    helper_is("die");
    start();
    await_file(); /* another one, if this start came before that one's lock */
    ask(1, "/bin/x", SLOW_MS);
    (void)await(1, INDEX_FAILED);
    ck_assert_uint_eq(files(), 1);
    stop();
    keeper = other;
    stop();
    ck_assert_uint_eq(files(), 0);

    /* What that one makes, this one finds, and leaves where it fails. */
    helper_is("parts");
    start();
    other = index_service_start(&options, &err);
    ck_assert_msg(other != NULL, "%s", err.text);
    ask(1, "/bin/x", SLOW_MS);
    (void)await(1, INDEX_READY);
    stop();
    keeper = other;
    ask(1, "/bin/x", SLOW_MS);
    ck_assert_uint_eq(await(1, INDEX_READY)->bytes, 5 * strlen("/bin/x"));
    ck_assert(has_logged("found the symbol index of x"));
    fd = open_index(1);
    ck_assert_int_eq(read(fd, text, 5), 5);
    fd_close(fd);
}
END_TEST

START_TEST(a_full_disk_is_reported_and_loses_nothing)
{
    struct rlimit limit = {100, RLIM_INFINITY}, old;

    helper_is("parts");
    options.rules.retry_ms = 0;
    start();
    ask(1, "/bin/x", SLOW_MS);
    (void)await(1, INDEX_READY);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit.rlim_max = old.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ask(2, "/bin/a_program_with_a_long_name", SLOW_MS);
    (void)await(2, INDEX_FAILED);
    ck_assert_msg(strstr(entry(2)->why, "cannot write "), "%s", entry(2)->why);
    ck_assert_uint_eq(files(), 1);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    ask(2, "/bin/a_program_with_a_long_name", SLOW_MS);
    (void)await(2, INDEX_READY);
    ck_assert_int_eq(entry(1)->state, INDEX_READY);
}
END_TEST

START_TEST(a_directory_that_others_reach_is_refused)
{
    struct error err;

    ck_assert_int_eq(mkdir(dir, 0755), 0);
    ck_assert_ptr_null(index_service_start(&options, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "open to others"));
}
END_TEST

START_TEST(stopping_does_not_wait_for_an_index)
{
    uint64_t began;

    helper_is("hang");
    start();
    ask(1, "/bin/x", SLOW_MS);
    (void)await(1, INDEX_MAKING);
    began = clock_ms();
    stop();
    ck_assert_uint_lt(clock_ms() - began, WAIT_MS); /* it never ends */
    ck_assert_uint_eq(files(), 0);
    ck_assert_str_eq(logged, "");
}
END_TEST

START_TEST(a_helper_that_ends_late_is_reaped_by_the_next)
{
    siginfo_t ended;

    helper_is("undead");
    start();
    ask(1, "/bin/x", SLOW_MS);
    (void)await(1, INDEX_READY);
    ck_assert_int_eq(unlink(program), 0);
    ck_assert_int_eq(waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
    ask(2, "/bin/y", SLOW_MS);
    (void)await(2, INDEX_FAILED);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}
END_TEST

START_TEST(requests_have_a_ceiling)
{
    size_t count, wanted = 0;

    helper_is("hang");
    start();
    for (uint8_t i = 0; i < INDEX_REQUESTS_MAX + 10; i++)
        ask(i, "/bin/x", SLOW_MS);
    count = index_service_list(keeper, list, INDEX_ENTRIES_MAX);
    for (size_t i = 0; i < count; i++)
        wanted += list[i].state == INDEX_WANTED;
    ck_assert_uint_ge(wanted, INDEX_REQUESTS_MAX - 1);
    ck_assert_uint_le(wanted, INDEX_REQUESTS_MAX);
}
END_TEST

START_TEST(entries_have_a_ceiling)
{
    struct symbolizer_asked asked = {
        .elf = &elf, .path = "/bin/x", .indexed = true};

    helper_is("hang");
    start();
    for (unsigned i = 0; i < 3 * INDEX_ENTRIES_MAX; i++) {
        build_is((uint8_t)i);
        elf.build_id[0] = (uint8_t)(i >> 8);
        index_service_asked(keeper, &asked);
    }
    ck_assert_uint_eq(index_service_list(keeper, list, INDEX_ENTRIES_MAX),
                      INDEX_ENTRIES_MAX);
}
END_TEST

START_TEST(others_get_the_files_and_the_work_goes_on)
{
    uid_t uid = geteuid() == 0 ? 12345 : geteuid();
    gid_t gid = geteuid() == 0 ? 12345 : getegid();
    struct error err;
    struct stat st;

    helper_is("parts");
    start();
    ask(1, "/bin/x", SLOW_MS);
    (void)await(1, INDEX_READY);
    stop();
    helper_is("hang");
    start();
    ask(2, "/bin/y", SLOW_MS);
    (void)await(2, INDEX_MAKING);
    (void)unlink(program); /* what is begun again must fail */
    ck_assert_msg(index_service_give(keeper, uid, gid, &err) == 0, "%s",
                  err.text);
    ck_assert_int_eq(stat(dir, &st), 0);
    ck_assert_uint_eq(st.st_uid, uid);
    ck_assert_int_eq(stat(path_of(1, ".hwindex"), &st), 0);
    ck_assert_uint_eq(st.st_uid, uid);
    (void)await(2, INDEX_FAILED);
    ck_assert(has_logged("No such file"));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("index_service");
    TCase *tc = tcase_create("index_service");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_costly_object_gets_an_index);
    tcase_add_test(tc, much_debug_information_is_costly_too);
    tcase_add_test(tc, what_is_cheap_or_has_no_build_id_gets_none);
    tcase_add_test(tc, an_index_beside_the_object_is_reported);
    tcase_add_loop_test(tc, a_failure_leaves_no_file_and_is_not_repeated_soon,
                        0, sizeof(failures) / sizeof(failures[0]));
    tcase_add_test(tc, three_failures_are_the_last);
    tcase_add_test(tc, a_damaged_one_is_made_again_once);
    tcase_add_test(tc, what_is_wrong_with_a_shipped_one_is_mended);
    tcase_add_test(tc, a_shipped_index_fault_is_reported_once);
    tcase_add_loop_test(tc, what_is_no_file_is_neither_used_nor_replaced, 0,
                        sizeof(bad_files) / sizeof(bad_files[0]));
    tcase_add_test(tc, a_file_that_was_removed_is_not_listed_and_made_again);
    tcase_add_test(tc, those_unused_for_longest_go);
    tcase_add_test(tc, a_start_removes_what_was_not_finished);
    tcase_add_test(tc, another_node_in_the_same_directory_is_not_disturbed);
    tcase_add_test(tc, a_full_disk_is_reported_and_loses_nothing);
    tcase_add_test(tc, a_directory_that_others_reach_is_refused);
    tcase_add_test(tc, stopping_does_not_wait_for_an_index);
    tcase_add_test(tc, a_helper_that_ends_late_is_reaped_by_the_next);
    tcase_add_test(tc, requests_have_a_ceiling);
    tcase_add_test(tc, entries_have_a_ceiling);
    tcase_add_test(tc, others_get_the_files_and_the_work_goes_on);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
