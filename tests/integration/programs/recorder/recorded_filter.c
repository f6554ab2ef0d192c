/* recorded_filter.c - a host whose filter kills for gettid, which the first
 * sample of a thread asks; then a new thread allocates. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCKS = 20000, BLOCK_BYTES = 10000 };

static void *volatile blocks[BLOCKS];

static void *
allocate(void *arg)
{
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(BLOCK_BYTES);
    return arg;
}

int
main(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {4, code};
    pthread_t thread;

    if (getchar() == EOF || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0 ||
        pthread_create(&thread, NULL, allocate, NULL) != 0)
        return 2;
    pthread_join(thread, NULL);
    return 0;
}
