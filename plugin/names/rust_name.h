/*
 * rust_name.h - Rust's function names, in both of its manglings, as short as
 * C++'s: without type arguments, traits and references.
 *
 *     <names::Table<T> as names::Store>::put         ->  names::Table::put
 *     alloc::slice::<impl [T]>::to_vec               ->  [T]::to_vec
 *     names::call::<names::main::{closure#0}>        ->  names::call
 *     <&(u8, T) as names::Len>::len                  ->  tuple::len
 */
#ifndef HW_RUST_NAME_H
#define HW_RUST_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "reader.h"

/*
 * Shortens name to out, which has room for it; *size is that of the result.
 * Functions of a global allocator (below), and malformed names, stay whole.
 * False: it may be another language's, and out is undefined.
 */
bool rust_name_shorten(struct span name, char *out, size_t *size);

/* True for functions of the trait GlobalAlloc; only the trait identifies them.
 */
bool rust_name_is_global_allocator(struct span name);

#endif
