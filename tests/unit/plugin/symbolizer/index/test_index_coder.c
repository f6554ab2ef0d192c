/* test_index_coder.c - numbers coded by their odds come back as they were. */
#include "buffer.h"
#include "index_coder.h"
#include "suite.h"

enum { COUNT = 3000 };

struct odds {
    struct index_odds bit, tree[256];
    struct index_number_odds number, near;
};

static uint64_t
roll(uint64_t *dice)
{
    *dice = *dice * 6364136223846793005ULL + 1442695040888963407ULL;
    return *dice >> 33;
}

/* What the i-th step has to say; value is of up to 55 bits. */
static void
step(struct index_coder *coder, struct odds *odds, uint64_t dice, bool reads)
{
    uint64_t value = roll(&dice) << 31 | roll(&dice), shift = roll(&dice) % 64;
    int64_t near;
    bool bit = shift % 9 == 0;

    value = shift < 9 ? 0 : (value << 2 | 3) >> shift;
    near = shift % 2 ? (int64_t)(value >> 1) : -(int64_t)(value >> 1);
    ck_assert(index_code_bit(coder, &odds->bit, !reads && bit) == bit);
    ck_assert_uint_eq(
        index_code_tree(coder, odds->tree, 8, reads ? 0 : value & 0xff),
        value & 0xff);
    ck_assert_uint_eq(
        index_code_number(coder, &odds->number, reads ? 0 : value), value);
    ck_assert_int_eq(index_code_signed(coder, &odds->near, reads ? 0 : near),
                     near);
}

START_TEST(what_is_written_is_read)
{
    struct index_coder coder;
    struct buffer bytes;
    struct odds odds;

    buffer_init(&bytes, 1 << 20);
    index_odds_init(&odds, sizeof(odds));
    index_coder_write(&coder, &bytes);
    for (uint64_t i = 0; i < COUNT; i++)
        step(&coder, &odds, i + (uint64_t)_i * COUNT, false);
    index_coder_end(&coder);
    ck_assert(!coder.failed && !bytes.failed);
    index_odds_init(&odds, sizeof(odds));
    index_coder_read(&coder, (const uint8_t *)bytes.data, bytes.size);
    for (uint64_t i = 0; i < COUNT; i++)
        step(&coder, &odds, i + (uint64_t)_i * COUNT, true);
    buffer_fini(&bytes);
}
END_TEST

/* Ends are where bytes are left away. */
START_TEST(little_is_written_in_few_bytes_and_read)
{
    for (uint64_t value = 0; value < 3000; value++) {
        struct index_number_odds odds;
        struct index_coder coder;
        struct buffer bytes;

        buffer_init(&bytes, 100);
        index_odds_init(&odds, sizeof(odds));
        index_coder_write(&coder, &bytes);
        for (int i = 0; i < 3; i++)
            index_code_number(&coder, &odds, value * value);
        index_coder_end(&coder);
        ck_assert_uint_le(bytes.size, 14);
        index_odds_init(&odds, sizeof(odds));
        index_coder_read(&coder, (const uint8_t *)bytes.data, bytes.size);
        for (int i = 0; i < 3; i++)
            ck_assert_uint_eq(index_code_number(&coder, &odds, 0),
                              value * value);
        buffer_fini(&bytes);
    }
}
END_TEST

START_TEST(a_number_too_big_is_not_written)
{
    static const uint64_t big[] = {UINT64_MAX, UINT64_C(1) << 56,
                                   (UINT64_C(1) << 56) - 1};
    struct index_number_odds odds;
    struct index_coder coder;
    struct buffer bytes;

    buffer_init(&bytes, 100);
    index_odds_init(&odds, sizeof(odds));
    index_coder_write(&coder, &bytes);
    index_code_number(&coder, &odds, (UINT64_C(1) << 56) - 2);
    ck_assert(!coder.failed);
    index_code_number(&coder, &odds, big[_i]);
    ck_assert(coder.failed);
    index_coder_end(&coder);
    buffer_fini(&bytes);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("index_coder");
    TCase *tcase = tcase_create("index_coder");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, what_is_written_is_read, 0, 5);
    tcase_add_test(tcase, little_is_written_in_few_bytes_and_read);
    tcase_add_loop_test(tcase, a_number_too_big_is_not_written, 0, 3);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
