/*
 * finding.c - adds findings to a diagnosis, and decides what is too small for
 * one.
 */
#include "finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct finding *
finding_add(struct diagnosis *diagnosis, enum finding_kind kind,
            enum finding_certainty certainty, const char *subject, double bytes)
{
    /* find_growth.c asserts that no diagnosis can have more than
     * FINDINGS_MAX. */
    struct finding *finding = &diagnosis->findings[diagnosis->count++];

    finding->kind = kind;
    finding->certainty = certainty;
    finding->bytes = bytes > 0 ? (uint64_t)bytes : 0;
    /* A cut name ends in "...", so that nobody looks for it as it stands. */
    if (subject && snprintf(finding->subject, sizeof(finding->subject), "%s",
                            subject) >= (int)sizeof(finding->subject))
        memcpy(finding->subject + sizeof(finding->subject) - 4, "...", 4);
    return finding;
}

void
finding_explain(struct finding *finding, const char *format, ...)
{
    size_t used = strlen(finding->why);
    va_list args;

    va_start(args, format);
    vsnprintf(finding->why + used, sizeof(finding->why) - used, format, args);
    va_end(args);
}

void
finding_step(struct finding *finding, const char *format, ...)
{
    va_list args;

    if (finding->step_count == FINDING_STEPS_MAX)
        return;
    va_start(args, format);
    vsnprintf(finding->steps[finding->step_count++], FINDING_TEXT_MAX, format,
              args);
    va_end(args);
}

bool
finding_is_there(const struct diagnosis *diagnosis, enum finding_kind kind)
{
    for (size_t i = 0; i < diagnosis->count; i++)
        if (diagnosis->findings[i].kind == kind)
            return true;
    return false;
}

bool
finding_is_worth(const struct diagnosis_facts *facts, struct fact bytes,
                 struct fact least)
{
    uint64_t both = bytes.value < least.value ? bytes.value : least.value;

    return bytes.known && least.known && facts->rss.known &&
           both >= FINDING_WORTH_BYTES &&
           (double)both * 100 >=
               (double)facts->rss.value * FINDING_WORTH_PERCENT;
}

bool
finding_is_outside_worth(const struct diagnosis_facts *facts)
{
    return finding_is_worth(facts, facts->outside, facts->least_outside) &&
           facts->least_outside.value >= FINDING_OUTSIDE_BYTES;
}
