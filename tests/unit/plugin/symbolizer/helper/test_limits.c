/* test_limits.c - the helper's sandbox, from inside: what an attacker's code
 * would try there, and what the helper needs. */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helper_limits.h"
#include "suite.h"

static const uint64_t memory_bytes = (uint64_t)1 << 30;
static char directory[] = "/tmp/hw-limits-XXXXXX";
static char victim[64], made[64];
static pid_t parent;
static int pair[2]; /* as the helper has one of heapwired */
static char page[65536] __attribute__((aligned(65536)));

static void
set_up(void)
{
    int fd;

    strcpy(directory + sizeof(directory) - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(victim, sizeof(victim), "%s/victim", directory);
    snprintf(made, sizeof(made), "%s/made", directory);
    fd = open(victim, O_WRONLY | O_CREAT | O_EXCL, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "kept", 4), 4);
    close(fd);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    parent = getpid();
}

static void
tear_down(void)
{
    struct stat st;

    ck_assert_int_eq(stat(victim, &st), 0);
    ck_assert_int_eq(st.st_size, 4);
    ck_assert_uint_eq(st.st_mode & 07777, 0600);
    ck_assert_int_eq(unlink(victim), 0);
    ck_assert_int_eq(rmdir(directory), 0);
}

/* The wait status of a child that does it in the sandbox. */
static int
status_of(int (*what)(void))
{
    pid_t pid = fork();
    int status = -1;

    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        _exit(limits_apply(memory_bytes, parent) != 0 ? 99 : what());
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

/* ---- what fails: and does no harm where it does not ---- */

static long
write_file(void)
{
    return open(victim, O_WRONLY);
}

static long
make_file(void)
{
    return open(made, O_RDONLY | O_CREAT, 0600);
}

static long
empty_file(void)
{
    return open(victim, O_RDONLY | O_TRUNC);
}

static long
remove_file(void)
{
    return unlink(victim);
}

static long
rename_file(void)
{
    return rename(victim, made);
}

static long
open_to_all(void)
{
    return chmod(victim, 0777);
}

static long
make_directory(void)
{
    return mkdir(made, 0700);
}

static long
make_link(void)
{
    return symlink("/", made);
}

static long
local_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET, 0);
}

static long
network_socket(void)
{
    return socket(AF_INET, SOCK_STREAM, 0);
}

static long
pass_descriptor(void)
{
    struct msghdr message = {0};

    return sendmsg(pair[0], &message, 0);
}

static long
execute(void)
{
    return execl("/bin/true", "true", NULL);
}

static long
run_fork(void)
{
    return fork();
}

static long
run_fork_by_hand(void)
{
    return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static long
signal_parent(void)
{
    return kill(parent, 0);
}

static long
signal_thread_of_parent(void)
{
    return syscall(SYS_tgkill, parent, parent, 0);
}

static long
signal_by_socket(void)
{
    return fcntl(pair[0], F_SETOWN, parent);
}

static long
trace_parent(void)
{
    return ptrace(PTRACE_SEIZE, parent, 0, 0);
}

static long
read_parent(void)
{
    char byte;
    struct iovec to = {&byte, 1}, from = {page, 1};

    return process_vm_readv(parent, &to, 1, &from, 1, 0);
}

static long
limit_parent(void)
{
    struct rlimit old;

    return prlimit(parent, RLIMIT_NOFILE, NULL, &old);
}

static long
own_parent(void)
{
    return (long)syscall(SYS_pidfd_open, parent, 0);
}

static long
map_code(void)
{
    return (long)mmap(NULL, 4096, PROT_READ | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static long
make_code(void)
{
    return mprotect(page, sizeof(page), PROT_READ | PROT_EXEC);
}

static long
dump_core(void)
{
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static long
make_memfd(void)
{
    return memfd_create("code", 0);
}

static long
mount_it(void)
{
    return mount("none", made, "tmpfs", 0, NULL); /* there is no such place */
}

static long
make_namespace(void)
{
    return unshare(CLONE_NEWUSER);
}

static long
become_urgent(void)
{
    return setpriority(PRIO_PROCESS, 0, -10);
}

static long
start_ring(void)
{
    return syscall(425 /* io_uring_setup */, 1, NULL);
}

static long
load_program(void)
{
    return syscall(SYS_bpf, 0, NULL, 0);
}

static const struct {
    const char *what;
    long (*act)(void);
} refused[] = {
    {"write to a file", write_file},
    {"make a file", make_file},
    {"empty a file", empty_file},
    {"remove a file", remove_file},
    {"rename a file", rename_file},
    {"change a mode", open_to_all},
    {"make a directory", make_directory},
    {"make a link", make_link},
    {"make a local socket", local_socket},
    {"make a network socket", network_socket},
    {"pass a descriptor", pass_descriptor},
    {"execute", execute},
    {"fork", run_fork},
    {"clone", run_fork_by_hand},
    {"signal heapwired", signal_parent},
    {"signal its thread", signal_thread_of_parent},
    {"have the kernel signal it", signal_by_socket},
    {"trace it", trace_parent},
    {"read its memory", read_parent},
    {"read its limits", limit_parent},
    {"open it", own_parent},
    {"map code", map_code},
    {"turn data into code", make_code},
    {"become dumpable", dump_core},
    {"make a memfd", make_memfd},
    {"mount", mount_it},
    {"make a namespace", make_namespace},
    {"become urgent", become_urgent},
    {"start a ring", start_ring},
    {"load a program", load_program},
};

static long (*act)(void);

static int
fails(void)
{
    errno = 0;
    return act() == -1 && errno == EPERM ? 0 : 1;
}

START_TEST(what_it_must_not_do_fails)
{
    act = refused[_i].act;
    ck_assert_msg(status_of(fails) == 0, "it can %s", refused[_i].what);
}
END_TEST

static int
look_at_parent(void)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/mem", (int)parent);
    return open(path, O_RDONLY) == -1 ? 0 : 1;
}

START_TEST(no_memory_of_another_process_is_read)
{
    if (syscall(SYS_landlock_create_ruleset, NULL, 0,
                LANDLOCK_CREATE_RULESET_VERSION) < 0) {
        printf("skipped: this kernel has no Landlock\n");
        return;
    }
    ck_assert_int_eq(status_of(look_at_parent), 0);
}
END_TEST

/* ---- what it needs ---- */

static void *
thread_main(void *arg)
{
    *(int *)arg += 1;
    return arg;
}

static int
work(void)
{
    char text[8] = "";
    int fd = open(victim, O_RDONLY | O_CLOEXEC), ran = 0;
    pthread_t thread;
    struct stat st;
    struct rlimit core;
    char *block = malloc(64 << 20);

    if (fd < 0 || fstat(fd, &st) != 0 || pread(fd, text, 4, 0) != 4 ||
        strcmp(text, "kept") != 0 || close(fd) != 0 ||
        access(victim, F_OK) != 0)
        return 1;
    if (!block)
        return 2;
    memset(block, 1, 64 << 20);
    free(block);
    if (pthread_create(&thread, NULL, thread_main, &ran) != 0 ||
        pthread_join(thread, NULL) != 0 || ran != 1)
        return 3;
    if (send(pair[0], "x", 1, MSG_NOSIGNAL) != 1 ||
        recv(pair[1], text, 1, 0) != 1)
        return 4;
    limits_cpu(10);
    if (getrlimit(RLIMIT_CORE, &core) != 0 || core.rlim_max != 0 ||
        getrlimit(RLIMIT_FSIZE, &core) != 0 || core.rlim_max != 0 ||
        getrlimit(RLIMIT_NOFILE, &core) != 0 || core.rlim_max != 64)
        return 5;
    return malloc(memory_bytes) ? 6 : 0;
}

START_TEST(what_it_needs_works)
{
    ck_assert_int_eq(status_of(work), 0);
}
END_TEST

static int
give_up(void)
{
    abort();
}

START_TEST(an_abort_ends_it)
{
    int status = status_of(give_up);

    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGABRT);
}
END_TEST

static int
nothing(void)
{
    return 0;
}

START_TEST(without_its_parent_it_does_not_begin)
{
    parent = 1;
    ck_assert_int_eq(WEXITSTATUS(status_of(nothing)), 99);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("limits");
    TCase *tc = tcase_create("limits");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, what_it_must_not_do_fails, 0,
                        sizeof(refused) / sizeof(refused[0]));
    tcase_add_test(tc, no_memory_of_another_process_is_read);
    tcase_add_test(tc, what_it_needs_works);
    tcase_add_test(tc, an_abort_ends_it);
    tcase_add_test(tc, without_its_parent_it_does_not_begin);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
