/*
 * safe_path.c - see state_dir.h.
 *
 * Checking a path and then opening it leaves time to swap a directory in
 * between.  So each name is opened relative to the descriptor of the directory
 * before it, which was checked.  The kernel is told to follow no symbolic link;
 * the text of a link that root or we own is read and walked in turn, since /run
 * may be a link.  /tmp/heapwire, which anybody can make, may be another user's.
 * (openat2's RESOLVE_NO_SYMLINKS would refuse the good links as well.)
 */
#include "state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "files.h"

enum { LINKS_MAX = 40 }; /* as the kernel's */

enum { FAILED = -1, ENTERED, MISSING, LAST }; /* the outcome of one name */

struct walk {
    const char *path;     /* as it was asked for */
    char done[PATH_MAX];  /* of the directory, for the messages; "" is / */
    char rest[PATH_MAX];  /* the names to walk */
    int directory, links; /* O_PATH; how many were followed */
    uid_t master;         /* owner of /: not root in some user namespaces */
};

/* ---- the rule ---- */

static bool
is_trusted(uid_t uid)
{
    return uid == 0 || uid == geteuid();
}

/* Others may write to the directory where its sticky bit keeps them from
 * renaming what is not theirs.  Our own group may, too. */
static int
check_way(struct walk *walk, struct stat *st, struct error *err)
{
    const char *name = *walk->done ? walk->done : "/";

    if (fstat(walk->directory, st) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot examine %s", name);
        return -1;
    }
    /* The first directory is "/" itself. */
    if (!*walk->done)
        walk->master = st->st_uid;
    if ((is_trusted(st->st_uid) || st->st_uid == walk->master) &&
        (st->st_mode & S_ISVTX ||
         !(st->st_mode & S_IWOTH ||
           (st->st_mode & S_IWGRP && st->st_gid != getegid()))))
        return 0;
    error_set(err, ER_UNKNOWN,
              "the state directory %s is not safe: others can write to %s "
              "(owner uid %u, mode %04o)",
              walk->path, name, (unsigned)st->st_uid,
              (unsigned)st->st_mode & 07777);
    return -1;
}

/* ---- the way ---- */

/* The next name of rest; "" at its end. */
static int
take_path_name(struct walk *walk, char name[NAME_MAX + 1], struct error *err)
{
    const char *start = walk->rest + strspn(walk->rest, "/");
    size_t size = strcspn(start, "/");

    if (size > NAME_MAX) {
        errno = ENAMETOOLONG;
        error_sys(err, ER_UNKNOWN, "cannot open the state directory %s",
                  walk->path);
        return -1;
    }
    memcpy(name, start, size);
    name[size] = '\0';
    start += size + strspn(start + size, "/");
    memmove(walk->rest, start, strlen(start) + 1);
    return 0;
}

static int
enter_path_directory(struct walk *walk, const char *name, int fd,
                     struct error *err)
{
    size_t size = strlen(walk->done);
    int added =
        snprintf(walk->done + size, sizeof(walk->done) - size, "/%s", name);

    fd_close(walk->directory);
    walk->directory = fd;
    if ((size_t)added < sizeof(walk->done) - size)
        return 0;
    errno = ENAMETOOLONG;
    error_sys(err, ER_UNKNOWN, "cannot open the state directory %s",
              walk->path);
    return -1;
}

/* Puts the link's text before the rest. */
static int
follow_path_link(struct walk *walk, const char *name, int link,
                 struct error *err)
{
    char text[PATH_MAX], rest[PATH_MAX];
    struct stat st;
    ssize_t size = -1;
    int root;

    errno = ENOTDIR; /* reported if it is no link but, say, a file */
    if (fstat(link, &st) == 0 && S_ISLNK(st.st_mode)) {
        if (!is_trusted(st.st_uid)) {
            error_set(err, ER_UNKNOWN,
                      "the state directory %s is not safe: %s/%s is a symbolic "
                      "link of uid %u, who can lead it elsewhere",
                      walk->path, walk->done, name, (unsigned)st.st_uid);
            return -1;
        }
        size = readlinkat(link, "", text, sizeof(text));
        errno = ++walk->links > LINKS_MAX ? ELOOP : ENAMETOOLONG;
    }
    /* A text that fills the buffer may have been cut; then it does not fit
     * below, either. */
    if (size <= 0 || walk->links > LINKS_MAX ||
        snprintf(rest, sizeof(rest), "%.*s/%s", (int)size, text, walk->rest) >=
            (int)sizeof(rest))
        goto out;
    memcpy(walk->rest, rest, sizeof(rest));
    /* A relative link goes on in the directory that has it; an absolute one,
     * from /. */
    if (*text != '/')
        return 0;
    root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        goto out;
    fd_close(walk->directory);
    walk->directory = root;
    walk->done[0] = '\0';
    return 0;
out:
    error_sys(err, ER_UNKNOWN, "cannot follow %s/%s", walk->done, name);
    return -1;
}

/* Other users may pass through directories that root makes: the state directory
 * below may be given to another user. */
static int
make_passage(int parent, const char *name)
{
    int fd, rc = -1;

    if (mkdirat(parent, name, 0700) != 0)
        return errno == EEXIST ? 0 : -1;
    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        /* fchmod, since mkdirat's mode is subject to the umask. */
        rc = fchmod(fd, geteuid() == 0 ? 0755 : 0700);
    fd_close(fd);
    return rc;
}

static int
walk_path_name(struct walk *walk, const char *name, bool make,
               struct error *err)
{
    const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(walk->directory, name, flags | O_DIRECTORY), rc;

    if (fd < 0 && errno == ENOENT) {
        if (!make)
            return MISSING;
        if (make_passage(walk->directory, name) != 0) {
            error_sys(err, ER_UNKNOWN, "cannot create the directory %s/%s",
                      walk->done, name);
            return -1;
        }
        fd = openat(walk->directory, name, flags | O_DIRECTORY);
    }
    if (fd >= 0)
        return enter_path_directory(walk, name, fd, err);
    if (errno == ENOTDIR)
        fd = openat(walk->directory, name, flags);
    if (fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot examine %s/%s", walk->done, name);
        return -1;
    }
    rc = follow_path_link(walk, name, fd, err);
    fd_close(fd);
    return rc;
}

int
safe_path_walk(const char *path, bool make, struct safe_path *out,
               struct error *err)
{
    struct walk walk = {.path = path, .directory = -1};
    struct safe_path at = {.parent = -1};
    struct stat st;
    int found, rc = -1;

    walk.directory = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (walk.directory < 0 || *path != '/' || strlen(path) >= PATH_MAX) {
        error_set(err, ER_UNKNOWN, "the state directory %s is no full path",
                  path);
        goto out;
    }
    memcpy(walk.rest, path, strlen(path) + 1);
    do {
        if (check_way(&walk, &st, err) != 0 ||
            take_path_name(&walk, at.name, err) != 0)
            goto out;
        found = *walk.rest ? walk_path_name(&walk, at.name, make, err) : LAST;
    } while (found == ENTERED);
    if (found == FAILED)
        goto out;
    if (found == LAST) {
        at.parent = walk.directory;
        at.roots_own = st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH));
        walk.directory = -1;
    }
    *out = at;
    rc = 0;
out:
    fd_close(walk.directory);
    return rc;
}

int
safe_path_open(const struct safe_path *at)
{
    const char *name = *at->name ? at->name : ".";

    if (mkdirat(at->parent, name, 0700) != 0 && errno != EEXIST)
        return -1;
    return openat(at->parent, name,
                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}
