/*
 * thread_pools.c - threads in pools that hold known blocks, for
 * heap_threads.py.
 *
 * thread_pools FIFO
 *
 * scan-1 to scan-3 hold as many blocks, write-4 and write-15 two and three, and
 * each thread of a name that attacks one.  gone-7 holds one and has ended.
 * Says "first".  Once a byte comes through FIFO, each scan-N holds N more, and
 * each write-N has freed one; it says "second", and waits to be killed.  Blocks
 * are so large that each is sampled, and nobody touches them.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { BLOCK = 16 << 20, HELD_MAX = 8 };

static const struct pool_thread {
    const char *name;
    int first, second; /* blocks; second: more, or less */
} all[] = {
    {"scan-1", 1, 1},
    {"scan-2", 2, 2},
    {"scan-3", 3, 3},
    {"write-4", 2, -1},
    {"write-15", 3, -1},
    {"", 1, 0},
    {"123456789", 1, 0},
    {"\x1b[31mred\x01", 1, 0},
    {"\xff\xfe"
     "bad",
     1, 0},
    {"a\n@ zz\nt*:9:9[", 1, 0},
    {"longer than Linux has them", 1, 0},
    {"<img src=x>", 1, 0},
    {"f<int>(x);g", 1, 0},
    {"'\"\\`$(x)", 1, 0},
    {"../../%s%n", 1, 0},
    {"\xe2\x80\xaernl", 1, 0},
};
enum { THREADS = sizeof(all) / sizeof(all[0]) };

static pthread_barrier_t steps;
static void *held[THREADS + 1][HELD_MAX];

/* What is behind the call keeps its frame, and its name tells it from the
 * others: the compiler would make one function of all. */
#define SITE(name)                                                             \
    __attribute__((noinline)) static void *name(void)                          \
    {                                                                          \
        void *block = malloc(BLOCK);                                           \
                                                                               \
        __asm__ volatile("# " #name : "+r"(block));                            \
        return block;                                                          \
    }
SITE(first_block)
SITE(second_block)

static void *
work(void *arg)
{
    const struct pool_thread *me = arg;
    void **blocks = held[me - all];

    prctl(PR_SET_NAME, me->name);
    for (int i = 0; i < me->first; i++)
        blocks[i] = first_block();
    pthread_barrier_wait(&steps);
    pthread_barrier_wait(&steps); /* main has read the byte */
    for (int i = 0; i < me->second; i++)
        blocks[me->first + i] = second_block();
    if (me->second < 0)
        free(blocks[0]);
    pthread_barrier_wait(&steps);
    pause();
    return arg;
}

static void *
go(void *arg)
{
    prctl(PR_SET_NAME, "gone-7");
    held[THREADS][0] = first_block();
    return arg;
}

int
main(int argc, char **argv)
{
    pthread_t thread;
    char byte;
    int fifo;

    if (argc != 2 || pthread_barrier_init(&steps, NULL, THREADS + 1) != 0)
        return 1;
    pthread_create(&thread, NULL, go, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, work, (void *)&all[i]);
    pthread_barrier_wait(&steps);
    puts("first");
    fflush(stdout);
    fifo = open(argv[1], O_RDONLY);
    if (fifo < 0 || read(fifo, &byte, 1) != 1)
        return 1;
    pthread_barrier_wait(&steps);
    pthread_barrier_wait(&steps);
    puts("second");
    fflush(stdout);
    pause();
    return 0;
}
