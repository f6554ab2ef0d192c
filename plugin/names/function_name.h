/*
 * function_name.h - demangled function names, short enough for a graph or a
 * table.
 */
#ifndef HW_FUNCTION_NAME_H
#define HW_FUNCTION_NAME_H

#include "reader.h"

struct buffer;

/*
 * Appends name as jeprof's ShortFunctionName shortens it: without arguments,
 * template arguments and the type that it returns.
 *     void ns::Map<int>::put<char>(int, char) const  ->  ns::Map::put
 * Rust's as rust_name.h does: a type's functions have the type's name.
 * On the way it needs room in out for twice the name.
 */
void function_name_shorten(struct span name, struct buffer *out);

/*
 * Appends name without its arguments and the type that it returns, and nothing
 * else: functions of different template arguments, scopes and operators stay
 * different.
 *     void ns::Map<int>::put<char>(int, char) const  -> ns::Map<int>::put<char>
 * A name that is no C++ function's, or that ends within brackets, stays whole.
 */
void function_name_plain(struct span name, struct buffer *out);

#endif
