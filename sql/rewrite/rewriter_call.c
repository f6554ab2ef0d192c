/*
 * rewriter_call.c - calls whose arguments are no plain list.
 *
 * CAST(x AS type), TRIM(LEADING x FROM y), EXTRACT(unit FROM x) and the like
 * become lists.
 */
#include "rewriter.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "rewrite_words.h"

enum { GROUP_KEYS_MAX = 8 };

/* Members of GROUP_CONCAT's last argument. */
struct group_concat {
    size_t values, keys;
    bool ordered;
    char directions[GROUP_KEYS_MAX + 1];
    struct span separator;
};

static const struct {
    const char *name;
    enum special special;
    const char *out; /* SQLite's name or ours; NULL: the same */
} calls[] = {
    {"ADDDATE", SPECIAL_DATE_ADD, NULL},
    {"AVG", SPECIAL_AGGREGATE, NULL},
    {"CAST", SPECIAL_CAST, "hw_cast"},
    {"CHAR", SPECIAL_CHAR, "hw_char"},
    {"CONVERT", SPECIAL_CONVERT, "hw_cast"},
    {"COUNT", SPECIAL_COUNT, NULL},
    {"DATE_ADD", SPECIAL_DATE_ADD, NULL},
    {"DATE_SUB", SPECIAL_DATE_ADD, NULL},
    {"EXTRACT", SPECIAL_EXTRACT, NULL},
    {"GROUP_CONCAT", SPECIAL_GROUP, "hw_group_concat"},
    {"JSON_ARRAYAGG", SPECIAL_AGGREGATE, "json_group_array"},
    {"JSON_OBJECTAGG", SPECIAL_AGGREGATE, "json_group_object"},
    {"MAX", SPECIAL_AGGREGATE, NULL},
    {"MID", SPECIAL_SUBSTRING, "substring"},
    {"MIN", SPECIAL_AGGREGATE, NULL},
    {"POSITION", SPECIAL_POSITION, "locate"},
    {"STD", SPECIAL_AGGREGATE, NULL},
    {"STDDEV", SPECIAL_AGGREGATE, NULL},
    {"STDDEV_POP", SPECIAL_AGGREGATE, NULL},
    {"STDDEV_SAMP", SPECIAL_AGGREGATE, NULL},
    {"SUBDATE", SPECIAL_DATE_ADD, NULL},
    {"SUBSTR", SPECIAL_SUBSTRING, "substring"},
    {"SUBSTRING", SPECIAL_SUBSTRING, NULL},
    {"SUM", SPECIAL_AGGREGATE, NULL},
    {"TIMESTAMPADD", SPECIAL_TIMESTAMP, NULL},
    {"TIMESTAMPDIFF", SPECIAL_TIMESTAMP, NULL},
    {"TRIM", SPECIAL_TRIM, NULL},
    {"VAR_POP", SPECIAL_AGGREGATE, NULL},
    {"VAR_SAMP", SPECIAL_AGGREGATE, NULL},
    {"VARIANCE", SPECIAL_AGGREGATE, NULL},
};

static const char *const units[] = {"MICROSECOND",
                                    "SECOND",
                                    "MINUTE",
                                    "HOUR",
                                    "DAY",
                                    "WEEK",
                                    "MONTH",
                                    "QUARTER",
                                    "YEAR",
                                    "SECOND_MICROSECOND",
                                    "MINUTE_MICROSECOND",
                                    "MINUTE_SECOND",
                                    "HOUR_MICROSECOND",
                                    "HOUR_SECOND",
                                    "HOUR_MINUTE",
                                    "DAY_MICROSECOND",
                                    "DAY_SECOND",
                                    "DAY_MINUTE",
                                    "DAY_HOUR",
                                    "YEAR_MONTH",
                                    "SQL_TSI_SECOND",
                                    "SQL_TSI_MINUTE",
                                    "SQL_TSI_HOUR",
                                    "SQL_TSI_DAY",
                                    "SQL_TSI_WEEK",
                                    "SQL_TSI_MONTH",
                                    "SQL_TSI_QUARTER",
                                    "SQL_TSI_YEAR"};

bool
rewriter_is_unit(const struct token *token)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (token_is(token, units[i]))
            return true;
    return false;
}

enum special
rewriter_special(struct span name, const char **out)
{
    *out = NULL;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (span_is_nocase(name, calls[i].name)) {
            *out = calls[i].out;
            return calls[i].special;
        }
    return SPECIAL_NONE;
}

/* The level of the SELECT, which has the clauses. */
static struct level *
select_level(struct rewriter *r)
{
    size_t i = r->depth;

    while (i > 0 && r->levels[i].clause == CLAUSE_NONE)
        i--;
    return &r->levels[i];
}

/* Called behind the parenthesis. */
int
rewriter_call_open(struct rewriter *r)
{
    struct level *level = rewriter_top(r);

    switch (level->special) {
    case SPECIAL_GROUP:
        level->group = arena_alloc(r->job->arena, sizeof(*level->group));
        if (!level->group) {
            error_memory(r->err, "the statement");
            return -1;
        }
        level->group->values = 1;
        level->group->separator = (struct span){",", 1};
        break;
    case SPECIAL_COUNT:
    case SPECIAL_AGGREGATE:
        break;
    default:
        return 0;
    }
    select_level(r)->has_aggregate = true;
    return 0;
}

static void
next_argument(struct rewriter *r)
{
    rewriter_expression_end(r);
    buffer_char(r->sql, ',');
}

/* Writes the unit as a text. */
static void
unit(struct rewriter *r)
{
    rewriter_operand(r, OPERAND_STRING);
    buffer_format(r->sql, " '%.*s'", (int)r->token.text.size,
                  r->token.text.data);
}

/* ---- CAST and CONVERT ---- */

/* Writes (60) or (10,2) behind a type as two more arguments. */
static int
lengths(struct rewriter *r)
{
    long numbers[2] = {-1, -1};
    size_t count = 0;

    if (token_is_operator(&r->ahead, "(")) {
        do {
            rewriter_advance(r);
            if (count == 2 || r->ahead.kind != TOKEN_INTEGER)
                return rewriter_fail(r);
            numbers[count++] = strtol(r->ahead.text.data, NULL, 10);
            rewriter_advance(r);
        } while (token_is_operator(&r->ahead, ","));
        rewriter_advance(r);
        if (!token_is_operator(&r->token, ")"))
            return rewriter_fail(r);
    }
    buffer_format(r->sql, ",%ld,%ld", numbers[0], numbers[1]);
    return 0;
}

/* The next token is a type's name. */
int
rewriter_convert_type(struct rewriter *r)
{
    const char *type = NULL;

    rewriter_expression_end(r);
    rewriter_advance(r);
    if (r->token.kind == TOKEN_WORD)
        type = rewrite_type(r->token.text);
    if (!type)
        return rewriter_fail(r);
    buffer_format(r->sql, ",'%s'", type);
    rewriter_top(r)->is_binary = strcmp(type, "BINARY") == 0;
    if (lengths(r) != 0)
        return -1;
    /* CHARACTER SET x, INTEGER */
    while (r->ahead.kind == TOKEN_WORD)
        rewriter_advance(r);
    rewriter_operand(r, OPERAND_OTHER);
    return 0;
}

static int
convert_using(struct rewriter *r)
{
    bool binary = token_is(&r->ahead, "BINARY");

    rewriter_expression_end(r);
    rewriter_advance(r);
    if (r->token.kind != TOKEN_WORD && r->token.kind != TOKEN_STRING)
        return rewriter_fail(r);
    rewriter_top(r)->is_text = !binary;
    if (rewriter_top(r)->special == SPECIAL_CONVERT)
        buffer_text(r->sql, binary ? ",'BINARY',-1,-1" : ",'CHAR',-1,-1");
    rewriter_operand(r, OPERAND_OTHER);
    return 0;
}

/* ---- GROUP_CONCAT ---- */

static int
group_token(struct rewriter *r, bool *known)
{
    struct level *level = rewriter_top(r);
    struct group_concat *group = level->group;

    if (token_is(&r->token, "DISTINCT")) {
        level->distinct = true;
    } else if (token_is(&r->token, "ORDER") && token_is(&r->ahead, "BY")) {
        rewriter_advance(r);
        next_argument(r);
        group->ordered = true;
        group->directions[group->keys++] = 'a';
    } else if (token_is_operator(&r->token, ",")) {
        next_argument(r);
        if (!group->ordered)
            group->values++;
        else if (group->keys == GROUP_KEYS_MAX)
            return rewriter_fail(r);
        else
            group->directions[group->keys++] = 'a';
    } else if (group->ordered && token_is(&r->token, "DESC")) {
        group->directions[group->keys - 1] = 'd';
    } else if (group->ordered && token_is(&r->token, "ASC")) {
        return 0;
    } else if (token_is(&r->token, "SEPARATOR")) {
        rewriter_advance(r);
        if (r->token.kind != TOKEN_STRING)
            return rewriter_fail(r);
        return rewriter_decode(r, &r->token, &group->separator);
    } else {
        *known = false;
    }
    return 0;
}

/* ---- all ---- */

static bool
is_first(const struct rewriter *r)
{
    return token_is_operator(&r->previous, "(");
}

static int
trim_token(struct rewriter *r, bool *known)
{
    if (is_first(r) &&
        (token_is(&r->token, "LEADING") || token_is(&r->token, "TRAILING") ||
         token_is(&r->token, "BOTH"))) {
        buffer_format(r->sql, "'%.*s',", (int)r->token.text.size,
                      r->token.text.data);
        if (token_is(&r->ahead, "FROM"))
            buffer_text(r->sql, "' '");
        return 0;
    }
    *known = token_is(&r->token, "FROM");
    if (*known)
        next_argument(r);
    return 0;
}

int
rewriter_call_token(struct rewriter *r, bool *known)
{
    struct level *level = rewriter_top(r);
    struct token *token = &r->token;

    *known = false;
    if (!level->is_call || token_is_operator(&r->previous, "."))
        return 0;
    *known = true;
    switch (level->special) {
    case SPECIAL_CAST:
        if (token_is(token, "AS"))
            return rewriter_convert_type(r);
        break;
    case SPECIAL_CONVERT:
        if (token_is_operator(token, ","))
            return rewriter_convert_type(r);
        /* fall through */
    case SPECIAL_CHAR:
        if (token_is(token, "USING"))
            return convert_using(r);
        break;
    case SPECIAL_COUNT:
        level->distinct = level->distinct || token_is(token, "DISTINCT");
        if (token_is(token, "DISTINCT"))
            return 0;
        break;
    case SPECIAL_GROUP:
        return group_token(r, known);
    case SPECIAL_TRIM:
        return trim_token(r, known);
    case SPECIAL_DATE_ADD:
        if (token_is(token, "INTERVAL") &&
            token_is_operator(&r->previous, ",")) {
            level->interval = true;
            return 0;
        }
        if (level->interval && !rewriter_wants_operand(r) &&
            rewriter_is_unit(token)) {
            next_argument(r);
            unit(r);
            return 0;
        }
        break;
    case SPECIAL_EXTRACT:
    case SPECIAL_TIMESTAMP:
        if (is_first(r) && rewriter_is_unit(token)) {
            unit(r);
            return 0;
        }
        /* fall through */
    case SPECIAL_SUBSTRING:
        if (token_is(token, "FROM") || token_is(token, "FOR")) {
            next_argument(r);
            return 0;
        }
        break;
    case SPECIAL_POSITION:
        if (token_is(token, "IN")) {
            next_argument(r);
            return 0;
        }
        break;
    default:
        break;
    }
    *known = false;
    return 0;
}

/* Called before the parenthesis is written. */
int
rewriter_call_close(struct rewriter *r)
{
    const struct level *level = rewriter_top(r);
    const struct group_concat *group = level->group;

    if (level->special == SPECIAL_COUNT && level->distinct) {
        if (level->is_row)
            buffer_char(r->sql, ')');
        rewriter_insert(r, level->content,
                        level->is_row ? " DISTINCT hw_row(" : " DISTINCT");
    }
    if (level->special == SPECIAL_CHAR)
        rewriter_insert(r, level->content, level->is_text ? " 1," : " 0,");
    if (group) {
        buffer_format(r->sql, ",%zu,%d,'%s',", group->values, level->distinct,
                      group->directions);
        rewriter_emit_text(r, group->separator);
    }
    return 0;
}
