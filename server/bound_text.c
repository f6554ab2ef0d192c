/* bound_text.c - see bound_text.h. */
#include "bound_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cursor.h"
#include "lexer.h"

/* As much of it as there is room for. */
static void
put(struct buffer *out, const char *data, size_t size)
{
    size_t room = BOUND_TEXT_MAX - out->size;

    buffer_add(out, data, size < room ? size : room);
}

static void
put_string(struct buffer *out, const char *data, size_t size)
{
    put(out, "'", 1);
    for (size_t i = 0; i < size && out->size < BOUND_TEXT_MAX; i++)
        put(out, data[i] == '\'' ? "''" : data + i, data[i] == '\'' ? 2 : 1);
    put(out, "'", 1);
}

static void
put_literal(struct buffer *out, const struct value *v)
{
    char number[32];

    switch (v->type) {
    case VALUE_NULL:
        put(out, "NULL", 4);
        break;
    case VALUE_INT:
        snprintf(number, sizeof(number), "%" PRId64, v->integer);
        put(out, number, strlen(number));
        break;
    case VALUE_DOUBLE:
        snprintf(number, sizeof(number), "%.15g", v->real);
        put(out, number, strlen(number));
        break;
    case VALUE_TEXT:
    case VALUE_BLOB:
        put_string(out, v->data, v->size);
        break;
    }
}

void
bound_text_init(struct buffer *out, struct span text,
                const struct sql_parameters *parameters)
{
    struct lexer lexer = lexer_of(text);
    struct token token = lexer_next(&lexer);
    const char *from = token.text.data;
    size_t next = 0;

    buffer_init(out, BOUND_TEXT_MAX);
    while (token.kind != TOKEN_END && token.kind != TOKEN_INVALID &&
           out->size < BOUND_TEXT_MAX) {
        if (token.kind == TOKEN_PARAMETER && next < parameters->count) {
            put(out, from, (size_t)(token.text.data - from));
            put_literal(out, &parameters->values[next++]);
            from = token.text.data + token.text.size;
        }
        token = lexer_next(&lexer);
    }
    put(out, from, (size_t)(text.data + text.size - from));
}

struct span
bound_text(const struct buffer *out)
{
    return (struct span){out->data ? out->data : "", out->size};
}
