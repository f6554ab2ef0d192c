/* test_own_calls.c - a thread's own calls by tables, and by its library. */
#include "own_calls.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "given_tables.h"
#include "own_tables.h"
#include "suite.h"

#if defined(__SANITIZE_THREAD__)
/* Its runtime takes a megabyte of each thread's stack, above what is looked at:
 * the first looks only probe that.  The library's unwinder loads libgcc in a
 * signal handler, which is the test's own doing. */
enum { PROBES_FIRST = 1 };
const char *__tsan_default_options(void);

__attribute__((visibility("default"))) const char *
__tsan_default_options(void)
{
    return "report_signal_unsafe=0";
}
#else
enum { PROBES_FIRST = 0 };
#endif

static struct own_tables own;
static const struct given_tables *tables;
static __thread uint64_t frames[OWN_CALLS_MAX], theirs[OWN_CALLS_MAX];
static __thread uint32_t count, their_count, asked;

/* Without the frames of the test's own. */
static uint32_t
take_by_library(const struct unwind_call *call, uint64_t *out)
{
    void *all[OWN_CALLS_MAX + 8];
    int total = backtrace(all, OWN_CALLS_MAX + 8), first = 0;
    uint32_t n = 0;

    asked++;
    while (first < total && (uint64_t)(uintptr_t)all[first] != call->pc)
        first++;
    for (int i = first; i < total && n < OWN_CALLS_MAX; i++)
        out[n++] = (uint64_t)(uintptr_t)all[i];
    return n;
}

static const struct own_calls calls = {.library = take_by_library};

/* By both, into frames and theirs. */
__attribute__((noinline)) static void
look(void)
{
    const uint64_t *frame = __builtin_frame_address(0);
    const struct unwind_call call = {
        (uint64_t)(uintptr_t)__builtin_extract_return_addr(
            __builtin_return_address(0)),
        (uint64_t)(uintptr_t)__builtin_dwarf_cfa(), frame[0]};

    asked = 0;
    count = own_calls_take(&calls, tables, &call, frames);
    their_count = asked;
    take_by_library(&call, theirs);
    asked = their_count;
    their_count = take_by_library(&call, theirs);
    asked--;
}

static void
check_equal(uint32_t least)
{
    ck_assert_uint_eq(count, their_count);
    ck_assert_uint_ge(count, least);
    for (uint32_t i = 0; i < count; i++)
        ck_assert_uint_eq(frames[i], theirs[i]);
}

/* By the tables alone. */
static void
check_tables(uint32_t least)
{
    check_equal(least);
    ck_assert_uint_eq(asked, 0);
}

static void
check_on_thread(uint32_t least)
{
    if (PROBES_FIRST)
        check_equal(least);
    else
        check_tables(least);
}

static void
check_library(void)
{
    check_equal(1);
    ck_assert_uint_eq(asked, 1);
}

static int
seal(const void *bytes, size_t size)
{
    int fd = memfd_create("table", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    ck_assert_int_eq(
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
    return fd;
}

static int
give(const struct own_tables *of, size_t i)
{
    int fd = seal(of->bytes[i].data, of->bytes[i].size);
    int rc = given_tables_add(fd, of->code[i].start + 16);

    close(fd);
    return rc;
}

static void
give_all(void)
{
    own_tables_init(&own);
    for (size_t i = 0; i < own.count; i++)
        if (own.code[i].table)
            give(&own, i);
    ck_assert(given_tables_changed());
    tables = given_tables_list();
    ck_assert_ptr_nonnull(tables);
    ck_assert(!given_tables_changed());
}

/* So often that none is checked any more. */
static void
give_checked(void)
{
    give_all();
    for (size_t i = 0; i < tables->source.count; i++)
        tables->objects[i]->checked = OWN_CALLS_CHECKED;
}

__attribute__((noinline)) static int
deep(int depth)
{
    volatile char room[48];
    int below;

    room[0] = (char)depth;
    if (depth == 0) {
        look();
        return 1;
    }
    below = deep(depth - 1);
    __asm__ volatile("" : "+r"(below)); /* no tail call */
    return below + room[0];
}

START_TEST(without_tables_the_library_is_asked)
{
    deep(3);
    check_library();
}
END_TEST

START_TEST(the_first_stacks_are_compared)
{
    give_all();
    for (int i = 0; i < OWN_CALLS_CHECKED; i++) {
        deep(10);
        check_library();
    }
    deep(10);
    check_tables(12);
    deep(300); /* more than are kept, and deeper than any before */
    check_tables(OWN_CALLS_MAX);
}
END_TEST

__attribute__((noinline)) static int
realigned(size_t size)
{
    volatile char line[64] __attribute__((aligned(64)));
    volatile char *more = alloca(size + 1);
    int below;

    line[0] = more[0] = 1;
    below = deep(2);
    return below + line[0] + more[0];
}

START_TEST(a_realigned_stack_is_followed)
{
    give_checked();
    realigned(100);
    check_tables(5);
    realigned(100000);
    check_tables(5);
}
END_TEST

static int
compare(const void *a, const void *b)
{
    if (count == 0)
        look();
    return *(const int *)a - *(const int *)b;
}

START_TEST(a_library_is_passed_through)
{
    int list[3] = {3, 1, 2};

    give_checked();
    count = 0;
    qsort(list, 3, sizeof(list[0]), compare);
    check_tables(4);
}
END_TEST

static void *
on_thread(void *arg)
{
    for (int i = 0; i < 100; i++) {
        deep(i % 60);
        check_on_thread(2);
    }
    return arg;
}

START_TEST(each_thread_has_its_stack)
{
    pthread_t threads[8];

    give_checked();
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, on_thread, NULL), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}
END_TEST

static void
on_signal(int number)
{
    (void)number;
    look();
}

START_TEST(a_signal_is_left_to_the_library)
{
    struct sigaction action = {.sa_handler = on_signal};

    give_checked();
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    check_library();
}
END_TEST

START_TEST(another_stack_is_left_to_the_library)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    static char other[1 << 16];
    stack_t stack = {.ss_sp = other, .ss_size = sizeof(other)};

    give_checked();
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    check_library();
    deep(3);
    check_tables(5);
}
END_TEST

static ucontext_t main_context, other_context;

static void
on_coroutine(void)
{
    deep(4);
    swapcontext(&other_context, &main_context);
}

static void *
run_coroutine(void *memory)
{
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = memory;
    other_context.uc_stack.ss_size = 1 << 16;
    makecontext(&other_context, on_coroutine, 0);
    swapcontext(&main_context, &other_context);
    check_library();
    deep(4);
    check_on_thread(6);
    return NULL;
}

START_TEST(a_coroutine_is_left_to_the_library)
{
    static char memory[1 << 16];
    pthread_t thread;

    give_checked();
    run_coroutine(memory);
    ck_assert_int_eq(pthread_create(&thread, NULL, run_coroutine, memory), 0);
    pthread_join(thread, NULL);
}
END_TEST

START_TEST(a_child_has_the_tables)
{
    pid_t child;
    int status;

    give_checked();
    child = fork();
    if (child == 0) {
        deep(10);
        _exit(asked == 0 && count == their_count &&
                      memcmp(frames, theirs, count * sizeof(frames[0])) == 0
                  ? 0
                  : 1);
    }
    waitpid(child, &status, 0);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* All rules say what one of them says: the walks go astray. */
static void
spoil(uint8_t *bytes, size_t size, uint64_t *random)
{
    uint32_t pages;
    uint64_t sum;

    memcpy(&pages, bytes + 80, sizeof(pages));
    for (size_t i = UNWIND_HEADER; i < size; i++) {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        if (i >= UNWIND_HEADER + (pages + 1) * 4 && *random % 8 == 0)
            bytes[i] = (uint8_t)(*random >> 32);
    }
    sum = unwind_table_sum(unwind_table_sum(0, bytes, 96),
                           bytes + UNWIND_HEADER, size - UNWIND_HEADER);
    memcpy(bytes + 96, &sum, sizeof(sum));
}

START_TEST(any_table_is_survived)
{
    uint64_t random = 88172645463325252ULL + (uint64_t)_i * 977;
    uint32_t differed;
    const char *path;

    own_tables_init(&own);
    for (size_t i = 0; i < own.count; i++) {
        if (!own.code[i].table)
            continue;
        spoil((uint8_t *)own.bytes[i].data, own.bytes[i].size, &random);
        ck_assert_int_eq(give(&own, i), 0);
    }
    tables = given_tables_list();
    ck_assert_ptr_nonnull(tables);
    for (size_t i = 0; i < tables->source.count; i++)
        tables->objects[i]->checked = OWN_CALLS_CHECKED; /* trusted: no crash */
    for (int i = 0; i < 200; i++) {
        deep((int)i);
        realigned((size_t)i);
    }
    for (size_t i = 0; i < tables->source.count; i++)
        tables->objects[i]->checked = 0;
    for (int i = 0; i < 20; i++) {
        deep(20);
        check_equal(20); /* checked: the library's */
    }
    differed = given_tables_differed(&path);
    ck_assert_int_eq(given_tables_changed(), differed > 0);
}
END_TEST

START_TEST(what_is_no_table_is_refused)
{
    size_t i = 0;
    uint8_t *bytes;
    int fd;

    own_tables_init(&own);
    while (!own.code[i].table)
        i++;
    bytes = (uint8_t *)own.bytes[i].data;
    fd = memfd_create("table", MFD_CLOEXEC);
    ck_assert_int_eq(write(fd, bytes, own.bytes[i].size),
                     (ssize_t)own.bytes[i].size);
    ck_assert_int_eq(given_tables_add(fd, own.code[i].start), EPERM);
    close(fd);
    fd = seal(bytes, 10);
    ck_assert_int_eq(given_tables_add(fd, own.code[i].start), EINVAL);
    close(fd);
    ck_assert_int_eq(given_tables_add(0, (uint64_t)(uintptr_t)&bytes), ENOENT);
    bytes[UNWIND_HEADER + 8] ^= 1;
    ck_assert_int_eq(give(&own, i), EINVAL);
    bytes[UNWIND_HEADER + 8] ^= 1;
    bytes[20] ^= 1; /* another build-id */
    ck_assert_int_eq(give(&own, i), EINVAL);
    ck_assert_ptr_null(given_tables_list());
}
END_TEST

START_TEST(an_unloaded_library_is_noticed)
{
    void *library = dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL);
    struct own_object *object = NULL;
    size_t number = 0, ranges;
    const char *differing;
    char path[4096] = "";
    bool again;

    if (!library)
        return;
    /* By its path, so that the loader does not map its cache: then it maps the
     * library where it was. */
    strncpy(path, ((struct link_map *)library)->l_name, sizeof(path) - 1);
    dlclose(library);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_ptr_nonnull(library);
    give_checked();
    for (size_t i = 0; i < tables->source.count; i++) {
        Dl_info info;

        if (dladdr((void *)tables->source.list[i].start, &info) &&
            strcmp(info.dli_fname, path) == 0)
            object = tables->objects[i];
    }
    if (!object)
        return;
    while ((void *)own.code[number].start < object->start ||
           !own.code[number].table)
        number++;
    ck_assert(own_object_is_there(object));
    dlclose(library);
    if (dlopen(path, RTLD_NOW | RTLD_NOLOAD))
        return; /* something else needs it */
    ck_assert(!own_object_is_there(object));
    ck_assert(given_tables_changed());
    ck_assert_ptr_nonnull(dlopen(path, RTLD_NOW | RTLD_LOCAL));
    again = own_object_is_there(object);
    ck_assert_uint_eq(given_tables_differed(&differing), 0);
    if (again)
        ck_assert_int_eq(give(&own, number), 0);
    ranges = tables->source.count;
    tables = given_tables_list();
    ck_assert_ptr_nonnull(tables);
    ck_assert(!given_tables_changed());
    if (again)
        ck_assert_uint_eq(tables->source.count, ranges);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("own_calls");
    TCase *tc = tcase_create("own");

    tcase_add_test(tc, without_tables_the_library_is_asked);
    tcase_add_test(tc, the_first_stacks_are_compared);
    tcase_add_test(tc, a_realigned_stack_is_followed);
    tcase_add_test(tc, a_library_is_passed_through);
    tcase_add_test(tc, each_thread_has_its_stack);
    tcase_add_test(tc, a_signal_is_left_to_the_library);
    tcase_add_test(tc, another_stack_is_left_to_the_library);
    tcase_add_test(tc, a_coroutine_is_left_to_the_library);
    tcase_add_test(tc, a_child_has_the_tables);
    tcase_add_loop_test(tc, any_table_is_survived, 0, 20);
    tcase_add_test(tc, what_is_no_table_is_refused);
    tcase_add_test(tc, an_unloaded_library_is_noticed);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
