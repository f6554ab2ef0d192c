/* process_children.c - see process_children.h. */
#include "process_children.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Which file it executes; false: it cannot be seen, or is ending. */
static bool
executes(pid_t pid, struct stat *out)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return stat(path, out) == 0;
}

/* Of its status, which has the parent's number first; 0 if that is another. */
static bool
is_child(pid_t pid, pid_t parent, uint64_t *bytes)
{
    unsigned long long kilobytes;
    char path[64], line[256];
    bool is = false;
    int ppid;
    FILE *file;

    *bytes = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file)) {
        /* NOLINTBEGIN(cert-err34-c): the kernel's own numbers */
        if (sscanf(line, "PPid: %d", &ppid) == 1) {
            is = ppid == (int)parent;
            if (!is)
                break;
        }
        if (sscanf(line, "RssAnon: %llu", &kilobytes) == 1) {
            *bytes = kilobytes * 1024;
            break;
        }
        /* NOLINTEND(cert-err34-c) */
    }
    if (file)
        fclose(file);
    return is;
}

void
process_children_read(pid_t parent, struct process_children *out)
{
    struct stat own, other;
    struct dirent *entry;
    uint64_t bytes;
    DIR *dir;

    memset(out, 0, sizeof(*out));
    if (!executes(parent, &own))
        return;
    dir = opendir("/proc");
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
    for (int i = 0; dir && i < PROCESS_CHILDREN_SEEN && (entry = readdir(dir));
         i++) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (pid <= 0 || !is_child(pid, parent, &bytes) ||
            !executes(pid, &other) || other.st_dev != own.st_dev ||
            other.st_ino != own.st_ino)
            continue;
        out->count++;
        out->bytes += bytes;
    }
    if (dir)
        closedir(dir);
}
