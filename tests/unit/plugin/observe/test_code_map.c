/* test_code_map.c - the files of a process that may be traced, by who has no
 * privileges. */
#include "code_map.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "errors.h"
#include "sample_task.h"
#include "suite.h"

enum { NOBODY = 65534, PAGE = 4096 };

static char dir[64], program[96];
static pid_t pid;

static void
become_nobody(void)
{
    if (getuid() == 0 &&
        (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        _exit(127);
}

static void
set_up(void)
{
    char command[256], byte;
    int executed[2];

    snprintf(dir, sizeof(dir), "/tmp/hw-code-map-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(chmod(dir, 0755), 0);
    snprintf(program, sizeof(program), "%s/sleeps", dir);
    snprintf(command, sizeof(command), "cp /bin/sleep %s", program);
    ck_assert_int_eq(system(command), 0); // NOLINT: one thread
    ck_assert_int_eq(pipe2(executed, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        become_nobody();
        execl(program, program, "1000", NULL);
        _exit(127);
    }
    close(executed[1]);
    ck_assert_int_eq(read(executed[0], &byte, 1), 0);
    close(executed[0]);
    /* The kernel closes the pipe before it maps the program. */
    while (sample_task_state(pid, pid) != 'S')
        sched_yield();
}

static void
tear_down(void)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    unlink(program);
    rmdir(dir);
}

/* The inode of the program's file as the map has it, in a process of its own
 * without privileges. */
static int
find_program(uint64_t inode)
{
    struct code_map map = {0};
    struct error err;
    struct stat st;
    int fd;

    become_nobody();
    if (code_map_open(&map, pid, &err) != 0)
        return 2;
    for (size_t i = 0; i < map.maps.count; i++) {
        const struct mapping *m = &map.maps.list[i];

        if (!m->executable || m->inode != inode)
            continue;
        fd = objects_open(&map.objects, m->device, m->inode);
        return fd < 0 || fstat(fd, &st) != 0 ? 3 : st.st_ino == inode ? 0 : 4;
    }
    return 5;
}

static void
check_program(uint64_t inode)
{
    pid_t child = fork();
    int status;

    if (child == 0)
        _exit(find_program(inode));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == 0, "%#x", (unsigned)status);
}

START_TEST(a_program_is_found_by_its_path_or_its_link)
{
    struct stat st;
    FILE *other;

    ck_assert_int_eq(stat(program, &st), 0);
    check_program(st.st_ino);
    /* Another file has its path. */
    ck_assert_int_eq(unlink(program), 0);
    other = fopen(program, "w");
    ck_assert_ptr_nonnull(other);
    ck_assert_int_eq(fclose(other), 0);
    check_program(st.st_ino);
}
END_TEST

/* The file's first page there, as code. */
static void
map_code(const char *path, char *at)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
                       fd, 0) != at)
        _exit(1);
    close(fd);
}

START_TEST(what_a_child_loaded_joins_unless_it_has_no_place)
{
    char *at =
        mmap(NULL, 4 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const struct mapping *found;
    struct code_map map = {0};
    struct error err;
    struct stat st;
    int ready[2], fd;
    size_t before;
    pid_t child;
    char byte;

    ck_assert_ptr_ne(at, MAP_FAILED);
    ck_assert_int_eq(stat(program, &st), 0);
    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
        map_code(program, at);
        map_code(program, at + 2 * PAGE);
        if (write(ready[1], "\n", 1) == 1)
            pause();
        _exit(1);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    map_code("/proc/self/exe", at + 2 * PAGE);
    ck_assert_int_eq(code_map_open(&map, getpid(), &err), 0);
    before = map.maps.count;
    ck_assert_uint_eq(code_map_join(&map, getpid()), 0);
    ck_assert_uint_lt(map.maps.count, before); /* code alone */
    ck_assert_str_eq(map.clash, "");
    ck_assert_uint_eq(code_map_join(&map, child), 1);
    ck_assert_str_ne(map.clash, "");
    ck_assert_uint_eq(code_map_join(&map, 0x3ffffff), 0); /* no such one */
    for (size_t i = 1; i < map.maps.count; i++)
        ck_assert_uint_le(map.maps.list[i - 1].end, map.maps.list[i].start);
    found = mappings_find(&map.maps, (uintptr_t)at);
    ck_assert_ptr_nonnull(found);
    ck_assert_uint_eq(found->inode, st.st_ino);
    ck_assert_str_eq(found->path, program);
    fd = objects_open(&map.objects, found->device, found->inode);
    ck_assert_int_ge(fd, 0);
    close(fd);
    found = mappings_find(&map.maps, (uintptr_t)at + 2 * PAGE);
    ck_assert_ptr_nonnull(found);
    ck_assert_uint_ne(found->inode, st.st_ino);
    code_map_close(&map);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ready[0]);
    close(ready[1]);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("code_map");
    TCase *tc = tcase_create("code_map");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_program_is_found_by_its_path_or_its_link);
    tcase_add_test(tc, what_a_child_loaded_joins_unless_it_has_no_place);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
