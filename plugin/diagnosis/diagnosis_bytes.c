/* diagnosis_bytes.c - see diagnosis_bytes.h. */
#include "diagnosis_bytes.h"

#include <stdio.h>

struct bytes_text
bytes_text(double bytes)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB", "PB"};
    struct bytes_text out;
    unsigned unit = 0;

    while ((bytes >= 1000 || bytes <= -1000) &&
           unit + 1 < sizeof(units) / sizeof(units[0])) {
        bytes /= 1024;
        unit++;
    }
    snprintf(out.text, sizeof(out.text), "%.*f %s", unit > 0, bytes,
             units[unit]);
    return out;
}
