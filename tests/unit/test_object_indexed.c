/*
 * test_object_indexed.c - names of an index that is read here are those that
 * the helper reads from it, whatever is in it, on however many cores.
 *
 * The object is this very program; its index is made up, but for what it
 * leaves out, which the helper's DWARF answers.
 */
#include <elf.h>
#include <fcntl.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clean_text.h"
#include "elf_file.h"
#include "failing_memory.h"
#include "heap_dump.h"
#include "index_fixture.h"
#include "index_seal.h"
#include "mappings.h"
#include "profile.h"
#include "suite.h"
#include "symbolizer.h"
#include "thread.h"
#include "view.h"

enum {
    FUNCTION = 16,   /* bytes of each, of which the first is asked for */
    FUNCTIONS = 600, /* enough for 3 parts */
    DEPTH = 4,       /* addresses of a stack */
    HELD = 2         /* threads */
};

static const uint64_t bias = 0x10000000; /* where the program is loaded */

/* ---- cores and threads, as the test wants them ---- */

unsigned __wrap_thread_cores(void);
int __wrap_thread_start(pthread_t *thread, const struct thread_start *start,
                        struct error *err);
int __real_thread_start(pthread_t *thread, const struct thread_start *start,
                        struct error *err);
uint64_t __wrap_clock_ms(void);
uint64_t __real_clock_ms(void);

static unsigned cores, threads_started, threads_max;
static bool held[HELD]; /* threads that take their time, in their order */
static bool waits;      /* this thread does before it goes on */
static unsigned clock_calls, clock_jumps; /* at which call; 0: never */

static void
nap(void)
{
    const struct timespec a_while = {0, 20 * 1000 * 1000};

    nanosleep(&a_while, NULL);
}

static void *
go_late(void *arg)
{
    const struct thread_start *start = arg;

    nap();
    return start->body(start->arg);
}

unsigned
__wrap_thread_cores(void)
{
    return cores;
}

int
__wrap_thread_start(pthread_t *thread, const struct thread_start *start,
                    struct error *err)
{
    static struct thread_start held_starts[HELD];
    struct thread_start other = *start;

    if (threads_started == threads_max)
        return -1;
    if (threads_started < HELD && held[threads_started]) {
        held_starts[threads_started] = *start;
        other.body = go_late;
        other.arg = &held_starts[threads_started];
    }
    threads_started++;
    if (__real_thread_start(thread, &other, err) != 0)
        return -1;
    if (waits)
        nap();
    return 0;
}

/* An hour goes by. */
uint64_t
__wrap_clock_ms(void)
{
    unsigned calls = __atomic_add_fetch(&clock_calls, 1, __ATOMIC_RELAXED);

    return __real_clock_ms() +
           (clock_jumps && calls >= clock_jumps ? 3600 * 1000 : 0);
}

/* ---- the object and its index ---- */

static struct elf_file object;
static uint64_t code; /* its first address */
static struct mapping mapping;
static const struct mappings maps = {&mapping, 1};
static struct buffer bytes; /* of the index */
static uint64_t addresses[FUNCTIONS];
static unsigned asked; /* of the helper */

static void
open_object_file(void)
{
    struct error err = {0};
    struct stat st;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_msg(elf_init(&object, fd, "test", &err) == 0, "%s", err.text);
    ck_assert_uint_gt(object.build_id_size, 0);
    ck_assert_int_eq(fstat(fd, &st), 0);
    for (size_t i = 0; i < object.segment_count; i++) {
        const struct elf_segment *s = &object.segments[i];

        if (s->type != PT_LOAD || !(s->flags & PF_X))
            continue;
        ck_assert_uint_gt(s->file_size, FUNCTIONS * FUNCTION);
        code = s->address;
        mapping.start = bias + s->address;
        mapping.end = mapping.start + ((s->file_size + 4095) & ~4095ULL);
        mapping.offset = s->offset;
        mapping.device = st.st_dev;
        mapping.inode = st.st_ino;
        mapping.executable = true;
        mapping.path = "/usr/bin/db";
    }
    ck_assert_uint_gt(code, 0);
}

/* Names that the views do something with. */
static const char *const odd_names[] = {
    "db::open(char const*)",
    "db::open<int>(char const*)",
    "db::Table<std::vector<int, std::allocator<int> > >::find(int) const",
    "(anonymous namespace)::hidden(unsigned long)",
    "bool ns::operator< <int>(A const&, A const&)",
    "ns::A::operator->() const",
    "ns::A::operator()(int) const",
    "ns::operator<<(std::ostream&, ns::A const&)",
    "ns::operator>>(std::istream&, ns::A&)",
    "ns::A::operator<=>(ns::A const&) const",
    "main::{lambda(int)#1}::operator()(int) const",
    "ns::X::operator std::string() const",
    "tagged<1f>",
    "tagged<2f>",
    "tagged<2f>()",
    "tagged<A>::run() [clone .cold]",
    "templated<int>",
    "templated<char>",
    "templated",
    "call<(char)60>",
    "call<(char)60>()",
    "unbalanced((a",
    "a)b(c)",
    "x>y<z",
    "<anonymous>",
    "<1f>",
    "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
    "int (*ns::table())(char)",
    "ns::Callback<int>::Run(int)",
    "void ns::Callback1<true>::Run()",
    "operator new(unsigned long)",
    "operator new[](unsigned long, std::nothrow_t const&)",
    "malloc",
    "std::__1::__libcpp_allocate[abi:v160006](unsigned long, unsigned long)",
    "f(int) const && noexcept",
    "+0x12",
    "()+0x12",
    "??",
    "#",
    "bad \"quotes\" \\l \\ and {braces|bars}",
    "control \001\002\033[31m bytes\n of\tit",
    "broken \xff\xc3( \xe2\x82 UTF-8",
    "\xc3\xbc\x62\x65r::gr\xc3\xb6\xc3\x9f\x65(int)",
    "ends with broken\xc3",
    "f(\xff)<\n>",
    ";semicolons;and spaces (x)",
    "start.cold",
};

enum { ODD = sizeof(odd_names) / sizeof(odd_names[0]) };

static uint32_t
roll(uint32_t *dice)
{
    *dice ^= *dice << 13;
    *dice ^= *dice >> 17;
    return *dice ^= *dice << 5;
}

/* One of a few dozens, or many. */
static uint32_t
any_name(struct index_builder *b, uint32_t *dice)
{
    char name[512];

    if (roll(dice) % 4 == 0)
        snprintf(name, sizeof(name), "ns%u::many<T%u>(int)", roll(dice) % 5,
                 roll(dice) % 900);
    else
        snprintf(name, sizeof(name), "%s", odd_names[roll(dice) % ODD]);
    return index_builder_name(b, span_of(name));
}

static uint32_t
any_file(struct index_builder *b, uint32_t *dice)
{
    char name[64];

    if (roll(dice) % 9 == 0)
        return index_builder_file(b, span_of(""));
    snprintf(name, sizeof(name), "/src/%s%u.cc",
             roll(dice) % 7 ? "dir/" : "\"\xff\n{", roll(dice) % 20);
    return index_builder_file(b, span_of(name));
}

/* A function's code of any kind. */
static void
add_function(struct index_builder *b, uint64_t start, uint32_t *dice)
{
    uint64_t end = start + FUNCTION;
    uint32_t node = INDEX_NONE, deep = roll(dice) % 4;

    if (roll(dice) % 20 == 0)
        return; /* nobody knows it */
    if (roll(dice) % 20 == 0) {
        index_builder_left_out(b, start, end);
        return;
    }
    for (uint32_t i = 0; i < deep; i++) {
        bool linkage = roll(dice) % 3;
        struct index_node next = {
            .parent = node,
            .name = roll(dice) % 30 ? any_name(b, dice)
                                    : index_builder_name(b, span_of("")),
            .call_file = any_file(b, dice),
            .call_line = roll(dice) % 100,
            .linkage = linkage,
            .inlined = i > 0,
            .starts = !linkage && roll(dice) % 2,
        };

        node = index_builder_node(b, &next);
    }
    if (node != INDEX_NONE)
        index_builder_range(b, start, end, node);
    if (roll(dice) % 3)
        index_builder_row(b, start, end, any_file(b, dice), roll(dice) % 1000);
    if (roll(dice) % 4)
        index_builder_symbol(b, start, end, start - roll(dice) % 3 * FUNCTION,
                             any_name(b, dice));
    else if (roll(dice) % 4)
        index_builder_function(b, start, end, start);
}

static void
make_index(uint32_t seed, bool packed)
{
    struct index_builder *b = fixture_builder();
    struct symbol_index_figures figures = {0};
    struct error err = {0};

    for (uint32_t i = 0; i < FUNCTIONS; i++)
        add_function(b, code + (uint64_t)i * FUNCTION, &seed);
    buffer_init(&bytes, 16 << 20);
    ck_assert_msg(index_builder_finish(b, object.build_id, object.build_id_size,
                                       packed ? 0 : UINT64_MAX, fixture_write,
                                       &bytes, &figures, &err) == 0,
                  "%s", err.text);
    ck_assert_int_eq(bytes.data[10], packed);
    index_builder_free(b);
}

static void
set_up(void)
{
    cores = 4;
    threads_started = 0;
    threads_max = UINT32_MAX;
    memset(held, 0, sizeof(held));
    waits = false;
    clock_calls = clock_jumps = 0;
    asked = 0;
    open_object_file();
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        addresses[i] = bias + code + (uint64_t)i * FUNCTION;
}

static void
tear_down(void)
{
    int fd = object.fd;

    elf_fini(&object);
    fd_close(fd);
    buffer_fini(&bytes);
}

/* ---- names ---- */

static int
open_index(void *arg, const struct elf_file *elf, struct error *why)
{
    (void)arg, (void)elf;
    why->text[0] = '\0';
    return bytes.size ? fixture_fd(bytes.data, bytes.size) : -1;
}

static void
count_asked(void *arg, const struct symbolizer_asked *of)
{
    (void)arg, (void)of;
    asked++;
}

static int
open_object(void *arg, const struct mapping *which)
{
    (void)arg, (void)which;
    return fcntl(object.fd, F_DUPFD_CLOEXEC, 0);
}

static const char helper[] = HW_TEST_BIN "/heapwire-symbolizer";

/* NULL with *err. */
static struct names *
try_to_resolve(const struct symbolizer_options *from, size_t count,
               struct error *err)
{
    static const struct symbolizer_indexes indexes = {open_index, count_asked,
                                                      NULL};
    struct symbolizer_options options = *from;
    struct resolve_request request = {.maps = &maps,
                                      .addresses = addresses,
                                      .count = count,
                                      .open_object = open_object};
    struct symbolizer *s;
    struct names *names = NULL;

    options.indexes = &indexes;
    if (!options.program)
        options.program = helper;
    s = symbolizer_new(&options, err);
    if (s && symbolizer_resolve(s, &request, &names, err) != 0)
        names = NULL;
    symbolizer_free(s);
    return names;
}

static struct names *
resolve(const struct symbolizer_options *options)
{
    struct error err = {0};
    struct names *names = try_to_resolve(options, FUNCTIONS, &err);

    ck_assert_msg(names != NULL, "%s", err.text);
    ck_assert_uint_eq(names_count(names), FUNCTIONS);
    return names;
}

/* The i-th address's name in one line. */
static const char *
line_of(const struct names *names, size_t i)
{
    static char text[2][1 << 16];
    static unsigned which;
    const struct location *l = names_find(names, addresses[i]);
    char *out = text[which++ & 1];
    size_t n = 0;

    ck_assert_ptr_nonnull(l);
    for (uint32_t k = 0; k < l->frame_count; k++)
        n += (size_t)snprintf(out + n, sizeof(text[0]) - n, "%s %s:%u; ",
                              l->frames[k].function, l->frames[k].file,
                              l->frames[k].line);
    snprintf(out + n, sizeof(text[0]) - n, "%s %" PRIx64 " %s %" PRIx64,
             l->symbol ? l->symbol : "(none)", l->symbol_start, l->module,
             l->module_offset);
    return out;
}

static void
check_equal(const struct names *a, const struct names *b)
{
    ck_assert_str_eq(names_note(a), names_note(b));
    for (size_t i = 0; i < FUNCTIONS; i++) /* an assertion takes its time */
        if (strcmp(line_of(a, i), line_of(b, i)) != 0)
            ck_assert_str_eq(line_of(a, i), line_of(b, i));
}

static const struct {
    unsigned cores, threads;
} machines[] = {
    {1, UINT32_MAX},  {2, UINT32_MAX}, {3, UINT32_MAX}, {8, UINT32_MAX},
    {64, UINT32_MAX}, {8, 0},          {8, 2},          {3, 1}};

enum { MACHINES = sizeof(machines) / sizeof(machines[0]) };

START_TEST(names_are_those_that_the_helper_reads)
{
    const struct symbolizer_options by_helper = {.once = true};
    const struct symbolizer_options here = {.once = true, .here = true};
    struct names *expected, *names;
    unsigned parts = 1 + FUNCTIONS / 256;

    make_index(1 + (uint32_t)_i, _i % 2);
    expected = resolve(&by_helper);
    ck_assert_uint_eq(threads_started, 0);
    for (size_t i = 0; i < MACHINES; i++) {
        unsigned most = machines[i].cores < parts ? machines[i].cores : parts;

        cores = machines[i].cores;
        threads_max = machines[i].threads;
        threads_started = 0;
        names = resolve(&here);
        ck_assert_uint_eq(threads_started,
                          most - 1 < threads_max ? most - 1 : threads_max);
        check_equal(names, expected);
        names_free(names);
    }
    names_free(expected);
}
END_TEST

/* Each part waits for those before it, and for its own thread. */
START_TEST(parts_may_be_done_in_any_order)
{
    static const struct {
        bool held[HELD], waits;
    } orders[] = {{{true, false}, false},
                  {{false, true}, false},
                  {{true, true}, false},
                  {{false, false}, true}};
    const struct symbolizer_options by_helper = {.once = true};
    const struct symbolizer_options here = {.once = true, .here = true};
    struct names *expected, *names;

    make_index(11, _i % 2);
    expected = resolve(&by_helper);
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        memcpy(held, orders[i].held, sizeof(orders[i].held));
        waits = orders[i].waits;
        threads_started = 0;
        names = resolve(&here);
        ck_assert_uint_eq(threads_started, 2);
        check_equal(names, expected);
        names_free(names);
    }
    names_free(expected);
}
END_TEST

/* ---- views ---- */

static const struct {
    const char *what;
    enum granularity granularity;
    const char *focus, *ignore;
    bool allocator_frames;
} ways[] = {
    {"plain", GRANULARITY_FUNCTIONS, NULL, NULL, false},
    {"allocator", GRANULARITY_FUNCTIONS, NULL, NULL, true},
    {"lines", GRANULARITY_LINES, NULL, NULL, false},
    {"files", GRANULARITY_FILES, NULL, NULL, false},
    {"addresses", GRANULARITY_ADDRESSES, NULL, NULL, false},
    {"focus", GRANULARITY_FUNCTIONS, "operator", NULL, false},
    {"ignore", GRANULARITY_FUNCTIONS, NULL, "many|hidden", false},
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static struct heap_dump *
make_dump(void)
{
    struct error err = {0};
    struct heap_dump *dump;
    struct buffer text;
    char line[64];
    uint32_t dice = 5;

    buffer_init(&text, 1 << 20);
    buffer_text(&text, "heap_v2/1\n  t*: 1: 1 [0: 0]\n");
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        buffer_text(&text, "@");
        for (uint32_t k = 0; k < DEPTH; k++) { /* all but the leaf return */
            uint64_t at = k ? roll(&dice) % FUNCTIONS : i;

            snprintf(line, sizeof(line), " 0x%" PRIx64,
                     addresses[at] + (k > 0));
            buffer_text(&text, line);
        }
        snprintf(line, sizeof(line), "\n  t*: 1: %u [0: 0]\n",
                 1000 + roll(&dice) % 1000);
        buffer_text(&text, line);
    }
    dump = heap_dump_parse(text.data, text.size, &err);
    ck_assert_msg(dump != NULL, "%s", err.text);
    ck_assert_uint_eq(dump->address_count, FUNCTIONS);
    buffer_fini(&text);
    return dump;
}

static void
render(struct names *names, const struct view_form *form,
       const struct view_options *how, struct buffer *out)
{
    struct heap_dump *dump = make_dump();
    struct error err = {0};
    struct profile *profile =
        profile_new(dump, names, "/usr/bin/db", NULL, &err);

    ck_assert_msg(profile != NULL, "%s", err.text);
    buffer_init(out, 64 << 20);
    ck_assert_msg(form->render(profile, how, out, &err) == 0, "%s", err.text);
    ck_assert_uint_gt(out->size, 200);
    ck_assert_ptr_null(memmem(out->data, out->size, "no stack matches", 16));
    profile_free(profile);
    heap_dump_free(dump);
}

/* Nothing that a terminal would obey, or that is no UTF-8. */
static void
check_clean(const struct buffer *out)
{
    char *clean = malloc(out->size + 1);

    ck_assert_ptr_nonnull(clean);
    clean_text((struct span){out->data, out->size}, clean);
    for (size_t i = 0; i < out->size; i++)
        ck_assert_msg(out->data[i] == clean[i] || out->data[i] == '\n',
                      "byte %d at %zu", out->data[i], i);
    free(clean);
}

/* As heapwire-prof asks for them: the least that will do. */
START_TEST(every_view_is_the_same)
{
    const struct symbolizer_options by_helper = {.once = true};
    struct names *all;

    make_index(77 + (uint32_t)_i, _i % 2);
    all = resolve(&by_helper);
    for (size_t i = 0; i < view_form_count; i++)
        for (size_t k = 0; k < WAYS; k++) {
            const struct view_form *form = &view_forms[i];
            struct view_options how = view_defaults;
            struct symbolizer_options here = {.once = true, .here = true};
            struct buffer expected, got;
            struct names *names;

            if (strcmp(form->name, "svg") == 0) /* DOT's, by another program */
                continue;
            if ((i + k) % 2 != (size_t)_i) /* the other half is packed */
                continue;
            how.granularity = ways[k].granularity;
            how.focus = ways[k].focus;
            how.ignore = ways[k].ignore;
            how.allocator_frames = ways[k].allocator_frames;
            how.nodecount = 100000;
            how.nodefraction = how.edgefraction = 0;
            how.maxdegree = 1000;
            here.no_lines = !view_needs_places(form, &how);
            here.short_names = view_takes_short_names(form, &how);
            names = resolve(&here);
            render(all, form, &how, &expected);
            render(names, form, &how, &got);
            names_free(names);
            if (!form->binary)
                check_clean(&got);
            if (got.size != expected.size ||
                memcmp(got.data, expected.data, got.size) != 0) {
                size_t at = 0;

                while (at < got.size && at < expected.size &&
                       got.data[at] == expected.data[at])
                    at++;
                at = at > 60 ? at - 60 : 0;
                ck_abort_msg("--%s, %s: '%.150s', not '%.150s'", form->name,
                             ways[k].what, got.data + at, expected.data + at);
            }
            buffer_fini(&expected);
            buffer_fini(&got);
        }
    names_free(all);
}
END_TEST

/* ---- damage ---- */

/* Some bytes become others; sealed: their checksums are right nevertheless. */
static void
damage(uint32_t *dice, bool sealed)
{
    for (uint32_t n = 1 + roll(dice) % 4; n > 0; n--)
        bytes.data[roll(dice) % bytes.size] ^= (char)(1 << roll(dice) % 8);
    if (roll(dice) % 4 == 0)
        bytes.size -= roll(dice) % (bytes.size / 4);
    if (sealed)
        index_seal((uint8_t *)bytes.data, bytes.size);
}

START_TEST(a_damaged_index_says_what_it_says_to_the_helper)
{
    const struct symbolizer_options by_helper = {.once = true};
    const struct symbolizer_options here = {.once = true, .here = true};
    uint32_t dice = 1234 + (uint32_t)_i;

    for (int i = 0; i < 6; i++) {
        struct names *expected, *names;

        make_index(7, _i % 2);
        damage(&dice, _i / 2);
        expected = resolve(&by_helper);
        cores = _i / 2 ? 1 : 1 + (unsigned)i % 4;
        names = resolve(&here);
        check_equal(names, expected);
        names_free(names);
        names_free(expected);
        buffer_fini(&bytes);
    }
}
END_TEST

START_TEST(of_another_build_it_is_refused)
{
    const struct symbolizer_options by_helper = {.once = true};
    const struct symbolizer_options here = {.once = true, .here = true};
    struct names *names, *expected;

    object.build_id[0] ^= 1;
    make_index(7, _i % 2);
    object.build_id[0] ^= 1;
    names = resolve(&here);
    expected = resolve(&by_helper);
    check_equal(names, expected);
    ck_assert_ptr_nonnull(strstr(names_note(names), "symbol index"));
    ck_assert_uint_eq(asked, 2);
    names_free(names);
    names_free(expected);
}
END_TEST

/* ---- without memory ---- */

/* Each is as expected, or not known.  How many are not. */
static size_t
check_known(const struct names *names, const struct names *expected)
{
    size_t unknown = 0;

    for (size_t i = 0; i < FUNCTIONS; i++) {
        const struct location *l = names_find(names, addresses[i]);

        if (strcmp(line_of(names, i), line_of(expected, i)) == 0)
            continue;
        ck_assert_uint_eq(l->frame_count, 1);
        ck_assert_msg(strncmp(l->frames[0].function, "db+0x", 5) == 0,
                      "'%s', not '%s'", line_of(names, i),
                      line_of(expected, i));
        unknown++;
    }
    return unknown;
}

/* There is no helper: what is not read here stays unknown. */
START_TEST(without_memory_names_are_right_or_missing_or_it_is_an_error)
{
    const struct symbolizer_options options = {
        .program = "/none", .once = true, .here = true, .short_names = _i / 2};
    struct names *expected, *names;
    unsigned errors = 0, fewer = 0;
    struct error err = {0};
    bool done = false;

    cores = 1 + (unsigned)_i;
    make_index(7, _i % 2);
    expected = resolve(&options);
    for (unsigned n = 1; !done; n += 1 + n / 8) {
        __atomic_store_n(&allocations, 0, __ATOMIC_RELAXED);
        failing = n;
        names = try_to_resolve(&options, FUNCTIONS, &err);
        done = __atomic_load_n(&allocations, __ATOMIC_RELAXED) < n;
        failing = 0;
        if (!names) {
            ck_assert_ptr_nonnull(strstr(err.text, "memory"));
            errors++;
            continue;
        }
        fewer += check_known(names, expected) > 0;
        if (done)
            check_equal(names, expected);
        names_free(names);
    }
    ck_assert_uint_gt(errors, 5);
    ck_assert_uint_gt(fewer, 5);
    names_free(expected);
}
END_TEST

/* As if one thread had read all of it: each block that is damaged, one after
 * the other. */
START_TEST(damage_costs_the_same_names_on_any_cores)
{
    const struct symbolizer_options options = {
        .program = "/none", .once = true, .here = true};
    struct names *whole, *expected, *names;
    size_t missing;
    unsigned some = 0;

    make_index(7, _i);
    cores = 1;
    whole = resolve(&options);
    for (size_t at = 64; at < bytes.size; at += 251) {
        bytes.data[at] ^= 0x10;
        cores = 1;
        expected = resolve(&options);
        cores = 3;
        names = resolve(&options);
        check_equal(names, expected);
        missing = check_known(names, whole);
        some += missing > 0 && missing < FUNCTIONS;
        names_free(names);
        names_free(expected);
        bytes.data[at] ^= 0x10;
    }
    ck_assert_uint_gt(some, 0);
    names_free(whole);
}
END_TEST

/* It is known when the time is up, whichever part that is in. */
START_TEST(what_comes_too_late_is_missing)
{
    const struct symbolizer_options options = {
        .program = "/none", .once = true, .here = true};
    struct names *expected, *names;
    size_t missing = 0, last = FUNCTIONS;
    unsigned some = 0, all;
    struct error err = {0};

    cores = 1 + (unsigned)_i / 2 * 2;
    make_index(7, _i % 2);
    expected = resolve(&options);
    all = clock_calls;
    for (clock_jumps = 2; clock_jumps <= all + 1; clock_jumps++) {
        clock_calls = 0;
        names = try_to_resolve(&options, FUNCTIONS, &err);
        ck_assert_msg(names != NULL, "%s", err.text);
        missing = check_known(names, expected);
        if (clock_jumps == 2)
            ck_assert_uint_gt(missing, FUNCTIONS / 2);
        some += missing > 0 && missing != last;
        last = missing;
        names_free(names);
    }
    ck_assert_uint_eq(missing, 0);
    ck_assert_uint_gt(some, 0);
    if (cores > 1)
        ck_assert_uint_gt(some, 1);
    names_free(expected);
}
END_TEST

START_TEST(without_memory_here_the_helper_tells_the_rest)
{
    const struct symbolizer_options by_helper = {.once = true};
    const struct symbolizer_options here = {.once = true, .here = true};
    struct names *expected, *names;
    struct error err = {0};
    unsigned all;

    cores = 3;
    make_index(7, false);
    expected = resolve(&by_helper);
    allocations = 0;
    names_free(resolve(&here));
    all = allocations;
    for (unsigned n = 1; n < all; n += all / 30) {
        __atomic_store_n(&allocations, 0, __ATOMIC_RELAXED);
        failing = n;
        names = try_to_resolve(&here, FUNCTIONS, &err);
        failing = 0;
        if (names && !names_note(names)[0])
            check_equal(names, expected);
        if (!names)
            ck_assert_ptr_nonnull(strstr(err.text, "memory"));
        names_free(names);
    }
    names_free(expected);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("object_indexed");
    TCase *names = tcase_create("names"), *faults = tcase_create("faults");

    tcase_add_checked_fixture(names, set_up, tear_down);
    tcase_add_checked_fixture(faults, set_up, tear_down);
    tcase_set_timeout(names, 120);
    tcase_set_timeout(faults, 120);
    tcase_add_loop_test(names, names_are_those_that_the_helper_reads, 0, 2);
    tcase_add_loop_test(names, parts_may_be_done_in_any_order, 0, 2);
    tcase_add_loop_test(names, every_view_is_the_same, 0, 2);
    tcase_add_loop_test(names, of_another_build_it_is_refused, 0, 2);
    tcase_add_loop_test(faults, a_damaged_index_says_what_it_says_to_the_helper,
                        0, 4);
    tcase_add_loop_test(
        faults, without_memory_names_are_right_or_missing_or_it_is_an_error, 0,
        4);
    tcase_add_loop_test(faults, damage_costs_the_same_names_on_any_cores, 0, 2);
    tcase_add_loop_test(faults, what_comes_too_late_is_missing, 0, 4);
    tcase_add_test(faults, without_memory_here_the_helper_tells_the_rest);
    suite_add_tcase(suite, names);
    suite_add_tcase(suite, faults);
    return suite_run(suite);
}
