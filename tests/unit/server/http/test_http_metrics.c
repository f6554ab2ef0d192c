/* test_http_metrics.c - figures as lines, and server/http/METRICS.md, which has
 * all of them. */
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "cursor.h"
#include "http_metrics.h"
#include "suite.h"

enum { COLUMNS = 200, LINE = 512 };

static struct http_metrics *metrics;
static struct buffer out;

static void
set_up(void)
{
    metrics = http_metrics_new(false);
    buffer_init(&out, 1 << 20);
}

static void
tear_down(void)
{
    http_metrics_free(metrics);
    buffer_fini(&out);
}

START_TEST(figures_are_lines)
{
    static const struct value row[] = {
        {.type = VALUE_NULL},
        {.type = VALUE_INT, .integer = 1},
        {.type = VALUE_TEXT, .data = "a\"b\\c\nd", .size = 7},
        {.type = VALUE_TEXT, .data = "1795406243.5", .size = 12},
        {.type = VALUE_NULL},
        {.type = VALUE_DOUBLE, .real = 0.03}};

    http_metrics_row(metrics, row, 6);
    http_metrics_write(metrics, false, &out);
    ck_assert_ptr_nonnull(strstr(out.data, "\nheapwire_database_up 1\n"));
    ck_assert_ptr_nonnull(
        strstr(out.data, "_info{state=\"a\\\"b\\\\c\\nd\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(out.data, "_seconds 1795406243.5\n"));
    ck_assert_ptr_null(strstr(out.data, "allocated"));
    ck_assert_ptr_nonnull(strstr(out.data, "_active_bytes 0.03\n"));
    ck_assert_ptr_null(strstr(out.data, "# EOF"));
    ck_assert_ptr_null(strstr(out.data, "# UNIT"));
    buffer_clear(&out);
    http_metrics_write(metrics, true, &out);
    ck_assert_ptr_nonnull(
        strstr(out.data, "# UNIT heapwire_allocator_active_bytes bytes\n"));
    ck_assert_str_eq(out.data + out.size - 6, "# EOF\n");
}
END_TEST

START_TEST(nodes_stand_together)
{
    struct value row[] = {{.type = VALUE_INT, .integer = 10001},
                          {.type = VALUE_INT, .integer = 1},
                          {.type = VALUE_TEXT, .data = "gone", .size = 4}};

    http_metrics_free(metrics);
    metrics = http_metrics_new(true);
    http_metrics_row(metrics, row, 3);
    row[0].integer = 10002;
    http_metrics_row(metrics, row, 3);
    http_metrics_write(metrics, true, &out);
    ck_assert_ptr_nonnull(
        strstr(out.data, " gauge\nheapwire_database_up{node=\"10001\"} 1\n"
                         "heapwire_database_up{node=\"10002\"} 1\n# HELP"));
    ck_assert_ptr_nonnull(
        strstr(out.data, "info{node=\"10002\",state=\"gone\"} 1\n# EOF\n"));
}
END_TEST

/* Of server/http/METRICS.md, with room for a NUL. */
static char page[1 << 16];

static size_t
read_page(void)
{
    FILE *file = fopen(TOP "server/http/METRICS.md", "re");
    size_t rows = 0;

    ck_assert_ptr_nonnull(file);
    page[fread(page, 1, sizeof(page) - 1, file)] = '\0';
    fclose(file);
    for (const char *at = page; (at = strstr(at, "\n| `")); at++)
        rows++;
    return rows;
}

/* "{label}" of the sample below a TYPE line, or "". */
static void
label_of(const char *sample, char *label)
{
    const char *brace = sample + strcspn(sample, "{ ");

    *label = '\0';
    if (*brace == '{')
        snprintf(label, LINE, "%.*s}", (int)strcspn(brace, "="), brace);
}

START_TEST(each_metric_is_documented_and_no_other)
{
    struct value row[COLUMNS];
    char name[LINE], help[LINE], type[LINE], label[LINE], line[5 * LINE];
    size_t rows = read_page(), found = 0;
    int used;

    for (size_t i = 0; i < COLUMNS; i++)
        row[i] = (struct value){.type = VALUE_TEXT, .data = "1 x", .size = 3};
    http_metrics_row(metrics, row, COLUMNS);
    http_metrics_write(metrics, false, &out);
    for (const char *at = out.data; (at = strstr(at, "# HELP ")); at += used) {
        ck_assert_int_eq(sscanf(at,
                                "# HELP %511s %511[^\n]\n# TYPE %*s %511s %n",
                                name, help, type, &used),
                         3);
        label_of(at + used, label);
        snprintf(line, sizeof(line), "\n| `%s%s` | %s | %s |\n", name, label,
                 type, help);
        ck_assert_msg(strstr(page, line), "not in the list: %s", line);
        found++;
    }
    ck_assert_uint_eq(found, rows);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("http_metrics");
    TCase *tc = tcase_create("http_metrics");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, figures_are_lines);
    tcase_add_test(tc, nodes_stand_together);
    tcase_add_test(tc, each_metric_is_documented_and_no_other);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
