/* large_dump.h - a raw profile that is worth two cores, of counted threads. */
#ifndef HW_LARGE_DUMP_H
#define HW_LARGE_DUMP_H

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "counted_threads.h"

enum {
    LARGE_STACKS = 6000,
    LARGE_DISTINCT = 2048 /* a power of two */,
    LARGE_DEPTH = 20
};

/* Before each test. */
static inline void
large_setup(void)
{
    cores = 2;
    threads_started = 0;
    threads_max = UINT32_MAX;
    thread_name = NULL;
}

/* Which of the distinct stacks the i-th one is. */
static inline uint32_t
large_pick(uint32_t i, bool sorted)
{
    return sorted ? i : i * 2654435761U >> 8 & (LARGE_DISTINCT - 1);
}

static inline uint32_t
large_bytes(uint32_t i)
{
    return 4096 + i % 777;
}

/* Sorted as jemalloc sorts, by the bytes in memory, of which the lowest is the
 * first; or with stacks that occur in many places. */
static inline void
large_dump(struct buffer *out, bool sorted)
{
    buffer_init(out, 16 << 20);
    buffer_text(out, "heap_v2/524288\n  t*: 9: 99 [0: 0]\n");
    for (uint32_t i = 0; i < LARGE_STACKS; i++) {
        uint32_t pick = large_pick(i, sorted);
        uint32_t depth = LARGE_DEPTH + pick % 9;

        buffer_format(out, "@ 0x%x", 0x5500000 | (pick & 255) << 8 | pick >> 8);
        for (uint32_t k = 1; k < depth; k++)
            buffer_format(out, " 0x%x", 0x400000 + pick * k % 5003);
        buffer_format(out, "\n  t*: %u: %u [0: 0]\n", 1 + i % 5,
                      large_bytes(i));
    }
    buffer_text(out, "\nMAPPED_LIBRARIES:\n"
                     "00400000-00500000 r-xp 00000000 08:01 5 /bin/db\n");
    ck_assert(!out->failed);
    ck_assert_uint_gt(out->size, 1 << 20);
}

/* A file of it that nothing else has. */
static inline int
large_file(const struct buffer *text, size_t size)
{
    FILE *file = tmpfile();
    int fd;

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text->data, 1, size, file), size);
    ck_assert_int_eq(fflush(file), 0);
    fd = dup(fileno(file));
    ck_assert_int_ge(fd, 0);
    fclose(file);
    return fd;
}

#endif
