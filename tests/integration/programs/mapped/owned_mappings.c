/*
 * owned_mappings.c - maps what is to be found again, and waits: 64 MB of its
 * own (written as a whole), a memfd of 8 MB, a file of 2 MB, 40 threads, blocks
 * of malloc small and large; then "ready".  SIGUSR1 has it map 32 MB more:
 * "mapped".
 *
 *     owned_mappings FILE [closed]: it is not dumpable
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    MB = 1 << 20,
    FOREIGN = 64 * MB,
    MORE = 32 * MB,
    SHARED = 8 * MB,
    FILE_SIZE = 2 * MB,
    POOL = 40,
    SMALL = 20000,
    LARGE = 8
};

static void
demand(int holds, const char *what)
{
    if (holds)
        return;
    perror(what);
    exit(1);
}

static char *
map(size_t size, int flags, int fd)
{
    char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

    demand(at != MAP_FAILED, "mmap");
    memset(at, 1, size);
    return at;
}

static pthread_barrier_t named;

static void *
wait_in_pool(void *arg)
{
    char name[16];

    snprintf(name, sizeof(name), "pool-%d", *(const int *)arg);
    prctl(PR_SET_NAME, name);
    memset(malloc(1000), 1, 1000); /* in an arena of its own, maybe */
    pthread_barrier_wait(&named);
    for (;;)
        pause();
    return NULL;
}

int
main(int argc, char **argv)
{
    static int numbers[POOL];
    int shared = memfd_create("owned", 0), file;
    pthread_t thread;
    sigset_t more;
    int signal;

    sigemptyset(&more);
    sigaddset(&more, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &more, NULL);
    demand(argc >= 2 && shared >= 0, "usage: owned_mappings FILE [closed]");
    if (argc > 2)
        prctl(PR_SET_DUMPABLE, 0);
    map(FOREIGN, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    demand(ftruncate(shared, SHARED) == 0, "ftruncate");
    map(SHARED, MAP_SHARED, shared);
    file = open(argv[1], O_RDWR | O_CREAT, 0600);
    demand(file >= 0 && ftruncate(file, FILE_SIZE) == 0, argv[1]);
    map(FILE_SIZE, MAP_SHARED, file);
    for (int i = 0; i < SMALL; i++)
        memset(malloc(100 + i % 900), 1, 100);
    for (int i = 0; i < LARGE; i++)
        memset(malloc(MB), 1, MB);
    pthread_barrier_init(&named, NULL, POOL + 1);
    for (int i = 0; i < POOL; i++) {
        numbers[i] = i;
        demand(pthread_create(&thread, NULL, wait_in_pool, &numbers[i]) == 0,
               "pthread_create");
    }
    pthread_barrier_wait(&named);
    printf("ready, pid %d\n", (int)getpid());
    fflush(stdout);
    while (sigwait(&more, &signal) == 0) {
        map(MORE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        puts("mapped");
        fflush(stdout);
    }
}
