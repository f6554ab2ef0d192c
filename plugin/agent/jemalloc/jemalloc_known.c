/*
 * jemalloc_known.c - see jemalloc_known.h.
 *
 * The text comes through the environment, which anything between heapwire-run
 * and the program may have changed, and an address in it will be called.  So
 * every field is checked for its form here, and jemalloc_find.c checks the
 * address against the loaded object.
 */
#include "jemalloc_known.h"

#include <string.h>

#include "ascii.h"

enum { FIELDS = 5, HEX_ADDRESS_MAX = 16 };

struct field {
    const char *text;
    size_t size;
};

static bool
parse_mark(struct field field, struct known *out)
{
    out->is_code = field.size > 0 && field.text[0] == '-';
    field.text += out->is_code;
    field.size -= out->is_code;
    if (field.size == 0 || field.size % 2 != 0 ||
        field.size / 2 > KNOWN_MARK_MAX)
        return false;
    out->mark_size = field.size / 2;
    for (size_t i = 0; i < out->mark_size; i++) {
        int high = hex_digit(field.text[2 * i]);
        int low = hex_digit(field.text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        out->mark[i] = (uint8_t)(high << 4 | low);
    }
    return !out->is_code || out->mark_size == KNOWN_CODE_BYTES;
}

static bool
parse_known_address(struct field field, uint64_t *out)
{
    *out = 0;
    if (field.size == 0 || field.size > HEX_ADDRESS_MAX)
        return false;
    for (size_t i = 0; i < field.size; i++) {
        int digit = hex_digit(field.text[i]);

        if (digit < 0)
            return false;
        *out = *out << 4 | (unsigned)digit;
    }
    return true;
}

/* Accepts the characters of C names only: the texts become names of symbols and
 * of a variable. */
static bool
parse_known_identifier(struct field field, char *out, size_t size)
{
    if (field.size >= size)
        return false;
    for (size_t i = 0; i < field.size; i++)
        if (!is_word_character(field.text[i]))
            return false;
    memcpy(out, field.text, field.size);
    out[field.size] = '\0';
    return true;
}

static bool
parse_entry(const char *text, size_t size, struct known *out)
{
    struct field fields[FIELDS];
    size_t count = 0;

    memset(out, 0, sizeof(*out));
    while (count < FIELDS) {
        const char *comma = memchr(text, ',', size);

        fields[count].text = text;
        fields[count++].size = comma ? (size_t)(comma - text) : size;
        if (!comma)
            break;
        size -= (size_t)(comma - text) + 1;
        text = comma + 1;
        if (count == FIELDS)
            return false;
    }
    return count == FIELDS && parse_mark(fields[0], out) &&
           parse_known_address(fields[1], &out->address) &&
           parse_known_identifier(fields[2], out->prefix,
                                  sizeof(out->prefix)) &&
           parse_known_identifier(fields[3], out->variable,
                                  sizeof(out->variable)) &&
           parse_known_identifier(fields[4], out->how, sizeof(out->how));
}

size_t
known_parse(const char *text, struct known out[KNOWN_MAX])
{
    size_t count = 0;

    while (*text && count < KNOWN_MAX) {
        size_t size = strcspn(text, ";");

        count += parse_entry(text, size, &out[count]);
        text += size;
        text += *text == ';';
    }
    return count;
}
