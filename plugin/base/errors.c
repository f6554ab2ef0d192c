/*
 * errors.c - fills struct error.  The table has the SQLSTATEs of MySQL's manual
 * that are not HY000; drivers map these to exception classes.
 */
#include "errors.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
    enum error_code code;
    const char *sqlstate;
} sqlstates[] = {
    {ER_OUT_OF_MEMORY, "HY001"},
    {ER_USER_LOCK_WRONG_NAME, "42000"},
    {ER_OUT_OF_SORT_MEMORY, "HY001"},
    {ER_TOO_MANY_CONNECTIONS, "08004"},
    {ER_HANDSHAKE, "08S01"},
    {ER_ACCESS_DENIED, "28000"},
    {ER_NO_DB, "3D000"},
    {ER_UNKNOWN_COMMAND, "08S01"},
    {ER_BAD_DB, "42000"},
    {ER_SHUTDOWN, "08S01"},
    {ER_REGEX, "42000"},
    {ER_TOO_MANY_ROWS, "42000"},
    {ER_COLUMN_COUNT, "21000"},
    {ER_NONEXISTING_GRANT, "42000"},
    {ER_OPERAND_COLUMNS, "21000"},
    {ER_SUBQUERY_ROWS, "21000"},
    {ER_DERIVED_ALIAS, "42000"},
    {ER_AMBIGUOUS_FIELD, "23000"},
    {ER_BAD_FIELD, "42S22"},
    {ER_DUP_ENTRY, "23000"},
    {ER_PARSE, "42000"},
    {ER_EMPTY_QUERY, "42000"},
    {ER_NONUNIQ_TABLE, "42000"},
    {ER_UNKNOWN_CHARACTER_SET, "42000"},
    {ER_NO_SUCH_TABLE, "42S02"},
    {ER_PACKET_TOO_LARGE, "08S01"},
    {ER_PACKETS_OUT_OF_ORDER, "08S01"},
    {ER_UNCOMPRESS, "08S01"},
    {ER_USER_LIMIT_REACHED, "42000"},
    {ER_PRIVILEGE, "42000"},
    {ER_WRONG_VALUE, "42000"},
    {ER_WRONG_TYPE_FOR_VARIABLE, "42000"},
    {ER_NOT_SUPPORTED, "42000"},
    {ER_QUERY_INTERRUPTED, "70100"},
    {ER_DATA_OUT_OF_RANGE, "22003"},
    {ER_ILLEGAL_NUMBER, "22007"},
    {ER_FUNCTION_UNKNOWN, "42000"},
    {ER_UNKNOWN_ENGINE, "42000"},
    {ER_PARAMETER_COUNT, "42000"},
    {ER_TOO_MANY_PREPARED, "42000"},
    {ER_TOO_BIG_SCALE, "42000"},
    {ER_TOO_BIG_PRECISION, "42000"},
    {ER_SCALE_PAST_PRECISION, "42000"},
    {ER_JSON_TEXT, "22032"},
    {ER_JSON_PATH, "42000"},
    {ER_JSON_TYPE, "22032"},
    {ER_JSON_WILDCARD, "42000"},
    {ER_JSON_ONE_OR_ALL, "42000"},
    {ER_JSON_DEPTH, "22032"},
    {ER_JSON_NULL_KEY, "22032"},
};

const char *
error_sqlstate(enum error_code code)
{
    for (size_t i = 0; i < sizeof(sqlstates) / sizeof(sqlstates[0]); i++)
        if (sqlstates[i].code == code)
            return sqlstates[i].sqlstate;
    return "HY000";
}

/* Error texts quote names and statements of others: a control byte in one would
 * act on the terminal that shows it.  A line feed is kept, which some texts of
 * ours contain. */
static void
finish_error_text(struct error *err, enum error_code code)
{
    err->code = (uint16_t)code;
    memcpy(err->sqlstate, error_sqlstate(code), sizeof(err->sqlstate));
    for (char *p = err->text; *p; p++)
        if (((unsigned char)*p < 0x20 && *p != '\n') || *p == 0x7f)
            *p = '?';
}

void
error_set(struct error *err, enum error_code code, const char *format, ...)
{
    va_list args;

    if (!err)
        return;
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    finish_error_text(err, code);
}

void
error_sys(struct error *err, enum error_code code, const char *format, ...)
{
    /* Read first: vsnprintf may change errno. */
    int cause = errno;
    char reason[128];
    size_t used;
    va_list args;

    if (!err)
        return;
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    used = strlen(err->text);
    snprintf(err->text + used, sizeof(err->text) - used, ": %s",
             strerror_r(cause, reason, sizeof(reason)));
    finish_error_text(err, code);
}

void
error_memory(struct error *err, const char *what)
{
    error_set(err, ER_OUT_OF_MEMORY, "out of memory for %s", what);
}
