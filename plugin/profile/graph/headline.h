/* headline.h - what views say about a profile as a whole. */
#ifndef HW_HEADLINE_H
#define HW_HEADLINE_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct profile;
struct view_options;

/* up to so many samples, it says how few they are */
enum { HEADLINE_FEW = 10 };

/* Appends "mariadbd, 2026-11-21 15:30:07 UTC: 123.4 MB in use", or "...:
 * 12.3 s on the processor in 10.0 s: 1.23 processors", clean (shown_name()).
 * The program's name takes at most max bytes.  options are those of
 * profile_view(). */
void headline_add(struct buffer *out, const struct profile *profile,
                  const struct view_options *options, size_t max);

/* An empty report is explained; jeprof prints nothing. */
enum { EMPTINESS_TEXT = 128 };

/* Why a view of profile is empty, in a few words: nothing was sampled, or, if
 * shown is false (no function was left), nothing matches.  "": it is not.
 * Returns out. */
const char *emptiness_text(const struct profile *profile,
                           const struct view_options *options, bool shown,
                           char out[EMPTINESS_TEXT]);

/*
 * Unshown: what the allocator has in use and the profile does not show.
 *
 * Pictures show it as a grey block beside the profile, texts as a line.  It is
 * never a frame of the profile, nor part of its percentages.
 */
#define UNSHOWN_NAME  "[not in the profile]"
#define UNSHOWN_COLOR "#d9d9d9"

/* The unshown bytes; 0: none, not known, or the options choose what they cannot
 * be shown beside: objects, all that was ever allocated, or a part of the
 * profile. */
double unshown_bytes(const struct profile *profile,
                     const struct view_options *options);

/* Appends "[not in the profile]: 12.0 MB, 20.0% of the 60.0 MB that are in
 * use: why" and end, or nothing. */
void unshown_add(struct buffer *out, const struct profile *profile,
                 const struct view_options *options, const char *end);

/*
 * Separates significant changes from chance.
 *
 * Among a hundred functions, five are two standard errors off by chance.  So
 * the more functions there are, the more errors are required: of a hundred
 * differences of a program that does not grow, one shows a change.
 */

struct significance_change {
    double value, variance;
};

/* How many standard errors make a change of the list significant.  Equal
 * changes (a function with one caller) count once, unchanged ones not at all.
 * Sorts the list. */
double significance_errors(struct significance_change *list, size_t count);

/* Whether a change of value is significant.  One that is shown as 0 is not. */
bool significance_is(double value, double variance, double errors);

#endif
