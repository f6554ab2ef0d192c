/*
 * unwind_rows FILE - prints an object's unwind table: of each run of code the
 * addresses, and CFA, frame pointer and return address as readelf writes them.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "elf_file.h"
#include "errors.h"
#include "unwind_make.h"
#include "unwind_table.h"

static void
put_place(struct unwind_location place, int32_t offset)
{
    switch (place.where) {
    case UNWIND_AT_CFA:
        printf(" c%+d", offset);
        break;
    case UNWIND_IN:
        printf(" r%u", place.base);
        break;
    case UNWIND_SAME:
        printf(" u");
        break;
    default:
        printf(" exp");
    }
}

static void
put_rule(const struct unwind_rule *rule)
{
    switch (rule->cfa) {
    case UNWIND_NONE:
        printf("none\n");
        return;
    case UNWIND_SIGNAL:
        printf("signal\n");
        return;
    case UNWIND_OUTERMOST:
        printf("outermost\n");
        return;
    case UNWIND_REGISTER:
        printf("r%u%+d", rule->base, rule->offset);
        break;
    default:
        printf("exp");
    }
    put_place(rule->frame_pointer, rule->frame_offset);
    put_place(rule->return_address, rule->return_offset);
    printf("\n");
}

int
main(int argc, char **argv)
{
    struct elf_file elf = {0};
    struct buffer bytes;
    struct unwind_table table;
    struct error err = {0};
    uint64_t pages;
    int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;

    buffer_init(&bytes, UNWIND_TABLE_BYTES_MAX);
    if (fd < 0 || elf_init(&elf, fd, argv[1], &err) != 0 ||
        elf_load_sections(&elf, &err) != 0 ||
        unwind_make(&elf, &bytes, &err) != 0 ||
        !unwind_table_open(&table, bytes.data, bytes.size, elf.build_id,
                           elf.build_id_size)) {
        fprintf(stderr, "unwind_rows: %s\n", err.text);
        return EXIT_FAILURE;
    }
    fprintf(stderr, "%zu bytes, %u rows, %u rules\n", bytes.size,
            table.row_count, table.rule_count);
    pages = table.page_count;
    for (uint64_t page = 0; page < pages; page++) {
        uint32_t first, next;

        memcpy(&first, table.pages + page * 4, 4);
        memcpy(&next, table.pages + page * 4 + 4, 4);
        for (uint32_t i = first; i < next; i++) {
            struct unwind_rule rule;
            uint64_t offset, address;
            uint16_t low;

            memcpy(&low, table.rows + (size_t)i * 4, 2);
            offset = (page << UNWIND_PAGE_BITS) + low;
            rule = unwind_table_find(&table, offset);
            if (elf_address_of(&elf, offset, &address)) {
                printf("%" PRIx64 " ", address);
                put_rule(&rule);
            }
        }
    }
    return EXIT_SUCCESS;
}
