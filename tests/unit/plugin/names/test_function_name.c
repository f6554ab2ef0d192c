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
    {"int (*ns::table())(char)", "int "},
    {"unsigned long long ns::big::size()", "ns::big::size"},
    {"f(int) const && noexcept", "f && noexcept"},
};

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

static const char *const plain[][2] = {
    {"main", "main"},
    {"Site<0>::go(int)", "Site<0>::go"},
    {"std::vector<int, std::allocator<int> >::push_back(int const&)",
     "std::vector<int, std::allocator<int> >::push_back"},
    {"void ns::Map<int>::put<char>(int, char) const",
     "ns::Map<int>::put<char>"},
    {"operator new(unsigned long)", "operator new"},
    {"operator new[](unsigned long, std::nothrow_t const&)", "operator new[]"},
    {"store::main::{lambda(int)#1}::operator()(int) const",
     "store::main::{lambda(int)#1}::operator()"},
    {"f(int)::{lambda()#2}::operator()() const",
     "f(int)::{lambda()#2}::operator()"},
    {"A::f(int) const::{lambda()#2}::operator()() const",
     "A::f(int) const::{lambda()#2}::operator()"},
    {"store::(anonymous namespace)::hidden(unsigned long)",
     "store::(anonymous namespace)::hidden"},
    {"std::function<void (int)>::operator()(int) const",
     "std::function<void (int)>::operator()"},
    {"foo(int) [clone .part.0]", "foo [clone .part.0]"},
    {"foo [clone .cold]", "foo [clone .cold]"},
    {"A::f(int) const & [clone .cold]", "A::f [clone .cold]"},
    {"std::ostream& ns::operator<< <char>(std::ostream&)",
     "ns::operator<< <char>"},
    {"ns::operator<(A const&, B const&)", "ns::operator<"},
    {"ns::A::operator->() const", "ns::A::operator->"},
    {"ns::A::operator<=>(ns::A const&) const", "ns::A::operator<=>"},
    {"bool ns::operator> <int>(int)", "ns::operator> <int>"},
    {"ns::X::operator std::string() const", "ns::X::operator std::string"},
    {"int cooperator<int>(int)", "cooperator<int>"},
    {"decltype (ns::g(0)) ns::h<int>(int)", "ns::h<int>"},
    {"int (*ns::table())(char)", "(*ns::table())"},
    {"non-virtual thunk to A::~A()", "A::~A"},
    /* Of another language, or none of ours: as they are. */
    {"redis-server+0x12340", "redis-server+0x12340"},
    {"<alloc::vec::Vec<T> as core::ops::Drop>::drop",
     "<alloc::vec::Vec<T> as core::ops::Drop>::drop"},
    {"<fn(u8) -> i32 as FnOnce>::call", "<fn(u8) -> i32 as FnOnce>::call"},
    {"main.(*Server).Handle", "main.(*Server).Handle"},
    {"LazyCompile:~get /srv/app.js:10", "LazyCompile:~get /srv/app.js:10"},
    {"each<main(int, char**)::<lambda(int)> >",
     "each<main(int, char**)::<lambda(int)> >"},
    {"<anonymous>", "<anonymous>"},
    {"unbalanced((a", "unbalanced((a"},
    {"a)b(c)", "a)b(c)"},
    {"x>y<z", "x>y<z"},
    {"operator", "operator"},
    {"operator(", "operator("},
    {"(int)", "(int)"},
    {">", ">"},
    {"", ""},
};

START_TEST(plain_names_keep_what_distinguishes_functions)
{
    char *name = strdup(plain[_i][0]); /* that reads past it are found */
    struct buffer out;

    buffer_init(&out, 1024);
    buffer_text(&out, "before ");
    function_name_plain((struct span){name, strlen(name)}, &out);
    ck_assert(!out.failed);
    ck_assert_str_eq(out.data + strlen("before "), plain[_i][1]);
    buffer_fini(&out);
    free(name);
}
END_TEST

/* Ones that no compiler writes, beside those above. */
static const char *const odd[] = {
    "f(<)>(int)",
    "f<(>)<int>",
    "<(<1f>)1f>",
    "((((f",
    "f))))",
    "<<<f",
    "f>>>",
    "f()<int> const",
    "f(a) const const",
    "f()()const()const",
    "a b::c d::e f::g",
    "operator<",
    "operator->",
    "operator()",
    "operator<<<int>(int)",
    "operator><int>()",
    "x::operator<=>(x) const",
    "f(\t) \n const",
    " ::",
    "",
    "f<1f>",
    "f<a(b)>",
    "()+0x12",
    "(())<<>><",
    "[[(]])",
    "decltype(auto) f<[](){}>()",
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

START_TEST(what_is_short_stays_as_it_is)
{
    const char *name = _i < NAMES ? names[_i][0] : odd[_i - NAMES];
    struct buffer once, twice, plainly;

    buffer_init(&once, 1024);
    buffer_init(&plainly, 1024);
    buffer_init(&twice, 1024);
    function_name_shorten(span_of(name), &once);
    function_name_shorten((struct span){once.data, once.size}, &twice);
    function_name_plain(span_of(name), &plainly);
    ck_assert_uint_le(plainly.size, strlen(name));
    ck_assert(!once.failed && !twice.failed);
    ck_assert_uint_eq(once.size, twice.size);
    ck_assert_mem_eq(once.data, twice.data, once.size);
    ck_assert(once.size <= strlen(name));
    buffer_fini(&once);
    buffer_fini(&twice);
    buffer_fini(&plainly);
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

    tcase_add_loop_test(tc, names_are_shortened_as_jeprof_does, 0, NAMES);
    tcase_add_loop_test(tc, plain_names_keep_what_distinguishes_functions, 0,
                        sizeof(plain) / sizeof(plain[0]));
    tcase_add_loop_test(tc, what_is_short_stays_as_it_is, 0,
                        NAMES + (int)(sizeof(odd) / sizeof(odd[0])));
    tcase_add_test(tc, deep_nesting_is_no_trouble);
    tcase_add_test(tc, no_room_fails_and_sticks);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
