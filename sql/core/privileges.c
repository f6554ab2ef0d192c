/*
 * privileges.c - names and checks privileges: see sql.h.
 */
#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "sql.h"

static const struct {
    const char *word;  /* in the configuration file */
    const char *shown; /* in errors, as MySQL writes privileges */
    uint32_t bit;
} names[] = {
    {"status", "STATUS", PRIVILEGE_STATUS},
    {"profile", "PROFILE", PRIVILEGE_PROFILE},
    {"control", "CONTROL", PRIVILEGE_CONTROL},
    {"cluster", "CLUSTER", PRIVILEGE_CLUSTER},
    {"admin", "ADMIN", PRIVILEGE_ADMIN},
    {"tune", "TUNE", PRIVILEGE_TUNE},
    {"all", "ALL", PRIVILEGE_ALL},
};

enum { NAME_COUNT = sizeof(names) / sizeof(names[0]) };

int
privileges_parse(const char *text, uint32_t *out, struct error *err)
{
    static const char blanks[] = ", \t";
    uint32_t bits = 0;

    for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
        struct span word = {text, strcspn(text, blanks)};
        size_t i = 0;

        while (i < NAME_COUNT && !span_is_nocase(word, names[i].word))
            i++;
        if (i == NAME_COUNT) {
            error_set(
                err, ER_WRONG_VALUE,
                "unknown privilege '%.*s'; they are status, profile, "
                "control, cluster, admin, tune and all",
                (int)(word.size < SQL_NAME_MAX ? word.size : SQL_NAME_MAX),
                word.data);
            return -1;
        }
        bits |= names[i].bit;
        text += word.size;
    }
    *out = bits;
    return 0;
}

void
privileges_list(uint32_t has, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < NAME_COUNT && used < size; i++)
        if (names[i].bit != PRIVILEGE_ALL && (has & names[i].bit))
            used += (size_t)snprintf(out + used, size - used, "%s%s",
                                     used ? "," : "", names[i].shown);
}

int
privilege_check(uint32_t has, uint32_t needed, struct error *err)
{
    uint32_t missing = needed & ~has;

    for (size_t i = 0; i < NAME_COUNT; i++)
        /* Names the first missing privilege alone, in MySQL's wording. */
        if (missing & names[i].bit) {
            error_set(err, ER_PRIVILEGE,
                      "Access denied; you need (at least one of) the %s "
                      "privilege(s) for this operation",
                      names[i].shown);
            return -1;
        }
    return 0;
}
