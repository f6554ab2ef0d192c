/* test_rust_name.c - Rust's names, as its compiler makes them and as they are
 * shown. */
#include <stdlib.h>
#include <string.h>

#include "bfd_names.h"
#include "buffer.h"
#include "function_name.h"
#include "rust_name.h"
#include "suite.h"

/* Symbols of a program that rustc 1.95 made, in both manglings. */
static const char *const symbols[][3] = {
    {"_RINvCs1T0BG8uqHRj_5names4callNCNvB2_4main0EB2_",
     "names::call::<names::main::{closure#0}>", "names::call"},
    {"_RINvCs1T0BG8uqHRj_5names4callNvB2_8plain_fnEB2_",
     "names::call::<names::plain_fn>", "names::call"},
    {"_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtCslNYArtu3iFV_"
     "5alloc5boxed3BoxDNtCs1T0BG8uqHRj_5names5StoreEL_EEB1i_",
     "core::ptr::drop_in_place::<alloc::boxed::Box<dyn names::Store>>",
     "core::ptr::drop_in_place"},
    {"_RINvNvMs2_NtCslNYArtu3iFV_5alloc7raw_vecINtB8_"
     "11RawVecInnerpE7reserve21do_reserve_and_handleNtNtBa_"
     "5alloc6GlobalECs1T0BG8uqHRj_5names",
     "<alloc::raw_vec::RawVecInner<_>>::reserve::do_reserve_and_handle::<alloc:"
     ":alloc::Global>",
     "alloc::raw_vec::RawVecInner::reserve::do_reserve_and_handle"},
    {"_RNCNvCs1T0BG8uqHRj_5names6sleepy0B3_", "names::sleepy::{closure#0}",
     "names::sleepy::{closure#0}"},
    {"_RNSNvYNCINvNtCsjrHSEGnQ3l9_3std2rt10lang_startuE0INtNtNtCsgEmfK2I1SDS_"
     "4core3ops8function6FnOnceuE9call_once6vtableCs1T0BG8uqHRj_5names.llvm."
     "16003271319382525929",
     "<std::rt::lang_start<()>::{closure#0} as "
     "core::ops::function::FnOnce<()>>::call_once::{shim:vtable#0}",
     "std::rt::lang_start::{closure#0}::call_once::{shim:vtable#0}"},
    {"_RNSNvYNCINvNtNtCsjrHSEGnQ3l9_3std6thread9lifecycle15spawn_"
     "uncheckedNCNvCs1T0BG8uqHRj_5names4mains0_0jEs_0INtNtNtCsgEmfK2I1SDS_"
     "4core3ops8function6FnOnceuE9call_once6vtableB17_",
     "<std::thread::lifecycle::spawn_unchecked<names::main::{closure#2}, "
     "usize>::{closure#1} as "
     "core::ops::function::FnOnce<()>>::call_once::{shim:vtable#0}",
     "std::thread::lifecycle::spawn_unchecked::{closure#1}::call_once::{shim:"
     "vtable#0}"},
    {"_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc", "__rustc::__rust_alloc",
     "__rustc::__rust_alloc"},
    {"_RNvMCs1T0BG8uqHRj_5namesINtB2_5TablehE4fillB2_",
     "<names::Table<u8>>::fill", "names::Table::fill"},
    {"_RNvMNtNtCs1T0BG8uqHRj_5names5other5innerNtB6_5Index7outside",
     "<names::Index>::outside", "names::Index::outside"},
    {"_RNvMs3_NtCslNYArtu3iFV_5alloc7raw_vecINtB5_6RawVecINtNtB7_"
     "3vec3VechEE8grow_oneCsjrHSEGnQ3l9_3std",
     "<alloc::raw_vec::RawVec<alloc::vec::Vec<u8>>>::grow_one",
     "alloc::raw_vec::RawVec::grow_one"},
    {"_RNvMs4_NtCslNYArtu3iFV_5alloc7raw_vecINtB5_"
     "11RawVecInnerNtNtCsjrHSEGnQ3l9_3std5alloc6SystemE11finish_growBW_",
     "<alloc::raw_vec::RawVecInner<std::alloc::System>>::finish_grow",
     "alloc::raw_vec::RawVecInner::finish_grow"},
    {"_RNvMs_NtNtNtCsjrHSEGnQ3l9_3std12backtrace_rs9symbolize5gimliNtB4_"
     "7Context3new",
     "<std::backtrace_rs::symbolize::gimli::Context>::new",
     "std::backtrace_rs::symbolize::gimli::Context::new"},
    {"_RNvMsb_Cs1T0BG8uqHRj_5namesDNtB5_5StoreNtNtCsgEmfK2I1SDS_"
     "4core6marker4SendEL_9grow_send",
     "<dyn names::Store + core::marker::Send>::grow_send",
     "names::Store::grow_send"},
    {"_RNvMsc_Cs1T0BG8uqHRj_5namesINtNtNtB5_4deep2er4CellReKj2_E4manyB5_",
     "<names::deep::er::Cell<&str, 2>>::many", "names::deep::er::Cell::many"},
    {"_RNvXNtNtCslNYArtu3iFV_5alloc3vec14spec_from_iterINtB4_3VecNtNtB6_"
     "6string6StringEINtB2_12SpecFromIterBU_INtNtNtNtCsgEmfK2I1SDS_"
     "4core4iter8adapters3map3MapINtNtNtB1M_5slice4iter4IterReENCNvMsc_"
     "Cs1T0BG8uqHRj_5namesINtNtNtB33_4deep2er4CellB2S_Kj2_E4many0EE9from_"
     "iterB33_",
     "<alloc::vec::Vec<alloc::string::String> as "
     "alloc::vec::spec_from_iter::SpecFromIter<alloc::string::String, "
     "core::iter::adapters::map::Map<core::slice::iter::Iter<&str>, "
     "<names::deep::er::Cell<&str, 2>>::many::{closure#0}>>>::from_iter",
     "alloc::vec::Vec::from_iter"},
    {"_RNvXs0_Cs1T0BG8uqHRj_5namesNtB5_5IndexNtB5_5Store3put",
     "<names::Index as names::Store>::put", "names::Index::put"},
    {"_RNvXs0_NtNtCs1T0BG8uqHRj_5names5other4primThReENtB5_3Len4len2B9_",
     "<(u8, &str) as names::other::prim::Len>::len2", "tuple::len2"},
    {"_RNvXs7_Cs1T0BG8uqHRj_5namesFhEINtNtCslNYArtu3iFV_5alloc3vec3VechEINtB5_"
     "7ConvertjE7convert",
     "<fn(u8) -> alloc::vec::Vec<u8> as names::Convert<usize>>::convert",
     "fn::convert"},
    {"_RNvXsd_Cs1T0BG8uqHRj_5namesNtNtNtB5_4deep2er5PlainNtB5_4Show4showB5_",
     "<names::deep::er::Plain as names::Show>::show",
     "names::deep::er::Plain::show"},
    {"_RNvXsd_Cs1T0BG8uqHRj_5nameseNtB5_4Show4showB5_",
     "<str as names::Show>::show", "str::show"},
    {"_ZN100_$LT$fn$LP$u8$RP$$u20$.$GT$$u20$alloc..vec..Vec$LT$u8$GT$$u20$as$"
     "u20$names..Convert$LT$usize$GT$$GT$7convert17h593b7a0792bc2adeE",
     "<fn(u8) .> alloc::vec::Vec<u8> as names::Convert<usize>>::convert",
     "fn::convert"},
    {"_ZN143_$LT$$RF$str$u20$as$u20$names..Convert$LT$std..collections..hash.."
     "map..HashMap$LT$alloc..string..String$C$alloc..vec..Vec$LT$u8$GT$$GT$$GT$"
     "$GT$7convert17h6b9bce70f96b2aefE",
     "<&str as "
     "names::Convert<std::collections::hash::map::HashMap<alloc::string::"
     "String,alloc::vec::Vec<u8>>>>::convert",
     "str::convert"},
    {"_ZN202_$LT$alloc..boxed..Box$LT$dyn$u20$core..ops..function..Fn$LT$$LP$"
     "usize$C$$RP$$GT$$u2b$Output$u20$$u3d$$u20$alloc..vec..Vec$LT$u8$GT$$u2b$"
     "core..marker..Send$GT$$u20$as$u20$names..Convert$LT$usize$GT$$GT$"
     "7convert17h78f7c2895a19c1b4E",
     "<alloc::boxed::Box<dyn core::ops::function::Fn<(usize,)>+Output = "
     "alloc::vec::Vec<u8>+core::marker::Send> as "
     "names::Convert<usize>>::convert",
     "alloc::boxed::Box::convert"},
    {"_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
     "std::rt::lang_start::{{closure}}", "std::rt::lang_start::{{closure}}"},
    {"_ZN4core3ops8function6FnOnce40call_once$u7b$$u7b$vtable.shim$u7d$$u7d$"
     "17h4e73cd3d11660883E.llvm.17033243478669230948",
     "core::ops::function::FnOnce::call_once{{vtable.shim}}",
     "core::ops::function::FnOnce::call_once{{vtable.shim}}"},
    {"_ZN4core3ptr33drop_in_place$LT$names..Index$GT$17hc02fdd4548db538fE",
     "core::ptr::drop_in_place<names::Index>", "core::ptr::drop_in_place"},
    {"_ZN4core3ptr91drop_in_place$LT$names..outer..$u7b$$u7b$closure$u7d$$u7d$."
     ".$u7b$$u7b$closure$u7d$$u7d$$GT$17h9bed3cbd4a01d00eE",
     "core::ptr::drop_in_place<names::outer::{{closure}}::{{closure}}>",
     "core::ptr::drop_in_place"},
    {"_ZN52_$LT$dyn$u20$names..Store$u2b$core..marker..Send$GT$9grow_"
     "send17ha6be7ee864c16385E",
     "<dyn names::Store+core::marker::Send>::grow_send",
     "names::Store::grow_send"},
    {"_ZN54_$LT$names..Table$LT$T$GT$$u20$as$u20$names..Store$GT$"
     "3put17h1f23c2fc4b32602cE",
     "<names::Table<T> as names::Store>::put", "names::Table::put"},
    {"_ZN55_$LT$$u5b$T$u3b$$u20$3$u5d$$u20$as$u20$names..Store$GT$"
     "3put17hffa952d6da797137E",
     "<[T; 3] as names::Store>::put", "[T]::put"},
    {"_ZN57_$LT$$LP$A$C$B$RP$$u20$as$u20$names..other..prim..Len$GT$"
     "4len217habd8738ceb527848E",
     "<(A,B) as names::other::prim::Len>::len2", "tuple::len2"},
    {"_ZN5names4make28_$u7b$$u7b$closure$u7d$$u7d$17hd895dcdb2f047a59E",
     "names::make::{{closure}}", "names::make::{{closure}}"},
    {"_ZN5names52_$LT$impl$u20$names..deep..er..Cell$LT$T$C$_$GT$$GT$"
     "4many17ha5a41a64a8478811E",
     "names::<impl names::deep::er::Cell<T,_>>::many",
     "names::deep::er::Cell::many"},
    {"_ZN5names5Store4kept17h6a093ca8267aeb6dE", "names::Store::kept",
     "names::Store::kept"},
    {"_ZN5names5other3gen62_$LT$impl$u20$names..Table$LT$alloc..vec..Vec$LT$T$"
     "GT$$GT$$GT$5outer17hd133c14d892c730fE",
     "names::other::gen::<impl names::Table<alloc::vec::Vec<T>>>::outer",
     "names::Table::outer"},
    {"_ZN5names5other5inner30_$LT$impl$u20$names..Index$GT$"
     "7outside17hac9b0ff2b57e8450E",
     "names::other::inner::<impl names::Index>::outside",
     "names::Index::outside"},
    {"_ZN5names6sleepy28_$u7b$$u7b$closure$u7d$$u7d$17hf85f63140c2f4ac1E",
     "names::sleepy::{{closure}}", "names::sleepy::{{closure}}"},
    {"_ZN71_$LT$$LP$u8$C$alloc..vec..Vec$LT$u8$GT$$RP$$u20$as$u20$names..Store$"
     "GT$3put17h513fe400d3cfba5cE",
     "<(u8,alloc::vec::Vec<u8>) as names::Store>::put", "tuple::put"},
    {"_ZN84_$LT$$RF$names..Index$u20$as$u20$names..Convert$LT$alloc..vec..Vec$"
     "LT$u8$GT$$GT$$GT$7convert17h084fb22e73e32b4fE",
     "<&names::Index as names::Convert<alloc::vec::Vec<u8>>>::convert",
     "names::Index::convert"},
    {"_ZN85_$LT$$BP$const$u20$names..Index$u20$as$u20$names..Convert$LT$$BP$"
     "const$u20$u8$GT$$GT$7convert17h00ae6060394fd21cE",
     "<*const names::Index as names::Convert<*const u8>>::convert",
     "names::Index::convert"},
    {"_ZN95_$LT$$u5b$core..option..Option$LT$alloc..vec..Vec$LT$T$GT$$GT$$u5d$$"
     "u20$as$u20$names..Store$GT$3put17h673be5e96e311127E",
     "<[core::option::Option<alloc::vec::Vec<T>>] as names::Store>::put",
     "[core::option::Option]::put"},
    {"_ZN98_$LT$$RF$mut$u20$names..deep..er..Plain$u20$as$u20$names..Convert$"
     "LT$alloc..string..String$GT$$GT$7convert17h0ac3ce294a3c168bE",
     "<&mut names::deep::er::Plain as "
     "names::Convert<alloc::string::String>>::convert",
     "names::deep::er::Plain::convert"},
};

/* What no such program has, or another demangler writes. */
static const char *const others[][2] = {
    {"<T as core::convert::Into<U>>::into", "T::into"},
    {"<&T as a::Trait<U>>::f", "T::f"},
    {"<&'a mut T as a::Trait<U>>::f", "T::f"},
    {"<&dyn a::B as a::Trait>::f", "a::B::f"},
    {"<(dyn a::B + Send) as a::Trait>::f", "a::B::f"},
    {"<[a::B<u8>] as a::Trait<[u8]>>::f::g", "[a::B]::f::g"},
    {"<[[u8; 4]; 3] as a::Trait>::f", "[[u8]]::f"},
    {"<() as a::Trait>::f", "unit::f"},
    {"<! as a::Trait>::f", "!::f"},
    {"<<T as a::B>::C as a::D>::f", "T::C::f"},
    {"<for<'a, 'b> fn(&'a u8, &'b u8) -> u8 as a::B>::f", "fn::f"},
    {"<unsafe extern \"C\" fn(*mut u8) as a::B>::f", "fn::f"},
    {"<dyn for<'a> a::Fn<(&'a u8,), Output = u8> as a::B>::f", "a::Fn::f"},
    {"a::<impl a::From<T> for b::U<T>>::from", "b::U::from"},
    {"a::<impl a::From<fn(T) .> U> for &b::U<T>>::from", "b::U::from"},
    {"core::ptr::drop_in_place<fn(u8) .> alloc::vec::Vec<u8>>",
     "core::ptr::drop_in_place"},
    {"a::f::<u8>::{closure#0}::<u8>", "a::f::{closure#0}"},
    {"<a[0123456789abcdef]::B as c[f0]::D>::e", "a::B::e"},
    {"a[0123456789abcdef]::b::{closure#0}", "a::b::{closure#0}"},
    {"a::b::h0123456789abcdef", "a::b"},
    {"<a::B as c::D>::e::h0123456789abcdef", "a::B::e"},
    {"<a::B as c::D>::e [clone .cold]", "a::B::e [clone .cold]"},
    {"<a::B as c::D>::e.llvm.123", "a::B::e.llvm.123"},
    {"<a::Counting as core::alloc::global::GlobalAlloc>::alloc",
     "<a::Counting as core::alloc::global::GlobalAlloc>::alloc"},
    /* It makes no sense: whole. */
    {"<a::B(C) as d::E>::f", "<a::B(C) as d::E>::f"},
    {"< as d::E>::f", "< as d::E>::f"},
    /* Of others. */
    {"main::<lambda(int)>", "main::"},
    {"A::<unnamed>::f", "A::::f"},
    {"Ljava/lang/String;::<init>", "Ljava/lang/String;::"},
    {"<lambda(int)>::operator()", "::operator"},
    {"a::hash0123456789abcdef", "a::hash0123456789abcdef"},
};

enum {
    SYMBOLS = sizeof(symbols) / sizeof(symbols[0]),
    OTHERS = sizeof(others) / sizeof(others[0])
};

static void
check_short(const char *name, const char *expected)
{
    char *copy = strdup(name); /* that reads past it are found */
    struct buffer out;

    buffer_init(&out, 4096);
    function_name_shorten((struct span){copy, strlen(copy)}, &out);
    ck_assert_msg(out.size == strlen(expected) &&
                      memcmp(out.data, expected, out.size) == 0,
                  "%s: %.*s", name, (int)out.size, out.data);
    ck_assert_uint_le(out.size, strlen(name));
    buffer_fini(&out);
    free(copy);
}

START_TEST(symbols_are_read_and_shown)
{
    const char *const *row = symbols[_i];
    char *full = bfd_names_readable(row[0]);
    struct buffer out;

    ck_assert_str_eq(full, row[1]);
    check_short(full, row[2]);
    check_short(row[2], row[2]);
    buffer_init(&out, 4096); /* whole names stay whole */
    function_name_plain((struct span){full, strlen(full)}, &out);
    ck_assert_uint_eq(out.size, strlen(full));
    ck_assert_mem_eq(out.data, full, out.size);
    buffer_fini(&out);
    free(full);
}
END_TEST

START_TEST(others_are_shortened)
{
    check_short(others[_i][0], others[_i][1]);
    check_short(others[_i][1], others[_i][1]);
}
END_TEST

/* Cut anywhere, and with any of its bytes another bracket. */
START_TEST(whatever_is_wrong_does_no_harm)
{
    const char *name = _i < SYMBOLS ? symbols[_i][1] : others[_i - SYMBOLS][0];
    static const char bytes[] = "<>()[]{}:& '";
    size_t size = strlen(name);
    char *copy = malloc(size);
    struct buffer out;

    buffer_init(&out, 4096);
    for (size_t i = 0; i < size; i++) {
        for (const char *c = bytes; *c; c++) {
            memcpy(copy, name, size);
            copy[i] = *c;
            buffer_clear(&out);
            function_name_shorten((struct span){copy, size}, &out);
            ck_assert(!out.failed);
            ck_assert_uint_le(out.size, size);
        }
        char *cut = malloc(i + 1);
        memcpy(cut, name, i);
        buffer_clear(&out);
        function_name_shorten((struct span){cut, i}, &out);
        ck_assert_uint_le(out.size, i);
        free(cut);
    }
    buffer_fini(&out);
    free(copy);
}
END_TEST

START_TEST(deep_types_stay_whole)
{
    enum { DEPTH = 10000 };
    char *name = malloc(2 * DEPTH + 8);
    struct buffer out;

    memset(name, '<', DEPTH);
    memset(name + DEPTH, '>', DEPTH);
    memcpy(name + 2 * DEPTH, "::f", 4);
    buffer_init(&out, 8 * DEPTH);
    function_name_shorten((struct span){name, strlen(name)}, &out);
    ck_assert_uint_eq(out.size, strlen(name));
    buffer_fini(&out);
    free(name);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("rust_name");
    TCase *tc = tcase_create("rust_name");

    tcase_add_loop_test(tc, symbols_are_read_and_shown, 0, SYMBOLS);
    tcase_add_loop_test(tc, others_are_shortened, 0, OTHERS);
    tcase_add_loop_test(tc, whatever_is_wrong_does_no_harm, 0,
                        (int)SYMBOLS + (int)OTHERS);
    tcase_add_test(tc, deep_types_stay_whole);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
