/*
 * deaths.c - see deaths.h.
 *
 * A line has a time for people, words "key=value", and the program last, as it
 * may contain blanks.  A reader passes over keys that it does not know, so
 * older and newer programs share the file.
 *
 * heapwire-run and heapwired both append, and the last line may be written
 * while the disk is full or a file size limit is reached: that is when
 * databases die.  So space for one line is reserved while the database runs, a
 * line is one write, and what a failed write left is cut off again.  The file
 * stays small (64 KB): it is read whole for each append, and halved when it is
 * full.
 */
#include "deaths.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"
#include "errors.h"
#include "files.h"
#include "own_file.h"

#define NEW_FILE DEATHS_FILE ".new"

enum { MB = 1 << 20 };
/* One second in all. */
enum { LOCK_TRIES = 100, LOCK_STEP_NS = 10 * 1000 * 1000 };

static const int64_t at_max_ms = 253402300799999; /* year 9999 */

static const char *const restarts[] = {
    [DEATH_FINAL] = "",
    [DEATH_WITHOUT_OPTIONS] =
        (", before its main was reached: it was started again without "
         "prof:true and without a preloaded jemalloc of heapwire-run's"),
    [DEATH_WITHOUT_HEAPWIRE] =
        ", before it served: it was started again without heapwire in it",
};

static uint64_t
in_mb(struct stats_figure figure)
{
    return (figure.value + MB / 2) / MB;
}

bool
death_was_clean(const struct death *death)
{
    return (!death->unknown && !death->signalled && death->code == 0) ||
           death->asked != 0;
}

uint64_t
death_oom_kills(const struct death *death)
{
    /* heapwired shares the cgroup, so the kernel's count includes its
     * deaths. */
    uint64_t before = death->oom_before.value + death->oom_own.value;

    if (!death->oom_before.known || !death->oom_after.known ||
        death->oom_after.value <= before)
        return 0;
    return death->oom_after.value - before;
}

static void
describe_unseen(const struct death *death, char *out, size_t size)
{
    char at[CLOCK_TEXT];
    size_t used;

    clock_text(death->at_ms, at, sizeof(at));
    /* Only the time of day; the row of the table has the date. */
    snprintf(out, size, "ended unseen after %.8s",
             strlen(at) > 11 ? at + 11 : at);
    used = strlen(out);
    if (death->rss.known)
        snprintf(out + used, size - used, ", rss %" PRIu64, in_mb(death->rss));
    used = strlen(out);
    if (death->rss.known && death->limit.known)
        snprintf(out + used, size - used, " of %" PRIu64, in_mb(death->limit));
    used = strlen(out);
    if (death->rss.known && !death->growth.known)
        snprintf(out + used, size - used, " MB");
    else if (death->rss.known)
        snprintf(out + used, size - used, " MB, growing %" PRIu64 " MB/s",
                 in_mb(death->growth));
}

void
death_describe(const struct death *death, char *out, size_t size)
{
    const char *name = death->signalled ? sigabbrev_np(death->code) : NULL;
    uint64_t kills = death_oom_kills(death), own = death->oom_own.value;
    size_t used;

    if (death->unseen)
        describe_unseen(death, out, size);
    else if (death->unknown && death->attached)
        snprintf(out, size,
                 "ended; how is not known, because heapwire-run was attached "
                 "to it and is not its parent");
    else if (death->unknown)
        snprintf(out, size,
                 "ended; its exit status is not known, because heapwire-run "
                 "was not its parent");
    else if (death->signalled)
        snprintf(out, size, "was killed by signal %d (SIG%s)", death->code,
                 name ? name : "?");
    else
        snprintf(out, size, "ended with status %d", death->code);
    used = strlen(out);
    if (death->asked)
        snprintf(out + used, size - used, ", asked to end by signal %d",
                 death->asked);
    used = strlen(out);
    if (death->recorded)
        snprintf(out + used, size - used,
                 "; the recorded process %d, behind it, had ended before",
                 (int)death->recorded);
    used = strlen(out);
    snprintf(out + used, size - used, "%s", restarts[death->restarted]);
    used = strlen(out);
    if (kills > 0)
        snprintf(out + used, size - used,
                 "; the kernel killed %" PRIu64 " process%s of %s for want of "
                 "memory while it ran",
                 kills, kills == 1 ? "" : "es",
                 death->oom_machine ? "the machine" : "its cgroup");
    used = strlen(out);
    if (own > 0)
        snprintf(out + used, size - used, "%s heapwired%s",
                 kills > 0 ? ", and" : "; the kernel killed",
                 own == 1 ? "" : " and its helpers, or several times");
}

/* ---- lines ---- */

static void
append_death_figure(struct buffer *out, const char *key,
                    struct stats_figure figure)
{
    if (figure.known)
        buffer_format(out, "%s=%" PRIu64 " ", key, figure.value);
}

void
death_format(const struct death *death, struct buffer *out)
{
    char at[CLOCK_TEXT];

    clock_text(death->at_ms, at, sizeof(at));
    buffer_format(out,
                  "%s at=%" PRId64 " started=%" PRId64 " pid=%" PRId32
                  " %s=%" PRId32 " asked=%" PRId32 " ",
                  at, death->at_ms, death->started_ms, death->pid,
                  death->unknown     ? "unknown"
                  : death->signalled ? "signal"
                                     : "status",
                  death->unknown ? 1 : death->code, death->asked);
    if (death->restarted)
        buffer_format(out, "restarted=%d ", (int)death->restarted);
    if (death->recorded)
        buffer_format(out, "recorded=%d ", (int)death->recorded);
    if (death->attached)
        buffer_text(out, "attached=1 ");
    append_death_figure(out, "oom_before", death->oom_before);
    append_death_figure(out, "oom_after", death->oom_after);
    append_death_figure(out, "oom_own", death->oom_own);
    if (death->oom_machine)
        buffer_text(out, "oom_machine=1 ");
    if (death->unseen)
        buffer_text(out, "unseen=1 ");
    append_death_figure(out, "rss", death->rss);
    append_death_figure(out, "limit", death->limit);
    append_death_figure(out, "growth", death->growth);
    buffer_text(out, "program=");
    for (const char *p = death->program; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127)
            buffer_char(out, '?');
        else
            buffer_char(out, *p);
}

/* "key=123": false: another key.  A value that is no number is INT64_MIN. */
static bool
parse_death_number(struct span word, const char *key, int64_t *out)
{
    size_t size = strlen(key);
    char digits[24], *end;

    if (word.size <= size || memcmp(word.data, key, size) != 0 ||
        word.data[size] != '=')
        return false;
    *out = INT64_MIN;
    word.data += size + 1;
    word.size -= size + 1;
    if (word.size == 0 || word.size >= sizeof(digits))
        return true;
    memcpy(digits, word.data, word.size);
    digits[word.size] = '\0';
    errno = 0;
    *out = strtoll(digits, &end, 10);
    if (*end || errno)
        *out = INT64_MIN;
    return true;
}

struct numbers {
    int64_t at, started, pid, status, signal, asked, before, after, unknown,
        restarted, attached, own, machine, unseen, rss, limit, growth, recorded;
};

static void
parse_death_word(struct span word, struct numbers *n)
{
    const struct {
        const char *key;
        int64_t *number;
    } keys[] = {{"at", &n->at},
                {"started", &n->started},
                {"pid", &n->pid},
                {"status", &n->status},
                {"signal", &n->signal},
                {"asked", &n->asked},
                {"oom_before", &n->before},
                {"oom_after", &n->after},
                {"unknown", &n->unknown},
                {"restarted", &n->restarted},
                {"attached", &n->attached},
                {"oom_own", &n->own},
                {"oom_machine", &n->machine},
                {"unseen", &n->unseen},
                {"rss", &n->rss},
                {"limit", &n->limit},
                {"growth", &n->growth},
                {"recorded", &n->recorded}};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (parse_death_number(word, keys[i].key, keys[i].number))
            return;
}

static bool
is_within(int64_t value, int64_t max)
{
    return value >= 0 && value <= max;
}

static struct stats_figure
figure_of(int64_t value)
{
    return (struct stats_figure){value >= 0, value >= 0 ? (uint64_t)value : 0};
}

static bool
make_death(const struct numbers *n, struct death *out)
{
    /* Exactly one of status, signal and unknown says how it ended.  A number
     * that is missing is -1, a wrong one INT64_MIN: neither is within. */
    if (!is_within(n->at, at_max_ms) || !is_within(n->started, at_max_ms) ||
        !is_within(n->pid, INT32_MAX) || !is_within(n->asked, 128) ||
        is_within(n->status, 255) + is_within(n->signal, 128) +
                (n->unknown == 1) !=
            1)
        return false;
    out->at_ms = n->at;
    out->started_ms = n->started;
    out->pid = (int32_t)n->pid;
    out->unknown = n->unknown == 1;
    out->attached = n->attached == 1;
    out->signalled = n->signal >= 0;
    if (!out->unknown)
        out->code = (int32_t)(out->signalled ? n->signal : n->status);
    out->asked = (int32_t)n->asked;
    if (is_within(n->restarted, DEATH_WITHOUT_HEAPWIRE))
        out->restarted = (enum death_restart)n->restarted;
    out->oom_before = figure_of(n->before);
    out->oom_after = figure_of(n->after);
    out->oom_own = figure_of(n->own);
    out->oom_machine = n->machine == 1;
    out->unseen = out->unknown && n->unseen == 1;
    out->rss = figure_of(n->rss);
    out->limit = figure_of(n->limit);
    out->growth = figure_of(n->growth);
    if (is_within(n->recorded, INT32_MAX))
        out->recorded = (int32_t)n->recorded;
    return true;
}

bool
death_parse(struct span line, struct death *out)
{
    static const char program[] = "program=";
    const char *end = line.data + line.size;
    const char *at = memmem(line.data, line.size, program, strlen(program));
    struct numbers n = {-1, -1, -1, -1, -1, -1, -1, -1, -1,
                        -1, -1, -1, -1, -1, -1, -1, -1, -1};
    const char *name;

    memset(out, 0, sizeof(*out));
    if (!at || memchr(line.data, 0, line.size))
        return false;
    name = at + strlen(program);
    if ((size_t)(end - name) >= sizeof(out->program))
        return false;
    memcpy(out->program, name, (size_t)(end - name));
    for (const char *p = line.data; p < at;) {
        const char *space = memchr(p, ' ', (size_t)(at - p));
        struct span word = {p, (size_t)((space ? space : at) - p)};

        parse_death_word(word, &n);
        p += word.size + 1;
    }
    return make_death(&n, out);
}

/* ---- the file ---- */

/* heapwire-run and heapwired may append at the same time, and may replace the
 * file, so both lock the directory.  -1: the lock's holder seems to hang; the
 * caller then writes without it, so that no end is lost. */
static int
lock_deaths_directory(const char *dir)
{
    static const struct timespec step = {0, LOCK_STEP_NS};
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (int i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return fd;
        if (errno != EWOULDBLOCK && errno != EINTR)
            break;
        nanosleep(&step, NULL);
    }
    fd_close(fd);
    return -1;
}

/* A short write is an error and is not continued: past RLIMIT_FSIZE the second
 * write() would raise SIGXFSZ. */
static int
write_at_once(int fd, const char *data, size_t size)
{
    ssize_t n = write(fd, data, size);

    if (n >= 0 && (size_t)n != size)
        errno = ENOSPC;
    return n == (ssize_t)size ? 0 : -1;
}

/* If a crash tore the last line, that is ended first: else both would be
 * lost. */
static int
write_death_line(int fd, const struct buffer *old, const struct buffer *line)
{
    bool torn = old->size > 0 && old->data[old->size - 1] != '\n';

    if ((torn && write_at_once(fd, "\n", 1) != 0) ||
        write_at_once(fd, line->data, line->size) != 0 || fsync(fd) != 0)
        return -1;
    return 0;
}

/* On failure the file is cut back to its old size.  ftruncate() is left out
 * when nothing was written, as it would also free the reserved space. */
static int
append_line(int fd, const struct buffer *old, const struct buffer *line)
{
    int rc = write_death_line(fd, old, line), saved = errno;
    struct stat st;

    if (rc != 0 && fstat(fd, &st) == 0 && (size_t)st.st_size != old->size)
        (void)!ftruncate(fd, (off_t)old->size);
    errno = saved;
    return rc;
}

/* Writes a new file: the newest half of the lines, and the new one. */
static int
rewrite_deaths_file(const char *dir, const struct buffer *old,
                    const struct buffer *line)
{
    char from[PATH_MAX], to[PATH_MAX];
    const char *half = old->data + old->size / 2;
    const char *end = memchr(half, '\n', old->size - old->size / 2);
    const char *kept = end ? end + 1 : old->data + old->size;
    size_t keep = (size_t)(old->data + old->size - kept);
    int fd, rc = -1;

    snprintf(from, sizeof(from), "%s/" NEW_FILE, dir);
    snprintf(to, sizeof(to), "%s/" DEATHS_FILE, dir);
    unlink(from);
    fd = own_file_open(dir, NEW_FILE, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0)
        return -1;
    if (write_at_once(fd, kept, keep) == 0 &&
        write_death_line(fd, old, line) == 0 && rename(from, to) == 0)
        rc = 0;
    else
        unlink(from);
    fd_close(fd);
    return rc;
}

/* Opens the file; a directory, a link, another user's file or a far too large
 * one in its place is renamed first. */
static int
open_deaths(const char *dir)
{
    int flags = O_RDWR | O_CREAT | O_APPEND;
    int fd = own_file_open(dir, DEATHS_FILE, flags);
    bool foreign = fd < 0 && own_file_is_foreign(errno);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 &&
        st.st_size > 2 * (off_t)DEATHS_FILE_MAX)
        foreign = true;
    if (!foreign)
        return fd;
    fd_close(fd);
    return own_file_set_aside(dir, DEATHS_FILE) == 0
               ? own_file_open(dir, DEATHS_FILE, flags)
               : -1;
}

/* FALLOC_FL_KEEP_SIZE: the blocks lie beyond the end, so the file reads as
 * before.  A file system without fallocate() reserves nothing; that is no
 * error. */
void
deaths_reserve(const char *dir)
{
    int locked = lock_deaths_directory(dir), fd = open_deaths(dir);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0)
        fallocate(fd, FALLOC_FL_KEEP_SIZE, st.st_size, DEATHS_LINE_MAX);
    fd_close(fd);
    fd_close(locked);
}

/* Copies the lines of the deleted file, whose last descriptor is old, to the
 * new one.  If that has lines already, rewrite_deaths_file() has replaced the
 * file, or an end was appended meanwhile: nothing is copied. */
static int
rewrite_death_lines(int now, int old)
{
    static const struct buffer none;
    struct buffer lines;
    struct stat st;
    int rc = -1;

    buffer_init(&lines, 2 * (size_t)DEATHS_FILE_MAX);
    if (fstat(now, &st) == 0 &&
        (st.st_size > 0 ||
         (lseek(old, 0, SEEK_SET) == 0 &&
          fd_read_all(old, &lines, DEATHS_FILE, NULL) == 0 &&
          (lines.size == 0 || append_line(now, &none, &lines) == 0))))
        rc = 0;
    buffer_fini(&lines);
    return rc;
}

int
deaths_watch(const char *dir, int fd)
{
    struct stat st = {.st_nlink = 0};
    int locked, now;

    if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_nlink > 0))
        return fd;
    if (fd < 0)
        return own_file_open(dir, DEATHS_FILE, O_RDONLY);
    locked = lock_deaths_directory(dir);
    now = open_deaths(dir);
    if (now >= 0 && rewrite_death_lines(now, fd) == 0) {
        fd_close(fd);
        fd = now;
    } else { /* the old descriptor has the only copy of the lines */
        fd_close(now);
    }
    fd_close(locked);
    return fd;
}

int
deaths_append(const char *dir, const struct death *death, struct error *err)
{
    struct buffer old, line;
    int locked = lock_deaths_directory(dir), fd, rc = -1;

    buffer_init(&old, 2 * (size_t)DEATHS_FILE_MAX);
    buffer_init(&line, 2 * (size_t)DEATHS_LINE_MAX);
    death_format(death, &line);
    buffer_char(&line, '\n');
    fd = open_deaths(dir);
    if (fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot open %s/" DEATHS_FILE, dir);
        goto out;
    }
    if (line.failed || fd_read_all(fd, &old, DEATHS_FILE, err) != 0) {
        if (line.failed)
            error_memory(err, "a line of " DEATHS_FILE);
        goto out;
    }
    if (old.size + line.size > DEATHS_FILE_MAX)
        rc = rewrite_deaths_file(dir, &old, &line);
    /* A full disk has no room for a new file, but the reserved space takes one
     * more line. */
    if (rc != 0)
        rc = append_line(fd, &old, &line);
    if (rc != 0)
        error_sys(err, ER_UNKNOWN, "cannot write %s/" DEATHS_FILE, dir);
out:
    fd_close(fd);
    fd_close(locked);
    buffer_fini(&old);
    buffer_fini(&line);
    return rc;
}

size_t
deaths_read(const char *dir, struct death *out, size_t max)
{
    int fd = own_file_open(dir, DEATHS_FILE, O_RDONLY);
    struct buffer text;
    struct reader lines;
    struct death death;
    struct span line;
    size_t count = 0;

    buffer_init(&text, 2 * (size_t)DEATHS_FILE_MAX);
    if (fd < 0 || fd_read_all(fd, &text, DEATHS_FILE, NULL) != 0)
        goto out;
    lines = reader_of(text.data ? text.data : "", text.size);
    while (max > 0 && reader_line(&lines, &line)) {
        if (!death_parse(line, &death))
            continue;
        if (count == max) { /* the oldest goes */
            memmove(out, out + 1, (max - 1) * sizeof(*out));
            count--;
        }
        out[count++] = death;
    }
out:
    fd_close(fd);
    buffer_fini(&text);
    return count;
}
