/* test_recorded_maps.c - a recorder's modules as mappings, with the files of
 * those that are still what they were. */
#include "recorded_maps.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>

#include "arena.h"
#include "buffer.h"
#include "elf_file.h"
#include "failing_memory.h"
#include "mappings.h"
#include "objects.h"
#include "segment_fixture.h"
#include "suite.h"

enum { BASE = 0x40000000, WHOLE = 1 << 24, TEXT_MAX = 1 << 20 };

static struct segment_fixture f;
static struct objects objects;
static struct buffer text;
static struct arena *arena;
static char own[PATH_MAX]; /* this program */
static bool complete;      /* of the last recorded_maps_find() */
static struct recorded_maps known;

static void
set_up(void)
{
    ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

    ck_assert_int_gt(n, 0);
    own[n] = '\0';
    fixture_init(&f);
    objects_init(&objects);
    buffer_init(&text, TEXT_MAX);
    arena = arena_new(TEXT_MAX);
}

static void
tear_down(void)
{
    recorded_maps_clear(&known);
    arena_free(arena);
    buffer_fini(&text);
    objects_fini(&objects);
    fixture_fini(&f);
}

/* Adds a module and a stack in it: a module that no stack names is not read. */
static struct segment_module *
put_module(uint32_t index, uint64_t start, const char *path)
{
    struct segment_module *module =
        (struct segment_module *)fixture_part(&f, SEGMENT_MODULES) + index;

    module->end = start + WHOLE;
    module->base = start;
    module->path_size = (uint32_t)strlen(path);
    ck_assert_uint_le(module->path_size, SEGMENT_PATH_MAX);
    memcpy(module->path, path, module->path_size);
    module->start = start;
    ((uint64_t *)fixture_part(&f, SEGMENT_FRAMES))[f.frames] =
        start | (uint64_t)(index + 1) << SEGMENT_PC_BITS;
    ((struct segment_stack *)fixture_part(&f, SEGMENT_STACKS))[index + 1] =
        (struct segment_stack){
            .hash = index + 1, .first_frame = f.frames++, .depth = 1};
    return module;
}

static void
put_own_build_id(struct segment_module *module)
{
    struct elf_file elf;
    struct error err;
    int fd = open(own, O_RDONLY | O_CLOEXEC);

    ck_assert_int_eq(elf_init(&elf, fd, own, &err), 0);
    ck_assert_uint_gt(elf.build_id_size, 0); /* -Wl,--build-id */
    module->build_id_size = (uint32_t)elf.build_id_size;
    memcpy(module->build_id, elf.build_id, elf.build_id_size);
    elf_fini(&elf);
    close(fd);
}

/* All of them, parsed as heapwired does. */
static struct mappings
map_all(const struct mappings *mapped)
{
    struct segment_copy *copy = fixture_copy(&f);
    struct mappings maps;
    struct error err;
    size_t skipped;

    buffer_clear(&text);
    ck_assert_int_eq(
        recorded_maps_find(&known, copy, mapped, &objects, &complete, &err), 0);
    ck_assert_int_eq(recorded_maps_write(&known, copy, &text, &err), 0);
    segment_copy_free(copy);
    ck_assert_int_eq(
        mappings_parse(arena, text.data, text.size, &maps, &skipped, &err), 0);
    ck_assert_uint_eq(skipped, 0);
    return maps;
}

/* The module's bytes at a mapped address are the file's, by its own headers. */
START_TEST(the_code_of_a_file_that_is_the_same_is_mapped)
{
    uint64_t address, offset, left;
    const struct mapping *m;
    struct mappings maps;
    struct elf_file elf;
    struct error err;
    struct stat st;
    int fd;

    put_own_build_id(put_module(0, BASE, own));
    maps = map_all(NULL);
    ck_assert(complete);
    ck_assert_int_eq(stat(own, &st), 0);
    ck_assert_uint_eq(maps.count, 1);
    m = &maps.list[0];
    ck_assert(m->executable);
    ck_assert_str_eq(m->path, own);
    ck_assert_uint_eq(m->device, st.st_dev);
    ck_assert_uint_eq(m->inode, st.st_ino);

    fd = objects_open(&objects, st.st_dev, st.st_ino);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(elf_init(&elf, fd, own, &err), 0);
    address = m->start + (m->end - m->start) / 2;
    ck_assert(elf_is_code(&elf, address - BASE));
    ck_assert(elf_offset_of(&elf, address - BASE, &offset, &left));
    ck_assert_uint_eq(address - m->start + m->offset, offset);
    elf_fini(&elf);
    close(fd);
}
END_TEST

/* A module with one segment of code. */
static int
make_bare_elf(void)
{
    const Elf64_Ehdr head = {
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof(head),
        .e_ehsize = sizeof(head),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 1};
    const Elf64_Phdr code = {.p_type = PT_LOAD,
                             .p_flags = PF_R | PF_X,
                             .p_filesz = 4096,
                             .p_memsz = 4096};
    int fd = memfd_create("bare", MFD_CLOEXEC);

    ck_assert_int_eq((int)write(fd, &head, sizeof(head)), (int)sizeof(head));
    ck_assert_int_eq((int)write(fd, &code, sizeof(code)), (int)sizeof(code));
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    return fd;
}

static void
is_whole(const struct mapping *m, uint64_t start, const char *path)
{
    ck_assert_uint_eq(m->start, start);
    ck_assert_uint_eq(m->end, start + WHOLE);
    ck_assert_uint_eq(m->inode, 0);
    ck_assert(m->executable);
    ck_assert_str_eq(m->path, path);
}

START_TEST(of_another_file_only_the_name_is_known)
{
    struct segment_module *other = put_module(0, BASE, own);
    struct mappings maps;

    put_own_build_id(other);
    other->build_id[0] ^= 1;
    put_module(1, BASE + WHOLE, own); /* without any build-id */
    put_module(2, BASE + 2 * WHOLE, "/nowhere/at all");
    put_module(3, BASE + 3 * WHOLE, "/dev/null");
    maps = map_all(NULL);
    ck_assert(!complete);
    ck_assert_uint_eq(maps.count, 4);
    is_whole(&maps.list[0], BASE, own);
    is_whole(&maps.list[1], BASE + WHOLE, own);
    is_whole(&maps.list[2], BASE + 2 * WHOLE, "/nowhere/at all");
    is_whole(&maps.list[3], BASE + 3 * WHOLE, "/dev/null");
    ck_assert_int_eq(objects.count, 0);
}
END_TEST

/* The file is in another container, for instance; the agent is asked once. */
START_TEST(a_file_that_lies_elsewhere_is_found_among_what_is_mapped)
{
    struct mapping there = {.start = BASE,
                            .end = BASE + WHOLE,
                            .device = 7,
                            .inode = 77,
                            .executable = true,
                            .path = "/there"};
    struct mappings maps;

    put_own_build_id(put_module(0, BASE, "/nowhere/at all"));
    put_module(1, BASE + WHOLE, "/nowhere/to be found");
    objects_put(&objects, 7, 77, open(own, O_RDONLY | O_CLOEXEC));
    maps = map_all(NULL);
    ck_assert(!complete);
    is_whole(&maps.list[0], BASE, "/nowhere/at all");
    maps = map_all(&(struct mappings){&there, 1});
    ck_assert_uint_eq(maps.list[0].device, 7);
    ck_assert_uint_eq(maps.list[0].inode, 77);
    maps = map_all(NULL);
    ck_assert(complete);
    ck_assert_uint_eq(maps.list[0].inode, 77);
    is_whole(&maps.list[1], BASE + WHOLE, "/nowhere/to be found");
    f.header->executions++; /* another table */
    map_all(NULL);
    ck_assert(!complete);
}
END_TEST

/* Without a build-id only the last module may be the one that lies there
 * now. */
START_TEST(a_file_without_a_build_id_is_known_by_its_place)
{
    struct mapping there = {.start = BASE,
                            .end = BASE + WHOLE,
                            .device = 7,
                            .inode = 77,
                            .executable = true,
                            .path = "/there"};
    struct mappings maps;

    put_module(0, BASE, "/nowhere/first");
    put_module(1, BASE, "/nowhere/last");
    objects_put(&objects, 7, 77, make_bare_elf());
    maps = map_all(&(struct mappings){&there, 1});
    ck_assert_uint_eq(maps.count, 2);
    is_whole(&maps.list[0], BASE, "/nowhere/first");
    ck_assert_uint_eq(maps.list[1].inode, 77);
    ck_assert_uint_eq(maps.list[1].start, BASE + (2ULL << SEGMENT_PC_BITS));
    ck_assert_str_eq(maps.list[1].path, "/nowhere/last");
}
END_TEST

START_TEST(they_are_sorted_and_the_later_of_two_at_one_place_is_moved)
{
    struct mappings maps;

    put_module(0, BASE + WHOLE / 2, "/unloaded");
    put_module(1, BASE + 4 * WHOLE, "/above");
    put_module(2, BASE, "/below");
    maps = map_all(NULL);
    ck_assert_uint_eq(maps.count, 3);
    is_whole(&maps.list[0], BASE + WHOLE / 2, "/unloaded");
    is_whole(&maps.list[1], BASE + 4 * WHOLE, "/above");
    is_whole(&maps.list[2], BASE + (3ULL << SEGMENT_PC_BITS), "/below");
}
END_TEST

START_TEST(a_path_cannot_be_two_lines_and_a_cut_one_is_left_out)
{
    struct mappings maps;

    put_module(0, BASE, "/a\n1-2 r-xp 0 00:00 0 /b");
    put_module(1, BASE + WHOLE, "/cut")->path_size = SEGMENT_PATH_MAX + 1;
    put_module(2, BASE + 2 * WHOLE, "/empty")->end = BASE;
    maps = map_all(NULL);
    ck_assert_uint_eq(maps.count, 1);
    is_whole(&maps.list[0], BASE, "/a?1-2 r-xp 0 00:00 0 /b");
}
END_TEST

START_TEST(whichever_allocation_fails_it_is_an_error_or_a_name_alone)
{
    struct segment_copy *copy;
    struct error err;
    int rc = -1;

    put_own_build_id(put_module(0, BASE, own));
    copy = fixture_copy(&f);
    for (failing = 1; rc != 0 || failing < 8; failing++) {
        ck_assert_uint_lt(failing, 100);
        allocations = 0;
        memset(&err, 0, sizeof(err));
        buffer_clear(&text);
        recorded_maps_clear(&known);
        rc = recorded_maps_find(&known, copy, NULL, &objects, &complete, &err);
        if (rc == 0)
            rc = recorded_maps_write(&known, copy, &text, &err);
        ck_assert(rc == 0 || err.code == ER_OUT_OF_MEMORY);
    }
    failing = 0;
    segment_copy_free(copy);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("recorded_maps");
    TCase *tcase = tcase_create("recorded_maps");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, the_code_of_a_file_that_is_the_same_is_mapped);
    tcase_add_test(tcase, of_another_file_only_the_name_is_known);
    tcase_add_test(tcase,
                   a_file_that_lies_elsewhere_is_found_among_what_is_mapped);
    tcase_add_test(tcase, a_file_without_a_build_id_is_known_by_its_place);
    tcase_add_test(tcase,
                   they_are_sorted_and_the_later_of_two_at_one_place_is_moved);
    tcase_add_test(tcase, a_path_cannot_be_two_lines_and_a_cut_one_is_left_out);
    tcase_add_test(tcase,
                   whichever_allocation_fails_it_is_an_error_or_a_name_alone);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
