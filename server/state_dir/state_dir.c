/*
 * state_dir.c - see state_dir.h.
 *
 * Three locks keep processes apart, and all are flock(): the kernel releases it
 * with the process, however that ends, and containers that share the directory
 * see it.  "heapwired.lock" is held by the heapwired that serves the directory;
 * the directory's own inode is locked by heapwire-run, which must not write
 * beside another one; "linger" is held by whoever outlives its database, and a
 * successor that wants it to end writes a byte into that file.  Where a
 * filesystem has no locks, heapwire-run goes on without.
 */
#include "state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "leave_reason.h"
#include "clock.h"
#include "deaths.h"
#include "errors.h"
#include "files.h"
#include "own_file.h"

#define LOCK_NAME "heapwired.lock"

enum {
    STATE_LOCK_STEP_MS = 50, /* between attempts to get the lock */
    LINGERS_MS = 500, /* from a database's end to its heapwire-run's linger */
    NOTICES_MS = 5000 /* until a heapwired notices that its own was killed */
};

/* If only root can make directories there, root may take back one that it gave
 * to the database's user on an earlier run. */
static int
check_state_directory(const char *path, const struct stat *st, bool roots_own,
                      struct error *err)
{
    if (!S_ISDIR(st->st_mode)) {
        error_set(err, ER_UNKNOWN, "the state directory %s is not a directory",
                  path);
        return -1;
    }
    if (st->st_uid != geteuid() && !(geteuid() == 0 && roots_own)) {
        error_set(err, ER_UNKNOWN,
                  "the state directory %s belongs to uid %u, not to uid %u",
                  path, (unsigned)st->st_uid, (unsigned)geteuid());
        return -1;
    }
    if (st->st_mode & (S_IRWXG | S_IRWXO)) {
        error_set(err, ER_UNKNOWN,
                  "the state directory %s is open to others (chmod 700)", path);
        return -1;
    }
    return 0;
}

bool
state_dir_can_be_given(const char *path)
{
    struct safe_path at;
    struct error ignored;

    if (safe_path_walk(path, false, &at, &ignored) != 0)
        return false;
    fd_close(at.parent);
    return at.roots_own;
}

int
state_dir_check(const char *path, struct error *err)
{
    struct safe_path at;
    struct stat st;
    int rc = 0;

    if (safe_path_walk(path, false, &at, err) != 0)
        return -1;
    if (at.parent < 0)
        return 0; /* state_dir_open makes it */
    if (fstatat(at.parent, at.name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        rc = check_state_directory(path, &st, at.roots_own, err);
    } else if (errno != ENOENT) {
        error_sys(err, ER_UNKNOWN, "cannot examine the state directory %s",
                  path);
        rc = -1;
    }
    fd_close(at.parent);
    return rc;
}

/* The file is examined before it is written: an earlier owner of the directory
 * may have linked another user's file there. */
static int
lock_state_directory(struct state_dir *dir, const char *path, bool *busy,
                     struct error *err)
{
    struct stat st;
    char pid[16];
    int size;

    dir->lock =
        openat(dir->fd, LOCK_NAME,
               O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (dir->lock < 0) {
        error_sys(err, ER_UNKNOWN, "cannot open %s/" LOCK_NAME, path);
        return -1;
    }
    /* Before the checks below: the winner alone truncates and writes. */
    if (flock(dir->lock, LOCK_EX | LOCK_NB) != 0) {
        *busy = errno == EWOULDBLOCK;
        if (*busy)
            error_set(err, ER_UNKNOWN,
                      "another heapwired serves %s; one node more needs an id "
                      "(--node-id) or a state directory of its own",
                      path);
        else
            error_sys(err, ER_UNKNOWN, "cannot lock %s/" LOCK_NAME, path);
        return -1;
    }
    if (fstat(dir->lock, &st) != 0 || !S_ISREG(st.st_mode) ||
        st.st_nlink != 1) {
        error_set(err, ER_UNKNOWN,
                  "%s/" LOCK_NAME " is not a regular file with one name: "
                  "remove it",
                  path);
        return -1;
    }
    size = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
    if (ftruncate(dir->lock, 0) != 0 ||
        pwrite(dir->lock, pid, (size_t)size, 0) != size) {
        error_sys(err, ER_UNKNOWN, "cannot write %s/" LOCK_NAME, path);
        return -1;
    }
    return 0;
}

/* The directory, created or checked; -1 with *err. */
static int
make_directory(const char *path, struct stat *st, struct error *err)
{
    struct safe_path at;
    int fd;

    if (safe_path_walk(path, true, &at, err) != 0)
        return -1;
    fd = safe_path_open(&at);
    if (fd < 0 || fstat(fd, st) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot open the state directory %s", path);
        goto out;
    }
    if (check_state_directory(path, st, at.roots_own, err) == 0) {
        fd_close(at.parent);
        return fd;
    }
out:
    fd_close(fd);
    fd_close(at.parent);
    return -1;
}

int
state_dir_make_for(const char *path, uid_t uid, struct error *err)
{
    struct stat st;
    int fd = make_directory(path, &st, err), rc = -1;

    if (fd >= 0) {
        rc = fchown(fd, uid, (gid_t)-1);
        if (rc != 0)
            error_sys(err, ER_UNKNOWN,
                      "cannot give the state directory %s to uid %u", path,
                      (unsigned)uid);
    }
    fd_close(fd);
    return rc;
}

int
state_dir_open(struct state_dir *dir, const char *path, bool *busy,
               struct error *err)
{
    struct state_dir opened = {-1, -1, 0};
    struct stat st;

    *busy = false;
    opened.fd = make_directory(path, &st, err);
    if (opened.fd < 0 || lock_state_directory(&opened, path, busy, err) != 0)
        goto out;
    if (st.st_uid != geteuid() && fchown(opened.fd, geteuid(), getegid())) {
        error_sys(err, ER_UNKNOWN, "cannot take the state directory %s", path);
        goto out;
    }
    opened.owner = st.st_uid;
    *dir = opened;
    return 0;
out:
    state_dir_close(&opened);
    return -1;
}

int
state_dir_recheck(struct state_dir *dir, const char *path, bool *replaced,
                  struct error *err)
{
    struct state_dir now = {-1, -1, 0};
    struct stat own, named, lock;
    bool busy;

    *replaced = false;
    if (fstat(dir->fd, &own) != 0 || fstat(dir->lock, &lock) != 0)
        return 0;
    if (lstat(path, &named) != 0)
        *replaced = errno == ENOENT;
    else
        *replaced = named.st_ino != own.st_ino || named.st_dev != own.st_dev;
    if (!*replaced && lock.st_nlink > 0)
        return 0;
    if (state_dir_open(&now, path, &busy, err) != 0)
        return -1;
    if (!*replaced)
        now.owner = dir->owner;
    state_dir_close(dir);
    *dir = now;
    return 0;
}

bool
state_dir_is_served(const char *path)
{
    int fd = own_file_open(path, LOCK_NAME, O_RDWR);
    bool served =
        fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;

    fd_close(fd);
    return served;
}

/* ---- heapwire-run's own lock ---- */

/* The pid of the heapwired that took the lock last, for an error's text; 0:
 * unknown. */
static int
read_lock_pid(const char *path)
{
    int fd = own_file_open(path, LOCK_NAME, O_RDONLY);
    char text[16] = "";

    if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
        *text = '\0';
    fd_close(fd);
    return atoi(text);
}

/* 0: fd has the lock.  -1 with errno, and how long it is worth waiting for the
 * process that has it. */
static int
lock_for_run(int fd, const char *path, uint64_t *wait_ms)
{
    *wait_ms = LINGERS_MS;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return -1;
    /* A heapwired serves a live database there and does not linger.  Perhaps
     * its heapwire-run was killed and it has not noticed yet: it gets
     * NOTICES_MS for that. */
    if (!state_dir_is_served(path) || linger_lock_is_held(path) ||
        !agent_lock_is_held(path, NULL))
        return 0;
    flock(fd, LOCK_UN);
    *wait_ms = NOTICES_MS;
    errno = EWOULDBLOCK;
    return -1;
}

int
state_dir_lock(const char *path, int *lock_fd, struct error *err)
{
    const struct timespec step = {.tv_nsec = STATE_LOCK_STEP_MS * 1000000L};
    uint64_t began = clock_ms(), wait_ms;
    struct stat st;
    int made = make_directory(path, &st, err), fd, rc;
    char pid[40] = "";

    *lock_fd = -1;
    if (made < 0)
        return -1;
    fd = fcntl(made, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); /* no child's stdio */
    fd_close(made);
    while ((rc = lock_for_run(fd, path, &wait_ms)) != 0 &&
           errno == EWOULDBLOCK && clock_ms() - began < wait_ms)
        nanosleep(&step, NULL);
    if (rc == 0) {
        *lock_fd = fd;
        return 0;
    }
    /* EBADF, ENOLCK, EOPNOTSUPP ...: there are no locks here, which is no
     * reason to refuse a start. */
    rc = errno;
    fd_close(fd);
    if (rc != EWOULDBLOCK)
        return 0;
    if (state_dir_is_served(path))
        snprintf(pid, sizeof(pid), " (its heapwired has pid %d)",
                 read_lock_pid(path));
    error_set(err, ER_UNKNOWN,
              "%s is served by another heapwire-run%s; one node more needs an "
              "id (--node-id) or a state directory of its own (--state-dir)",
              path, pid);
    return -1;
}

void
state_dir_close(struct state_dir *dir)
{
    fd_close(dir->lock);
    fd_close(dir->fd);
    dir->fd = dir->lock = -1;
}

/* ---- the file "linger" ---- */

int
linger_begin(const char *state_dir)
{
    int fd = own_file_open(state_dir, LINGER_FILE, O_RDWR | O_CREAT);

    /* Emptied: a byte of the time before must not end us at once. */
    if (fd >= 0 &&
        (flock(fd, LOCK_EX | LOCK_NB) != 0 || ftruncate(fd, 0) != 0)) {
        fd_close(fd);
        return -1;
    }
    return fd;
}

bool
linger_is_over(int lock)
{
    struct stat st;

    return lock >= 0 && fstat(lock, &st) == 0 && st.st_size > 0;
}

bool
linger_is_lost(int lock)
{
    struct stat st;

    return lock >= 0 && fstat(lock, &st) == 0 && st.st_nlink == 0;
}

static bool
is_locked_by_other(int fd)
{
    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

bool
linger_lock_is_held(const char *state_dir)
{
    int fd = own_file_open(state_dir, LINGER_FILE, O_RDWR);
    bool held = is_locked_by_other(fd);

    fd_close(fd);
    return held;
}

bool
linger_end_of(const char *state_dir)
{
    int fd = own_file_open(state_dir, LINGER_FILE, O_RDWR);
    bool lingers = is_locked_by_other(fd) && pwrite(fd, "x", 1, 0) == 1;

    fd_close(fd);
    return lingers;
}
