/* sample_refused.h - why the kernel lets us not look at a process, and what
 * would be needed. */
#ifndef HW_SAMPLE_REFUSED_H
#define HW_SAMPLE_REFUSED_H

#include <stddef.h>
#include <stdint.h>

enum {
    SAMPLE_REFUSED_MAX = 400,
    SAMPLE_REFUSED_KERNEL =
        10000,            /* for an errno: user space alone is allowed */
    SAMPLE_REFUSED_KILLED /* likewise: a filter kills who asks */
};

/* Of ptrace, which failed with that errno. */
void sample_refused_ptrace(int32_t pid, int32_t tid, int error, char *out,
                           size_t size);
/* Of perf_event_open; ENOBUFS: of its memory. */
void sample_refused_perf(int32_t pid, int error, char *out, size_t size);

/* Of perf_event_open: so many descriptors would have to be allowed. */
void sample_refused_descriptors(size_t needed, char *out, size_t size);

#endif
