/* checks.h - what the checks of heapwire doctor share, and their two tables. */
#ifndef HW_CHECKS_H
#define HW_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "facts.h"

struct check {
    const char *feature; /* NULL ends a table */
    /* Answers false if nothing can be said. */
    bool (*run)(const struct facts *facts, struct finding *finding);
};

extern const struct check checks_of_node[], checks_of_machine[];

/* Reads a fact as a number; if it is none, answers false and leaves *number. */
bool fact_number(const struct facts *facts, enum fact fact, int64_t *number);
bool fact_is(const struct facts *facts, enum fact fact, const char *text);
bool fact_has(const struct facts *facts, enum fact fact, const char *part);

/* Fills a finding.  act NULL means that there is nothing to do.  Answers true,
 * since that is what a check with a finding answers. */
bool judge(struct finding *f, enum verdict verdict, const char *act,
           const char *why, ...) __attribute__((format(printf, 4, 5)));

#endif
