/* state_dir.c - see state_dir.h. */
#include "state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "errors.h"
#include "files.h"
#include "memory.h"

/* Creates what is missing above the last component of path, which this
 * function cuts off and restores. */
static int
make_parents(char *path)
{
    for (char *at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
        int rc = 0;

        *at = '\0';
        if (mkdir(path, 0755) == 0)
            rc = chmod(path, 0755); /* whatever the umask is */
        else if (errno != EEXIST)
            rc = -1;
        *at = '/';
        if (rc != 0)
            return -1;
    }
    return 0;
}

/* The directory above path, if only root and we can move things in it. */
static int
open_parent(const char *path, struct error *err)
{
    char *copy = mem_strdup(path), *slash = copy ? strrchr(copy, '/') : NULL;
    struct stat st;
    int fd = -1;

    if (!copy) {
        error_memory(err, path);
        return -1;
    }
    if (slash)
        slash[slash == copy] = '\0';
    fd = open(slash ? copy : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot open the directory above %s", path);
        goto bad;
    }
    if ((st.st_uid != 0 && st.st_uid != geteuid()) ||
        ((st.st_mode & (S_IWGRP | S_IWOTH)) && !(st.st_mode & S_ISVTX))) {
        error_set(err, ER_UNKNOWN,
                  "others can replace %s: the directory above it belongs to "
                  "uid %u, mode %04o",
                  path, (unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
        goto bad;
    }
    mem_free(copy);
    return fd;
bad:
    fd_close(fd);
    mem_free(copy);
    return -1;
}

/* May it become owner's?  A directory that we did not make must show that it
 * has been heapwire's before. */
static int
give_to(int fd, const char *path, bool made, const struct stat *st, uid_t owner,
        struct error *err)
{
    if (geteuid() != 0 || st->st_uid == owner)
        return 0;
    if (!made && faccessat(fd, AGENT_LOCK, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
        error_set(err, ER_UNKNOWN,
                  "the state directory %s belongs to uid %u, not %u", path,
                  (unsigned)st->st_uid, (unsigned)owner);
        return -1;
    }
    if (fchown(fd, owner, (gid_t)-1) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot give %s to uid %u", path,
                  (unsigned)owner);
        return -1;
    }
    return 0;
}

static int
check(int fd, const char *path, bool made, uid_t owner, struct error *err)
{
    struct stat st;

    if ((made && fchmod(fd, 0700) != 0) || fstat(fd, &st) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot set up %s", path);
        return -1;
    }
    if (st.st_uid != owner && st.st_uid != geteuid()) {
        error_set(err, ER_UNKNOWN,
                  "the state directory %s belongs to uid %u, not %u", path,
                  (unsigned)st.st_uid, (unsigned)owner);
        return -1;
    }
    if (st.st_mode & (S_IRWXG | S_IRWXO)) {
        error_set(err, ER_UNKNOWN,
                  "the state directory %s is open to others (mode %04o)", path,
                  (unsigned)st.st_mode & 07777);
        return -1;
    }
    return give_to(fd, path, made, &st, owner, err);
}

char *
state_dir_prepare(const char *path, uid_t owner, struct error *err)
{
    char *copy = mem_strdup(path), *resolved = NULL, absolute[PATH_MAX];
    const char *name;
    int parent = -1, fd = -1;
    bool made = false;

    if (!copy) {
        error_memory(err, path);
        return NULL;
    }
    for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--)
        copy[n - 1] = '\0';
    name = strrchr(copy, '/') ? strrchr(copy, '/') + 1 : copy;
    if (make_parents(copy) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot create the directories above %s",
                  path);
        goto out;
    }
    parent = open_parent(copy, err);
    if (parent < 0)
        goto out;
    made = mkdirat(parent, name, 0700) == 0;
    fd = made || errno == EEXIST
             ? openat(parent, name,
                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
             : -1;
    if (fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot create the state directory %s",
                  path);
        goto out;
    }
    if (check(fd, path, made, owner, err) != 0)
        goto out;
    if (!realpath(copy, absolute))
        error_sys(err, ER_UNKNOWN, "cannot resolve %s", path);
    else if (!(resolved = mem_strdup(absolute)))
        error_memory(err, path);
out:
    fd_close(fd);
    fd_close(parent);
    mem_free(copy);
    return resolved;
}
