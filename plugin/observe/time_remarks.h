/*
 * time_remarks.h - what the head of a profile of time says about its accuracy.
 *
 * Each function appends to out, or nothing if there is nothing to say.
 */
#ifndef HW_TIME_REMARKS_H
#define HW_TIME_REMARKS_H

#include <stddef.h>
#include <stdint.h>

struct buffer;
struct profile;
struct sampler_report;
struct unwind_loaded;

/* Why ptrace made fewer ticks than were asked for. */
void time_remarks_rate(const struct sampler_report *report, struct buffer *out);

/* For profiles of processor time: threads that live for a few ticks are sampled
 * at the same moments of their lives, or late in them. */
void time_remarks_short(const struct sampler_report *report,
                        struct buffer *out);

/* By how much shares are off by chance. */
void time_remarks_chance(const struct profile *profile, struct buffer *out);

/* Files without an unwind table in which stacks of the profile lie. */
void time_remarks_tables(const struct profile *profile,
                         const struct unwind_loaded *loaded,
                         struct buffer *out);

enum { TIME_STOPPED_TEXT = 96 };

/* Why the process does not run: "stopped by a signal (SIGSTOP)", "held by gdb
 * (process 12)", "traced by ..."; "": it does. */
void time_remarks_read_stop(int32_t pid, char out[TIME_STOPPED_TEXT]);
/* Writes these texts of the profile's beginning and end. */
void time_remarks_write_stop(const char *begin, const char *end,
                             struct buffer *out);

#endif
