/* test_function_name.c - names are shortened as jeprof shortens them. */
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "function_name.h"
#include "suite.h"

/* The right ones were printed by ShortFunctionName of jeprof 5.3.0. */
static const char *const names[][2] = {
    {"main", "main"},
    {"malloc", "malloc"},
    {"std::vector<int, std::allocator<int> >::push_back(int const&)",
     "std::vector::push_back"},
    {"void ns::Map<int>::put<char>(int, char) const", "ns::Map::put"},
    {"operator new(unsigned long)", "operator new"},
    {"operator new[](unsigned long, std::nothrow_t const&)", "operator new[]"},
    {"store::main::{lambda(int)#1}::operator()(int) const",
     "store::main::{lambda#1}::operator"},
    {"(anonymous namespace)::hidden(unsigned long)", "::hidden"},
    {"store::(anonymous namespace)::hidden(unsigned long)", "store::::hidden"},
    {"std::function<void (int)>::operator()(int) const",
     "std::function::operator"},
    {"foo(int) [clone .part.0]", "foo [clone .part.0]"},
    {"ns::operator<< <char>(std::ostream&)", "ns::operator<< "},
    {"ns::operator<(A const&, B const&)", "ns::operator<"},
    {"ns::A::operator->() const", "ns::A::operator->"},
    {"bool ns::operator> <int>(int)", "ns::operator> "},
    {"ns::X::operator std::string() const", "std::string"},
    {"std::enable_if<(3 > 2), int>::type ns::f<int>()", "ns::f"},
    {"f(a(b))const", "f"},
    {"f((x) const) constant", "fant"},
    {"unbalanced((a", "unbalanced((a"},
    {"a)b(c)", "a)b"},
    {"<anonymous>", ""},
    {"x>y<z", "x>y<z"},
    {"", ""},
    {"decltype (ns::g(0)) ns::h<int>(int)", "ns::h"},
    {"redis-server+0x12340", "redis-server+0x12340"},
    {"<alloc::vec::Vec<T> as core::ops::Drop>::drop", "::drop"},
    {"int (*ns::table())(char)", "int "},
    {"unsigned long long ns::big::size()", "ns::big::size"},
    {"f(int) const && noexcept", "f && noexcept"},
};

static struct span
span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

START_TEST(names_are_shortened_as_jeprof_does)
{
    struct buffer out;

    buffer_init(&out, 1024);
    buffer_text(&out, "before ");
    function_name_shorten(span_of(names[_i][0]), &out);
    ck_assert(!out.failed);
    ck_assert_str_eq(out.data + strlen("before "), names[_i][1]);
    buffer_fini(&out);
}
END_TEST

START_TEST(deep_nesting_is_no_trouble)
{
    enum { DEPTH = 100000 };
    struct buffer out;
    char *name = malloc(2 * DEPTH + 2);

    name[0] = 'f';
    memset(name + 1, '<', DEPTH);
    memset(name + 1 + DEPTH, '>', DEPTH);
    name[2 * DEPTH + 1] = '\0';
    buffer_init(&out, 5 * DEPTH);
    function_name_shorten(span_of(name), &out);
    ck_assert(!out.failed);
    ck_assert_uint_le(out.size, 2 * DEPTH + 1);
    ck_assert_int_eq(out.data[0], 'f');
    buffer_fini(&out);
    free(name);
}
END_TEST

START_TEST(no_room_fails_and_sticks)
{
    struct buffer out;

    buffer_init(&out, 4);
    function_name_shorten(span_of("f(int)"), &out);
    ck_assert(out.failed);
    buffer_fini(&out);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("function_name");
    TCase *tc = tcase_create("function_name");

    tcase_add_loop_test(tc, names_are_shortened_as_jeprof_does, 0,
                        sizeof(names) / sizeof(names[0]));
    tcase_add_test(tc, deep_nesting_is_no_trouble);
    tcase_add_test(tc, no_room_fails_and_sticks);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
