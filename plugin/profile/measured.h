/*
 * measured.h - what a stack weighs in the measure that was asked for.
 */
#ifndef HW_MEASURED_H
#define HW_MEASURED_H

#include "view_options.h"

struct buffer;
struct error;
struct profile;
struct profile_stack;

double measured_stack(const struct profile_stack *stack, enum measure measure);
double measured_total(const struct profile *profile, enum measure measure);

/* -1 with *err when the profile did not count it. */
int measured_check(const struct profile *profile, enum measure measure,
                   struct error *err);

/* -1 with *err once somebody asked to stop. */
int measured_go_on(const struct view_options *options, struct error *err);

/*
 * For people: "12.3 MB", "4.0 KB", "17 B", "3 objects"; whole bytes when
 * options ask for them; a sign before what is of a difference.
 */
enum { MEASURED_TEXT = 48 };
void measured_text(double value, const struct view_options *options,
                   bool is_signed, char *out);

/* "in use", "allocated", "objects in use", "objects allocated". */
const char *measured_name(enum measure measure);

#endif
