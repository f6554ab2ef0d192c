/* index_fixture.h - index files in memory, and their answers as text. */
#ifndef HW_INDEX_FIXTURE_H
#define HW_INDEX_FIXTURE_H

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "index_builder.h"
#include "symbol_index.h"

static const uint8_t fixture_id[] = {0xb1, 0xd0, 3, 4, 5, 6, 7, 8};

static inline struct span
span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

static inline int
fixture_write(void *arg, const void *data, size_t size, struct error *err)
{
    struct buffer *out = arg;

    buffer_add(out, data, size);
    if (!out->failed)
        return 0;
    error_memory(err, "a test's file");
    return -1;
}

/* A descriptor with these bytes, to be closed. */
static inline int
fixture_fd(const void *bytes, size_t size)
{
    int fd = memfd_create("index", MFD_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fd_write_all(fd, bytes, size), 0);
    return fd;
}

static inline struct index_builder *
fixture_builder(void)
{
    static const struct index_room no_ceiling;
    struct index_builder *builder = index_builder_new(&no_ceiling);

    ck_assert_ptr_nonnull(builder);
    return builder;
}

static inline uint32_t
fixture_node(struct index_builder *builder, uint32_t parent, const char *name,
             const char *call_file, uint32_t call_line)
{
    struct index_node node = {
        .parent = parent,
        .name = index_builder_name(builder, span_of(name)),
        .call_file = index_builder_file(builder, span_of(call_file)),
        .call_line = call_line,
        .linkage = strchr(name, '(') != NULL,
        .inlined = parent != INDEX_NONE,
    };

    return index_builder_node(builder, &node);
}

/* Of an object without debug information. */
static inline void
fixture_symbols(struct index_builder *b)
{
    index_builder_symbols_only(b);
    index_builder_symbol(b, 0x1000, 0x1010, 0x1000,
                         index_builder_name(b, span_of("db::open(char*)")));
    index_builder_symbol(b, 0x1010, 0x2010, 0xff8,
                         index_builder_name(b, span_of("db::open(char*)")));
    index_builder_symbol(b, 0x3000, 0x3008, 0x3000,
                         index_builder_name(b, span_of("main.cold")));
}

/* A few functions:  code of each kind is in it. */
static inline void
fixture_small(struct index_builder *b)
{
    uint32_t top = fixture_node(b, INDEX_NONE, "db::open(char const*)", "", 0);
    uint32_t in = fixture_node(b, top, "db::check(int)", "/src/open.cc", 12);
    uint32_t deep = fixture_node(b, in, "local", "/src/check.h", 7);
    uint32_t other = fixture_node(b, INDEX_NONE, "main", "", 0);
    uint32_t open_cc = index_builder_file(b, span_of("/src/open.cc"));
    uint32_t check_h = index_builder_file(b, span_of("/src/check.h"));
    uint32_t none = index_builder_file(b, span_of(""));

    fixture_node(b, INDEX_NONE, "discarded()", "", 0);
    index_builder_range(b, 0x2000, 0x2010, other);
    index_builder_range(b, 0x1000, 0x1008, top);
    index_builder_range(b, 0x1008, 0x100c, in);
    index_builder_range(b, 0x100c, 0x1010, deep);
    index_builder_range(b, 0x1010, 0x1020, top);
    index_builder_left_out(b, 0x3000, 0x3100);
    index_builder_row(b, 0x1000, 0x1008, open_cc, 10);
    index_builder_row(b, 0x1008, 0x1010, check_h, 3);
    index_builder_row(b, 0x1010, 0x1014, open_cc, 14);
    index_builder_row(b, 0x1014, 0x1020, none, 0);
    index_builder_row(b, 0x4000, 0x4004, check_h, 70000);
    index_builder_symbol(b, 0x1000, 0x1020, 0x1000,
                         index_builder_name(b, span_of("db::open(char*)")));
    index_builder_symbol(b, 0x2000, 0x2008, 0x2000,
                         index_builder_name(b, span_of("main")));
    index_builder_symbol(b, 0x2008, 0x2010, 0x1ff8,
                         index_builder_name(b, span_of("main.cold")));
    index_builder_symbol(b, 0x4000, 0x4010, 0x3ff0,
                         index_builder_name(b, span_of("start")));
}

/* Whether files are to be packed: what such a test has, it has of both. */
static bool fixture_packed;

static inline uint64_t
fixture_debug_bytes(void)
{
    return fixture_packed ? 0 : UINT64_MAX;
}

static inline void
fixture_finish(struct index_builder *builder, struct buffer *out,
               struct symbol_index_figures *figures)
{
    struct error err = {0};

    memset(figures, 0, sizeof(*figures));
    buffer_init(out, (size_t)256 << 20);
    ck_assert_msg(index_builder_finish(builder, fixture_id, sizeof(fixture_id),
                                       fixture_debug_bytes(), fixture_write,
                                       out, figures, &err) == 0,
                  "%s", err.text);
    ck_assert_uint_eq(figures->bytes, out->size);
    ck_assert_int_eq(out->data[10], fixture_packed);
    index_builder_free(builder);
}

static inline struct symbol_index *
fixture_open(const void *bytes, size_t size, int *fd)
{
    *fd = fixture_fd(bytes, size);
    return symbol_index_open(*fd, fixture_id, sizeof(fixture_id), NULL);
}

/* One address's answer; not 0 in failed: a block is damaged, or there is no
 * memory. */
static inline bool
fixture_look_up(struct symbol_index *index, uint64_t address,
                struct code_chain *chain, struct index_symbol *symbol,
                int *failed)
{
    struct symbol_index_question question = {.addresses = &address, .count = 1};
    enum symbol_index_answer answer = INDEX_DAMAGED;

    chain->count = 0;
    if (symbol_index_look_up(index, &question) == 0)
        answer = symbol_index_answer(index, 0, chain, symbol);
    *failed = answer == INDEX_DAMAGED ? -1 : 0;
    ck_assert(answer == INDEX_KNOWN || chain->count == 0);
    return answer == INDEX_KNOWN;
}

/* The answer in one line; "left out" and "damaged" are some, too. */
static inline const char *
fixture_ask(struct symbol_index *index, uint64_t address)
{
    static char text[1 << 20];
    struct index_symbol symbol;
    struct code_chain chain;
    int failed;
    size_t n = 0;

    if (!fixture_look_up(index, address, &chain, &symbol, &failed))
        return failed ? "damaged" : "left out";
    ck_assert_uint_le(chain.count, NAMES_INLINE_MAX);
    for (uint32_t i = 0; i < chain.count && n < sizeof(text); i++) {
        const struct code_frame *f = &chain.frames[i];

        ck_assert(f->readable);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%.*s%s%s %.*s:%u; ",
                              (int)f->name.size, f->name.data,
                              f->linkage ? "" : "!", f->inlined ? " in" : "",
                              (int)f->file.size, f->file.data, f->line);
    }
    if (n < sizeof(text))
        snprintf(text + n, sizeof(text) - n, "%.*s %" PRIx64 "-%" PRIx64,
                 (int)symbol.name.size, symbol.name.data, symbol.start,
                 symbol.end);
    return text;
}

#endif
