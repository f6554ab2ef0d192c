/* test_lexer.c - MySQL's tokens, and nothing beyond the text's end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "errors.h"
#include "lexer.h"
#include "suite.h"

static const char kinds[] = "EWQSIDHVUPO!";

/* "W:SELECT I:1": a letter per kind, and the text as typed. */
static void
describe(struct span text, struct buffer *out)
{
    struct lexer lexer = lexer_of(text);
    struct token token;

    do {
        token = lexer_next(&lexer);
        buffer_format(out, "%s%c:%.*s", out->size ? " " : "", kinds[token.kind],
                      (int)token.text.size, token.text.data);
    } while (token.kind != TOKEN_END && token.kind != TOKEN_INVALID);
}

static const struct {
    const char *text, *tokens;
} texts[] = {
    {"", "E:"},
    {"  \t\r\n ", "E:"},
    {"select 1", "W:select I:1 E:"},
    {"a.b", "W:a O:. W:b E:"},
    {"`a``b`.`c`", "Q:`a``b` O:. Q:`c` E:"},
    {"'it''s' 'it\\'s'", "S:'it''s' S:'it\\'s' E:"},
    {"\"a\\\"b\" N'x'", "S:\"a\\\"b\" S:N'x' E:"},
    {"1 1.5 .5 1e5 1e-5 1st", "I:1 D:1.5 D:.5 D:1e5 D:1e-5 W:1st E:"},
    {"0x1F x'1f' X'AB' 0xZ", "H:0x1F H:x'1f' H:X'AB' W:0xZ E:"},
    {"@@version @@session.x @@global.`y`",
     "V:@@version V:@@session.x V:@@global.`y` E:"},
    {"@a @'b c' @`d` @a.b", "U:@a U:@'b c' U:@`d` U:@a.b E:"},
    {"a<=>b:=c||d&&e<>f!=g<=h>=i<<j>>k",
     "W:a O:<=> W:b O::= W:c O:|| W:d O:&& W:e O:<> W:f O:!= W:g O:<= W:h "
     "O:>= W:i O:<< W:j O:>> W:k E:"},
    {"a -- b\nc", "W:a W:c E:"},
    {"a --b", "W:a O:- O:- W:b E:"},
    {"a # b\nc", "W:a W:c E:"},
    {"a --", "W:a E:"},
    {"a/* b */c", "W:a W:c E:"},
    {"/* a */", "E:"},
    {"show /*!50002 GLOBAL */ status", "W:show W:GLOBAL W:status E:"},
    {"show /*!GLOBAL*/status", "W:show W:GLOBAL W:status E:"},
    {"a /*!80036 b */ c", "W:a W:b W:c E:"},
    {"a /*!80037 b */ c", "W:a W:c E:"},
    {"a /*!99999 b /* c */ d */ e", "W:a W:e E:"},
    {"a /*!40000 b /* c */ d */ e", "W:a W:b W:d W:e E:"},
    {"\xc3\xa9t\xc3\xa9", "W:\xc3\xa9t\xc3\xa9 E:"},
    {"$$", "!:"},
    {"a$b", "W:a$b E:"},
    {"'abc", "!:"},
    {"'abc\\'", "!:"},
    {"`abc", "!:"},
    {"/* abc", "!:"},
    {"/*!40000 abc", "W:abc !:"},
    {"x'1'", "!:"},
    {"x'1g'", "!:"},
    {"b'01' 0b01 B'1' 0b2", "H:b'01' H:0b01 H:B'1' W:0b2 E:"},
    {"b'02'", "!:"},
    {"a->'$.b'->>'$.c'", "W:a O:-> S:'$.b' O:->> S:'$.c' E:"},
    {"@@", "!:"},
    {"@@session.", "!:"},
    {"@", "!:"},
    {"?", "P:? E:"},
    {"{a}", "O:{ W:a O:} E:"},
    {"a : b", "W:a !:"},
    {"1.5x", "!:"},
};

START_TEST(texts_are_cut_into_tokens)
{
    struct span text = {texts[_i].text, strlen(texts[_i].text)};
    struct buffer out;

    buffer_init(&out, 4096);
    describe(text, &out);
    ck_assert_str_eq(out.data, texts[_i].tokens);
    buffer_fini(&out);
}
END_TEST

/* In a block of exactly that size, so that a sanitizer sees one byte more. */
START_TEST(text_may_end_anywhere)
{
    size_t size = strlen(texts[_i].text);

    for (size_t cut = 0; cut <= size; cut++) {
        char *copy = malloc(cut ? cut : 1);
        struct span text = {copy, cut};
        struct buffer out;

        memcpy(copy, texts[_i].text, cut);
        buffer_init(&out, 4096);
        describe(text, &out);
        ck_assert(!out.failed);
        buffer_fini(&out);
        free(copy);
    }
}
END_TEST

START_TEST(every_byte_is_a_token_or_not)
{
    for (int a = 0; a < 256; a++)
        for (int b = 0; b < 256; b++) {
            char pair[2] = {(char)a, (char)b};
            struct span text = {pair, 2};
            struct buffer out;

            buffer_init(&out, 256);
            describe(text, &out);
            buffer_fini(&out);
        }
}
END_TEST

static const struct {
    const char *token, *value;
    size_t size;
} decoded[] = {
    {"'a\\0b'", "a\0b", 3},
    {"'\\n\\r\\t\\b\\Z\\\\\\'\\\"'", "\n\r\t\b\x1a\\'\"", 8},
    {"'\\%\\_\\x'", "\\%\\_x", 5},
    {"'it''s \"q\"'", "it's \"q\"", 8},
    {"\"say \"\"x\"\"\"", "say \"x\"", 7},
    {"N'abc'", "abc", 3},
    {"`a``b\\n`", "a`b\\n", 5},
    {"word", "word", 4},
    {"@name", "name", 4},
    {"@'a b'", "a b", 3},
    {"@`a``b`", "a`b", 3},
    {"''", "", 0},
};

START_TEST(tokens_mean_what_mysql_says)
{
    struct span text = {decoded[_i].token, strlen(decoded[_i].token)};
    struct lexer lexer = lexer_of(text);
    struct token token = lexer_next(&lexer);
    struct arena *arena = arena_new(4096);
    struct span value;

    ck_assert_int_eq(token_decode(&token, arena, &value), 0);
    ck_assert_uint_eq(value.size, decoded[_i].size);
    ck_assert_mem_eq(value.data, decoded[_i].value, value.size);
    arena_free(arena);
}
END_TEST

START_TEST(syntax_errors_quote_the_text_and_its_line)
{
    static const char source[] = "select 1\n  from \xc3\xa9 where";
    struct span text = {source, sizeof(source) - 1};
    struct error err;

    ck_assert_int_eq(syntax_error(text, source + 11, &err), -1);
    ck_assert_uint_eq(err.code, ER_PARSE);
    ck_assert_ptr_nonnull(
        strstr(err.text, "near 'from \xc3\xa9 where' at line 2"));
}
END_TEST

START_TEST(near_texts_are_cut_between_characters)
{
    char source[200];
    struct span text = {source, sizeof(source)};
    struct error err;

    memset(source, 'x', sizeof(source));
    for (size_t i = 1; i + 1 < sizeof(source); i += 2)
        memcpy(source + i, "\xc3\xa9", 2);
    syntax_error(text, source, &err);
    ck_assert_ptr_nonnull(strstr(err.text, "\xc3\xa9' at line 1"));
}
END_TEST

/* Texts that a careless lexer would read again from the start for each token,
 * or recur over. */
enum { LARGE = 1 << 18 };

START_TEST(large_texts_come_to_an_end)
{
    static const struct {
        const char *part;
        size_t tokens; /* with the END or INVALID behind them */
    } large[] = {{"(", LARGE + 1}, {"''", 2},  {"/**/", 1}, {"a.", LARGE + 1},
                 {"'", 2},         {"/*!", 1}, {"`", 2}};
    char *text = malloc(LARGE);
    struct span span = {text, LARGE};

    for (size_t t = 0; t < sizeof(large) / sizeof(large[0]); t++) {
        size_t step = strlen(large[t].part), tokens = 0;
        struct lexer lexer = lexer_of(span);
        struct token token;

        for (size_t i = 0; i < LARGE; i++)
            text[i] = large[t].part[i % step];
        do {
            token = lexer_next(&lexer);
            tokens++;
        } while (token.kind != TOKEN_END && token.kind != TOKEN_INVALID);
        ck_assert_uint_eq(tokens, large[t].tokens);
    }
    free(text);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("lexer");
    TCase *tc = tcase_create("lexer");

    tcase_add_loop_test(tc, texts_are_cut_into_tokens, 0,
                        sizeof(texts) / sizeof(texts[0]));
    tcase_add_loop_test(tc, text_may_end_anywhere, 0,
                        sizeof(texts) / sizeof(texts[0]));
    tcase_add_test(tc, every_byte_is_a_token_or_not);
    tcase_add_loop_test(tc, tokens_mean_what_mysql_says, 0,
                        sizeof(decoded) / sizeof(decoded[0]));
    tcase_add_test(tc, syntax_errors_quote_the_text_and_its_line);
    tcase_add_test(tc, near_texts_are_cut_between_characters);
    tcase_add_test(tc, large_texts_come_to_an_end);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
