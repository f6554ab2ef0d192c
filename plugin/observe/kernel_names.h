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

/* The made-up addresses: no process has code there. */
#define KERNEL_NAMES_FIRST (UINT64_C(1) << 62)

/* NULL with *err: no memory. */
struct kernel_names *kernel_names_load(struct error *err);
void kernel_names_free(struct kernel_names *names); /* NULL is fine */

/* Whether this user may know them; else all are "[kernel]". */
bool kernel_names_known(const struct kernel_names *names);

/* The addresses of frames, leaf first, as perf_event_open(2) has them: all but
 * the first are return addresses.  At most room; returns how many. */
size_t kernel_names_take(struct kernel_names *names, const uint64_t *frames,
                         size_t count, uint64_t *out, size_t room);

/* Names those of its locations that were taken: "do_syscall_64_[k]" of
 * "[kernel]".  -1: no memory. */
int kernel_names_fill(const struct kernel_names *names,
                      struct profile *profile);

/* ---- for tests ---- */

/* Likewise, of a text as /proc/kallsyms has it. */
struct kernel_names *kernel_names_parse(const char *text, size_t size,
                                        struct error *err);

#endif
