/* facts.c - see facts.h and checks.h. */
#include "facts.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

void
facts_set(struct facts *facts, enum fact fact, const char *text)
{
    facts->known[fact] = text != NULL;
    snprintf(facts->text[fact], FACT_MAX, "%s", text ? text : "");
}

const char *
facts_get(const struct facts *facts, enum fact fact)
{
    return facts->known[fact] ? facts->text[fact] : NULL;
}

bool
fact_number(const struct facts *facts, enum fact fact, int64_t *number)
{
    const char *text = facts_get(facts, fact);
    char *end;
    int64_t value;

    if (!text || !*text)
        return false;
    value = strtoll(text, &end, 10);
    if (end == text)
        return false;
    *number = value;
    return true;
}

bool
fact_is(const struct facts *facts, enum fact fact, const char *text)
{
    const char *known = facts_get(facts, fact);

    return known && strcmp(known, text) == 0;
}

bool
fact_has(const struct facts *facts, enum fact fact, const char *part)
{
    const char *known = facts_get(facts, fact);

    return known && strstr(known, part);
}

bool
judge(struct finding *f, enum verdict verdict, const char *act, const char *why,
      ...)
{
    va_list args;

    f->verdict = verdict;
    snprintf(f->act, sizeof(f->act), "%s", act ? act : "");
    va_start(args, why);
    vsnprintf(f->why, sizeof(f->why), why, args);
    va_end(args);
    return true;
}
