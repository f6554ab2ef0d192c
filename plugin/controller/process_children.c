/* process_children.c - see process_children.h. */
#include "process_children.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent_client.h"
#include "clock.h"

enum { LOOK_MS = 5000, LOOK_SHARE = 100 };

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

static void
describe(const struct process_children *children, char *out, size_t size)
{
    bool one = children->count == 1;

    out[0] = '\0';
    if (children->count > 0)
        snprintf(out, size,
                 "%zu %s of the same executable %s up to %.1f MB and %s not "
                 "seen; process = child (or a NAME) serves one of them instead",
                 children->count, one ? "child" : "children",
                 one ? "holds" : "hold", (double)children->bytes / (1 << 20),
                 one ? "is" : "are");
}

void
process_children_look(struct agent_client *client)
{
    struct process_children children = {0};
    uint64_t now = clock_ms(), took;

    if (client->children_of == client->peer && now < client->children_due_ms)
        return;
    if (client->peer != 0)
        process_children_read(client->peer, &children);
    describe(&children, client->status.children,
             sizeof(client->status.children));
    took = clock_ms() - now;
    client->children_of = client->peer;
    client->children_due_ms =
        now + (took * LOOK_SHARE > LOOK_MS ? took * LOOK_SHARE : LOOK_MS);
}
