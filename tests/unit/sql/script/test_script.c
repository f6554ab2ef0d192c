/* test_script.c - scripts to outputs, or to errors with line and column. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script_fixture.h"
#include "sql.h"
#include "suite.h"

static const struct {
    const char *script, *output;
} good[] = {
    {"", ""},
    {"\n\n;;\n", ""},
    {"// nothing", ""},
    {"/* a /* b */ c */", ""},
    {"System.print()", "\n"},
    {"System.print(\"\")", "\n"},
    {"System.print(1)", "1\n"},
    {"System.print(\"é\")", "é\n"},
    {"System.print(\"a\xff\xc3\" + \"\xa9\") ; System.print(\"\xc3\xa9\")",
     "a\\xff\\xc3\\xa9\né\n"},
    {"System.print(-1)", "-1\n"},
    {"System.print(-0)", "-0\n"},
    {"System.print(1.5)", "1.5\n"},
    {"System.print(0.1)", "0.1\n"},
    {"System.print(1e3)", "1000\n"},
    {"System.print(1e20)", "1e+20\n"},
    {"System.print(1e999)", "infinity\n"},
    {"System.print(-1e999)", "-infinity\n"},
    {"System.print(3.14159265358979)", "3.1415926535898\n"},
    {"System.print(0x1F)", "31\n"},
    {"System.print(true) ; System.print(false)", "true\nfalse\n"},
    {"System.print(null)", "null\n"},
    {"System.print(HeapProf)", "HeapProf\n"},
    {"System.print(System)", "System\n"},
    {"System.print(HeapProf.getInstance())", "instance of HeapProf\n"},
    {"System.print(\"a\\tb\\n\\\\\\\"\\%\\0\")", "a\tb\n\\\"%"},
    {"System.print(\"\\x41\\u00e9\\U0001F600\")",
     "A\xc3\xa9\xf0\x9f\x98\x80\n"},
    {"System.print(\"\\e\\a\\b\\f\\v\\r\")", "\x1b\a\b\f\v\r\n"},
    {"System.print(\"two\nlines\")", "two\nlines\n"},
    {"System.print(\"a\" + \"b\" + \"c\")", "abc\n"},
    {"System.print(\"a\" +\n\"b\")", "ab\n"},
    {"System.print((\"a\"))", "a\n"},
    {"System.print(\n1\n)", "1\n"},
    {"System.print(System.print(2))", "2\n2\n"},
    {"var a = \"x\"\nvar b = a + a\nSystem.print(b)", "xx\n"},
    {"var h = HeapProf\nSystem.print(h.getInstance())",
     "instance of HeapProf\n"},
    {"HeapProf\n  .getInstance()\n  .has_enable()", ""},
    {"HeapProf.\ngetInstance()", ""},
    {"var p = HeapProf.getInstance() // one\np.enable_prof()\n"
     "System.print(p.has_enable())\np.disable_prof()\n"
     "System.print(p.has_enable())",
     "true\nfalse\n"},
    {"System.print(HeapProf.getInstance().enable_prof())",
     "instance of HeapProf\n"},
    {"System.print(HeapProf.getInstance().disable_prof())",
     "instance of HeapProf\n"},
    {"System.print(HeapProf.getInstance().enable_prof(60).reset(17, true))",
     "instance of HeapProf\n"},
    {"System.print(HeapProf.getInstance().enable_prof().has_enable())",
     "true\n"},
    {"System.print(HeapProf.getInstance().snapshot())", "heap_1\n"},
    {"System.print(HeapProf.getInstance().to_dot_format(\"heap_1\"))",
     "digraph \"x\" {\nN1;\n}\n\n"},
    {"var p = HeapProf.getInstance()\n"
     "System.print(p.to_dot_format(p.snapshot()))",
     "digraph \"x\" {\nN1;\n}\n\n"},
    {"System.print(HeapProf.getInstance().dump_dot_snapshot())",
     "digraph \"x\" {\nN1;\n}\n\n"},
    {"System.print(Profile.of(\"heap_1\").dot())",
     "digraph \"x\" {\nN1;\n}\n\n"},
    {"System.print(Profile.now().dot())", "digraph \"x\" {\nN1;\n}\n\n"},
    {"System.print(Profile.of(\"heap_1\"))", "instance of Profile\n"},
    {"System.print(Profile)", "Profile\n"},
    {"System.print(Profile.of(\"heap_1\").focus(\"Block\").ignore(\"^x\")\n"
     "  .by(\"inuse_objects\").granularity(\"lines\").nodecount(5)\n"
     "  .nodefraction(0.1).edgefraction(0).maxdegree(2).show_bytes()\n"
     "  .allocator_frames(true).by_growth(false).force().dot())",
     "digraph \"x\" {\nN1;\n}\n\n"},
    {"var h = HeapProf.getInstance()\n"
     "System.print(Profile.of(h.snapshot()).by(\"alloc\" + \"_space\").dot())",
     "digraph \"x\" {\nN1;\n}\n\n"},
};

START_TEST(scripts_write_what_wren_would)
{
    struct script *script = parse(good[_i].script);

    ck_assert_msg(script != NULL, "%s: %s", good[_i].script, err.text);
    ck_assert_msg(run(script) == STEP_DONE, "%s: %s", good[_i].script,
                  err.text);
    ck_assert_str_eq(output(script), good[_i].output);
    script_free(script);
}
END_TEST

START_TEST(scripts_may_end_anywhere)
{
    size_t size = strlen(good[_i].script);

    for (size_t cut = 0; cut < size; cut++) {
        char *copy = malloc(cut ? cut : 1);
        struct span span = {copy, cut};
        struct script *script;

        memcpy(copy, good[_i].script, cut);
        memset(&err, 0, sizeof(err));
        script = script_parse(span, arena, &err);
        if (script)
            ck_assert_int_eq(run(script), STEP_DONE);
        else
            ck_assert_uint_eq(err.code, ER_PARSE);
        script_free(script);
        free(copy);
    }
}
END_TEST

static const struct {
    const char *script;
    unsigned line, column;
    const char *message;
} wrong[] = {
    {"Foo.bar()", 1, 1,
     "unknown name 'Foo'; the classes are HeapProf, CpuProf, System, "
     "ExecEnv, Jemalloc, Profile"},
    {"\n  foo", 2, 3, "unknown name 'foo'"},
    {"System.print(x)", 1, 14, "unknown name 'x'"},
    {"HeapProf.enable()", 1, 10,
     "HeapProf has no method 'enable' with 0 arguments; it has getInstance()"},
    {"CpuProf.profile(1)", 1, 9,
     "'profile' is a method of an instance: write CpuProf.getInstance()."
     "profile(...)"},
    {"HeapProf.getInstance().foo()", 1, 24,
     "an instance of HeapProf has no method 'foo' with 0 arguments; it has "
     "enable_prof([Num]), disable_prof(), has_enable(), state(), diagnose(), "
     "snapshot([String]), to_dot_format(String), dump_dot_snapshot(), "
     "reset([Num], [Bool]), snapshots(), describe(String), "},
    {"HeapProf.getInstance(1)", 1, 10, "with 1 argument;"},
    {"HeapProf.getInstance().has_enable(1)", 1, 24, "with 1 argument;"},
    {"HeapProf.getInstance().to_dot_format()", 1, 24, "with 0 arguments;"},
    {"HeapProf.getInstance().to_dot_format(1)", 1, 38,
     "to_dot_format takes a String, not Num"},
    {"\"a\".count()", 1, 5, "String has no method 'count'"},
    {"null.foo()", 1, 6, "Null has no method 'foo'"},
    {"1.foo()", 1, 3, "Num has no method 'foo'"},
    {"System.print(1, 2)", 1, 8, "with 2 arguments; it has print([_])"},
    {"System.print", 1, 13, "a method is called with parentheses: print()"},
    {"System.print(1", 1, 15, "',' or ')' is expected here"},
    {"System.print(1,)", 1, 16, "an argument is expected here"},
    {"System.print(,)", 1, 14, "an expression is expected here"},
    {"System.print)", 1, 13, "a method is called with parentheses"},
    {"System.", 1, 8, "a method's name is expected here"},
    {"System.print(1) System.print(2)", 1, 17, "the end of the statement"},
    {"1 + 2", 1, 3, "+ joins two Strings, not Num and Num"},
    {"\"a\" + 1", 1, 5, "+ joins two Strings, not String and Num"},
    {"\"a\" +", 1, 6, "an expression is expected here"},
    {"1 - 2", 1, 3, "the end of the statement"},
    {"1 * 2", 1, 3, "a character that is no part of this language"},
    {"- x", 1, 3, "a number is expected here"},
    {"(1", 1, 3, "')' is expected here"},
    {"var", 1, 4, "a variable's name is expected here"},
    {"var x", 1, 6, "'=' is expected here"},
    {"var x = ", 1, 9, "an expression is expected here"},
    {"var x = 1\nvar x = 2", 2, 5, "this variable is defined already"},
    {"var System = 1", 1, 5, "this is the name of a class"},
    {"var x = x", 1, 9, "unknown name 'x'"},
    {"x = 1", 1, 1, "unknown name 'x'"},
    {"for (i in 1..3) {}", 1, 1, "'for' is not part of this language"},
    {"class Foo {}", 1, 1, "'class' is not part of this language"},
    {"import \"x\"", 1, 1, "'import' is not part of this language"},
    {"\"abc", 1, 1, "this string does not end"},
    {"\"a\\q\"", 1, 3, "invalid escape"},
    {"\"\\x4\"", 1, 4, "2 hexadecimal digits"},
    {"\"\\u12\"", 1, 4, "4 hexadecimal digits"},
    {"\"\\u0x1f\"", 1, 4, "4 hexadecimal digits"},
    {"\"\\ud800\"", 1, 4, "no such character"},
    {"\"\\U00110000\"", 1, 4, "no such character"},
    {"\"%(1)\"", 1, 2, "interpolation is not part of this language"},
    {"/* a", 1, 1, "this comment does not end"},
    {"\"\xc3\xa9\xc3\xa9\" 1x", 1, 6, "'1x' is not a number"},
    {"0xg", 1, 1, "not a number"},
    {"@", 1, 1, "a character that is no part of this language"},
    {"\x01", 1, 1, "a character that is no part of this language"},
    {"Profile.of()", 1, 9,
     "Profile has no method 'of' with 0 arguments; it "
     "has of(String), now()"},
    {"Profile.of(1)", 1, 12, "of takes a String, not Num"},
    {"Profile.dot()", 1, 9, "Profile has no method 'dot'"},
    {"Profile.of(\"a\").foo()", 1, 17, "it has base(String), by(String), "},
    {"Profile.of(\"a\").by(1)", 1, 20, "by takes a String, not Num"},
    {"Profile.of(\"a\").nodecount(\"1\")", 1, 27, "nodecount takes a Num"},
    {"Profile.of(\"a\").force(1)", 1, 23, "force takes a Bool, not Num"},
    {"System.print(Profile.of(\"a\").export())\nSystem.print()", 2, 8,
     "a script that prints bytes can print nothing else"},
    {"System.print(1)\nSystem.print(Profile.of(\"a\").export())", 2, 8,
     "a script that prints bytes can print nothing else"},
    {"var a = System.print(Profile.of(\"a\").export())\nSystem.print(a)", 2, 8,
     "a script that prints bytes can print nothing else"},
    {"Profile.of(\"a\").export() + \"a\"", 1, 26,
     "+ joins two Strings, not bytes and String"},
    {"Profile.of(\"a\").export().size()", 1, 26, "bytes has no method 'size'"},
};

START_TEST(wrong_scripts_say_where)
{
    char place[64];

    ck_assert_msg(parse(wrong[_i].script) == NULL, "%s", wrong[_i].script);
    ck_assert_uint_eq(err.code, ER_PARSE);
    snprintf(place, sizeof(place),
             "script line %u, column %u: ", wrong[_i].line, wrong[_i].column);
    ck_assert_msg(strncmp(err.text, place, strlen(place)) == 0, "%s: %s",
                  wrong[_i].script, err.text);
    ck_assert_msg(strstr(err.text, wrong[_i].message) != NULL, "%s: %s",
                  wrong[_i].script, err.text);
}
END_TEST

static const struct {
    const char *script;
    unsigned line;
    const char *place, *message;
} failing[] = {
    {"HeapProf.getInstance().to_dot_format(\"heap_2\")", 1, ": ",
     "no snapshot named 'heap_2'"},
    {"Profile.of(\"heap_2\").dot()", 1, ": ", "no snapshot named 'heap_2'"},
};

START_TEST(failures_say_on_which_line)
{
    struct script *script = parse(failing[_i].script);
    char place[64];

    ck_assert_ptr_nonnull(script);
    ck_assert_int_eq(run(script), STEP_FAIL);
    ck_assert_uint_eq(err.code, ER_KEY_NOT_FOUND);
    ck_assert_str_eq(err.sqlstate, "HY000");
    snprintf(place, sizeof(place), "script line %u%s", failing[_i].line,
             failing[_i].place);
    ck_assert_msg(strstr(err.text, place) == err.text, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(err.text, failing[_i].message));
    script_free(script);
}
END_TEST

/* ---- waiting ---- */

static const char *const waiting[] = {
    "System.print(HeapProf.getInstance().has_enable())",
    "System.print(HeapProf.getInstance().enable_prof())",
    "System.print(HeapProf.getInstance().disable_prof())",
    "System.print(HeapProf.getInstance().snapshot())",
    "System.print(HeapProf.getInstance().dump_dot_snapshot())",
};

START_TEST(a_wait_goes_on_where_it_stopped)
{
    struct script *script;

    scripted.answer = ANSWER_WAIT;
    script = parse(waiting[_i]);
    ck_assert_int_eq(run(script), STEP_PARKED);
    ck_assert_int_eq(run(script), STEP_PARKED); /* woken for nothing */
    ck_assert_uint_eq(scripted.submitted, 1);
    ck_assert_str_eq(output(script), "");
    scripted_finish(true);
    ck_assert_int_eq(run(script), STEP_DONE);
    ck_assert_uint_eq(scripted.submitted, 1);
    ck_assert_str_ne(output(script), "");
    script_free(script);
}
END_TEST

START_TEST(a_job_may_fail_at_once_or_later)
{
    struct script *script = parse(waiting[_i]);

    scripted.answer = ANSWER_REFUSE;
    ck_assert_int_eq(run(script), STEP_FAIL);
    ck_assert_str_eq(err.text, "script line 1: the database ended");
    script_free(script);
    scripted.answer = ANSWER_WAIT;
    script = parse(waiting[_i]);
    ck_assert_int_eq(run(script), STEP_PARKED);
    scripted_finish(false);
    ck_assert_int_eq(run(script), STEP_FAIL);
    ck_assert_str_eq(err.text, "script line 1: opt.prof is false");
    script_free(script);
}
END_TEST

START_TEST(a_waiting_script_may_be_interrupted)
{
    struct script *script = parse(waiting[_i]);

    scripted.answer = ANSWER_HANG;
    ck_assert_int_eq(run(script), STEP_PARKED);
    ck_assert_int_eq(scripted.seats, 1);
    await_cancel(&side_thread.await);
    ck_assert_int_eq(run(script), STEP_FAIL);
    ck_assert_uint_eq(err.code, ER_QUERY_INTERRUPTED);
    ck_assert_int_eq(scripted.seats, 0);
    script_free(script);
}
END_TEST

/* Statements before the wait ran once, and those behind it not yet. */
START_TEST(nothing_runs_twice)
{
    struct script *script =
        parse("System.print(\"a\")\n"
              "System.print(HeapProf.getInstance().enable_prof()"
              ".has_enable())\nSystem.print(\"b\")");

    scripted.answer = ANSWER_WAIT;
    ck_assert_int_eq(run(script), STEP_PARKED);
    ck_assert_str_eq(output(script), "a\n");
    scripted_finish(true);
    ck_assert_int_eq(run(script), STEP_PARKED);
    ck_assert_uint_eq(scripted.submitted, 2);
    scripted_finish(true);
    ck_assert_int_eq(run(script), STEP_DONE);
    ck_assert_uint_eq(scripted.submitted, 2);
    ck_assert_str_eq(output(script), "a\ntrue\nb\n");
    script_free(script);
}
END_TEST

START_TEST(only_snapshot_keeps_one)
{
    struct script *script = parse("HeapProf.getInstance().dump_dot_snapshot()");

    ck_assert_int_eq(run(script), STEP_DONE);
    ck_assert_uint_eq(scripted.profiles, 1);
    ck_assert_uint_eq(scripted.snapshots, 0);
    script_free(script);
}
END_TEST

/* ---- ceilings ---- */

static char *
repeat(const char *first, const char *part, size_t count, const char *last)
{
    size_t step = strlen(part), at = strlen(first);
    char *text = malloc(at + step * count + strlen(last) + 1);

    memcpy(text, first, at);
    for (size_t i = 0; i < count; i++, at += step)
        memcpy(text + at, part, step);
    memcpy(text + at, last, strlen(last) + 1);
    return text;
}

static void
refuse(char *text, const char *why)
{
    ck_assert_ptr_null(parse(text));
    ck_assert_uint_eq(err.code, ER_PARSE);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    free(text);
}

START_TEST(scripts_have_ceilings)
{
    struct script *script;
    char *text;

    refuse(repeat("", " ", SCRIPT_SIZE_MAX + 1, ""), "longer than");
    refuse(repeat("", "(", 60000, ""), "nested deeper");
    refuse(repeat("System.print(", "System.print(", 100, ""), "nested deeper");
    refuse(repeat("1", ";1", SCRIPT_STATEMENTS_MAX, ""), "statements");
    refuse(repeat("\"a\"", "+\"a\"", 1000, ""), "levels");
    refuse(repeat("HeapProf.getInstance()", ".enable_prof()", 100, ""),
           "levels");
    refuse(repeat("System.print(1", ",1", 20, ")"), "arguments");
    text = repeat("1", ";1", SCRIPT_STATEMENTS_MAX - 1, "");
    script = parse(text);
    ck_assert_int_eq(run(script), STEP_DONE);
    script_free(script);
    free(text);
}
END_TEST

/* Deep in the arguments and long in the chain: the sum is bounded. */
START_TEST(depth_counts_chains_in_arguments)
{
    char *inner = repeat("System.print(HeapProf.getInstance()",
                         ".enable_prof()", 40, ")");
    char *text = repeat(
        "System.print(System.print(System.print(System.print(System.print("
        "System.print(System.print(System.print(System.print(System.print("
        "System.print(System.print(System.print(System.print(System.print("
        "System.print(System.print(System.print(System.print(System.print("
        "System.print(System.print(System.print(System.print(",
        inner, 1, "))))))))))))))))))))))))");

    refuse(text, "levels");
    free(inner);
}
END_TEST

START_TEST(strings_cannot_double_for_ever)
{
    struct buffer text;
    struct script *script;
    struct span span;

    buffer_init(&text, 1 << 20);
    buffer_text(&text, "var a0 = \"0123456789abcdef\"\n");
    for (int i = 1; i < 60; i++)
        buffer_format(&text, "var a%d = a%d + a%d\n", i, i - 1, i - 1);
    span = (struct span){text.data, text.size};
    script = script_parse(span, arena, &err);
    ck_assert_ptr_nonnull(script);
    ck_assert_int_eq(run(script), STEP_FAIL);
    ck_assert_uint_eq(err.code, ER_OUT_OF_MEMORY);
    script_free(script);
    buffer_fini(&text);
}
END_TEST

START_TEST(output_has_a_ceiling)
{
    struct buffer text;
    struct script *script;
    struct span span;

    buffer_init(&text, 1 << 20);
    buffer_text(&text, "var a0 = \"0123456789abcdef\"\n");
    for (int i = 1; i < 18; i++)
        buffer_format(&text, "var a%d = a%d + a%d\n", i, i - 1, i - 1);
    for (int i = 0; i < 50; i++)
        buffer_text(&text, "System.print(a17)\n");
    span = (struct span){text.data, text.size};
    script = script_parse(span, arena, &err);
    ck_assert_ptr_nonnull(script);
    ck_assert_int_eq(run(script), STEP_FAIL);
    ck_assert_ptr_nonnull(strstr(err.text, "output is larger"));
    script_free(script);
    buffer_fini(&text);
}
END_TEST

/* Each of 32 MiB: what they have stays until clients have read it. */
START_TEST(all_outputs_have_a_ceiling)
{
    enum { FIT = SCRIPT_OUTPUTS_MAX / (32 << 20) };
    struct script *scripts[FIT + 1];
    struct buffer text;
    struct span span;

    buffer_init(&text, 1 << 20);
    buffer_text(&text, "var a0 = \"0123456789abcdef\"\n");
    for (int i = 1; i < 15; i++)
        buffer_format(&text, "var a%d = a%d + a%d\n", i, i - 1, i - 1);
    for (int i = 0; i < 127; i++)
        buffer_text(&text, "System.print(a14)\n");
    span = (struct span){text.data, text.size};
    for (int i = 0; i <= FIT; i++) {
        scripts[i] = script_parse(span, arena, &err);
        ck_assert_msg(scripts[i] != NULL, "%s", err.text);
        ck_assert_int_eq(run(scripts[i]), i < FIT ? STEP_DONE : STEP_FAIL);
    }
    ck_assert_uint_eq(err.code, ER_OUT_OF_MEMORY);
    script_free(scripts[0]);
    script_free(scripts[FIT]);
    scripts[0] = script_parse(span, arena, &err);
    ck_assert_ptr_nonnull(scripts[0]);
    ck_assert_int_eq(run(scripts[0]), STEP_DONE);
    for (int i = 0; i < FIT; i++)
        script_free(scripts[i]);
    buffer_fini(&text);
}
END_TEST

/* ---- privileges: every method with every privilege ---- */

static const struct {
    const char *method, *argument;
} words[] = {{"by", "\"alloc_space\""}, {"granularity", "\"files\""},
             {"nodefraction", "0.5"},   {"edgefraction", "0.5"},
             {"decay", "0, -1, 60"},    {"background_threads", "true, 60"}};

static const char *
argument_of(const struct script_method *m)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].method, m->name) == 0)
            return words[i].argument;
    return *m->takes == 's' || *m->takes == 'm' ? "\"heap_1\""
           : *m->takes == 'n'                   ? "3"
                                                : "";
}

/* Some call of it that can be parsed. */
static void
write_call(const struct script_method *m, char *out, size_t size)
{
    bool profile = strcmp(m->class_name, "Profile") == 0;

    snprintf(out, size, "%s%s.%s(%s)", m->class_name,
             m->is_static ? ""
             : profile    ? ".of(\"heap_1\")"
                          : ".getInstance()",
             m->name, argument_of(m));
}

START_TEST(each_method_needs_its_privilege_and_no_other)
{
    struct script_method m = script_method((size_t)_i);
    char text[200];
    struct script *script;

    write_call(&m, text, sizeof(text));
    script = parse(text);
    ck_assert_msg(script != NULL, "%s: %s", text, err.text);
    for (uint32_t has = 0; has <= PRIVILEGE_ALL; has++) {
        bool enough = (m.privilege & ~has) == 0;

        memset(&err, 0, sizeof(err));
        ck_assert_int_eq(script_check_privileges(script, has, &err),
                         enough ? 0 : -1);
        ck_assert_uint_eq(err.code, enough ? 0 : ER_PRIVILEGE);
    }
    script_free(script);
}
END_TEST

static const struct {
    const char *class_name, *method;
    uint32_t privilege;
    enum script_kind kind;
} expected[] = {
    {"HeapProf", "getInstance", 0, SCRIPT_PURE},
    {"HeapProf", "enable_prof", PRIVILEGE_CONTROL, SCRIPT_CHANGING},
    {"HeapProf", "disable_prof", PRIVILEGE_CONTROL, SCRIPT_CHANGING},
    {"HeapProf", "has_enable", PRIVILEGE_STATUS, SCRIPT_WAITING},
    {"HeapProf", "diagnose", PRIVILEGE_PROFILE, SCRIPT_SLOW},
    {"HeapProf", "snapshot", PRIVILEGE_PROFILE, SCRIPT_WAITING},
    {"HeapProf", "to_dot_format", PRIVILEGE_PROFILE, SCRIPT_SLOW},
    {"HeapProf", "dump_dot_snapshot", PRIVILEGE_PROFILE, SCRIPT_SLOW},
    {"CpuProf", "profile", PRIVILEGE_PROFILE, SCRIPT_SLOW},
    {"CpuProf", "profile_wall", PRIVILEGE_PROFILE, SCRIPT_SLOW},
    {"CpuProf", "snapshot", PRIVILEGE_PROFILE, SCRIPT_SLOW},
    {"System", "print", 0, SCRIPT_SHORT},
    {"ExecEnv", "get_stack_trace_for_all_threads", PRIVILEGE_PROFILE,
     SCRIPT_SLOW},
    {"Jemalloc", "getInstance", 0, SCRIPT_PURE},
    {"Jemalloc", "purge", PRIVILEGE_TUNE, SCRIPT_CHANGING},
    {"Jemalloc", "decay", PRIVILEGE_TUNE, SCRIPT_CHANGING},
    {"Jemalloc", "background_threads", PRIVILEGE_TUNE, SCRIPT_CHANGING},
    {"Jemalloc", "flush_tcaches", PRIVILEGE_TUNE, SCRIPT_CHANGING},
    {"Jemalloc", "undo", PRIVILEGE_TUNE, SCRIPT_CHANGING},
    {"Jemalloc", "state", PRIVILEGE_STATUS, SCRIPT_SHORT},
    {"Jemalloc", "risks", PRIVILEGE_STATUS, SCRIPT_WAITING},
    {"Profile", "of", PRIVILEGE_PROFILE, SCRIPT_PURE},
    {"Profile", "now", PRIVILEGE_PROFILE, SCRIPT_WAITING},
    {"Profile", "by", PRIVILEGE_PROFILE, SCRIPT_PURE},
    {"Profile", "dot", PRIVILEGE_PROFILE, SCRIPT_SLOW},
    {"Profile", "export", PRIVILEGE_PROFILE, SCRIPT_SLOW},
};

START_TEST(the_table_has_what_was_agreed)
{
    for (size_t i = 0; i < script_method_count(); i++) {
        struct script_method m = script_method(i);

        if (strcmp(m.class_name, expected[_i].class_name) != 0 ||
            strcmp(m.name, expected[_i].method) != 0)
            continue;
        ck_assert_uint_eq(m.privilege, expected[_i].privilege);
        ck_assert_int_eq(m.kind, expected[_i].kind);
        return;
    }
    ck_abort_msg("no %s.%s", expected[_i].class_name, expected[_i].method);
}
END_TEST

START_TEST(nothing_runs_when_a_later_call_is_denied)
{
    struct script *script = parse("HeapProf.getInstance().has_enable()\n"
                                  "HeapProf.getInstance().enable_prof()");

    ck_assert_int_eq(script_check_privileges(script, PRIVILEGE_STATUS, &err),
                     -1);
    ck_assert_str_eq(err.text,
                     "Access denied; you need (at least one of) the CONTROL "
                     "privilege(s) for this operation");
    ck_assert_str_eq(err.sqlstate, "42000");
    ck_assert_uint_eq(scripted.submitted, 0);
    script_free(script);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

int
main(void)
{
    Suite *suite = suite_create("script");
    TCase *tc = tcase_create("script");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 30);
    tcase_add_loop_test(tc, scripts_write_what_wren_would, 0, COUNT(good));
    tcase_add_loop_test(tc, scripts_may_end_anywhere, 0, COUNT(good));
    tcase_add_loop_test(tc, wrong_scripts_say_where, 0, COUNT(wrong));
    tcase_add_loop_test(tc, failures_say_on_which_line, 0, COUNT(failing));
    tcase_add_loop_test(tc, a_wait_goes_on_where_it_stopped, 0, COUNT(waiting));
    tcase_add_loop_test(tc, a_job_may_fail_at_once_or_later, 0, COUNT(waiting));
    tcase_add_loop_test(tc, a_waiting_script_may_be_interrupted, 0,
                        COUNT(waiting));
    tcase_add_test(tc, nothing_runs_twice);
    tcase_add_test(tc, only_snapshot_keeps_one);
    tcase_add_test(tc, scripts_have_ceilings);
    tcase_add_test(tc, depth_counts_chains_in_arguments);
    tcase_add_test(tc, strings_cannot_double_for_ever);
    tcase_add_test(tc, output_has_a_ceiling);
    tcase_add_test(tc, all_outputs_have_a_ceiling);
    tcase_add_loop_test(tc, each_method_needs_its_privilege_and_no_other, 0,
                        (int)script_method_count());
    tcase_add_loop_test(tc, the_table_has_what_was_agreed, 0, COUNT(expected));
    tcase_add_test(tc, nothing_runs_when_a_later_call_is_denied);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
