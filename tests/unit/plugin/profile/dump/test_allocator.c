/* test_allocator.c - where the allocator ends in a stack. */
#include "allocator.h"
#include "suite.h"

static const struct {
    const char *name;
    bool entry, jeprof;
} names[] = {
    {"malloc", true, true},
    {"calloc", true, true},
    {"realloc", true, true},
    {"posix_memalign", true, true},
    {"aligned_alloc", true, true},
    {"mallocx", true, true},
    {"je_malloc", true, false},
    {"je_malloc_default", true, false},
    {"malloc_default", true, false},
    {"je_malloc_default.cold", true, false},
    {"malloc.part.0", true, false},
    {"_rjem_malloc", true, false},
    {"_rjem_je_malloc_default", true, false},
    {"_rjem_mallocx", true, false},
    {"operator new", true, true},
    {"operator new[]", true, true},
    {"operator new [clone .cold]", true, false},
    {"_Znwm", true, false},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", true, false},
    {"__rust_alloc", true, false},
    {"__rustc::__rust_alloc_zeroed", true, false},
    {"newImpl", true, true},
    {"fallback_impl", true, false},
    {"_malloc", false, true}, /* as Mach has it */
    {"free", false, true},
    {"tcmalloc::allocate", false, true},
    {"my::TCMallocThing", false, true},
    {"zmalloc", false, false},
    {"my_malloc", false, false},
    {"malloc_usable_size", false, false},
    {"prof_backtrace_impl", true, false},
    {"je_prof_tctx_create", true, false},
    {"_rjem_je_arena_choose_hard", true, false},
    {"jemalloc", true, false}, /* --with-jemalloc-prefix=je */
    {"jeposix_memalign", true, false},
    {"jemallocator", false, false},
    {"jemalloc_hook", false, false},
    {"jet_malloc", false, false},
    {"alloc::alloc::alloc", true, false},
    {"alloc::alloc::exchange_malloc", true, false},
    {"alloc::boxed::box_new_uninit", true, false},
    {"hashbrown::raw::alloc::inner::do_alloc", true, false},
    {"alloc::alloc::Global::allocate", true, false},
    {"<alloc::alloc::Global as core::alloc::Allocator>::allocate", true, false},
    {"<alloc::alloc::Global>::grow_impl", true, false},
    {"alloc::raw_vec::RawVec<T,A>::grow_one", true, false},
    {"<alloc::raw_vec::RawVecInner>::finish_grow", true, false},
    {"alloc::raw_vec::finish_grow", true, false},
    {"<tikv_jemallocator::Jemalloc as core::alloc::global::GlobalAlloc>::alloc",
     true, false},
    {"<db::Counting as core::alloc::global::GlobalAlloc>::alloc_zeroed", true,
     false},
    {"db::mem::<impl core::alloc::global::GlobalAlloc for db::A>::alloc", true,
     false},
    {"__rdl_realloc", true, false},
    {"__rg_alloc", true, false},
    {"<alloc::vec::Vec<T>>::push", false, false},
    {"alloc::vec::Vec::push", false, false},
    {"alloc::string::String::from", false, false},
    {"alloc::boxed::Box::new", false, false},
    {"hashbrown::raw::RawTable::insert", false, false},
    {"alloc::alloc::", false, false},
    {"db::alloc::alloc::f", false, false},
    {"<db::Pool<alloc::alloc::Global> as db::Get>::get", false, false},
    {"alloc::collections::vec_deque::VecDeque::grow", false, false},
    {"std::allocator::allocate", false, false},
    {"prof_back", false, false},
    {"mall", false, false},
    {"operator delete", false, false},
    {"_default", false, false},
    {"je_", false, false},
    {"", false, false},
};

START_TEST(entries_are_known_by_name)
{
    ck_assert_msg(allocator_is_entry(names[_i].name) == names[_i].entry, "%s",
                  names[_i].name);
    ck_assert_msg(allocator_is_skipped_by_jeprof(names[_i].name) ==
                      names[_i].jeprof,
                  "%s", names[_i].name);
}
END_TEST

static const struct {
    const char *name;
    bool is;
} elf_symbols[] = {
    {"malloc", true},
    {"posix_memalign", true},
    {"operator new(unsigned long)", true},
    {"operator new[](unsigned long, std::nothrow_t const&)", true},
    {"malloc_usable_size", false},
    {"je_malloc", false}, /* the object that has it is called so */
    {"db::malloc(unsigned long)", false},
    {"operator delete(void*)", false},
    {"free", false},
    {"", false},
};

START_TEST(symbols_are_those_that_libraries_call)
{
    ck_assert_msg(allocator_is_symbol(elf_symbols[_i].name) ==
                      elf_symbols[_i].is,
                  "%s", elf_symbols[_i].name);
}
END_TEST

/*
 * Stacks as letters, the leaf first: o lies in the allocator's object, e is an
 * entry, i has inlined an entry (one of two frames), everything else is code.
 * What is left begins at .location, within it at .frame.
 */
static const struct {
    const char *stack;
    struct allocator_cut ours, jeprof;
} stacks[] = {
    {"", {0, 0}, {0, 0}},
    {"abc", {0, 0}, {0, 0}},
    {"oooabc", {3, 0}, {3, 0}},
    {"oooeabc", {4, 0}, {4, 0}},
    /* jemalloc linked statically: its inner functions come first. */
    {"xyzeabc", {4, 0}, {4, 0}},
    /* An operator new of the program's own, around a wrapper. */
    {"oowwea", {5, 0}, {5, 0}},
    /* operator new, new-handler, malloc: all of it for that operator new. */
    {"oehea", {4, 0}, {4, 0}},
    {"oi", {1, 1}, {1, 1}},
    {"oiea", {3, 0}, {3, 0}},
    {"e", {1, 0}, {1, 0}},
    {"ooo", {3, 0}, {3, 0}},
    /* Reach: sixteen locations from the leaf, the object's own not counted. */
    {"abcdfghjklmnpqrea", {16, 0}, {16, 0}},
    {"abcdfghjklmnpqrsea", {0, 0}, {17, 0}},
    {"ooabcdfghjklmnpqrea", {18, 0}, {18, 0}},
    {"oeabcdfghjklmnpqrsteu", {2, 0}, {20, 0}},
    {"oooooooooooooooooooooooa", {23, 0}, {23, 0}},
};

static const struct allocator_part parts[256] = {
    ['o'] = {2, true, true},
    ['e'] = {1, true, false},
    ['i'] = {1, false, false},
};

static void
check_cut(const char *stack, uint32_t reach, struct allocator_cut expected)
{
    uint32_t indices[64], depth = 0;
    struct allocator_cut cut;

    for (; stack[depth]; depth++)
        indices[depth] = (unsigned char)stack[depth];
    cut = allocator_cut(parts, indices, depth, reach);
    ck_assert_msg(cut.location == expected.location &&
                      cut.frame == expected.frame,
                  "%s: %u.%u", stack, cut.location, cut.frame);
}

START_TEST(the_allocators_end_is_cut_off)
{
    check_cut(stacks[_i].stack, ALLOCATOR_REACH, stacks[_i].ours);
    check_cut(stacks[_i].stack, UINT32_MAX, stacks[_i].jeprof);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("allocator");
    TCase *tc = tcase_create("allocator");

    tcase_add_loop_test(tc, entries_are_known_by_name, 0,
                        sizeof(names) / sizeof(names[0]));
    tcase_add_loop_test(tc, symbols_are_those_that_libraries_call, 0,
                        sizeof(elf_symbols) / sizeof(elf_symbols[0]));
    tcase_add_loop_test(tc, the_allocators_end_is_cut_off, 0,
                        sizeof(stacks) / sizeof(stacks[0]));
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
