/*
 * reconciliation.h - one line that compares a profile's total with the
 * allocator's figures, the kernel's and the limit.
 *
 * Pure.
 */
#ifndef HW_RECONCILIATION_H
#define HW_RECONCILIATION_H

struct agent_hello;
struct buffer;
struct profile;
struct snapshot_memory;
struct stats;

/* The figures that a snapshot keeps. */
void reconciliation_take(const struct stats *stats,
                         struct snapshot_memory *out);

/*
 * Appends "profile 114.7 MB (1204 samples since 2026-11-21 12:01:13 UTC) of
 * 120.3 MB allocated: 5.6 MB older than profiling; active 130.1: ...". Parts
 * between "; "; MB are 1048576 bytes, as in jeprof's reports.  Unknown figures
 * are left out.  hello is of the greeting before the dump; note is a remark
 * about the profile, or "".
 */
void reconciliation_write(const struct profile *profile,
                          const struct snapshot_memory *memory,
                          const struct agent_hello *hello, const char *note,
                          struct buffer *out);

#endif
