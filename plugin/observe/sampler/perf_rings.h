/*
 * perf_rings.h - the rings that the kernel writes events to, one for each
 * processor, read as one stream of records in order of time.
 *
 * The order matters: which process a sample is of may depend on a record in
 * another ring, of a fork or an exec.
 */
#ifndef HW_PERF_RINGS_H
#define HW_PERF_RINGS_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct perf_event_header;
struct perf_event_mmap_page;

/* With these two bits, and sample_id_all, each record has its time, by
 * CLOCK_MONOTONIC. */
#define PERF_RINGS_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

struct perf_ring {
    int cpu, fd; /* fd: the event that owns this ring */
    struct perf_event_mmap_page *page;
    uint8_t *data;
    size_t size; /* of data: a power of two */
    uint64_t head, tail, next_ns;
};

struct perf_rings {
    struct perf_ring *list;
    size_t count, page_bytes;
    /* a record that wrapped around the end of its ring, in one piece */
    uint8_t *record;
};

/* Initialises a zeroed struct for at most so many rings.  -1: no memory. */
int perf_rings_init(struct perf_rings *rings, size_t most);
/* Adds a ring.  Returns 0 or an errno; ENOBUFS: so much memory may not be
 * locked. */
int perf_rings_open(struct perf_rings *rings, int cpu, int fd, size_t pages);
void perf_rings_close(struct perf_rings *rings); /* all of them */
void perf_rings_fini(struct perf_rings *rings);  /* zeroed is fine */

/* Calls take for all records written until until_ns, which must have passed;
 * later ones stay.  A result of take that is not 0 ends it and is returned. */
int perf_rings_drain(struct perf_rings *rings, uint64_t until_ns,
                     int (*take)(void *arg,
                                 const struct perf_event_header *header,
                                 const uint8_t *body, struct error *err),
                     void *arg, struct error *err);

#endif
