/*
 * index_builder.h - makes an index file from functions, lines and symbols.  It
 * knows the format, and nothing of DWARF.
 *
 * Failure sticks: add without checks; index_builder_finish reports it.
 */
#ifndef HW_INDEX_BUILDER_H
#define HW_INDEX_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf_budget.h"
#include "reader.h"
#include "symbol_index.h"

struct error;
struct index_builder;

static const uint32_t INDEX_NONE = UINT32_MAX;

/* budget must outlive the builder.  NULL: no memory. */
struct index_builder *index_builder_new(struct dwarf_budget *budget);
void index_builder_free(struct index_builder *builder); /* NULL is fine */
bool index_builder_failed(const struct index_builder *builder);

/* The number of a readable name, or of a file's path; "" is 0. */
uint32_t index_builder_name(struct index_builder *builder, struct span name);
uint32_t index_builder_file(struct index_builder *builder, struct span path);

struct index_node {
    uint32_t parent; /* was added before; INDEX_NONE: none */
    uint32_t name, call_file, call_line;
    bool linkage, inlined;
};

/* Returns the node's number, for nodes inside it and for its ranges. */
uint32_t index_builder_node(struct index_builder *builder,
                            const struct index_node *node);

/*
 * Adds facts about the code from start to end, in any order.  If two of one
 * kind overlap, the one that starts first wins, then the one added first.
 * Symbols must not overlap.
 */
void index_builder_range(struct index_builder *builder, uint64_t start,
                         uint64_t end, uint32_t node);
void index_builder_left_out(struct index_builder *builder, uint64_t start,
                            uint64_t end);
void index_builder_row(struct index_builder *builder, uint64_t start,
                       uint64_t end, uint32_t file, uint32_t line);
void index_builder_symbol(struct index_builder *builder, uint64_t start,
                          uint64_t end, uint64_t symbol_start, uint32_t name);

/* Code of a function without a symbol, and the function's start. */
void index_builder_function(struct index_builder *builder, uint64_t start,
                            uint64_t end, uint64_t function_start);

/* Marks the file: it has symbols only, as there is no debug information. */
void index_builder_symbols_only(struct index_builder *builder);

/* Calls function once for every run of addresses in [start, end) with the same
 * outermost function, or none (INDEX_NONE), in order; it may add symbols, but
 * no ranges. */
int index_builder_roots(struct index_builder *builder, uint64_t start,
                        uint64_t end,
                        void (*function)(void *arg, uint64_t start,
                                         uint64_t end, uint32_t root),
                        void *arg, struct error *err);

/* Writes the file.  Call it once. */
int index_builder_finish(struct index_builder *builder, const uint8_t *build_id,
                         size_t build_id_size,
                         int (*write)(void *arg, const void *data, size_t size,
                                      struct error *err),
                         void *arg, struct error *err);

#endif
