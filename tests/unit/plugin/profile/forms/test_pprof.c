/* test_pprof.c - profile.proto, read back by the book. */
#include <inttypes.h>
#include <zlib.h>

#include "buffer.h"
#include "forms.h"
#include "profile_fixture.h"
#include "reader.h"
#include "suite.h"
#include "view_options.h"

enum { STRINGS_MAX = 100 };

/* A message as text: "field=number " and "field{ ... } ", strings gathered. */
struct decoded {
    struct buffer text;
    char strings[STRINGS_MAX][64];
    unsigned string_count;
};

static uint64_t
varint(struct reader *r)
{
    uint64_t v = 0;
    unsigned shift = 0, byte;

    do {
        byte = reader_u8(r);
        v |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && shift < 70);
    ck_assert(!r->failed);
    return v;
}

static bool
is_packed(unsigned outer, unsigned field)
{
    return outer == 2 && (field == 1 || field == 2); /* a sample's */
}

static void
decode(struct decoded *d, struct span bytes, unsigned outer, bool inner)
{
    struct reader r = reader_of(bytes.data, bytes.size);

    while (!reader_done(&r)) {
        uint64_t tag = varint(&r);
        unsigned field = (unsigned)(tag >> 3);
        struct span part;

        if ((tag & 7) == 0) {
            buffer_format(&d->text, "%u=%" PRId64 " ", field,
                          (int64_t)varint(&r));
            continue;
        }
        ck_assert_uint_eq(tag & 7, 2);
        part = reader_bytes(&r, varint(&r));
        ck_assert(!r.failed);
        if (!inner && field == 6) {
            ck_assert_uint_lt(d->string_count, STRINGS_MAX);
            snprintf(d->strings[d->string_count++], sizeof(d->strings[0]),
                     "%.*s", (int)part.size, part.data);
            continue;
        }
        buffer_format(&d->text, "%u{", field);
        if (inner && is_packed(outer, field)) {
            struct reader numbers = reader_of(part.data, part.size);

            while (!reader_done(&numbers))
                buffer_format(&d->text, "%" PRId64 ",",
                              (int64_t)varint(&numbers));
        } else {
            decode(d, part, inner ? 0 : field, true);
        }
        buffer_text(&d->text, inner ? "} " : "}\n");
    }
}

/* Readers such as Parca take only tables whose ids are 1, 2, 3 and so on. */
static void
ids_must_have_no_gap(const char *lines)
{
    unsigned counts[3] = {0}; /* mappings, locations, functions */

    for (const char *at = lines; at && *at; at = strchr(at, '\n')) {
        unsigned table, id;

        at += *at == '\n';
        if (sscanf(at, "%u{1=%u ", &table, &id) == 2 && table >= 3 &&
            table <= 5)
            ck_assert_msg(id == ++counts[table - 3], "%.40s in\n%s", at, lines);
    }
}

static struct decoded
decode_all(const struct buffer *file)
{
    static unsigned char bytes[1 << 20];
    z_stream stream = {.next_in = (Bytef *)file->data,
                       .avail_in = (uInt)file->size,
                       .next_out = bytes,
                       .avail_out = sizeof(bytes)};
    struct decoded d = {0};

    ck_assert_int_eq(inflateInit2(&stream, 15 + 16), Z_OK);
    ck_assert_int_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
    ck_assert_uint_eq(stream.avail_in, 0);
    buffer_init(&d.text, 1 << 20);
    decode(&d, (struct span){(char *)bytes, stream.total_out}, 0, false);
    inflateEnd(&stream);
    ck_assert_str_eq(d.strings[0], "");
    ids_must_have_no_gap(d.text.data);
    return d;
}

static struct decoded
pprof_of(struct profile *profile, const struct view_options *options)
{
    struct error err = {0};
    struct buffer out;
    struct decoded d;

    buffer_init(&out, 1 << 20);
    ck_assert_msg(pprof_write(profile, options, &out, &err) == 0, "%s",
                  err.text);
    d = decode_all(&out);
    buffer_fini(&out);
    profile_free(profile);
    return d;
}

static unsigned
string_of(const struct decoded *d, const char *text)
{
    for (unsigned i = 0; i < d->string_count; i++)
        if (strcmp(d->strings[i], text) == 0)
            return i;
    ck_abort_msg("no %s among the strings", text);
    return 0;
}

static void
must_have(const struct decoded *d, const char *line)
{
    ck_assert_msg(strstr(d->text.data, line) != NULL, "no %s in\n%s", line,
                  d->text.data);
}

static const struct fixture_name names[] = {
    {0x1000, "malloc", false, NULL, 0},
    {0x2001, "ns::put(int)|ns::Map<int>::all()", false, NULL, 0},
    {0x3001, "main", false, NULL, 0},
    {0}};

static const char text[] = "heap_v2/1\n"
                           "@ 0x1000 0x2001 0x3001\n"
                           "t*: 2: 1000 [0: 0]\n"
                           "@ 0x1000 0x3001\n"
                           "t*: 1: 300 [0: 0]\n"
                           "MAPPED_LIBRARIES:\n\n";

START_TEST(samples_have_their_values_and_the_allocator_is_left_out)
{
    struct decoded d = pprof_of(fixture_profile(text, names, NULL), NULL);
    char line[128];

    snprintf(line, sizeof(line), "1{1=%u 2=%u }\n1{1=%u 2=%u }\n14=%u ",
             string_of(&d, "inuse_objects"), string_of(&d, "count"),
             string_of(&d, "inuse_space"), string_of(&d, "bytes"),
             string_of(&d, "inuse_space"));
    must_have(&d, line);
    must_have(&d, "2{2{2,1000,} 1{");
    must_have(&d, "2{2{1,300,} 1{");
    ck_assert_ptr_null(strstr(d.text.data, "4096")); /* malloc's address */
    must_have(&d, "12=1 ");
    buffer_fini(&d.text);
}
END_TEST

START_TEST(inlined_frames_are_lines_of_their_location)
{
    struct decoded d = pprof_of(fixture_profile(text, names, NULL), NULL);
    char line[128];

    /* 0x2000: returned to behind the call; put was inlined into all. */
    must_have(&d, "2=1 3=8192 4{1=1 } 4{1=2 } }");
    snprintf(line, sizeof(line), "5{1=1 2=%u 3=%u }\n5{1=2 2=%u 3=%u }\n",
             string_of(&d, "ns::put"), string_of(&d, "ns::put(int)"),
             string_of(&d, "ns::Map<int>::all"),
             string_of(&d, "ns::Map<int>::all()"));
    must_have(&d, line);
    buffer_fini(&d.text);
}
END_TEST

START_TEST(mappings_say_that_all_is_symbolized)
{
    static const struct profile_module modules[] = {
        {0x1000, 0x2000, 0x10, "/lib/a.so", "c0ffee"},
        {0x3000, 0x4000, 0, "/usr/bin/db", ""}};
    struct profile *profile = fixture_profile(text, names, NULL);
    struct decoded d;
    char line[128];

    profile->modules = modules;
    profile->module_count = 2;
    d = pprof_of(profile, NULL);
    snprintf(line, sizeof(line),
             "3{1=1 2=4096 3=8192 4=16 5=%u 6=%u 7=1 8=1 9=1 10=1 }\n"
             "3{1=2 2=12288 3=16384 5=%u 7=1 8=1 9=1 10=1 }\n",
             string_of(&d, "/lib/a.so"), string_of(&d, "c0ffee"),
             string_of(&d, "/usr/bin/db"));
    must_have(&d, line);
    must_have(&d, " 3=8192 4{");      /* in neither: no mapping */
    must_have(&d, " 2=2 3=12288 4{"); /* main's */
    buffer_fini(&d.text);
}
END_TEST

START_TEST(a_profile_without_modules_has_one_all_the_same)
{
    struct decoded d = pprof_of(fixture_profile(text, names, NULL), NULL);
    char line[128];

    snprintf(line, sizeof(line), "3{1=1 3=-1 5=%u 7=1 8=1 9=1 10=1 }\n",
             string_of(&d, "/usr/bin/db"));
    must_have(&d, line);
    buffer_fini(&d.text);
}
END_TEST

START_TEST(differences_are_signed)
{
    struct profile *profile = fixture_profile(text, names, NULL);
    struct decoded d;

    fixture_make_signed(profile);
    d = pprof_of(profile, NULL);
    must_have(&d, "2{2{2,1000,} ");
    must_have(&d, "2{2{-1,-300,} ");
    buffer_fini(&d.text);
}
END_TEST

START_TEST(time_and_comments_are_there)
{
    static const struct profile_origin origin = {true, 1795228267000, 1};
    struct profile *profile = fixture_profile(text, names, &origin);
    struct decoded d;
    char line[128];

    profile->memory = "RSS 1 MB";
    profile->note = "db: no symbols";
    d = pprof_of(profile, NULL);
    must_have(&d, "9=1795228267000000000 ");
    snprintf(line, sizeof(line), "13=%u 13=%u ", string_of(&d, "RSS 1 MB"),
             string_of(&d, "db: no symbols"));
    must_have(&d, line);
    buffer_fini(&d.text);
}
END_TEST

/* A snapshot from elsewhere may have it. */
START_TEST(a_time_that_has_no_nanoseconds_is_left_out)
{
    static const struct profile_origin origin = {true, 253402300799999, 1};
    struct decoded d = pprof_of(fixture_profile(text, names, &origin), NULL);

    for (char *at = d.text.data; (at = strstr(at, " 9=")) != NULL; at++)
        ck_assert_int_eq(strncmp(at, " 9=1 ", 5), 0); /* a mapping's */
    buffer_fini(&d.text);
}
END_TEST

START_TEST(all_allocations_are_shown_where_counted)
{
    struct view_options options = view_defaults;
    struct profile *profile = fixture_profile("heap_v2/1\n"
                                              "@ 0x1000 0x3001\n"
                                              "t*: 1: 300 [5: 1500]\n"
                                              "MAPPED_LIBRARIES:\n\n",
                                              names, NULL);
    struct decoded d;
    char line[128];

    ck_assert(profile->accumulated);
    options.measure = MEASURE_ALLOC_OBJECTS;
    d = pprof_of(profile, &options);
    must_have(&d, "2{2{5,1500,1,300,} ");
    snprintf(line, sizeof(line), "14=%u ", string_of(&d, "alloc_objects"));
    must_have(&d, line);
    buffer_fini(&d.text);
}
END_TEST

START_TEST(only_what_is_in_focus_is_in_the_file)
{
    struct view_options options = view_defaults;
    struct decoded d;

    options.focus = "ns::put";
    d = pprof_of(fixture_profile(text, names, NULL), &options);
    must_have(&d, "2{2{2,1000,} ");
    ck_assert_ptr_null(strstr(d.text.data, "300,"));
    buffer_fini(&d.text);
}
END_TEST

START_TEST(an_empty_profile_is_a_file_without_samples)
{
    struct decoded d = pprof_of(
        fixture_profile("heap_v2/1\nt*: 0: 0 [0: 0]\n", NULL, NULL), NULL);

    must_have(&d, "14=");
    ck_assert_ptr_null(strstr(d.text.data, "\n2{"));
    buffer_fini(&d.text);
}
END_TEST

START_TEST(hostile_names_are_clean_strings)
{
    static const struct fixture_name hostile[] = {
        {0x1001, "\x1b[2J\xff\n", false, NULL, 0}, {0}};
    struct decoded d =
        pprof_of(fixture_profile("heap_v2/1\n@ 0x1001\nt*: 1: 1 [0: 0]\n",
                                 hostile, NULL),
                 NULL);

    string_of(&d, "?[2J??");
    buffer_fini(&d.text);
}
END_TEST

static const struct {
    uint64_t v;
    const char *bytes;
    size_t size;
} varints[] = {
    {0, "\x00", 1},
    {127, "\x7f", 1},
    {128, "\x80\x01", 2},
    {300, "\xac\x02", 2},
    {UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10},
};

START_TEST(numbers_are_written_seven_bits_at_a_time)
{
    struct buffer out;

    buffer_init(&out, 100);
    buffer_leb(&out, varints[_i].v);
    ck_assert_uint_eq(out.size, varints[_i].size);
    ck_assert_mem_eq(out.data, varints[_i].bytes, out.size);
    buffer_fini(&out);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("pprof");
    TCase *tc = tcase_create("pprof");

    tcase_add_test(tc, samples_have_their_values_and_the_allocator_is_left_out);
    tcase_add_test(tc, inlined_frames_are_lines_of_their_location);
    tcase_add_test(tc, mappings_say_that_all_is_symbolized);
    tcase_add_test(tc, a_profile_without_modules_has_one_all_the_same);
    tcase_add_test(tc, differences_are_signed);
    tcase_add_test(tc, time_and_comments_are_there);
    tcase_add_test(tc, a_time_that_has_no_nanoseconds_is_left_out);
    tcase_add_test(tc, all_allocations_are_shown_where_counted);
    tcase_add_test(tc, only_what_is_in_focus_is_in_the_file);
    tcase_add_test(tc, an_empty_profile_is_a_file_without_samples);
    tcase_add_test(tc, hostile_names_are_clean_strings);
    tcase_add_loop_test(tc, numbers_are_written_seven_bits_at_a_time, 0,
                        sizeof(varints) / sizeof(varints[0]));
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
