/* test_kept.c - which snapshots stay, and that none leaks. */
#include <string.h>

#include "arena.h"
#include "kept.h"
#include "memory.h"
#include "profile.h"
#include "snapshot.h"
#include "suite.h"

/* A snapshot whose profile takes so many bytes; one reference. */
static struct snapshot *
snapshot_of(struct kept *kept, size_t size)
{
    struct snapshot *snapshot = snapshot_new();

    snapshot->profile = mem_zalloc(1, sizeof(*snapshot->profile));
    snapshot->profile->arena = arena_new(SIZE_MAX);
    ck_assert_ptr_nonnull(arena_alloc(snapshot->profile->arena, size));
    snapshot->taken_ms = 1795228267000; /* 2026-11-21 02:31:07 */
    kept_name(kept, snapshot);
    return snapshot;
}

START_TEST(the_newest_stay)
{
    struct kept kept = {0};
    char names[KEPT_MAX + 2][SNAPSHOT_NAME_MAX + 1];
    struct snapshot *snapshot;

    for (int i = 0; i < KEPT_MAX + 2; i++) {
        snapshot = snapshot_of(&kept, 16);
        memcpy(names[i], snapshot->name, sizeof(names[i]));
        kept_add(&kept, snapshot);
        snapshot_unref(snapshot);
    }
    ck_assert_str_eq(names[0], "heap_20261121_023107_1");
    for (int i = 0; i < KEPT_MAX + 2; i++) {
        snapshot = kept_find(&kept, names[i]);
        ck_assert_int_eq(snapshot != NULL, i >= 2);
        snapshot_unref(snapshot);
    }
    kept_fini(&kept);
    ck_assert_uint_eq(kept.count, 0);
}
END_TEST

START_TEST(large_ones_push_out_others_but_never_themselves)
{
    struct kept kept = {0};
    struct snapshot *small = snapshot_of(&kept, 16);
    struct snapshot *large = snapshot_of(&kept, KEPT_MAX_BYTES + 16);

    kept_add(&kept, small);
    kept_add(&kept, large);
    ck_assert_uint_eq(kept.count, 1);
    ck_assert_ptr_eq(kept.list[0], large);
    kept_add(&kept, small);
    ck_assert_uint_eq(kept.count, 1);
    ck_assert_ptr_eq(kept.list[0], small);
    snapshot_unref(small);
    snapshot_unref(large);
    kept_fini(&kept);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("kept");
    TCase *tc = tcase_create("kept");

    tcase_set_timeout(tc, 60); /* a quarter GB, under sanitizers */
    tcase_add_test(tc, the_newest_stay);
    tcase_add_test(tc, large_ones_push_out_others_but_never_themselves);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
