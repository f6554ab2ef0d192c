/*
 * test_snapshot_file.c - snapshots to bytes and back; bytes that are wrong.
 */
#include <stdlib.h>
#include <zlib.h>

#include "buffer.h"
#include "errors.h"
#include "failing_memory.h"
#include "snapshot_body.h"
#include "snapshot_file.h"
#include "snapshot_fixture.h"
#include "snapshot_head.h"
#include "store.h"
#include "suite.h"

static struct snapshot *original;
static struct buffer file;
static struct error err;

static void
set_up(void)
{
    original = fixture_snapshot("before", 40);
    buffer_init(&file, SNAPSHOT_FILE_MAX);
    ck_assert_msg(snapshot_encode(original, &file, &err) == 0, "%s", err.text);
}

static void
tear_down(void)
{
    snapshot_unref(original);
    buffer_fini(&file);
}

START_TEST(all_of_a_snapshot_comes_back)
{
    struct snapshot *copy = snapshot_decode(file.data, file.size, &err);

    ck_assert_msg(copy != NULL, "%s", err.text);
    fixture_same(original, copy);
    ck_assert_uint_lt(file.size, 20000); /* packed: one name has 100 KB */
    snapshot_unref(copy);
}
END_TEST

/* Kept or exported again, it still says what its node counted among the
 * allocator's; heapwires that do not know of that see the version. */
START_TEST(what_lies_in_other_jemallocs_comes_back)
{
    struct snapshot *copy;

    original->memory.elsewhere = (struct stats_figure){true, 212 << 20};
    buffer_clear(&file);
    ck_assert_int_eq(snapshot_encode(original, &file, &err), 0);
    copy = snapshot_decode(file.data, file.size, &err);
    ck_assert_msg(copy != NULL, "%s", err.text);
    ck_assert(copy->memory.elsewhere.known);
    ck_assert_uint_eq(copy->memory.elsewhere.value, 212 << 20);
    ck_assert(copy->profile->unseen.bytes >= 212 << 20);
    ck_assert_uint_eq(file.data[8], 4);
    snapshot_unref(copy);
}
END_TEST

START_TEST(a_profile_of_time_comes_back)
{
    struct store_entry entry;
    struct snapshot *copy;

    original->profile->kind = PROFILE_WALL;
    original->profile->duration_ms = 10250;
    original->profile->rate = 0; /* not known */
    original->profile->accumulated = false;
    buffer_clear(&file);
    ck_assert_int_eq(snapshot_encode(original, &file, &err), 0);
    ck_assert_uint_eq(file.data[8], 6);
    copy = snapshot_decode(file.data, file.size, &err);
    ck_assert_msg(copy != NULL, "%s", err.text);
    fixture_same(original, copy);
    ck_assert_int_eq(copy->profile->kind, PROFILE_WALL);
    ck_assert_uint_eq(copy->profile->duration_ms, 10250);
    ck_assert(copy->profile->unseen.bytes == 0);
    ck_assert_str_eq(copy->profile->unseen.why, "");
    ck_assert_int_eq(snapshot_decode_head(file.data, file.size, &entry, &err),
                     0);
    ck_assert_int_eq(entry.kind, PROFILE_WALL);
    ck_assert_uint_eq(entry.duration_ms, 10250);
    snapshot_unref(copy);
}
END_TEST

START_TEST(a_kind_that_is_not_known_is_rejected)
{
    original->profile->kind = PROFILE_WALL + 1;
    buffer_clear(&file);
    ck_assert_int_eq(snapshot_encode(original, &file, &err), 0);
    ck_assert_ptr_null(snapshot_decode(file.data, file.size, &err));
    ck_assert_str_eq(err.text, "its head makes no sense");
}
END_TEST

START_TEST(only_one_kind_is_compared)
{
    struct snapshot *other = fixture_snapshot("after", 3);

    other->profile->kind = PROFILE_CPU;
    ck_assert_int_eq(snapshot_comparable(other, original, &err), -1);
    ck_assert_str_eq(err.text, "snapshot after is of the processor, and before "
                               "of the heap: they cannot be compared");
    original->profile->kind = PROFILE_CPU;
    other->profile->rate = 1; /* and so is what a reset forgets */
    other->hello.resets++;
    ck_assert_int_eq(snapshot_comparable(other, original, &err), 0);
    other->hello.start_ticks++;
    ck_assert_int_eq(snapshot_comparable(other, original, &err), -1);
    snapshot_unref(other);
}
END_TEST

START_TEST(what_its_node_counts_among_the_allocators_comes_with_it)
{
    struct snapshot *snapshot = fixture_snapshot("", 12), *copy, *again;
    struct buffer bytes;

    ((struct frame *)snapshot->profile->locations[1].frames)[0].function =
        "my_malloc(int)";
    buffer_init(&bytes, SNAPSHOT_FILE_MAX);
    ck_assert_int_eq(snapshot_export(snapshot, "f,my_mal*", &bytes, &err), 0);
    ck_assert_int_eq(bytes.data[8], 3);
    ck_assert_int_eq(file.data[8], 2);
    copy = snapshot_decode_foreign(bytes.data, bytes.size, &err);
    ck_assert_msg(copy != NULL, "%s", err.text);
    ck_assert_uint_eq(copy->profile->locations[0].wrapped, 0);
    ck_assert_uint_eq(copy->profile->locations[1].wrapped, 1);
    buffer_clear(&bytes);
    ck_assert_int_eq(snapshot_encode(copy, &bytes, &err), 0);
    again = snapshot_decode(bytes.data, bytes.size, &err);
    ck_assert_ptr_nonnull(again);
    ck_assert_uint_eq(again->profile->locations[1].wrapped, 1);
    snapshot_unref(again);
    snapshot_unref(copy);
    snapshot_unref(snapshot);
    buffer_fini(&bytes);
}
END_TEST

START_TEST(an_empty_profile_comes_back)
{
    struct snapshot *empty = fixture_snapshot("", 0), *copy;
    struct buffer bytes;

    empty->profile->module_count = 0;
    buffer_init(&bytes, SNAPSHOT_FILE_MAX);
    ck_assert_int_eq(snapshot_encode(empty, &bytes, &err), 0);
    copy = snapshot_decode(bytes.data, bytes.size, &err);
    ck_assert_msg(copy != NULL, "%s", err.text);
    fixture_same(empty, copy);
    snapshot_unref(empty);
    snapshot_unref(copy);
    buffer_fini(&bytes);
}
END_TEST

START_TEST(equal_texts_are_one_text)
{
    struct snapshot *copy = snapshot_decode(file.data, file.size, &err);
    const struct location *locations = copy->profile->locations;

    ck_assert_ptr_eq(locations[0].frames[0].function, locations[8].module);
    snapshot_unref(copy);
}
END_TEST

START_TEST(the_head_alone_has_what_a_list_shows)
{
    struct store_entry entry, described;

    snapshot_describe(original, &described);
    ck_assert_int_eq(snapshot_decode_head(file.data,
                                          SNAPSHOT_FILE_HEAD_MAX < file.size
                                              ? SNAPSHOT_FILE_HEAD_MAX
                                              : file.size,
                                          &entry, &err),
                     0);
    ck_assert_str_eq(entry.name, "before");
    ck_assert_int_eq(entry.taken_ms, original->taken_ms);
    ck_assert_uint_eq(entry.node_id, 10001);
    ck_assert_int_eq(entry.cause, SNAPSHOT_MARK);
    ck_assert_str_eq(entry.reason, original->reason);
    ck_assert_uint_eq(entry.size, file.size);
    ck_assert_uint_eq(entry.rate, 524288);
    ck_assert_uint_eq(entry.stacks, 40);
    ck_assert_uint_eq(entry.samples, original->profile->samples);
    ck_assert(entry.bytes == original->profile->bytes);
    ck_assert(entry.objects == original->profile->objects);
    ck_assert(entry.truncated);
    ck_assert_str_eq(entry.note, original->profile->note);
    fixture_same_hello(&entry.hello, &original->hello);
    fixture_same_memory(&entry.memory, &original->memory);
    ck_assert_str_eq(entry.note, described.note);
}
END_TEST

/* Its head has no times of the memory, the last 16 bytes in front of the
 * checksum. */
START_TEST(a_file_of_version_1_is_read)
{
    enum { TIMES = 16, SUM = 4 };
    uint32_t size, sum;
    struct snapshot *copy;

    memcpy(&size, file.data + 12, sizeof(size));
    memmove(file.data + size - SUM - TIMES, file.data + size - SUM,
            file.size - (size - SUM));
    size -= TIMES;
    file.size -= TIMES;
    file.data[8] = 1;
    memcpy(file.data + 12, &size, sizeof(size));
    sum = (uint32_t)crc32(0, (const Bytef *)file.data, size - SUM);
    memcpy(file.data + size - SUM, &sum, sizeof(sum));
    copy = snapshot_decode(file.data, file.size, &err);
    ck_assert_msg(copy != NULL, "%s", err.text);
    original->memory.allocator_ms = original->memory.rss_ms = 0;
    fixture_same(original, copy);
    snapshot_unref(copy);
}
END_TEST

START_TEST(a_note_is_cut_where_a_list_shows_it)
{
    struct store_entry entry;
    struct snapshot *copy;
    struct buffer bytes;
    char note[1000];

    memset(note, 'n', sizeof(note) - 1);
    note[sizeof(note) - 1] = '\0';
    original->profile->note = note;
    buffer_init(&bytes, SNAPSHOT_FILE_MAX);
    ck_assert_int_eq(snapshot_encode(original, &bytes, &err), 0);
    ck_assert_int_eq(snapshot_decode_head(bytes.data, bytes.size, &entry, &err),
                     0);
    ck_assert_uint_eq(strlen(entry.note), sizeof(entry.note) - 1);
    copy = snapshot_decode(bytes.data, bytes.size, &err);
    ck_assert_str_eq(copy->profile->note, note);
    snapshot_unref(copy);
    buffer_fini(&bytes);
}
END_TEST

START_TEST(a_difference_is_not_kept)
{
    struct buffer bytes;

    original->profile->difference = true;
    buffer_init(&bytes, SNAPSHOT_FILE_MAX);
    ck_assert_int_eq(snapshot_encode(original, &bytes, &err), -1);
    ck_assert_str_eq(err.text, "a difference is no snapshot to keep");
    ck_assert_uint_eq(bytes.size, 0);
}
END_TEST

/* Memory of exactly that size: a sanitizer sees the first byte too many. */
static struct snapshot *
decode_exactly(const char *bytes, size_t size)
{
    char *copy = malloc(size ? size : 1);
    struct snapshot *snapshot;
    struct store_entry entry;

    memcpy(copy, bytes, size);
    err.text[0] = '\0';
    snapshot_decode_head(copy, size, &entry, NULL);
    snapshot = snapshot_decode(copy, size, &err);
    free(copy);
    return snapshot;
}

START_TEST(no_cut_file_is_read)
{
    for (size_t size = 0; size < file.size; size++) {
        ck_assert_ptr_null(decode_exactly(file.data, size));
        ck_assert_uint_gt(strlen(err.text), 0);
    }
}
END_TEST

START_TEST(a_longer_file_is_not_read)
{
    buffer_char(&file, 'x');
    ck_assert_ptr_null(decode_exactly(file.data, file.size));
    ck_assert_str_eq(err.text, "it is longer than it says");
}
END_TEST

START_TEST(no_flipped_bit_goes_unseen)
{
    for (size_t i = 0; i < file.size * 8; i++) {
        file.data[i / 8] ^= (char)(1 << i % 8);
        ck_assert_ptr_null(decode_exactly(file.data, file.size));
        ck_assert_uint_gt(strlen(err.text), 0);
        file.data[i / 8] ^= (char)(1 << i % 8);
    }
}
END_TEST

/* ---- files of strangers, with checksums that are right ---- */

static void
put_u32(char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (char)(value >> 8 * i);
}

/* The head of the file has so many bytes; its checksum is made anew. */
static size_t
seal_head(char *bytes)
{
    size_t size = (uint8_t)bytes[12] | (size_t)(uint8_t)bytes[13] << 8;

    put_u32(bytes + size - 4,
            (uint32_t)crc32(0, (const Bytef *)bytes, (uInt)size - 4));
    return size;
}

START_TEST(a_head_that_lies_does_no_harm)
{
    size_t size = seal_head(file.data);
    struct snapshot *copy;

    srand(1);
    for (size_t i = 8; i < size - 4; i++)
        for (int n = 0; n < 8; n++) {
            char before = file.data[i];

            file.data[i] = n == 0   ? 0
                           : n == 1 ? (char)0xff
                                    : (char)(rand() >> 7); /* NOLINT */
            /* The size itself stays what the seal needs. */
            if (i < 12 || i >= 16)
                seal_head(file.data);
            copy = decode_exactly(file.data, file.size);
            ck_assert(copy || strlen(err.text) > 0);
            snapshot_unref(copy);
            file.data[i] = before;
        }
    seal_head(file.data);
    copy = decode_exactly(file.data, file.size);
    fixture_same(original, copy);
    snapshot_unref(copy);
}
END_TEST

/* A body without pack and checksum, in memory of its own size. */
static struct profile *
decode_body(const struct buffer *body, size_t size)
{
    char *copy = malloc(size ? size : 1);
    struct profile *profile;

    memcpy(copy, body->data, size);
    err.text[0] = '\0';
    profile = snapshot_body_decode(copy, size, false, &err);
    free(copy);
    ck_assert(profile || strlen(err.text) > 0);
    return profile;
}

static void
encode_body(struct buffer *body, size_t stacks)
{
    struct profile *profile = fixture_stacks(stacks);
    bool wrapped;

    if (stacks > 1) /* short, so that most bytes mean something */
        ((struct frame *)profile->locations[1].frames)[0].function = "f";
    buffer_init(body, SNAPSHOT_BODY_MAX);
    ck_assert_int_eq(snapshot_body_encode(profile, "f", &wrapped, body, &err),
                     0);
    profile_free(profile);
}

START_TEST(a_cut_body_is_rejected)
{
    struct buffer body;

    encode_body(&body, 12);
    for (size_t size = 0; size < body.size; size++)
        ck_assert_ptr_null(decode_body(&body, size));
    buffer_fini(&body);
}
END_TEST

/* What every renderer may rely upon. */
static void
check_profile(const struct profile *profile)
{
    for (size_t i = 0; i < profile->location_count; i++) {
        const struct location *location = &profile->locations[i];

        ck_assert(i == 0 || location->address > location[-1].address);
        ck_assert_uint_ge(location->frame_count, 1);
        ck_assert_ptr_nonnull(location->module);
        for (uint32_t j = 0; j < location->frame_count; j++) {
            ck_assert_uint_gt(strlen(location->frames[j].function), 0);
            ck_assert_ptr_nonnull(location->frames[j].file);
        }
    }
    for (size_t i = 0; i < profile->stack_count; i++) {
        const struct profile_stack *stack = &profile->stacks[i];

        for (uint32_t j = 0; j < stack->depth; j++)
            ck_assert_uint_lt(stack->locations[j], profile->location_count);
        ck_assert(stack->bytes >= 0 && stack->variance >= 0);
    }
}

START_TEST(any_body_is_rejected_or_makes_sense)
{
    struct profile *profile;
    struct buffer body;
    size_t made = 0;

    encode_body(&body, 12);
    srand((unsigned)_i);
    for (int round = 0; round < 4000; round++) {
        size_t at = (size_t)rand() % body.size; /* NOLINT */
        char before = body.data[at];

        body.data[at] = (char)(rand() >> 5); /* NOLINT */
        profile = decode_body(&body, body.size);
        if (profile) {
            check_profile(profile);
            made++;
        }
        profile_free(profile);
        body.data[at] = before;
    }
    ck_assert_uint_gt(made, 0);
    buffer_fini(&body);
}
END_TEST

/* What no database has, and what has no sum. */
static const struct {
    double bytes;
    int64_t taken_ms;
    bool is_read;
} extremes[] = {
    {1e300, 0, true},           {1.5e308, 0, false},
    {0, 253402300799999, true}, {0, 253402300800000, false},
    {0, INT64_MAX, false},
};

START_TEST(extreme_numbers_are_rejected)
{
    struct profile *profile = fixture_stacks(3), *copy;
    struct buffer body;

    ((struct profile_stack *)profile->stacks)[1].bytes = extremes[_i].bytes;
    profile->origin.taken_ms = extremes[_i].taken_ms;
    buffer_init(&body, SNAPSHOT_BODY_MAX);
    ck_assert_int_eq(
        snapshot_body_encode(profile, NULL, &(bool){false}, &body, &err), 0);
    copy = decode_body(&body, body.size);
    ck_assert_int_eq(copy != NULL, extremes[_i].is_read);
    profile_free(copy);
    buffer_fini(&body);
    profile_free(profile);
    original->taken_ms = extremes[_i].taken_ms;
    buffer_clear(&file);
    ck_assert_int_eq(snapshot_encode(original, &file, &err), 0);
    ck_assert_int_eq(snapshot_decode_head(file.data, file.size,
                                          &(struct store_entry){0}, &err),
                     extremes[_i].taken_ms > 253402300799999 ? -1 : 0);
}
END_TEST

/* A body that promises what it has not. */
static const struct {
    const char *bytes;
    size_t size;
} promises[] = {
    {"\xfe\xff\xff\xff\xff\xff\xff\xff\xff", 9},      /* 2^64 - 1 texts */
    {"\xfe\x00\x00\x00\x00\x00\x00\x00\x80", 9},      /* 2^63 */
    {"\xfd\xff\xff\x7f", 4},                          /* 2^23 - 1 */
    {"\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff", 10}, /* one, as long */
    {"\x01\x02"
     "a\0",
     4}, /* with a NUL */
    {"", 0},
};

START_TEST(counts_are_not_believed)
{
    struct profile *profile = snapshot_body_decode(
        promises[_i].bytes, promises[_i].size, false, &err);

    ck_assert_ptr_null(profile);
    ck_assert_str_eq(err.text, "its body makes no sense");
}
END_TEST

/* A kilobyte that unpacks to a gigabyte, says its head, or to less. */
START_TEST(a_body_larger_than_declared_is_not_unpacked)
{
    struct snapshot_body place = {.size = SNAPSHOT_BODY_MAX};
    Bytef packed[1024], zeros[65536] = {0};
    uLongf size = sizeof(packed);
    struct buffer bytes;

    ck_assert_int_eq(compress2(packed, &size, zeros, sizeof(zeros), 9), Z_OK);
    place.packed = size;
    place.checksum = (uint32_t)crc32(0, packed, (uInt)size);
    for (uint64_t told = 0; told < 5; told++) {
        static const uint64_t sizes[] = {SNAPSHOT_BODY_MAX, UINT64_MAX, 0,
                                         sizeof(zeros) - 1, sizeof(zeros) + 1};

        place.size = sizes[told];
        buffer_init(&bytes, SNAPSHOT_FILE_MAX);
        snapshot_head_encode(original, &place, &bytes);
        buffer_add(&bytes, packed, size);
        ck_assert_ptr_null(decode_exactly(bytes.data, bytes.size));
        ck_assert_str_eq(err.text, "its body is not what its head says");
        buffer_fini(&bytes);
    }
}
END_TEST

START_TEST(want_of_memory_is_an_error)
{
    struct buffer bytes;
    struct snapshot *copy;
    unsigned last;
    int rc;

    for (last = 1;; last++) {
        buffer_init(&bytes, SNAPSHOT_FILE_MAX);
        err.code = 0;
        allocations = 0;
        failing = last;
        rc = snapshot_encode(original, &bytes, &err);
        failing = 0;
        ck_assert(rc == 0 || err.code == ER_OUT_OF_MEMORY);
        buffer_fini(&bytes);
        if (allocations < last)
            break;
        ck_assert_int_eq(rc, -1);
    }
    ck_assert_uint_ge(last, 10);
    for (last = 1;; last++) {
        err.code = 0;
        allocations = 0;
        failing = last;
        copy = snapshot_decode(file.data, file.size, &err);
        failing = 0;
        ck_assert(copy || err.code == ER_OUT_OF_MEMORY);
        if (copy)
            break;
    }
    fixture_same(original, copy);
    snapshot_unref(copy);
    ck_assert_uint_ge(last, 8);
}
END_TEST

/* ---- import ---- */

static const char raw[] =
    "heap_v2/524288\n"
    "  t*: 3: 3072 [0: 0]\n"
    "@ 0x401000 0x402001 0x7f0000001001 0x10\n"
    "  t*: 3: 3072 [0: 0]\n"
    "\nMAPPED_LIBRARIES:\n"
    "00400000-00500000 r-xp 00001000 08:01 7 /usr/sbin/d\x1b"
    "b\n"
    "7f0000000000-7f0000100000 r-xp 00000000 08:01 8 "
    "/usr/lib/libjemalloc.so.2\n";

START_TEST(a_raw_profile_is_imported)
{
    struct snapshot *s = snapshot_import(raw, sizeof(raw) - 1, &err);
    const struct profile *p;

    ck_assert_msg(s != NULL, "%s", err.text);
    p = s->profile;
    ck_assert_str_eq(s->name, "");
    ck_assert_int_eq(s->cause, SNAPSHOT_IMPORTED);
    ck_assert_str_eq(s->hello.exe, "/usr/sbin/d?b");
    ck_assert_uint_eq(p->rate, 524288);
    ck_assert_uint_eq(p->samples, 3);
    ck_assert_uint_eq(p->stack_count, 1);
    ck_assert_uint_eq(p->location_count, 4);
    ck_assert_str_eq(p->locations[0].frames[0].function, "0xf");
    ck_assert_str_eq(p->locations[1].frames[0].function, "d?b+0x2000");
    ck_assert_str_eq(p->locations[2].frames[0].function, "d?b+0x3000");
    ck_assert_str_eq(p->locations[3].frames[0].function,
                     "libjemalloc.so.2+0x1000");
    ck_assert(p->locations[3].in_allocator && !p->locations[1].in_allocator);
    ck_assert_uint_eq(p->module_count, 2);
    ck_assert_str_eq(p->modules[1].path, "/usr/lib/libjemalloc.so.2");
    ck_assert_str_eq(p->modules[1].build_id, "");
    ck_assert_str_eq(p->note,
                     "imported from a raw profile: addresses have no names");
    snapshot_unref(s);
}
END_TEST

START_TEST(an_exported_one_is_imported_without_its_name)
{
    struct snapshot *s = snapshot_import(file.data, file.size, &err);

    ck_assert_msg(s != NULL, "%s", err.text);
    ck_assert_str_eq(s->name, "");
    ck_assert_int_eq(s->cause, SNAPSHOT_IMPORTED);
    ck_assert_int_eq(s->taken_ms, original->taken_ms);
    ck_assert_str_eq(s->reason, "80% of the \"limit\"?");
    ck_assert_uint_eq(s->profile->stack_count, original->profile->stack_count);
    for (size_t i = 0; i < original->profile->stack_count; i++)
        fixture_same_stack(&original->profile->stacks[i],
                           &s->profile->stacks[i]);
    ck_assert_str_eq(s->profile->locations[2].frames[0].function,
                     "two?lines??and?[31mred");
    ck_assert_str_eq(s->profile->locations[3].frames[0].function,
                     fixture_names[3]); /* for those who write HTML */
    ck_assert_str_eq(s->profile->locations[4].frames[0].function,
                     "\xc3\xbc?? not UTF-8");
    ck_assert_str_eq(s->profile->modules[1].path, "/lib/?[31m.so");
    snapshot_unref(s);
}
END_TEST

START_TEST(an_import_without_memory_is_an_error)
{
    struct snapshot *s;
    unsigned n;

    for (n = 1;; n++) {
        allocations = 0;
        failing = n;
        s = snapshot_import(raw, sizeof(raw) - 1, &err);
        failing = 0;
        if (s)
            break;
        ck_assert_msg(strstr(err.text, "memory") != NULL, "%s", err.text);
    }
    ck_assert_uint_gt(n, 10);
    snapshot_unref(s);
}
END_TEST

static const struct {
    const char *bytes, *error;
} not_imported[] = {
    {"", "neither a snapshot of heapwire nor a heap profile of jemalloc"},
    {"heap_v2", "neither a snapshot of heapwire"},
    {"<html>", "neither a snapshot of heapwire"},
    {"heap_v2/0\n", "cannot be imported: "},
    {"heap_v2/x\n", "cannot be imported: "},
    {"HWSNAP\r\n", "cannot be imported: its head is cut off"},
    {"HWSNAP\r\n\x02\x01\x01\x01\x01\x01\x01\x01",
     "cannot be imported: its version is "},
};

START_TEST(a_failed_import_has_a_reason)
{
    const char *bytes = not_imported[_i].bytes;

    ck_assert_ptr_null(snapshot_import(bytes, strlen(bytes), &err));
    ck_assert_msg(strstr(err.text, not_imported[_i].error) != NULL, "%s",
                  err.text);
}
END_TEST

START_TEST(a_cut_raw_profile_does_no_harm)
{
    for (size_t size = 0; size < sizeof(raw) - 1; size++) {
        char *copy = malloc(size ? size : 1);
        struct snapshot *s;

        memcpy(copy, raw, size);
        s = snapshot_import(copy, size, &err);
        free(copy);
        if (s)
            check_profile(s->profile);
        snapshot_unref(s);
    }
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

int
main(void)
{
    Suite *suite = suite_create("snapshot_file");
    TCase *tc = tcase_create("snapshot_file");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, all_of_a_snapshot_comes_back);
    tcase_add_test(tc, what_lies_in_other_jemallocs_comes_back);
    tcase_add_test(tc, a_profile_of_time_comes_back);
    tcase_add_test(tc, a_kind_that_is_not_known_is_rejected);
    tcase_add_test(tc, only_one_kind_is_compared);
    tcase_add_test(tc, what_its_node_counts_among_the_allocators_comes_with_it);
    tcase_add_test(tc, an_empty_profile_comes_back);
    tcase_add_test(tc, equal_texts_are_one_text);
    tcase_add_test(tc, the_head_alone_has_what_a_list_shows);
    tcase_add_test(tc, a_file_of_version_1_is_read);
    tcase_add_test(tc, a_note_is_cut_where_a_list_shows_it);
    tcase_add_test(tc, a_difference_is_not_kept);
    tcase_add_test(tc, no_cut_file_is_read);
    tcase_add_test(tc, a_longer_file_is_not_read);
    tcase_add_test(tc, no_flipped_bit_goes_unseen);
    tcase_add_test(tc, a_head_that_lies_does_no_harm);
    tcase_add_test(tc, a_cut_body_is_rejected);
    tcase_add_loop_test(tc, any_body_is_rejected_or_makes_sense, 0, 4);
    tcase_add_loop_test(tc, extreme_numbers_are_rejected, 0,
                        sizeof(extremes) / sizeof(extremes[0]));
    tcase_add_loop_test(tc, counts_are_not_believed, 0, COUNT(promises));
    tcase_add_test(tc, a_body_larger_than_declared_is_not_unpacked);
    tcase_add_test(tc, want_of_memory_is_an_error);
    tcase_add_test(tc, a_raw_profile_is_imported);
    tcase_add_test(tc, an_exported_one_is_imported_without_its_name);
    tcase_add_test(tc, an_import_without_memory_is_an_error);
    tcase_add_loop_test(tc, a_failed_import_has_a_reason, 0,
                        COUNT(not_imported));
    tcase_add_test(tc, a_cut_raw_profile_does_no_harm);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
