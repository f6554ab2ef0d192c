/*
 * diff.h - what grew and what shrank from one profile to another: a profile.
 *
 * Stacks are the same when their frames are, and frames are the same
 *
 * - at the same place of a module, if its build-id says that it is the same
 *   build, or is not known;
 * - else where the functions, and the files that they come from, have the same
 *   names.  Lines do not count: they move from build to build.
 *
 * So addresses do not matter, which differ from process to process.  Whether
 * the two may be compared is snapshot_comparable's to say.
 */
#ifndef HW_DIFF_H
#define HW_DIFF_H

#include <stdatomic.h>

struct error;
struct profile;

/*
 * Now less base: estimates are signed, variances are of what came and went in
 * between, as far as the dumps tell that, counts of samples 0.  Everything else
 * is as in now.  Needs neither of them any more.  NULL with *err without
 * memory.
 */
struct profile *diff_make(const struct profile *now, const struct profile *base,
                          struct error *err);
/* The same, until *cancelled (or NULL) is set: NULL with ER_QUERY_INTERRUPTED
 * then. */
struct profile *diff_make_until(const struct profile *now,
                                const struct profile *base,
                                const atomic_bool *cancelled,
                                struct error *err);

#endif
