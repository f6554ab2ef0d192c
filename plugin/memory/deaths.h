/*
 * deaths.h - how databases ended: the file "deaths" in the state directory.
 *
 * heapwire-run, their parent, appends a line when one has ended.  heapwired
 * reads the file, and appends a line (evidence/ends.c) when another database
 * took the place of one whose parent is a wrapper, and when one has ended
 * together with all that looked at it: how these ended is unknown.
 * The file is bounded: the oldest lines go.
 */
#ifndef HW_DEATHS_H
#define HW_DEATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"
#include "stats.h"

struct buffer;
struct error;

enum {
    DEATHS_FILE_MAX = 64 * 1024,
    DEATHS_LINE_MAX = 1024,
    DEATHS_MAX = 512, /* lines that are read at most */
    DEATH_PROGRAM_MAX = 512
};

#define DEATHS_FILE "deaths"
#define LINGER_FILE "linger" /* heapwire-run's, once the database has died */

/* How heapwire-run started it again. */
enum death_restart {
    DEATH_FINAL,
    /* Before its main was reached: without prof:true, and what heapwire-run had
     * preloaded for it. */
    DEATH_WITHOUT_OPTIONS,
    DEATH_WITHOUT_HEAPWIRE /* before it served: without the agent, too */
};

struct death {
    int64_t at_ms;      /* wall clock */
    int64_t started_ms; /* wall clock */
    int32_t pid;
    int32_t recorded; /* the recorder's process, where that is another, which
                         had ended before, behind a script; 0 */
    bool unknown;     /* signalled and code are meaningless */
    bool attached;    /* unknown because heapwire-run was attached to it */
    bool unseen;      /* unknown because whatever looked at it ended, too */
    bool signalled;
    bool oom_machine; /* oom_... are of all of the machine: its cgroup does not
                         count them */
    enum death_restart restarted;
    int32_t code;  /* the exit status, or the signal */
    int32_t asked; /* the signal that asked it to end; 0: none */
    /* Processes of its cgroup that the kernel killed for want of memory, until
     * it was started and until it ended. */
    struct stats_figure oom_before, oom_after;
    /* Of a database that ended unseen: its last sample, taken at at_ms, in
     * bytes and bytes a second. */
    struct stats_figure rss, limit, growth;
    /* How many of oom_after were heapwireds and their helpers. */
    struct stats_figure oom_own;
    char program[DEATH_PROGRAM_MAX];
};

/* True if it ended on request, or without a fault. */
bool death_was_clean(const struct death *death);
/* Processes but heapwired's that the kernel killed for want of memory; also 0
 * where that is not known. */
uint64_t death_oom_kills(const struct death *death);
/* "was killed by signal 9 (Killed) ...": what follows the program's name. */
void death_describe(const struct death *death, char *out, size_t size);

/* Parses a line without its newline; false if malformed. */
bool death_parse(struct span line, struct death *out);
void death_format(const struct death *death, struct buffer *out);

/* Reserves disk space for a line, if possible, so that an end can be written on
 * a full disk. */
void deaths_reserve(const char *dir);
/* Keeps the file open, and writes its lines again if somebody deleted it.
 * fd is what the last call returned, -1 at first; the caller closes the last
 * one. */
int deaths_watch(const char *dir, int fd);
/* Appends a line and syncs it.  -1 with *err; the file is then unchanged. */
int deaths_append(const char *dir, const struct death *death,
                  struct error *err);
/* Reads the newest, at most max, the oldest of them first; skips damaged lines.
 * Returns their number. */
size_t deaths_read(const char *dir, struct death *out, size_t max);

#endif
