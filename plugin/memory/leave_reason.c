/*
 * leave_reason.c - see leave_reason.h.
 *
 * The agent holds an fcntl lock on the file as long as it serves.  Such a lock
 * ends with the process, however that ends, so the file's text is believed only
 * while nobody holds the lock.  The text names a pid and its start time,
 * because a pid is reused: the reason counts only while that very process
 * lives.
 */
#include "leave_reason.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "clean_text.h"
#include "files.h"
#include "own_file.h"
#include "process_stat.h"
#include "reader.h"

static bool
is_agent_lock_taken(int fd, pid_t *holder)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool held = fcntl(fd, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;

    if (holder)
        *holder = held && whole.l_pid > 0 ? whole.l_pid : 0;
    return held;
}

/* Opens the lock file; -1 if an agent holds the lock. */
static int
open_free_lock(const char *state_dir, int flags)
{
    int fd = own_file_open(state_dir, AGENT_LOCK, flags);

    if (fd < 0 || !is_agent_lock_taken(fd, NULL))
        return fd;
    fd_close(fd);
    return -1;
}

bool
agent_lock_is_held(const char *state_dir, pid_t *holder)
{
    int fd = own_file_open(state_dir, AGENT_LOCK, O_RDWR);
    bool held = fd >= 0 && is_agent_lock_taken(fd, holder);

    fd_close(fd);
    return held;
}

static struct reader
read_lock(const char *state_dir, off_t at, char *bytes, size_t size)
{
    int fd = open_free_lock(state_dir, O_RDONLY);
    ssize_t got = 0;

    if (fd >= 0)
        got = pread(fd, bytes, size, at);
    fd_close(fd);
    return reader_of(bytes, got > 0 ? (size_t)got : 0);
}

static bool
read_leave_reason_at(const char *state_dir, off_t at, pid_t greeted, pid_t peer,
                     char *out, size_t size)
{
    char bytes[AGENT_TEXT_MAX - 1], text[AGENT_TEXT_MAX];
    struct reader lock = read_lock(state_dir, at, bytes, sizeof(bytes));
    unsigned long long start_ticks;
    struct span line;
    int pid, why = 0;

    out[0] = '\0';
    if (!reader_line(&lock, &line))
        return false;
    clean_text(line, text);
    /* NOLINTNEXTLINE(cert-err34-c): bounded widths */
    if (sscanf(text, LEAVE_REASON_TAG "%9d %19llu %n", &pid, &start_ticks,
               &why) != 2 ||
        why == 0 || text[why] == '\0' ||
        !process_is_alive(peer != 0 && pid == greeted ? peer : pid,
                          start_ticks))
        return false;
    snprintf(out, size,
             "the agent has left the database (pid %d), which runs on without "
             "it: %s",
             pid, text + why);
    return true;
}

bool
leave_reason_read(const char *state_dir, pid_t greeted, pid_t peer, char *out,
                  size_t size)
{
    /* At 0 is what an agent that had served wrote, at AGENT_EARLY_AT what one
     * wrote that never came to serve. */
    return read_leave_reason_at(state_dir, 0, greeted, peer, out, size) ||
           read_leave_reason_at(state_dir, AGENT_EARLY_AT, greeted, peer, out,
                                size);
}

void
leave_reason_write(const char *state_dir, pid_t pid, const char *why)
{
    char word[AGENT_TEXT_MAX];
    struct process_stat stat;
    int fd, size;

    if (!process_stat_read(pid, &stat))
        return;
    size = snprintf(word, sizeof(word), LEAVE_REASON_LINE, (int)pid,
                    (unsigned long long)stat.start_ticks, why);
    fd = open_free_lock(state_dir, O_RDWR);
    if (fd >= 0 && size > 0 && (size_t)size < sizeof(word) &&
        ftruncate(fd, 0) == 0)
        (void)!write(fd, word, (size_t)size);
    fd_close(fd);
}
