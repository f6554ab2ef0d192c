/*
 * recorded_heap.c - see recorded_heap.h.
 *
 * The recorder's segment is a table of samples; what follows wants a dump as
 * jemalloc writes it: entries by stack.  Each live sample has a weight of its
 * own, by its size and the sampling mean at its time.  The samples are listed
 * by stack first, in two arrays, and then summed by stack, thread and age:
 * naming and merging cost by entry, and a stack may have thousands of samples.
 * Linear in samples and stacks; up to MEMORY_MAX.  The segment is another
 * process's memory: every index is checked by segment_read.h's functions.
 * Pure, on the thread of the dump's job.
 */
#include "recorded_heap.h"

#include <math.h>

#include "arena.h"
#include "errors.h"
#include "hash.h"
#include "heap_dump.h"
#include "memory.h"
#include "profile.h"
#include "recorded_maps.h"
#include "recorded_threads.h"
#include "segment_read.h"
#include "size_class.h"

enum {
    MEMORY_MAX = 512 << 20,
    NONE = UINT32_MAX,
    NS_PER_MS = 1000000,
    ADDRESSES_FIRST = 1 << 12 /* a power of two */
};

/* The live samples of each stack, as linked lists in arrays. */
struct lists {
    uint32_t *first; /* by stack; NONE: it has none */
    uint32_t *next;  /* by sample */
};

/* Finds the distinct addresses, which are in the dump's list. */
struct addresses {
    struct hash_index index;
    size_t capacity; /* of the list */
};

/* The last entry made for a thread and an age class: it is the present stack's
 * if stack says so, which saves clearing them for each stack. */
struct part_entry {
    uint32_t stack; /* + 1 */
    struct heap_stack *entry;
};

struct making {
    const struct segment_copy *copy;
    struct heap_dump *dump;
    struct lists lists;
    struct addresses addresses;
    struct recorded_threads threads;
    struct part_entry *entries; /* by thread and age */
    /* sums of the present stack by size class; numbers lists those in use */
    struct heap_size sizes[SIZE_CLASSES];
    uint32_t numbers[SIZE_CLASSES], size_count;
    uint64_t *moves; /* by module: recorded_maps.h */
    uint64_t since_ns, at_ms;
};

/* Samples of before the last reset are left out here, so nothing below sees
 * them. */
static int
list_samples(struct making *m)
{
    uint32_t stacks = segment_copy_count(m->copy, SEGMENT_STACKS);
    uint32_t samples = segment_copy_count(m->copy, SEGMENT_SAMPLES);
    struct segment_sample sample;
    double weight;

    m->lists.first = mem_zalloc(stacks, sizeof(*m->lists.first));
    m->lists.next = mem_zalloc(samples, sizeof(*m->lists.next));
    if (!m->lists.first || !m->lists.next)
        return -1;
    for (uint32_t i = 0; i < stacks; i++)
        m->lists.first[i] = NONE;
    for (uint32_t i = 0; i < samples; i++) {
        if (!segment_copy_sample(m->copy, i, &sample, &weight) ||
            sample.time_ns < m->since_ns)
            continue;
        m->lists.next[i] = m->lists.first[sample.stack];
        m->lists.first[sample.stack] = i;
    }
    return 0;
}

/* ---- addresses ---- */

static int
grow_addresses(struct making *m)
{
    struct addresses *a = &m->addresses;
    size_t room = a->capacity > 0 ? a->capacity * 2 : ADDRESSES_FIRST;
    uint64_t *list;

    if (room > HEAP_DUMP_ADDRESSES_MAX)
        return -1;
    list = mem_realloc(m->dump->addresses, room * sizeof(*list));
    if (!list)
        return -1;
    m->dump->addresses = list;
    if (hash_index_reserve(&a->index, room) != 0)
        return -1;
    a->capacity = room;
    return 0;
}

static int
add_heap_address(struct making *m, uint64_t address, uint32_t *index)
{
    const struct hash_index *known = &m->addresses.index;
    uint32_t hash = (uint32_t)hash_mix(hash_seed(m), address);
    struct hash_slot *slot;

    if (m->dump->address_count == m->addresses.capacity &&
        grow_addresses(m) != 0)
        return -1;
    slot = hash_index_first(known, hash);
    while (slot->entry && m->dump->addresses[slot->entry - 1] != address)
        slot = hash_index_next(known, slot);
    if (slot->entry == 0) {
        m->dump->addresses[m->dump->address_count] = address;
        *slot = (struct hash_slot){(uint32_t)++m->dump->address_count, hash};
    }
    *index = slot->entry - 1;
    return 0;
}

/* All are return addresses: one byte before it is the call, which has the name
 * and line.  A moved module's addresses move with it (recorded_maps.h). */
static int
add_addresses(struct making *m, uint32_t stack, uint32_t depth,
              uint32_t **indices)
{
    uint32_t module;
    uint64_t pc;

    /* at least one slot, as entries of a stack are told by a shared pointer */
    *indices =
        arena_alloc(m->dump->stacks.indices, (depth + 1) * sizeof(**indices));
    if (!*indices)
        return -1;
    for (uint32_t n = 0; n < depth; n++) {
        if (!segment_copy_frame(m->copy, stack, n, &pc, &module) || pc == 0)
            pc = 1;
        pc--;
        if (module != UINT32_MAX)
            pc += m->moves[module];
        if (add_heap_address(m, pc, &(*indices)[n]) != 0)
            return -1;
    }
    return 0;
}

/* ---- entries ---- */

static struct heap_stack *
add_heap_stack_entry(struct making *m, uint32_t *indices, uint32_t depth)
{
    struct heap_stack *entry = heap_stacks_add(&m->dump->stacks);

    if (!entry)
        return NULL;
    *entry = (struct heap_stack){.addresses = indices, .depth = depth};
    m->dump->stack_count++;
    return entry;
}

/* The sums of everything ever allocated count from the recorder's start: after
 * a reset they would be wrong, and are left out. */
static int
add_sums(struct making *m, const struct segment_stack_seen *seen,
         uint32_t *indices)
{
    struct heap_stack *entry;

    if (m->since_ns != 0 || seen->allocated_objects <= 0)
        return 0;
    entry = add_heap_stack_entry(m, indices, seen->depth);
    if (!entry)
        return -1;
    entry->objects_ever = (uint64_t)rint(seen->allocated_objects);
    entry->bytes_ever = (uint64_t)rint(seen->allocated_bytes);
    return 0;
}

/* Milliseconds from time_ns to at_ms; 0 if it is later. */
static uint64_t
before_ms(const struct making *m, uint64_t time_ns)
{
    uint64_t ms = time_ns / NS_PER_MS;

    return ms < m->at_ms ? m->at_ms - ms : 0;
}

/* A sample stands for weight objects: it was taken with the probability 1 /
 * weight, which gives the variance. */
static void
add_size(struct making *m, uint64_t size, double weight)
{
    uint32_t number = size_class_of(size);
    struct heap_size *to = &m->sizes[number];

    if (to->objects == 0)
        m->numbers[m->size_count++] = number;
    to->number = number;
    to->objects += weight;
    to->bytes += weight * (double)size;
    to->variance += weight * (weight - 1);
}

static struct heap_stack *
last_entry(const struct making *m)
{
    struct heap_piece *piece = m->dump->stacks.last;

    return &piece->stacks[piece->count - 1];
}

/* Ends a stack: its last entry gets the sums by size class. */
static int
give_sizes(struct making *m, struct heap_stack *entry)
{
    struct heap_size *list;

    if (m->size_count == 0)
        return 0;
    list = arena_alloc(m->dump->arena, m->size_count * sizeof(*list));
    if (!list)
        return -1;
    for (uint32_t i = 0; i < m->size_count; i++) {
        list[i] = m->sizes[m->numbers[i]];
        m->sizes[m->numbers[i]] = (struct heap_size){.objects = 0};
    }
    entry->sizes = list;
    entry->size_count = m->size_count;
    m->size_count = 0;
    return 0;
}

static int
add_recorded_sample(struct making *m, uint32_t stack, uint32_t *indices,
                    uint32_t depth, const struct segment_sample *sample,
                    double weight)
{
    uint32_t age = heap_age_of(before_ms(m, sample->time_ns)), thread;
    struct part_entry *part;

    if (recorded_threads_find(&m->threads, sample, &thread) != 0)
        return -1;
    part = &m->entries[thread * HEAP_AGE_CLASSES + age];
    if (part->stack != stack + 1) {
        part->entry = add_heap_stack_entry(m, indices, depth);
        if (!part->entry)
            return -1;
        part->stack = stack + 1;
        part->entry->thread = thread;
        part->entry->age = age;
    }
    part->entry->objects++;
    part->entry->bytes += sample->size; /* at most 2^48 */
    profile_add_estimate(&part->entry->estimate, 1, sample->size, weight);
    add_size(m, sample->size, weight);
    return 0;
}

/* A stack without live samples still counts for what was ever allocated, unless
 * a reset has made those sums meaningless. */
static int
add_recorded_stack(struct making *m, uint32_t stack)
{
    struct segment_stack_seen seen;
    struct segment_sample sample;
    uint32_t *indices;
    double weight;

    if (!segment_copy_stack(m->copy, stack, &seen))
        return 0;
    if (m->lists.first[stack] == NONE &&
        (m->since_ns != 0 || seen.allocated_objects <= 0))
        return 0;
    if (add_addresses(m, stack, seen.depth, &indices) != 0 ||
        add_sums(m, &seen, indices) != 0)
        return -1;
    for (uint32_t i = m->lists.first[stack]; i != NONE; i = m->lists.next[i]) {
        if (segment_copy_sample(m->copy, i, &sample, &weight) &&
            add_recorded_sample(m, stack, indices, seen.depth, &sample,
                                weight) != 0)
            return -1;
    }
    return m->size_count > 0 ? give_sizes(m, last_entry(m)) : 0;
}

static int
add_recorded_stacks(struct making *m)
{
    uint32_t stacks = segment_copy_count(m->copy, SEGMENT_STACKS);

    for (uint32_t i = 0; i < stacks; i++)
        if (add_recorded_stack(m, i) != 0)
            return -1;
    return heap_stacks_sort(&m->dump->stacks, m->dump->addresses,
                            &m->dump->address_count, m->dump->arena);
}

/* The rate as it is set: each sample knows the mean at which it was taken, so
 * snapshots of one setting can be compared even if the recorder thinned out. */
static uint64_t
rate_of(const struct segment_header *header)
{
    return header->settings.mean_bytes > 0 ? header->settings.mean_bytes : 1;
}

/* How long the recorder counts: since the first sample of any thread that still
 * has its slot, as the main thread does. */
static uint64_t
counted_ms(const struct making *m)
{
    uint64_t first_ns = UINT64_MAX;
    struct segment_thread thread;

    for (uint32_t i = 0; i < segment_copy_count(m->copy, SEGMENT_THREADS); i++)
        if (segment_copy_thread(m->copy, i, &thread) &&
            thread.started_ns < first_ns)
            first_ns = thread.started_ns;
    return before_ms(m, first_ns);
}

static int
fill_recorded_dump(struct making *m)
{
    const size_t threads = segment_copy_count(m->copy, SEGMENT_THREADS) + 1;

    m->entries = mem_zalloc(threads * HEAP_AGE_CLASSES, sizeof(*m->entries));
    m->moves = recorded_moves(m->copy);
    if (!m->entries || !m->moves || list_samples(m) != 0 ||
        recorded_threads_init(&m->threads, m->copy, m->dump->arena) != 0 ||
        add_recorded_stacks(m) != 0)
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
        .copy = copy, .since_ns = header->settings.since_ns, .at_ms = at_ms};
    int rc = -1;

    m.dump = mem_zalloc(1, sizeof(*m.dump));
    if (m.dump)
        m.dump->arena = arena_new(MEMORY_MAX);
    if (m.dump && m.dump->arena &&
        heap_stacks_init(&m.dump->stacks, MEMORY_MAX) == 0) {
        m.dump->rate = rate_of(header);
        m.dump->weighted = true;
        m.dump->sized = true;
        rc = fill_recorded_dump(&m);
    }
    mem_free(m.lists.first);
    mem_free(m.lists.next);
    hash_index_fini(&m.addresses.index);
    mem_free(m.entries);
    mem_free(m.moves);
    recorded_threads_fini(&m.threads);
    if (rc == 0)
        return m.dump;
    error_memory(err, "the profile of the recorder");
    heap_dump_free(m.dump);
    return NULL;
}
