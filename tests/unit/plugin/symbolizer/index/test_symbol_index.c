/* test_symbol_index.c - symbol index files: what goes in comes out. */
#include "failing_memory.h"
#include "index_blocks.h"
#include "index_fixture.h"
#include "index_seal.h"
#include "suite.h"

static const struct {
    uint64_t address;
    const char *answer;
} small[] = {
    {0, " 0-1000"},
    {0xfff, " 0-1000"},
    {0x1000, "db::open(char const*) /src/open.cc:10; "
             "db::open(char*) 1000-1020"},
    {0x1007, "db::open(char const*) /src/open.cc:10; "
             "db::open(char*) 1000-1020"},
    {0x1008, "db::check(int) in /src/check.h:3; "
             "db::open(char const*) /src/open.cc:12; "
             "db::open(char*) 1000-1020"},
    {0x100f, "local! in /src/check.h:3; db::check(int) in /src/check.h:7; "
             "db::open(char const*) /src/open.cc:12; "
             "db::open(char*) 1000-1020"},
    {0x1013, "db::open(char const*) /src/open.cc:14; "
             "db::open(char*) 1000-1020"},
    {0x101f, "db::open(char const*) :0; db::open(char*) 1000-1020"},
    {0x1020, " 0-2000"},
    {0x2000, "main! :0; main 2000-2008"},
    {0x200f, "main! :0; main.cold 1ff8-2010"},
    {0x2fff, " 0-4000"},
    {0x3000, "left out"},
    {0x30ff, "left out"},
    {0x3100, " 0-4000"},
    {0x4003, "! /src/check.h:70000; start 3ff0-4010"},
    {0x4004, "start 3ff0-4010"},
    {0x4010, " 0-ffffffffffffffff"},
    {UINT64_MAX, " 0-ffffffffffffffff"},
};

enum { SMALL = sizeof(small) / sizeof(small[0]) };

static void
make_small(struct buffer *out)
{
    struct index_builder *builder = fixture_builder();

    fixture_small(builder);
    fixture_finish(builder, out);
    ck_assert_uint_eq(seal_items((uint8_t *)out->data, INDEX_NODES), 4);
}

START_TEST(every_kind_of_address_is_answered)
{
    struct buffer bytes;
    struct symbol_index *index;
    int fd;

    make_small(&bytes);
    index = fixture_open(bytes.data, bytes.size, &fd);
    ck_assert_ptr_nonnull(index);
    for (int i = 0; i < SMALL; i++)
        ck_assert_str_eq(fixture_ask(index, small[i].address), small[i].answer);
    for (int i = SMALL - 1; i >= 0; i--)
        ck_assert_str_eq(fixture_ask(index, small[i].address), small[i].answer);
    symbol_index_close(index);
    fd_close(fd);
    buffer_fini(&bytes);
}
END_TEST

START_TEST(an_index_of_nothing_answers_nothing)
{
    struct symbol_index *index;
    struct buffer bytes;
    int fd;

    fixture_finish(fixture_builder(), &bytes);
    index = fixture_open(bytes.data, bytes.size, &fd);
    ck_assert_ptr_nonnull(index);
    ck_assert_str_eq(fixture_ask(index, 0x1000), " 0-ffffffffffffffff");
    symbol_index_close(index);
    fd_close(fd);
    buffer_fini(&bytes);
}
END_TEST

/* ---- symbols only ---- */

static bool
knows_symbols_only(const struct buffer *bytes)
{
    int fd;
    struct symbol_index *index = fixture_open(bytes->data, bytes->size, &fd);
    bool rc;

    ck_assert_ptr_nonnull(index);
    rc = symbol_index_symbols_only(index);
    symbol_index_close(index);
    fd_close(fd);
    return rc;
}

START_TEST(without_debug_information_symbols_are_known_everywhere)
{
    static const struct {
        uint64_t address;
        const char *answer;
    } all[] = {
        {0, " 0-1000"},
        {0x1000, "db::open(char*) 1000-1010"},
        {0x1010, "db::open(char*) ff8-2010"},
        {0x2010, " 0-3000"},
        {0x3007, "main.cold 3000-3008"},
        {0x3008, " 0-ffffffffffffffff"},
    };
    struct index_builder *b = fixture_builder();
    struct symbol_index *index;
    struct buffer bytes;
    int fd;

    fixture_symbols(b);
    fixture_finish(b, &bytes);
    for (int i = INDEX_RANGES; i <= INDEX_NODES; i++)
        if (i != INDEX_SYMBOLS)
            ck_assert_uint_eq(seal_items((uint8_t *)bytes.data, i), 0);
    ck_assert(knows_symbols_only(&bytes));
    index = fixture_open(bytes.data, bytes.size, &fd);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        ck_assert_str_eq(fixture_ask(index, all[i].address), all[i].answer);
    symbol_index_close(index);
    fd_close(fd);
    buffer_fini(&bytes);
}
END_TEST

/* Nothing was known, or all of it left out, but there was something. */
START_TEST(an_index_of_debug_information_is_never_of_symbols_only)
{
    struct index_builder *left_out = fixture_builder();
    struct buffer bytes;

    make_small(&bytes);
    ck_assert(!knows_symbols_only(&bytes));
    buffer_fini(&bytes);
    index_builder_left_out(left_out, 0x1000, 0x2000);
    fixture_finish(left_out, &bytes);
    ck_assert(!knows_symbols_only(&bytes));
    buffer_fini(&bytes);
    fixture_finish(fixture_builder(), &bytes);
    ck_assert(!knows_symbols_only(&bytes));
    buffer_fini(&bytes);
}
END_TEST

START_TEST(the_first_of_overlapping_ranges_wins)
{
    struct index_builder *b = fixture_builder();
    struct symbol_index *index;
    struct buffer bytes;
    uint32_t first = fixture_node(b, INDEX_NONE, "first()", "", 0);
    uint32_t second = fixture_node(b, INDEX_NONE, "second()", "", 0);
    int fd;

    index_builder_range(b, 0x100, 0x110, first);
    index_builder_range(b, 0x100, 0x120, second);
    index_builder_range(b, 0x0f0, 0x104, second);
    index_builder_range(b, 0x110, 0x110, first);
    index_builder_range(b, 0x130, 0x120, first);
    fixture_finish(b, &bytes);
    index = fixture_open(bytes.data, bytes.size, &fd);
    ck_assert_str_eq(fixture_ask(index, 0x103),
                     "second() :0;  0-ffffffffffffffff");
    ck_assert_str_eq(fixture_ask(index, 0x10f),
                     "first() :0;  0-ffffffffffffffff");
    ck_assert_str_eq(fixture_ask(index, 0x110),
                     "second() :0;  0-ffffffffffffffff");
    ck_assert_str_eq(fixture_ask(index, 0x120), " 0-ffffffffffffffff");
    symbol_index_close(index);
    fd_close(fd);
    buffer_fini(&bytes);
}
END_TEST

START_TEST(of_a_chain_too_long_the_innermost_are_kept)
{
    struct index_builder *b = fixture_builder();
    struct index_symbol symbol;
    struct symbol_index *index;
    struct code_chain chain;
    struct buffer bytes;
    uint32_t node = INDEX_NONE;
    char name[16];
    int fd, failed;

    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "f%d()", i);
        node = fixture_node(b, node, name, "f.cc", (uint32_t)i);
    }
    index_builder_range(b, 0x100, 0x110, node);
    fixture_finish(b, &bytes);
    index = fixture_open(bytes.data, bytes.size, &fd);
    ck_assert(fixture_look_up(index, 0x100, &chain, &symbol, &failed));
    ck_assert_uint_eq(chain.count, NAMES_INLINE_MAX);
    ck_assert(span_is(chain.frames[0].name, "f199()"));
    ck_assert(span_is(chain.frames[NAMES_INLINE_MAX - 1].name, "f136()"));
    symbol_index_close(index);
    fd_close(fd);
    buffer_fini(&bytes);
}
END_TEST

START_TEST(long_texts_are_cut)
{
    struct index_builder *b = fixture_builder();
    struct index_symbol symbol;
    struct symbol_index *index;
    struct code_chain chain;
    struct buffer bytes;
    char *name = mem_alloc((size_t)3 * INDEX_TEXT_MAX);
    int fd, failed;

    memset(name, 'x', (size_t)3 * INDEX_TEXT_MAX);
    for (uint32_t i = 0; i < 40; i++) { /* many of them in a group */
        struct index_node node = {INDEX_NONE, 0, 0, 0, false, false};

        name[0] = (char)('A' + i);
        node.name = index_builder_name(
            b, (struct span){name, (size_t)3 * INDEX_TEXT_MAX - i});
        index_builder_range(b, (uint64_t)i * 16, (uint64_t)i * 16 + 16,
                            index_builder_node(b, &node));
    }
    fixture_finish(b, &bytes);
    index = fixture_open(bytes.data, bytes.size, &fd);
    for (uint32_t i = 0; i < 40; i++) {
        ck_assert(fixture_look_up(index, (uint64_t)i * 16 + 5, &chain, &symbol,
                                  &failed));
        ck_assert_uint_eq(chain.frames[0].name.size, INDEX_TEXT_MAX);
        ck_assert_int_eq(chain.frames[0].name.data[0], 'A' + (int)i);
    }
    symbol_index_close(index);
    fd_close(fd);
    buffer_fini(&bytes);
    mem_free(name);
}
END_TEST

/* ---- many ---- */

enum { MANY = 20000 };

static uint32_t
roll(uint32_t *dice)
{
    *dice ^= *dice << 13;
    *dice ^= *dice >> 17;
    return *dice ^= *dice << 5;
}

struct expected {
    uint64_t start, end;
    char name[64], outer[64];
    uint32_t line, call_line;
    char file[32];
};

/* Functions with one inlined place each, some far from the others. */
static void
make_many(struct buffer *out, struct expected *expected)
{
    struct index_builder *b = fixture_builder();
    uint64_t at = 0x400000;
    uint32_t dice = 7;

    for (int i = 0; i < MANY; i++) {
        struct expected *e = &expected[i];
        uint32_t outer, inner;

        e->start = at;
        e->end = at + 2 + roll(&dice) % 60;
        at = e->end + (roll(&dice) % 4 ? 0 : 16);
        if (roll(&dice) % 5000 == 0)
            at += UINT64_C(1) << 33;
        snprintf(e->outer, sizeof(e->outer), "ns%u::outer<%u>(int)",
                 roll(&dice) % 30, roll(&dice) % 9000);
        snprintf(e->name, sizeof(e->name), "std::vector<T%u>::push_back(T%u)",
                 roll(&dice) % 3000, roll(&dice) % 10);
        snprintf(e->file, sizeof(e->file), "/src/dir%u/file%u.cc",
                 roll(&dice) % 7, roll(&dice) % 50);
        e->line = 1 + roll(&dice) % (roll(&dice) % 9 ? 3000 : UINT32_MAX);
        e->call_line = roll(&dice) % 500;
        outer = fixture_node(b, INDEX_NONE, e->outer, "", 0);
        inner = fixture_node(b, outer, e->name, e->file, e->call_line);
        index_builder_range(b, e->start, e->end, inner);
        index_builder_row(b, e->start, e->end,
                          index_builder_file(b, span_of(e->file)), e->line);
    }
    fixture_finish(b, out);
    ck_assert_uint_eq(seal_items((uint8_t *)out->data, INDEX_NODES), 2 * MANY);
}

static void
ask_many(struct symbol_index *index, const struct expected *e, uint64_t address)
{
    char text[512];

    snprintf(text, sizeof(text), "%s in %s:%u; %s %s:%u;  0-ffffffffffffffff",
             e->name, e->file, e->line, e->outer, e->file, e->call_line);
    ck_assert_int_eq(strncmp(fixture_ask(index, address), text, strlen(text)),
                     0);
}

START_TEST(many_are_found_in_any_order)
{
    struct expected *expected = mem_zalloc(MANY, sizeof(*expected));
    struct symbol_index *index;
    struct buffer bytes;
    uint32_t dice = 99;
    int fd;

    make_many(&bytes, expected);
    index = fixture_open(bytes.data, bytes.size, &fd);
    for (int i = 0; i < MANY; i += 7) {
        ask_many(index, &expected[i], expected[i].start);
        ask_many(index, &expected[i], expected[i].end - 1);
    }
    for (int i = 0; i < MANY / 5; i++) {
        const struct expected *e = &expected[roll(&dice) % MANY];

        ask_many(index, e, e->start + roll(&dice) % (e->end - e->start));
    }
    symbol_index_close(index);
    fd_close(fd);
    buffer_fini(&bytes);
    mem_free(expected);
}
END_TEST

START_TEST(keys_are_found_in_any_order_with_blocks_read_ahead_or_not)
{
    struct expected *expected = mem_zalloc(MANY, sizeof(*expected));
    struct index_blocks blocks = {0};
    const struct index_table *nodes = &blocks.tables[INDEX_NODES];
    struct buffer bytes;
    uint32_t dice = 3;
    int fd;

    make_many(&bytes, expected);
    fd = fixture_fd(bytes.data, bytes.size);
    ck_assert_int_eq(
        index_blocks_open(&blocks, fd, fixture_id, sizeof(fixture_id), NULL),
        0);
    ck_assert_uint_gt(nodes->count, 2 * INDEX_RUNS);
    for (uint64_t keys = 0; keys < 3; keys++) {
        index_blocks_expect(&blocks, INDEX_NODES, keys * 2 * nodes->count);
        ck_assert_uint_eq(nodes->ahead, keys ? keys * 2 : 1);
        for (int i = 0; i < MANY; i++) {
            uint64_t node = roll(&dice) % (2 * MANY);
            const struct index_group *group =
                index_blocks_find(&blocks, INDEX_NODES, node);

            ck_assert_ptr_nonnull(group);
            ck_assert(node >= group->first && node < group->next);
            group = index_blocks_find(&blocks, INDEX_ROWS, expected[i].start);
            ck_assert_ptr_nonnull(group);
        }
    }
    index_blocks_close(&blocks);
    fd_close(fd);
    buffer_fini(&bytes);
    mem_free(expected);
}
END_TEST

/* A name, and bytes that no names have. */
START_TEST(names_of_any_bytes_are_kept_up_to_a_nul)
{
    struct index_builder *b = fixture_builder();
    struct symbol_index *index;
    struct buffer bytes;
    int fd;

    index_builder_symbol(
        b, 0x100, 0x110, 0x100,
        index_builder_name(b, (struct span){"\xff\x80 \1;\0x", 7}));
    fixture_finish(b, &bytes);
    index = fixture_open(bytes.data, bytes.size, &fd);
    ck_assert_str_eq(fixture_ask(index, 0x104), "\xff\x80 \1; 100-110");
    symbol_index_close(index);
    fd_close(fd);
    buffer_fini(&bytes);
}
END_TEST

/* ---- many at once ---- */

struct taken {
    uint32_t count, names, stop_at;
    char texts[64][64]; /* by their numbers */
    uint32_t last;      /* name */
};

/* symbol_index_question.text: names come in their order, each once. */
static int
take_text(void *arg, struct span text, enum symbol_index_use use,
          uint32_t *number)
{
    struct taken *taken = arg;

    ck_assert_uint_eq(text.data[text.size], '\0');
    ck_assert_uint_eq(strlen(text.data), text.size);
    if (use != INDEX_USE_FILE) {
        ck_assert_int_gt(strcmp(text.data, taken->texts[taken->last]), 0);
        taken->last = taken->count + 1;
        taken->names++;
    }
    *number = ++taken->count;
    ck_assert_uint_lt(*number, 64);
    snprintf(taken->texts[*number], sizeof(taken->texts[0]), "%s", text.data);
    return taken->count == taken->stop_at ? 7 : 0;
}

START_TEST(many_at_once_are_answered_as_one_by_one)
{
    uint64_t addresses[2 * SMALL];
    struct taken taken = {0};
    struct symbol_index_question question = {.addresses = addresses,
                                             .count = 2 * SMALL,
                                             .text = take_text,
                                             .arg = &taken};
    struct symbol_index *index, *single;
    struct index_symbol symbol, alone;
    struct code_chain chain, one;
    struct buffer bytes;
    int fd, other, failed;

    make_small(&bytes);
    index = fixture_open(bytes.data, bytes.size, &fd);
    single = fixture_open(bytes.data, bytes.size, &other);
    for (int i = 0; i < 2 * SMALL; i++) /* up, and down again */
        addresses[i] = small[i < SMALL ? i : 2 * SMALL - 1 - i].address;
    ck_assert_int_eq(symbol_index_look_up(index, &question), 0);
    for (uint32_t i = 0; i < 2 * SMALL; i++) {
        bool known =
            fixture_look_up(single, addresses[i], &one, &alone, &failed);

        ck_assert_int_eq(symbol_index_answer(index, i, &chain, &symbol),
                         known ? INDEX_KNOWN : INDEX_UNKNOWN);
        if (!known)
            continue;
        ck_assert_uint_eq(chain.count, one.count);
        ck_assert_uint_eq(symbol.start, alone.start);
        ck_assert_str_eq(taken.texts[symbol.number], alone.name.data);
        for (uint32_t k = 0; k < chain.count; k++) {
            const struct code_frame *f = &chain.frames[k], *g = &one.frames[k];

            ck_assert_str_eq(taken.texts[f->name_number], g->name.data);
            ck_assert_str_eq(taken.texts[f->file_number], g->file.data);
            ck_assert_str_eq(f->name.data, g->name.size ? "#" : "");
            ck_assert_uint_eq(f->line, g->line);
        }
    }
    ck_assert_uint_gt(taken.names, 4);
    symbol_index_close(index);
    symbol_index_close(single);
    fd_close(fd);
    fd_close(other);
    buffer_fini(&bytes);
}
END_TEST

/* What was said, in one line: 'f' a function's name, 's' a symbol's, 'p' a
 * path; a text has the number of its place. */
struct uses {
    uint32_t count;
    struct {
        enum symbol_index_use use;
        char text[64];
    } told[64];
};

static int
take_use(void *arg, struct span text, enum symbol_index_use use,
         uint32_t *number)
{
    struct uses *uses = arg;

    for (uint32_t i = 0; i < uses->count; i++) /* once for each */
        ck_assert(uses->told[i].use != use ||
                  strcmp(uses->told[i].text, text.data) != 0);
    ck_assert_uint_lt(uses->count, 64);
    uses->told[uses->count].use = use;
    snprintf(uses->told[uses->count].text, sizeof(uses->told[0].text), "%s",
             text.data);
    *number = ++uses->count;
    return 0;
}

static void
check_use(const struct uses *uses, uint32_t number, enum symbol_index_use use,
          const char *text)
{
    if (!*text) {
        ck_assert_uint_eq(number, 0);
        return;
    }
    ck_assert(number > 0 && number <= uses->count);
    ck_assert_int_eq(uses->told[number - 1].use, use);
    ck_assert_str_eq(uses->told[number - 1].text, text);
}

/* Of 150 names, so that there are several words of wanted ones: each is a
 * function's, a symbol's, both, or neither's here. */
enum { NAMED = 150 };

START_TEST(separate_symbols_are_passed_once_for_each_use)
{
    static const char *const addresses_of[] = {"fn", "sym", "both", "other"};
    struct index_builder *b = fixture_builder();
    struct symbol_index *index;
    struct index_symbol symbol;
    struct code_chain chain;
    struct buffer bytes;
    uint64_t addresses[24];
    struct uses uses = {0};
    struct symbol_index_question question = {.addresses = addresses,
                                             .count = 24,
                                             .with_symbols = _i == 0,
                                             .text = take_use,
                                             .arg = &uses};
    enum symbol_index_use symbol_use =
        question.with_symbols ? INDEX_USE_SYMBOL : INDEX_USE_FUNCTION;
    char name[64];
    int fd;

    for (uint32_t i = 0; i < NAMED; i++) {
        uint64_t start = 0x1000 + i * 16;
        uint32_t node, text;

        snprintf(name, sizeof(name), "%s%03u.cold", addresses_of[i % 4], i);
        text = index_builder_name(b, span_of(name));
        node = fixture_node(b, INDEX_NONE, i % 4 == 1 ? "main" : name, "", 0);
        if (i % 4 != 3)
            index_builder_range(b, start, start + 16, node);
        index_builder_symbol(b, start, start + 16, start,
                             i % 4 == 0 ? index_builder_name(b, span_of("main"))
                                        : text);
    }
    fixture_finish(b, &bytes);
    index = fixture_open(bytes.data, bytes.size, &fd);
    for (uint32_t i = 0; i < 24; i++)
        addresses[i] = 0x1000 + (uint64_t)i * 5 * 16 + 3;
    for (int round = 0; round < 2; round++) { /* nothing is left of the first */
        memset(&uses, 0, sizeof(uses));
        ck_assert_int_eq(symbol_index_look_up(index, &question), 0);
        for (uint32_t i = 0; i < 24; i++) {
            uint32_t of = i * 5;

            snprintf(name, sizeof(name), "%s%03u.cold", addresses_of[of % 4],
                     of);
            ck_assert_int_eq(symbol_index_answer(index, i, &chain, &symbol),
                             INDEX_KNOWN);
            check_use(&uses, symbol.number, symbol_use,
                      of % 4 == 0 ? "main" : name);
            ck_assert_uint_eq(symbol.start, 0x1000 + of * 16);
            ck_assert_uint_eq(chain.count, of % 4 != 3);
            if (chain.count)
                check_use(&uses, chain.frames[0].name_number,
                          INDEX_USE_FUNCTION, of % 4 == 1 ? "main" : name);
        }
    }
    symbol_index_close(index);
    fd_close(fd);
    buffer_fini(&bytes);
}
END_TEST

START_TEST(the_text_callback_can_end_it)
{
    uint64_t addresses[SMALL];
    struct taken taken = {.stop_at = 2};
    struct symbol_index_question question = {.addresses = addresses,
                                             .count = SMALL,
                                             .text = take_text,
                                             .arg = &taken};
    struct symbol_index *index;
    struct buffer bytes;
    int fd;

    make_small(&bytes);
    index = fixture_open(bytes.data, bytes.size, &fd);
    for (int i = 0; i < SMALL; i++)
        addresses[i] = small[i].address;
    ck_assert_int_eq(symbol_index_look_up(index, &question), 7);
    ck_assert_uint_eq(taken.count, 2);
    symbol_index_close(index);
    fd_close(fd);
    buffer_fini(&bytes);
}
END_TEST

START_TEST(unneeded_files_and_lines_are_left_out)
{
    uint64_t address = 0x100c;
    struct taken taken = {0};
    struct symbol_index_question question = {.addresses = &address,
                                             .count = 1,
                                             .no_lines = true,
                                             .text = take_text,
                                             .arg = &taken};
    struct symbol_index *index;
    struct index_symbol symbol;
    struct code_chain chain;
    struct buffer bytes;
    int fd;

    make_small(&bytes);
    index = fixture_open(bytes.data, bytes.size, &fd);
    ck_assert_int_eq(symbol_index_look_up(index, &question), 0);
    ck_assert_int_eq(symbol_index_answer(index, 0, &chain, &symbol),
                     INDEX_KNOWN);
    ck_assert_uint_eq(chain.count, 3);
    for (uint32_t i = 0; i < chain.count; i++) {
        ck_assert_uint_eq(chain.frames[i].line, 0);
        ck_assert_uint_eq(chain.frames[i].file.size, 0);
    }
    ck_assert_uint_eq(taken.count, taken.names);
    symbol_index_close(index);
    fd_close(fd);
    buffer_fini(&bytes);
}
END_TEST

/* ---- functions, for callers that ask for their symbols ---- */

struct told {
    char text[512];
};

static void
tell(void *arg, uint64_t start, uint64_t end, uint32_t root)
{
    struct told *told = arg;
    size_t n = strlen(told->text);

    ck_assert_uint_lt(start, end);
    snprintf(told->text + n, sizeof(told->text) - n,
             "%" PRIx64 "-%" PRIx64 ":%d ", start, end, (int)root);
}

static const struct {
    uint64_t start, end;
    const char *runs;
} runs[] = {
    {0xf00, 0x5000,
     "f00-1000:-1 1000-1020:0 1020-2000:-1 2000-2010:3 "
     "2010-5000:-1 "},
    {0x1008, 0x1018, "1008-1018:0 "},
    {0x1010, 0x2008, "1010-1020:0 1020-2000:-1 2000-2008:3 "},
    {0x3010, 0x3020, "3010-3020:-1 "},
    {0x6000, 0x6010, "6000-6010:-1 "},
    {0x6000, 0x6000, ""},
    {0x2010, 0x2000, ""},
};

START_TEST(runs_have_one_outermost_function)
{
    struct index_builder *builder = fixture_builder();
    struct told told = {""};

    fixture_small(builder);
    ck_assert_int_eq(index_builder_roots(builder, runs[_i].start, runs[_i].end,
                                         tell, &told, NULL),
                     0);
    ck_assert_str_eq(told.text, runs[_i].runs);
    index_builder_free(builder);
}
END_TEST

/* ---- without memory ---- */

START_TEST(writing_without_memory_is_an_error)
{
    struct dwarf_budget no_ceiling = {.max = SIZE_MAX};
    struct error err;
    bool done = false;

    for (unsigned n = 1; !done; n++) {
        struct index_builder *builder;
        struct buffer bytes;
        int rc = -1;

        buffer_init(&bytes, 1 << 20);
        memset(&err, 0, sizeof(err));
        allocations = 0;
        failing = n;
        builder = index_builder_new(&no_ceiling);
        if (builder) {
            fixture_small(builder);
            rc = index_builder_finish(builder, fixture_id, sizeof(fixture_id),
                                      fixture_write, &bytes, &err);
            ck_assert(rc == 0 || err.text[0] != '\0');
        }
        done = allocations < n;
        failing = 0;
        ck_assert_int_eq(rc, done ? 0 : -1);
        index_builder_free(builder);
        buffer_fini(&bytes);
    }
}
END_TEST

START_TEST(reading_without_memory_is_an_error)
{
    struct buffer bytes;
    bool done = false;
    int fd;

    make_small(&bytes);
    fd = fixture_fd(bytes.data, bytes.size);
    for (unsigned n = 1; !done; n++) {
        struct symbol_index *index;
        bool right = true;

        allocations = 0;
        failing = n;
        index = symbol_index_open(fd, fixture_id, sizeof(fixture_id), NULL);
        for (int i = 0; index && i < SMALL; i++) {
            const char *answer = fixture_ask(index, small[i].address);

            if (strcmp(answer, "damaged") == 0)
                right = false;
            else
                ck_assert_str_eq(answer, small[i].answer);
        }
        done = allocations < n;
        failing = 0;
        ck_assert_int_eq(index && right, done);
        symbol_index_close(index);
    }
    fd_close(fd);
    buffer_fini(&bytes);
}
END_TEST

START_TEST(a_ceiling_on_memory_holds_and_all_is_given_back)
{
    unsigned failures = 0;
    int rc = -1;

    for (size_t max = 1 << 10; rc != 0; max += 1 << 10) {
        struct dwarf_budget budget = {.max = max};
        struct index_builder *builder = index_builder_new(&budget);
        struct error err = {0};
        struct buffer bytes;

        buffer_init(&bytes, 1 << 20);
        if (builder) {
            fixture_small(builder);
            rc = index_builder_finish(builder, fixture_id, sizeof(fixture_id),
                                      fixture_write, &bytes, &err);
            if (rc != 0)
                ck_assert_ptr_nonnull(strstr(err.text, "memory"));
            index_builder_free(builder);
        }
        failures += rc != 0;
        ck_assert_uint_eq(budget.used, 0);
        buffer_fini(&bytes);
    }
    ck_assert_uint_gt(failures, 2);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("symbol_index");
    TCase *tcase = tcase_create("symbol_index");

    tcase_set_timeout(tcase, 240);
    tcase_add_test(tcase, every_kind_of_address_is_answered);
    tcase_add_test(tcase, an_index_of_nothing_answers_nothing);
    tcase_add_test(tcase,
                   without_debug_information_symbols_are_known_everywhere);
    tcase_add_test(tcase,
                   an_index_of_debug_information_is_never_of_symbols_only);
    tcase_add_test(tcase, the_first_of_overlapping_ranges_wins);
    tcase_add_test(tcase, of_a_chain_too_long_the_innermost_are_kept);
    tcase_add_test(tcase, long_texts_are_cut);
    tcase_add_test(tcase, many_are_found_in_any_order);
    tcase_add_test(tcase, names_of_any_bytes_are_kept_up_to_a_nul);
    tcase_add_test(tcase,
                   keys_are_found_in_any_order_with_blocks_read_ahead_or_not);
    tcase_add_test(tcase, many_at_once_are_answered_as_one_by_one);
    tcase_add_loop_test(tcase, separate_symbols_are_passed_once_for_each_use, 0,
                        2);
    tcase_add_test(tcase, the_text_callback_can_end_it);
    tcase_add_test(tcase, unneeded_files_and_lines_are_left_out);
    tcase_add_loop_test(tcase, runs_have_one_outermost_function, 0,
                        sizeof(runs) / sizeof(runs[0]));
    tcase_add_test(tcase, writing_without_memory_is_an_error);
    tcase_add_test(tcase, reading_without_memory_is_an_error);
    tcase_add_test(tcase, a_ceiling_on_memory_holds_and_all_is_given_back);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
