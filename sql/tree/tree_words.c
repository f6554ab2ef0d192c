/* tree_words.c - see tree_words.h. */
#include "tree_words.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* clang-format off */
const char *const tree_reserved[] = {
    "ALL", "AND", "AS", "ASC", "BETWEEN", "BINARY", "BY", "CASE", "COLLATE",
    "CROSS", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP",
    "CURRENT_USER", "DESC", "DISTINCT", "DISTINCTROW", "DIV", "ELSE",
    "EXCEPT", "EXISTS", "FALSE", "FOR", "FORCE", "FROM", "GROUP",
    "HAVING", "HIGH_PRIORITY", "IGNORE", "IN", "INNER", "INTERSECT",
    "INTERVAL", "INTO", "IS", "JOIN", "LEFT", "LIKE", "LIMIT", "LOCALTIME",
    "LOCALTIMESTAMP", "LOCK", "MOD", "NATURAL", "NOT", "NULL", "ON",
    "OR", "ORDER", "OUTER", "OVER", "PARTITION", "PROCEDURE", "RECURSIVE",
    "REGEXP", "RIGHT", "RLIKE", "SELECT", "SQL_BIG_RESULT",
    "SQL_CALC_FOUND_ROWS", "SQL_SMALL_RESULT", "STRAIGHT_JOIN", "TABLE", "THEN", "TRUE", "UNION",
    "USE", "USING", "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP", "VALUES", "WHEN",
    "WHERE", "WINDOW", "WITH", "XOR"
};
/* clang-format on */
const size_t tree_reserved_count = COUNT(tree_reserved);

bool
tree_word_reserved(struct span word)
{
    size_t low = 0, high = COUNT(tree_reserved);

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = span_compare_nocase(word, tree_reserved[middle]);

        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

bool
tree_is_name(const struct token *token)
{
    return token->kind == TOKEN_QUOTED ||
           (token->kind == TOKEN_WORD && !tree_word_reserved(token->text));
}

bool
tree_may_name(const struct token *token)
{
    return token->kind == TOKEN_QUOTED || token->kind == TOKEN_WORD;
}

bool
tree_word_unit(const struct token *token)
{
    return token_is_any(
        token, "MICROSECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR "
               "SECOND_MICROSECOND MINUTE_MICROSECOND MINUTE_SECOND "
               "HOUR_MICROSECOND HOUR_SECOND HOUR_MINUTE DAY_MICROSECOND "
               "DAY_SECOND DAY_MINUTE DAY_HOUR YEAR_MONTH SQL_TSI_SECOND "
               "SQL_TSI_MINUTE SQL_TSI_HOUR SQL_TSI_DAY SQL_TSI_WEEK "
               "SQL_TSI_MONTH SQL_TSI_QUARTER SQL_TSI_YEAR");
}

const char *
tree_word_type(struct span word)
{
    static const struct {
        const char *word, *type;
    } types[] = {
        {"BINARY", "BINARY"},      {"CHAR", "CHAR"},
        {"DATE", "DATE"},          {"DATETIME", "DATETIME"},
        {"DEC", "DECIMAL"},        {"DECIMAL", "DECIMAL"},
        {"DOUBLE", "DOUBLE"},      {"FLOAT", "DOUBLE"},
        {"INT", "SIGNED"},         {"INTEGER", "SIGNED"},
        {"JSON", "JSON"},          {"NCHAR", "CHAR"},
        {"NUMERIC", "DECIMAL"},    {"REAL", "DOUBLE"},
        {"SIGNED", "SIGNED"},      {"TIME", "TIME"},
        {"TIMESTAMP", "DATETIME"}, {"UNSIGNED", "UNSIGNED"},
        {"VARCHAR", "CHAR"},       {"YEAR", "YEAR"},
    };

    for (size_t i = 0; i < COUNT(types); i++)
        if (span_is_nocase(word, types[i].word))
            return types[i].type;
    return NULL;
}

bool
tree_at_query(const struct token *token)
{
    return token_is_any(token, "SELECT WITH VALUES TABLE");
}

bool
tree_at_set(const struct token *token)
{
    return token_is_any(token, "UNION EXCEPT INTERSECT");
}
