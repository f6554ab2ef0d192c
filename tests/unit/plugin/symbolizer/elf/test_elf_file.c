/* test_elf_file.c - ELF headers and tables, of this program and of damaged
 * copies of it. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "buffer.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "object_symbols.h"
#include "suite.h"
#include "function_ranges.h"

static const char self[] = "/proc/self/exe";

/* A function whose start and end are known by name. */
__attribute__((noinline)) static int
landmark(int x)
{
    return x * 3 + (int)getauxval(AT_PAGESZ);
}

/* Has a second name, by which libraries would allocate. */
static int
take_pages(int x)
{
    return landmark(x) + 1;
}
int pvalloc(int x) __attribute__((alias("take_pages")));

static uint64_t
own_address(const struct elf_file *elf, int (*code)(int))
{
    const struct link_map *map;
    uint64_t offset, left, address;

    map = (const struct link_map *)(uintptr_t)_r_debug.r_map;
    address = (uint64_t)(uintptr_t)code - map->l_addr;
    ck_assert(elf_offset_of(elf, address, &offset, &left));
    ck_assert_uint_gt(left, 0);
    ck_assert(elf_address_of(elf, offset, &address));
    return address;
}

static int
copy_of_self(size_t size, struct buffer *bytes)
{
    int fd = memfd_create("elf", MFD_CLOEXEC);

    if (size > bytes->size)
        size = bytes->size;
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes->data, size), (ssize_t)size);
    return fd;
}

static void
use_everything(int fd)
{
    struct elf_file elf;
    struct error err;
    struct symbol_table *symbols;
    struct function_ranges *unwind;
    uint64_t start, end;

    if (elf_init(&elf, fd, "copy", &err) == 0) {
        ck_assert_int_eq(elf_load_sections(&elf, &err), 0);
        symbols = symbol_table_new(&elf, false, &err);
        unwind = function_ranges_new(&elf, &err);
        for (uint64_t at = 0; at < 0x8000; at += 511) {
            if (symbols)
                (void)symbol_table_holding(symbols, at);
            if (unwind)
                (void)function_ranges_find(unwind, at, &start, &end);
        }
        symbol_table_free(symbols);
        function_ranges_free(unwind);
        elf_fini(&elf);
    }
}

START_TEST(this_program_has_headers_a_build_id_and_no_soname)
{
    struct elf_file elf;
    struct error err;
    int fd = open(self, O_RDONLY | O_CLOEXEC);

    ck_assert_int_eq(elf_init(&elf, fd, self, &err), 0);
    ck_assert_uint_ge(elf.segment_count, 4);
    ck_assert_uint_gt(elf.build_id_size, 0);
    ck_assert(!elf.has_soname);
    ck_assert_int_eq(elf_load_sections(&elf, &err), 0);
    ck_assert_ptr_nonnull(elf_section(&elf, ".text"));
    ck_assert_ptr_null(elf_section(&elf, ".nonsense"));
    elf_fini(&elf);
    fd_close(fd);
}
END_TEST

START_TEST(a_shared_library_has_a_soname)
{
    static const char *const paths[] = {"/lib/x86_64-linux-gnu/libc.so.6",
                                        "/lib/aarch64-linux-gnu/libc.so.6"};
    struct elf_file elf;
    struct error err;
    int fd = -1;

    for (int i = 0; fd < 0 && i < 2; i++)
        fd = open(paths[i], O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(elf_init(&elf, fd, "libc", &err), 0);
    ck_assert(elf.has_soname);
    elf_fini(&elf);
    fd_close(fd);
}
END_TEST

START_TEST(what_is_no_elf_file_is_refused)
{
    static const char *const paths[] = {"/etc/passwd", "/dev/null", "/proc"};
    struct elf_file elf;
    struct error err;
    int fd = open(paths[_i], O_RDONLY | O_CLOEXEC);

    ck_assert_int_eq(elf_init(&elf, fd, paths[_i], &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, paths[_i]));
    fd_close(fd);
}
END_TEST

START_TEST(a_function_is_found_by_symbol_and_by_its_frame)
{
    struct elf_file elf;
    struct error err;
    struct symbol_table *symbols;
    struct function_ranges *unwind;
    const struct symbol *symbol;
    static const struct span version = {"landmark@@V1", 12};
    static const struct span other = {"other", 5};
    uint64_t address, start, end;
    int fd = open(self, O_RDONLY | O_CLOEXEC);

    ck_assert_int_eq(elf_init(&elf, fd, self, &err), 0);
    ck_assert_int_eq(elf_load_sections(&elf, &err), 0);
    address = own_address(&elf, landmark);
    ck_assert_str_eq(elf_section_at(&elf, address)->name, ".text");
    symbols = symbol_table_new(&elf, false, &err);
    unwind = function_ranges_new(&elf, &err);
    symbol = symbol_table_holding(symbols, address + 1);
    ck_assert_ptr_nonnull(symbol);
    ck_assert_str_eq(symbol->name, "landmark");
    ck_assert_ptr_eq(symbol_table_before(symbols, address), symbol);
    ck_assert_ptr_eq(symbol_table_alias(symbols, symbol, version), symbol);
    ck_assert_ptr_null(symbol_table_alias(symbols, symbol, other));
    ck_assert(function_ranges_find(unwind, address + 1, &start, &end));
    ck_assert_uint_eq(start, address);
    ck_assert_uint_eq(end, address + symbol->size);
    ck_assert(!function_ranges_find(unwind, 1, &start, &end));
    ck_assert_uint_lt(function_ranges_next(unwind, 1), address + 1);
    ck_assert_uint_ge(function_ranges_next(unwind, address), end);
    ck_assert_uint_eq(function_ranges_next(unwind, UINT64_MAX - 1), UINT64_MAX);
    ck_assert_uint_eq(symbol_table_next(symbols, address - 1), address);
    ck_assert_uint_ge(symbol_table_next(symbols, address), end);
    ck_assert_uint_eq(symbol_table_next(symbols, UINT64_MAX), UINT64_MAX);
    symbol_table_free(symbols);
    function_ranges_free(unwind);
    elf_fini(&elf);
    fd_close(fd);
}
END_TEST

START_TEST(a_malloc_of_the_programs_own_is_known_as_one)
{
    static const struct span printed = {"take_pages", 10};
    struct elf_file elf;
    struct error err;
    struct object_symbols *symbols;
    const struct symbol *symbol;
    uint64_t address;
    int fd = open(self, O_RDONLY | O_CLOEXEC);

    ck_assert_int_eq(elf_init(&elf, fd, self, &err), 0);
    ck_assert_int_eq(elf_load_sections(&elf, &err), 0);
    symbols = object_symbols_new(&elf, NULL, &err);
    ck_assert_ptr_nonnull(symbols);
    address = own_address(&elf, take_pages);
    symbol = object_symbols_at(symbols, address + 1, (struct span){"", 0});
    ck_assert_ptr_nonnull(symbol);
    ck_assert_str_eq(symbol->name, "pvalloc");
    ck_assert_ptr_eq(object_symbols_at(symbols, address + 1, printed), symbol);
    symbol = object_symbols_at(symbols, own_address(&elf, landmark), printed);
    ck_assert_str_eq(symbol->name, "landmark");
    object_symbols_free(symbols);
    elf_fini(&elf);
    fd_close(fd);
}
END_TEST

/* With .eh_frame_hdr and without, for every function that has a symbol. */
START_TEST(the_search_table_and_the_walk_agree)
{
    struct elf_file elf, bare;
    struct error err;
    struct function_ranges *table, *walk;
    struct buffer bytes;
    const struct elf_section *text;
    uint64_t a, b, c, d;
    size_t found = 0;
    int fd = open(self, O_RDONLY | O_CLOEXEC);

    buffer_init(&bytes, 64 << 20);
    ck_assert_int_eq(elf_init(&elf, fd, self, &err), 0);
    ck_assert_int_eq(elf_load_sections(&elf, &err), 0);
    ck_assert_int_eq(elf_init(&bare, fd, self, &err), 0);
    ck_assert_int_eq(elf_load_sections(&bare, &err), 0);
    for (size_t i = 0; i < bare.segment_count; i++)
        if (bare.segments[i].type == PT_GNU_EH_FRAME)
            bare.segments[i].type = PT_NULL;
    table = function_ranges_new(&elf, &err);
    walk = function_ranges_new(&bare, &err);
    text = elf_section(&elf, ".text");
    for (uint64_t at = 0; at < text->size; at += 3) {
        bool hit = function_ranges_find(table, text->address + at, &a, &b);

        ck_assert(hit ==
                  function_ranges_find(walk, text->address + at, &c, &d));
        ck_assert(!hit || (a == c && b == d));
        found += hit;
    }
    ck_assert_uint_gt(found, 100);
    function_ranges_free(table);
    function_ranges_free(walk);
    elf_fini(&elf);
    elf_fini(&bare);
    buffer_fini(&bytes);
    fd_close(fd);
}
END_TEST

START_TEST(a_cut_file_gives_fewer_facts)
{
    struct buffer bytes;
    struct error err;
    int fd;

    buffer_init(&bytes, 64 << 20);
    ck_assert_int_eq(file_read_all(self, &bytes, &err), 0);
    for (size_t size = 0; size < bytes.size;
         size += size < 2000 ? 13 : bytes.size / 50) {
        fd = copy_of_self(size, &bytes);
        use_everything(fd);
        fd_close(fd);
    }
    buffer_fini(&bytes);
}
END_TEST

START_TEST(a_damaged_file_does_no_harm)
{
    struct elf_file elf;
    struct buffer bytes;
    struct error err;
    const struct elf_section *frame;
    unsigned seed = (unsigned)_i;
    int fd;

    buffer_init(&bytes, 64 << 20);
    ck_assert_int_eq(file_read_all(self, &bytes, &err), 0);
    fd = copy_of_self(bytes.size, &bytes);
    ck_assert_int_eq(elf_init(&elf, fd, "copy", &err), 0);
    ck_assert_int_eq(elf_load_sections(&elf, &err), 0);
    frame = elf_section(&elf, _i % 2 ? ".eh_frame" : ".eh_frame_hdr");
    for (int i = 0; i < 40; i++) {
        size_t base = i % 2 ? frame->offset : 0;
        size_t span = i % 2 ? frame->size : 64 + 56 * elf.segment_count;
        size_t at = base + (size_t)rand_r(&seed) % span;

        if (at > 5) /* still an ELF file */
            bytes.data[at] = (char)rand_r(&seed);
    }
    elf_fini(&elf);
    fd_close(fd);
    fd = copy_of_self(bytes.size, &bytes);
    use_everything(fd);
    fd_close(fd);
    buffer_fini(&bytes);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("elf_file");
    TCase *tc = tcase_create("elf_file");

    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, this_program_has_headers_a_build_id_and_no_soname);
    tcase_add_test(tc, a_shared_library_has_a_soname);
    tcase_add_loop_test(tc, what_is_no_elf_file_is_refused, 0, 3);
    tcase_add_test(tc, a_function_is_found_by_symbol_and_by_its_frame);
    tcase_add_test(tc, a_malloc_of_the_programs_own_is_known_as_one);
    tcase_add_test(tc, the_search_table_and_the_walk_agree);
    tcase_add_test(tc, a_cut_file_gives_fewer_facts);
    tcase_add_loop_test(tc, a_damaged_file_does_no_harm, 0, 200);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
