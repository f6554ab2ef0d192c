/*
 * fuzz_unwind.c - any bytes as call frame information, as an unwind table, and
 * as a stack.
 *
 * The first byte says which: 0, .eh_frame and .debug_frame, whose table is then
 * walked with; else a table, whose header is made right.  Two bytes say how
 * many of the others these are; what is left are registers and stack (of 0, of
 * .debug_frame, too).
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "fuzz_target.h"
#include "section_file.h"
#include "unwind_make.h"
#include "unwind_walk.h"

enum { CODE = 0x10000, CODE_END = 0x30000, DEPTH_MAX = 64, AT_SUM = 96 };

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#else
enum { MACHINE = EM_AARCH64 };
#endif

static void
walk(const struct unwind_table *table, const uint8_t *data, size_t size)
{
    static struct unwind_cache cache;
    const struct unwind_code code = {CODE, CODE_END, 0, table};
    const struct unwind_source source = {&code, 1, &cache};
    struct thread_registers registers = {{0}};
    struct thread_stack stack = {.start = CODE_END};
    size_t head = sizeof(registers.values);
    uint64_t pcs[DEPTH_MAX];
    enum unwind_end why;
    size_t count;

    memset(&cache, 0, sizeof(cache));
    head = size < head ? size : head;
    memcpy(registers.values, data, head);
    registers.values[REGISTER_SP] = stack.start;
    stack.bytes = data + head;
    stack.size = size - head;
    count = unwind_walk(&source, &stack, &registers, pcs, DEPTH_MAX, &why);
    if (count == 0 || count > DEPTH_MAX || !unwind_end_text(why) ||
        pcs[0] != registers.values[REGISTER_PC])
        abort();
}

static void
check_table(const struct unwind_table *table, const uint8_t *data, size_t size)
{
    uint64_t end = ((uint64_t)table->page_count + 1) << UNWIND_PAGE_BITS;

    for (uint64_t at = 0; at < end && at < CODE_END; at += 7)
        (void)unwind_table_find(table, at);
    (void)unwind_table_find(table, UINT64_MAX);
    walk(table, data, size);
}

static void
check_sections(const uint8_t *data, size_t size, size_t first)
{
    static struct elf_segment segment = {PT_LOAD, PF_R | PF_X, 0,   CODE,
                                         1 << 16, 1 << 16,     4096};
    static struct section_file file;
    struct unwind_table table;
    struct buffer bytes;
    struct error err;

    if (!file.elf.segments) {
        section_file_init(&file);
        file.elf.segments = &segment;
        file.elf.segment_count = 1;
        file.elf.machine = MACHINE;
    }
    section_file_clear(&file);
    section_file_add(&file, ".eh_frame", data, first);
    section_file_add(&file, ".debug_frame", data + first, size - first);
    buffer_init(&bytes, UNWIND_TABLE_BYTES_MAX);
    if (unwind_make(&file.elf, &bytes, &err) == 0) {
        if (!unwind_table_open(&table, bytes.data, bytes.size, NULL, 0))
            abort();
        check_table(&table, data + first, size - first);
    }
    buffer_fini(&bytes);
}

static void
check_bytes(const uint8_t *data, size_t size, size_t first)
{
    uint8_t *bytes = malloc(UNWIND_HEADER + first);
    static const char magic[] = {'H', 'W', 'U', 'N', 'W', 'I', 'N', 'D'};
    uint16_t machine = MACHINE;
    uint32_t version = UNWIND_VERSION;
    struct unwind_table table;
    uint64_t sum;

    if (!bytes)
        return;
    memset(bytes, 0, UNWIND_HEADER);
    memcpy(bytes, magic, sizeof(magic));
    memcpy(bytes + 8, &version, 4);
    memcpy(bytes + 12, &machine, 2);
    if (first >= 12) { /* pages, rows, rules */
        memcpy(bytes + 80, data, 12);
        data += 12;
        size -= 12;
        first -= 12;
    }
    if (first)
        memcpy(bytes + UNWIND_HEADER, data, first);
    sum = unwind_table_sum(0, bytes, AT_SUM);
    sum = unwind_table_sum(sum, bytes + UNWIND_HEADER, first);
    memcpy(bytes + AT_SUM, &sum, sizeof(sum));
    if (unwind_table_open(&table, bytes, UNWIND_HEADER + first, NULL, 0))
        check_table(&table, data + first, size - first);
    free(bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t first;
    bool bytes;

    if (size < 3)
        return 0;
    bytes = data[0] != 0;
    first = data[1] | (size_t)data[2] << 8;
    data += 3;
    size -= 3;
    if (first > size)
        first = size;
    if (bytes)
        check_bytes(data, size, first);
    else
        check_sections(data, size, first);
    return 0;
}
