/*
 * finding.h - how the parts of a diagnosis write what they find.
 *
 * Pure.  One function for each kind of finding looks at the facts and adds what
 * it finds, or nothing.
 */
#ifndef HW_FINDING_H
#define HW_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "bytes_text.h"
#include "diagnosis.h"
#include "diagnosis_facts.h"

#define MB(value)     (bytes_text((double)(value)).text)
#define SPAN(seconds) (span_text((double)(seconds)).text)

/* subject NULL: the whole database; a long one is cut with "...".  The array
 * has room for SAME_KIND of each kind that repeats (find_growth.c). */
struct finding *finding_add(struct diagnosis *diagnosis, enum finding_kind kind,
                            enum finding_certainty certainty,
                            const char *subject, double bytes);
/* Appends to the finding's sentence. */
void __attribute__((format(printf, 2, 3)))
finding_explain(struct finding *finding, const char *format, ...);
void __attribute__((format(printf, 2, 3)))
finding_step(struct finding *finding, const char *format, ...);
bool finding_is_there(const struct diagnosis *diagnosis,
                      enum finding_kind kind);

/* The limit in words: the cgroup's, or the machine's. */
const char *finding_limit_name(const struct diagnosis_facts *facts);

/* Whether that much, compared with RSS, is worth a finding: both now and at its
 * least of the last half minute. */
bool finding_is_worth(const struct diagnosis_facts *facts, struct fact bytes,
                      struct fact least);

/* The same for memory outside of jemalloc, of which a program's own code is
 * always some. */
bool finding_is_outside_worth(const struct diagnosis_facts *facts);

/* ---- what grows: find_growth.c ---- */

/* Growth that was seen for less is that of a start, or of a load that
 * begins. */
bool is_growth_seen_for_long(const struct diagnosis_facts *facts);

void find_full_soon(const struct diagnosis_facts *facts, struct diagnosis *out);
void find_leak(const struct diagnosis_facts *facts, struct diagnosis *out);
void find_growth(const struct diagnosis_facts *facts, struct diagnosis *out);
void find_cache(const struct diagnosis_facts *facts, struct diagnosis *out);

/* ---- what is held, and not used: find_unused.c ---- */

void find_fragmentation(const struct diagnosis_facts *facts,
                        struct diagnosis *out);
void find_free_pages(const struct diagnosis_facts *facts,
                     struct diagnosis *out);
void find_outside(const struct diagnosis_facts *facts, struct diagnosis *out);
void find_low_limit(const struct diagnosis_facts *facts, struct diagnosis *out);

#endif
