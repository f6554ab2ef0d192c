/*
 * errors.h - the one error value: a MySQL code, its SQLSTATE, and a text.
 *
 * Owned by the caller; becomes an ERR packet, a log line or an assertion.  The
 * place that knows the facts fills it: what failed, on what, why, what to do.
 * Codes are MySQL's (errmsg of the reference manual); never 2000-2999 or
 * 5000-5999, which clients take for their own.
 */
#ifndef HW_ERRORS_H
#define HW_ERRORS_H

#include <stdint.h>

enum error_code {
    ER_DISK_FULL = 1021,
    ER_OUT_OF_MEMORY = 1037,
    ER_OUT_OF_SORT_MEMORY = 1038,
    ER_TOO_MANY_CONNECTIONS = 1040,
    ER_OUT_OF_RESOURCES = 1041,
    ER_KEY_NOT_FOUND = 1032,
    ER_HANDSHAKE = 1043,
    ER_ACCESS_DENIED = 1045,
    ER_NO_DB = 1046,
    ER_UNKNOWN_COMMAND = 1047,
    ER_BAD_DB = 1049,
    ER_AMBIGUOUS_FIELD = 1052,
    ER_SHUTDOWN = 1053,
    ER_GROUP_FUNCTION = 1111,
    ER_REGEX = 1139,
    ER_NONEXISTING_GRANT = 1141,
    ER_TOO_MANY_ROWS = 1172,
    ER_COLUMN_COUNT = 1222,
    ER_OPERAND_COLUMNS = 1241,
    ER_SUBQUERY_ROWS = 1242,
    ER_DERIVED_ALIAS = 1248,
    ER_BAD_FIELD = 1054,
    ER_DUP_ENTRY = 1062,
    ER_PARSE = 1064,
    ER_EMPTY_QUERY = 1065,
    ER_NONUNIQ_TABLE = 1066,
    ER_NO_SUCH_THREAD = 1094,
    ER_KILL_DENIED = 1095,
    ER_NO_TABLES_USED = 1096,
    ER_UNKNOWN = 1105, /* a run-time failure of a statement */
    ER_UNKNOWN_CHARACTER_SET = 1115,
    ER_TOO_MANY_TABLES = 1116,
    ER_TOO_MANY_FIELDS = 1117,
    ER_HOST_IS_BLOCKED = 1129,
    ER_CANT_CREATE_THREAD = 1135,
    ER_NO_SUCH_TABLE = 1146,
    ER_PACKET_TOO_LARGE = 1153,
    ER_PACKETS_OUT_OF_ORDER = 1156,
    ER_UNCOMPRESS = 1157,
    ER_MALFORMED_PACKET = 1835,
    ER_UNKNOWN_VARIABLE = 1193,
    ER_USER_LIMIT_REACHED = 1226,
    ER_WRONG_ARGUMENTS = 1210,
    ER_PRIVILEGE = 1227,
    ER_WRONG_VALUE = 1231,
    ER_OUT_OF_RANGE = 1264,
    ER_TRUNCATED_VALUE = 1292,
    ER_INVALID_CHARACTERS = 1300,
    ER_PACKET_OVERFLOWED = 1301,
    ER_WRONG_TYPE_FOR_VARIABLE = 1232,
    ER_NOT_SUPPORTED = 1235,
    ER_VARIABLE_READ_ONLY = 1238,
    ER_UNSUPPORTED_PS = 1295,
    ER_UNKNOWN_ENGINE = 1286,
    ER_UNKNOWN_STATEMENT = 1243,
    ER_WRONG_VALUE_FOR_TYPE = 1411,
    ER_NO_OPEN_CURSOR = 1421,
    ER_TOO_BIG_SCALE = 1425,
    ER_TOO_BIG_PRECISION = 1426,
    ER_SCALE_PAST_PRECISION = 1427,
    ER_STACK_OVERRUN = 1436,
    ER_TOO_MANY_PREPARED = 1461,
    ER_FEATURE_DISABLED = 1289,
    ER_READ_ONLY = 1290,
    ER_QUERY_INTERRUPTED = 1317,
    ER_ILLEGAL_NUMBER = 1367,
    ER_PS_MANY_PARAM = 1390,
    ER_WRONG_TEMPORAL = 1525,
    ER_UNKNOWN_LOCALE = 1649,
    ER_DATA_OUT_OF_RANGE = 1690,
    ER_UNKNOWN_EXPLAIN_FORMAT = 1791,
    ER_FUNCTION_UNKNOWN = 1305,
    ER_PARAMETER_COUNT = 1582,
    ER_WRONG_OBJECT = 1347,
    ER_WRONG_NAME_LIST = 1353,
    ER_QUERY_TIMEOUT = 3024,
    ER_USER_LOCK_WRONG_NAME = 3057,
    ER_WRONG_ARGUMENT_TYPE = 3064,
    ER_JSON_TEXT = 3141,
    ER_JSON_PATH = 3143,
    ER_JSON_TYPE = 3146,
    ER_JSON_WILDCARD = 3149,
    ER_JSON_ONE_OR_ALL = 3154,
    ER_JSON_DEPTH = 3157,
    ER_JSON_NULL_KEY = 3158,
    ER_SECURE_TRANSPORT_REQUIRED = 3159,
    ER_CTE_MAX_RECURSION_DEPTH = 3636,
    ER_CLIENT_TIMEOUT = 4031
};

enum { ERROR_TEXT_MAX = 512 };

struct error {
    uint16_t code;
    char sqlstate[6];
    char text[ERROR_TEXT_MAX];
};

/* Fills err (NULL is fine).  Control bytes in the text become '?'. */
void error_set(struct error *err, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As error_set, with ": <strerror(errno)>" after the text. */
void error_sys(struct error *err, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Out of memory: what could not be held. */
void error_memory(struct error *err, const char *what);

/* The SQLSTATE of a code: five characters. */
const char *error_sqlstate(enum error_code code);

#endif
