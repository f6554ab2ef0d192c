/*
 * fuzz_execute.c - any bytes as two COM_STMT_EXECUTEs of one statement.
 *
 * The first byte gives the number of parameters, the second one the parameter
 * that has long data, if any, and the third one the size of the first packet.
 * What is decoded, written again in the plainest types, has the same values.
 */
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "clean_text.h"
#include "cursor.h"
#include "errors.h"
#include "execute_values.h"
#include "fuzz_target.h"
#include "prepared.h"

enum { OPTIONS = 3, OUT_MAX = 1 << 20, FIRST_STEP = 4 };

/* Of the protocol. */
enum { DOUBLE = 0x05, LONGLONG = 0x08, BLOB = 0xfc, TYPES_FOLLOW = 1 };

static const char long_text[] = "sent before, \xc3\xa4";

/* ---- values ---- */

static void
check_value(const struct value *v)
{
    struct span bytes = {v->data, v->size};

    switch (v->type) {
    case VALUE_TEXT:
        if (!v->data || !text_is_utf8(bytes))
            abort();
        break;
    case VALUE_BLOB:
        if (!v->data || text_is_utf8(bytes))
            abort();
        break;
    case VALUE_NULL:
    case VALUE_INT:
    case VALUE_DOUBLE:
        if (v->data || v->size != 0)
            abort();
        break;
    default:
        abort();
    }
}

static bool
is_same(const struct value *a, const struct value *b)
{
    return a->type == b->type && a->size == b->size &&
           a->integer == b->integer &&
           memcmp(&a->real, &b->real, sizeof(a->real)) == 0 && /* NaN, too */
           (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static uint16_t
type_of(const struct value *v)
{
    if (v->type == VALUE_INT)
        return LONGLONG;
    return v->type == VALUE_DOUBLE ? DOUBLE : BLOB;
}

static void
put_value(struct buffer *out, const struct value *v)
{
    uint64_t bits;

    if (v->type == VALUE_INT) {
        buffer_u64(out, (uint64_t)v->integer);
    } else if (v->type == VALUE_DOUBLE) {
        memcpy(&bits, &v->real, sizeof(bits));
        buffer_u64(out, bits);
    } else if (v->type != VALUE_NULL) {
        buffer_lenenc_bytes(out, v->data, v->size);
    }
}

static void
put_values(struct buffer *out, const struct sql_parameters *p)
{
    for (size_t i = 0; i < p->count; i += 8) {
        uint8_t nulls = 0;

        for (size_t k = i; k < p->count && k < i + 8; k++)
            nulls |= (uint8_t)((p->values[k].type == VALUE_NULL) << (k - i));
        buffer_u8(out, nulls);
    }
    buffer_u8(out, TYPES_FOLLOW);
    for (size_t i = 0; i < p->count; i++)
        buffer_u16(out, type_of(&p->values[i]));
    for (size_t i = 0; i < p->count; i++)
        put_value(out, &p->values[i]);
}

/* ---- statements ---- */

struct session {
    struct prepared_list *list;
};

static struct prepared *
prepare(struct session *s, size_t count)
{
    struct prepared *p =
        prepared_new(&s->list, "ann", (struct span){"?", 1}, count, NULL);

    if (!p)
        abort();
    return p;
}

static void
check_parameters_round_trip(const struct sql_parameters *before)
{
    size_t held = memory_budget_used();
    struct session s = {NULL};
    struct prepared *p = prepare(&s, before->count);
    struct execute_values values;
    struct buffer out;
    struct error err;

    buffer_init(&out, OUT_MAX);
    put_values(&out, before);
    if (out.failed ||
        execute_values_decode(p, (struct span){out.data, out.size}, &values,
                              &err) != 0)
        abort();
    for (size_t i = 0; i < before->count; i++)
        if (!is_same(&before->values[i], &values.sql.values[i]))
            abort();
    execute_values_fini(&values);
    buffer_fini(&out);
    prepared_list_free(s.list);
    if (memory_budget_used() != held)
        abort();
}

/* Of its own memory, for the sanitizers. */
static void
execute(struct prepared *p, const uint8_t *data, size_t size)
{
    struct execute_values values;
    struct error err = {.code = 0};
    char *bytes = malloc(size + !size);

    if (!bytes)
        abort();
    memcpy(bytes, data, size);
    if (execute_values_decode(p, (struct span){bytes, size}, &values, &err) ==
        0) {
        if (values.sql.count != p->parameter_count)
            abort();
        for (size_t i = 0; i < values.sql.count; i++)
            check_value(&values.sql.values[i]);
        if (values.sql.count > 0)
            check_parameters_round_trip(&values.sql);
        execute_values_fini(&values);
    } else if (err.code != ER_MALFORMED_PACKET &&
               err.code != ER_WRONG_ARGUMENTS) {
        abort();
    }
    free(bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct session s = {NULL};
    struct prepared *p;
    size_t first;

    if (size < OPTIONS)
        return 0;
    p = prepare(&s, data[0]);
    if (data[1] > 0 && data[1] <= p->parameter_count)
        prepared_add_long(p, data[1] - 1,
                          (struct span){long_text, sizeof(long_text) - 1});
    first = (size_t)data[2] * FIRST_STEP;
    data += OPTIONS;
    size -= OPTIONS;
    if (first == 0 || first > size)
        first = size;
    execute(p, data, first);
    prepared_drop_long(p);
    execute(p, data + first, size - first);
    prepared_list_free(s.list);
    if (memory_budget_used() != 0)
        abort();
    return 0;
}
