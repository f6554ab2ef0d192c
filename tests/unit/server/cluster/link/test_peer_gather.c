/* test_peer_gather.c - rows to blocks, and the texts of failures. */
#include <string.h>

#include "errors.h"
#include "failing_memory.h"
#include "memory.h"
#include "peer_pool.h"
#include "peer_link.h"
#include "peers.h"
#include "suite.h"

static struct peer_gather gather;

static void
set_up(void)
{
    peer_gather_init(&gather);
}

static void
tear_down(void)
{
    peer_gather_fini(&gather);
}

static struct span
text(const char *s)
{
    return (struct span){s, s ? strlen(s) : 0};
}

START_TEST(nothing_gathered_is_no_block)
{
    struct peer_block *block = (struct peer_block *)&gather;

    ck_assert_int_eq(peer_gather_take(&gather, &block), 0);
    ck_assert_ptr_null(block);
}
END_TEST

START_TEST(a_block_has_the_rows_in_order)
{
    struct span rows[][2] = {{text("a"), text("bc")},
                             {text(NULL), text("")},
                             {text("def"), text(NULL)}};
    struct peer_block *block;

    for (size_t i = 0; i < 3; i++)
        peer_gather_add(&gather, rows[i], 2);
    ck_assert_int_eq(peer_gather_take(&gather, &block), 0);
    ck_assert_uint_eq(block->row_count, 3);
    ck_assert_uint_eq(block->bytes, 6);
    for (size_t i = 0; i < 6; i++) {
        struct span expected = rows[i / 2][i % 2], got = block->cells[i];

        ck_assert_int_eq(!got.data, !expected.data);
        ck_assert_uint_eq(got.size, expected.size);
        if (got.size > 0)
            ck_assert_mem_eq(got.data, expected.data, got.size);
    }
    mem_free(block);
    ck_assert_int_eq(peer_gather_take(&gather, &block), 0);
    ck_assert_ptr_null(block);
}
END_TEST

START_TEST(a_block_is_full_at_its_size)
{
    static const char bytes[1000];
    struct span cell = {bytes, sizeof(bytes)};
    struct peer_block *block;
    size_t rows = 0;

    while (!peer_gather_full(&gather)) {
        peer_gather_add(&gather, &cell, 1);
        rows++;
    }
    ck_assert_uint_ge(rows, 60);
    ck_assert_uint_le(rows, 70);
    ck_assert_int_eq(peer_gather_take(&gather, &block), 0);
    ck_assert_uint_eq(block->row_count, rows);
    mem_free(block);
}
END_TEST

START_TEST(the_largest_row_has_a_block)
{
    char *bytes = mem_zalloc(1, PEER_CELL_MAX);
    struct span cell = {bytes, PEER_CELL_MAX};
    struct peer_block *block;

    ck_assert_ptr_nonnull(bytes);
    peer_gather_add(&gather, &cell, 1);
    ck_assert(peer_gather_full(&gather));
    ck_assert_int_eq(peer_gather_take(&gather, &block), 0);
    ck_assert_uint_eq(block->bytes, PEER_CELL_MAX);
    mem_free(block);
    mem_free(bytes);
    ck_assert_uint_eq(gather.bytes.capacity, 0); /* nothing that big is kept */
}
END_TEST

START_TEST(rows_without_memory_are_a_failure_once)
{
    struct span cell = text("x");
    struct peer_block *block;

    for (unsigned n = 1; n <= 3; n++) {
        allocations = 0;
        failing = n;
        peer_gather_add(&gather, &cell, 1);
        ck_assert_int_eq(peer_gather_take(&gather, &block), -1);
        failing = 0;
        ck_assert_ptr_null(block);
        peer_gather_fini(&gather);
        peer_gather_init(&gather);
        peer_gather_add(&gather, &cell, 1);
        ck_assert_int_eq(peer_gather_take(&gather, &block), 0);
        ck_assert_uint_eq(block->row_count, 1);
        mem_free(block);
        peer_gather_fini(&gather);
        peer_gather_init(&gather);
    }
}
END_TEST

static const struct {
    struct peer_endpoint endpoint;
    const char *why, *submit, *rpc;
} failures[] = {
    {{.id = 2, .address = "10.0.0.1", .port = 9036},
     "Connection refused",
     "submit failed for 10.0.0.1:9036: Connection refused",
     "rpc failed 10.0.0.1:9036: Connection refused"},
    {{.id = 2, .address = "::1", .port = 1},
     "x",
     "submit failed for [::1]:1: x",
     "rpc failed [::1]:1: x"},
    {{.id = 7}, "x", "submit failed for node 7: x", "rpc failed node 7: x"},
    {{.id = 7, .address = "::1", .port = 1},
     "id mismatch: node 8 answers",
     "id mismatch: node 8 answers",
     "rpc failed [::1]:1: id mismatch: node 8 answers"}};

START_TEST(a_failure_names_the_node)
{
    struct error why, got;

    error_set(&why, ER_UNKNOWN, "%s", failures[_i].why);
    peer_failure_submit(&got, &failures[_i].endpoint, &why);
    ck_assert_str_eq(got.text, failures[_i].submit);
    ck_assert_uint_ne(got.code, 0);
    peer_failure_rpc(&got, &failures[_i].endpoint, &why);
    ck_assert_str_eq(got.text, failures[_i].rpc);
}
END_TEST

START_TEST(a_deadline_is_reported_in_seconds)
{
    struct error got;

    peer_failure_timeout(&got, 60000);
    ck_assert_str_eq(got.text, "timeout after 60s");
    ck_assert_uint_eq(got.code, ER_QUERY_TIMEOUT);
    peer_failure_timeout(&got, 1500);
    ck_assert_str_eq(got.text, "timeout after 1.5s");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("peer_gather");
    TCase *blocks = tcase_create("blocks"), *texts = tcase_create("texts");

    tcase_add_checked_fixture(blocks, set_up, tear_down);
    tcase_add_test(blocks, nothing_gathered_is_no_block);
    tcase_add_test(blocks, a_block_has_the_rows_in_order);
    tcase_add_test(blocks, a_block_is_full_at_its_size);
    tcase_add_test(blocks, the_largest_row_has_a_block);
    tcase_add_test(blocks, rows_without_memory_are_a_failure_once);
    suite_add_tcase(suite, blocks);
    tcase_add_loop_test(texts, a_failure_names_the_node, 0,
                        sizeof(failures) / sizeof(failures[0]));
    tcase_add_test(texts, a_deadline_is_reported_in_seconds);
    suite_add_tcase(suite, texts);
    return suite_run(suite);
}
