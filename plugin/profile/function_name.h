/*
 * function_name.h - demangled function names, short enough for a graph.
 */
#ifndef HW_FUNCTION_NAME_H
#define HW_FUNCTION_NAME_H

#include "reader.h"

struct buffer;

/*
 * Appends name as jeprof's ShortFunctionName shortens it: without arguments,
 * template arguments and the type that it returns.
 *     void ns::Map<int>::put<char>(int, char) const  ->  ns::Map::put
 * On the way it needs room in out for twice the name.
 */
void function_name_shorten(struct span name, struct buffer *out);

#endif
