/* checks.h - what the checks of heapwire doctor share, and their two lists. */
#ifndef HW_CHECKS_H
#define HW_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "facts.h"

struct check {
    const char *feature; /* NULL: behind the last one */
    /* False: nothing can be said. */
    bool (*run)(const struct facts *facts, struct finding *finding);
};

extern const struct check checks_of_node[], checks_of_machine[];

/* A fact is a number, or *number stays. */
bool fact_number(const struct facts *facts, enum fact fact, int64_t *number);
bool fact_is(const struct facts *facts, enum fact fact, const char *text);
bool fact_has(const struct facts *facts, enum fact fact, const char *part);

/* act NULL: there is nothing to do.  True, as checks answer what they have
 * found. */
bool judge(struct finding *f, enum verdict verdict, const char *act,
           const char *why, ...) __attribute__((format(printf, 4, 5)));

#endif
