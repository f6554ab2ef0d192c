/*
 * kernel_names.h - the kernel's functions in the stacks of a profile of time.
 *
 * A frame in the kernel is a function alone, without its offset in there: a
 * profile does not tell its readers where the kernel lies.  So it gets a
 * made-up address, which depends on the name, and is the same on all nodes.
 */
#ifndef HW_KERNEL_NAMES_H
#define HW_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct kernel_names;
struct profile;

/* The first made-up address; no process has code from there on. */
#define KERNEL_NAMES_FIRST (UINT64_C(1) << 62)

/* NULL with *err: no memory. */
struct kernel_names *kernel_names_load(struct error *err);
void kernel_names_free(struct kernel_names *names); /* NULL is fine */

/* Whether this user may read them; else all frames are "[kernel]". */
bool kernel_names_known(const struct kernel_names *names);

/* Converts frames, leaf first, as in perf_event_open(2) (all but the first are
 * return addresses), to made-up addresses.  Writes at most room; returns how
 * many. */
size_t kernel_names_take(struct kernel_names *names, const uint64_t *frames,
                         size_t count, uint64_t *out, size_t room);

/* Names the profile's locations that kernel_names_take() made:
 * "do_syscall_64_[k]" of "[kernel]".  -1: no memory. */
int kernel_names_fill(const struct kernel_names *names,
                      struct profile *profile);

/* ---- for tests ---- */

/* As kernel_names_load(), from a text in the form of /proc/kallsyms. */
struct kernel_names *kernel_names_parse(const char *text, size_t size,
                                        struct error *err);

#endif
