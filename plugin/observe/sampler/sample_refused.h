/* sample_refused.h - why the kernel lets us not look at a process, and what
 * would be needed. */
#ifndef HW_SAMPLE_REFUSED_H
#define HW_SAMPLE_REFUSED_H

#include <stddef.h>
#include <stdint.h>

enum {
    SAMPLE_REFUSED_MAX = 400,
    SAMPLE_REFUSED_KERNEL =
        /* in place of an errno: only user space may be sampled */
    10000,
    /* in place of an errno: a seccomp filter kills the caller */
    SAMPLE_REFUSED_KILLED
};

/* Why ptrace failed with that errno. */
void sample_refused_ptrace(int32_t pid, int32_t tid, int error, char *out,
                           size_t size);
/* Why perf_event_open failed with that errno; ENOBUFS: its ring's memory. */
void sample_refused_perf(int32_t pid, int error, char *out, size_t size);

/* Why perf_event_open is not used: it needs so many descriptors. */
void sample_refused_descriptors(size_t needed, char *out, size_t size);

#endif
