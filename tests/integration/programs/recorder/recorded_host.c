/*
 * recorded_host.c - a program that knows its live bytes by site.
 *
 * recorded_host TRUTH THREADS STEPS [END every|uncapped]
 *
 * TRUTH is a file of struct truth, which each thread brings up to date after
 * each call of the allocator.  STEPS 0: until it is killed.  Says "running"
 * once all threads have allocated, "done" after the last step, and waits to be
 * killed.
 * Blocks go from thread to thread: what one allocates, another frees.
 *
 * With END the first thread dies in that way after its last step, while the
 * others go on.  From here on the recorder, which has begun, has no cap of
 * samples a second, and samples every allocation or at its mean.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "segment.h"

enum { THREADS_MAX = 64, OWN_BLOCKS = 64, SHARED_BLOCKS = 256 };

/* X(name, arguments, call) */
#define SITES(X)                                                               \
    X(small, malloc(size))                                                     \
    X(middle, malloc(size))                                                    \
    X(huge, malloc(size))                                                      \
    X(zeroed, calloc(1 + size / 3, 3))                                         \
    X(chain, grown(old, size))                                                 \
    X(array, reallocarray(NULL, size, 2))                                      \
    X(posix, posix_aligned(size))                                              \
    X(aligned, aligned_alloc(64, size))                                        \
    X(by_align, memalign_opaque(32, size))                                     \
    X(by_page, valloc_opaque(size))

enum site {
#define SITE(name, call) SITE_##name,
    SITES(SITE)
#undef SITE
        SITE_COUNT
};

struct truth {
    struct {
        uint64_t start, end; /* of the site's function */
    } code[SITE_COUNT];
    /* What the thread allocated less what it freed: the sums are right. */
    struct {
        int64_t objects, bytes;
    } live[THREADS_MAX][SITE_COUNT];
};

struct block {
    void *memory;
    size_t bytes; /* as the allocator was asked */
    enum site site;
};

struct thread {
    pthread_t id;
    int number;
    uint64_t random;
    struct block own[OWN_BLOCKS];
};

extern void *memalign(size_t align, size_t size);

static struct truth *truth;
static struct thread threads[THREADS_MAX];
static struct block *_Atomic shared[SHARED_BLOCKS];
static long steps;
static const char *end; /* how, or NULL */
static int *volatile nowhere;
static pthread_barrier_t all_run, all_done;

/* A call through these is what it says: no compiler knows better. */
static void *(*volatile memalign_opaque)(size_t, size_t) = memalign;
static void *(*volatile valloc_opaque)(size_t) = valloc;

static __attribute__((always_inline)) inline void *
posix_aligned(size_t size)
{
    void *block;

    return posix_memalign(&block, 128, size) == 0 ? block : NULL;
}

/* In steps, and once in a way that fails. */
static __attribute__((always_inline)) inline void *
grown(void *old, size_t size)
{
    volatile size_t impossible = SIZE_MAX / 2;

    if (realloc(old, impossible)) // NOLINT(bugprone-suspicious-realloc-usage)
        abort();
    return realloc(old, size);
}

/* Each in a section of its own: its addresses are known.  No tail call. */
#define SITE(name, call)                                                       \
    static __attribute__((noinline, section("site_" #name))) void *at_##name(  \
        void *old, size_t size)                                                \
    {                                                                          \
        void *block = call;                                                    \
                                                                               \
        (void)old;                                                             \
        __asm__ volatile("" : "+r"(block));                                    \
        return block;                                                          \
    }                                                                          \
    extern const char __start_site_##name[], __stop_site_##name[];
SITES(SITE)
#undef SITE

static void *(*const calls[SITE_COUNT])(void *, size_t) = {
#define SITE(name, call) [SITE_##name] = at_##name,
    SITES(SITE)
#undef SITE
};

static const size_t sizes[SITE_COUNT] = {
    [SITE_small] = 200,    [SITE_middle] = 9000, [SITE_huge] = 3 << 20,
    [SITE_zeroed] = 600,   [SITE_chain] = 20000, [SITE_array] = 400,
    [SITE_posix] = 5000,   [SITE_aligned] = 900, [SITE_by_align] = 3000,
    [SITE_by_page] = 6000,
};

static uint64_t
draw(struct thread *t, uint64_t below)
{
    t->random = t->random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (t->random >> 33) % below;
}

static void
count(const struct thread *t, const struct block *b, int sign)
{
    /* The kernel may kill between these: then one block is wrong. */
    truth->live[t->number][b->site].objects += sign;
    truth->live[t->number][b->site].bytes += sign * (int64_t)b->bytes;
}

static size_t
asked_for(enum site site, size_t size)
{
    return site == SITE_zeroed  ? (1 + size / 3) * 3
           : site == SITE_array ? size * 2
                                : size;
}

static void
take(struct thread *t, struct block *b)
{
    size_t size;

    b->site = (enum site)draw(t, SITE_COUNT);
    size = 1 + draw(t, sizes[b->site]);
    b->memory = calls[b->site](NULL, size);
    if (!b->memory)
        return; /* there is none, and soon we end */
    b->bytes = asked_for(b->site, size);
    count(t, b, 1);
}

static void
drop(struct thread *t, struct block *b)
{
    free(b->memory);
    count(t, b, -1);
    b->memory = NULL;
}

static void
grow(struct thread *t, struct block *b)
{
    size_t size = 1 + draw(t, sizes[b->site]);
    int64_t more = (int64_t)size - (int64_t)b->bytes;
    void *memory = at_chain(b->memory, size);

    if (!memory)
        return;
    b->memory = memory;
    b->bytes = size;
    truth->live[t->number][b->site].bytes += more;
}

/* Puts a block where any thread finds it, and frees what was there. */
static void
hand_over(struct thread *t, struct block *b)
{
    struct block *given = calls[SITE_small](NULL, sizeof(*given)), *found;
    struct block itself = {given, sizeof(*given), SITE_small};

    if (!given)
        return;
    count(t, &itself, 1);
    *given = *b;
    b->memory = NULL;
    found = atomic_exchange_explicit(&shared[draw(t, SHARED_BLOCKS)], given,
                                     memory_order_acq_rel);
    if (!found)
        return;
    drop(t, found);
    itself.memory = found;
    drop(t, &itself);
}

static void
step(struct thread *t)
{
    struct block *b = &t->own[draw(t, OWN_BLOCKS)];

    if (!b->memory)
        take(t, b);
    else if (b->site == SITE_chain && draw(t, 3) > 0)
        grow(t, b);
    else if (draw(t, 3) == 0)
        hand_over(t, b);
    else
        drop(t, b);
}

/* Until the kernel ends us, or there is nothing left. */
static _Noreturn void
grow_on(struct thread *t, bool touch)
{
    struct block b = {.site = SITE_huge, .bytes = 1 << 20};

    for (;;) {
        b.memory = calls[b.site](NULL, b.bytes);
        if (!b.memory)
            abort();
        count(t, &b, 1);
        if (touch)
            memset(b.memory, 1, b.bytes);
    }
}

static void
die(struct thread *t)
{
    if (strcmp(end, "fault") == 0)
        *nowhere = 1;
    if (strcmp(end, "abort") == 0)
        abort();
    if (strcmp(end, "exit") == 0)
        exit(3); // NOLINT(concurrency-mt-unsafe)
    grow_on(t, strcmp(end, "fill") == 0);
}

/* All of them, but where one dies the others never end. */
static void *
run(void *argument)
{
    struct thread *t = argument;
    long count = end && t->number > 0 ? 0 : steps;

    step(t);
    pthread_barrier_wait(&all_run);
    for (long i = 1; count == 0 || i < count; i++)
        step(t);
    if (end)
        die(t);
    pthread_barrier_wait(&all_done);
    pause();
    return NULL;
}

static void
say(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        _exit(1);
}

static void
set_recorder_settings(bool every)
{
    struct segment_header *(*find)(void) = NULL;

    *(void **)&find = dlsym(RTLD_DEFAULT, "heapwire_recorder_segment");
    if (!find || !find())
        _exit(65);
    find()->settings.samples_per_second = 0;
    if (every)
        find()->settings.mean_bytes = 1;
}

int
main(int argc, char **argv)
{
    int fd = argc >= 4 ? open(argv[1], O_RDWR) : -1, n;

    if (fd < 0 || ftruncate(fd, sizeof(*truth)) != 0)
        return 64;
    truth =
        mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    n = atoi(argv[2]);
    steps = atol(argv[3]);
    end = argc > 4 && strcmp(argv[4], "never") != 0 ? argv[4] : NULL;
    if (argc > 5)
        set_recorder_settings(strcmp(argv[5], "every") == 0);
    if (truth == MAP_FAILED || n < 1 || n > THREADS_MAX)
        return 64;
#define SITE(name, call)                                                       \
    truth->code[SITE_##name].start = (uint64_t)__start_site_##name;            \
    truth->code[SITE_##name].end = (uint64_t)__stop_site_##name;
    SITES(SITE)
#undef SITE
    pthread_barrier_init(&all_run, NULL, (unsigned)n + 1);
    pthread_barrier_init(&all_done, NULL, (unsigned)n + 1);
    for (int i = 0; i < n; i++) {
        threads[i].number = i;
        threads[i].random = (uint64_t)i + 1;
        pthread_create(&threads[i].id, NULL, run, &threads[i]);
    }
    pthread_barrier_wait(&all_run);
    say("running\n");
    pthread_barrier_wait(&all_done);
    say("done\n");
    pause();
    return 0;
}
