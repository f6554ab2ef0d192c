/*
 * config_file.c - see config.h.
 *
 * A configuration file may hold secrets and names programs that root starts, so
 * it is examined through the descriptor it is read from: a file of another
 * user, or one that others can write, is refused.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "files.h"

void
config_faults_init(struct config_faults *faults)
{
    faults->count = 0;
    buffer_init(&faults->text, (size_t)CONFIG_FAULTS_MAX * 2048);
}

void
config_faults_fini(struct config_faults *faults)
{
    buffer_fini(&faults->text);
}

void
config_add_fault(struct config_faults *faults, const char *where,
                 const char *what)
{
    /* Counted all the same: the number decides whether a load failed. */
    if (faults->count++ >= CONFIG_FAULTS_MAX)
        return;
    if (*where)
        buffer_format(&faults->text, "%s: ", where);
    buffer_format(&faults->text, "%s\n", what);
}

void
config_fault(struct config_faults *faults, const char *name, unsigned line,
             const char *format, ...)
{
    char where[CONFIG_FAULT_BYTES + 16], what[CONFIG_FAULT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    if (line > 0)
        snprintf(where, sizeof(where), "%s:%u", name, line);
    else
        snprintf(where, sizeof(where), "%s", name);
    config_add_fault(faults, where, what);
}

/* Root may give its file to a group, for the user that heapwired becomes; the
 * group "root" is not such a one. */
static bool
is_readable_by_others(const struct stat *st)
{
    mode_t others = S_IRWXG | S_IRWXO;

    if (st->st_uid == 0 && st->st_gid != 0)
        others &= ~(mode_t)S_IRGRP;
    return st->st_mode & others;
}

int
config_read_file(const char *path, struct buffer *out, bool *readable,
                 struct error *err)
{
    int fd, rc = -1;
    struct stat st;

    /* O_NONBLOCK: a FIFO of that name would block the open. */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ELOOP) {
        error_set(err, ER_WRONG_VALUE, "is a symbolic link, not a file");
        return -1;
    }
    if (fd < 0 && errno == EACCES && geteuid() != 0) {
        error_set(err, ER_WRONG_VALUE,
                  "cannot be opened: Permission denied (uid %u must be able to "
                  "read it: chown root:%u, chmod 640)",
                  (unsigned)geteuid(), (unsigned)getegid());
        return -1;
    }
    if (fd < 0) {
        error_sys(err, ER_WRONG_VALUE, "cannot be opened");
        return -1;
    }
    if (fstat(fd, &st) != 0)
        error_sys(err, ER_WRONG_VALUE, "cannot be examined");
    else if (!S_ISREG(st.st_mode))
        error_set(err, ER_WRONG_VALUE, "is not a regular file");
    else if (st.st_uid != 0 && st.st_uid != geteuid())
        error_set(err, ER_WRONG_VALUE,
                  "belongs to uid %u (root or uid %u must own it; for a "
                  "heapwired that leaves root: chown root:GROUP, chmod 640, "
                  "with the group of the user that it becomes)",
                  (unsigned)st.st_uid, (unsigned)geteuid());
    else if (st.st_mode & (S_IWGRP | S_IWOTH))
        error_set(err, ER_WRONG_VALUE, "can be written by others (chmod 600)");
    else
        rc = fd_read_all(fd, out, path, err);
    if (rc == 0)
        /* Readability is judged by the caller, who knows whether there are
         * secrets. */
        *readable = is_readable_by_others(&st);
    fd_close(fd);
    return rc;
}
