/* units.h - numbers with units, as the configuration has them. */
#ifndef HW_UNITS_H
#define HW_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* "90", "90s", "15m", "12h" or "7d" as seconds.  -1: not such a text, or not
 * from min to max; *out is then untouched. */
int units_seconds(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* "4096", "64K", "256M", "1G" or "2T" as bytes.  Likewise. */
int units_bytes(const char *text, uint64_t min, uint64_t max, uint64_t *out);

#endif
