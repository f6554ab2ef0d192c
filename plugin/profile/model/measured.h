/*
 * measured.h - what was measured, for people.
 */
#ifndef HW_MEASURED_H
#define HW_MEASURED_H

#include <stdbool.h>

#include "view_options.h"

/*
 * "12.3 MB", "4.0 KB", "17 B", "3 objects"; whole bytes when
 * options ask for them; a sign before what is of a difference.
 */
enum { MEASURED_TEXT = 48 };
void measured_text(double value, const struct view_options *options,
                   bool is_signed, char *out);

/* "in use", "allocated", "objects in use", "objects allocated". */
const char *measured_name(enum measure measure);

#endif
