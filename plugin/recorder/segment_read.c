/*
 * segment_read.c - see segment_read.h.
 *
 * A segment is mostly room: 15 MB, of which a database of 2,000 stacks uses one
 * or two, spread by hashes.  To read it all costs more than all that is made of
 * it, so it is mapped, and what is in use is copied.  It cannot shrink, by its
 * seal; holes, which would be filled, are passed over.  Its owner writes on:
 * an entry is copied once, and the copy is looked at.
 *
 * What refers to something is copied before it: as the writer publishes the
 * other way round, the thing is there.  A place of the samples that has been
 * used again between key and fields is known by the key among the fields.
 */
#include "segment_read.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "estimator.h"
#include "memory.h"
#include "segment_layout.h"

/* A place that is in use. */
struct live_sample {
    struct segment_sample sample;
    union {
        uint64_t key; /* until the fields are compared */
        double weight;
    };
};

struct seen_stack {
    uint32_t first_frame;
    struct segment_stack_seen seen;
};

_Static_assert(sizeof(struct live_sample) ==
                   sizeof(struct segment_sample) + sizeof(uint64_t),
               "the copy takes no more memory than the segment");
_Static_assert(sizeof(struct seen_stack) == sizeof(struct segment_stack),
               "the copy takes no more memory than the segment");

struct segment_copy {
    struct segment_header header;
    uint64_t damaged; /* entries that cannot be */
    struct live_sample *samples;
    struct seen_stack *stacks;      /* the first is SEGMENT_STACK_LOST */
    uint64_t *frames;               /* as far as the stacks name them */
    struct segment_module *modules; /* likewise, the frames */
    struct segment_thread *threads;
    uint32_t counts[SEGMENT_PARTS];
};

/* A copy that is being made. */
struct reading {
    int fd;
    const uint8_t *bytes; /* the segment, mapped: */
    size_t size;
    struct segment_copy *copy;
    uint32_t *numbers; /* of a place of the stacks: in the copy, + 1; or 0 */
    uint32_t rooms[SEGMENT_PARTS]; /* of the copy's lists */
};

enum { LIST_FIRST = 256 };

static const uint8_t *
entry_at(const struct reading *r, enum segment_part_id id, uint32_t index)
{
    const struct segment_part *part = &r->copy->header.parts[id];

    return r->bytes + part->offset + (uint64_t)index * part->entry_bytes;
}

/* Whatever is written there meanwhile, the copy stays. */
static void
copy_entries(void *to, const uint8_t *from, size_t size)
{
    memcpy(to, from, size);
    __asm__ volatile("" : : "r"(to) : "memory");
}

static uint64_t
load_word(const uint8_t *at)
{
    return __atomic_load_n((const uint64_t *)(const void *)at,
                           __ATOMIC_ACQUIRE);
}

/* Of at to end the first bytes that are no hole; where there is none, end. */
static uint64_t
find_data(int fd, uint64_t at, uint64_t end, uint64_t *data_end)
{
    off_t data = lseek(fd, (off_t)at, SEEK_DATA), hole;

    *data_end = end;
    if (data < 0 || (uint64_t)data >= end)
        return end;
    hole = lseek(fd, data, SEEK_HOLE);
    if (hole > data && (uint64_t)hole < end)
        *data_end = (uint64_t)hole;
    return (uint64_t)data > at ? (uint64_t)data : at;
}

/* Gives take all entries of a part, but for those of holes, which are zero.
 * -1: no memory. */
static int
scan_part(struct reading *r, enum segment_part_id id,
          int (*take)(struct reading *r, uint32_t first, uint32_t end))
{
    const struct segment_part *part = &r->copy->header.parts[id];
    const uint64_t size = part->entry_bytes;
    const uint64_t end = part->offset + part->count * size;

    for (uint64_t at = part->offset, data_end; at < end; at = data_end) {
        uint64_t data = find_data(r->fd, at, end, &data_end);

        if (data < end &&
            take(r, (uint32_t)((data - part->offset) / size),
                 (uint32_t)((data_end - part->offset) / size)) != 0)
            return -1;
    }
    return 0;
}

/* The place of one more entry in a list of the copy; NULL: no memory. */
static void *
add_entry(struct reading *r, enum segment_part_id id, void **list, size_t size)
{
    uint32_t *room = &r->rooms[id], *count = &r->copy->counts[id];
    void *more;

    if (*count == *room) {
        uint32_t wanted = *room > 0 ? *room * 2 : LIST_FIRST;

        if (wanted > r->copy->header.parts[id].count)
            wanted = r->copy->header.parts[id].count;
        more = mem_realloc(*list, wanted * size);
        if (!more)
            return NULL;
        *list = more;
        *room = wanted;
    }
    return (uint8_t *)*list + (*count)++ * size;
}

/* ---- samples ---- */

/* A claim is no damage: its writer is at work, or has been interrupted. */
static int
take_keys(struct reading *r, uint32_t first, uint32_t end)
{
    const uint8_t *at = entry_at(r, SEGMENT_KEYS, first);

    for (uint32_t i = first; i < end; i++, at += sizeof(uint64_t)) {
        uint64_t key = load_word(at);
        struct live_sample *live;

        if (key == 0 || ((key & SEGMENT_CLAIM) && !(key & SEGMENT_HELD)))
            continue;
        live = add_entry(r, SEGMENT_SAMPLES, (void **)&r->copy->samples,
                         sizeof(*live));
        if (!live)
            return -1;
        live->key = key;
        copy_entries(&live->sample, entry_at(r, SEGMENT_SAMPLES, i),
                     sizeof(live->sample));
    }
    return 0;
}

static bool
can_be(const struct reading *r, const struct segment_sample *sample)
{
    return sample->size <= SEGMENT_MEAN_MAX &&
           sample->mean <= SEGMENT_MEAN_MAX &&
           sample->stack < r->copy->header.parts[SEGMENT_STACKS].count &&
           r->numbers[sample->stack] != 0;
}

/* A place that has been used again meanwhile is no damage. */
static bool
check_sample(struct reading *r, struct live_sample *live)
{
    struct segment_sample *sample = &live->sample;

    if (sample->key == 0 ||
        (sample->key != live->key && !(live->key & SEGMENT_CLAIM)))
        return false;
    if (!can_be(r, sample)) {
        r->copy->damaged++;
        return false;
    }
    sample->stack = r->numbers[sample->stack] - 1;
    live->weight = 1 / estimator_chance(sample->size, sample->mean);
    return true;
}

static void
check_samples(struct reading *r)
{
    struct live_sample *list = r->copy->samples;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < r->copy->counts[SEGMENT_SAMPLES]; i++) {
        struct live_sample live = list[i];
        struct segment_stack_seen *seen;

        if (!check_sample(r, &live))
            continue;
        seen = &r->copy->stacks[live.sample.stack].seen;
        seen->live_bytes += live.weight * (double)live.sample.size;
        seen->live_objects += live.weight;
        list[kept++] = live;
    }
    r->copy->counts[SEGMENT_SAMPLES] = kept;
}

/* ---- stacks ---- */

static bool
is_in_bounds(const struct reading *r, const struct segment_stack *stack)
{
    const uint32_t frames = r->copy->header.parts[SEGMENT_FRAMES].count;

    return stack->depth <= SEGMENT_DEPTH_MAX && stack->first_frame <= frames &&
           stack->depth <= frames - stack->first_frame;
}

static void
see_stack(const struct segment_stack *stack, struct seen_stack *seen)
{
    *seen = (struct seen_stack){
        stack->first_frame,
        {.depth = stack->depth,
         .allocated_bytes = (double)stack->allocated_bytes,
         .allocated_objects = (double)stack->allocated_objects / SEGMENT_OBJECT,
         .freed_bytes = (double)stack->freed_bytes,
         .freed_objects = (double)stack->freed_objects / SEGMENT_OBJECT}};
}

static int
take_stacks(struct reading *r, uint32_t first, uint32_t end)
{
    const uint8_t *at = entry_at(r, SEGMENT_STACKS, first);

    for (uint32_t place = first; place < end;
         place++, at += sizeof(struct segment_stack)) {
        const uint64_t hash = load_word(at);
        struct segment_stack stack;
        struct seen_stack *seen;

        if ((hash == 0 && place != SEGMENT_STACK_LOST) ||
            (hash & SEGMENT_CLAIM))
            continue;
        copy_entries(&stack, at, sizeof(stack));
        if (!is_in_bounds(r, &stack)) {
            r->copy->damaged++;
            continue;
        }
        seen = place == SEGMENT_STACK_LOST
                   ? r->copy->stacks
                   : add_entry(r, SEGMENT_STACKS, (void **)&r->copy->stacks,
                               sizeof(*seen));
        if (!seen)
            return -1;
        see_stack(&stack, seen);
        if (place != SEGMENT_STACK_LOST)
            r->numbers[place] = r->copy->counts[SEGMENT_STACKS];
    }
    return 0;
}

/* The one whose samples have none is always there. */
static int
copy_stacks(struct reading *r)
{
    struct seen_stack *lost;

    r->numbers = mem_zalloc(r->copy->header.parts[SEGMENT_STACKS].count,
                            sizeof(*r->numbers));
    lost =
        add_entry(r, SEGMENT_STACKS, (void **)&r->copy->stacks, sizeof(*lost));
    if (!r->numbers || !lost)
        return -1;
    *lost = (struct seen_stack){0};
    r->numbers[SEGMENT_STACK_LOST] = 1;
    return scan_part(r, SEGMENT_STACKS, take_stacks);
}

/* ---- what those refer to ---- */

/* The first entries of a part.  NULL: no memory. */
static void *
copy_first(struct reading *r, enum segment_part_id id, uint32_t count)
{
    const size_t size = (size_t)count * r->copy->header.parts[id].entry_bytes;
    void *list = mem_alloc_unset(size); /* written as a whole */

    if (!list)
        return NULL;
    if (size > 0)
        copy_entries(list, entry_at(r, id, 0), size);
    r->copy->counts[id] = count;
    return list;
}

static int
copy_frames(struct reading *r)
{
    uint32_t end = 0;

    for (uint32_t i = 0; i < r->copy->counts[SEGMENT_STACKS]; i++) {
        const struct seen_stack *stack = &r->copy->stacks[i];

        if (stack->first_frame + stack->seen.depth > end)
            end = stack->first_frame + stack->seen.depth;
    }
    r->copy->frames = copy_first(r, SEGMENT_FRAMES, end);
    return r->copy->frames ? 0 : -1;
}

static bool
is_module(const struct segment_module *m)
{
    return m->start != 0 && m->start < m->end && m->end <= SEGMENT_PC_MASK &&
           m->build_id_size <= SEGMENT_BUILD_ID_MAX;
}

static uint32_t
module_of(uint64_t frame)
{
    return (uint32_t)(frame >> SEGMENT_PC_BITS); /* + 1 */
}

/* A frame of a module that cannot be has none. */
static int
copy_modules(struct reading *r)
{
    const uint32_t room = r->copy->header.parts[SEGMENT_MODULES].count;
    uint64_t *frames = r->copy->frames;
    struct segment_module *list;
    uint32_t end = 0;

    for (uint32_t i = 0; i < r->copy->counts[SEGMENT_FRAMES]; i++) {
        if (module_of(frames[i]) > room)
            frames[i] &= SEGMENT_PC_MASK;
        if (module_of(frames[i]) > end)
            end = module_of(frames[i]);
    }
    r->copy->modules = list = copy_first(r, SEGMENT_MODULES, end);
    if (!list)
        return -1;
    for (uint32_t i = 0; i < end; i++)
        if (!is_module(&list[i]))
            list[i].start = 0;
    for (uint32_t i = 0; i < r->copy->counts[SEGMENT_FRAMES]; i++) {
        end = module_of(frames[i]);
        if (end > 0 && list[end - 1].start == 0)
            frames[i] &= SEGMENT_PC_MASK;
    }
    return 0;
}

static int
copy_threads(struct reading *r)
{
    const uint32_t room = r->copy->header.parts[SEGMENT_THREADS].count;
    uint32_t end = r->copy->header.thread_count;

    if (end > room)
        end = room;
    for (uint32_t i = 0; i < r->copy->counts[SEGMENT_SAMPLES]; i++) {
        uint32_t thread = r->copy->samples[i].sample.thread;

        if (thread >= end && thread < room)
            end = thread + 1;
    }
    r->copy->threads = copy_first(r, SEGMENT_THREADS, end);
    return r->copy->threads ? 0 : -1;
}

static int
read_header(int fd, struct segment_header *header, struct error *err)
{
    struct stat status;
    ssize_t n = pread(fd, header, sizeof(*header), 0);
    const char *fault;
    int seals;

    if (n < 0 || fstat(fd, &status) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot read the recorder's segment");
        return -1;
    }
    fault = n == (ssize_t)sizeof(*header)
                ? segment_check(header, (uint64_t)status.st_size)
                : "it is too short";
    seals = fcntl(fd, F_GET_SEALS);
    if (!fault && (seals < 0 || !(seals & F_SEAL_SHRINK)))
        fault = "it could shrink";
    if (fault)
        error_set(err, ER_UNKNOWN, "cannot read the recorder's segment: %s",
                  fault);
    return fault ? -1 : 0;
}

/* What refers to something comes before it. */
static int
copy_parts(struct reading *r)
{
    struct segment_header *header = &r->copy->header, now;

    if (scan_part(r, SEGMENT_KEYS, take_keys) != 0 || copy_stacks(r) != 0)
        return -1;
    check_samples(r);
    copy_entries(&now, r->bytes, sizeof(now));
    memcpy(now.parts, header->parts, sizeof(now.parts));
    *header = now;
    return copy_frames(r) == 0 && copy_modules(r) == 0 && copy_threads(r) == 0
               ? 0
               : -1;
}

static int
map_segment(struct reading *r, struct error *err)
{
    const size_t size = r->copy->header.segment_bytes;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, r->fd, 0);

    if (bytes == MAP_FAILED) {
        error_sys(err, ER_UNKNOWN, "cannot map the recorder's segment");
        return -1;
    }
    r->bytes = bytes;
    r->size = size;
    return 0;
}

struct segment_copy *
segment_read(int fd, struct error *err)
{
    struct reading r = {.fd = fd};
    int rc = -1;

    r.copy = mem_zalloc(1, sizeof(*r.copy));
    if (!r.copy) {
        error_memory(err, "a copy of the recorder's segment");
        return NULL;
    }
    if (read_header(fd, &r.copy->header, err) == 0 &&
        map_segment(&r, err) == 0) {
        rc = copy_parts(&r);
        if (rc != 0)
            error_memory(err, "a copy of the recorder's segment");
        munmap((void *)(uintptr_t)r.bytes, r.size);
    }
    mem_free(r.numbers);
    if (rc == 0)
        return r.copy;
    segment_copy_free(r.copy);
    return NULL;
}

void
segment_copy_free(struct segment_copy *copy)
{
    if (!copy)
        return;
    mem_free(copy->samples);
    mem_free(copy->stacks);
    mem_free(copy->frames);
    mem_free(copy->modules);
    mem_free(copy->threads);
    mem_free(copy);
}

int
segment_copy_check(const struct segment_copy *copy, struct error *err)
{
    if (copy->damaged == 0)
        return 0;
    error_set(err, ER_UNKNOWN,
              "the recorder's segment is damaged: %llu of its entries were "
              "left out",
              (unsigned long long)copy->damaged);
    return -1;
}

const struct segment_header *
segment_copy_header(const struct segment_copy *copy)
{
    return &copy->header;
}

uint32_t
segment_copy_count(const struct segment_copy *copy, enum segment_part_id part)
{
    return copy->counts[part];
}

bool
segment_copy_stack(const struct segment_copy *copy, uint32_t stack,
                   struct segment_stack_seen *seen)
{
    if (stack >= copy->counts[SEGMENT_STACKS])
        return false;
    *seen = copy->stacks[stack].seen;
    return true;
}

bool
segment_copy_module(const struct segment_copy *copy, uint32_t index,
                    struct segment_module *module)
{
    if (index >= copy->counts[SEGMENT_MODULES] ||
        copy->modules[index].start == 0)
        return false;
    *module = copy->modules[index];
    return true;
}

bool
segment_copy_frame(const struct segment_copy *copy, uint32_t stack, uint32_t n,
                   uint64_t *pc, uint32_t *module)
{
    const struct seen_stack *s = &copy->stacks[stack];
    uint64_t frame;

    if (stack >= copy->counts[SEGMENT_STACKS] || n >= s->seen.depth)
        return false;
    frame = copy->frames[s->first_frame + n];
    *pc = frame & SEGMENT_PC_MASK;
    *module = module_of(frame) - 1;
    return true;
}

bool
segment_copy_sample(const struct segment_copy *copy, uint32_t index,
                    struct segment_sample *sample, double *weight)
{
    if (index >= copy->counts[SEGMENT_SAMPLES])
        return false;
    *sample = copy->samples[index].sample;
    *weight = copy->samples[index].weight;
    return true;
}

bool
segment_copy_thread(const struct segment_copy *copy, uint32_t index,
                    struct segment_thread *thread)
{
    if (index >= copy->counts[SEGMENT_THREADS])
        return false;
    *thread = copy->threads[index];
    return thread->tid != 0 && thread->tid != UINT32_MAX;
}
