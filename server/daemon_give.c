/* daemon_give.c - see daemon.h. */
#include "daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "become.h"
#include "certificate.h"
#include "deaths.h"
#include "files.h"
#include "state_dir.h"

/* Besides its lock and what has a directory there. */
static const char *const names[GIVEN_FILES] = {
    AGENT_SOCKET, AGENT_LOCK,  CERTIFICATE_OWN, CERTIFICATE_OWN_KEY,
    DEATHS_FILE,  LINGER_FILE, "heapwired.log"};

void
given_files_note(struct given_files *files, const struct state_dir *dir)
{
    struct stat st;

    *files = (struct given_files){.dir = dir};
    for (size_t i = 0; i < GIVEN_FILES && dir->owner != geteuid(); i++)
        if (fstatat(dir->fd, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_uid != dir->owner)
            files->strange[i] = st.st_ino;
}

static bool
is_strange(const struct given_files *files, const struct stat *st)
{
    size_t i = 0;

    while (i < GIVEN_FILES && files->strange[i] != st->st_ino)
        i++;
    return i < GIVEN_FILES;
}

int
given_files_give(const struct given_files *files, int fd,
                 const struct account *account)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return -1;
    if (is_strange(files, &st))
        return 0;
    if (st.st_nlink == 1 && (S_ISSOCK(st.st_mode) || S_ISREG(st.st_mode)))
        return fchownat(fd, "", account->uid, account->gid, AT_EMPTY_PATH);
    errno = EPERM;
    return -1;
}

static int
give_named(const struct given_files *files, const char *name,
           const struct account *account)
{
    int fd = openat(files->dir->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int rc;

    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    rc = given_files_give(files, fd, account);
    fd_close(fd);
    return rc;
}

int
given_files_give_two(const struct given_files *files, const char *one,
                     const char *other, const struct account *account)
{
    return give_named(files, one, account) == 0
               ? give_named(files, other, account)
               : -1;
}
