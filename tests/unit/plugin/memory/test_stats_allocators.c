/* test_stats_allocators.c - the agent's list of allocators, cut and hostile. */
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "stats.h"
#include "stats_allocators.h"
#include "suite.h"

static const char good[] = "object=/bin/a b\tmallctl=mallctl\tchosen=1\t"
                           "callable=1\tallocated=9223372036854775807\n"
                           "object=\tnote=why = so\tunheard=of\n";

/* In a block of exactly that size. */
static int
parse(struct stats *stats, const char *text, size_t size, struct error *err)
{
    char *copy = malloc(size + 1);
    int rc;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy + 1, text, size);
    memset(err, 0, sizeof(*err));
    rc = stats_allocators_parse(stats, copy + 1, size, err);
    free(copy);
    return rc;
}

static struct stats *
new_stats(void)
{
    struct error err;
    struct stats *stats = stats_parse("", 0, &err);

    ck_assert_ptr_nonnull(stats);
    return stats;
}

START_TEST(a_line_is_an_allocator)
{
    struct stats *stats = new_stats();
    struct error err;

    ck_assert_int_eq(parse(stats, good, sizeof(good) - 1, &err), 0);
    ck_assert_uint_eq(stats->allocator_count, 2);
    ck_assert_str_eq(stats->allocators[0].object, "/bin/a b");
    ck_assert(stats->allocators[0].chosen && stats->allocators[0].counted);
    ck_assert_uint_eq(stats->allocators[0].allocated, INT64_MAX);
    ck_assert_str_eq(stats->allocators[1].note, "why = so");
    ck_assert_str_eq(stats->allocators[1].version, "");
    ck_assert(!stats->allocators[1].counted);
    ck_assert_int_eq(parse(stats, "", 0, &err), 0);
    ck_assert_ptr_nonnull(stats->allocators);
    ck_assert_uint_eq(stats->allocator_count, 0);
    stats_unref(stats);
}
END_TEST

START_TEST(cut_off_is_refused)
{
    struct stats *stats = new_stats();
    const char *line = strchr(good, '\n') + 1;
    struct error err;

    for (size_t size = 1; size < sizeof(good) - 1; size++)
        if (size != (size_t)(line - good))
            ck_assert_int_eq(parse(stats, good, size, &err), -1);
    ck_assert_ptr_null(stats->allocators);
    stats_unref(stats);
}
END_TEST

static const struct {
    const char *text, *why;
} wrong[] = {
    {"\n", "no key and value in ''"},
    {"object\n", "no key and value in 'object'"},
    {"object=a\t\n", "no key and value"},
    {"chosen=2\n", "no truth in '2'"},
    {"chosen=\n", "no truth in ''"},
    {"allocated=-1\n", "no number"},
    {"allocated=\n", "no number"},
    {"allocated=9223372036854775808\n", "no number"},
    {"object=\033[2J\n", "control bytes"},
};

START_TEST(nonsense_is_refused)
{
    struct stats *stats = new_stats();
    struct error err;

    ck_assert_int_eq(parse(stats, wrong[_i].text, strlen(wrong[_i].text), &err),
                     -1);
    ck_assert_msg(strstr(err.text, wrong[_i].why) != NULL, "%s", err.text);
    stats_unref(stats);
}
END_TEST

START_TEST(too_much_is_refused)
{
    struct stats *stats = new_stats();
    struct buffer text;
    struct error err;

    buffer_init(&text, 1 << 20);
    buffer_text(&text, "object=");
    for (int i = 0; i < 1025; i++)
        buffer_char(&text, 'x');
    buffer_char(&text, '\n');
    ck_assert_int_eq(parse(stats, text.data, text.size, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "too long"));
    buffer_clear(&text);
    for (int i = 0; i < STATS_ALLOCATORS_MAX + 1; i++)
        buffer_text(&text, "object=x\n");
    ck_assert_int_eq(parse(stats, text.data, text.size, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "too many"));
    buffer_fini(&text);
    stats_unref(stats);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("stats_allocators");
    TCase *tc = tcase_create("stats_allocators");

    tcase_add_test(tc, a_line_is_an_allocator);
    tcase_add_test(tc, cut_off_is_refused);
    tcase_add_loop_test(tc, nonsense_is_refused, 0,
                        sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_test(tc, too_much_is_refused);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
