/*
 * variables.c - finds a system variable, reads its value, and checks what SET
 * gives it; variable_list.c has the variables themselves.
 *
 * Most values are checked by type alone: a client that sets what has no effect
 * here still gets an OK, because many drivers send a dozen SETs at login and
 * give up at the first error.  The few that heapwire obeys have a range.
 * Refused are also values that would make heapwire read later statements
 * otherwise than the client means them (no backslash escapes).
 */
#include "variables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ascii.h"
#include "errors.h"
#include "sql_session.h"

#define ENGINE_VARIABLE "default_storage_engine"

const struct variable *
variable_find(struct span name, struct error *err)
{
    size_t low = 0, high = variable_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct variable *v = &variables[middle];
        struct span other = {v->same_as, v->same_as ? strlen(v->same_as) : 0};
        int order = span_compare_nocase(name, v->name);

        if (order == 0)
            /* An alias names a variable that is none, so this recurs once. */
            return v->same_as ? variable_find(other, err) : v;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    error_set(err, ER_UNKNOWN_VARIABLE, "Unknown system variable '%.*s'",
              span_shown(name), name.data);
    return NULL;
}

static void
set_variable_text(struct value *out, const char *text)
{
    out->type = VALUE_TEXT;
    out->data = text;
    out->size = strlen(text);
}

/* Reads a number; keeps one past 63 bits (the usual "no limit") as a text,
 * since struct value has no unsigned integers. */
static void
set_number(struct value *out, const char *text)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno || *end) {
        set_variable_text(out, text);
        return;
    }
    out->type = VALUE_INT;
    out->integer = number;
}

void
variable_get(const struct sql_session *session, const struct variable *variable,
             enum variable_scope scope, char computed[VARIABLE_BYTES],
             struct value *out)
{
    struct span none = {"", 0};
    const struct session_value *own =
        scope == SCOPE_GLOBAL ? NULL
                              : session_value_find(session, variable, none);
    const char *text = variable->value ? variable->value : "";

    memset(out, 0, sizeof(*out));
    if (own) {
        *out = own->value;
        return;
    }
    if (variable->compute) {
        variable->compute(session, computed, VARIABLE_BYTES);
        text = computed;
    }
    if (variable->type == VARIABLE_TEXT)
        set_variable_text(out, text);
    else
        set_number(out, text);
}

static int
refuse_variable_value(const struct variable *variable, struct span value,
                      struct error *err)
{
    error_set(err, ER_WRONG_VALUE,
              "Variable '%s' can't be set to the value of '%.*s'",
              variable->name, span_shown(value), value.data);
    return -1;
}

int
variable_refuse(const char *name, struct span value, uint64_t least,
                uint64_t most, struct error *err)
{
    error_set(err, ER_WRONG_VALUE,
              "Variable '%s' can't be set to the value of '%.*s'; it takes "
              "%" PRIu64 " to %" PRIu64,
              name, span_shown(value), value.data, least, most);
    return -1;
}

static int
refuse_type(const struct variable *variable, struct error *err)
{
    error_set(err, ER_WRONG_TYPE_FOR_VARIABLE,
              "Incorrect argument type to variable '%s'", variable->name);
    return -1;
}

static int
accept_bool(const struct variable *variable, const struct value *given,
            struct value *out, struct error *err)
{
    static const struct {
        const char *word;
        int64_t truth;
    } words[] = {{"ON", 1},    {"OFF", 0}, {"TRUE", 1},
                 {"FALSE", 0}, {"1", 1},   {"0", 0}};
    struct span text = {given->data, given->size};
    char number[32];

    if (given->type != VALUE_INT && given->type != VALUE_TEXT)
        return refuse_type(variable, err);
    if (given->type == VALUE_INT) {
        text.size = (size_t)snprintf(number, sizeof(number), "%lld",
                                     (long long)given->integer);
        text.data = number;
    }
    out->type = VALUE_INT;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (span_is_nocase(text, words[i].word)) {
            out->integer = words[i].truth;
            return 0;
        }
    return refuse_variable_value(variable, text, err);
}

static bool
all_digits(const struct value *given)
{
    for (size_t i = 0; i < given->size; i++)
        if (!is_digit(given->data[i]))
            return false;
    return given->size > 0;
}

/* Accepts a number in the variable's range.  20 digits are enough to tell:
 * strtoll() gives the largest number for a longer one, which is out of every
 * range. */
static int
accept_range(const struct variable *variable, struct value *value,
             struct error *err)
{
    char digits[32];

    if (value->type == VALUE_TEXT)
        snprintf(digits, sizeof(digits), "%.*s",
                 (int)(value->size < 20 ? value->size : 20), value->data);
    else
        snprintf(digits, sizeof(digits), "%" PRId64, value->integer);
    if (value->type == VALUE_TEXT) {
        value->type = VALUE_INT;
        value->integer = strtoll(digits, NULL, 10);
    }
    if (value->integer >= variable->least && value->integer <= variable->most)
        return 0;
    return variable_refuse(
        variable->name, (struct span){digits, strlen(digits)},
        (uint64_t)variable->least, (uint64_t)variable->most, err);
}

static int
accept_int(const struct variable *variable, const struct value *given,
           struct value *out, struct error *err)
{
    *out = *given;
    if (given->type == VALUE_INT)
        return 0;
    if (given->type == VALUE_DOUBLE && given->real >= 9e18) {
        set_variable_text(out, "18446744073709551615"); /* SQLite read it as a
                                                         * double */
        return 0;
    }
    if (given->type == VALUE_TEXT && all_digits(given))
        return 0;
    return refuse_type(variable, err);
}

/* Does list, words separated by commas and perhaps blanks, contain word? */
static bool
has_comma_separated_word(struct span list, const char *word)
{
    while (list.size > 0) {
        const char *comma = memchr(list.data, ',', list.size);
        struct span first = {list.data,
                             comma ? (size_t)(comma - list.data) : list.size};
        size_t step = first.size + (comma ? 1 : 0);

        while (first.size > 0 && *first.data == ' ') {
            first.data++;
            first.size--;
        }
        if (span_is_nocase(first, word))
            return true;
        list.data += step;
        list.size -= step;
    }
    return false;
}

/* Would sql_mode change how later statements are read?  The parser looks for
 * ANSI_QUOTES, but not for ANSI, which contains it; and the lexer knows no
 * strings without escapes. */
static bool
changes_reading(const struct variable *variable, struct span value)
{
    return strcmp(variable->name, "sql_mode") == 0 &&
           (has_comma_separated_word(value, "ANSI") ||
            has_comma_separated_word(value, "NO_BACKSLASH_ESCAPES"));
}

/* Only engines that SHOW ENGINES lists; InnoDB and MyISAM are named by tools
 * that never create a table here. */
static int
accept_engine(struct span name, struct value *out, struct error *err)
{
    static const char *const engines[] = {"heapwire", "InnoDB", "MyISAM"};

    for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
        if (span_is_nocase(name, engines[i])) {
            set_variable_text(out, engines[i]);
            return 0;
        }
    error_set(err, ER_UNKNOWN_ENGINE,
              "Unknown storage engine '%.*s'; heapwire, InnoDB and MyISAM are "
              "known",
              span_shown(name), name.data);
    return -1;
}

static int
accept_text(const struct variable *variable, const struct value *given,
            struct value *out, struct error *err)
{
    struct span text = {given->data, given->size};

    *out = *given;
    if (given->type == VALUE_NULL)
        return variable->access == ACCESS_NULL
                   ? 0
                   : refuse_variable_value(variable, (struct span){"NULL", 4},
                                           err);
    if (given->type == VALUE_INT && given->integer == 0) {
        set_variable_text(out, ""); /* the empty set, as in SET sql_mode = 0 */
        text.size = 0;
    } else if (given->type != VALUE_TEXT) {
        return refuse_type(variable, err);
    }
    if (strcmp(variable->name, ENGINE_VARIABLE) == 0)
        return accept_engine(text, out, err);
    return changes_reading(variable, text)
               ? refuse_variable_value(variable, text, err)
               : 0;
}

int
variable_accept(const struct variable *variable, const struct value *given,
                struct value *out, struct error *err)
{
    memset(out, 0, sizeof(*out));
    if (variable->access == ACCESS_READ) {
        error_set(err, ER_VARIABLE_READ_ONLY,
                  "Variable '%s' is a read only variable", variable->name);
        return -1;
    }
    if (!given && !variable->value && variable->type == VARIABLE_INT)
        return 0; /* the default is computed; see session_value_apply */
    if (!given && !variable->value) { /* autocommit: the one computed BOOL
                                       * that SET changes */
        out->type = VALUE_INT;
        out->integer = 1;
        return 0;
    }
    if (!given) {
        if (variable->type == VARIABLE_TEXT)
            set_variable_text(out, variable->value);
        else
            set_number(out, variable->value);
        return 0;
    }
    switch (variable->type) {
    case VARIABLE_BOOL:
        return accept_bool(variable, given, out, err);
    case VARIABLE_INT:
        if (accept_int(variable, given, out, err) != 0)
            return -1;
        return variable->most ? accept_range(variable, out, err) : 0;
    case VARIABLE_TEXT:
        break;
    }
    return accept_text(variable, given, out, err);
}

const char *
variable_engine(const struct sql_session *session)
{
    struct span name = {ENGINE_VARIABLE, strlen(ENGINE_VARIABLE)};
    struct value value;

    variable_get(session, variable_find(name, NULL), SCOPE_SESSION, NULL,
                 &value);
    return value.data;
}

bool
variable_sql_mode(const struct sql_session *session, const char *word)
{
    struct span name = {"sql_mode", 8};
    const struct variable *variable = variable_find(name, NULL);
    char computed[VARIABLE_BYTES];
    struct value value;
    struct span text;

    variable_get(session, variable, SCOPE_SESSION, computed, &value);
    text = (struct span){value.data, value.size};
    return value.type == VALUE_TEXT && has_comma_separated_word(text, word);
}
