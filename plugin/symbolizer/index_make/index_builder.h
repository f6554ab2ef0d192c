/*
 * index_builder.h - an index file made of functions, lines and symbols that
 * somebody adds: knows the format, nothing of DWARF.
 *
 * Failure sticks: add straight through, index_builder_finish reports it.
 */
#ifndef HW_INDEX_BUILDER_H
#define HW_INDEX_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index_room.h"
#include "reader.h"
#include "symbol_index.h"

struct error;
struct index_builder;

static const uint32_t INDEX_NONE = UINT32_MAX;

/* room is copied; NULL without memory. */
struct index_builder *index_builder_new(const struct index_room *room);
void index_builder_free(struct index_builder *builder); /* NULL is fine */
bool index_builder_failed(const struct index_builder *builder);

/* The number of a name, readable, or of a file's path; "" is 0. */
uint32_t index_builder_name(struct index_builder *builder, struct span name);
uint32_t index_builder_file(struct index_builder *builder, struct span path);

struct index_node {
    uint32_t parent; /* added before; INDEX_NONE */
    uint32_t name, call_file, call_line;
    bool linkage, inlined;
};

/* Its number, for those in it and for ranges. */
uint32_t index_builder_node(struct index_builder *builder,
                            const struct index_node *node);

/*
 * What holds from start up to end, in any order; where two of a kind overlap
 * the one that starts first has it, or was added first.  Symbols must not
 * overlap.
 */
void index_builder_range(struct index_builder *builder, uint64_t start,
                         uint64_t end, uint32_t node);
void index_builder_left_out(struct index_builder *builder, uint64_t start,
                            uint64_t end);
void index_builder_row(struct index_builder *builder, uint64_t start,
                       uint64_t end, uint32_t file, uint32_t line);
void index_builder_symbol(struct index_builder *builder, uint64_t start,
                          uint64_t end, uint64_t symbol_start, uint32_t name);

/* Code of a function that has no symbol, and where that begins. */
void index_builder_function(struct index_builder *builder, uint64_t start,
                            uint64_t end, uint64_t function_start);

/* Nothing but symbols will be added: there is no debug information, and the
 * file tells so. */
void index_builder_symbols_only(struct index_builder *builder);

/* Calls function once for every run of addresses in [start, end) with the same
 * outermost function, or none (INDEX_NONE), in order; symbols may be added
 * meanwhile, but no ranges. */
int index_builder_roots(struct index_builder *builder, uint64_t start,
                        uint64_t end,
                        void (*function)(void *arg, uint64_t start,
                                         uint64_t end, uint32_t root),
                        void *arg, struct error *err);

/* Writes the file, packed if plain it would be too much for so many bytes of
 * debug information, but never one of symbols only; figures but for left_out
 * are set.  Once. */
int index_builder_finish(struct index_builder *builder, const uint8_t *build_id,
                         size_t build_id_size, uint64_t debug_bytes,
                         int (*write)(void *arg, const void *data, size_t size,
                                      struct error *err),
                         void *arg, struct symbol_index_figures *figures,
                         struct error *err);

#endif
