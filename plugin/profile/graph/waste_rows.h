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
    const char *function; /* the leaf's; NULL: no one's, or no name */
    uint64_t size_class;  /* bytes; 0: none */
    bool has_live;        /* objects and live_bytes */
    bool has_asked;       /* asked_bytes */
    bool has_error;
    double objects;
    double live_bytes;  /* that these take, by size class */
    double asked_bytes; /* of them, what the program asked for */
    double waste, error;
    double utilization; /* of the class's regions; negative: not known */
    const char *within; /* which figure of heapwire.memory has it; NULL: none */
    const char *method;
};

struct waste_rows {
    struct waste_row *list; /* the largest waste first */
    uint32_t count;
};

/* functions: the profile's, which has waste; borrows both.  -1 with *err, and
 * nothing to free. */
int waste_rows_make(struct waste_rows *out, const struct profile *profile,
                    struct functions *functions, struct error *err);
void waste_rows_fini(struct waste_rows *rows); /* zeroed is fine */

#endif
