/* test_symbolizer.c - the client, with helpers that misbehave and with the
 * real one on this very process. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena.h"
#include "buffer.h"
#include "clock.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "mappings.h"
#include "names.h"
#include "suite.h"
#include "symbolizer.h"

/* On a busy machine a helper may begin seconds later: LONG_MS is for what is
 * not to be late, SLACK_MS for what would take 60 s, or for ever. */
enum { ADDRESSES = 300, DEADLINE_MS = 300, LONG_MS = 60000, SLACK_MS = 30000 };

static char directory[] = "/tmp/hw-symbolizer-XXXXXX";
static char library[64], program[64];
static uint64_t addresses[ADDRESSES];
static struct mapping mapping;
static const struct mappings maps = {&mapping, 1};

static void
helper_is(const char *behaviour)
{
    snprintf(program, sizeof(program), "%s/%s", directory, behaviour);
    ck_assert_int_eq(symlink(HW_TEST_BIN "/fake_symbolizer", program), 0);
}

/* A "library" that is a link to this program, mapped somewhere. */
static void
set_up(void)
{
    struct stat st;

    strcpy(directory + sizeof(directory) - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(library, sizeof(library), "%s/libx.so.1", directory);
    ck_assert_int_eq(symlink("/proc/self/exe", library), 0);
    ck_assert_int_eq(stat(library, &st), 0);
    mapping.start = 0x10000000;
    mapping.end = 0x20000000;
    mapping.offset = 0;
    mapping.device = st.st_dev;
    mapping.inode = st.st_ino;
    mapping.executable = true;
    mapping.path = library;
    for (uint64_t i = 0; i < ADDRESSES; i++)
        addresses[i] = mapping.start + 0x100 + i;
}

static void
tear_down(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
    /* No child is left, reaped or not. */
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}

static size_t
open_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    size_t count = 0;

    while (readdir(d))
        count++;
    closedir(d);
    return count;
}

static struct symbolizer *
new_symbolizer(uint32_t deadline_ms)
{
    struct symbolizer_options options = {program, 0, deadline_ms};
    struct error err;
    struct symbolizer *s = symbolizer_new(&options, &err);

    ck_assert_ptr_nonnull(s);
    return s;
}

static struct names *
resolve(struct symbolizer *s)
{
    struct resolve_request request = {
        .maps = &maps, .addresses = addresses, .count = ADDRESSES};
    struct names *names = NULL;
    struct error err;

    ck_assert_int_eq(symbolizer_resolve(s, &request, &names, &err), 0);
    ck_assert_uint_eq(names_count(names), ADDRESSES);
    return names;
}

/* How many of the addresses have a name with this start. */
static size_t
named(const struct names *names, const char *start)
{
    size_t count = 0;

    for (size_t i = 0; i < ADDRESSES; i++) {
        const struct location *l = names_find(names, addresses[i]);

        ck_assert_ptr_nonnull(l);
        count += strncmp(l->frames[0].function, start, strlen(start)) == 0;
    }
    return count;
}

static const struct {
    const char *behaviour;
    size_t fake; /* addresses whose names stand */
    const char *note;
} failures[] = {
    {"garbage", 0, "garbage"},
    {"huge", 0, "garbage"},
    {"hang", 0, "took too long"},
    {"stop", 0, "took too long"},
    {"die", 0, "status 7"},
    {"crash", 0, "signal 9"},
    {"half", ADDRESSES / 2 + ADDRESSES / 4, "status 1"},
    {"few", ADDRESSES - 1, "garbage"},
    {"many", ADDRESSES, "garbage"},
    {"unsent", 0, "garbage"},
    {"after", ADDRESSES, "garbage"},
    {"flood", 0, "garbage"},
    {"complain", 0, "no such ?[31mluck"},
    {"version", 0, "another version"},
    {"nothing_of_that_name", 0, "status 2"},
};

START_TEST(a_bad_helper_leaves_offsets_and_a_note)
{
    size_t before = open_descriptors();
    uint64_t start = clock_ms();
    struct symbolizer *s;
    struct names *names;
    bool late;

    helper_is(failures[_i].behaviour);
    late = strcmp(failures[_i].note, "took too long") == 0;
    s = new_symbolizer(late ? DEADLINE_MS : LONG_MS);
    names = resolve(s);
    if (late)
        ck_assert_uint_lt(clock_ms() - start, 2 * DEADLINE_MS + SLACK_MS);
    if (strcmp(failures[_i].behaviour, "flood") != 0)
        ck_assert_uint_eq(named(names, "fake_"), failures[_i].fake);
    if (failures[_i].fake == 0 && strcmp(failures[_i].behaviour, "flood") != 0)
        ck_assert_uint_eq(named(names, "libx.so.1+0x"), ADDRESSES);
    ck_assert_msg(strstr(names_note(names), failures[_i].note), "note: %s",
                  names_note(names));
    ck_assert_ptr_eq(strstr(names_note(names), "libx.so.1: "),
                     names_note(names));
    names_free(names);
    symbolizer_free(s);
    ck_assert_uint_eq(open_descriptors(), before);
}
END_TEST

START_TEST(a_missing_helper_is_reported)
{
    struct symbolizer *s;
    struct names *names;

    snprintf(program, sizeof(program), "%s/none", directory);
    s = new_symbolizer(LONG_MS);
    names = resolve(s);
    ck_assert_uint_eq(named(names, "libx.so.1+0x"), ADDRESSES);
    ck_assert_ptr_nonnull(strstr(names_note(names), "No such file"));
    names_free(names);
    symbolizer_free(s);
}
END_TEST

START_TEST(three_failures_are_the_last)
{
    static const char marker[] = "failed 3 times in 10 minutes";
    struct symbolizer *s;
    struct names *names;

    helper_is("die");
    s = new_symbolizer(LONG_MS);
    names_free(resolve(s));
    names_free(resolve(s));
    /* Now it would be good, but is not even started. */
    ck_assert_int_eq(unlink(program), 0);
    ck_assert_int_eq(symlink(HW_TEST_BIN "/heapwire-symbolizer", program), 0);
    names = resolve(s);
    ck_assert_uint_eq(named(names, "libx.so.1+0x"), ADDRESSES);
    ck_assert_msg(strstr(names_note(names), marker), "%s", names_note(names));
    ck_assert_ptr_nonnull(strstr(names_note(names), "status 7"));
    names_free(names);
    symbolizer_free(s);
}
END_TEST

START_TEST(what_dwarf_breaks_gets_symbol_names)
{
    struct symbolizer *s;
    struct names *names;

    helper_is("dwarf");
    s = new_symbolizer(LONG_MS);
    for (int i = 0; i < 5; i++) { /* and is not tried with DWARF again */
        names = resolve(s);
        ck_assert_uint_eq(named(names, "fake_"), ADDRESSES);
        ck_assert_msg(strstr(names_note(names), "symbol names only"), "%s",
                      names_note(names));
        names_free(names);
        addresses[ADDRESSES - 1] += 16 * (i % 2);
    }
    symbolizer_free(s);
}
END_TEST

/* The keeper of indexes, as the symboliser sees it. */
static struct {
    bool there; /* any file does: the helper does not look */
    unsigned opened, asked, refused, indexed;
    uint32_t elapsed_ms;
    char why[96];
} kept;

static int
open_kept(void *arg, const struct elf_file *elf, struct error *why)
{
    ck_assert_ptr_eq(arg, &kept);
    why->text[0] = '\0';
    ck_assert_uint_gt(elf->size, 0);
    kept.opened++;
    return kept.there ? open("/proc/self/exe", O_RDONLY | O_CLOEXEC) : -1;
}

static void
count_asked(void *arg, const struct symbolizer_asked *asked)
{
    ck_assert_ptr_eq(arg, &kept);
    ck_assert_str_eq(asked->path, library);
    kept.asked++;
    kept.indexed += asked->indexed;
    kept.refused += asked->refused != NULL;
    kept.elapsed_ms = asked->elapsed_ms;
    if (asked->refused)
        snprintf(kept.why, sizeof(kept.why), "%s", asked->refused);
}

static struct symbolizer *
new_with_indexes(const char *behaviour, bool there)
{
    static const struct symbolizer_indexes indexes = {open_kept, count_asked,
                                                      &kept};
    struct symbolizer_options options = {
        .program = program, .deadline_ms = LONG_MS, .indexes = &indexes};
    struct symbolizer *s;
    struct error err;

    memset(&kept, 0, sizeof(kept));
    kept.there = there;
    helper_is(behaviour);
    s = symbolizer_new(&options, &err);
    ck_assert_ptr_nonnull(s);
    return s;
}

static const struct {
    const char *behaviour;
    bool there;
    unsigned indexed;
    const char *refused; /* begins so */
    const char *note;    /* has this */
} with_index[] = {
    {"good", false, 0, NULL, ""},
    {"good", true, 1, NULL, ""},
    {"refuse", true, 0, "of another?build", "libx.so.1: of another?build"},
    {"refuse", false, 0, NULL, ""},
    {"refuse_twice", true, 0, "no", "garbage"},
    {"refuse_and_remark", true, 0, "damaged",
     "libx.so.1: 12 units are unknown; damaged"},
    {"sick_of_indexes", true, 0,
     "its symbol index is unusable: the symboliser ended with status 6",
     "libx.so.1: its symbol index is unusable: the symb"},
    {"slow_with_indexes", true, 0, NULL, ""},
    {"dwarf", false, 0, NULL, "symbol names only"},
};

START_TEST(index_service_gets_the_index)
{
    struct symbolizer *s =
        new_with_indexes(with_index[_i].behaviour, with_index[_i].there);
    struct names *names = resolve(s);

    ck_assert_uint_eq(named(names, "fake_"), ADDRESSES);
    ck_assert_uint_eq(kept.opened, 1);
    ck_assert_uint_eq(kept.asked, 1);
    ck_assert_uint_eq(kept.indexed, with_index[_i].indexed);
    ck_assert_uint_eq(kept.refused, with_index[_i].refused != NULL);
    if (with_index[_i].refused)
        ck_assert_str_eq(kept.why, with_index[_i].refused);
    if (!*with_index[_i].note)
        ck_assert_str_eq(names_note(names), "");
    ck_assert_ptr_nonnull(strstr(names_note(names), with_index[_i].note));
    names_free(names);
    if (*with_index[_i].note)
        goto out;
    names = resolve(s); /* from the cache: nothing is opened, no call made */
    ck_assert_uint_eq(named(names, "fake_"), ADDRESSES);
    ck_assert_uint_eq(kept.opened, 1);
    ck_assert_uint_eq(kept.asked, 1);
    names_free(names);
out:
    symbolizer_free(s);
}
END_TEST

/* Once there is an index, the object's DWARF is not needed any more. */
START_TEST(an_index_ends_being_degraded)
{
    struct symbolizer *s = new_with_indexes("dwarf", false);
    struct names *names = resolve(s);

    ck_assert_ptr_nonnull(strstr(names_note(names), "symbol names only"));
    names_free(names);
    kept.there = true;
    for (int i = 0; i < 2; i++) {
        names = resolve(s);
        ck_assert_uint_eq(named(names, "fake_"), ADDRESSES);
        if (i == 0)
            ck_assert_str_eq(names_note(names), "");
        ck_assert_uint_eq(kept.indexed, 1); /* asked once more, then cached */
        names_free(names);
    }
    symbolizer_free(s);
}
END_TEST

START_TEST(a_remark_is_repeated_until_there_is_an_index)
{
    static const char remark[] = "libx.so.1: 12 units are unknown";
    struct symbolizer *s = new_with_indexes("remark", false);
    struct names *names;

    for (int i = 0; i < 3; i++) {
        names = resolve(s);
        ck_assert_str_eq(names_note(names), remark);
        names_free(names);
    }
    ck_assert_uint_eq(kept.asked, 1);
    kept.there = true;
    for (int i = 0; i < 3; i++) { /* which here does not help */
        names = resolve(s);
        ck_assert_str_eq(names_note(names), remark);
        names_free(names);
    }
    ck_assert_uint_eq(kept.asked, 2);
    symbolizer_free(s);
}
END_TEST

START_TEST(the_second_time_needs_no_helper)
{
    struct symbolizer *s;
    struct names *names;

    helper_is("good");
    s = new_symbolizer(LONG_MS);
    names = resolve(s);
    ck_assert_str_eq(names_note(names), "");
    ck_assert_uint_eq(named(names, "fake_"), ADDRESSES);
    names_free(names);
    ck_assert_int_eq(unlink(program), 0);
    names = resolve(s);
    ck_assert_str_eq(names_note(names), "");
    ck_assert_uint_eq(named(names, "fake_"), ADDRESSES);
    names_free(names);
    symbolizer_free(s);
}
END_TEST

static struct names *
resolve_some(struct symbolizer *s, size_t count)
{
    struct resolve_request request = {
        .maps = &maps, .addresses = addresses, .count = count};
    struct names *names = NULL;
    struct error err;

    ck_assert_int_eq(symbolizer_resolve(s, &request, &names, &err), 0);
    return names;
}

START_TEST(what_was_asked_last_is_given_again)
{
    struct symbolizer *s = new_with_indexes("good", false);
    struct names *first = resolve(s), *again = resolve(s), *other;

    ck_assert_ptr_eq(first, again);
    names_free(again);
    other = resolve_some(s, ADDRESSES - 1); /* other addresses */
    ck_assert_ptr_ne(first, other);
    names_free(other);
    again = resolve(s);
    mapping.offset = 4096; /* another place of the file */
    other = resolve(s);
    ck_assert_ptr_ne(again, other);
    names_free(other);
    mapping.offset = 0;
    other = resolve(s);
    ck_assert_ptr_ne(again, other);
    names_free(other);
    names_free(again);
    symbolizer_free(s);
    ck_assert_uint_eq(named(first, "fake_"), ADDRESSES);
    names_free(first);
}
END_TEST

/* A file that cannot be opened may be there the next time. */
START_TEST(an_answer_that_may_get_better_is_not_given_again)
{
    struct symbolizer *s = new_with_indexes("good", false);
    struct names *names;
    char away[80];

    snprintf(away, sizeof(away), "%s.away", library);
    ck_assert_int_eq(rename(library, away), 0);
    names = resolve(s);
    ck_assert_ptr_nonnull(strstr(names_note(names), "cannot be opened"));
    names_free(names);
    ck_assert_int_eq(rename(away, library), 0);
    names = resolve(s);
    ck_assert_str_eq(names_note(names), "");
    ck_assert_uint_eq(named(names, "fake_"), ADDRESSES);
    names_free(names);
    symbolizer_free(s);
}
END_TEST

START_TEST(a_prepared_helper_answers_and_nothing_of_it_is_left)
{
    struct symbolizer_options options = {
        .program = program, .deadline_ms = LONG_MS, .once = _i == 0};
    size_t before = open_descriptors();
    const struct location *l;
    struct symbolizer *s;
    struct names *names;
    struct error err;

    helper_is("good");
    s = symbolizer_new(&options, &err);
    ck_assert_ptr_nonnull(s);
    symbolizer_prepare(s);
    symbolizer_prepare(s); /* there is one */
    if (_i < 2) {
        names = resolve(s);
        ck_assert_str_eq(names_note(names), "");
        ck_assert_uint_eq(named(names, "fake_"), ADDRESSES);
        for (size_t i = 0; i < ADDRESSES; i++) {
            l = names_find(names, addresses[i]);
            ck_assert_str_eq(l->module, "libx.so.1");
            ck_assert_uint_gt(l->module_offset, 0);
        }
        names_free(names);
    }
    symbolizer_free(s);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
    ck_assert_uint_eq(open_descriptors(), before);
}
END_TEST

START_TEST(a_prepared_helper_that_dies_is_reported)
{
    struct symbolizer *s;
    struct names *names;

    helper_is("die");
    s = new_symbolizer(LONG_MS);
    symbolizer_prepare(s);
    (void)poll(NULL, 0, 50);
    names = resolve(s);
    ck_assert_uint_eq(named(names, "libx.so.1+0x"), ADDRESSES);
    ck_assert_ptr_nonnull(strstr(names_note(names), "status 7"));
    names_free(names);
    symbolizer_free(s);
}
END_TEST

START_TEST(hostile_texts_are_cleaned)
{
    struct symbolizer *s;
    struct names *names;
    const struct location *l;

    helper_is("hostile");
    s = new_symbolizer(LONG_MS);
    names = resolve(s);
    ck_assert_str_eq(names_note(names), "");
    for (size_t i = 0; i < ADDRESSES; i++) {
        l = names_find(names, addresses[i]);
        ck_assert_uint_eq(l->frame_count, NAMES_INLINE_MAX);
        for (size_t j = 0; j < NAMES_INLINE_MAX; j++) {
            ck_assert_str_eq(l->frames[j].function,
                             "\"><script>??]0;x??\xc3\xa9");
            ck_assert_str_eq(l->frames[j].file, "/a?b??");
        }
    }
    names_free(names);
    symbolizer_free(s);
}
END_TEST

START_TEST(the_helper_inherits_nothing)
{
    struct symbolizer *s;
    struct names *names;
    sigset_t all;
    int fd = open("/dev/null", O_RDONLY); /* without close-on-exec */

    sigfillset(&all);
    ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, &all, NULL), 0);
    signal(SIGPIPE, SIG_IGN);
    helper_is("inherit");
    s = new_symbolizer(LONG_MS);
    names = resolve(s);
    /* 0 to 2, and the object's. */
    ck_assert_str_eq(names_find(names, addresses[0])->frames[0].function,
                     "fds 4, env no, blocked 0, pipe default, group own");
    names_free(names);
    symbolizer_free(s);
    fd_close(fd);
}
END_TEST

static void *
cancel_soon(void *arg)
{
    (void)poll(NULL, 0, 100);
    symbolizer_cancel(arg);
    return NULL;
}

START_TEST(cancelling_returns_soon)
{
    uint64_t start = clock_ms();
    struct symbolizer *s;
    struct names *names;
    pthread_t thread;

    helper_is("hang");
    s = new_symbolizer(60000);
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_soon, s), 0);
    names = resolve(s);
    ck_assert_uint_lt(clock_ms() - start, SLACK_MS);
    ck_assert_uint_eq(named(names, "libx.so.1+0x"), ADDRESSES);
    ck_assert_ptr_nonnull(strstr(names_note(names), "cancelled"));
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    names_free(names);
    symbolizer_free(s);
}
END_TEST

static void *
set_soon(void *arg)
{
    (void)poll(NULL, 0, 100);
    atomic_store((atomic_bool *)arg, true);
    return NULL;
}

START_TEST(one_request_can_be_cancelled)
{
    uint64_t start = clock_ms();
    atomic_bool cancelled = false;
    struct resolve_request request = {.maps = &maps,
                                      .addresses = addresses,
                                      .count = ADDRESSES,
                                      .cancelled = &cancelled};
    struct names *names = NULL;
    struct symbolizer *s;
    pthread_t thread;
    struct error err;

    helper_is("hang");
    s = new_symbolizer(60000);
    ck_assert_int_eq(pthread_create(&thread, NULL, set_soon, &cancelled), 0);
    ck_assert_int_eq(symbolizer_resolve(s, &request, &names, &err), 0);
    ck_assert_uint_lt(clock_ms() - start, SLACK_MS);
    ck_assert_ptr_nonnull(strstr(names_note(names), "cancelled"));
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    names_free(names);
    symbolizer_free(s);
}
END_TEST

/* A server that stops must not lose the race with a resolve that starts. */
START_TEST(a_cancel_that_comes_first_counts)
{
    uint64_t start = clock_ms();
    struct symbolizer *s;
    struct names *names;

    helper_is("hang");
    s = new_symbolizer(60000);
    symbolizer_cancel(s);
    for (int i = 0; i < 2; i++) {
        names = resolve(s);
        ck_assert_uint_eq(named(names, "libx.so.1+0x"), ADDRESSES);
        ck_assert_ptr_nonnull(strstr(names_note(names), "cancelled"));
        names_free(names);
    }
    ck_assert_uint_lt(clock_ms() - start, SLACK_MS);
    symbolizer_free(s);
}
END_TEST

/* The rest with the real helper. */

__attribute__((noinline)) static int
landmark(int x)
{
    return x * 3 + (int)getauxval(AT_PAGESZ);
}

static struct arena *arena;
static struct mappings own_maps;

static void
real_set_up(void)
{
    struct buffer text;
    struct error err;

    set_up();
    snprintf(program, sizeof(program), "%s/real", directory);
    ck_assert_int_eq(symlink(HW_TEST_BIN "/heapwire-symbolizer", program), 0);
    buffer_init(&text, 1 << 20);
    arena = arena_new(16 << 20);
    ck_assert_int_eq(file_read_all("/proc/self/maps", &text, &err), 0);
    ck_assert_int_eq(
        mappings_parse(arena, text.data, text.size, &own_maps, NULL, &err), 0);
    buffer_fini(&text);
}

static void
real_tear_down(void)
{
    arena_free(arena);
    tear_down();
}

static int
compare_u64(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static const char *
function_at(const struct names *names, uint64_t address)
{
    const struct location *l = names_find(names, address);

    ck_assert_ptr_nonnull(l);
    return l->frames[0].function;
}

START_TEST(this_process_is_named)
{
    uint64_t vdso = getauxval(AT_SYSINFO_EHDR) + 0x10;
    uint64_t here = (uint64_t)(uintptr_t)landmark + 1;
    uint64_t libc = (uint64_t)(uintptr_t)qsort + 1, nowhere = 0x123;
    uint64_t list[] = {vdso, here, libc, nowhere};
    struct resolve_request request = {
        .maps = &own_maps, .addresses = list, .count = 4};
    struct symbolizer *s = new_symbolizer(0);
    struct names *names;
    struct error err;

    ck_assert_int_ne(landmark(1), 0);
    qsort(list, 4, sizeof(list[0]), compare_u64);
    ck_assert_int_eq(symbolizer_resolve(s, &request, &names, &err), 0);
    ck_assert_str_eq(names_note(names), "");
    ck_assert_str_eq(function_at(names, here), "landmark");
    ck_assert_ptr_nonnull(
        strstr(names_find(names, here)->frames[0].file, "test_symbolizer.c"));
    ck_assert_str_eq(function_at(names, vdso), "[vdso]+0x10");
    ck_assert_str_eq(function_at(names, nowhere), "0x123");
    ck_assert_ptr_nonnull(strstr(function_at(names, libc), "qsort"));
    ck_assert(!names_find(names, libc)->in_allocator);
    names_free(names);
    /* libc pretends to be the allocator; the program cannot. */
    request.allocator_address = libc;
    ck_assert_int_eq(symbolizer_resolve(s, &request, &names, &err), 0);
    ck_assert(names_find(names, libc)->in_allocator);
    ck_assert(!names_find(names, here)->in_allocator);
    names_free(names);
    request.allocator_address = here;
    ck_assert_int_eq(symbolizer_resolve(s, &request, &names, &err), 0);
    ck_assert(!names_find(names, libc)->in_allocator);
    ck_assert(!names_find(names, here)->in_allocator);
    names_free(names);
    symbolizer_free(s);
}
END_TEST

/* Offline: the profile comes from a machine where this program lay elsewhere.
 */
START_TEST(a_binary_is_matched_by_its_headers)
{
    uint64_t here = (uint64_t)(uintptr_t)landmark + 1;
    struct mapping m = *mappings_find(&own_maps, here);
    struct mappings elsewhere = {&m, 1};
    struct resolve_request request = {
        .maps = &elsewhere, .addresses = &here, .count = 1};
    struct symbolizer *s = new_symbolizer(0);
    struct names *names;
    struct error err;

    m.path = "/opt/gone/database";
    m.inode++;
    ck_assert_int_eq(symbolizer_resolve(s, &request, &names, &err), 0);
    ck_assert_ptr_nonnull(strstr(function_at(names, here), "database+0x"));
    ck_assert_ptr_nonnull(strstr(names_note(names), "cannot be opened"));
    names_free(names);
    request.program = "/proc/self/exe";
    ck_assert_int_eq(symbolizer_resolve(s, &request, &names, &err), 0);
    ck_assert_str_eq(function_at(names, here), "landmark");
    ck_assert_str_eq(names_note(names), "");
    names_free(names);
    request.program = "/bin/cat"; /* much smaller than this one */
    ck_assert_int_eq(symbolizer_resolve(s, &request, &names, &err), 0);
    ck_assert_ptr_nonnull(strstr(names_note(names), "not the program"));
    names_free(names);
    symbolizer_free(s);
}
END_TEST

START_TEST(an_invalid_object_file_is_reported)
{
    uint64_t address = 0x10000001;
    struct mapping m = {.start = 0x10000000,
                        .end = 0x10001000,
                        .inode = 1,
                        .executable = true,
                        .path = "/etc/passwd"};
    struct mappings one = {&m, 1};
    struct resolve_request request = {
        .maps = &one, .addresses = &address, .count = 1};
    struct symbolizer *s = new_symbolizer(0);
    struct names *names;
    struct error err;

    ck_assert_int_eq(symbolizer_resolve(s, &request, &names, &err), 0);
    ck_assert_str_eq(function_at(names, address), "passwd+0x1");
    ck_assert_ptr_nonnull(strstr(names_note(names), "ELF"));
    names_free(names);
    m.path = "/dev/zero";
    ck_assert_int_eq(symbolizer_resolve(s, &request, &names, &err), 0);
    ck_assert_str_eq(function_at(names, address), "zero+0x1");
    names_free(names);
    symbolizer_free(s);
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Enough to start and to read the symbols, but not the DWARF of this test. */
START_TEST(without_memory_symbol_names_remain)
{
    uint64_t here = (uint64_t)(uintptr_t)landmark + 1;
    struct resolve_request request = {
        .maps = &own_maps, .addresses = &here, .count = 1};
    struct symbolizer_options options = {program, 0, 0};
    struct symbolizer *s = NULL;
    struct names *names = NULL;
    struct error err;
    bool seen = false;

    /* Few of these sizes are right, and where a helper is late none may be. */
    for (uint64_t i = 0; i < 4ULL * 360 && !seen; i++) {
        options.memory_bytes = (4000 + i % 360 * 100) << 10;
        s = symbolizer_new(&options, &err);
        ck_assert_int_eq(symbolizer_resolve(s, &request, &names, &err), 0);
        seen = strstr(names_note(names), "symbol names only");
        if (seen)
            ck_assert_str_eq(function_at(names, here), "landmark");
        names_free(names);
        symbolizer_free(s);
    }
    ck_assert(seen);
}
END_TEST
#endif

int
main(void)
{
    Suite *suite = suite_create("symbolizer");
    TCase *fake = tcase_create("fake"), *real = tcase_create("real");

    tcase_set_timeout(fake, 60);
    tcase_add_checked_fixture(fake, set_up, tear_down);
    tcase_add_loop_test(fake, a_bad_helper_leaves_offsets_and_a_note, 0,
                        sizeof(failures) / sizeof(failures[0]));
    tcase_add_test(fake, a_missing_helper_is_reported);
    tcase_add_test(fake, three_failures_are_the_last);
    tcase_add_test(fake, what_dwarf_breaks_gets_symbol_names);
    tcase_add_test(fake, the_second_time_needs_no_helper);
    tcase_add_loop_test(fake, index_service_gets_the_index, 0,
                        sizeof(with_index) / sizeof(with_index[0]));
    tcase_add_test(fake, an_index_ends_being_degraded);
    tcase_add_test(fake, a_remark_is_repeated_until_there_is_an_index);
    tcase_add_test(fake, what_was_asked_last_is_given_again);
    tcase_add_test(fake, an_answer_that_may_get_better_is_not_given_again);
    tcase_add_loop_test(
        fake, a_prepared_helper_answers_and_nothing_of_it_is_left, 0, 3);
    tcase_add_test(fake, a_prepared_helper_that_dies_is_reported);
    tcase_add_test(fake, hostile_texts_are_cleaned);
    tcase_add_test(fake, the_helper_inherits_nothing);
    tcase_add_test(fake, cancelling_returns_soon);
    tcase_add_test(fake, one_request_can_be_cancelled);
    tcase_add_test(fake, a_cancel_that_comes_first_counts);
    suite_add_tcase(suite, fake);
    tcase_set_timeout(real, 60);
    tcase_add_checked_fixture(real, real_set_up, real_tear_down);
    tcase_add_test(real, this_process_is_named);
    tcase_add_test(real, a_binary_is_matched_by_its_headers);
    tcase_add_test(real, an_invalid_object_file_is_reported);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    tcase_add_test(real, without_memory_symbol_names_remain);
#endif
    suite_add_tcase(suite, real);
    return suite_run(suite);
}
