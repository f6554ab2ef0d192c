/*
 * recorded_heap.c - see recorded_heap.h.
 *
 * A heap dump's stack may repeat: each live sample is an entry of its own, for
 * samples of one stack have weights by their sizes.  They are listed by stack
 * first, because entries in a row share the memory of their addresses.
 */
#include "recorded_heap.h"

#include <math.h>

#include "arena.h"
#include "errors.h"
#include "heap_dump.h"
#include "memory.h"
#include "recorded_threads.h"
#include "segment_read.h"

enum { MEMORY_MAX = 512 << 20, NONE = UINT32_MAX, NS_PER_MS = 1000000 };

/* Live samples of each stack, as lists of places. */
struct lists {
    uint32_t *first; /* by stack; NONE: it has none */
    uint32_t *next;  /* by place */
};

struct making {
    const struct segment_copy *copy;
    struct heap_dump *dump;
    struct lists lists;
    struct recorded_threads threads;
    uint64_t since_ns, at_ms;
    size_t room; /* of dump->addresses */
};

static int
list_samples(struct making *m)
{
    uint32_t stacks = segment_copy_room(m->copy, SEGMENT_STACKS);
    uint32_t places = segment_copy_room(m->copy, SEGMENT_SAMPLES);
    struct segment_sample sample;
    double weight;

    m->lists.first = mem_zalloc(stacks, sizeof(*m->lists.first));
    m->lists.next = mem_zalloc(places, sizeof(*m->lists.next));
    if (!m->lists.first || !m->lists.next)
        return -1;
    for (uint32_t i = 0; i < stacks; i++)
        m->lists.first[i] = NONE;
    for (uint32_t i = 0; i < places; i++) {
        if (!segment_copy_sample(m->copy, i, &sample, &weight) ||
            sample.time_ns < m->since_ns || sample.stack >= stacks)
            continue;
        m->lists.next[i] = m->lists.first[sample.stack];
        m->lists.first[sample.stack] = i;
    }
    return 0;
}

/* All are return addresses: the call itself has the name. */
static int
add_addresses(struct making *m, uint32_t stack, uint32_t depth,
              uint32_t **indices)
{
    struct heap_dump *dump = m->dump;
    uint32_t module;
    uint64_t pc, *more;

    if (dump->address_count + depth > HEAP_DUMP_ADDRESSES_MAX)
        return -1;
    if (dump->address_count + depth > m->room) {
        m->room = (m->room + depth) * 2;
        more = mem_realloc(dump->addresses, m->room * sizeof(*more));
        if (!more)
            return -1;
        dump->addresses = more;
    }
    *indices = arena_alloc(dump->stacks.indices, depth * sizeof(**indices));
    if (depth > 0 && !*indices)
        return -1;
    for (uint32_t n = 0; n < depth; n++) {
        if (!segment_copy_frame(m->copy, stack, n, &pc, &module))
            pc = 1;
        (*indices)[n] = (uint32_t)dump->address_count;
        dump->addresses[dump->address_count++] = pc - 1;
    }
    return 0;
}

static struct heap_stack *
add_entry(struct making *m, uint32_t *indices, uint32_t depth)
{
    struct heap_stack *entry = heap_stacks_add(&m->dump->stacks);

    if (!entry)
        return NULL;
    *entry =
        (struct heap_stack){.addresses = indices, .depth = depth, .weight = 1};
    m->dump->stack_count++;
    return entry;
}

/* Sums count from the recorder's begin on: after a reset they are not shown. */
static int
add_sums(struct making *m, const struct segment_stack_seen *seen,
         uint32_t *indices)
{
    struct heap_stack *entry;

    if (m->since_ns != 0 || seen->allocated_objects <= 0)
        return 0;
    entry = add_entry(m, indices, seen->depth);
    if (!entry)
        return -1;
    entry->objects_ever = (uint64_t)rint(seen->allocated_objects);
    entry->bytes_ever = (uint64_t)rint(seen->allocated_bytes);
    return 0;
}

/* How long before at_ms. */
static uint64_t
before_ms(const struct making *m, uint64_t time_ns)
{
    uint64_t ms = time_ns / NS_PER_MS;

    return ms < m->at_ms ? m->at_ms - ms : 0;
}

static int
add_sample(struct making *m, const struct segment_sample *sample, double weight,
           uint32_t *indices, uint32_t depth)
{
    struct heap_stack *entry = add_entry(m, indices, depth);
    uint32_t thread;

    if (!entry || recorded_threads_find(&m->threads, sample, &thread) != 0)
        return -1;
    entry->objects = 1;
    entry->bytes = sample->size;
    entry->weight = weight;
    entry->thread = thread;
    entry->age = heap_age_of(before_ms(m, sample->time_ns));
    return 0;
}

static int
add_stack(struct making *m, uint32_t stack)
{
    struct segment_stack_seen seen;
    struct segment_sample sample;
    uint32_t *indices;
    double weight;

    if (!segment_copy_stack(m->copy, stack, &seen))
        return 0;
    if (m->lists.first[stack] == NONE && m->since_ns != 0)
        return 0;
    if (add_addresses(m, stack, seen.depth, &indices) != 0 ||
        add_sums(m, &seen, indices) != 0)
        return -1;
    for (uint32_t i = m->lists.first[stack]; i != NONE; i = m->lists.next[i]) {
        if (segment_copy_sample(m->copy, i, &sample, &weight) &&
            add_sample(m, &sample, weight, indices, seen.depth) != 0)
            return -1;
    }
    return 0;
}

static int
add_stacks(struct making *m)
{
    uint32_t stacks = segment_copy_room(m->copy, SEGMENT_STACKS);

    for (uint32_t i = 0; i < stacks; i++)
        if (add_stack(m, i) != 0)
            return -1;
    return heap_stacks_sort(&m->dump->stacks, m->dump->addresses,
                            &m->dump->address_count, m->dump->arena);
}

/* As it was wished: each sample knows the mean that it was taken at, and
 * snapshots of one rate can be compared. */
static uint64_t
rate_of(const struct segment_header *header)
{
    return header->wish.mean_bytes > 0 ? header->wish.mean_bytes : 1;
}

/* The recorder began with the first sample of any thread that still has its
 * place: the main thread keeps it. */
static uint64_t
counted_ms(const struct making *m)
{
    uint64_t first_ns = UINT64_MAX;
    struct segment_thread thread;

    for (uint32_t i = 0; i < segment_copy_room(m->copy, SEGMENT_THREADS); i++)
        if (segment_copy_thread(m->copy, i, &thread) &&
            thread.started_ns < first_ns)
            first_ns = thread.started_ns;
    return before_ms(m, first_ns);
}

static int
fill(struct making *m)
{
    if (list_samples(m) != 0 ||
        recorded_threads_init(&m->threads, m->copy, m->dump->arena) != 0 ||
        add_stacks(m) != 0)
        return -1;
    m->dump->threads = (struct heap_threads){m->threads.list, m->threads.count};
    if (m->since_ns == 0)
        m->dump->counted_ms = counted_ms(m);
    return 0;
}

struct heap_dump *
recorded_heap(const struct segment_copy *copy, uint64_t at_ms,
              struct error *err)
{
    const struct segment_header *header = segment_copy_header(copy);
    struct making m = {
        .copy = copy, .since_ns = header->wish.since_ns, .at_ms = at_ms};
    int rc = -1;

    m.dump = mem_zalloc(1, sizeof(*m.dump));
    if (m.dump)
        m.dump->arena = arena_new(MEMORY_MAX);
    if (m.dump && m.dump->arena &&
        heap_stacks_init(&m.dump->stacks, MEMORY_MAX) == 0) {
        m.dump->rate = rate_of(header);
        rc = fill(&m);
    }
    mem_free(m.lists.first);
    mem_free(m.lists.next);
    recorded_threads_fini(&m.threads);
    if (rc == 0)
        return m.dump;
    error_memory(err, "the profile of the recorder");
    heap_dump_free(m.dump);
    return NULL;
}
