/* setting_snapshots.c - settings of kept and automatic snapshots. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "setting_value.h"
#include "store.h"
#include "units.h"

int
setting_set_keep(struct config *c, const char *value, struct error *err)
{
    if (setting_number(value, 1, STORE_COUNT_MAX, &c->keep) != 0)
        return setting_wrong(err, "must be a number of snapshots from 1 to %d",
                             STORE_COUNT_MAX);
    return 0;
}

/* "1073741824", "1048576K", "1024M" or "1G" */
int
setting_set_keep_bytes(struct config *c, const char *value, struct error *err)
{
    if (units_bytes(value, 1, INT64_MAX, &c->keep_bytes) != 0)
        return setting_wrong(
            err, "must be a number of bytes such as 1073741824 or 1G");
    return 0;
}

int
setting_set_keep_age(struct config *c, const char *value, struct error *err)
{
    uint64_t seconds;

    if (units_seconds(value, 0, CONFIG_AGE_MAX_S, &seconds) != 0)
        return setting_wrong(
            err,
            "must be a time such as 86400 or 7d, at most %d seconds; "
            "0: whatever their age",
            CONFIG_AGE_MAX_S);
    c->keep_age_s = (uint32_t)seconds;
    return 0;
}

/* "80, 90, 95", ascending, or "none". */
int
setting_set_at_percent(struct config *c, const char *value, struct error *err)
{
    struct marks_rules rules = c->marks;
    const char *at = value;
    char *end;

    rules.percents = 0;
    while (strcmp(value, "none") != 0) {
        unsigned long percent = strtoul(at, &end, 10);

        if (*at < '0' || *at > '9' || percent < 1 || percent >= MARKS_CEILING ||
            rules.percents == MARKS_MAX ||
            (rules.percents > 0 &&
             percent <= rules.at_percent[rules.percents - 1]))
            goto wrong;
        rules.at_percent[rules.percents++] = (uint8_t)percent;
        end += strspn(end, " \t");
        if (*end == '\0')
            break;
        if (*end != ',')
            goto wrong;
        at = end + 1 + strspn(end + 1, " \t");
    }
    c->marks = rules;
    return 0;
wrong:
    return setting_wrong(
        err,
        "must be at most %d percentages from 1 to %d, ascending, such "
        "as 80, 90, 95; or none",
        MARKS_MAX, MARKS_CEILING - 1);
}

int
setting_set_growth(struct config *c, const char *value, struct error *err)
{
    if (units_bytes(value, 0, INT64_MAX, &c->marks.growth) == 0)
        return 0;
    return setting_wrong(
        err, "must be a number of bytes such as 256M or 1G; 0: off");
}

int
setting_set_every(struct config *c, const char *value, struct error *err)
{
    uint64_t seconds;

    if (units_seconds(value, 0, CONFIG_EVERY_MAX_S, &seconds) != 0 ||
        (seconds > 0 && seconds < CONFIG_EVERY_MIN_S))
        return setting_wrong(err,
                             "must be a time such as 3600 or 1h, from %d to %d "
                             "seconds; 0: off",
                             CONFIG_EVERY_MIN_S, CONFIG_EVERY_MAX_S);
    c->marks.every_ms = seconds * 1000;
    return 0;
}

int
setting_set_min_interval(struct config *c, const char *value, struct error *err)
{
    uint64_t seconds;

    if (units_seconds(value, 1, CONFIG_EVERY_MAX_S, &seconds) != 0)
        return setting_wrong(
            err, "must be a time such as 60 or 1m, from 1 to %d seconds",
            CONFIG_EVERY_MAX_S);
    c->marks.min_interval_ms = seconds * 1000;
    return 0;
}

static void
print_marks(const struct marks_rules *marks, FILE *out)
{
    fputs("snapshots.at_percent=", out);
    for (size_t i = 0; i < marks->percents; i++)
        fprintf(out, "%s%u", i ? ", " : "", marks->at_percent[i]);
    fprintf(out,
            "%s\nsnapshots.growth=%llu\nsnapshots.every=%llu\n"
            "snapshots.min_interval=%llu\n",
            marks->percents ? "" : "none", (unsigned long long)marks->growth,
            (unsigned long long)marks->every_ms / 1000,
            (unsigned long long)marks->min_interval_ms / 1000);
}

void
setting_print_snapshots(const struct config *c, FILE *out)
{
    fprintf(out,
            "snapshots.keep=%u\nsnapshots.keep_bytes=%" PRIu64
            "\nsnapshots.keep_age=%u\n",
            c->keep, c->keep_bytes, c->keep_age_s);
    print_marks(&c->marks, out);
}
