/* test_http_shared.c - who asks for new content, and whose answer is shown. */
#include "buffer.h"
#include "http_answer.h"
#include "server.h"
#include "suite.h"

enum { START = 1000 * 1000 };

static void
keep(struct server_answer *shared, const char *text, uint64_t asked_ms)
{
    struct buffer body;

    buffer_init(&body, 64);
    buffer_text(&body, text);
    http_shared_keep(shared, &body, asked_ms);
    buffer_fini(&body);
}

START_TEST(one_at_a_time_asks)
{
    struct server_answer shared = {.asked_ms = 0};
    uint64_t now = START;

    ck_assert(!http_shared_try_reuse(&shared, now));
    ck_assert(!http_shared_try_reuse(&shared, now)); /* there is nothing yet */
    keep(&shared, "first", now);
    ck_assert(http_shared_try_reuse(&shared, now));
    now += HTTP_SHARED_MS;
    ck_assert(http_shared_try_reuse(&shared, now - 1));
    ck_assert(!http_shared_try_reuse(&shared, now));
    ck_assert(http_shared_try_reuse(&shared, now)); /* that one asks already */
    ck_assert(http_shared_try_reuse(&shared, now + HTTP_SHARED_MS - 1));
    ck_assert(!http_shared_try_reuse(&shared, now + HTTP_SHARED_MS));
    keep(&shared, "second", now);
    ck_assert_str_eq(shared.body.data, "second");
    buffer_fini(&shared.body);
}
END_TEST

START_TEST(an_old_one_is_not_shown)
{
    struct server_answer shared = {.asked_ms = 0};

    keep(&shared, "old", START);
    for (uint64_t ms = HTTP_SHARED_MS; ms < HTTP_SHARED_MAX_MS;
         ms += HTTP_SHARED_MS) {
        ck_assert(!http_shared_try_reuse(&shared, START + ms));
        ck_assert(http_shared_try_reuse(&shared, START + ms));
    }
    for (int i = 0; i < 3; i++)
        ck_assert(!http_shared_try_reuse(&shared, START + HTTP_SHARED_MAX_MS));
    buffer_fini(&shared.body);
}
END_TEST

/* Otherwise a counter would fall. */
START_TEST(the_newest_stays)
{
    struct server_answer shared = {.asked_ms = 0};

    keep(&shared, "newer", START + 1);
    keep(&shared, "late", START);
    ck_assert_str_eq(shared.body.data, "newer");
    ck_assert_uint_eq(shared.asked_ms, START + 1);
    buffer_fini(&shared.body);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("http_shared");
    TCase *tc = tcase_create("http_shared");

    tcase_add_test(tc, one_at_a_time_asks);
    tcase_add_test(tc, an_old_one_is_not_shown);
    tcase_add_test(tc, the_newest_stays);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
