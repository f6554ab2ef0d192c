/*
 * perf_rings.h - the rings that the kernel writes events to, one for each
 * processor, read as one stream of records in order of time.
 *
 * Whose a sample is may be told by a record in another ring: of a birth, or of
 * a program that was executed.
 */
#ifndef HW_PERF_RINGS_H
#define HW_PERF_RINGS_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct perf_event_header;
struct perf_event_mmap_page;

/* With these two first, and sample_id_all, a record says its time: of
 * CLOCK_MONOTONIC. */
#define PERF_RINGS_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

struct perf_ring {
    int cpu, fd; /* fd: of the first event with this output */
    struct perf_event_mmap_page *page;
    uint8_t *data;
    size_t size; /* of data: a power of two */
    uint64_t head, tail, next_ns;
};

struct perf_rings {
    struct perf_ring *list;
    size_t count, page_bytes;
    uint8_t *record; /* one that lay around the end of a ring */
};

/* Into a zeroed struct, for so many.  -1: no memory. */
int perf_rings_init(struct perf_rings *rings, size_t most);
/* One more.  An errno; ENOBUFS: so much may not be locked. */
int perf_rings_open(struct perf_rings *rings, int cpu, int fd, size_t pages);
void perf_rings_close(struct perf_rings *rings); /* all of them */
void perf_rings_fini(struct perf_rings *rings);  /* zeroed is fine */

/*
 * Takes all records that were written until then, a moment that has passed;
 * later ones stay.  What take says, where it is not 0, ends it.
 */
int perf_rings_drain(struct perf_rings *rings, uint64_t until_ns,
                     int (*take)(void *arg,
                                 const struct perf_event_header *header,
                                 const uint8_t *body, struct error *err),
                     void *arg, struct error *err);

#endif
