/*
 * indexed_object.h - this very program as an object whose symbol index is made
 * up, but for what it leaves out, which the helper's DWARF answers; on as many
 * cores as a test wants, with threads that start late or not at all.
 *
 * Included by one file of a test that is linked with --wrap=thread_cores,
 * --wrap=thread_start and --wrap=clock_ms.
 */
#ifndef HW_INDEXED_OBJECT_H
#define HW_INDEXED_OBJECT_H

#include <check.h>
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "counted_threads.h"
#include "elf_file.h"
#include "index_fixture.h"
#include "mappings.h"
#include "names.h"
#include "symbolizer.h"

enum {
    FUNCTION = 16,   /* bytes of each, of which the first is asked for */
    FUNCTIONS = 600, /* enough for 3 parts */
    HELD = 2         /* threads */
};

static const uint64_t bias = 0x10000000; /* where the program is loaded */

/* ---- cores and threads, as the test wants them ---- */

uint64_t __wrap_clock_ms(void);
uint64_t __real_clock_ms(void);

static bool held[HELD]; /* threads that take their time, in their order */
static bool waits;      /* this thread does before it goes on */
static unsigned clock_calls, clock_jumps; /* at which call; 0: never */

static inline void
nap(void)
{
    const struct timespec a_while = {0, 20 * 1000 * 1000};

    nanosleep(&a_while, NULL);
}

static inline void *
go_late(void *arg)
{
    const struct thread_start *start = arg;

    nap();
    return start->body(start->arg);
}

/* thread_starter */
static inline int
start_held(pthread_t *thread, const struct thread_start *start,
           struct error *err)
{
    static struct thread_start held_starts[HELD];
    struct thread_start other = *start;
    unsigned n = threads_started - 1;

    if (n < HELD && held[n]) {
        held_starts[n] = *start;
        other.body = go_late;
        other.arg = &held_starts[n];
    }
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

static inline void
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

static inline uint32_t
roll(uint32_t *dice)
{
    *dice ^= *dice << 13;
    *dice ^= *dice >> 17;
    return *dice ^= *dice << 5;
}

/* One of a few dozens, or many. */
static inline uint32_t
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

static inline uint32_t
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
static inline void
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

static inline void
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

static inline void
set_up(void)
{
    cores = 4;
    threads_started = 0;
    threads_max = UINT32_MAX;
    thread_starter = start_held;
    memset(held, 0, sizeof(held));
    waits = false;
    clock_calls = clock_jumps = 0;
    asked = 0;
    open_object_file();
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        addresses[i] = bias + code + (uint64_t)i * FUNCTION;
}

static inline void
tear_down(void)
{
    int fd = object.fd;

    elf_fini(&object);
    fd_close(fd);
    buffer_fini(&bytes);
}

/* ---- names ---- */

static inline int
open_index(void *arg, const struct elf_file *elf, struct error *why)
{
    (void)arg, (void)elf;
    why->text[0] = '\0';
    return bytes.size ? fixture_fd(bytes.data, bytes.size) : -1;
}

static inline void
count_asked(void *arg, const struct symbolizer_asked *of)
{
    (void)arg, (void)of;
    asked++;
}

static inline int
open_object(void *arg, const struct mapping *which)
{
    (void)arg, (void)which;
    return fcntl(object.fd, F_DUPFD_CLOEXEC, 0);
}

static const char helper[] = HW_TEST_BIN "/heapwire-symbolizer";

/* NULL with *err. */
static inline struct names *
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

static inline struct names *
resolve(const struct symbolizer_options *options)
{
    struct error err = {0};
    struct names *names = try_to_resolve(options, FUNCTIONS, &err);

    ck_assert_msg(names != NULL, "%s", err.text);
    ck_assert_uint_eq(names_count(names), FUNCTIONS);
    return names;
}

/* The i-th address's name in one line. */
static inline const char *
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

static inline void
check_equal(const struct names *a, const struct names *b)
{
    ck_assert_str_eq(names_note(a), names_note(b));
    for (size_t i = 0; i < FUNCTIONS; i++) /* an assertion takes its time */
        if (strcmp(line_of(a, i), line_of(b, i)) != 0)
            ck_assert_str_eq(line_of(a, i), line_of(b, i));
}

#endif
