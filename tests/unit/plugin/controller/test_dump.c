/* test_dump.c - from a dump to a snapshot, with the real helper, while the n-th
 * allocation fails. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "dump.h"
#include "errors.h"
#include "failing_memory.h"
#include "files.h"
#include "mappings.h"
#include "objects.h"
#include "profile.h"
#include "snapshot.h"
#include "suite.h"
#include "symbolizer.h"

static int
open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(dir)) // NOLINT(concurrency-mt-unsafe)
        count++;
    closedir(dir);
    return count;
}

/* A dump of this process with one stack in this program. */
static void
fill(struct dump *dump)
{
    struct error err = {0};
    struct buffer text;

    buffer_init(&dump->text, DUMP_MAX_BYTES);
    buffer_init(&text, DUMP_MAPS_MAX_BYTES);
    dump->arena = arena_new(1 << 20);
    buffer_format(&dump->text,
                  "heap_v2/524288\n  t*: 1: 1024 [0: 0]\n"
                  "@ %p 0x1000\n  t*: 1: 1024 [0: 0]\n"
                  "\nMAPPED_LIBRARIES:\n",
                  (void *)(uintptr_t)open_descriptors);
    ck_assert_int_eq(file_read_all("/proc/self/maps", &text, &err), 0);
    ck_assert_int_eq(mappings_parse(dump->arena, text.data, text.size,
                                    &dump->maps, NULL, &err),
                     0);
    buffer_fini(&text);
    ck_assert(!dump->text.failed);
}

/* The files that the agent would have handed out. */
static void
put_self(struct objects *objects, const struct dump *dump)
{
    const struct mapping *m =
        mappings_find(&dump->maps, (uint64_t)(uintptr_t)open_descriptors);

    ck_assert_ptr_nonnull(m);
    objects_put(objects, m->device, m->inode,
                open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
}

/* One snapshot, or NULL with *err. */
static struct snapshot *
make(const struct dump *dump, struct objects *objects, struct error *err)
{
    struct symbolizer_options options = {
        .program = HW_TEST_BIN "/heapwire-symbolizer", .deadline_ms = 20000};
    struct symbolizer *symbolizer = symbolizer_new(&options, err);
    struct dump_progress progress = {0};
    struct snapshot *snapshot = NULL;

    if (symbolizer)
        snapshot =
            dump_make_snapshot(dump, objects, symbolizer, &progress, err);
    symbolizer_free(symbolizer);
    if (snapshot) {
        ck_assert_uint_eq(progress.stage, DUMP_MAKING);
        ck_assert_uint_gt(progress.addresses, 0);
        ck_assert_uint_eq(progress.named, progress.addresses);
    }
    return snapshot;
}

/* A symbol as Go has on the way to C.  Nothing calls it. */
void border(void) __asm__("runtime.asmcgocall.abi0");
__asm__(".pushsection .text\n"
        ".globl runtime.asmcgocall.abi0\n"
        ".type runtime.asmcgocall.abi0, %function\n"
        "runtime.asmcgocall.abi0:\n"
        ".skip 16, 0\n"
        ".size runtime.asmcgocall.abi0, 16\n"
        ".popsection");

START_TEST(stacks_that_go_has_cut_are_spoken_of)
{
    struct dump dump = {0};
    struct objects objects;
    struct snapshot *snapshot;
    struct error err;

    fill(&dump);
    buffer_clear(&dump.text);
    buffer_format(&dump.text,
                  "heap_v2/524288\n  t*: 8: 8388608 [0: 0]\n"
                  "@ %p %p\n  t*: 8: 8388608 [0: 0]\n\nMAPPED_LIBRARIES:\n",
                  (void *)((uintptr_t)open_descriptors + 1),
                  (void *)((uintptr_t)border + 1));
    objects_init(&objects);
    put_self(&objects, &dump);
    snapshot = make(&dump, &objects, &err);
    ck_assert_ptr_nonnull(snapshot);
    ck_assert_msg(
        strstr(snapshot->profile->memory,
               " MB of it in stacks that end at runtime.asmcgocall: which Go "
               "function called C is not seen"),
        "%s", snapshot->profile->memory);
    snapshot_unref(snapshot);
    objects_fini(&objects);
    dump_fini(&dump);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    struct dump dump = {0};
    struct objects objects;
    struct snapshot *snapshot;
    struct error err;
    int before;
    unsigned refused = 0, named = 0;

    fill(&dump);
    objects_init(&objects);
    put_self(&objects, &dump);
    before = open_descriptors();
    for (failing = 1; failing == 1 || allocations >= failing - 1; failing++) {
        memset(&err, 0, sizeof(err));
        allocations = 0;
        snapshot = make(&dump, &objects, &err);
        if (!snapshot) {
            ck_assert_msg(err.code == ER_OUT_OF_MEMORY, "%u: %d %s", failing,
                          err.code, err.text);
            refused++;
        } else {
            ck_assert_uint_eq(snapshot->profile->stack_count, 1);
            ck_assert_ptr_nonnull(strstr(snapshot->profile->memory,
                                         "MB (1 sample, profiling is not"));
            for (size_t i = 0; i < snapshot->profile->location_count; i++)
                named +=
                    strcmp(snapshot->profile->locations[i].frames->function,
                           "open_descriptors") == 0;
        }
        snapshot_unref(snapshot);
        ck_assert_int_eq(open_descriptors(), before);
        ck_assert_uint_lt(failing, 2000);
    }
    ck_assert_uint_gt(refused, 20);
    ck_assert_uint_gt(named, 0); /* the last one at least */
    objects_fini(&objects);
    dump_fini(&dump);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("dump");
    TCase *tc = tcase_create("dump");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, stacks_that_go_has_cut_are_spoken_of);
    tcase_add_test(tc, every_allocation_may_fail);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
