/* test_hash.c - entries are found whatever their hashes are. */
#include "hash.h"
#include "suite.h"

enum { ENTRIES = 20000 };

/* All differ; few hashes; one. */
static const uint32_t masks[] = {UINT32_MAX, 0xff000, 0};
static const int counts[] = {ENTRIES, ENTRIES, 500};

static uint32_t
find(const struct hash_index *index, const uint32_t *keys, uint32_t key,
     uint32_t hash)
{
    struct hash_slot *slot = hash_index_first(index, hash);

    while (slot->entry && keys[slot->entry - 1] != key)
        slot = hash_index_next(index, slot);
    return slot->entry;
}

START_TEST(what_is_put_in_is_found_after_each_growth)
{
    static uint32_t keys[ENTRIES];
    struct hash_index index = {0};
    size_t before;

    for (int i = 0; i < counts[_i]; i++) {
        uint32_t key = (uint32_t)i * 2654435761u, hash = key & masks[_i];
        struct hash_slot *slot;

        before = hash_index_room(&index);
        ck_assert_int_eq(hash_index_reserve(&index, (size_t)i + 1), 0);
        ck_assert(before > (size_t)i || hash_index_room(&index) > before);
        ck_assert_uint_eq(find(&index, keys, key, hash), 0);
        slot = hash_index_first(&index, hash);
        while (slot->entry)
            slot = hash_index_next(&index, slot);
        keys[i] = key;
        *slot = (struct hash_slot){(uint32_t)i + 1, hash};
    }
    for (int i = 0; i < counts[_i]; i++)
        ck_assert_uint_eq(find(&index, keys, keys[i], keys[i] & masks[_i]),
                          (unsigned)i + 1);
    ck_assert_uint_eq(find(&index, keys, 1, 1 & masks[_i]), 0);
    ck_assert_uint_eq(hash_index_bytes(hash_index_room(&index)),
                      (index.mask + 1) * sizeof(*index.slots));
    hash_index_fini(&index);
    hash_index_fini(&index);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("hash");
    TCase *tc = tcase_create("hash");

    tcase_add_loop_test(tc, what_is_put_in_is_found_after_each_growth, 0, 3);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
