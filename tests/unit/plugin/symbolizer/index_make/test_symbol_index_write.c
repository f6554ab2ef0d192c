/*
 * test_symbol_index_write.c - an index of this very program says what its DWARF
 * says.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>

#include "dwarf.h"
#include "elf_file.h"
#include "index_fixture.h"
#include "memory.h"
#include "suite.h"

enum { STEP = 17, FAKE_SYMBOL = 64 };

struct object {
    struct elf_file elf;
    struct dwarf *dwarf;
    struct buffer bytes;
    char readable[4096], symbol[4096];
    unsigned symbols;
};

static void
object_init(struct object *object, size_t memory_bytes)
{
    struct dwarf_options options = {.memory_bytes = memory_bytes,
                                    .lines = true};
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct error err;

    memset(object, 0, sizeof(*object));
    buffer_init(&object->bytes, (size_t)64 << 20);
    ck_assert_int_eq(elf_init(&object->elf, fd, "this", &err), 0);
    ck_assert_int_eq(elf_load_sections(&object->elf, &err), 0);
    ck_assert_uint_gt(object->elf.build_id_size, 0);
    object->dwarf = dwarf_new(&object->elf, &options, &err);
    ck_assert_msg(object->dwarf != NULL, "%s", err.text);
}

static void
object_fini(struct object *object)
{
    int fd = object->elf.fd;

    dwarf_free(object->dwarf);
    elf_fini(&object->elf);
    buffer_fini(&object->bytes);
    fd_close(fd);
}

/* A symbol every FAKE_SYMBOL bytes, that knows what it was asked in. */
static void
symbol(void *arg, uint64_t address, struct span outermost,
       struct index_symbol *out)
{
    struct object *object = arg;

    object->symbols++;
    out->start = address - address % FAKE_SYMBOL;
    out->end = out->start + FAKE_SYMBOL;
    snprintf(object->symbol, sizeof(object->symbol), "in %.*s",
             (int)outermost.size, outermost.data);
    out->name = span_of(object->symbol);
}

static const char *
readable(void *arg, struct span name)
{
    struct object *object = arg;

    snprintf(object->readable, sizeof(object->readable), "readable %.*s",
             (int)name.size, name.data);
    return object->readable;
}

static int
write_bytes(void *arg, const void *data, size_t size, struct error *err)
{
    struct object *object = arg;

    return fixture_write(&object->bytes, data, size, err);
}

static int
write_index(struct object *object, struct error *err)
{
    struct symbol_index_source source = {&object->elf, object->dwarf, symbol,
                                         readable,     write_bytes,   object};

    return symbol_index_write(&source, err);
}

static void
check_name(const struct code_frame *ours, const struct code_frame *theirs)
{
    struct span name = ours->name;
    size_t skip = theirs->linkage ? strlen("readable ") : 0;

    ck_assert_int_eq(ours->linkage, theirs->linkage);
    ck_assert_int_eq(ours->inlined, theirs->inlined);
    ck_assert(ours->readable);
    ck_assert_uint_eq(name.size, theirs->name.size + skip);
    ck_assert_int_eq(
        memcmp(name.data + skip, theirs->name.data, theirs->name.size), 0);
    ck_assert_uint_eq(ours->line, theirs->line);
    ck_assert_uint_eq(ours->file.size, theirs->file.size);
    ck_assert_int_eq(
        memcmp(ours->file.data, theirs->file.data, ours->file.size), 0);
}

/* What the symbol was asked in: the outermost function. */
static void
check_symbol(const struct index_symbol *ours, uint64_t address,
             const struct code_chain *chain)
{
    struct span outermost = {"", 0};

    if (chain->count > 0)
        outermost = chain->frames[chain->count - 1].name;
    ck_assert_uint_eq(ours->start, address - address % FAKE_SYMBOL);
    ck_assert_uint_gt(ours->end, address);
    ck_assert_uint_eq(ours->name.size, outermost.size + strlen("in "));
    ck_assert_int_eq(
        memcmp(ours->name.data + 3, outermost.data, outermost.size), 0);
}

START_TEST(an_index_says_what_dwarf_says)
{
    struct object object;
    struct symbol_index *index;
    const struct elf_section *text;
    uint64_t *addresses;
    uint32_t count, known = 0;
    struct error err = {0};
    int fd;

    object_init(&object, 0);
    ck_assert_msg(write_index(&object, &err) == 0, "%s", err.text);
    fd = fixture_fd(object.bytes.data, object.bytes.size);
    index = symbol_index_open(fd, object.elf.build_id, object.elf.build_id_size,
                              &err);
    ck_assert_msg(index != NULL, "%s", err.text);
    text = elf_section(&object.elf, ".text");
    count = (uint32_t)(text->size / STEP);
    addresses = mem_zalloc(count, sizeof(*addresses));
    for (uint32_t i = 0; i < count; i++)
        addresses[i] = text->address + (uint64_t)i * STEP;
    ck_assert_int_eq(dwarf_resolve(object.dwarf, addresses, count, &err), 0);
    for (uint32_t i = 0; i < count; i++) {
        struct code_chain ours, theirs;
        struct index_symbol own;
        int failed;

        ck_assert(fixture_look_up(index, addresses[i], &ours, &own, &failed));
        dwarf_chain_at(object.dwarf, i, &theirs);
        ck_assert_uint_eq(ours.count, theirs.count);
        for (uint32_t k = 0; k < ours.count; k++)
            check_name(&ours.frames[k], &theirs.frames[k]);
        check_symbol(&own, addresses[i], &theirs);
        known += ours.count > 0;
    }
    ck_assert_uint_gt(known, count / 2);
    mem_free(addresses);
    symbol_index_close(index);
    fd_close(fd);
    object_fini(&object);
}
END_TEST

START_TEST(without_dwarf_an_index_says_what_symbols_say)
{
    struct object object;
    struct symbol_index *index;
    struct error err = {0};
    unsigned asked = 0;
    int fd;

    object_init(&object, 0);
    dwarf_free(object.dwarf);
    object.dwarf = NULL;
    ck_assert_msg(write_index(&object, &err) == 0, "%s", err.text);
    fd = fixture_fd(object.bytes.data, object.bytes.size);
    index = symbol_index_open(fd, object.elf.build_id, object.elf.build_id_size,
                              &err);
    ck_assert_msg(index != NULL, "%s", err.text);
    ck_assert(symbol_index_symbols_only(index));
    for (size_t i = 0; i < object.elf.segment_count; i++) {
        const struct elf_segment *s = &object.elf.segments[i];

        for (uint64_t at = 0; s->type == PT_LOAD && at < s->file_size;
             at += 4099, asked++) {
            struct code_chain chain;
            struct index_symbol own;
            int failed;

            ck_assert(
                fixture_look_up(index, s->address + at, &chain, &own, &failed));
            ck_assert_uint_eq(chain.count, 0);
            check_symbol(&own, s->address + at, &chain);
        }
    }
    ck_assert_uint_gt(asked, 10);
    symbol_index_close(index);
    fd_close(fd);
    object_fini(&object);
}
END_TEST

START_TEST(the_same_program_gives_the_same_bytes)
{
    struct object first, second;

    object_init(&first, 0);
    object_init(&second, 0);
    ck_assert_int_eq(write_index(&first, NULL), 0);
    ck_assert_int_eq(write_index(&second, NULL), 0);
    ck_assert_uint_eq(first.bytes.size, second.bytes.size);
    ck_assert_int_eq(
        memcmp(first.bytes.data, second.bytes.data, first.bytes.size), 0);
    object_fini(&first);
    object_fini(&second);
}
END_TEST

/* With less and less memory: whole, or an error. */
START_TEST(what_there_is_no_memory_for_is_an_error)
{
    unsigned errors = 0, whole = 0;
    struct object all;

    object_init(&all, 0);
    ck_assert_int_eq(write_index(&all, NULL), 0);
    for (size_t memory = (size_t)64 << 20; memory > 1 << 14;
         memory -= memory / 4) {
        struct dwarf_options options = {.memory_bytes = memory, .lines = true};
        struct object object;
        struct error err = {0};

        object_init(&object, 0);
        dwarf_free(object.dwarf);
        object.dwarf = dwarf_new(&object.elf, &options, &err);
        if (!object.dwarf) {
            errors++;
        } else if (write_index(&object, &err) != 0) {
            ck_assert_ptr_nonnull(strstr(err.text, "memory"));
            errors++;
        } else {
            whole++;
            ck_assert_uint_eq(object.bytes.size, all.bytes.size);
            ck_assert_int_eq(
                memcmp(object.bytes.data, all.bytes.data, all.bytes.size), 0);
        }
        object_fini(&object);
    }
    object_fini(&all);
    ck_assert_uint_gt(errors, 0);
    ck_assert_uint_gt(whole, 0);
}
END_TEST

static int
write_nothing(void *arg, const void *data, size_t size, struct error *err)
{
    (void)arg;
    (void)data;
    (void)size;
    error_set(err, ER_DISK_FULL, "the disk is full");
    return -1;
}

START_TEST(an_unwritable_directory_is_reported)
{
    struct symbol_index_source source;
    struct error err = {0};
    struct object object;

    object_init(&object, 0);
    source = (struct symbol_index_source){&object.elf, object.dwarf,  symbol,
                                          readable,    write_nothing, &object};
    ck_assert_int_eq(symbol_index_write(&source, &err), -1);
    ck_assert_str_eq(err.text, "the disk is full");
    object_fini(&object);
}
END_TEST

START_TEST(without_a_build_id_there_is_no_index)
{
    struct error err = {0};
    struct object object;

    object_init(&object, 0);
    object.elf.build_id_size = 0;
    ck_assert_int_eq(write_index(&object, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "build-id"));
    ck_assert_uint_eq(object.bytes.size, 0);
    object_fini(&object);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("symbol_index_write");
    TCase *tcase = tcase_create("symbol_index_write");

    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, an_index_says_what_dwarf_says);
    tcase_add_test(tcase, without_dwarf_an_index_says_what_symbols_say);
    tcase_add_test(tcase, the_same_program_gives_the_same_bytes);
    tcase_add_test(tcase, what_there_is_no_memory_for_is_an_error);
    tcase_add_test(tcase, an_unwritable_directory_is_reported);
    tcase_add_test(tcase, without_a_build_id_there_is_no_index);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
