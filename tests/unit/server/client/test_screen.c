/* test_screen.c - heapwire top without a terminal: statements, rows, lines of
 * any size, keys, hostile names. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "grid.h"
#include "screen.h"
#include "suite.h"

enum { CELLS = TOP_COLUMNS_MAX };

static struct screen s;
static struct screen_node nodes[SCREEN_NODES_MAX];
static struct screen_line lines[SCREEN_HEIGHT_MAX];

static struct span
span_or_none(const char *text)
{
    return (struct span){text, text ? strlen(text) : 0};
}

/* Rows of `|` between cells; "-" is NULL. */
static struct grid *
grid_of(enum top_number view, const char *const *rows, size_t count)
{
    struct grid *grid = grid_new(view);
    struct span cells[CELLS];

    ck_assert_ptr_nonnull(grid);
    for (size_t i = 0; i < count; i++) {
        const char *at = rows[i];
        size_t n = 0;

        for (; n < CELLS; n++) {
            size_t size = strcspn(at, "|");

            cells[n] = (struct span){at, size};
            if (size == 1 && *at == '-')
                cells[n].data = NULL;
            at += size;
            if (!*at++)
                break;
        }
        grid_add(grid, cells, n + 1);
    }
    grid->taken_ms = 1000;
    return grid;
}

#define GRID(view, ...)                                                        \
    grid_of(view, (const char *const[]){__VA_ARGS__},                          \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void
add_node(uint64_t id, const char *state, double rss)
{
    nodes[s.node_count] = (struct screen_node){.id = id,
                                               .rss = rss,
                                               .limit = -1,
                                               .allocated = rss / 2,
                                               .active = rss / 2,
                                               .resident = rss / 4 * 3};
    snprintf(nodes[s.node_count++].state, SCREEN_STATE_MAX, "%s", state);
}

/* flat, error, cum, objects, nodes, function */
#define FUNCTIONS                                                              \
    GRID(TOP_FUNCTIONS, "1048576|1024|2097152|1000|3|insert",                  \
         "3145728|1024|3145728|10|1|LRUCache::Insert", "0|0|9999999|0|1|main")

static void
show(struct grid *grid, unsigned width, unsigned height)
{
    screen_init(&s, nodes);
    grid_derive(grid, NULL, NULL);
    s.grid = grid;
    s.view = grid->number;
    screen_arrange(&s);
    add_node(10001, "connected", 1 << 20);
    s.width = width;
    s.height = height;
    screen_layout(&s, lines);
}

/* What a terminal may get: as wide as it is, well-formed, and harmless. */
static void
check_lines(void)
{
    for (unsigned i = 0; i < s.height; i++) {
        const unsigned char *text = (const unsigned char *)lines[i].text;
        bool harmless =
            lines[i].width <= s.width && strlen(lines[i].text) == lines[i].size;

        for (size_t k = 0; text[k]; k++)
            harmless = harmless && text[k] >= ' ' && text[k] != 0x7f &&
                       (text[k] != 0xc2 || text[k + 1] >= 0xa0);
        ck_assert_msg(harmless, "%s", lines[i].text);
    }
}

START_TEST(a_screen_has_nodes_titles_rows_and_keys)
{
    show(FUNCTIONS, 80, 10);
    check_lines();
    ck_assert_str_eq(lines[0].text, "10001 [##########-----.....] rss 1.0M "
                                    "alloc 512K active 512K resident 768K");
    ck_assert_ptr_nonnull(
        strstr(lines[1].text, "functions, all nodes, by FLAT"));
    ck_assert_int_eq(lines[2].style, SCREEN_TITLES);
    ck_assert_ptr_nonnull(strstr(lines[2].text, "FLAT FLAT%     +-    CUM"));
    ck_assert_int_eq(lines[3].style, SCREEN_CHOSEN);
    ck_assert_ptr_nonnull(strstr(lines[3].text, "3.0M  75.0   1.0K   3.0M"));
    ck_assert_ptr_nonnull(strstr(lines[3].text, "LRUCache::Insert"));
    ck_assert_int_eq(lines[9].style, SCREEN_KEYS);
    grid_free(s.grid);
}
END_TEST

START_TEST(a_terminal_of_20_by_5_has_one_of_each)
{
    show(FUNCTIONS, 20, 5);
    check_lines();
    ck_assert_str_eq(lines[0].text, "10001 rss 1.0M"); /* no half a figure */
    ck_assert_ptr_nonnull(strstr(lines[2].text, "FLAT FUNCTION"));
    ck_assert_ptr_nonnull(strstr(lines[3].text, "3.0M LRUCache::In"));
    grid_free(s.grid);
}
END_TEST

START_TEST(the_least_terminal_has_a_name)
{
    show(FUNCTIONS, 1, 1);
    ck_assert_str_eq(lines[0].text, "L");
    s.width = 12;
    screen_layout(&s, lines);
    ck_assert_str_eq(lines[0].text, "LRUCache::In");
    grid_free(s.grid);
}
END_TEST

START_TEST(every_size_holds_what_fits)
{
    struct grid *grid = FUNCTIONS;

    show(grid, 80, 24);
    snprintf(s.notice, sizeof(s.notice), "node 10002: \xe5\xae\xbd away");
    for (size_t i = 1; i < 40; i++)
        add_node(10001 + i, i % 3 ? "connected" : "unresponsive", 1e9);
    for (unsigned width = 1; width < 130; width++)
        for (unsigned height = 1; height < 40; height++) {
            s.width = width;
            s.height = height;
            s.prompt = (enum screen_prompt)(height % 5);
            s.chosen = height % 3;
            screen_layout(&s, lines);
            check_lines();
        }
    grid_free(s.grid);
}
END_TEST

START_TEST(nodes_in_trouble_come_first_and_the_rest_are_counted)
{
    show(FUNCTIONS, 80, 12);
    for (size_t i = 1; i < 20; i++)
        add_node(10001 + i, i == 15 ? "gone" : "connected", 1e9);
    screen_layout(&s, lines);
    ck_assert_ptr_nonnull(strstr(lines[0].text, "10016 gone"));
    ck_assert_int_eq(lines[0].style, SCREEN_TROUBLE);
    ck_assert_str_eq(lines[3].text, "and 17 nodes more (n: one by one)");
    grid_free(s.grid);
}
END_TEST

static const struct {
    const char *name, *shown;
} hostile[] = {
    {"\033[2J\007x", "?[2J?x"},
    {"\033]0;title\007", "?]0;title?"},
    {"\xc2\x9b"
     "31m",
     "??31m"}, /* CSI of two bytes */
    {"\x9b"
     "31m\xff\xfe",
     "?31m??"},
    {"a\r\nb\tc", "a??b?c"},
    {"\xe2\x80\xae"
     "abc",
     "?abc"},                           /* right to left */
    {"e\xcc\x81\xcc\x81", "e??"},       /* combining: no width */
    {"\xef\xbb\xbf\xe2\x80\x8b", "??"}, /* nothing to be seen */
    {"\xe5\xae\xbd\xe5", "\xe5\xae\xbd?"},
    {"\xed\xa0\x80", "???"}, /* a surrogate */
};

START_TEST(hostile_names_are_shown_and_do_nothing)
{
    struct screen_line line;

    line_start(&line, SCREEN_PLAIN, 40);
    line_add(&line, span_or_none(hostile[_i].name), 0, 40);
    ck_assert_str_eq(line.text, hostile[_i].shown);
}
END_TEST

START_TEST(wide_characters_are_not_cut_in_half)
{
    static const char wide[] = "\xe5\xae\xbd\xe5\xae\xbd\xe5\xae\xbd";
    struct screen_line line;

    for (unsigned width = 0; width < 8; width++) {
        line_start(&line, SCREEN_PLAIN, 40);
        line_left(&line, span_or_none(wide), width);
        ck_assert_uint_eq(line.width, width);
    }
    line_start(&line, SCREEN_PLAIN, 3);
    line_add(&line, span_or_none(wide), 0, 40);
    ck_assert_uint_eq(line.width, 2);
    line_start(&line, SCREEN_PLAIN, 40);
    line_add(&line, span_or_none(wide), 2, 40);
    ck_assert_uint_eq(line.width, 4);
}
END_TEST

START_TEST(without_utf8_there_is_ascii_alone)
{
    struct screen_line line;

    setlocale(LC_CTYPE, "C");
    line_start(&line, SCREEN_PLAIN, 40);
    line_text(&line, "a\xc3\xa9\xe5\xae\xbd");
    ck_assert_str_eq(line.text, "a??");
}
END_TEST

static const struct {
    void (*figure)(double, char *);
    double value;
    const char *text;
} figures[] = {
    {figure_bytes, 0, "0"},         {figure_bytes, 1023, "1023"},
    {figure_bytes, 1024, "1.0K"},   {figure_bytes, 10240, "10K"},
    {figure_bytes, -1536, "-1.5K"}, {figure_bytes, 1048575, "1.0M"},
    {figure_bytes, 1e18, "888P"},   {figure_count, 99999, "99999"},
    {figure_count, 123456, "123k"}, {figure_percent, 12.34, "12.3"},
    {figure_time, 1234, "1.2s"},    {figure_time, 187e3, "3:07"},
    {figure_time, 7500e3, "2h05"},  {figure_bytes, 1e30, "867361737988E"},
};

START_TEST(figures_are_short)
{
    char text[FIGURE_TEXT];

    figures[_i].figure(figures[_i].value, text);
    ck_assert_str_eq(text, figures[_i].text);
}
END_TEST

START_TEST(rows_are_compared_with_earlier_ones)
{
    /* node, flat, cum, error, function */
    struct grid *base = GRID(TOP_DIFF, "1|100|100|3|a", "1|50|50|1|c"),
                *now =
                    GRID(TOP_DIFF, "1|400|100|4|a", "2|7|7|1|b", "1|-|5|1|c");

    grid_derive(now, NULL, base);
    ck_assert_double_eq(grid_at(now, 0, 1)->number, 300);
    ck_assert_double_eq(grid_at(now, 0, 2)->number, 5);
    ck_assert_double_eq(grid_at(now, 1, 1)->number, 7); /* was not there */
    ck_assert_ptr_null(grid_at(now, 2, 1)->text.data);  /* NULL stays NULL */
    grid_arrange(now, 1, false, "");
    ck_assert_uint_eq(now->order[0], 0);
    ck_assert_uint_eq(now->order[2], 2); /* unknown: last, and so upwards */
    grid_arrange(now, 1, true, "");
    ck_assert_uint_eq(now->order[2], 2);
    grid_arrange(now, 1, false, "B");
    ck_assert_uint_eq(now->shown, 1);
    grid_free(now);
    now = GRID(TOP_DIFF, "2|7|7|1|b");
    base->cut = true; /* it may have been there */
    grid_derive(now, NULL, base);
    ck_assert_ptr_null(grid_at(now, 0, 1)->text.data);
    grid_free(now);
    grid_free(base);
}
END_TEST

START_TEST(load_is_of_the_time_between)
{
    /* node, tid, state, ms, wchan, name */
    struct grid *before = GRID(TOP_RUNNING, "1|7|R|1000||a"),
                *now = GRID(TOP_RUNNING, "1|7|R|1500||a", "1|8|R|900||b");

    now->taken_ms = before->taken_ms + 2000;
    grid_derive(now, before, NULL);
    ck_assert_double_eq(grid_at(now, 0, 3)->number, 25);
    ck_assert_ptr_null(grid_at(now, 1, 3)->text.data); /* since when? */
    grid_free(now);
    grid_free(before);
}
END_TEST

START_TEST(too_many_rows_are_cut_and_said)
{
    struct span cells[] = {span_or_none("1"), span_or_none("1"),
                           span_or_none("1"), span_or_none("1"),
                           span_or_none("1"), span_or_none("f")};
    struct grid *grid = grid_new(TOP_FUNCTIONS);

    for (unsigned i = 0; i < 3 * TOP_ROWS_MAX; i++)
        grid_add(grid, cells, 6);
    ck_assert(grid->cut);
    ck_assert_uint_le(grid->rows, 3 * TOP_ROWS_MAX);
    grid_free(grid);
}
END_TEST

static void
press(const char *keys)
{
    for (; *keys; keys++)
        screen_press(&s, *keys == '\n'   ? KEYS_ENTER
                         : *keys == '\b' ? KEYS_BACKSPACE
                         : *keys == '\e' ? KEYS_ESCAPE
                                         : (unsigned char)*keys);
    if (s.rearrange)
        screen_arrange(&s);
}

START_TEST(keys_move_sort_filter_and_search)
{
    show(FUNCTIONS, 80, 24);
    screen_press(&s, KEYS_DOWN);
    ck_assert_uint_eq(s.chosen, 1);
    screen_press(&s, KEYS_PAGE_DOWN);
    ck_assert_uint_eq(s.chosen, 2);
    screen_press(&s, KEYS_DOWN);
    ck_assert_uint_eq(s.chosen, 2);
    screen_press(&s, KEYS_HOME);
    press("<"); /* round about: the function's name */
    ck_assert_uint_eq(s.sort[TOP_FUNCTIONS],
                      top_views[TOP_FUNCTIONS].count - 1U);
    press("I");
    ck_assert_uint_eq(s.grid->order[0], 1); /* LRU... before insert */
    press(">I/main");
    ck_assert_uint_eq(s.grid->order[s.chosen], 2);
    press("\n\\INSERT\n");
    ck_assert_uint_eq(s.grid->shown, 2);
    ck_assert_str_eq(s.filter, "INSERT");
    press("\\\b\b\b\b\b\bx");
    ck_assert_uint_eq(s.grid->shown, 0);
    press(" ");
    press("\e");
    ck_assert_uint_eq(s.grid->shown, 3);
    press(" ");
    ck_assert_uint_eq(s.mark_count, 1);
    press("U");
    ck_assert_uint_eq(s.mark_count, 0);
    grid_free(s.grid);
}
END_TEST

START_TEST(keys_choose_views_nodes_and_intervals)
{
    show(FUNCTIONS, 80, 24);
    add_node(10002, "connected", 1);
    press("n");
    ck_assert_uint_eq(s.node, 10001);
    press("n");
    ck_assert_uint_eq(s.node, 10002);
    press("n");
    ck_assert_uint_eq(s.node, 0);
    press("na");
    ck_assert_uint_eq(s.node, 0);
    press("d\b0.5\n");
    ck_assert_double_eq(s.interval_s, .5);
    press("d\b\b\b0\n"); /* too short: it stays */
    ck_assert_double_eq(s.interval_s, .5);
    press("3");
    ck_assert_int_eq(s.view, TOP_RUNNING);
    ck_assert(s.hurry);
    press("\t\t\t");
    ck_assert_int_eq(s.view, TOP_DIAGNOSIS);
    press("\t");
    ck_assert_int_eq(s.view, TOP_FUNCTIONS);
    press("7"); /* no view's */
    ck_assert_int_eq(s.view, TOP_FUNCTIONS);
    press("bbefore\n");
    ck_assert_int_eq(s.view, TOP_DIFF);
    ck_assert_str_eq(s.base, "before");
    press("p");
    ck_assert(s.paused);
    press("hx"); /* any key leaves the help */
    ck_assert(!s.help && !s.ended);
    press("/q"); /* a letter */
    ck_assert(!s.ended);
    press("\eq");
    ck_assert(s.ended);
    grid_free(s.grid);
}
END_TEST

START_TEST(input_is_utf8_and_has_an_end)
{
    show(FUNCTIONS, 80, 24);
    press("/");
    screen_press(&s, 0xe9);
    screen_press(&s, 0x5bbd);
    screen_press(&s, 0x1f600);
    screen_press(&s, 0x9b); /* a control character */
    ck_assert_str_eq(s.input, "\xc3\xa9\xe5\xae\xbd\xf0\x9f\x98\x80");
    press("\b\b");
    ck_assert_str_eq(s.input, "\xc3\xa9");
    for (unsigned i = 0; i < 200; i++)
        screen_press(&s, 0x5bbd);
    ck_assert_uint_le(strlen(s.input), SCREEN_INPUT_MAX);
    press("\b\b\b");
    grid_free(s.grid);
}
END_TEST

/* Each view is one statement of its table, whatever is chosen. */
START_TEST(statements)
{
    struct top_scope scope = {.node = 7, .self = 5, .base = "it's\\"};
    struct buffer text;

    buffer_init(&text, 8192);
    top_view_statement(TOP_FUNCTIONS, &scope, &text);
    ck_assert_str_eq(
        text.data,
        "SELECT SUM(flat_bytes), SQRT(SUM(flat_error * flat_error)), "
        "SUM(cum_bytes), SUM(flat_objects), COUNT(DISTINCT node_id), function "
        "FROM heapwire.cluster_heap_functions WHERE node_id = 7 "
        "GROUP BY function ORDER BY 1 DESC LIMIT 5000");
    buffer_clear(&text);
    top_view_statement(TOP_DIFF_KEPT, &scope, &text);
    ck_assert_ptr_nonnull(strstr(
        text.data, "FROM heapwire.heap_diff WHERE base = 'it\\'s\\\\' ORDER"));
    scope.alone = scope.kept = true;
    scope.node = 0;
    buffer_clear(&text);
    top_view_statement(TOP_RUNNING, &scope, &text);
    ck_assert_ptr_nonnull(strstr(text.data,
                                 "FROM (SELECT 5 AS node_id, own.* FROM "
                                 "heapwire.threads own) AS one"));
    ck_assert_ptr_nonnull(strstr(text.data, "ORDER BY 4 DESC"));
    buffer_fini(&text);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("screen");
    TCase *tc = tcase_create("screen");

    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    tcase_add_test(tc, a_screen_has_nodes_titles_rows_and_keys);
    tcase_add_test(tc, a_terminal_of_20_by_5_has_one_of_each);
    tcase_add_test(tc, the_least_terminal_has_a_name);
    tcase_add_test(tc, every_size_holds_what_fits);
    tcase_add_test(tc, nodes_in_trouble_come_first_and_the_rest_are_counted);
    tcase_add_loop_test(tc, hostile_names_are_shown_and_do_nothing, 0,
                        sizeof(hostile) / sizeof(hostile[0]));
    tcase_add_test(tc, wide_characters_are_not_cut_in_half);
    tcase_add_test(tc, without_utf8_there_is_ascii_alone);
    tcase_add_loop_test(tc, figures_are_short, 0,
                        sizeof(figures) / sizeof(figures[0]));
    tcase_add_test(tc, rows_are_compared_with_earlier_ones);
    tcase_add_test(tc, load_is_of_the_time_between);
    tcase_add_test(tc, too_many_rows_are_cut_and_said);
    tcase_add_test(tc, keys_move_sort_filter_and_search);
    tcase_add_test(tc, keys_choose_views_nodes_and_intervals);
    tcase_add_test(tc, input_is_utf8_and_has_an_end);
    tcase_add_test(tc, statements);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
