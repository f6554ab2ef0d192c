/* test_symbol_cache.c - names kept for the next time. */
#include <stdio.h>
#include <string.h>

#include "names.h"
#include "resolve_job.h"
#include "suite.h"

static struct cache_key
key_of(const char *text)
{
    struct cache_key key = {{0}, strlen(text)};

    memcpy(key.bytes, text, key.size);
    return key;
}

static void
add(struct symbol_cache *cache, const char *key, uint64_t offset,
    const char *name)
{
    struct cache_key k = key_of(key);
    struct frame frame = {name, "a.c", 1};
    struct location location = {
        .frames = &frame, .frame_count = 1, .symbol = name, .symbol_start = 7};

    symbol_cache_add(cache, &k, offset, &location);
}

static const char *
find(struct symbol_cache *cache, const char *key, uint64_t offset)
{
    struct cache_key k = key_of(key);
    const struct location *l = symbol_cache_find(cache, &k, offset);

    return l ? l->frames[0].function : "";
}

START_TEST(names_belong_to_an_object_and_an_offset)
{
    struct symbol_cache *cache = symbol_cache_new();

    add(cache, "one", 10, "f");
    add(cache, "two", 10, "g");
    add(cache, "two", (uint64_t)1 << 48, "never");
    add(cache, "", 10, "nobody's");
    ck_assert_str_eq(find(cache, "one", 10), "f");
    ck_assert_str_eq(find(cache, "two", 10), "g");
    ck_assert_str_eq(find(cache, "one", 11), "");
    ck_assert_str_eq(find(cache, "three", 10), "");
    ck_assert_str_eq(find(cache, "two", (uint64_t)1 << 48), "");
    ck_assert_str_eq(find(cache, "", 10), "");
    symbol_cache_free(cache);
}
END_TEST

START_TEST(full_of_objects_it_starts_anew)
{
    struct symbol_cache *cache = symbol_cache_new();
    char key[16];

    for (int i = 0; i <= CACHE_OBJECTS; i++) {
        snprintf(key, sizeof(key), "%d", i);
        add(cache, key, 1, key);
        ck_assert_str_eq(find(cache, key, 1), key);
    }
    ck_assert_str_eq(find(cache, "0", 1), "");
    symbol_cache_free(cache);
}
END_TEST

START_TEST(full_of_texts_it_starts_anew)
{
    struct symbol_cache *cache = symbol_cache_new();
    static char name[60000];
    uint64_t i;

    memset(name, 'x', sizeof(name) - 1);
    for (i = 0; i * sizeof(name) < CACHE_BYTES + sizeof(name); i++) {
        snprintf(name, 20, "%llu", (unsigned long long)i);
        name[strlen(name)] = 'x';
        add(cache, "one", i, name);
        ck_assert_str_eq(find(cache, "one", i), name);
    }
    ck_assert_str_eq(find(cache, "one", 0), "");
    symbol_cache_free(cache);
}
END_TEST

START_TEST(a_degraded_object_says_why)
{
    struct symbol_cache *cache = symbol_cache_new();
    struct cache_key one = key_of("one"), two = key_of("two");

    add(cache, "two", 1, "f");
    symbol_cache_degrade(cache, &one, "it crashed");
    ck_assert_str_eq(symbol_cache_degraded(cache, &one), "it crashed");
    ck_assert_ptr_null(symbol_cache_degraded(cache, &two));
    symbol_cache_free(cache);
}
END_TEST

START_TEST(names_of_symbols_alone_are_poor_till_there_is_an_index)
{
    struct symbol_cache *cache = symbol_cache_new();
    struct cache_key stripped = key_of("stripped"), whole = key_of("whole");
    struct frame frame = {"f", "", 0};
    struct location location = {.frames = &frame, .frame_count = 1};

    ck_assert(!symbol_cache_is_poor(cache, &stripped)); /* has no names */
    symbol_cache_add(cache, &stripped, 10, &location);
    add(cache, "whole", 10, "g");
    ck_assert(symbol_cache_is_poor(cache, &stripped));
    ck_assert(!symbol_cache_is_poor(cache, &whole));
    symbol_cache_renew(cache, &stripped);
    ck_assert_str_eq(find(cache, "stripped", 10), "");
    symbol_cache_add(cache, &stripped, 10, &location);
    ck_assert(!symbol_cache_is_poor(cache, &stripped)); /* once */
    symbol_cache_free(cache);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("symbol_cache");
    TCase *tc = tcase_create("symbol_cache");

    tcase_add_test(tc, names_belong_to_an_object_and_an_offset);
    tcase_add_test(tc, full_of_objects_it_starts_anew);
    tcase_add_test(tc, full_of_texts_it_starts_anew);
    tcase_add_test(tc, a_degraded_object_says_why);
    tcase_add_test(tc, names_of_symbols_alone_are_poor_till_there_is_an_index);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
