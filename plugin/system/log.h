/*
 * log.h - heapwired's log: one line per event, UTC, bounded, escaped.
 *
 * A process has one log; any thread may write to it.
 */
#ifndef HW_LOG_H
#define HW_LOG_H

struct error;

enum { LOG_LINE_MAX = 2048 };

/* name: "stderr", "syslog" or a path.  log_reopen opens a path again, after the
 * file was rotated.  Until log_settle, faults are also written to stderr, where
 * whoever starts heapwired sees them. */
int log_open(const char *name, struct error *err);
int log_reopen(struct error *err);
void log_settle(void);
void log_close(void);
int log_fd(void); /* -1 unless a file */

void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_fault(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Logs what unauthenticated clients can cause at will: at most LOG_RATE_LINES
 * lines a second, then the number of lines left out. */
enum { LOG_RATE_LINES = 10 };
void log_ratelimited(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Formats a line and passes it to take (NULL: does nothing), for code that may
 * also run in programs without this log. */
void log_to(void (*take)(const char *line), const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
