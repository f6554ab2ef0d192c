/*
 * profile_bench.c - how long a large dump takes from text to DOT, names given,
 * and its snapshot to a file and back.
 *
 *     profile_bench [STACKS | FILE]
 *
 * Makes a dump of that many stacks (15,000: about 5 MB) of 22 addresses out of
 * 7,000, or takes that of a file; gives each address up to three inlined frames
 * of C++; and takes the best of some runs of each step, in CPU time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "forms.h"
#include "heap_dump.h"
#include "names.h"
#include "profile.h"
#include "snapshot.h"
#include "snapshot_file.h"

enum { RUNS = 10, DEPTH = 22, ADDRESSES = 7000, FUNCTIONS = 3000 };

static uint32_t
next_random(void)
{
    static uint64_t state = 88172645463325252ULL;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

static double
now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Call chains share their root, as real ones do. */
static void
make_dump(struct buffer *out, unsigned stacks)
{
    buffer_text(out, "heap_v2/524288\n  t*: 1: 1 [0: 0]\n");
    for (unsigned i = 0; i < stacks; i++) {
        uint32_t node = next_random() % ADDRESSES;
        uint32_t objects = next_random() % 100 + 1;

        buffer_char(out, '@');
        for (int k = 0; k < DEPTH;
             k++, node = node * 9 / 10 + next_random() % 3)
            buffer_format(out, " 0x%x", 0x7f000000 + node * 64);
        buffer_format(out, "\n  t*: %u: %u [0: 0]\n  t0: %u: %u [0: 0]\n",
                      objects, objects * 400, objects, objects * 400);
    }
    buffer_text(out, "\nMAPPED_LIBRARIES:\n"
                     "7f000000-80000000 r-xp 00000000 fe:01 42 /usr/bin/db\n");
}

static struct names *
make_names(const struct heap_dump *dump)
{
    struct names *names = names_new((size_t)256 << 20);
    char text[4][256];
    struct frame frames[4];

    for (size_t i = 0; i < dump->address_count; i++) {
        uint32_t count = next_random() % 4 + 1;

        for (uint32_t k = 0; k < count; k++) {
            uint32_t n = next_random() % FUNCTIONS;

            snprintf(text[k], sizeof(text[k]),
                     "void db::storage::Table<std::pair<unsigned long, "
                     "std::string> >::method%u<int>(std::vector<int, "
                     "std::allocator<int> > const&, unsigned long) const",
                     n);
            frames[k] = (struct frame){text[k], "storage/table.h", n};
        }
        if (names_add(names, dump->addresses[i], frames, count, false) != 0 ||
            names_set_symbol(names, dump->addresses[i], text[count - 1],
                             dump->addresses[i] & ~0xfffULL) != 0)
            exit(1);
    }
    return names;
}

/* Milliseconds to bytes and back; -1 with *err. */
static int
take_snapshot(struct profile *profile, struct buffer *file, double ms[2],
              struct error *err)
{
    struct snapshot *snapshot = snapshot_new(), *copy;
    double start = now_ms(), middle;
    int rc = -1;

    if (!snapshot)
        return -1;
    snapshot->profile = profile;
    if (snapshot_encode(snapshot, file, err) == 0) {
        middle = now_ms();
        copy = snapshot_decode(file->data, file->size, err);
        rc = copy ? 0 : -1;
        ms[0] = middle - start;
        ms[1] = now_ms() - middle;
        snapshot_unref(copy);
    }
    snapshot->profile = NULL;
    snapshot_unref(snapshot);
    return rc;
}

int
main(int argc, char **argv)
{
    unsigned stacks = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 15000;
    double best[3] = {1e9, 1e9, 1e9}, t[4], sum;
    double kept[2] = {1e9, 1e9}, ms[2];
    struct names *names = NULL;
    struct buffer text, out, file;
    struct error err = {0};

    buffer_init(&text, (size_t)1 << 30);
    buffer_init(&out, (size_t)64 << 20);
    buffer_init(&file, SNAPSHOT_FILE_MAX);
    if (argc > 1 && stacks == 0) {
        if (file_read_all(argv[1], &text, &err) != 0)
            goto fail;
    } else {
        make_dump(&text, stacks);
    }
    for (int run = 0; run < RUNS; run++) {
        struct heap_dump *dump;
        struct profile *profile;

        buffer_clear(&out);
        t[0] = now_ms();
        dump = heap_dump_parse(text.data, text.size, &err);
        if (!dump)
            goto fail;
        t[1] = now_ms();
        /* New ones: what is made of names stays with them. */
        names_free(names);
        names = make_names(dump);
        sum = now_ms();
        profile = profile_new(dump, names, "/usr/bin/db", NULL, &err);
        if (!profile)
            goto fail;
        stacks = (unsigned)profile->stack_count;
        t[2] = now_ms() - (sum - t[1]);
        if (dot_write(profile, NULL, &out, &err) != 0)
            goto fail;
        t[3] = now_ms() - (sum - t[1]);
        for (int i = 0; i < 3; i++)
            if (t[i + 1] - t[i] < best[i])
                best[i] = t[i + 1] - t[i];
        buffer_clear(&file);
        if (take_snapshot(profile, &file, ms, &err) != 0)
            goto fail;
        for (int i = 0; i < 2; i++)
            if (ms[i] < kept[i])
                kept[i] = ms[i];
        profile_free(profile);
        heap_dump_free(dump);
    }
    printf("%u stacks, %.1f MB: parse %.1f ms, profile %.1f ms, graph and DOT "
           "%.1f ms, together %.1f ms\n",
           stacks, (double)text.size / 1e6, best[0], best[1], best[2],
           best[0] + best[1] + best[2]);
    printf("its snapshot: %.1f MB, to a file's bytes %.1f ms, back %.1f ms\n",
           (double)file.size / 1e6, kept[0], kept[1]);
    names_free(names);
    buffer_fini(&text);
    buffer_fini(&out);
    buffer_fini(&file);
    return 0;
fail:
    fprintf(stderr, "profile_bench: %s\n", err.text);
    return 1;
}
