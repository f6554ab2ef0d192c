/* units.c - see units.h. */
#include "units.h"

#include <errno.h>
#include <stdlib.h>

struct unit {
    char letter;
    uint64_t factor;
};

/* The letter may be missing. */
static int
parse(const char *text, const struct unit *units, uint64_t min, uint64_t max,
      uint64_t *out)
{
    unsigned long long n;
    uint64_t factor = 1;
    char *end;

    if (*text < '0' || *text > '9')
        return -1;
    errno = 0;
    n = strtoull(text, &end, 10);
    if (errno)
        return -1;
    if (*end) {
        while (units->letter && units->letter != *end)
            units++;
        if (!units->letter || end[1])
            return -1;
        factor = units->factor;
    }
    if (n > max / factor || n * factor < min)
        return -1;
    *out = n * factor;
    return 0;
}

int
units_seconds(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    static const struct unit units[] = {
        {'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {0, 0}};

    return parse(text, units, min, max, out);
}

int
units_bytes(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    static const struct unit units[] = {{'K', 1 << 10},
                                        {'M', 1 << 20},
                                        {'G', 1 << 30},
                                        {'T', (uint64_t)1 << 40},
                                        {0, 0}};

    return parse(text, units, min, max, out);
}
