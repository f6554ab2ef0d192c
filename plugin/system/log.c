/*
 * log.c - see log.h.
 *
 * Any thread of heapwired may log, and no log may harm it: a line is one write,
 * so that lines of several threads never mix; it is bounded and escaped, as
 * parts of it come from clients; a reader of stderr that does not read, or a
 * full disk, costs lines and not time.  Lines that the file did not take are
 * counted, and the next line that fits says how many.  The lock guards every
 * static below, and is held during the write; sink and path change only in
 * log_open and log_close, on the main thread.
 */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "clock.h"
#include "errors.h"
#include "files.h"
#include "memory.h"

enum sink { SINK_NONE, SINK_STDERR, SINK_SYSLOG, SINK_FILE };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum sink sink;
static char *path;
static int file = -1;
static bool settled;  /* log_settle() was called */
static unsigned lost; /* number of lines that the file did not take */
static bool torn;     /* the last one was written in part, without its
                       * newline */
static uint64_t ratelimit_second;
static unsigned ratelimit_lines, ratelimit_left_out;

/* Accepts only a regular file with one name: an earlier owner of the directory
 * may have left a link to a file that root must not write. */
static int
open_log_file(const char *name, struct error *err)
{
    int fd = open(name,
                  O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW |
                      O_NONBLOCK,
                  0600);
    struct stat st;

    if (fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot open the log %s", name);
        return -1;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1) {
        error_set(err, ER_UNKNOWN, "the log %s is not a regular file", name);
        fd_close(fd);
        return -1;
    }
    return fd;
}

/* Nothing is set until everything has succeeded: then faults still go to
 * stderr. */
int
log_open(const char *name, struct error *err)
{
    int fd = -1;
    char *copy;

    if (strcmp(name, "stderr") == 0) {
        sink = SINK_STDERR;
        return 0;
    }
    if (strcmp(name, "syslog") == 0) {
        openlog("heapwired", LOG_PID, LOG_DAEMON);
        sink = SINK_SYSLOG;
        return 0;
    }
    copy = mem_strdup(name);
    if (!copy) {
        error_memory(err, "the log's name");
        return -1;
    }
    fd = open_log_file(name, err);
    if (fd < 0) {
        mem_free(copy);
        return -1;
    }
    path = copy;
    file = fd;
    sink = SINK_FILE;
    return 0;
}

int
log_reopen(struct error *err)
{
    int fd;

    if (sink != SINK_FILE)
        return 0;
    fd = open_log_file(path, err);
    if (fd < 0)
        return -1;
    pthread_mutex_lock(&lock);
    fd_close(file);
    file = fd;
    pthread_mutex_unlock(&lock);
    return 0;
}

void
log_settle(void)
{
    pthread_mutex_lock(&lock);
    settled = true;
    pthread_mutex_unlock(&lock);
}

void
log_close(void)
{
    pthread_mutex_lock(&lock);
    if (sink == SINK_SYSLOG)
        closelog();
    fd_close(file);
    file = -1;
    mem_free(path);
    path = NULL;
    sink = SINK_NONE;
    pthread_mutex_unlock(&lock);
}

int
log_fd(void)
{
    return file;
}

/* Control bytes and all beyond ASCII become \xNN: a log is read in terminals.
 */
static size_t
escape_log_text(const char *from, char *to, size_t size)
{
    size_t used = 0;

    /* 5: \xNN and the NUL */
    for (; *from && used + 5 < size; from++) {
        unsigned char c = (unsigned char)*from;

        if (c == '\n') {
            to[used++] = '\\';
            to[used++] = 'n';
        } else if (c < 0x20 || c >= 0x7f || c == '\\') {
            used += (size_t)snprintf(to + used, 5, "\\x%02x", c);
        } else {
            to[used++] = (char)c;
        }
    }
    to[used] = '\0';
    return used;
}

/* stderr may be a pipe.  If it is full, the line is lost: a thread must not
 * wait for the reader. */
static bool
is_fd_writable(int fd)
{
    struct pollfd polled = {.fd = fd, .events = POLLOUT};

    return poll(&polled, 1, 0) == 1 && polled.revents & POLLOUT;
}

static ssize_t
write_log_line(int fd, const char *line, size_t size)
{
    ssize_t n;

    if (fd == STDERR_FILENO && !is_fd_writable(fd))
        return 0;
    do
        n = write(fd, line, size);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Appends a line to the file.  The first line that fits after lost ones follows
 * a line that says how many.  Call with the lock held. */
static void
append_log_file_line(const char *line, size_t size, const char *now)
{
    char note[LOG_LINE_MAX];
    size_t used = 0;
    ssize_t n;

    if (lost > 0) {
        used = (size_t)snprintf(note, sizeof(note),
                                "%s%sZ heapwired[%d]: %u lines before this one "
                                "were lost: the log could not be written\n",
                                torn ? "\n" : "", now, (int)getpid(), lost);
        n = write_log_line(file, note, used);
        if (n < (ssize_t)used) {
            lost++;
            torn |= n > 0;
            return;
        }
        lost = 0;
        torn = false;
    }
    n = write_log_line(file, line, size);
    if (n < (ssize_t)size) {
        lost++;
        torn = n > 0;
    }
}

/* Formats without the lock, and on the stack: a log line must be possible
 * without memory. */
static void __attribute__((format(printf, 2, 0)))
emit_log_line(bool fault, const char *format, va_list args)
{
    char text[LOG_LINE_MAX / 2], line[LOG_LINE_MAX], now[CLOCK_TEXT];
    size_t start, used;

    vsnprintf(text, sizeof(text), format, args);
    clock_text(clock_wall_ms(), now, sizeof(now));
    start = (size_t)snprintf(line, sizeof(line), "%sZ heapwired[%d]: ", now,
                             (int)getpid());
    used =
        start + escape_log_text(text, line + start, sizeof(line) - start - 1);
    pthread_mutex_lock(&lock);
    if (sink == SINK_SYSLOG)
        syslog(fault ? LOG_WARNING : LOG_INFO, "%s", line + start);
    line[used++] = '\n';
    if (sink == SINK_FILE)
        append_log_file_line(line, used, now);
    if (sink == SINK_STDERR || (fault && !settled))
        write_log_line(STDERR_FILENO, line, used);
    pthread_mutex_unlock(&lock);
}

void
log_line(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    emit_log_line(false, format, args);
    va_end(args);
}

void
log_fault(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    emit_log_line(true, format, args);
    va_end(args);
}

/* Whether this second has room for another line; *left_out: how many the second
 * before had no room for. */
static bool
admit_ratelimited_line(unsigned *left_out)
{
    uint64_t second = clock_ms() / 1000;
    bool admitted;

    pthread_mutex_lock(&lock);
    *left_out = 0;
    if (second != ratelimit_second) {
        *left_out = ratelimit_left_out;
        ratelimit_second = second;
        ratelimit_lines = ratelimit_left_out = 0;
    }
    admitted = ratelimit_lines < LOG_RATE_LINES;
    if (admitted)
        ratelimit_lines++;
    else
        ratelimit_left_out++;
    pthread_mutex_unlock(&lock);
    return admitted;
}

void
log_ratelimited(const char *format, ...)
{
    unsigned left_out;
    va_list args;

    if (!admit_ratelimited_line(&left_out))
        return;
    if (left_out > 0)
        log_line("%u lines like the next were left out", left_out);
    va_start(args, format);
    emit_log_line(false, format, args);
    va_end(args);
}

void
log_to(void (*take)(const char *line), const char *format, ...)
{
    char line[LOG_LINE_MAX / 2];
    va_list args;

    if (!take)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    take(line);
}
