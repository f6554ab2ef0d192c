/* test_segment_file.c - copies of a segment in a file, whole and cut short. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffer.h"
#include "segment_file.h"
#include "segment_layout.h"
#include "segment_make.h"
#include "suite.h"

enum { PAGE = 4096, OWNER = 4711 };

static const struct segment_capacity capacity = {.modules = 8,
                                                 .stacks = 256,
                                                 .frames = 4096,
                                                 .samples = 1024,
                                                 .threads = 128};
static int segment, fd;
static struct segment_header *header;
static uint64_t *keys;
static struct segment_stack *stacks;
static struct segment_file *file;
static struct segment_owner owner;

static void
set_up(void)
{
    struct segment_header planned;

    ck_assert(segment_plan(&capacity, &planned));
    segment = segment_make(&planned);
    header = mmap(NULL, planned.segment_bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED, segment, 0);
    ck_assert_ptr_ne(header, MAP_FAILED);
    header->owner = OWNER;
    header->executions = 1;
    keys = (void *)((char *)header + header->parts[SEGMENT_KEYS].offset);
    stacks = (void *)((char *)header + header->parts[SEGMENT_STACKS].offset);
    fd = memfd_create("copies", 0);
    file = segment_file_new(dup(fd));
    ck_assert_ptr_nonnull(file);
    ck_assert(segment_owner_read(segment, &owner));
}

static void
tear_down(void)
{
    segment_file_free(file);
    munmap(header, header->segment_bytes);
    close(segment);
    close(fd);
}

static int64_t
write_copy(const char *note)
{
    return segment_file_write(file, segment, &owner, note, strlen(note));
}

/* The newest copy's first key, and its note. */
static uint64_t
read_copy(char *note)
{
    struct buffer text;
    uint64_t key = UINT64_MAX;
    int memory;

    buffer_init(&text, SEGMENT_FILE_NOTE_MAX);
    memory = segment_file_read(fd, &text);
    if (memory >= 0)
        ck_assert_int_eq(pread(memory, &key, sizeof(key),
                               (off_t)header->parts[SEGMENT_KEYS].offset),
                         sizeof(key));
    strcpy(note, text.data ? text.data : "");
    buffer_fini(&text);
    close(memory);
    return key;
}

START_TEST(the_newest_is_read)
{
    char note[64];

    ck_assert_uint_eq(read_copy(note), UINT64_MAX);
    for (uint64_t i = 1; i < 6; i++) {
        char now[8] = {(char)('a' + i)};

        keys[0] = i;
        keys[600] = i % 2; /* on and off: a page of zeros */
        ck_assert_int_gt(write_copy(now), 0);
        ck_assert_uint_eq(read_copy(note), i);
        ck_assert_str_eq(note, now);
    }
}
END_TEST

START_TEST(what_is_the_same_is_not_written)
{
    char note[64];
    struct stat st;

    keys[0] = 7;
    ck_assert_int_gt(write_copy("a"), 2 * PAGE - 1);
    ck_assert_int_gt(write_copy("b"), 2 * PAGE - 1); /* the other one */
    ck_assert_int_eq(write_copy("c"), 0);
    ck_assert_uint_eq(read_copy(note), 7);
    keys[1] = 8;
    ck_assert_int_eq(write_copy("d"), 2 * PAGE); /* and the head */
    ck_assert_int_eq(write_copy("e"), 2 * PAGE);
    ck_assert_int_eq(write_copy("f"), 0);
    ck_assert_int_eq(fstat(fd, &st), 0);
    ck_assert_int_le(st.st_blocks * 512, 8 * PAGE);
}
END_TEST

START_TEST(pages_that_were_given_back_are_zeros)
{
    char note[64];

    keys[0] = 7;
    ck_assert_int_gt(write_copy("a"), 0);
    ck_assert_int_gt(write_copy("b"), 0);
    ck_assert_int_eq(madvise((char *)header + SEGMENT_HEADER_BYTES,
                             header->segment_bytes - SEGMENT_HEADER_BYTES,
                             MADV_REMOVE),
                     0);
    header->live_samples = 1;
    ck_assert_int_gt(write_copy("c"), 0);
    ck_assert_uint_eq(read_copy(note), 0);
    ck_assert_str_eq(note, "c");
}
END_TEST

/* Whichever page of the newer one is wrong, the older is whole. */
START_TEST(a_torn_copy_is_passed_over)
{
    char note[64];
    uint64_t at = 2 * PAGE + header->segment_bytes; /* the first copy written */
    uint8_t byte = 1;

    keys[0] = 1;
    ck_assert_int_gt(write_copy("a"), 0);
    keys[0] = 2;
    ck_assert_int_gt(write_copy("b"), 0);
    ck_assert_uint_eq(read_copy(note), 2);
    at -= header->segment_bytes;
    ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)(at + 5 * PAGE)), 1);
    ck_assert_uint_eq(read_copy(note), 1);
    ck_assert_str_eq(note, "a");
}
END_TEST

START_TEST(a_file_of_anything_has_none)
{
    char note[64], junk[3 * PAGE];

    for (size_t i = 0; i < sizeof(junk); i++)
        junk[i] = (char)(i * 7);
    ck_assert_int_eq(pwrite(fd, junk, sizeof(junk), 0), sizeof(junk));
    ck_assert_uint_eq(read_copy(note), UINT64_MAX);
    ck_assert_int_eq(ftruncate(fd, 100), 0);
    ck_assert_uint_eq(read_copy(note), UINT64_MAX);
}
END_TEST

/* Each byte of the newer head. */
START_TEST(a_damaged_head_is_passed_over)
{
    char note[64];
    uint8_t byte;

    keys[0] = 1;
    ck_assert_int_gt(write_copy("a"), 0);
    keys[0] = 2;
    ck_assert_int_gt(write_copy("b"), 0);
    ck_assert_int_eq(pread(fd, &byte, 1, _i), 1);
    byte ^= 0x41;
    ck_assert_int_eq(pwrite(fd, &byte, 1, _i), 1);
    ck_assert_uint_eq(read_copy(note), 1);
}
END_TEST

START_TEST(another_owner_is_no_copy)
{
    char note[64];

    keys[0] = 1;
    ck_assert_int_gt(write_copy("a"), 0);
    header->executions++;
    keys[0] = 2;
    ck_assert_int_eq(write_copy("b"), -1);
    ck_assert_int_eq(errno, ESTALE);
    ck_assert_int_eq(segment_clone(segment, &owner), -1);
    ck_assert_uint_eq(read_copy(note), 1);
    header->executions--;
    ck_assert_int_gt(write_copy("c"), 0);
    ck_assert_uint_eq(read_copy(note), 2);
}
END_TEST

/* As on a full disk: what was there stays, and all is well once there is room.
 */
START_TEST(where_nothing_can_be_written_the_copy_before_stays)
{
    struct rlimit before, none = {3 * PAGE, RLIM_INFINITY};
    char note[64];

    signal(SIGXFSZ, SIG_IGN);
    keys[0] = 1;
    ck_assert_int_gt(write_copy("a"), 0);
    ck_assert_int_gt(write_copy("b"), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    none.rlim_max = before.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
    for (uint64_t i = 2; i < 5; i++) {
        keys[0] = i;
        ck_assert_int_eq(write_copy("c"), -1);
        ck_assert_int_eq(errno, EFBIG);
        setrlimit(RLIMIT_FSIZE, &before); /* for the memory of the reader */
        ck_assert_uint_eq(read_copy(note), 1);
        setrlimit(RLIMIT_FSIZE, &none);
    }
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_int_gt(write_copy("d"), 0);
    ck_assert_uint_eq(read_copy(note), 4);
}
END_TEST

START_TEST(live_bytes_are_what_was_not_freed)
{
    stacks[3] =
        (struct segment_stack){.allocated_bytes = 500, .freed_bytes = 9};
    stacks[200] = (struct segment_stack){.allocated_bytes = 1000};
    ck_assert_uint_eq(segment_live_bytes(segment), 1491);
    stacks[200].freed_bytes = 2000; /* more than there was: not known */
    ck_assert_uint_eq(segment_live_bytes(segment), 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("segment_file");
    TCase *cases = tcase_create("segment_file");

    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, the_newest_is_read);
    tcase_add_test(cases, what_is_the_same_is_not_written);
    tcase_add_test(cases, pages_that_were_given_back_are_zeros);
    tcase_add_test(cases, a_torn_copy_is_passed_over);
    tcase_add_test(cases, a_file_of_anything_has_none);
    tcase_add_loop_test(cases, a_damaged_head_is_passed_over, 0, 49);
    tcase_add_test(cases, another_owner_is_no_copy);
    tcase_add_test(cases, where_nothing_can_be_written_the_copy_before_stays);
    tcase_add_test(cases, live_bytes_are_what_was_not_freed);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
