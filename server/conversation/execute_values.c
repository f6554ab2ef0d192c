/* execute_values.c - see execute_values.h. */
#include "execute_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "binary_moment.h"
#include "clean_text.h"
#include "cursor.h"
#include "errors.h"
#include "memory.h"
#include "prepared.h"

enum { TYPE_UNSIGNED = 0x8000, TYPE_NULL = 0x06 };

/* Room to print a value that is not sent as text. */
struct scratch {
    char text[MOMENT_TEXT];
};

_Static_assert(MOMENT_TEXT > 20, "a scratch holds 64 bits in digits");

static void
set_text(struct value *out, const char *data, size_t size)
{
    *out = (struct value){.type = VALUE_TEXT, .data = data, .size = size};
}

static bool
set_int(struct value *out, int64_t integer)
{
    *out = (struct value){.type = VALUE_INT, .integer = integer};
    return true;
}

static bool
read_tiny(struct reader *r, bool is_unsigned, struct value *out,
          struct scratch *scratch)
{
    uint8_t v = reader_u8(r);

    (void)scratch;
    return set_int(out, is_unsigned ? v : (int8_t)v);
}

static bool
read_short(struct reader *r, bool is_unsigned, struct value *out,
           struct scratch *scratch)
{
    uint16_t v = reader_u16(r);

    (void)scratch;
    return set_int(out, is_unsigned ? v : (int16_t)v);
}

static bool
read_long(struct reader *r, bool is_unsigned, struct value *out,
          struct scratch *scratch)
{
    uint32_t v = reader_u32(r);

    (void)scratch;
    return set_int(out, is_unsigned ? (int64_t)v : (int32_t)v);
}

static bool
read_longlong(struct reader *r, bool is_unsigned, struct value *out,
              struct scratch *scratch)
{
    uint64_t v = reader_u64(r);
    int size;

    if (!is_unsigned || v <= INT64_MAX)
        return set_int(out, (int64_t)v);
    size = snprintf(scratch->text, sizeof(scratch->text), "%" PRIu64, v);
    set_text(out, scratch->text, (size_t)size);
    return true;
}

static bool
read_float(struct reader *r, bool is_unsigned, struct value *out,
           struct scratch *scratch)
{
    uint32_t bits = reader_u32(r);
    float real;

    (void)is_unsigned;
    (void)scratch;
    memcpy(&real, &bits, sizeof(real));
    *out = (struct value){.type = VALUE_DOUBLE, .real = (double)real};
    return true;
}

static bool
read_double(struct reader *r, bool is_unsigned, struct value *out,
            struct scratch *scratch)
{
    uint64_t bits = reader_u64(r);

    (void)is_unsigned;
    (void)scratch;
    *out = (struct value){.type = VALUE_DOUBLE};
    memcpy(&out->real, &bits, sizeof(out->real));
    return true;
}

static bool
read_moment(struct reader *r, enum moment_kind kind, struct value *out,
            struct scratch *scratch)
{
    struct moment t;

    if (!binary_moment_read(r, kind, &t))
        return false;
    set_text(out, scratch->text, moment_text(&t, scratch->text));
    return true;
}

static bool
read_date(struct reader *r, bool is_unsigned, struct value *out,
          struct scratch *scratch)
{
    (void)is_unsigned;
    return read_moment(r, MOMENT_DATE, out, scratch);
}

static bool
read_datetime(struct reader *r, bool is_unsigned, struct value *out,
              struct scratch *scratch)
{
    (void)is_unsigned;
    return read_moment(r, MOMENT_DATETIME, out, scratch);
}

static bool
read_time(struct reader *r, bool is_unsigned, struct value *out,
          struct scratch *scratch)
{
    (void)is_unsigned;
    return read_moment(r, MOMENT_TIME, out, scratch);
}

static void
set_bytes(struct value *out, struct span bytes)
{
    set_text(out, bytes.size ? bytes.data : "", bytes.size);
    if (!text_is_utf8(bytes))
        out->type = VALUE_BLOB;
}

static bool
read_bytes(struct reader *r, bool is_unsigned, struct value *out,
           struct scratch *scratch)
{
    (void)is_unsigned;
    (void)scratch;
    set_bytes(out, reader_lenenc_bytes(r));
    return true;
}

static bool
read_null(struct reader *r, bool is_unsigned, struct value *out,
          struct scratch *scratch)
{
    (void)r;
    (void)is_unsigned;
    (void)scratch;
    *out = (struct value){.type = VALUE_NULL};
    return true;
}

typedef bool read_value(struct reader *r, bool is_unsigned, struct value *out,
                        struct scratch *scratch);

/* By MySQL's number of the type; false: the value is out of its range. */
static read_value *const readers[256] = {
    [0x00] = read_bytes,     [0x01] = read_tiny,     [0x02] = read_short,
    [0x03] = read_long,      [0x04] = read_float,    [0x05] = read_double,
    [TYPE_NULL] = read_null, [0x07] = read_datetime, [0x08] = read_longlong,
    [0x09] = read_long,      [0x0a] = read_date,     [0x0b] = read_time,
    [0x0c] = read_datetime,  [0x0d] = read_short,    [0x0f] = read_bytes,
    [0xf5] = read_bytes,     [0xf6] = read_bytes,    [0xf7] = read_bytes,
    [0xf8] = read_bytes,     [0xf9] = read_bytes,    [0xfa] = read_bytes,
    [0xfb] = read_bytes,     [0xfc] = read_bytes,    [0xfd] = read_bytes,
    [0xfe] = read_bytes,
};

static int
malformed(const struct prepared *p, struct error *err)
{
    error_set(err, ER_MALFORMED_PACKET,
              "Malformed communication packet: COM_STMT_EXECUTE does not hold "
              "the statement's %zu parameters",
              p->parameter_count);
    return -1;
}

/* Keeps the types only if all of them are valid. */
static int
read_types(struct prepared *p, struct reader *r, struct error *err)
{
    struct reader types;
    uint8_t has_types = reader_u8(r);

    if (r->failed)
        return malformed(p, err);
    if (has_types == 0) {
        if (p->typed)
            return 0;
        error_set(err, ER_WRONG_ARGUMENTS,
                  "Incorrect arguments to COM_STMT_EXECUTE: the first one of "
                  "a statement must send the types of its parameters");
        return -1;
    }
    types = *r;
    for (size_t i = 0; i < p->parameter_count; i++) {
        uint16_t type = reader_u16(r);

        if (r->failed)
            return malformed(p, err);
        if (!readers[type & 0xff]) {
            error_set(err, ER_WRONG_ARGUMENTS,
                      "Incorrect arguments to COM_STMT_EXECUTE: parameter %zu "
                      "has the type 0x%02x, which is not supported",
                      i + 1, type & 0xff);
            return -1;
        }
    }
    for (size_t i = 0; i < p->parameter_count; i++)
        p->types[i] = reader_u16(&types);
    p->typed = true;
    return 0;
}

static int
read_values(struct prepared *p, struct reader *r, struct span nulls,
            struct value *values, struct scratch *scratch, struct error *err)
{
    for (size_t i = 0; i < p->parameter_count; i++) {
        bool is_unsigned = p->types[i] & TYPE_UNSIGNED;

        if (p->long_data && p->long_data[i].given) {
            struct buffer *bytes = &p->long_data[i].bytes;

            set_bytes(&values[i], (struct span){bytes->data, bytes->size});
        } else if ((unsigned char)nulls.data[i / 8] >> i % 8 & 1) {
            values[i] = (struct value){.type = VALUE_NULL};
        } else if (!readers[p->types[i] & 0xff](r, is_unsigned, &values[i],
                                                &scratch[i]) &&
                   !r->failed) {
            error_set(err, ER_WRONG_ARGUMENTS,
                      "Incorrect arguments to COM_STMT_EXECUTE: parameter %zu "
                      "is no date or time",
                      i + 1);
            return -1;
        }
        if (r->failed)
            break;
    }
    return reader_done(r) ? 0 : malformed(p, err);
}

int
execute_values_decode(struct prepared *p, struct span body,
                      struct execute_values *out, struct error *err)
{
    struct reader r = reader_of(body.data, body.size);
    size_t count = p->parameter_count;
    struct value *values;
    struct span nulls;

    *out = (struct execute_values){.sql = {NULL, count}};
    if (prepared_check_long(p, err) != 0)
        return -1;
    if (count == 0)
        return 0; /* some clients send an empty bitmap and flag, some nothing */
    nulls = reader_bytes(&r, (count + 7) / 8);
    if (read_types(p, &r, err) != 0)
        return -1;
    values = mem_alloc(count * (sizeof(*values) + sizeof(struct scratch)));
    if (!values) {
        error_memory(err, "the parameters of a statement");
        return -1;
    }
    if (read_values(p, &r, nulls, values, (struct scratch *)(values + count),
                    err) != 0) {
        mem_free(values);
        return -1;
    }
    out->sql.values = out->block = values;
    return 0;
}

void
execute_values_fini(struct execute_values *values)
{
    mem_free(values->block);
    values->block = NULL;
}
