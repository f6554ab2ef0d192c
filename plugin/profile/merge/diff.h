/*
 * diff.h - the growth from one profile to another, as a profile.
 *
 * Stacks are equal if their frames are.  Frames are equal
 *
 * - at the same address of a module, if the build-ids are equal or not known;
 * - else if functions and source files have the same names.  Lines do not
 *   count: they move from build to build.
 *
 * So addresses, which differ from process to process, do not matter.
 * snapshot_comparable says whether two profiles may be compared at all.
 */
#ifndef HW_DIFF_H
#define HW_DIFF_H

#include <stdatomic.h>

struct error;
struct profile;

/* now less base.  Estimates are signed; variances are of the objects that came
 * and went between the two, as far as the dumps tell; the stacks' counts of
 * samples are 0; everything else is now's.  Both may be freed afterwards.  NULL
 * with *err: they are of two kinds, or no memory. */
struct profile *diff_make(const struct profile *now, const struct profile *base,
                          struct error *err);
/* The same, until *cancelled (or NULL) is set: then NULL with
 * ER_QUERY_INTERRUPTED. */
struct profile *diff_make_until(const struct profile *now,
                                const struct profile *base,
                                const atomic_bool *cancelled,
                                struct error *err);

#endif
