/* bytes_text.c - see bytes_text.h. */
#include "bytes_text.h"

#include <stdio.h>

struct bytes_text
bytes_text(double bytes)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB", "PB"};
    struct bytes_text out;
    unsigned unit = 0;

    /* From 1000 on, not 1024, so that no text has four digits before the
     * point. */
    while ((bytes >= 1000 || bytes <= -1000) &&
           unit + 1 < sizeof(units) / sizeof(units[0])) {
        bytes /= 1024;
        unit++;
    }
    snprintf(out.text, sizeof(out.text), "%.*f %s", unit > 0, bytes,
             units[unit]);
    return out;
}

struct bytes_text
span_text(double seconds)
{
    struct bytes_text out;

    if (seconds >= 2.0 * 86400)
        snprintf(out.text, sizeof(out.text), "%.1f days", seconds / 86400);
    else if (seconds >= 2.0 * 3600)
        snprintf(out.text, sizeof(out.text), "%.1f hours", seconds / 3600);
    else if (seconds >= 2.0 * 60)
        snprintf(out.text, sizeof(out.text), "%.0f minutes", seconds / 60);
    else
        snprintf(out.text, sizeof(out.text), "%.0f seconds", seconds);
    return out;
}
