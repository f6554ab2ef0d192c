/* program.c - see program.h. */
#include "program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "errors.h"
#include "files.h"
#include "memory.h"

enum { EXIT_NOT_FOUND = 127, EXIT_NOT_RUNNABLE = 126 }; /* the shell's */

static bool
runnable(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return false;
    if (!S_ISREG(st.st_mode)) {
        errno = EACCES;
        return false;
    }
    return access(path, X_OK) == 0;
}

char *
program_find(const char *name, int *exit_status, struct error *err)
{
    const char *path = getenv("PATH"); /* NOLINT(concurrency-mt-unsafe) */
    char full[PATH_MAX], *found;
    int reason = ENOENT;

    if (strchr(name, '/'))
        path = "";
    else if (!path)
        path = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        size_t size = strcspn(path, ":");

        if (snprintf(full, sizeof(full), "%.*s%s%s", (int)size, path,
                     size > 0 ? "/" : "", name) < (int)sizeof(full) &&
            runnable(full)) {
            found = mem_strdup(full);
            if (!found)
                error_memory(err, name);
            return found;
        }
        if (errno != ENOENT && errno != ENOTDIR)
            reason = errno;
        if (!path[size])
            break;
        path += size + 1;
    }
    errno = reason;
    error_sys(err, ER_UNKNOWN, "cannot run %s", name);
    *exit_status = reason == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE;
    return NULL;
}

bool
program_is_script(const char *path)
{
    int fd = file_open_regular(path);
    char magic[2] = "";
    bool script = fd >= 0 && pread(fd, magic, sizeof(magic), 0) == 2 &&
                  memcmp(magic, "#!", sizeof(magic)) == 0;

    fd_close(fd);
    return script;
}

bool
program_secure(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return false;
    if (((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
        ((st.st_mode & S_ISGID) && st.st_gid != getegid()))
        return true;
    return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}
