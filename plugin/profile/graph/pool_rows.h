/*
 * pool_rows.h - which pools of threads grew: a difference of profiles that are
 * rooted at their pools (profile_root.h), as rows.
 */
#ifndef HW_POOL_ROWS_H
#define HW_POOL_ROWS_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct functions;
struct profile;

struct pool_row {
    const char *pool;      /* "worker-*"; "": of threads without a name */
    double bytes, objects; /* signed */
    double variance;       /* of bytes */
    bool significant;      /* more than sampling noise: headline.h */
    const char *top; /* the function that itself grew most in it; "": none */
    double top_bytes;
};

/* Borrows profile and functions. */
struct pool_rows {
    struct pool_row *list; /* the most grown first */
    uint32_t count;
};

/* functions: the profile's.  -1 with *err, and nothing to free. */
int pool_rows_init(struct pool_rows *out, const struct profile *profile,
                   struct functions *functions, struct error *err);
void pool_rows_fini(struct pool_rows *rows); /* zeroed is fine */

#endif
