/*
 * output_file.c - see output_file.h.
 *
 * A regular file is written beside its place and renamed, so a full disk leaves
 * the old one.  Links are opened before they are looked at: the kernel then
 * applies its rules for links in /tmp, which lstat() would pass by.
 */
#include "output_file.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

/* Some file systems tell only when a file is closed that they are full. */
static bool
write_and_close(int fd, struct span data)
{
    bool written = fd >= 0 && fd_write_all(fd, data.data, data.size) == 0;
    int why = errno;

    if (fd >= 0 && close(fd) != 0 && written)
        return false;
    errno = why;
    return written;
}

static bool
replace_output_file(struct span data, const char *file, mode_t mode)
{
    char made[4096];
    int fd, why;

    if (snprintf(made, sizeof(made), "%s.%d.new", file, (int)getpid()) >=
        (int)sizeof(made)) {
        errno = ENAMETOOLONG;
        return false;
    }
    fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (write_and_close(fd, data) && rename(made, file) == 0)
        return true;
    why = errno;
    if (fd >= 0)
        unlink(made);
    errno = why;
    return false;
}

/* Makes the file that a dangling link names, as curl and sort do.  Another
 * user's link may be a trap, and is refused. */
static int
make_behind_link(const char *file, const struct stat *link, mode_t mode)
{
    if (link->st_uid == geteuid())
        return open(file, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    errno = EACCES;
    return -1;
}

enum client_status
output_file_write(struct span data, const char *file, mode_t mode)
{
    /* Opening comes first because the kernel knows which links may be followed.
     */
    int there = open(file, O_PATH | O_CLOEXEC);
    bool written = false, none = there < 0 && errno == ENOENT, made = false;
    char self[32], *behind = NULL;
    struct stat st;

    if (none && lstat(file, &st) == 0 && S_ISLNK(st.st_mode)) {
        there = make_behind_link(file, &st, mode);
        made = there >= 0;
        none = false;
    }
    snprintf(self, sizeof(self), "/proc/self/fd/%d", there);
    if (none)
        written = replace_output_file(data, file, mode);
    else if (there >= 0 && fstat(there, &st) == 0 && !S_ISREG(st.st_mode))
        written = write_and_close(
            open(file, O_WRONLY | O_CREAT | O_CLOEXEC, mode), data);
    else if (there >= 0 && (behind = realpath(self, NULL)))
        written = replace_output_file(data, behind, mode & st.st_mode);
    if (!written)
        warn("%s", file);
    if (!written && made && behind)
        unlink(behind);
    fd_close(there);
    free(behind);
    return written ? CLIENT_OK : CLIENT_FAILED;
}
