/*
 * named_samples.c - allocates under a filter that kills for prctl, by which
 * jemalloc asks for a thread's name at each sample; for heap_threads.py.
 *
 * Says "alive" at the end.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCKS = 200, BLOCK = 1 << 20 };

static void *held[2 * BLOCKS];

static void
hold(int first)
{
    for (int i = first; i < first + BLOCKS; i++)
        held[i] = malloc(BLOCK);
}

int
main(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {sizeof(steps) / sizeof(steps[0]), steps};

    hold(0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        perror("a filter");
        return 1;
    }
    hold(BLOCKS);
    puts("alive");
    return 0;
}
