/*
 * execute_values.c - see execute_values.h.
 *
 * Values are not converted to their column's type here, for none is known: each
 * becomes what SQLite can bind, and a value that it cannot hold exactly stays a
 * text.  One block holds the values and room to print some; strings borrow the
 * packet or the long data, which must outlive it.
 */
#include "execute_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "row_value.h"
#include "clean_text.h"
#include "cursor.h"
#include "decimal.h"
#include "errors.h"
#include "memory.h"
#include "prepared.h"

enum { TYPE_UNSIGNED = 0x8000 };

/* Room to print a value that is not sent as text. */
struct scratch {
    char text[TEMPORAL_TEXT];
};

_Static_assert(TEMPORAL_TEXT > 20, "a scratch holds 64 bits in digits");

/* How a value is sent. */
enum wire {
    UNKNOWN,
    BYTES,
    DECIMAL,
    TINY,
    SHORT,
    LONG,
    LONGLONG,
    FLOAT,
    DOUBLE,
    DATE,
    TIME,
    DATETIME,
    NONE
};

/* Indexed by MySQL's number of the type (enum_field_types). */
static const uint8_t wires[256] = {
    [0x00] = DECIMAL,  [0x01] = TINY,   [0x02] = SHORT, [0x03] = LONG,
    [0x04] = FLOAT,    [0x05] = DOUBLE, [0x06] = NONE,  [0x07] = DATETIME,
    [0x08] = LONGLONG, [0x09] = LONG,   [0x0a] = DATE,  [0x0b] = TIME,
    [0x0c] = DATETIME, [0x0d] = SHORT,  [0x0f] = BYTES, [0xf5] = BYTES,
    [0xf6] = DECIMAL,  [0xf7] = BYTES,  [0xf8] = BYTES, [0xf9] = BYTES,
    [0xfa] = BYTES,    [0xfb] = BYTES,  [0xfc] = BYTES, [0xfd] = BYTES,
    [0xfe] = BYTES,
};

static void
set_text_parameter(struct value *out, const char *data, size_t size)
{
    *out = (struct value){.type = VALUE_TEXT, .data = data, .size = size};
}

static void
set_bytes(struct value *out, struct span bytes)
{
    set_text_parameter(out, bytes.size ? bytes.data : "", bytes.size);
    if (!text_is_utf8(bytes))
        out->type = VALUE_BLOB;
}

/* A text that is no number stays a text.  False: it is a number that no DECIMAL
 * of ours holds. */
static bool
set_decimal_parameter(struct value *out, struct span bytes)
{
    struct decimal d;
    size_t used;
    int decimals;

    set_bytes(out, bytes);
    (void)decimal_read(bytes, &d, &used);
    if (used == 0 || used < bytes.size)
        return true;
    if (!decimal_read_exact(bytes, &d, &decimals))
        return false;
    out->kind = (uint8_t)(VALUE_KIND_DECIMAL + decimals);
    return true;
}

static void
set_longlong(struct value *out, uint64_t v, bool is_unsigned,
             struct scratch *scratch)
{
    int size;

    /* SQLite's integers are signed: what is above them stays digits. */
    out->integer = (int64_t)v;
    if (!is_unsigned || v <= INT64_MAX)
        return;
    size = snprintf(scratch->text, sizeof(scratch->text), "%" PRIu64, v);
    set_text_parameter(out, scratch->text, (size_t)size);
    out->kind = VALUE_KIND_UNSIGNED;
}

static bool
read_temporal_parameter(struct reader *r, enum temporal_kind kind,
                        struct value *out, struct scratch *scratch)
{
    struct temporal t;

    if (!binary_temporal_read(r, kind, &t))
        return false;
    set_text_parameter(out, scratch->text, temporal_text(&t, scratch->text));
    return true;
}

static double
read_real(struct reader *r, enum wire wire)
{
    uint64_t bits = wire == FLOAT ? reader_u32(r) : reader_u64(r);
    uint32_t half = (uint32_t)bits;
    double real;
    float single;

    memcpy(&single, &half, sizeof(single));
    memcpy(&real, &bits, sizeof(real));
    return wire == FLOAT ? (double)single : real;
}

/* False: no date or time, or a DECIMAL that is too long. */
static bool
read_parameter_value(struct reader *r, uint16_t type, struct value *out,
                     struct scratch *scratch)
{
    bool is_unsigned = type & TYPE_UNSIGNED;
    enum wire wire = wires[type & 0xff];
    int64_t v;

    *out = (struct value){.type = VALUE_INT};
    switch (wire) {
    case TINY:
        v = reader_u8(r);
        out->integer = is_unsigned ? v : (int8_t)v;
        break;
    case SHORT:
        v = reader_u16(r);
        out->integer = is_unsigned ? v : (int16_t)v;
        break;
    case LONG:
        v = reader_u32(r);
        out->integer = is_unsigned ? v : (int32_t)v;
        break;
    case LONGLONG:
        set_longlong(out, reader_u64(r), is_unsigned, scratch);
        break;
    case FLOAT:
    case DOUBLE:
        out->type = VALUE_DOUBLE;
        out->real = read_real(r, wire);
        break;
    case DATE:
        return read_temporal_parameter(r, TEMPORAL_DATE, out, scratch);
    case TIME:
        return read_temporal_parameter(r, TEMPORAL_TIME, out, scratch);
    case DATETIME:
        return read_temporal_parameter(r, TEMPORAL_DATETIME, out, scratch);
    case BYTES:
        set_bytes(out, reader_lenenc_bytes(r));
        break;
    case DECIMAL:
        return set_decimal_parameter(out, reader_lenenc_bytes(r));
    case NONE:
    case UNKNOWN:
        out->type = VALUE_NULL;
        break;
    }
    return true;
}

static int
set_execute_packet_error(const struct prepared *p, struct error *err)
{
    error_set(err, ER_MALFORMED_PACKET,
              "Malformed communication packet: COM_STMT_EXECUTE does not hold "
              "the statement's %zu parameters",
              p->parameter_count);
    return -1;
}

/* Reads the types that clients send with the first execution and may leave out
 * later.  They are kept only if all of them are valid. */
static int
read_types(struct prepared *p, struct reader *r, struct error *err)
{
    struct reader types;
    uint8_t has_types = reader_u8(r);

    if (r->failed)
        return set_execute_packet_error(p, err);
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
            return set_execute_packet_error(p, err);
        if (wires[type & 0xff] == UNKNOWN) {
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
read_parameter_values(struct prepared *p, struct reader *r, struct span nulls,
                      struct value *values, struct scratch *scratch,
                      struct error *err)
{
    for (size_t i = 0; i < p->parameter_count; i++) {
        if (p->long_data && p->long_data[i].given) {
            struct buffer *bytes = &p->long_data[i].bytes;

            /* Sent before by COM_STMT_SEND_LONG_DATA: the packet has nothing
             * for it. */
            set_bytes(&values[i], (struct span){bytes->data, bytes->size});
        } else if ((unsigned char)nulls.data[i / 8] >> i % 8 & 1) {
            values[i] = (struct value){.type = VALUE_NULL};
        } else if (!read_parameter_value(r, p->types[i], &values[i],
                                         &scratch[i]) &&
                   !r->failed) {
            if (wires[p->types[i] & 0xff] == DECIMAL)
                error_set(err, ER_DATA_OUT_OF_RANGE,
                          "DECIMAL value is out of range in parameter %zu: it "
                          "has more than %d digits, or more than %d behind "
                          "the point",
                          i + 1, DECIMAL_DIGITS, DECIMAL_SCALE_MAX);
            else
                error_set(err, ER_WRONG_ARGUMENTS,
                          "Incorrect arguments to COM_STMT_EXECUTE: parameter "
                          "%zu is no date or time",
                          i + 1);
            return -1;
        }
        if (r->failed)
            break;
    }
    return reader_done(r) ? 0 : set_execute_packet_error(p, err);
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
        /* some clients then send an empty bitmap and a flag, some nothing */
        return 0;
    nulls = reader_bytes(&r, (count + 7) / 8);
    if (read_types(p, &r, err) != 0)
        return -1;
    values = mem_alloc(count * (sizeof(*values) + sizeof(struct scratch)));
    if (!values) {
        error_memory(err, "the parameters of a statement");
        return -1;
    }
    if (read_parameter_values(p, &r, nulls, values,
                              (struct scratch *)(values + count), err) != 0) {
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
