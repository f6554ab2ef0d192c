/*
 * segment_file.c - see segment_file.h.
 *
 *     0       head of the first copy, padded to a page
 *     4096    of the second
 *     8192    the first copy, then the second, as long as the segment is; holes
 *             where that has some
 *
 *     head    magic u64, version u32, note's size u32, number u64, segment's
 *             bytes u64, sum of the copy's pages u64, sum of what is in front
 *             of this and of the note u64, note
 *
 * evidence/last_moment.c calls this about once a second, while the recorder
 * writes without a lock: the point is to have the profile of a database whose
 * death takes heapwired with it.  So pages of a part are copied before those
 * that they refer to, as in segment_read.c, and the segment's header last.  A
 * page is known by its hash, so an idle database costs reads and no writes.
 */
#include "segment_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "buffer.h"
#include "hash.h"
#include "memory.h"
#include "reader.h"
#include "segment_layout.h"
#include "segment_read.h"

enum {
    VERSION = 1,
    PAGE = 4096,
    CHUNK_PAGES = 64,
    COPIES = 2,
    HEAD_BYTES = 48, /* without the note */
    DATA_AT = COPIES * PAGE
};
_Static_assert(HEAD_BYTES + SEGMENT_FILE_NOTE_MAX <= PAGE, "one page");

static const uint64_t magic = 0x3154534154535748; /* "HWSTAST1" */

static const enum segment_part_id order[] = {
    SEGMENT_KEYS,   SEGMENT_SAMPLES, SEGMENT_STACKS,
    SEGMENT_FRAMES, SEGMENT_MODULES, SEGMENT_THREADS,
};

/* One of the two copies, or a file in memory. */
struct copy {
    int fd;
    uint64_t at;      /* where it begins in fd */
    uint64_t *hashes; /* of its pages as they are in the copy; 0: zeros */
    int64_t written;  /* bytes */
};

struct segment_file {
    int fd;
    uint64_t bytes; /* size of the segment; 0: nothing was copied yet */
    struct copy copies[COPIES];
    int newest;
    uint64_t number, sum; /* of the newest copy; number 0: there is none */
    bool touched;         /* the head of the older copy has been made void */
    uint8_t chunk[CHUNK_PAGES * PAGE];
};

static uint64_t
pages_of(uint64_t bytes)
{
    return (bytes + PAGE - 1) / PAGE;
}

/* ---- pages ---- */

static bool
write_segment_bytes(int fd, const uint8_t *from, size_t size, uint64_t at)
{
    while (size > 0) {
        ssize_t n = pwrite(fd, from, size, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n == 0 ? ENOSPC : errno;
            return false;
        }
        from += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

static uint64_t
hash_page(const uint8_t *page, uint64_t number)
{
    uint64_t hash;

    if (page[0] == 0 && memcmp(page, page + 1, PAGE - 1) == 0)
        return 0;
    hash = hash_bytes(number, (const char *)page, PAGE);
    return hash != 0 ? hash : 1;
}

static uint64_t
sum_pages(const uint64_t *hashes, uint64_t pages)
{
    uint64_t sum = magic;

    for (uint64_t i = 0; i < pages; i++)
        sum = hash_mix(sum, hashes[i]);
    return sum;
}

/* Narrows from and until (pages) to the first range that is no hole; false:
 * there is none. */
static bool
next_range(int fd, uint64_t offset, uint64_t *from, uint64_t *until)
{
    off_t data = lseek(fd, (off_t)(offset + *from * PAGE), SEEK_DATA), hole;

    if (data < 0)
        return errno != ENXIO; /* the file system cannot tell: take all of it */
    if ((uint64_t)data >= offset + *until * PAGE)
        return false;
    hole = lseek(fd, data, SEEK_HOLE);
    if ((uint64_t)data > offset)
        *from = ((uint64_t)data - offset) / PAGE;
    if (hole > data && pages_of((uint64_t)hole - offset) < *until)
        *until = pages_of((uint64_t)hole - offset);
    return true;
}

/* Called before a page of the copy changes: its head must be void by then. */
typedef bool (*before_page)(void *arg);

struct copying {
    int segment;
    struct copy *to;
    uint8_t *chunk;
    before_page before;
    void *arg;
};

static bool
put_pages(struct copying *c, const uint8_t *pages, uint64_t at, size_t count)
{
    if (count == 0)
        return true;
    if (c->before && !c->before(c->arg))
        return false;
    c->to->written += (int64_t)count * PAGE;
    if (write_segment_bytes(c->to->fd, pages, count * PAGE,
                            c->to->at + at * PAGE))
        return true;
    for (size_t i = 0; i < count; i++)
        /* a write failed: its content is unknown */
        c->to->hashes[at + i] = UINT64_MAX;
    return false;
}

/* Writes the pages of the chunk that differ, in runs. */
static bool
put_changed(struct copying *c, uint64_t at, size_t count)
{
    size_t run = 0;

    for (size_t i = 0; i < count; i++) {
        const uint8_t *page = c->chunk + i * PAGE;
        uint64_t hash = hash_page(page, at + i);

        if (hash == c->to->hashes[at + i]) {
            if (!put_pages(c, page - run * PAGE, at + i - run, run))
                return false;
            run = 0;
        } else {
            c->to->hashes[at + i] = hash;
            run++;
        }
    }
    return put_pages(c, c->chunk + (count - run) * PAGE, at + count - run, run);
}

/* The segment has a hole there: the copy's pages become zeros. */
static bool
put_zeros(struct copying *c, uint64_t from, uint64_t until)
{
    static const uint8_t zeros[PAGE];

    for (; from < until; from++) {
        if (c->to->hashes[from] == 0)
            continue;
        if (!put_pages(c, zeros, from, 1))
            return false;
        c->to->hashes[from] = 0;
    }
    return true;
}

static bool
copy_pages(struct copying *c, uint64_t from, uint64_t end)
{
    while (from < end) {
        uint64_t data = from, until = end;

        if (!next_range(c->segment, 0, &data, &until))
            return put_zeros(c, from, end);
        if (!put_zeros(c, from, data))
            return false;
        while (data < until) {
            size_t count =
                until - data < CHUNK_PAGES ? until - data : CHUNK_PAGES;

            if (!segment_read_range(c->segment, c->chunk, data * PAGE,
                                    count * PAGE) ||
                !put_changed(c, data, count))
                return false;
            data += count;
        }
        from = until;
    }
    return true;
}

static bool
read_valid_segment_header(int segment, struct segment_header *header)
{
    off_t size = lseek(segment, 0, SEEK_END);

    return size > 0 && (uint64_t)size % PAGE == 0 &&
           segment_read_range(segment, header, 0, sizeof(*header)) &&
           segment_check(header, (uint64_t)size) == NULL;
}

static bool
copy_segment_parts(struct copying *c, const struct segment_header *header,
                   const struct segment_owner *owner)
{
    struct segment_owner now;

    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        const struct segment_part *part = &header->parts[order[i]];

        if (!copy_pages(c, part->offset / PAGE,
                        pages_of(part->offset +
                                 (uint64_t)part->count * part->entry_bytes)))
            return false;
    }
    if (!copy_pages(c, 0, 1))
        return false;
    /* A new owner raises executions before it empties the table: what was
     * copied is of one owner if it is the same now. */
    if (segment_owner_read(c->segment, &now) && segment_owner_same(&now, owner))
        return true;
    errno = ESTALE;
    return false;
}

/* ---- heads ---- */

struct head {
    uint64_t number, bytes, sum;
    uint32_t note_size;
};

static uint64_t
sum_head(const uint8_t *page, size_t note_size)
{
    return hash_bytes(hash_bytes(magic, (const char *)page, HEAD_BYTES - 8),
                      (const char *)page + HEAD_BYTES, note_size);
}

static bool
write_head(int fd, int copy, const struct head *head, const void *note)
{
    uint8_t page[PAGE] = {0};
    uint64_t sum;
    struct buffer b;
    bool ok;

    buffer_init(&b, HEAD_BYTES);
    buffer_u64(&b, magic);
    buffer_u32(&b, VERSION);
    buffer_u32(&b, head->note_size);
    buffer_u64(&b, head->number);
    buffer_u64(&b, head->bytes);
    buffer_u64(&b, head->sum);
    ok = !b.failed;
    if (ok)
        memcpy(page, b.data, b.size);
    buffer_fini(&b);
    memcpy(page + HEAD_BYTES, note, head->note_size);
    sum = sum_head(page, head->note_size);
    for (int i = 0; i < 8; i++)
        page[HEAD_BYTES - 8 + i] = (uint8_t)(sum >> 8 * i);
    return ok && write_segment_bytes(fd, page, PAGE, (uint64_t)copy * PAGE);
}

/* False: the head is void or damaged. */
static bool
parse_head(const uint8_t page[PAGE], struct head *head)
{
    struct reader r = reader_of(page, HEAD_BYTES);
    uint64_t found = reader_u64(&r);
    uint32_t version = reader_u32(&r);

    head->note_size = reader_u32(&r);
    head->number = reader_u64(&r);
    head->bytes = reader_u64(&r);
    head->sum = reader_u64(&r);
    return found == magic && version == VERSION &&
           head->note_size <= SEGMENT_FILE_NOTE_MAX && head->bytes > 0 &&
           head->bytes <= SEGMENT_BYTES_MAX && head->bytes % PAGE == 0 &&
           reader_u64(&r) == sum_head(page, head->note_size);
}

/* ---- public ---- */

bool
segment_owner_read(int segment, struct segment_owner *owner)
{
    struct segment_header header;

    if (segment < 0 || !read_valid_segment_header(segment, &header))
        return false;
    *owner = (struct segment_owner){.pid = header.owner,
                                    .started = header.owner_started,
                                    .forked_from = header.forked_from,
                                    .executions = header.executions,
                                    .active = header.settings.active != 0,
                                    .sampled = header.frame_count > 0,
                                    .mean_bytes = header.settings.mean_bytes};
    return true;
}

bool
segment_owner_same(const struct segment_owner *a, const struct segment_owner *b)
{
    return a->pid == b->pid && a->started == b->started &&
           a->executions == b->executions;
}

struct segment_file *
segment_file_new(int fd)
{
    struct segment_file *file = mem_zalloc(1, sizeof(*file));

    if (!file)
        return NULL;
    file->fd = fd;
    return file;
}

void
segment_file_free(struct segment_file *file)
{
    if (!file)
        return;
    close(file->fd);
    for (int i = 0; i < COPIES; i++)
        mem_free(file->copies[i].hashes);
    mem_free(file);
}

int
segment_file_fd(const struct segment_file *file)
{
    return file->fd;
}

/* Sizes the file at the first write: all segments of a file have one size. */
static bool
reserve_segment_copies(struct segment_file *file, uint64_t bytes)
{
    if (file->bytes == bytes)
        return true;
    if (file->bytes != 0) {
        errno = EINVAL;
        return false;
    }
    for (int i = 0; i < COPIES; i++) {
        struct copy *copy = &file->copies[i];

        copy->fd = file->fd;
        copy->at = DATA_AT + (uint64_t)i * bytes;
        if (!copy->hashes)
            copy->hashes = mem_zalloc(pages_of(bytes), sizeof(*copy->hashes));
        if (!copy->hashes) {
            errno = ENOMEM;
            return false;
        }
    }
    if (ftruncate(file->fd, (off_t)(DATA_AT + COPIES * bytes)) != 0)
        return false;
    file->bytes = bytes;
    return true;
}

/* Overwrites the magic number of the older copy's head, once before its first
 * change.  A copy without changes keeps its head, and costs no write. */
static bool
make_void(void *arg)
{
    static const uint8_t none[8];
    struct segment_file *file = arg;

    if (!file->touched)
        file->touched = write_segment_bytes(
            file->fd, none, sizeof(none), (uint64_t)(1 - file->newest) * PAGE);
    return file->touched;
}

int64_t
segment_file_write(struct segment_file *file, int segment,
                   const struct segment_owner *owner, const void *note,
                   size_t note_size)
{
    int other = 1 - file->newest;
    struct copy *copy = &file->copies[other];
    struct copying copying = {segment, copy, file->chunk, make_void, file};
    struct segment_header header;
    struct head head = {.number = file->number + 1,
                        .note_size = (uint32_t)note_size};

    if (note_size > SEGMENT_FILE_NOTE_MAX ||
        !read_valid_segment_header(segment, &header)) {
        errno = EINVAL;
        return -1;
    }
    if (!reserve_segment_copies(file, header.segment_bytes))
        return -1;
    copy->written = 0;
    head.bytes = file->bytes;
    if (!copy_segment_parts(&copying, &header, owner))
        return -1;
    head.sum = sum_pages(copy->hashes, pages_of(file->bytes));
    /* Nothing changed since the newest copy, nor in this one. */
    if (!file->touched && file->number > 0 && head.sum == file->sum)
        return 0;
    if (!write_head(file->fd, other, &head, note))
        return -1;
    file->number = head.number;
    file->sum = head.sum;
    file->newest = other;
    file->touched = false;
    return copy->written + PAGE;
}

/* An empty sealed file in memory; -1 with errno. */
static int
open_memory(uint64_t bytes)
{
    int fd = memfd_create("heapwire-copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int error;

    if (fd < 0 || (ftruncate(fd, (off_t)bytes) == 0 &&
                   fcntl(fd, F_ADD_SEALS, segment_seals()) == 0))
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Reads a copy into memory; -1 if the sum of its pages is wrong. */
static int
read_copy(int fd, int copy, const struct head *head, uint8_t *chunk)
{
    const uint64_t pages = pages_of(head->bytes);
    const uint64_t at = DATA_AT + (uint64_t)copy * head->bytes;
    uint64_t *hashes = mem_zalloc(pages, sizeof(*hashes));
    int memory = hashes ? open_memory(head->bytes) : -1;
    bool ok = memory >= 0;
    uint64_t page = 0, until;

    while (ok && page < pages) {
        size_t count;

        until = pages;
        if (!next_range(fd, at, &page, &until))
            break;
        count = until - page < CHUNK_PAGES ? until - page : CHUNK_PAGES;
        ok = segment_read_range(fd, chunk, at + page * PAGE, count * PAGE) &&
             write_segment_bytes(memory, chunk, count * PAGE, page * PAGE);
        for (size_t i = 0; i < count; i++)
            hashes[page + i] = hash_page(chunk + i * PAGE, page + i);
        page += count;
    }
    if (ok && sum_pages(hashes, pages) == head->sum) {
        mem_free(hashes);
        return memory;
    }
    mem_free(hashes);
    if (memory >= 0)
        close(memory);
    return -1;
}

int
segment_file_read(int fd, struct buffer *note)
{
    uint8_t pages[COPIES][PAGE];
    uint8_t *chunk = mem_alloc_unset((size_t)CHUNK_PAGES * PAGE);
    struct head heads[COPIES];
    bool there[COPIES];
    int memory = -1, copy;

    for (int i = 0; i < COPIES; i++)
        there[i] = chunk &&
                   segment_read_range(fd, pages[i], (uint64_t)i * PAGE, PAGE) &&
                   parse_head(pages[i], &heads[i]);
    for (int i = 0; i < COPIES && memory < 0; i++) {
        /* The newer one first; the older one if that is damaged. */
        copy = there[1] && (!there[0] || heads[1].number > heads[0].number);
        if (!there[copy])
            break;
        memory = read_copy(fd, copy, &heads[copy], chunk);
        if (memory >= 0)
            buffer_add(note, pages[copy] + HEAD_BYTES, heads[copy].note_size);
        there[copy] = false;
    }
    mem_free(chunk);
    return memory;
}

int
segment_clone(int segment, const struct segment_owner *owner)
{
    struct copying copying = {.segment = segment};
    struct copy to = {.fd = -1};
    struct segment_header header;
    bool ok = false;
    int error = EINVAL;

    if (!read_valid_segment_header(segment, &header))
        goto out;
    error = ENOMEM;
    copying.to = &to;
    copying.chunk = mem_alloc_unset((size_t)CHUNK_PAGES * PAGE);
    to.hashes = mem_zalloc(pages_of(header.segment_bytes), sizeof(*to.hashes));
    if (!copying.chunk || !to.hashes)
        goto out;
    to.fd = open_memory(header.segment_bytes);
    ok = to.fd >= 0 && copy_segment_parts(&copying, &header, owner);
    error = errno;
out:
    mem_free(copying.chunk);
    mem_free(to.hashes);
    if (!ok && to.fd >= 0)
        close(to.fd);
    errno = error;
    return ok ? to.fd : -1;
}

uint64_t
segment_live_bytes(int segment)
{
    struct segment_header header;
    struct segment_stack stacks[PAGE / sizeof(struct segment_stack)];
    uint64_t live = 0, from, until, end;

    if (!read_valid_segment_header(segment, &header) ||
        header.parts[SEGMENT_STACKS].offset % PAGE != 0)
        return 0;
    from = header.parts[SEGMENT_STACKS].offset / PAGE;
    end = from +
          (uint64_t)header.parts[SEGMENT_STACKS].count * sizeof(*stacks) / PAGE;
    while (from < end) {
        until = end;
        if (!next_range(segment, 0, &from, &until))
            break;
        for (; from < until; from++) {
            if (!segment_read_range(segment, stacks, from * PAGE, PAGE))
                return 0;
            for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++)
                live += stacks[i].allocated_bytes - stacks[i].freed_bytes;
        }
    }
    return live < SEGMENT_MEAN_MAX ? live : 0;
}
