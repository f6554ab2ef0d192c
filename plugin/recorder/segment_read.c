/*
 * segment_read.c - see segment_read.h.
 *
 * A segment is mostly room: 15 MB, of which a database of 2,000 stacks uses one
 * or two, spread by hashes.  So hashed parts are read in pieces that fit a
 * core's cache, and only what is in use is kept; of the others only as much is
 * read as something refers to.
 *
 * What refers to something is read before it: as the writer publishes the
 * other way round, the thing is there.  A slot of the samples that has been
 * used again between key and fields is known by the key among the fields.
 */
#include "segment_read.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "estimator.h"
#include "memory.h"
#include "segment_layout.h"

/* A slot that is in use. */
struct live_sample {
    struct segment_sample sample; /* member unused: its slot */
    union {
        uint64_t key; /* until the fields are read */
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
    uint64_t damaged; /* number of impossible entries */
    bool cut;         /* it could not be read to its end */
    struct live_sample *samples;
    struct seen_stack *stacks;      /* the first is SEGMENT_STACK_LOST */
    uint64_t *frames;               /* up to the last that a stack refers to */
    struct segment_module *modules; /* up to the last that a frame refers to */
    struct segment_thread *threads;
    uint32_t counts[SEGMENT_PARTS];
};

/* A copy that is being made. */
struct reading {
    int fd;
    struct segment_copy *copy;
    uint8_t *piece; /* PIECE_BYTES */
    bool passed_on; /* another process or program took it over meanwhile */
    /* by slot of the stacks: its number in the copy + 1, or 0 */
    uint32_t *numbers;
    uint32_t rooms[SEGMENT_PARTS]; /* capacities of the copy's lists */
};

enum { PIECE_BYTES = 64 << 10, LIST_FIRST = 256 };

bool
segment_read_range(int fd, void *to, uint64_t at, uint64_t size)
{
    uint8_t *out = to;

    while (size > 0) {
        ssize_t n = pread(fd, out, size, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n == 0 ? EIO : errno;
            return false;
        }
        out += n;
        at += (uint64_t)n;
        size -= (uint64_t)n;
    }
    return true;
}

/* Where the next data after at begins, or end: most of the segment is a
 * hole. */
static uint64_t
skip_hole(int fd, uint64_t at, uint64_t end)
{
    off_t data = lseek(fd, (off_t)at, SEEK_DATA);

    if (data < 0)
        return errno == ENXIO ? end : at;
    if ((uint64_t)data > end) /* it lies in another part */
        return end;
    return (uint64_t)data > at ? (uint64_t)data : at;
}

/* Calls take for all entries of a part that do not lie in holes (those are
 * zero), in pieces that fit a core's cache.  -1: no memory. */
static int
scan_segment_part(struct reading *r, enum segment_part_id id,
                  int (*take)(struct reading *r, uint32_t first,
                              uint32_t count))
{
    const struct segment_part *part = &r->copy->header.parts[id];
    const uint64_t size = part->entry_bytes;
    const uint32_t most = PIECE_BYTES / part->entry_bytes;
    uint32_t at = 0, count;

    for (; at < part->count; at += count) {
        uint64_t from = part->offset + at * size;
        uint64_t data =
            skip_hole(r->fd, from, part->offset + part->count * size);

        at += (uint32_t)((data - from) / size);
        count = part->count - at < most ? part->count - at : most;
        if (!segment_read_range(r->fd, r->piece, part->offset + at * size,
                                count * size)) {
            r->copy->cut = true;
            return 0;
        }
        if (take(r, at, count) != 0)
            return -1;
    }
    return 0;
}

/* Appends an entry to a list of the copy; NULL: no memory. */
static void *
add_copy_entry(struct reading *r, enum segment_part_id id, void **list,
               size_t size)
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

/* Collects keys in use.  A claim is no damage: its writer is at work, or was
 * interrupted. */
static int
take_keys(struct reading *r, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct live_sample *live;
        uint64_t key;

        memcpy(&key, r->piece + i * sizeof(key), sizeof(key));
        if (key == 0 || ((key & SEGMENT_CLAIM) && !(key & SEGMENT_REALLOC)))
            continue;
        live = add_copy_entry(r, SEGMENT_SAMPLES, (void **)&r->copy->samples,
                              sizeof(*live));
        if (!live)
            return -1;
        live->key = key;
        live->sample.unused = first + i;
    }
    return 0;
}

/* Reads the fields of the samples from the i-th on that lie in one piece;
 * returns the index behind them. */
static uint32_t
read_sample_piece(struct reading *r, uint32_t i)
{
    const struct segment_part *part = &r->copy->header.parts[SEGMENT_SAMPLES];
    struct live_sample *list = r->copy->samples;
    const uint32_t first = list[i].sample.unused;
    uint32_t end = i + 1;

    while (end < r->copy->counts[SEGMENT_SAMPLES] &&
           list[end].sample.unused - first < PIECE_BYTES / sizeof(list->sample))
        end++;
    if (!segment_read_range(
            r->fd, r->piece,
            part->offset + (uint64_t)first * sizeof(list->sample),
            (list[end - 1].sample.unused - first + 1) * sizeof(list->sample))) {
        r->copy->cut = true;
        memset(r->piece, 0, PIECE_BYTES);
    }
    for (; i < end; i++)
        memcpy(&list[i].sample,
               r->piece +
                   (list[i].sample.unused - first) * sizeof(list->sample),
               sizeof(list->sample));
    return end;
}

static void
read_fields(struct reading *r)
{
    for (uint32_t i = 0; i < r->copy->counts[SEGMENT_SAMPLES];)
        i = read_sample_piece(r, i);
}

static bool
can_be(const struct reading *r, const struct segment_sample *sample)
{
    return sample->size <= SEGMENT_MEAN_MAX &&
           sample->mean <= SEGMENT_MEAN_MAX &&
           sample->stack < r->copy->header.parts[SEGMENT_STACKS].count &&
           r->numbers[sample->stack] != 0;
}

/* Whether fields and key belong together.  A slot that was reused between the
 * two reads is no damage. */
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
take_stack_entries(struct reading *r, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t place = first + i;
        struct segment_stack stack;
        struct seen_stack *seen;

        memcpy(&stack, r->piece + i * sizeof(stack), sizeof(stack));
        if ((stack.hash == 0 && place != SEGMENT_STACK_LOST) ||
            (stack.hash & SEGMENT_CLAIM))
            continue;
        if (!is_in_bounds(r, &stack)) {
            r->copy->damaged++;
            continue;
        }
        seen = place == SEGMENT_STACK_LOST
                   ? r->copy->stacks
                   : add_copy_entry(r, SEGMENT_STACKS,
                                    (void **)&r->copy->stacks, sizeof(*seen));
        if (!seen)
            return -1;
        see_stack(&stack, seen);
        if (place != SEGMENT_STACK_LOST)
            r->numbers[place] = r->copy->counts[SEGMENT_STACKS];
    }
    return 0;
}

/* Stack 0, of samples without a stack, always exists. */
static int
read_stacks(struct reading *r)
{
    struct seen_stack *lost;

    r->numbers = mem_zalloc(r->copy->header.parts[SEGMENT_STACKS].count,
                            sizeof(*r->numbers));
    lost = add_copy_entry(r, SEGMENT_STACKS, (void **)&r->copy->stacks,
                          sizeof(*lost));
    if (!r->numbers || !lost)
        return -1;
    *lost = (struct seen_stack){0};
    r->numbers[SEGMENT_STACK_LOST] = 1;
    return scan_segment_part(r, SEGMENT_STACKS, take_stack_entries);
}

/* ---- what those refer to ---- */

/* Reads the first count entries of a part.  NULL: no memory. */
static void *
read_first(struct reading *r, enum segment_part_id id, uint32_t count)
{
    const struct segment_part *part = &r->copy->header.parts[id];
    void *list = mem_zalloc(count, part->entry_bytes);

    if (!list)
        return NULL;
    if (!segment_read_range(r->fd, list, part->offset,
                            (uint64_t)count * part->entry_bytes))
        r->copy->cut = true;
    r->copy->counts[id] = count;
    return list;
}

static int
read_frames(struct reading *r)
{
    uint32_t end = 0;

    for (uint32_t i = 0; i < r->copy->counts[SEGMENT_STACKS]; i++) {
        const struct seen_stack *stack = &r->copy->stacks[i];

        if (stack->first_frame + stack->seen.depth > end)
            end = stack->first_frame + stack->seen.depth;
    }
    r->copy->frames = read_first(r, SEGMENT_FRAMES, end);
    return r->copy->frames ? 0 : -1;
}

static bool
is_valid_module(const struct segment_module *m)
{
    return m->start != 0 && m->start < m->end && m->end <= SEGMENT_PC_MASK &&
           m->build_id_size <= SEGMENT_BUILD_ID_MAX;
}

static uint32_t
frame_module_number(uint64_t frame)
{
    return (uint32_t)(frame >> SEGMENT_PC_BITS); /* + 1 */
}

/* A frame whose module is impossible becomes one without a module. */
static int
read_modules(struct reading *r)
{
    const uint32_t room = r->copy->header.parts[SEGMENT_MODULES].count;
    uint64_t *frames = r->copy->frames;
    struct segment_module *list;
    uint32_t end = 0;

    for (uint32_t i = 0; i < r->copy->counts[SEGMENT_FRAMES]; i++) {
        if (frame_module_number(frames[i]) > room)
            frames[i] &= SEGMENT_PC_MASK;
        if (frame_module_number(frames[i]) > end)
            end = frame_module_number(frames[i]);
    }
    r->copy->modules = list = read_first(r, SEGMENT_MODULES, end);
    if (!list)
        return -1;
    for (uint32_t i = 0; i < end; i++)
        if (!is_valid_module(&list[i]))
            list[i].start = 0;
    for (uint32_t i = 0; i < r->copy->counts[SEGMENT_FRAMES]; i++) {
        end = frame_module_number(frames[i]);
        if (end > 0 && list[end - 1].start == 0)
            frames[i] &= SEGMENT_PC_MASK;
    }
    return 0;
}

static int
read_segment_threads(struct reading *r)
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
    r->copy->threads = read_first(r, SEGMENT_THREADS, end);
    return r->copy->threads ? 0 : -1;
}

static int
read_segment_header(int fd, struct segment_header *header, struct error *err)
{
    struct stat status;
    ssize_t n = pread(fd, header, sizeof(*header), 0);
    const char *fault;

    if (n < 0 || fstat(fd, &status) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot read the recorder's segment");
        return -1;
    }
    fault = n == (ssize_t)sizeof(*header)
                ? segment_check(header, (uint64_t)status.st_size)
                : "it is too short";
    if (fault)
        error_set(err, ER_UNKNOWN, "cannot read the recorder's segment: %s",
                  fault);
    return fault ? -1 : 0;
}

/* Reads what refers to something before what it refers to. */
static int
read_parts(struct reading *r)
{
    struct segment_header *header = &r->copy->header, now;

    if (scan_segment_part(r, SEGMENT_KEYS, take_keys) != 0)
        return -1;
    read_fields(r);
    if (read_stacks(r) != 0)
        return -1;
    check_samples(r);
    if (pread(r->fd, &now, sizeof(now), 0) == (ssize_t)sizeof(now)) {
        r->passed_on =
            now.owner != header->owner || now.executions != header->executions;
        /* The parts were checked: a header that changed since is not
         * trusted. */
        memcpy(now.parts, header->parts, sizeof(now.parts));
        *header = now;
    }
    if (r->passed_on)
        return -1;
    return read_frames(r) == 0 && read_modules(r) == 0 &&
                   read_segment_threads(r) == 0
               ? 0
               : -1;
}

struct segment_copy *
segment_read(int fd, struct error *err)
{
    struct reading r = {.fd = fd};
    int rc = -1;

    r.copy = mem_zalloc(1, sizeof(*r.copy));
    if (r.copy && read_segment_header(fd, &r.copy->header, err) != 0) {
        segment_copy_free(r.copy);
        return NULL;
    }
    /* Not cleared: it is read only as far as it was written. */
    r.piece = r.copy ? mem_alloc_unset(PIECE_BYTES) : NULL;
    if (r.piece)
        rc = read_parts(&r);
    mem_free(r.piece);
    mem_free(r.numbers);
    if (rc == 0)
        return r.copy;
    if (r.passed_on)
        error_set(err, ER_UNKNOWN,
                  "another program took the recorder's segment over while it "
                  "was read: try again");
    else
        error_memory(err, "a copy of the recorder's segment");
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
    if (copy->damaged == 0 && !copy->cut)
        return 0;
    error_set(err, ER_UNKNOWN,
              "the recorder's segment is damaged: %llu of its entries were "
              "left out%s",
              (unsigned long long)copy->damaged,
              copy->cut ? ", and it could not be read to its end" : "");
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
    *module = frame_module_number(frame) - 1;
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
