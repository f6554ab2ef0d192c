/*
 * history.c - see history.h.
 *
 * The file: a head and HISTORY_SAMPLES places of HISTORY_RECORD bytes each,
 * little-endian.  Samples are numbered from 1; number n has the place
 * (n - 1) % HISTORY_SAMPLES.  A record ends with a checksum of what is in front
 * of it.
 *
 *     head     magic u64, version u32, record size u32, places u32, zeros
 *     sample   number u64, at i64, pid u32, flags u32, start_ticks u64,
 *              started i64, then the figures, u64 each: all ones: not known
 *
 * Written with pwrite, not through a mapping: a full disk is then an error, not
 * a SIGBUS.
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
#include "hash.h"
#include "log.h"
#include "memory.h"
#include "own_file.h"
#include "reader.h"

enum {
    VERSION = 1,
    FLAG_PROFILING = 1,
    FLAG_UNRESPONSIVE = 2,
    BODY = HISTORY_RECORD - 8, /* in front of the checksum */
    FIGURES = 10
};

static const uint64_t magic = 0x0079726f74736968; /* "history" */
static const uint64_t number_max = (uint64_t)1 << 48;
static const int64_t at_max_ms = 253402300799999; /* year 9999 */

struct history {
    pthread_mutex_t lock; /* guards the samples, numbers and next */
    struct history_sample samples[HISTORY_SAMPLES];
    uint64_t numbers[HISTORY_SAMPLES]; /* 0: no sample there */
    uint64_t next;                     /* the number of the next */
    int fd;                            /* the adding thread's; -1: no file */
    char *dir;                         /* where it lies */
    bool faulty;                       /* the last write failed */
    void (*log)(const char *line);
};

/* ---- records ---- */

static uint64_t
checksum(const uint8_t record[HISTORY_RECORD])
{
    struct reader r = reader_of(record, BODY);
    uint64_t sum = magic;

    while (reader_left(&r) > 0)
        sum = hash_mix(sum, reader_u64(&r));
    return sum;
}

/* Fills up with zeros and seals. */
static void
seal(struct buffer *b, uint8_t record[HISTORY_RECORD])
{
    uint64_t sum;

    memset(record, 0, HISTORY_RECORD);
    memcpy(record, b->data, b->size);
    sum = checksum(record);
    for (int i = 0; i < 8; i++)
        record[BODY + i] = (uint8_t)(sum >> 8 * i);
}

static bool
is_sealed(const uint8_t record[HISTORY_RECORD])
{
    struct reader r = reader_of(record + BODY, 8);

    return reader_u64(&r) == checksum(record);
}

static struct stats_figure *
figure_at(struct history_sample *s, int i)
{
    struct stats_figure *const figures[FIGURES] = {
        &s->rss,       &s->cgroup_current, &s->cgroup_cache, &s->cgroup_limit,
        &s->allocated, &s->active,         &s->metadata,     &s->resident,
        &s->mapped,    &s->retained};

    return figures[i];
}

static bool
make_head(uint8_t record[HISTORY_RECORD])
{
    struct buffer b;

    buffer_init(&b, BODY);
    buffer_u64(&b, magic);
    buffer_u32(&b, VERSION);
    buffer_u32(&b, HISTORY_RECORD);
    buffer_u32(&b, HISTORY_SAMPLES);
    if (!b.failed)
        seal(&b, record);
    buffer_fini(&b);
    return !b.failed;
}

static bool
encode(const struct history_sample *sample, uint64_t number,
       uint8_t record[HISTORY_RECORD])
{
    struct history_sample s = *sample;
    struct buffer b;
    bool failed;

    buffer_init(&b, BODY);
    buffer_u64(&b, number);
    buffer_u64(&b, (uint64_t)s.at_ms);
    buffer_u32(&b, (uint32_t)s.pid);
    buffer_u32(&b, (s.profiling ? FLAG_PROFILING : 0u) |
                       (s.unresponsive ? FLAG_UNRESPONSIVE : 0u));
    buffer_u64(&b, s.start_ticks);
    buffer_u64(&b, (uint64_t)s.started_ms);
    for (int i = 0; i < FIGURES; i++) {
        struct stats_figure *figure = figure_at(&s, i);

        buffer_u64(&b, figure->known ? figure->value : UINT64_MAX);
    }
    failed = b.failed;
    if (!failed)
        seal(&b, record);
    buffer_fini(&b);
    return !failed;
}

/* Its number, or 0: not a sample, or torn. */
static uint64_t
decode(const uint8_t *record, struct history_sample *out)
{
    struct reader r = reader_of(record, BODY);
    uint64_t number = reader_u64(&r);
    uint32_t flags;

    memset(out, 0, sizeof(*out));
    out->at_ms = (int64_t)reader_u64(&r);
    out->pid = (int32_t)reader_u32(&r);
    flags = reader_u32(&r);
    out->profiling = flags & FLAG_PROFILING;
    out->unresponsive = flags & FLAG_UNRESPONSIVE;
    out->start_ticks = reader_u64(&r);
    out->started_ms = (int64_t)reader_u64(&r);
    for (int i = 0; i < FIGURES; i++) {
        uint64_t value = reader_u64(&r);

        if (value <= INT64_MAX)
            *figure_at(out, i) = (struct stats_figure){true, value};
    }
    if (r.failed || !is_sealed(record) || number > number_max ||
        out->at_ms < 0 || out->at_ms > at_max_ms || out->started_ms < 0 ||
        out->started_ms > at_max_ms)
        return 0;
    return number;
}

/* ---- the file ---- */

/* Samples that lie where their numbers belong; how many places hold something
 * else. */
static size_t
take_samples(struct history *history, const uint8_t *bytes, size_t size)
{
    static const uint8_t empty[HISTORY_RECORD];
    size_t wrong = 0;

    for (size_t place = 0; place < HISTORY_SAMPLES; place++) {
        const uint8_t *record = bytes + (place + 1) * HISTORY_RECORD;
        struct history_sample sample;
        uint64_t number;

        if ((place + 2) * HISTORY_RECORD > size)
            break;
        number = decode(record, &sample);
        if (number == 0 || (number - 1) % HISTORY_SAMPLES != place) {
            wrong += memcmp(record, empty, sizeof(empty)) != 0;
            continue;
        }
        history->samples[place] = sample;
        history->numbers[place] = number;
        if (number >= history->next)
            history->next = number + 1;
    }
    return wrong;
}

enum found { FOUND_HISTORY, FOUND_NOTHING, FOUND_OTHER };

static enum found
load(struct history *history)
{
    enum found found = FOUND_OTHER;
    uint8_t head[HISTORY_RECORD];
    struct buffer bytes;
    size_t wrong;

    buffer_init(&bytes, HISTORY_FILE_MAX);
    if (fd_read_all(history->fd, &bytes, HISTORY_FILE, NULL) != 0)
        goto out;
    if (bytes.size == 0) {
        found = FOUND_NOTHING;
        goto out;
    }
    if (bytes.size < HISTORY_RECORD || !make_head(head) ||
        memcmp(bytes.data, head, sizeof(head)) != 0)
        goto out;
    wrong = take_samples(history, (const uint8_t *)bytes.data, bytes.size);
    if (wrong > 0)
        log_to(history->log,
               "%s/" HISTORY_FILE ": passed over %zu damaged samples",
               history->dir, wrong);
    found = FOUND_HISTORY;
out:
    buffer_fini(&bytes);
    return found;
}

static int
open_file(const char *dir)
{
    return own_file_open(dir, HISTORY_FILE, O_RDWR | O_CREAT);
}

static void
without_file(struct history *history)
{
    log_to(history->log,
           "the history of memory is in memory alone: cannot write "
           "%s/" HISTORY_FILE ": %m",
           history->dir);
    fd_close(history->fd);
    history->fd = -1;
}

static bool
set_aside(struct history *history)
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

static void
use_file(struct history *history)
{
    uint8_t head[HISTORY_RECORD];
    enum found found = FOUND_OTHER;

    history->fd = open_file(history->dir);
    if (history->fd >= 0)
        found = load(history);
    if (found == FOUND_OTHER) {
        bool foreign = history->fd >= 0 || own_file_is_foreign(errno);

        fd_close(history->fd);
        history->fd =
            foreign && set_aside(history) ? open_file(history->dir) : -1;
    }
    if (history->fd < 0 ||
        (found != FOUND_HISTORY &&
         (!make_head(head) || !write_record(history->fd, 0, head))))
        without_file(history);
}

/* Writes all that is known into a new file where somebody deleted it. */
static void
renew_file(struct history *history)
{
    uint8_t record[HISTORY_RECORD];
    struct stat st;
    int fd;

    if (fstat(history->fd, &st) != 0 || st.st_nlink > 0)
        return;
    fd = open_file(history->dir); /* the directory may not be there again */
    if (fd < 0 || !make_head(record) || !write_record(fd, 0, record)) {
        fd_close(fd);
        return;
    }
    for (size_t place = 0; place < HISTORY_SAMPLES; place++)
        if (history->numbers[place] > 0 &&
            encode(&history->samples[place], history->numbers[place], record) &&
            !write_record(fd, place + 1, record))
            break; /* a full disk: the next sample says so */
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
    history->next = 1;
    history->fd = -1;
    history->log = log;
    history->dir = dir ? mem_strdup(dir) : NULL;
    if (history->dir)
        use_file(history);
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

/* Logs a fault once, until it is over. */
static void
keep(struct history *history, const struct history_sample *sample,
     uint64_t number)
{
    uint8_t record[HISTORY_RECORD];
    bool faulty =
        !encode(sample, number, record) ||
        !write_record(history->fd, (number - 1) % HISTORY_SAMPLES + 1, record);

    if (faulty && !history->faulty)
        log_to(history->log,
               "cannot write the history of memory: %m; samples are kept "
               "in memory until this is over");
    history->faulty = faulty;
}

static void
put(struct history *history, const struct history_sample *sample, bool again)
{
    size_t place;
    uint64_t number;

    pthread_mutex_lock(&history->lock);
    if (!again || history->next == 1)
        history->next++;
    number = history->next - 1;
    place = (number - 1) % HISTORY_SAMPLES;
    history->samples[place] = *sample;
    history->numbers[place] = number;
    pthread_mutex_unlock(&history->lock);
    if (history->fd < 0)
        return;
    renew_file(history);
    keep(history, sample, number);
}

void
history_add(struct history *history, const struct history_sample *sample)
{
    put(history, sample, false);
}

void
history_renew(struct history *history, const struct history_sample *sample)
{
    put(history, sample, true);
}

/* The number of the oldest that may be there. */
static uint64_t
oldest(const struct history *history)
{
    return history->next > HISTORY_SAMPLES ? history->next - HISTORY_SAMPLES
                                           : 1;
}

size_t
history_read(struct history *history, uint64_t *next,
             struct history_sample *out, size_t max)
{
    size_t count = 0;

    if (!history)
        return 0;
    pthread_mutex_lock(&history->lock);
    if (*next < oldest(history))
        *next = oldest(history);
    for (; *next < history->next && count < max; ++*next) {
        size_t place = (*next - 1) % HISTORY_SAMPLES;

        if (history->numbers[place] == *next)
            out[count++] = history->samples[place];
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

static bool
same_database(const struct history_sample *a, const struct history_sample *b)
{
    return a->pid == b->pid && a->start_ticks == b->start_ticks;
}

bool
history_last(struct history *history, int64_t from_ms, int64_t until_ms,
             struct history_sample *out)
{
    bool found = false;

    if (!history)
        return false;
    pthread_mutex_lock(&history->lock);
    for (uint64_t number = history->next - 1;
         number >= oldest(history) && !(found && out->allocated.known);
         number--) {
        size_t place = (number - 1) % HISTORY_SAMPLES;
        const struct history_sample *sample = &history->samples[place];

        if (history->numbers[place] != number || sample->at_ms < from_ms ||
            sample->at_ms > until_ms)
            continue;
        if (!found)
            *out = *sample;
        if (!found || same_database(out, sample))
            take_allocators(out, sample);
        found = true;
    }
    pthread_mutex_unlock(&history->lock);
    return found;
}

int
history_give(struct history *history, uid_t uid, gid_t gid)
{
    return history->fd < 0 ? 0 : fchown(history->fd, uid, gid);
}
