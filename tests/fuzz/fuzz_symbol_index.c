/*
 * fuzz_symbol_index.c - any bytes as a symbol index.
 *
 * Its checksums are set right first: else nothing would ever get behind them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "errors.h"
#include "files.h"
#include "fuzz_target.h"
#include "index_seal.h"
#include "symbol_index.h"

enum { SIZE_LIMIT = 1 << 18, ASKS = 96 };

/* Reads all bytes, for the sanitizers to see it. */
static void
touch(struct span text)
{
    volatile char last;

    for (size_t i = 0; i < text.size; i++)
        last = text.data[i];
    (void)last;
}

/* symbol_index_question.text */
static int
take(void *arg, struct span text, enum symbol_index_use use, uint32_t *number)
{
    uint32_t *count = arg;

    (void)use;
    if (text.size > INDEX_TEXT_MAX || text.data[text.size] != '\0')
        abort();
    touch(text);
    *number = ++*count;
    return 0;
}

static void
check(struct symbol_index *index, uint32_t i, uint64_t address, uint32_t taken)
{
    struct index_symbol symbol;
    struct code_chain chain;

    if (symbol_index_answer(index, i, &chain, &symbol) != INDEX_KNOWN) {
        if (chain.count != 0)
            abort();
        return;
    }
    if (chain.count > NAMES_INLINE_MAX || symbol.name.size > INDEX_TEXT_MAX ||
        symbol.number > taken || symbol.end <= address)
        if (address != UINT64_MAX)
            abort();
    touch(symbol.name);
    for (uint32_t k = 0; k < chain.count; k++) {
        const struct code_frame *frame = &chain.frames[k];

        if (frame->name.size > INDEX_TEXT_MAX ||
            frame->file.size > INDEX_TEXT_MAX || frame->name_number > taken ||
            frame->file_number > taken)
            abort();
        touch(frame->name);
        touch(frame->file);
    }
}

static void
ask(struct symbol_index *index, const uint64_t *addresses, uint32_t count,
    bool no_lines)
{
    uint32_t taken = 0;
    struct symbol_index_question question = {.addresses = addresses,
                                             .count = count,
                                             .no_lines = no_lines,
                                             .text = take,
                                             .arg = &taken};

    if (symbol_index_look_up(index, &question) != 0)
        return;
    for (uint32_t i = 0; i < count; i++)
        check(index, i, addresses[i], taken);
}

struct asked {
    uint64_t addresses[2 + ASKS];
    uint32_t count;
};

/* In steps, so that some are in the middle of something. */
static void
ask_behind(struct asked *asked, uint64_t first, unsigned times)
{
    for (uint64_t i = 0; i < times && asked->count < 2 + ASKS; i++)
        asked->addresses[asked->count++] = first + i * 5;
}

/* Where the first blocks begin, and behind that. */
static void
choose(const uint8_t *bytes, size_t size, struct asked *asked)
{
    size_t at = INDEX_HEADER_SIZE;

    for (; at + 8 <= size && asked->count < 2 + ASKS; at += INDEX_ENTRY_SIZE)
        ask_behind(asked, seal_get(bytes + at, 8), 4);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t id[] = {0xb1, 0xd0, 3, 4, 5, 6, 7, 8};
    static int fd = -1;
    static uint8_t *bytes;
    struct asked asked = {{0, UINT64_MAX}, 2};
    struct symbol_index *index;
    struct error err;

    if (fd < 0)
        fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (!bytes)
        bytes = malloc(SIZE_LIMIT);
    if (fd < 0 || !bytes || size > SIZE_LIMIT || size < INDEX_HEADER_SIZE)
        return 0;
    memcpy(bytes, data, size);
    memcpy(bytes, INDEX_MAGIC, 8);
    seal_put(bytes + 8, INDEX_VERSION, 4);
    seal_put(bytes + 12, INDEX_HEADER_SIZE, 4);
    bytes[24] = sizeof(id);
    memcpy(bytes + 25, id, sizeof(id));
    index_seal(bytes, size);
    if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0 ||
        fd_write_all(fd, (const char *)bytes, size) != 0)
        abort();
    index = symbol_index_open(fd, id, sizeof(id), &err);
    if (!index)
        return 0;
    choose(bytes, size, &asked);
    ask(index, asked.addresses, asked.count, false);
    ask(index, asked.addresses, asked.count, true);
    symbol_index_close(index);
    return 0;
}
