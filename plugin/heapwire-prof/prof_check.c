/* prof_check.c - see prof_check.h. */
#include "prof_check.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "files.h"
#include "mappings.h"
#include "profile.h"
#include "snapshot_file.h"

enum { SNAPSHOT_MAGIC_SIZE = sizeof(SNAPSHOT_FILE_MAGIC) - 1 };

bool
prof_check_is_snapshot(const char *text, size_t size)
{
    return size >= SNAPSHOT_MAGIC_SIZE &&
           memcmp(text, SNAPSHOT_FILE_MAGIC, SNAPSHOT_MAGIC_SIZE) == 0;
}

/* ---- BINARY ---- */

static int
check_start(int fd, const char *binary, const char *path, struct error *err)
{
    char start[SNAPSHOT_MAGIC_SIZE];
    ssize_t n = pread(fd, start, sizeof(start), 0);
    size_t size = n > 0 ? (size_t)n : 0;
    bool snapshot = prof_check_is_snapshot(start, size);

    if (!snapshot && (size < 6 || memcmp(start, "heap_v", 6) != 0))
        return 0;
    error_set(err, ER_WRONG_ARGUMENTS,
              "%s is a %s, not a program; to show what grew since, say "
              "--base=%s %s%s",
              binary, snapshot ? "snapshot" : "profile", binary,
              snapshot ? "" : "BINARY ", path);
    return -1;
}

int
prof_check_binary(const char *binary, const char *path, struct error *err)
{
    int fd = open(binary, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    int rc = -1;

    if (fd < 0 || fstat(fd, &st) != 0)
        error_sys(err, ER_UNKNOWN, "cannot read %s", binary);
    else if (!S_ISREG(st.st_mode))
        error_set(err, ER_UNKNOWN, "%s is no program: it is %s", binary,
                  S_ISDIR(st.st_mode)    ? "a directory"
                  : S_ISFIFO(st.st_mode) ? "a pipe"
                                         : "not a regular file");
    else
        rc = path ? check_start(fd, binary, path, err) : 0;
    fd_close(fd);
    return rc;
}

/* ---- --base ---- */

/* The program lies below its libraries.  NULL: unknown. */
static const struct profile_module *
program_of(const struct profile *profile)
{
    for (size_t i = 0; i < profile->module_count; i++)
        if (profile->modules[i].path[0] == '/')
            return &profile->modules[i];
    return NULL;
}

int
prof_check_program(const struct profile *now, const char *now_path,
                   const struct profile *base, const char *base_path,
                   struct error *err)
{
    const struct profile_module *a = program_of(now), *b = program_of(base);

    if (!a || !b)
        return 0;
    if (strcmp(mapping_basename(a->path), mapping_basename(b->path)) != 0)
        error_set(err, ER_UNKNOWN,
                  "%s is a profile of %s, and %s of %s; add --force to compare "
                  "them anyway",
                  now_path, a->path, base_path, b->path);
    else if (a->offset != b->offset || a->end - a->start != b->end - b->start)
        error_set(err, ER_UNKNOWN,
                  "%s and %s are profiles of two builds of %s, with %llu and "
                  "%llu bytes of code; add --force to compare them "
                  "anyway",
                  now_path, base_path, a->path,
                  (unsigned long long)(a->end - a->start),
                  (unsigned long long)(b->end - b->start));
    else
        return 0;
    return -1;
}
