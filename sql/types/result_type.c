/*
 * result_type.c - a type by itself: widths, digits, the type that holds two
 * others; and the types of parameters and variables (types.h).
 *
 * The rules are MySQL's, as far as a client sees them: the type in a result's
 * column definition, and its decimals.  A type is a small struct passed by
 * value, so nothing here is freed.
 */
#include "arena.h"
#include "cursor.h"
#include "kind.h"
#include "sql_session.h"
#include "types.h"
#include "variables.h"

void *
type_alloc(struct type_values *v, size_t size)
{
    void *room = arena_alloc(v->job->arena, size);

    v->no_memory |= !room;
    return room;
}

static struct result_type
of_value(const struct value *value)
{
    struct result_type out;

    if (value->kind == KIND_UNSIGNED)
        return result_type_unsigned();
    if (value->kind >= KIND_EXACT) /* the kept statement may run with another
                                    * value */
        return result_type_decimal(PRECISION_MAX,
                                   value->kind % (KIND_QUOTIENT - KIND_EXACT));
    switch (value->type) {
    case VALUE_INT:
        return result_type_of(COLUMN_BIGINT);
    case VALUE_DOUBLE:
        return result_type_of(COLUMN_DOUBLE);
    case VALUE_BLOB:
        out = result_type_of(COLUMN_BLOB);
        break;
    default:
        out = result_type_of(COLUMN_TEXT);
        break;
    }
    if (value->size > out.width)
        out.width = (uint32_t)value->size;
    return out;
}

struct result_type
type_of_parameter(const struct type_values *v, size_t i)
{
    return v->job->parameters ? of_value(&v->job->parameters[i])
                              : result_type_of(COLUMN_TEXT);
}

struct result_type
type_of_system_variable(const struct type_values *v, const struct node *node)
{
    char room[VARIABLE_BYTES];
    struct value value;

    variable_get(v->job->session, node->variable, node->scope, room, &value);
    return of_value(&value);
}

static struct assigned *
find_assigned(const struct type_values *v, struct span name)
{
    struct assigned *a = v->assigned;

    while (a && !span_same_nocase(a->name, name))
        a = a->next;
    return a;
}

struct result_type
type_of_user_variable(const struct type_values *v, struct span name)
{
    const struct session_value *setting =
        session_value_find(v->job->session, NULL, name);
    const struct assigned *assigned = find_assigned(v, name);
    struct result_type out =
        setting ? of_value(&setting->value) : result_type_of(COLUMN_TEXT);

    if (!assigned || assigned->type.type == COLUMN_NULL)
        return out;
    /* The first row reads the session's value, later ones what was assigned. */
    return setting ? result_type_widened(out, assigned->type) : assigned->type;
}

/* Notes the type of @x := y, which later columns of the SELECT read.  Names
 * past a session's limit are left out: the assignment fails anyway. */
void
type_assign(struct type_values *v, struct span name, struct result_type type)
{
    struct assigned *a = find_assigned(v, name);

    if (a) {
        a->type = result_type_widened(a->type, type);
        return;
    }
    if (v->assigned_count == SESSION_VALUES_MAX)
        return;
    a = type_alloc(v, sizeof(*a));
    if (!a)
        return;
    *a = (struct assigned){v->assigned, name, type};
    v->assigned = a;
    v->assigned_count++;
}

struct result_type
result_type_of(enum column_type type)
{
    /* What MySQL's column definitions say; of texts and blobs a width that is
     * enough for most, since it is unknown before the first row. */
    static const uint32_t widths[] = {
        [COLUMN_TEXT] = 1024,   [COLUMN_LONGTEXT] = 65535,
        [COLUMN_TINYINT] = 1,   [COLUMN_BLOB] = 65535,
        [COLUMN_INT] = 11,      [COLUMN_BIGINT] = 20,
        [COLUMN_DOUBLE] = 22,   [COLUMN_DECIMAL] = 66,
        [COLUMN_DATE] = 10,     [COLUMN_TIME] = 10,
        [COLUMN_DATETIME] = 19, [COLUMN_TIMESTAMP] = 19};
    struct result_type out = {.type = type, .width = widths[type]};

    return out;
}

struct result_type
result_type_unknown(void)
{
    struct result_type out = result_type_of(COLUMN_TEXT);

    out.unknown = true;
    return out;
}

struct result_type
result_type_unsigned(void)
{
    struct result_type out = result_type_of(COLUMN_BIGINT);

    out.flags = COLUMN_UNSIGNED;
    out.past = true;
    return out;
}

bool
result_type_is_integer(struct result_type t)
{
    return t.type == COLUMN_TINYINT || t.type == COLUMN_INT ||
           t.type == COLUMN_BIGINT || t.type == COLUMN_NULL;
}

bool
result_type_is_exact(struct result_type t)
{
    return result_type_is_integer(t) || t.type == COLUMN_DECIMAL;
}

struct result_type
result_type_decimal(size_t whole, size_t decimals)
{
    struct result_type out = result_type_of(COLUMN_DECIMAL);
    size_t precision;

    if (decimals > DECIMAL_SCALE_MAX)
        decimals = DECIMAL_SCALE_MAX;
    precision = whole + decimals;
    if (precision > PRECISION_MAX)
        precision = PRECISION_MAX;
    if (precision == 0)
        precision = 1;
    out.decimals = (uint8_t)decimals;
    out.precision = (uint8_t)precision;
    out.width = (uint32_t)(precision + 1 + (decimals > 0)); /* sign, point */
    return out;
}

size_t
result_type_integer_digits(struct result_type t)
{
    switch (t.type) {
    case COLUMN_NULL:
        return 0;
    case COLUMN_DECIMAL:
        return t.precision ? (size_t)(t.precision - t.decimals) : PRECISION_MAX;
    case COLUMN_TINYINT:
        return 3;
    case COLUMN_INT:
        return 10;
    default:
        /* A literal's width is its digits; 19 hold any BIGINT, and 20 any
         * unsigned one. */
        return t.width < 19 && !t.past ? t.width : t.past ? 20 : 19;
    }
}

bool
result_type_is_long(struct result_type t)
{
    /* Up to 15 digits a DECIMAL is a double in SQLite, which compares right;
     * quotients have digits that they do not show. */
    return t.type == COLUMN_DECIMAL &&
           (t.precision == 0 || t.precision > PRECISION_OF_DOUBLE ||
            t.decimals >= QUOTIENT_DECIMALS);
}

bool
result_type_is_number(struct result_type t)
{
    return result_type_is_integer(t) || t.type == COLUMN_DOUBLE ||
           t.type == COLUMN_DECIMAL;
}

static bool
is_day(struct result_type t)
{
    return t.type == COLUMN_DATE || t.type == COLUMN_DATETIME ||
           t.type == COLUMN_TIMESTAMP;
}

bool
result_type_is_temporal(enum column_type type)
{
    return type == COLUMN_DATE || type == COLUMN_TIME ||
           type == COLUMN_DATETIME || type == COLUMN_TIMESTAMP;
}

struct result_type
result_type_number(struct result_type t)
{
    return result_type_is_temporal(t.type) && !t.loose
               ? result_type_of(COLUMN_BIGINT)
               : t;
}

static struct result_type
widened_decimal(struct result_type a, struct result_type b)
{
    size_t whole = result_type_integer_digits(a),
           other = result_type_integer_digits(b);

    return result_type_decimal(whole > other ? whole : other,
                               a.decimals > b.decimals ? a.decimals
                                                       : b.decimals);
}

/* Signed and unsigned integers together need a DECIMAL, too: no integer type
 * holds both ranges. */
static bool
has_decimal_result(struct result_type a, struct result_type b)
{
    return result_type_is_exact(a) && result_type_is_exact(b) &&
           (a.type == COLUMN_DECIMAL || b.type == COLUMN_DECIMAL ||
            a.past != b.past);
}

/* Two of one type: the larger size, and only what is true of both. */
static struct result_type
widened_same_type(struct result_type a, struct result_type b)
{
    struct result_type out = a;

    out.unknown = a.unknown && b.unknown;
    out.width = a.width > b.width ? a.width : b.width;
    out.decimals = a.decimals > b.decimals ? a.decimals : b.decimals;
    out.flags = a.flags & b.flags;
    out.loose = a.loose || b.loose;
    return out;
}

static struct result_type
widened_day(struct result_type a, struct result_type b)
{
    struct result_type out = result_type_of(COLUMN_DATETIME);

    /* A date among them has no time of day in its text. */
    out.loose =
        a.loose || b.loose || a.type == COLUMN_DATE || b.type == COLUMN_DATE;
    return out;
}

static struct result_type
widened_text(struct result_type a, struct result_type b)
{
    struct result_type out = widened_same_type(a, b);

    out.flags = 0;
    out.decimals = 0;
    out.type = COLUMN_TEXT;
    if (a.type == COLUMN_LONGTEXT || b.type == COLUMN_LONGTEXT)
        out.type = COLUMN_LONGTEXT;
    if (a.type == COLUMN_BLOB || b.type == COLUMN_BLOB)
        out.type = COLUMN_BLOB;
    return out;
}

struct result_type
result_type_widened(struct result_type a, struct result_type b)
{
    if (a.type == COLUMN_NULL)
        return b;
    if (b.type == COLUMN_NULL)
        return a;
    if (has_decimal_result(a, b))
        return widened_decimal(a, b);
    if (a.type == b.type)
        return widened_same_type(a, b);
    if (result_type_is_integer(a) && result_type_is_integer(b))
        return result_type_of(COLUMN_BIGINT);
    if (result_type_is_number(a) && result_type_is_number(b))
        return result_type_of(COLUMN_DOUBLE);
    if (is_day(a) && is_day(b))
        return widened_day(a, b);
    return widened_text(a, b);
}
