/*
 * fuzz_statements.c - statements cut up and put together again, at random.
 *
 *     fuzz_statements ROUNDS SEED FILE...
 *
 * Each line of the files is a statement.  Its mutants are described, opened
 * and read by a user with all privileges and by one with none, under
 * the sanitizers; whatever is answered is fine, but for what the second one
 * may not see.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lexer.h"
#include "memory.h"
#include "profile_fixture.h"
#include "scripted_controller.h"
#include "sql_harness.h"
#include "stats.h"

enum {
    LINES_MAX = 4096,
    LINE_MAX_BYTES = 16 * 1024,
    TOKENS_MAX = 256,
    STEPS_MAX = 64,
    TEXT_MAX = 64 * 1024
};

static char *lines[LINES_MAX];
static size_t line_count;
static uint64_t state;

static const struct fixture_name names[] = {
    {0x1000, "malloc", false, NULL, 0},
    {0x2001, "secret(int)", false, NULL, 0},
    {0}};

static struct profile *
make_profile(void)
{
    return fixture_profile("heap_v2/1\n@ 0x1000 0x2001\nt*: 2: 6000 [0: 0]\n",
                           names, NULL);
}

static struct stats *
make_stats(void)
{
    static const char text[] = "stats.allocated 1048576\n"
                               "arenas.bin.0.size 8\n";
    struct error unlikely;

    return stats_parse(text, sizeof(text) - 1, &unlikely);
}

static size_t
draw(size_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state % below);
}

static void
load(const char *path)
{
    static char line[LINE_MAX_BYTES];
    FILE *file = fopen(path, "r");

    if (!file) {
        perror(path);
        exit(2);
    }
    while (line_count < LINES_MAX && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line)
            lines[line_count++] = mem_strdup(line);
    }
    fclose(file);
}

static size_t
tokenize_statement_line(const char *text, struct span *out)
{
    struct span span = {text, strlen(text)};
    struct lexer lexer = lexer_of(span);
    size_t count = 0;

    while (count < TOKENS_MAX) {
        struct token token = lexer_next(&lexer);

        if (token.kind == TOKEN_END || token.kind == TOKEN_INVALID)
            break;
        out[count++] = token.text;
    }
    return count;
}

static struct span
any_token(void)
{
    static const char *const favourites[] = {"(",
                                             ")",
                                             ",",
                                             "?",
                                             "SELECT",
                                             "FROM",
                                             "WITH",
                                             "AS",
                                             "UNION",
                                             "heapwire.heap_stacks",
                                             "'x'",
                                             "1",
                                             "*",
                                             ".",
                                             "information_schema",
                                             "CASE",
                                             "END",
                                             "IN",
                                             "NOT",
                                             "INTERVAL",
                                             "json_each",
                                             "pragma_database_list",
                                             "sqlite_master",
                                             "@a",
                                             "@@x",
                                             "0x1f",
                                             "NULL",
                                             "hw_cast",
                                             "show",
                                             "INTO",
                                             "HAVING",
                                             "GROUP BY",
                                             "hw_group_concat",
                                             "OVER",
                                             "BETWEEN",
                                             "AND",
                                             "1e999",
                                             "9223372036854775807",
                                             "`a``b`",
                                             "/*!50000",
                                             "*/",
                                             "COLLATE",
                                             "\"q\""};
    struct span tokens[TOKENS_MAX], span;
    size_t count;

    if (draw(2) == 0) {
        span.data = favourites[draw(sizeof(favourites) / sizeof(*favourites))];
        span.size = strlen(span.data);
        return span;
    }
    count = tokenize_statement_line(lines[draw(line_count)], tokens);
    return count ? tokens[draw(count)] : any_token();
}

/* Into out, which is as long as the text: nothing may be read behind it. */
static struct span
mutate(char *out)
{
    struct span tokens[TOKENS_MAX + 16], copy;
    size_t count = tokenize_statement_line(lines[draw(line_count)], tokens),
           size = 0;

    for (size_t n = draw(4); n > 0 && count > 0; n--) {
        size_t at = draw(count), other = draw(count);

        switch (draw(4)) {
        case 0: /* drop */
            memmove(&tokens[at], &tokens[at + 1],
                    (--count - at) * sizeof(*tokens));
            break;
        case 1: /* swap */
            copy = tokens[at];
            tokens[at] = tokens[other];
            tokens[other] = copy;
            break;
        case 2:
            tokens[at] = any_token();
            break;
        default:
            memmove(&tokens[at + 1], &tokens[at],
                    (count++ - at) * sizeof(*tokens));
            tokens[at] = any_token();
            break;
        }
    }
    for (size_t i = 0; i < count && size + tokens[i].size + 1 < TEXT_MAX; i++) {
        memcpy(out + size, tokens[i].data, tokens[i].size);
        size += tokens[i].size;
        if (draw(16) != 0)
            out[size++] = ' ';
    }
    size -= size > 0 && out[size - 1] == ' ';
    if (size > 0 && draw(16) == 0)
        out[draw(size)] = (char)draw(256);
    return (struct span){out, size};
}

static void
report(struct span text, const char *why)
{
    fprintf(stderr, "%s: %.*s\n", why, (int)text.size, text.data);
    abort();
}

static bool
shows_secret(const struct rows *rows, size_t columns)
{
    for (size_t i = 0; i < rows->count * columns; i++)
        if (rows->values[i].type == VALUE_TEXT &&
            memmem(rows->values[i].data, rows->values[i].size, "secret(", 7))
            return true;
    return false;
}

/* What may sleep is not run. */
static bool
sleeps(struct span text)
{
    for (size_t i = 0; i + 5 <= text.size; i++)
        if (strncasecmp(text.data + i, "sleep", 5) == 0)
            return true;
    return false;
}

static void
run(struct harness *h, struct span text, bool may)
{
    static struct value values[CURSOR_COLUMNS_MAX * CURSOR_BATCH];
    struct sql_description description;
    struct value parameters[TOKENS_MAX] = {0};
    struct error err = {0};
    struct rows rows = {values, 0, CURSOR_BATCH};
    enum step step = STEP_MORE;

    h->parameter_count = 0;
    if (sql_describe(h->session, text, NULL, &description, &err) == 0) {
        h->parameter_count = description.parameter_count;
        sql_description_fini(&description);
    }
    if (h->parameter_count > TOKENS_MAX)
        return;
    for (size_t i = 0; i < h->parameter_count; i++)
        parameters[i] =
            (struct value){(enum value_type)draw(5), "text", 4, 3, 0.5};
    h->parameters = parameters;
    if (!harness_open_span(h, text) || sleeps(text))
        goto out;
    if (h->cursor->column_count > CURSOR_COLUMNS_MAX)
        report(text, "too many columns");
    for (int i = 0; i < STEPS_MAX && step == STEP_MORE; i++) {
        rows.count = 0;
        step = h->cursor->ops->step(h->cursor, &rows, &h->error);
        if (step == STEP_FAIL && h->error.code == 0)
            report(text, "a failure without an error");
        if (step != STEP_FAIL && !may &&
            shows_secret(&rows, h->cursor->column_count))
            report(text, "a row that needs the privilege");
    }
    if (draw(8) == 0)
        harness_cancel(h);
out:
    harness_close(h);
    h->parameters = NULL;
}

static uint64_t rounds;

START_TEST(statements_in_pieces_are_answered_somehow)
{
    static struct harness all, none;
    static char room[TEXT_MAX];

    harness_init(&none, 0);
    harness_init(&all, PRIVILEGE_ALL);
    scripted.profile = make_profile;
    scripted.stats = make_stats;
    scripted_keep("kept");
    for (uint64_t i = 0; i < rounds; i++) {
        struct span text = mutate(room);
        char *exact = mem_alloc(text.size + 1);

        if (i % 1000 == 0) { /* a variable may make all that follows fail */
            sql_session_reset(all.session);
            sql_session_reset(none.session);
        }
        ck_assert_ptr_nonnull(exact);
        memcpy(exact + 1, text.data, text.size);
        text.data = exact + 1;
        if (getenv("FUZZ_SHOW"))
            fprintf(stderr, "%.*s\n", (int)text.size, text.data);
        run(&all, text, true);
        run(&none, text, false);
        mem_free(exact);
    }
    harness_fini(&all);
    harness_fini(&none);
}
END_TEST

int
main(int argc, char **argv)
{
    Suite *suite = suite_create("fuzz");
    TCase *tcase = tcase_create("statements");
    SRunner *runner = srunner_create(suite);
    int failed;

    if (argc < 4) {
        fprintf(stderr, "usage: fuzz_statements ROUNDS SEED FILE...\n");
        return 2;
    }
    rounds = strtoull(argv[1], NULL, 10);
    state = strtoull(argv[2], NULL, 10) * 2 + 1;
    for (int i = 3; i < argc; i++)
        load(argv[i]);
    tcase_add_test(tcase, statements_in_pieces_are_answered_somehow);
    suite_add_tcase(suite, tcase);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    for (size_t i = 0; i < line_count; i++)
        mem_free(lines[i]);
    return failed ? 1 : 0;
}
