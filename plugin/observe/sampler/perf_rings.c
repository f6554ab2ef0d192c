/*
 * perf_rings.c - see perf_rings.h.
 *
 * The kernel writes a ring for each processor, without an order between them.
 * They are merged by time: always the ring whose next record is the oldest, a
 * linear search, as there are as many rings as processors.
 *
 * The heads are read after until_ns has passed.  What a record follows from was
 * written before it, so it has been seen by then: the kernel writes a fork
 * before the child runs, and an exec before the new program does.
 */
#include "perf_rings.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"

enum { RECORD_MAX = 1 << 16 }; /* perf_event_header.size is 16 bits */

int
perf_rings_init(struct perf_rings *rings, size_t most)
{
    rings->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    rings->list = mem_zalloc(most, sizeof(*rings->list));
    rings->record = mem_alloc_unset(RECORD_MAX);
    return rings->list && rings->record ? 0 : -1;
}

int
perf_rings_open(struct perf_rings *rings, int cpu, int fd, size_t pages)
{
    size_t size = pages * rings->page_bytes;
    uint8_t *map = mmap(NULL, size + rings->page_bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED, fd, 0);

    if (map == MAP_FAILED)
        /* mmap of a ring says EPERM if perf_event_mlock_kb and RLIMIT_MEMLOCK
         * are too small. */
        return errno == EPERM ? ENOBUFS : errno;
    rings->list[rings->count++] =
        (struct perf_ring){.cpu = cpu,
                           .fd = fd,
                           .page = (struct perf_event_mmap_page *)(void *)map,
                           .data = map + rings->page_bytes,
                           .size = size};
    return 0;
}

void
perf_rings_close(struct perf_rings *rings)
{
    for (size_t i = 0; i < rings->count; i++)
        munmap(rings->list[i].page, rings->list[i].size + rings->page_bytes);
    rings->count = 0;
}

void
perf_rings_fini(struct perf_rings *rings)
{
    perf_rings_close(rings);
    mem_free(rings->list);
    mem_free(rings->record);
}

/* Records consist of whole words, so a word never wraps around the end. */
static uint64_t
read_ring_word(const struct perf_ring *ring, uint64_t at)
{
    uint64_t word;

    memcpy(&word, ring->data + (at & (ring->size - 1)), sizeof(word));
    return word;
}

static struct perf_event_header
next_header(const struct perf_ring *ring)
{
    uint64_t word = read_ring_word(ring, ring->tail);
    struct perf_event_header header;

    memcpy(&header, &word, sizeof(header));
    return header;
}

/* Sets next_ns to the time of the next record, UINT64_MAX if there is none.  A
 * sample has its time behind pid and tid, any other record in its last word
 * (sample_id_all). */
static void
find_next_record_time(struct perf_ring *ring)
{
    struct perf_event_header header;
    uint64_t at;

    ring->next_ns = UINT64_MAX;
    if (ring->tail == ring->head)
        return;
    header = next_header(ring);
    if (header.size < sizeof(header) + 2 * sizeof(uint64_t) ||
        header.size > ring->head - ring->tail)
        return;
    at = header.type == PERF_RECORD_SAMPLE
             ? ring->tail + sizeof(header) + sizeof(uint64_t)
             : ring->tail + header.size - sizeof(uint64_t);
    ring->next_ns = read_ring_word(ring, at);
}

/* The whole record in one piece. */
static const uint8_t *
next_record(const struct perf_rings *rings, const struct perf_ring *ring)
{
    size_t at = (size_t)(ring->tail & (ring->size - 1));
    size_t size = next_header(ring).size, first = ring->size - at;

    if (size <= first)
        return ring->data + at;
    memcpy(rings->record, ring->data + at, first);
    memcpy(rings->record + first, ring->data, size - first);
    return rings->record;
}

static struct perf_ring *
first_of(const struct perf_rings *rings)
{
    struct perf_ring *first = rings->list;

    for (size_t i = 1; i < rings->count; i++)
        if (rings->list[i].next_ns < first->next_ns)
            first = &rings->list[i];
    return first;
}

int
perf_rings_drain(struct perf_rings *rings, uint64_t until_ns,
                 int (*take)(void *arg, const struct perf_event_header *header,
                             const uint8_t *body, struct error *err),
                 void *arg, struct error *err)
{
    struct perf_ring *ring;
    int rc = 0;

    for (size_t i = 0; i < rings->count; i++) {
        ring = &rings->list[i];
        /* Acquire: what lies before the head has been written.  The page is
         * the kernel's, whose header has plain types: no stdatomic.h. */
        ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
        ring->tail = ring->page->data_tail;
        find_next_record_time(ring);
    }
    while (rc == 0 && rings->count > 0) {
        struct perf_event_header header;

        ring = first_of(rings);
        if (ring->next_ns > until_ns)
            break;
        header = next_header(ring);
        rc = take(arg, &header, next_record(rings, ring) + sizeof(header), err);
        ring->tail += header.size;
        /* Only now may the kernel overwrite it: take has read the record in
         * place. */
        __atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
        find_next_record_time(ring);
    }
    return rc;
}
