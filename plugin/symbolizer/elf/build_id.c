/* build_id.c - see build_id.h. */
#include "build_id.h"

#include <string.h>

#include "elf_file.h"

_Static_assert((int)BUILD_ID_MAX >= (int)ELF_BUILD_ID_MAX, "each fits");

struct build_id
build_id_of(const struct elf_file *elf)
{
    struct build_id id = {.size = 0};

    if (elf->build_id_size < BUILD_ID_MIN ||
        elf->build_id_size > sizeof(id.bytes))
        return id;
    id.size = elf->build_id_size;
    memcpy(id.bytes, elf->build_id, id.size);
    return id;
}

bool
build_id_equal(const struct build_id *a, const struct build_id *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

void
build_id_text(const struct build_id *id, char out[BUILD_ID_TEXT])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < id->size; i++) {
        out[2 * i] = digits[id->bytes[i] >> 4];
        out[2 * i + 1] = digits[id->bytes[i] & 15];
    }
    out[2 * id->size] = '\0';
}

static int
digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
build_id_parse(const char *text, size_t size, struct build_id *out)
{
    struct build_id id = {.size = size / 2};

    if (size % 2 || id.size < BUILD_ID_MIN || id.size > sizeof(id.bytes))
        return false;
    for (size_t i = 0; i < id.size; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        id.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *out = id;
    return true;
}
