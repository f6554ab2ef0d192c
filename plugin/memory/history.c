/*
 * history.c - see history.h.
 *
 * The file: a head and HISTORY_SAMPLES slots of HISTORY_RECORD bytes each,
 * little-endian: those of the seconds, of the minutes, of the hours.  In each
 * such ring samples are numbered from 1; number n of a ring of N has its slot
 * (n - 1) % N.  A record ends with a checksum of what is in front of it.
 * Version 1 had one ring, of 21600 seconds: such a file is read and renewed.
 *
 *     head     magic u64, version u32, record size u32, slots u32, zeros
 *     sample   number u64, at i64, pid u32, flags u32, start_ticks u64,
 *              started i64, then the figures, u64 each: all ones: not known
 *
 * The memory sampler adds a sample each second.  It writes at most one record
 * for each ring, in place, so the file needs no log, no rename and no cleaning
 * up: after a crash at most the newest records are torn, and their checksums
 * show it.  pwrite() is used, and no shared mapping: a full disk is then an
 * error, not a SIGBUS.  All samples are in memory, too (4 MB), so reading
 * never waits for the disk, and a file that was deleted can be written again.
 */
#include "history.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "history_record.h"
#include "log.h"
#include "memory.h"
#include "own_file.h"

enum {
    VERSION = 2,
    FIRST_VERSION = 1,
    FIRST_SAMPLES = 6 * 3600, /* of version 1 */
    READ_MAX = (FIRST_SAMPLES + 1) * HISTORY_RECORD,
};

enum { RINGS = 3 };

/* The finest first, as they lie in the file. */
static const struct history_ring {
    uint32_t seconds, first, slots;
} rings[RINGS] = {{1, 0, HISTORY_SECONDS},
                  {60, HISTORY_SECONDS, HISTORY_MINUTES},
                  {3600, HISTORY_SECONDS + HISTORY_MINUTES, HISTORY_HOURS}};

struct history {
    pthread_mutex_t lock; /* guards the samples, numbers and next */
    struct history_sample samples[HISTORY_SAMPLES];
    uint64_t numbers[HISTORY_SAMPLES]; /* 0: no sample there */
    uint64_t next[RINGS];              /* the number of the next */
    /* used by the adding thread alone; -1: no file */
    int fd;
    char *dir;   /* where it lies */
    bool faulty; /* the last write failed */
    /* an older file is being read: write nothing */
    bool loads;
    void (*log)(const char *line);
};

/* ---- the file ---- */

static size_t
history_slot_of_number(int ring, uint64_t number)
{
    return rings[ring].first + (size_t)((number - 1) % rings[ring].slots);
}

static int
ring_of_history_slot(size_t place)
{
    int ring = RINGS - 1;

    while (place < rings[ring].first)
        ring--;
    return ring;
}

/* Takes the samples whose number belongs in their slot.  Returns how many slots
 * hold something else than that or zeros. */
static size_t
load_history_samples(struct history *history, const uint8_t *bytes, size_t size)
{
    static const uint8_t empty[HISTORY_RECORD];
    size_t wrong = 0;

    for (size_t place = 0; place < HISTORY_SAMPLES; place++) {
        const uint8_t *record = bytes + (place + 1) * HISTORY_RECORD;
        int ring = ring_of_history_slot(place);
        struct history_sample sample;
        uint64_t number;

        if ((place + 2) * HISTORY_RECORD > size)
            break;
        number = history_record_decode(record, &sample);
        if (number == 0 || history_slot_of_number(ring, number) != place) {
            wrong += memcmp(record, empty, sizeof(empty)) != 0;
            continue;
        }
        history->samples[place] = sample;
        history->numbers[place] = number;
        if (number >= history->next[ring])
            history->next[ring] = number + 1;
    }
    return wrong;
}

static void add_history_sample(struct history *history,
                               const struct history_sample *sample,
                               bool replace_last);

/* Adds the samples of a version 1 file from the oldest on.  They pass through
 * the rings as if they were new, so minutes and hours are made of them. */
static void
take_first_version(struct history *history, const uint8_t *bytes, size_t size)
{
    size_t slot_count = size / HISTORY_RECORD - 1, oldest = 0;
    uint64_t least = UINT64_MAX, number;
    struct history_sample sample;

    for (size_t i = 0; i < slot_count; i++) {
        number =
            history_record_decode(bytes + (i + 1) * HISTORY_RECORD, &sample);
        if (number > 0 && number < least) {
            least = number;
            oldest = i;
        }
    }
    for (size_t i = 0; i < slot_count; i++)
        if (history_record_decode(bytes + ((oldest + i) % slot_count + 1) *
                                              HISTORY_RECORD,
                                  &sample) > 0)
            add_history_sample(history, &sample, false);
}

enum found { FOUND_HISTORY, FOUND_FIRST_VERSION, FOUND_NOTHING, FOUND_OTHER };

static enum found
load_history_file(struct history *history)
{
    enum found found = FOUND_OTHER;
    uint8_t head[HISTORY_RECORD];
    struct buffer bytes;
    size_t wrong;

    buffer_init(&bytes, READ_MAX);
    if (fd_read_all(history->fd, &bytes, HISTORY_FILE, NULL) != 0)
        goto out;
    if (bytes.size == 0) {
        found = FOUND_NOTHING;
        goto out;
    }
    if (bytes.size < HISTORY_RECORD)
        goto out;
    if (history_record_head(head, FIRST_VERSION, FIRST_SAMPLES) &&
        memcmp(bytes.data, head, sizeof(head)) == 0) {
        take_first_version(history, (const uint8_t *)bytes.data, bytes.size);
        found = FOUND_FIRST_VERSION;
        goto out;
    }
    if (bytes.size > HISTORY_FILE_MAX ||
        !history_record_head(head, VERSION, HISTORY_SAMPLES) ||
        memcmp(bytes.data, head, sizeof(head)) != 0)
        goto out;
    wrong =
        load_history_samples(history, (const uint8_t *)bytes.data, bytes.size);
    if (wrong > 0)
        log_to(history->log, "%s/" HISTORY_FILE ": skipped %zu damaged samples",
               history->dir, wrong);
    found = FOUND_HISTORY;
out:
    buffer_fini(&bytes);
    return found;
}

static int
open_history_file(const char *dir)
{
    return own_file_open(dir, HISTORY_FILE, O_RDWR | O_CREAT);
}

static void
without_file(struct history *history)
{
    log_to(
        history->log,
        "the history of memory is only in memory: cannot write %s/" HISTORY_FILE
        ": %m",
        history->dir);
    fd_close(history->fd);
    history->fd = -1;
}

static bool
set_aside_history_file(struct history *history)
{
    if (own_file_set_aside(history->dir, HISTORY_FILE) != 0)
        return false;
    log_to(history->log,
           "%s/" HISTORY_FILE " is damaged or no history of this heapwire: "
           "renamed to " HISTORY_FILE ".damaged",
           history->dir);
    return true;
}

static bool
write_record(int fd, uint64_t place, const uint8_t record[HISTORY_RECORD])
{
    ssize_t n =
        pwrite(fd, record, HISTORY_RECORD, (off_t)(place * HISTORY_RECORD));

    if (n >= 0 && n != HISTORY_RECORD)
        errno = ENOSPC;
    return n == HISTORY_RECORD;
}

/* Writes the head and all samples.  False if not even the head could be
 * written; a disk that is full later is reported with the next sample. */
static bool
write_history_file(const struct history *history, int fd)
{
    uint8_t record[HISTORY_RECORD];

    if (!history_record_head(record, VERSION, HISTORY_SAMPLES) ||
        !write_record(fd, 0, record))
        return false;
    for (size_t place = 0; place < HISTORY_SAMPLES; place++)
        if (history->numbers[place] > 0 &&
            history_record_encode(&history->samples[place],
                                  history->numbers[place], record) &&
            !write_record(fd, place + 1, record))
            break;
    return true;
}

static void
use_file(struct history *history)
{
    enum found found = FOUND_OTHER;

    history->fd = open_history_file(history->dir);
    if (history->fd >= 0)
        found = load_history_file(history);
    if (found == FOUND_OTHER) {
        bool foreign = history->fd >= 0 || own_file_is_foreign(errno);

        fd_close(history->fd);
        history->fd = foreign && set_aside_history_file(history)
                          ? open_history_file(history->dir)
                          : -1;
    }
    if (history->fd < 0 ||
        (found == FOUND_FIRST_VERSION && ftruncate(history->fd, 0) != 0) ||
        (found != FOUND_HISTORY && !write_history_file(history, history->fd)))
        without_file(history);
}

/* Writes all samples into a new file if somebody deleted the old one.  Called
 * before each write; costs an fstat(). */
static void
renew_file(struct history *history)
{
    struct stat st;
    int fd;

    if (fstat(history->fd, &st) != 0 || st.st_nlink > 0)
        return;
    fd = open_history_file(
        /* fails while the directory is missing; tried again next second */
        history->dir);
    if (fd < 0 || !write_history_file(history, fd)) {
        fd_close(fd);
        return;
    }
    log_to(history->log, "%s/" HISTORY_FILE " was deleted: this one is new",
           history->dir);
    fd_close(history->fd);
    history->fd = fd;
}

/* ---- public ---- */

struct history *
history_open(const char *dir, void (*log)(const char *line))
{
    struct history *history = mem_zalloc(1, sizeof(*history));

    if (!history)
        return NULL;
    pthread_mutex_init(&history->lock, NULL);
    for (int ring = 0; ring < RINGS; ring++)
        history->next[ring] = 1;
    history->fd = -1;
    history->log = log;
    history->dir = dir ? mem_strdup(dir) : NULL;
    history->loads = true;
    if (history->dir)
        use_file(history);
    history->loads = false;
    return history;
}

void
history_close(struct history *history)
{
    if (!history)
        return;
    fd_close(history->fd);
    mem_free(history->dir);
    pthread_mutex_destroy(&history->lock);
    mem_free(history);
}

/* Logs a fault once, not each second.  The samples are read without the lock:
 * only this thread changes them. */
static void
write_newest_sample(struct history *history, int ring)
{
    size_t place = history_slot_of_number(ring, history->next[ring] - 1);
    uint8_t record[HISTORY_RECORD];
    bool faulty = !history_record_encode(&history->samples[place],
                                         history->numbers[place], record) ||
                  !write_record(history->fd, place + 1, record);

    if (faulty && !history->faulty)
        log_to(history->log,
               "cannot write the history of memory: %m; samples are kept "
               "in memory until this is over");
    history->faulty = faulty;
}

/* The sample that is so many before the latest; NULL: there is none. */
static struct history_sample *
latest_sample(struct history *history, int ring, uint64_t but)
{
    uint64_t number = history->next[ring] - 1;
    size_t place;

    if (number <= but)
        return NULL;
    number -= but;
    place = history_slot_of_number(ring, number);
    return history->numbers[place] == number ? &history->samples[place] : NULL;
}

static void
append_sample(struct history *history, int ring,
              const struct history_sample *sample)
{
    uint64_t number = history->next[ring]++;
    size_t place = history_slot_of_number(ring, number);

    history->samples[place] = *sample;
    history->numbers[place] = number;
}

static bool
in_slot(const struct history_sample *sample, int ring, int64_t at_ms)
{
    int64_t slot_ms = (int64_t)rings[ring].seconds * 1000;

    return sample && sample->at_ms / slot_ms == at_ms / slot_ms;
}

/* The allocator is asked each ten seconds only: a sample that has its figures
 * is worth more than a higher rss without them. */
static bool
is_higher_memory_sample(const struct history_sample *sample,
                        const struct history_sample *last)
{
    if (sample->allocated.known != last->allocated.known)
        return sample->allocated.known;
    return sample->rss.value >= last->rss.value;
}

/* Puts a sample into the ring of minutes or hours; returns whether that changed
 * it.  A restart within a minute gives a second record for that minute, so the
 * peak of the dead database is kept.  A third is merged into the second: a
 * database that restarts in a loop must not fill the ring. */
static bool
thin_sample(struct history *history, int ring,
            const struct history_sample *sample)
{
    struct history_sample *last = latest_sample(history, ring, 0);

    if (!in_slot(last, ring, sample->at_ms) ||
        (!history_same_process(last, sample) &&
         !in_slot(latest_sample(history, ring, 1), ring, sample->at_ms))) {
        append_sample(history, ring, sample);
        return true;
    }
    if (!is_higher_memory_sample(sample, last))
        return false;
    *last = *sample;
    return true;
}

/* Adds a sample, or puts it in the place of the last one. */
static void
add_history_sample(struct history *history, const struct history_sample *sample,
                   bool replace_last)
{
    bool changed[RINGS] = {true};

    pthread_mutex_lock(&history->lock);
    if (replace_last && history->next[0] > 1)
        history->next[0]--;
    append_sample(history, 0, sample);
    for (int ring = 1; ring < RINGS; ring++)
        changed[ring] = thin_sample(history, ring, sample);
    pthread_mutex_unlock(&history->lock);
    if (history->fd < 0 || history->loads)
        return;
    renew_file(history);
    for (int ring = 0; ring < RINGS; ring++)
        if (changed[ring])
            write_newest_sample(history, ring);
}

void
history_add(struct history *history, const struct history_sample *sample)
{
    add_history_sample(history, sample, false);
}

void
history_renew(struct history *history, const struct history_sample *sample)
{
    add_history_sample(history, sample, true);
}

/* The oldest number whose slot was not reused. */
static uint64_t
oldest_number(const struct history *history, int ring)
{
    uint64_t slot_count = rings[ring].slots;

    return history->next[ring] > slot_count ? history->next[ring] - slot_count
                                            : 1;
}

static const struct history_sample *
sample_at(const struct history *history, int ring, uint64_t number)
{
    size_t place = history_slot_of_number(ring, number);

    return history->numbers[place] == number ? &history->samples[place] : NULL;
}

/* The time from which on finer rings have samples: a coarser one is read up to
 * there. */
static int64_t
finer_from_ms(const struct history *history, int ring)
{
    int64_t from_ms = INT64_MAX;

    while (ring-- > 0)
        for (uint64_t n = oldest_number(history, ring); n < history->next[ring];
             n++) {
            const struct history_sample *sample = sample_at(history, ring, n);

            if (!sample)
                continue;
            if (sample->at_ms < from_ms)
                from_ms = sample->at_ms;
            break;
        }
    return from_ms;
}

/* The position *next: the highest byte counts the rings that were read to their
 * end, the rest is a sample's number.  Rings are read coarsest first. */
enum { RING_SHIFT = 56 };

static size_t
read_ring(struct history *history, int ring, uint64_t *next,
          struct history_sample *out, size_t max)
{
    int64_t until_ms = finer_from_ms(history, ring);
    uint64_t number = *next & (((uint64_t)1 << RING_SHIFT) - 1);
    size_t count = 0;

    /* Samples may have been added, and slots reused, since the last call. */
    if (number < oldest_number(history, ring))
        number = oldest_number(history, ring);
    for (; number < history->next[ring] && count < max; number++) {
        const struct history_sample *sample = sample_at(history, ring, number);

        if (!sample || sample->at_ms >= until_ms)
            continue;
        out[count] = *sample;
        out[count++].seconds = rings[ring].seconds;
    }
    *next = (uint64_t)(RINGS - 1 - ring) << RING_SHIFT | number;
    return count;
}

size_t
history_read(struct history *history, uint64_t *next,
             struct history_sample *out, size_t max)
{
    size_t count = 0;

    if (!history)
        return 0;
    pthread_mutex_lock(&history->lock);
    for (int ring = RINGS - 1 - (int)(*next >> RING_SHIFT); ring >= 0; ring--) {
        count += read_ring(history, ring, next, out + count, max - count);
        if (count == max || ring == 0)
            break;
        *next = (uint64_t)(RINGS - ring) << RING_SHIFT;
    }
    pthread_mutex_unlock(&history->lock);
    return count;
}

static void
take_allocators(struct history_sample *out, const struct history_sample *from)
{
    out->allocated = from->allocated;
    out->active = from->active;
    out->metadata = from->metadata;
    out->resident = from->resident;
    out->mapped = from->mapped;
    out->retained = from->retained;
    out->allocator_ms = from->allocated.known ? from->at_ms : 0;
}

/* Looks from the newest sample back, and past the first match until one of the
 * same database has the allocator's figures. */
static bool
find_last(const struct history *history, int ring, int64_t from_ms,
          int64_t until_ms, struct history_sample *out)
{
    bool found = false;

    for (uint64_t number = history->next[ring] - 1;
         number >= oldest_number(history, ring) &&
         !(found && out->allocated.known);
         number--) {
        const struct history_sample *sample = sample_at(history, ring, number);

        if (!sample || sample->at_ms < from_ms || sample->at_ms > until_ms)
            continue;
        if (!found)
            *out = *sample;
        if (!found || history_same_process(out, sample))
            take_allocators(out, sample);
        found = true;
    }
    return found;
}

bool
history_last(struct history *history, int64_t from_ms, int64_t until_ms,
             struct history_sample *out)
{
    bool found = false;

    if (!history)
        return false;
    pthread_mutex_lock(&history->lock);
    for (int ring = 0; ring < RINGS && !found; ring++)
        found = find_last(history, ring, from_ms, until_ms, out);
    pthread_mutex_unlock(&history->lock);
    return found;
}

int
history_give(struct history *history, uid_t uid, gid_t gid)
{
    return history->fd < 0 ? 0 : fchown(history->fd, uid, gid);
}
