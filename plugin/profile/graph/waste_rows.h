/*
 * waste_rows.h - a profile's waste as rows: by function and size class, and
 * what is no function's.
 */
#ifndef HW_WASTE_ROWS_H
#define HW_WASTE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct functions;
struct profile;

struct waste_row {
    const char *kind;
    /* the leaf's; NULL: no function's, or without a name */
    const char *function;
    uint64_t size_class; /* bytes; 0: none */
    bool has_live;       /* objects and live_bytes are known */
    bool has_asked;      /* asked_bytes is known */
    bool has_error;
    double objects;
    /* what the objects take, rounded up to their size class */
    double live_bytes;
    double asked_bytes; /* what the program asked for */
    double waste, error;
    double utilization; /* of the class's regions; negative: not known */
    /* which figure of heapwire.memory contains it; NULL: none */
    const char *within;
    const char *method;
};

struct waste_rows {
    struct waste_row *list; /* the largest waste first */
    uint32_t count;
};

/* functions: the profile's, which has waste; borrows both.  -1 with *err, and
 * nothing to free. */
int waste_rows_init(struct waste_rows *out, const struct profile *profile,
                    struct functions *functions, struct error *err);
void waste_rows_fini(struct waste_rows *rows); /* zeroed is fine */

#endif
