/* rewrite_words.c - see rewrite_words.h. */
#include "rewrite_words.h"

#include <stddef.h>

/* Sorted by word. */
const struct rewrite_entry rewrite_words[] = {
    {"ALL", WORD_QUANTIFIER, NULL},
    {"AND", WORD_OPERATOR, NULL},
    {"AS", WORD_AS, NULL},
    {"ASC", WORD_PLAIN, NULL},
    {"BETWEEN", WORD_OPERATOR, NULL},
    {"BINARY", WORD_OPERATOR, NULL},
    {"BY", WORD_PLAIN, NULL},
    {"CASE", WORD_CASE, NULL},
    {"COLLATE", WORD_COLLATE, NULL},
    {"CROSS", WORD_PLAIN, "INNER"},
    {"CURRENT_DATE", WORD_NILADIC, NULL},
    {"CURRENT_TIME", WORD_NILADIC, NULL},
    {"CURRENT_TIMESTAMP", WORD_NILADIC, NULL},
    {"CURRENT_USER", WORD_NILADIC, NULL},
    {"DESC", WORD_PLAIN, NULL},
    {"DISTINCT", WORD_QUANTIFIER, NULL},
    {"DISTINCTROW", WORD_QUANTIFIER, "DISTINCT"},
    {"DIV", WORD_OPERATOR, NULL},
    {"ELSE", WORD_CASE_PART, NULL},
    {"END", WORD_END, NULL},
    {"ESCAPE", WORD_OPERATOR, NULL},
    {"EXCEPT", WORD_UNION, NULL},
    {"EXISTS", WORD_EXISTS, NULL},
    {"FALSE", WORD_VALUE, NULL},
    {"FOR", WORD_LOCKING, NULL},
    {"FORCE", WORD_HINT, NULL},
    {"FROM", WORD_FROM, NULL},
    {"GROUP", WORD_GROUP, NULL},
    {"HAVING", WORD_HAVING, NULL},
    {"HIGH_PRIORITY", WORD_DROP, NULL},
    {"IGNORE", WORD_HINT, NULL},
    {"IN", WORD_OPERATOR, NULL},
    {"INNER", WORD_PLAIN, NULL},
    {"INTERSECT", WORD_UNION, NULL},
    {"INTERVAL", WORD_SIDE, NULL},
    {"INTO", WORD_INTO, NULL},
    {"IS", WORD_OPERATOR, NULL},
    {"JOIN", WORD_JOIN, NULL},
    {"LEFT", WORD_SIDE, NULL},
    {"LIKE", WORD_OPERATOR, NULL},
    {"LIMIT", WORD_LIMIT, NULL},
    {"LOCALTIME", WORD_NILADIC, NULL},
    {"LOCALTIMESTAMP", WORD_NILADIC, NULL},
    {"LOCK", WORD_LOCKING, NULL},
    {"MOD", WORD_SIDE, NULL},
    {"NATURAL", WORD_PLAIN, NULL},
    {"NOT", WORD_OPERATOR, NULL},
    {"NULL", WORD_VALUE, NULL},
    {"OFFSET", WORD_PLAIN, NULL},
    {"ON", WORD_PLAIN, NULL},
    {"OR", WORD_OPERATOR, NULL},
    {"ORDER", WORD_TAIL, NULL},
    {"OUTER", WORD_PLAIN, NULL},
    {"OVER", WORD_OVER, NULL},
    {"PARTITION", WORD_PLAIN, NULL},
    {"PROCEDURE", WORD_REFUSE, NULL},
    {"RECURSIVE", WORD_PLAIN, NULL},
    {"REGEXP", WORD_OPERATOR, NULL},
    {"RIGHT", WORD_SIDE, NULL},
    {"RLIKE", WORD_OPERATOR, NULL},
    {"SELECT", WORD_SELECT, NULL},
    {"SQL_BIG_RESULT", WORD_DROP, NULL},
    {"SQL_BUFFER_RESULT", WORD_DROP, NULL},
    {"SQL_CACHE", WORD_DROP, NULL},
    {"SQL_CALC_FOUND_ROWS", WORD_CALC, NULL},
    {"SQL_NO_CACHE", WORD_DROP, NULL},
    {"SQL_SMALL_RESULT", WORD_DROP, NULL},
    {"STRAIGHT_JOIN", WORD_JOIN, "JOIN"},
    {"TABLE", WORD_TABLE, NULL},
    {"THEN", WORD_CASE_PART, NULL},
    {"TRUE", WORD_VALUE, NULL},
    {"UNION", WORD_UNION, NULL},
    {"USE", WORD_HINT, NULL},
    {"USING", WORD_PLAIN, NULL},
    {"UTC_DATE", WORD_NILADIC, NULL},
    {"UTC_TIME", WORD_NILADIC, NULL},
    {"UTC_TIMESTAMP", WORD_NILADIC, NULL},
    {"VALUES", WORD_VALUES, NULL},
    {"WHEN", WORD_CASE_PART, NULL},
    {"WHERE", WORD_TAIL, NULL},
    {"WINDOW", WORD_WINDOW, NULL},
    {"WITH", WORD_WITH, NULL},
    {"XOR", WORD_OPERATOR, NULL},
};

const size_t rewrite_word_count =
    sizeof(rewrite_words) / sizeof(rewrite_words[0]);

enum rewrite_word
rewrite_word(struct span word, const char **out)
{
    size_t low = 0, high = rewrite_word_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct rewrite_entry *entry = &rewrite_words[middle];
        int order = span_compare_nocase(word, entry->word);

        if (order == 0) {
            *out = entry->out ? entry->out : entry->word;
            return entry->kind;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return WORD_NAME;
}

const char *
rewrite_type(struct span word)
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

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (span_is_nocase(word, types[i].word))
            return types[i].type;
    return NULL;
}
