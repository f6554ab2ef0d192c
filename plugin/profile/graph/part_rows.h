/*
 * part_rows.h - a profile's live parts as rows: what each thread has in use,
 * and each stack by age.
 */
#ifndef HW_PART_ROWS_H
#define HW_PART_ROWS_H

#include <stdint.h>

struct error;
struct functions;
struct heap_thread;
struct profile;

struct thread_row {
    const struct heap_thread *thread;
    uint64_t samples;
    double objects, bytes;
    const char *top; /* the function that allocated most of it; "": none */
    double top_bytes;
};

struct age_row {
    uint32_t stack, age;
    double objects, bytes;
};

/* Borrows the profile. */
struct part_rows {
    struct thread_row *threads; /* the largest first */
    struct age_row *ages;       /* by stack and age */
    uint32_t thread_count, age_count;
};

/* functions: the profile's, which has parts.  -1 with *err, and nothing to
 * free. */
int part_rows_init(struct part_rows *out, const struct profile *profile,
                   struct functions *functions, struct error *err);
void part_rows_fini(struct part_rows *rows); /* zeroed is fine */

/* The range of ages that belongs to a stack. */
void part_rows_find(const struct part_rows *rows, uint32_t stack,
                    uint32_t *first, uint32_t *end);

#endif
