/*
 * walk_samples PID [ROUNDS] - unwinds what perf recorded of a process, as
 * heapwired would have done it.
 *
 * The process must still be there, with the same code.  stdin has of each
 * sample its registers, as thread_state.h numbers them, the bytes of its
 * stack's copy, and these; all numbers are u8.  stdout has a line for each:
 * why it ended (enum unwind_end) and its addresses, leaf first.  ROUNDS: all
 * are walked through as often again, and stderr says how long a frame took.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "code_map.h"
#include "errors.h"
#include "unwind_store.h"
#include "unwind_tables.h"
#include "unwind_walk.h"

enum { DEPTH_MAX = 4096, STACK_MAX = 1 << 16, SAMPLES_MAX = 1 << 16 };

static struct taken {
    struct thread_registers registers;
    struct thread_stack stack;
} samples[SAMPLES_MAX];

static void
fail(const char *why)
{
    fprintf(stderr, "walk_samples: %s\n", why);
    exit(1);
}

static size_t
read_samples(void)
{
    size_t count = 0;
    uint64_t size;

    while (count < SAMPLES_MAX &&
           fread(samples[count].registers.values,
                 sizeof(samples[count].registers.values), 1, stdin) == 1) {
        struct taken *t = &samples[count++];
        uint8_t *bytes;

        if (fread(&size, sizeof(size), 1, stdin) != 1 || size > STACK_MAX)
            fail("a sample is damaged");
        bytes = malloc(size + 1);
        if (!bytes || fread(bytes, 1, size, stdin) != size)
            fail("a sample is cut");
        t->stack = (struct thread_stack){t->registers.values[REGISTER_SP],
                                         bytes, size};
    }
    return count;
}

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
measure(const struct unwind_source *source, size_t count, int rounds)
{
    static uint64_t pcs[DEPTH_MAX];
    uint64_t frames = 0, since = now_ns();
    enum unwind_end why;

    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < count; i++)
            frames += unwind_walk(source, &samples[i].stack,
                                  &samples[i].registers, pcs, DEPTH_MAX, &why);
    fprintf(stderr, "%" PRIu64 " frames, %.1f ns each\n", frames,
            frames ? (double)(now_ns() - since) / (double)frames : 0);
}

int
main(int argc, char **argv)
{
    static uint64_t pcs[DEPTH_MAX];
    struct unwind_tables_options options = {.program =
                                                getenv("HEAPWIRE_SYMBOLIZER")};
    const struct unwind_store_options kept = {.dir = NULL};
    struct code_map map = {0};
    struct unwind_loaded loaded;
    struct unwind_tables *tables;
    struct unwind_source source;
    struct error err = {0};
    size_t count;

    if (argc < 2 || !options.program)
        fail("usage: HEAPWIRE_SYMBOLIZER=PATH walk_samples PID [ROUNDS]");
    options.store = unwind_store_new(&kept, &err);
    tables = options.store ? unwind_tables_new(&options, &err) : NULL;
    if (!tables || code_map_open(&map, atoi(argv[1]), &err) != 0)
        fail(err.text);
    if (unwind_tables_load(tables,
                           &(struct unwind_request){&map.maps,
                                                    objects_open_mapping,
                                                    &map.objects, -1},
                           &loaded, &err) != 0)
        fail(err.text);
    if (loaded.missing)
        fprintf(stderr, "%" PRIu32 " without a table: %s: %s\n", loaded.missing,
                loaded.without[0].path, loaded.without[0].why);
    source = unwind_tables_source(tables);
    count = read_samples();
    for (size_t i = 0; i < count; i++) {
        enum unwind_end why;
        size_t depth = unwind_walk(&source, &samples[i].stack,
                                   &samples[i].registers, pcs, DEPTH_MAX, &why);

        printf("%d", why);
        for (size_t k = 0; k < depth; k++)
            printf(" %" PRIx64, pcs[k]);
        printf("\n");
    }
    if (argc > 2)
        measure(&source, count, atoi(argv[2]));
    for (size_t i = 0; i < count; i++)
        free((void *)(uintptr_t)samples[i].stack.bytes);
    unwind_tables_free(tables);
    unwind_store_free(options.store);
    code_map_close(&map);
    return 0;
}
