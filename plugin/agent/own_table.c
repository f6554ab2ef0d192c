/* own_table.c - see own_table.h. */
#include "own_table.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "confined.h"

enum { FIRST_FD = STDERR_FILENO + 1, CLOSE_MAX = 65536 };

bool
own_table_enter(unsigned calls, int kept)
{
    struct rlimit limit;

    if (kept < 0 && (calls & CONFINED_CLOSE_RANGE) &&
        confined_try(CONFINED_CLOSE_RANGE))
        return true;
    if (!(calls & CONFINED_UNSHARE) || !confined_try(CONFINED_UNSHARE))
        return false;
    if (kept >= 0 && (calls & CONFINED_CLOSE_RANGE)) {
        for (int fd = FIRST_FD; fd < kept; fd++)
            close(fd);
        return close_range((unsigned)kept + 1, ~0U, 0) == 0;
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > CLOSE_MAX)
        limit.rlim_cur = CLOSE_MAX;
    for (int fd = FIRST_FD; fd < (int)limit.rlim_cur; fd++)
        if (fd != kept)
            close(fd);
    return true;
}

int
own_table_null(bool replace)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (fd < 0)
            return -1;
    } while (fd < FIRST_FD);
    for (int i = 0; replace && i < FIRST_FD; i++)
        dup2(fd, i);
    close(fd);
    return 0;
}
