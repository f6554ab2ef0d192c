/*
 * truth.cc - a program that knows its live bytes by site, thread and age.
 *
 * truth SEED MEAN MEGABYTES asked|usable [DUMP]
 *
 * 64 threads allocate MEGABYTES by each site, most of it before a moment and
 * the rest after, and free two fifths of what their neighbour has allocated.
 * Then it prints what lives:
 *
 *     site NAME START END COUNTS      by its code
 *     thread TID COUNTS               that allocated it
 *     age MOMENT COUNTS               what is older, CLOCK_MONOTONIC's ns
 *
 * and "done", and waits.  COUNTS: objects, bytes; of an estimate of the bytes
 * from samples at a mean of MEAN its variance; how many objects are sampled,
 * and how many are not, on average.  Bytes are those that were asked for, or
 * that the allocator gives.  DUMP: where jemalloc's own profiler writes its
 * profile.
 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "recorded_sites.h"

extern "C" int mallctl(const char *name, void *old, size_t *old_size,
                       void *value, size_t value_size) __attribute__((weak));

static void *
posix_aligned(size_t size)
{
    void *block = nullptr;

    return posix_memalign(&block, 256, size) == 0 ? block : nullptr;
}

SITE(small, malloc(size))
SITE(eight, malloc(size))
SITE(middle, malloc(size))
SITE(huge, malloc(size))
SITE(zeroed, calloc(1, size))
SITE(array, reallocarray(nullptr, 1, size))
SITE(posix, posix_aligned(size))
SITE(aligned, aligned_alloc(64, size))
SITE(by_page, valloc(size))
SITE(plain_new, ::operator new(size))
SITE(array_new, ::operator new[](size))
SITE(quiet_new, ::operator new(size, std::nothrow))
SITE(aligned_new, ::operator new(size, std::align_val_t(64)))
SITE(aligned_array_new, ::operator new[](size, std::align_val_t(128)))

/* Of a chain only the last step is the site's; the other one grows shorter. */
static thread_local void *chain_link;
SITE(chain, realloc(chain_link, size))
SITE(shrunk, realloc(chain_link, size))

namespace
{
enum { THREADS = 64, KB = 1024, AGE_GAP_NS = 50000000 };

void
free_plain(void *block)
{
    free(block);
}

void
delete_one(void *block)
{
    ::operator delete(block);
}

void
delete_array(void *block)
{
    ::operator delete[](block);
}

void
delete_aligned(void *block)
{
    ::operator delete(block, std::align_val_t(64));
}

void
delete_aligned_array(void *block)
{
    ::operator delete[](block, std::align_val_t(128));
}

struct kind {
    const struct site *site;
    size_t least, most;
    void (*free)(void *block);
    size_t step; /* libstdc++ asks aligned_alloc for multiples */
};

const kind kinds[] = {
    {&site_small, 16, 240, free_plain, 1},
    {&site_eight, 8 * KB, 8 * KB, free_plain, 1},
    {&site_middle, 1 * KB, 40 * KB, free_plain, 1},
    {&site_huge, 100 * KB, 3000 * KB, free_plain, 1},
    {&site_zeroed, 50, 3000, free_plain, 1},
    {&site_array, 200, 9000, free_plain, 1},
    {&site_posix, 256, 5000, free_plain, 1},
    {&site_aligned, 64, 6000, free_plain, 1},
    {&site_by_page, 1 * KB, 20 * KB, free_plain, 1},
    {&site_plain_new, 24, 500, delete_one, 1},
    {&site_array_new, 100, 9000, delete_array, 1},
    {&site_quiet_new, 32, 4000, delete_one, 1},
    {&site_aligned_new, 64, 3000, delete_aligned, 64},
    {&site_aligned_array_new, 128, 8000, delete_aligned_array, 128},
    {&site_chain, 2 * KB, 60 * KB, free_plain, 1},
    {&site_shrunk, 100, 20 * KB, free_plain, 1},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct block {
    void *memory;
    size_t asked;
    unsigned char kind;
    bool young;
};

struct count {
    double objects, bytes, variance, sampled, missed;
};

struct worker {
    std::vector<block> blocks;
    uint64_t random;
    pid_t tid;
};

worker workers[THREADS];
pthread_barrier_t barrier;
uint64_t mean, site_bytes, moment_ns;
bool usable;

uint64_t
draw(worker &w)
{
    uint64_t z = w.random += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Small ones are more frequent: as many bytes of each power of two. */
size_t
draw_size(worker &w, const kind &k)
{
    double share = static_cast<double>(draw(w) >> 11) * 0x1p-53;

    return static_cast<size_t>(
        static_cast<double>(k.least) *
        std::pow(static_cast<double>(k.most) / static_cast<double>(k.least),
                 share));
}

void *
take(const kind &k, size_t size)
{
    void *block;

    chain_link = nullptr;
    if (k.site == &site_chain)
        for (size_t part = size / 32 + 1; part < size; part *= 2)
            chain_link = realloc(chain_link, part);
    if (k.site == &site_shrunk)
        chain_link = malloc(size * 3);
    block = k.site->take(size);
    if (!block)
        abort();
    return block;
}

void
allocate(worker &w, uint64_t bytes, bool young)
{
    for (unsigned char i = 0; i < KINDS; i++)
        for (uint64_t done = 0; done < bytes;) {
            size_t size = draw_size(w, kinds[i]);

            size -= size % kinds[i].step;
            w.blocks.push_back({take(kinds[i], size), size, i, young});
            done += size;
        }
}

void
free_some(worker &w, worker &of)
{
    std::vector<block> kept;

    for (const block &b : of.blocks)
        if (draw(w) % 5 < 2)
            kinds[b.kind].free(b.memory);
        else
            kept.push_back(b);
    of.blocks.swap(kept);
}

void
run(unsigned number)
{
    worker &w = workers[number], &next = workers[(number + 1) % THREADS];
    uint64_t bytes = site_bytes / THREADS;

    w.tid = gettid();
    w.blocks.reserve(1 << 16);
    allocate(w, bytes * 3 / 5, false);
    pthread_barrier_wait(&barrier); /* main notes the moment */
    pthread_barrier_wait(&barrier);
    allocate(w, bytes * 2 / 5, true);
    pthread_barrier_wait(&barrier);
    free_some(w, next);
    pthread_barrier_wait(&barrier);
    for (;;)
        pause();
}

void
add(count &to, const block &b)
{
    size_t size = usable ? malloc_usable_size(b.memory) : b.asked;
    /* The recorder's mark may lie before a block, too: estimator.h. */
    double bytes = static_cast<double>(size) + (usable ? 0 : 1);
    double chance =
        mean <= 1 ? 1 : -std::expm1(-bytes / static_cast<double>(mean));

    to.objects++;
    to.bytes += static_cast<double>(size);
    to.variance += static_cast<double>(size) * static_cast<double>(size) *
                   (1 - chance) / chance;
    to.sampled += chance;
    to.missed += 1 - chance;
}

void
say(const count &c)
{
    printf(" %.0f %.0f %.17g %.17g %.17g\n", c.objects, c.bytes, c.variance,
           c.sampled, c.missed);
}

void
say_all()
{
    static count sites[KINDS], threads[THREADS], old;

    for (unsigned t = 0; t < THREADS; t++)
        for (const block &b : workers[t].blocks) {
            add(sites[b.kind], b);
            add(threads[t], b);
            if (!b.young)
                add(old, b);
        }
    for (unsigned i = 0; i < KINDS; i++) {
        printf("site %s %lx %lx", kinds[i].site->name,
               reinterpret_cast<unsigned long>(kinds[i].site->start),
               reinterpret_cast<unsigned long>(kinds[i].site->end));
        say(sites[i]);
    }
    for (unsigned t = 0; t < THREADS; t++) {
        printf("thread %d", workers[t].tid);
        say(threads[t]);
    }
    printf("age %llu", static_cast<unsigned long long>(moment_ns));
    say(old);
    printf("done\n");
    fflush(stdout);
}

/* The recorder's clock goes on by ticks. */
void
note_moment()
{
    const timespec gap = {0, AGE_GAP_NS};
    timespec now;

    nanosleep(&gap, nullptr);
    clock_gettime(CLOCK_MONOTONIC, &now);
    moment_ns = static_cast<uint64_t>(now.tv_sec) * 1000000000 +
                static_cast<uint64_t>(now.tv_nsec);
    nanosleep(&gap, nullptr);
}
} // namespace

int
main(int argc, char **argv)
{
    if (argc < 5)
        return 64;
    mean = strtoull(argv[2], nullptr, 10);
    site_bytes = strtoull(argv[3], nullptr, 10) << 20;
    usable = strcmp(argv[4], "usable") == 0;
    pthread_barrier_init(&barrier, nullptr, THREADS + 1);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].random = strtoull(argv[1], nullptr, 10) * THREADS + i;
        std::thread(run, i).detach();
    }
    pthread_barrier_wait(&barrier);
    note_moment();
    for (int i = 0; i < 3; i++)
        pthread_barrier_wait(&barrier);
    if (argc > 5 && (!mallctl || mallctl("prof.dump", nullptr, nullptr,
                                         &argv[5], sizeof(argv[5])) != 0))
        return 1;
    say_all();
    for (;;)
        pause();
}
