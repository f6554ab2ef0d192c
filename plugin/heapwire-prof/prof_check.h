/*
 * prof_check.h - whether the files that heapwire-prof was given belong
 * together.
 */
#ifndef HW_PROF_CHECK_H
#define HW_PROF_CHECK_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct profile;

/* By their first bytes. */
bool prof_check_is_snapshot(const char *text, size_t size);

/* A program is where one belongs, and not a directory, a device, or (unless
 * path is NULL) a profile, of which path is a later one.  -1 with *err. */
int prof_check_binary(const char *binary, const char *path, struct error *err);

/* Both are of one program, as far as they tell.  -1 with *err, which has the
 * two paths. */
int prof_check_program(const struct profile *now, const char *now_path,
                       const struct profile *base, const char *base_path,
                       struct error *err);

#endif
