/* test_unwind_make.c - hand-made call frame information, and the rules that
 * tables have of it. */
#include "unwind_make.h"

#include <elf.h>
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "section_file.h"
#include "suite.h"
#include "unwind_table.h"

enum { CODE = 0x10000, CODE_BYTES = 1 << 16, SIZE = 64 };

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64, SP = 7, FP = 6, RA = 16 };
#else
enum { MACHINE = EM_AARCH64, SP = 31, FP = 29, RA = 30 };
#endif

/* ---- making it ---- */

struct cfi {
    char bytes[4096];
    size_t size;
    size_t common; /* where the last CIE is */
    bool debug;
};

static void
put(struct cfi *cfi, const void *data, size_t size)
{
    ck_assert_uint_le(cfi->size + size, sizeof(cfi->bytes));
    memcpy(cfi->bytes + cfi->size, data, size);
    cfi->size += size;
}

static void
put_u8(struct cfi *cfi, unsigned v)
{
    uint8_t byte = (uint8_t)v;

    put(cfi, &byte, 1);
}

static void
put_u32(struct cfi *cfi, uint32_t v)
{
    put(cfi, &v, sizeof(v));
}

static void
put_u64(struct cfi *cfi, uint64_t v)
{
    put(cfi, &v, sizeof(v));
}

static void
end_entry(struct cfi *cfi, size_t start)
{
    uint32_t size;

    while ((cfi->size - start) % 8 != 0)
        put_u8(cfi, 0); /* DW_CFA_nop */
    size = (uint32_t)(cfi->size - start - 4);
    memcpy(cfi->bytes + start, &size, sizeof(size));
}

/* data: of the augmentation, without its size. */
static void
put_common(struct cfi *cfi, unsigned version, const char *letters,
           const void *data, size_t size)
{
    size_t start = cfi->common = cfi->size;

    put_u32(cfi, 0);
    put_u32(cfi, cfi->debug ? UINT32_MAX : 0);
    put_u8(cfi, version);
    put(cfi, letters, strlen(letters) + 1);
    if (version == 4) {
        put_u8(cfi, 8); /* bytes of an address */
        put_u8(cfi, 0);
    }
    put_u8(cfi, 1);    /* code alignment */
    put_u8(cfi, 0x78); /* data alignment: -8 */
    put_u8(cfi, RA);
    if (letters[0] == 'z') {
        put_u8(cfi, (unsigned)size);
        put(cfi, data, size);
    }
    put_u8(cfi, 0x0c); /* DW_CFA_def_cfa: sp, 8 */
    put_u8(cfi, SP);
    put_u8(cfi, 8);
    put_u8(cfi, 0x80 | RA); /* DW_CFA_offset: CFA - 8 */
    put_u8(cfi, 1);
    end_entry(cfi, start);
}

/* Its address in what the encoding says; sized: has augmentation data. */
static void
put_function(struct cfi *cfi, unsigned encoding, uint64_t address,
             uint64_t bytes, bool sized, const void *instructions, size_t size)
{
    size_t start = cfi->size;
    uint64_t base;

    put_u32(cfi, 0);
    put_u32(cfi, cfi->debug ? (uint32_t)cfi->common
                            : (uint32_t)(cfi->size - cfi->common));
    base = encoding & 0x10 ? cfi->size : 0; /* the section's address is 0 */
    switch (encoding & 0x0f) {
    case 0x02:
        put(cfi, &(uint16_t){(uint16_t)(address - base)}, 2);
        put(cfi, &(uint16_t){(uint16_t)bytes}, 2);
        break;
    case 0x03:
    case 0x0b:
        put_u32(cfi, (uint32_t)(address - base));
        put_u32(cfi, (uint32_t)bytes);
        break;
    default:
        put_u64(cfi, address - base);
        put_u64(cfi, bytes);
    }
    if (sized)
        put_u8(cfi, 0);
    put(cfi, instructions, size);
    end_entry(cfi, start);
}

/* A CIE "zR" and one function at CODE with these instructions. */
static struct cfi
simple(const void *instructions, size_t size)
{
    struct cfi cfi = {.size = 0};

    put_common(&cfi, 1, "zR", "", 1);
    put_function(&cfi, 0, CODE, SIZE, true, instructions, size);
    return cfi;
}

/* ---- what becomes of it ---- */

struct made {
    struct buffer bytes;
    struct unwind_table table;
    bool made;
};

static struct made
make_of(const struct cfi *eh, const struct cfi *debug, const void *code,
        size_t code_size)
{
    struct elf_segment segment = {PT_LOAD,    PF_R | PF_X, 0,   CODE,
                                  CODE_BYTES, CODE_BYTES,  4096};
    struct section_file file;
    struct made made;
    struct error err = {0};

    section_file_init(&file);
    file.elf.segments = &segment;
    file.elf.segment_count = 1;
    file.elf.machine = MACHINE;
    if (code)
        section_file_add(&file, ".text", code, code_size);
    if (eh)
        section_file_add(&file, ".eh_frame", eh->bytes, eh->size);
    if (debug)
        section_file_add(&file, ".debug_frame", debug->bytes, debug->size);
    ck_assert_int_eq(ftruncate(file.elf.fd, CODE_BYTES), 0);
    file.elf.size = CODE_BYTES;
    buffer_init(&made.bytes, UNWIND_TABLE_BYTES_MAX);
    made.made = unwind_make(&file.elf, &made.bytes, &err) == 0;
    if (made.made)
        ck_assert(unwind_table_open(&made.table, made.bytes.data,
                                    made.bytes.size, NULL, 0));
    section_file_fini(&file);
    return made;
}

static void
check_rule(const struct unwind_rule *got, const struct unwind_rule *wanted)
{
    ck_assert_int_eq(got->cfa, wanted->cfa);
    ck_assert_mem_eq(got, wanted, sizeof(*got));
}

/* The rule at an offset of the function that simple() makes. */
static void
check_simple(const void *instructions, size_t size, uint64_t at,
             const struct unwind_rule *wanted)
{
    struct cfi cfi = simple(instructions, size);
    struct made made = make_of(&cfi, NULL, NULL, 0);
    struct unwind_rule got;

    ck_assert(made.made);
    got = unwind_table_find(&made.table, at);
    check_rule(&got, wanted);
    got = unwind_table_find(&made.table, SIZE); /* and nothing beyond it */
    ck_assert_int_eq(got.cfa, UNWIND_NONE);
    buffer_fini(&made.bytes);
}

#define AT_8   .return_address = {UNWIND_AT_CFA, 0}, .return_offset = -8
#define CFA(n) .cfa = UNWIND_REGISTER, .base = SP, .offset = (n), AT_8

static const struct {
    const char *instructions;
    size_t size;
    uint64_t at;
    struct unwind_rule wanted;
} rules[] = {
#define RUN(text, where, ...)                                                  \
    {                                                                          \
        text, sizeof(text) - 1, where,                                         \
        {                                                                      \
            __VA_ARGS__                                                        \
        }                                                                      \
    }
    RUN("", 0, CFA(8)),
    /* advance_loc, def_cfa_offset: the row begins there */
    RUN("\x41\x0e\x10", 0, CFA(8)),
    RUN("\x41\x0e\x10", 1, CFA(16)),
    RUN("\x02\x10\x0e\x10", 15, CFA(8)),
    RUN("\x02\x10\x0e\x10", 16, CFA(16)),
    RUN("\x03\x10\0\x0e\x10", 16, CFA(16)),
    RUN("\x04\x10\0\0\0\x0e\x10", 16, CFA(16)),
    /* def_cfa_offset_sf, def_cfa_sf, def_cfa_register, def_cfa */
    RUN("\x13\x7e", 0, CFA(16)),
    RUN("\x12\x03\x7d", 0, .cfa = UNWIND_REGISTER, .base = 3, .offset = 24,
        AT_8),
    RUN("\x0d\x0a", 0, .cfa = UNWIND_REGISTER, .base = 10, .offset = 8, AT_8),
    RUN("\x0c\x0a\x80\x01", 0, .cfa = UNWIND_REGISTER, .base = 10,
        .offset = 128, AT_8),
    /* remember_state, restore_state: the CFA, too */
    RUN("\x0a\x0e\x40\x44\x0b", 3, CFA(64)),
    RUN("\x0a\x0e\x40\x44\x0b", 4, CFA(8)),
    /* GNU_args_size and nop change nothing */
    RUN("\x2e\x20\0\x0e\x10", 0, CFA(16)),
    /* what other registers do is of no interest */
    RUN("\x83\x02\x05\x0c\x03\x07\x0d\x08\x0e\x16\x0f\x01\x70", 0, CFA(8)),
#if defined(__x86_64__)
    /* offset, offset_extended, offset_extended_sf, negative_offset_extended */
    RUN("\x86\x02", 0, CFA(8), .frame_pointer = {UNWIND_AT_CFA, 0},
        .frame_offset = -16),
    RUN("\x05\x06\x03", 0, CFA(8), .frame_pointer = {UNWIND_AT_CFA, 0},
        .frame_offset = -24),
    RUN("\x11\x06\x7f", 0, CFA(8), .frame_pointer = {UNWIND_AT_CFA, 0},
        .frame_offset = 8),
    RUN("\x2f\x06\x02", 0, CFA(8), .frame_pointer = {UNWIND_AT_CFA, 0},
        .frame_offset = 16),
    /* restore, restore_extended, same_value, register */
    RUN("\x86\x02\x41\xc6", 1, CFA(8)),
    RUN("\x86\x02\x41\x06\x06", 1, CFA(8)),
    RUN("\x86\x02\x41\x08\x06", 1, CFA(8)),
    RUN("\x09\x06\x09", 0, CFA(8), .frame_pointer = {UNWIND_IN, 9}),
    RUN("\x09\x10\x02", 0, .cfa = UNWIND_REGISTER, .base = 7, .offset = 8,
        .return_address = {UNWIND_IN, 2}),
    /* val_offset, val_expression: a table cannot say it */
    RUN("\x14\x06\x02", 0, CFA(8), .frame_pointer = {UNWIND_LOST, 0}),
    RUN("\x16\x06\x02\x76\x00", 0, CFA(8), .frame_pointer = {UNWIND_LOST, 0}),
    RUN("\x14\x10\x02", 0, .cfa = UNWIND_NONE),
    /* undefined: nobody called it */
    RUN("\x07\x10", 0, .cfa = UNWIND_OUTERMOST),
    /* expression: breg6 0; plus_uconst 16, on the CFA */
    RUN("\x10\x06\x02\x76\0", 0, CFA(8), .frame_pointer = {UNWIND_AT, 6}),
    RUN("\x10\x06\x02\x23\x10", 0, CFA(8), .frame_pointer = {UNWIND_AT_CFA, 0},
        .frame_offset = 16),
    /* def_cfa_expression: breg6 -8, deref; and more; bregx */
    RUN("\x0f\x03\x76\x78\x06", 0, .cfa = UNWIND_DEREF, .base = 6, .offset = -8,
        AT_8),
    RUN("\x0f\x05\x77\x28\x06\x23\x08", 0, .cfa = UNWIND_DEREF, .base = 7,
        .offset = 40, .more = 8, AT_8),
    RUN("\x0f\x05\x77\x28\x06\x38\x22", 0, .cfa = UNWIND_DEREF, .base = 7,
        .offset = 40, .more = 8, AT_8),
    RUN("\x0f\x03\x92\x06\x10", 0, .cfa = UNWIND_REGISTER, .base = 6,
        .offset = 16, AT_8),
    /* OpenSSL's: breg7 8; breg9 0; lit8; mul; plus; deref; plus_uconst 8 */
    RUN("\x0f\x0a\x77\x08\x79\0\x38\x1e\x22\x06\x23\x08", 0,
        .cfa = UNWIND_DEREF, .base = 7, .offset = 8, .more = 8, .index = 10,
        AT_8),
    /* the linker's, of .plt: from byte 11 of 16 on */
    RUN("\x0f\x0b\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22", 0,
        .cfa = UNWIND_PLT, .base = 7, .offset = 8, .more = 11, AT_8),
    /* an expression of another kind */
    RUN("\x0f\x04\x77\x08\x31\x1e", 0, .cfa = UNWIND_NONE),
    RUN("\x0f\x01\x9c", 0, .cfa = UNWIND_NONE),
#endif
    /* unknown, or without what belongs to it: the rest has no rule */
    RUN("\x41\x3f", 0, CFA(8)),
    RUN("\x41\x3f", 1, .cfa = UNWIND_NONE),
    RUN("\x41\x0b", 1, .cfa = UNWIND_NONE),
    RUN("\x41\x0f\x7f\x77\x08", 1, .cfa = UNWIND_NONE),
    RUN("\x41\x0c\x07\x80\x80\x80\x80\x20", 1, .cfa = UNWIND_NONE),
};

START_TEST(each_instruction_has_its_rule)
{
    check_simple(rules[_i].instructions, rules[_i].size, rules[_i].at,
                 &rules[_i].wanted);
}
END_TEST

START_TEST(states_have_a_ceiling)
{
    char remember[200];
    static const struct unwind_rule none = {.cfa = UNWIND_NONE};

    memset(remember, 0x0a, sizeof(remember));
    check_simple(remember, sizeof(remember), 0, &none);
}
END_TEST

/* ---- entries ---- */

static const struct unwind_rule plain = {CFA(8)};

static void
check_plain(const struct cfi *eh, const struct cfi *debug)
{
    struct made made = make_of(eh, debug, NULL, 0);
    struct unwind_rule got;

    ck_assert(made.made);
    for (uint64_t at = 0; at < SIZE; at++) {
        got = unwind_table_find(&made.table, at);
        check_rule(&got, &plain);
    }
    got = unwind_table_find(&made.table, SIZE);
    ck_assert_int_eq(got.cfa, UNWIND_NONE);
    buffer_fini(&made.bytes);
}

static const unsigned versions[] = {1, 3, 4};

START_TEST(each_version_is_read)
{
    struct cfi eh = {.size = 0}, debug = {.debug = true};

    put_common(&eh, versions[_i], "zR", "", 1);
    put_function(&eh, 0, CODE, SIZE, true, "", 0);
    check_plain(&eh, NULL);
    put_common(&debug, versions[_i], "", "", 0);
    put_function(&debug, 0, CODE, SIZE, false, "", 0);
    check_plain(NULL, &debug);
}
END_TEST

static const uint8_t encodings[] = {0x00, 0x03, 0x04, 0x0b, 0x0c,
                                    0x10, 0x13, 0x1b, 0x1c};

START_TEST(each_encoding_is_read)
{
    struct cfi cfi = {.size = 0};

    put_common(&cfi, 1, "zR", &encodings[_i], 1);
    put_function(&cfi, encodings[_i], CODE, SIZE, true, "", 0);
    check_plain(&cfi, NULL);
}
END_TEST

START_TEST(personality_and_lsda_are_skipped)
{
    /* indirect pcrel sdata4, a personality; pcrel, pcrel */
    static const uint8_t data[] = {0x9b, 1, 2, 3, 4, 0x1b, 0x1b};
    struct cfi cfi = {.size = 0};

    put_common(&cfi, 1, "zPLR", data, sizeof(data));
    put_function(&cfi, 0x1b, CODE, SIZE, true, "", 0);
    check_plain(&cfi, NULL);
}
END_TEST

START_TEST(an_unknown_augmentation_is_left_out)
{
    struct cfi cfi = {.size = 0};
    struct made made;

    put_common(&cfi, 1, "eh", "", 0);
    put_function(&cfi, 0, CODE, SIZE, false, "", 0);
    made = make_of(&cfi, NULL, NULL, 0);
    ck_assert(!made.made);
    buffer_fini(&made.bytes);
}
END_TEST

START_TEST(a_signal_frame_is_known)
{
    struct cfi cfi = {.size = 0};
    struct made made;

    put_common(&cfi, 1, "zRS", "", 1);
    put_function(&cfi, 0, CODE, SIZE, true, "", 0);
    made = make_of(&cfi, NULL, NULL, 0);
    ck_assert(made.made);
    ck_assert_int_eq(unwind_table_find(&made.table, 5).cfa, UNWIND_SIGNAL);
    buffer_fini(&made.bytes);
}
END_TEST

/* As musl and Go have them: nothing describes it, or what does is wrong. */
START_TEST(a_trampoline_is_known_by_its_instructions)
{
#if defined(__x86_64__)
    static const uint8_t code[] = {0x90, 0x90, 0x48, 0xc7, 0xc0, 15,  0,
                                   0,    0,    0x0f, 0x05, 0x90, 0x90};
    enum { START = 2, END = 11 };
#else
    static const uint8_t code[] = {0x1f, 0x20, 3, 0xd5, 0x68, 0x11, 0x80,
                                   0xd2, 1,    0, 0,    0xd4, 0,    0};
    enum { START = 4, END = 12 };
#endif
    struct cfi cfi = simple("", 0);

    for (int with = 0; with <= 1; with++) {
        struct made made =
            make_of(with ? &cfi : NULL, NULL, code, sizeof(code));
        int other = with ? UNWIND_REGISTER : UNWIND_NONE;

        ck_assert(made.made);
        ck_assert_int_eq(unwind_table_find(&made.table, START - 2).cfa, other);
        /* What returns to START is looked for by the byte before. */
        ck_assert_int_eq(unwind_table_find(&made.table, START - 1).cfa,
                         UNWIND_SIGNAL);
        ck_assert_int_eq(unwind_table_find(&made.table, END - 1).cfa,
                         UNWIND_SIGNAL);
        ck_assert_int_eq(unwind_table_find(&made.table, END).cfa, other);
        buffer_fini(&made.bytes);
    }
}
END_TEST

START_TEST(the_first_of_two_that_overlap_counts)
{
    struct cfi eh = {.size = 0}, debug = {.debug = true};
    struct made made;

    put_common(&eh, 1, "zR", "", 1);
    put_function(&eh, 0, CODE + 32, 16, true, "\x0e\x20", 2);
    put_function(&eh, 0, CODE + 16, 24, true, "\x0e\x10", 2);
    put_common(&debug, 1, "", "", 0);
    put_function(&debug, 0, CODE + 16, 64, false, "\x0e\x40", 2);
    made = make_of(&eh, &debug, NULL, 0);
    ck_assert(made.made);
    ck_assert_int_eq(unwind_table_find(&made.table, 15).cfa, UNWIND_NONE);
    ck_assert_int_eq(unwind_table_find(&made.table, 16).offset, 16);
    ck_assert_int_eq(unwind_table_find(&made.table, 39).offset, 16);
    ck_assert_int_eq(unwind_table_find(&made.table, 40).offset, 64);
    ck_assert_int_eq(unwind_table_find(&made.table, 79).offset, 64);
    ck_assert_int_eq(unwind_table_find(&made.table, 80).cfa, UNWIND_NONE);
    buffer_fini(&made.bytes);
}
END_TEST

START_TEST(a_cut_section_gives_what_is_whole)
{
    struct cfi whole = simple("\x41\x0e\x10", 3);

    for (size_t size = 0; size <= whole.size; size++) {
        struct cfi cut = whole;
        struct made made;

        cut.size = size;
        made = make_of(&cut, NULL, NULL, 0);
        ck_assert(made.made == (size == whole.size));
        buffer_fini(&made.bytes);
    }
}
END_TEST

/* ---- the table's bytes ---- */

START_TEST(a_changed_table_is_refused)
{
    struct cfi cfi = simple("\x41\x0e\x10", 3);
    struct made made = make_of(&cfi, NULL, NULL, 0);
    struct unwind_table table;

    ck_assert(made.made);
    for (size_t i = 0; i < made.bytes.size; i++) {
        made.bytes.data[i] ^= 1;
        ck_assert(!unwind_table_open(&table, made.bytes.data, made.bytes.size,
                                     NULL, 0));
        made.bytes.data[i] ^= 1;
        ck_assert(!unwind_table_open(&table, made.bytes.data, i, NULL, 0));
    }
    ck_assert(!unwind_table_open(&table, made.bytes.data, made.bytes.size,
                                 "\1\2\3\4\5\6\7\10", 8));
    buffer_fini(&made.bytes);
}
END_TEST

START_TEST(bytes_that_change_later_are_survived)
{
    struct cfi cfi = simple("\x41\x0e\x10", 3);
    struct made made = make_of(&cfi, NULL, NULL, 0);
    uint32_t random = 1;

    ck_assert(made.made);
    for (int round = 0; round < 20000; round++) {
        for (size_t i = UNWIND_HEADER; i < made.bytes.size; i++) {
            random = random * 1664525 + 1013904223;
            made.bytes.data[i] = (char)(random >> 24);
        }
        (void)unwind_table_find(&made.table, random >> 14);
        (void)unwind_table_find(&made.table, random);
    }
    buffer_fini(&made.bytes);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("unwind_make");
    TCase *tc = tcase_create("make");

    tcase_add_loop_test(tc, each_instruction_has_its_rule, 0,
                        sizeof(rules) / sizeof(rules[0]));
    tcase_add_test(tc, states_have_a_ceiling);
    tcase_add_loop_test(tc, each_version_is_read, 0, 3);
    tcase_add_loop_test(tc, each_encoding_is_read, 0, sizeof(encodings));
    tcase_add_test(tc, personality_and_lsda_are_skipped);
    tcase_add_test(tc, an_unknown_augmentation_is_left_out);
    tcase_add_test(tc, a_signal_frame_is_known);
    tcase_add_test(tc, a_trampoline_is_known_by_its_instructions);
    tcase_add_test(tc, the_first_of_two_that_overlap_counts);
    tcase_add_test(tc, a_cut_section_gives_what_is_whole);
    tcase_add_test(tc, a_changed_table_is_refused);
    tcase_add_test(tc, bytes_that_change_later_are_survived);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
