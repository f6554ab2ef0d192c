/* process_mappings.c - see process_mappings.h. */
#include "process_mappings.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"

enum { LINE_MAX_BYTES = 8192 }; /* a path has a page at most */

static bool
starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* By the name that the kernel gives it. */
static const char *
kind_of(const char *name)
{
    static const struct {
        const char *prefix, *kind;
    } kinds[] = {
        {"[heap]", "heap"},
        {"[stack", "stack"},
        {"[anon_shmem:", "shared memory"},
        {"[anon", "anonymous"},
        {"[", "kernel"},
        {"/dev/shm/", "shared memory"},
        {"/dev/zero", "shared memory"}, /* without a name */
        {"/memfd:", "shared memory"},
        {"/SYSV", "shared memory"},
        {"/anon_hugepage", "anonymous"},
        {"/", "file"},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (starts_with(name, kinds[i].prefix))
            return kinds[i].kind;
    return "anonymous";
}

/* The last one is of all that have no place. */
static struct process_mapping *
place_of(struct process_mapping *list, size_t *count, const char *name)
{
    const char *kind = kind_of(name);

    for (size_t i = *count; i > 0; i--)
        if (list[i - 1].kind == kind &&
            strncmp(list[i - 1].name, name, MAPPING_NAME_MAX) == 0)
            return &list[i - 1];
    if (*count == MAPPINGS_MAX) {
        struct process_mapping *rest = &list[MAPPINGS_MAX - 1];

        snprintf(rest->name, sizeof(rest->name), "(others)");
        rest->kind = "others";
        return rest;
    }
    list[*count] = (struct process_mapping){.kind = kind};
    strncat(list[*count].name, name, MAPPING_NAME_MAX);
    return &list[(*count)++];
}

/* "7f01a000-7f02b000 r--p 00000000 fe:00 247278       /usr/bin/head": a
 * mapping begins. */
static bool
take_head(const char *line, unsigned long long *size, const char **name)
{
    unsigned long long from, to;
    int at = 0;

    /* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers */
    if (sscanf(line, "%llx-%llx %*s %*s %*s %*s%n", &from, &to, &at) != 2 ||
        at == 0 || to < from)
        return false;
    *size = to - from;
    *name = line + at + strspn(line + at, " ");
    return true;
}

static int
by_rss(const void *a, const void *b)
{
    uint64_t x = ((const struct process_mapping *)a)->rss;
    uint64_t y = ((const struct process_mapping *)b)->rss;

    return x > y ? -1 : x < y;
}

size_t
process_mappings_parse(FILE *smaps, const atomic_bool *cancelled,
                       struct process_mapping *list)
{
    struct process_mapping *now = NULL;
    unsigned long long kilobytes;
    char line[LINE_MAX_BYTES];
    const char *name;
    size_t count = 0;

    while (fgets(line, sizeof(line), smaps)) {
        if (cancelled && atomic_load(cancelled))
            return 0;
        line[strcspn(line, "\n")] = '\0';
        if (take_head(line, &kilobytes, &name)) {
            now = place_of(list, &count, name);
            now->count++;
            now->size += kilobytes;
        } else if (now && sscanf(line, "Rss: %llu", &kilobytes) == 1) {
            now->rss += kilobytes * 1024;
        } else if (now && sscanf(line, "Swap: %llu", &kilobytes) == 1) {
            now->swap += kilobytes * 1024;
        }
    }
    if (count > 0)
        qsort(list, count, sizeof(*list), by_rss);
    return count;
}

size_t
process_mappings_read(pid_t pid, const atomic_bool *cancelled,
                      struct process_mapping *list, struct error *err)
{
    char path[64];
    size_t count;
    FILE *smaps;

    snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
    smaps = fopen(path, "re");
    if (!smaps) {
        error_sys(err, ER_UNKNOWN, "cannot open %s", path);
        return 0;
    }
    count = process_mappings_parse(smaps, cancelled, list);
    if (count == 0)
        error_set(err, ER_UNKNOWN, "%s has nothing to read", path);
    fclose(smaps);
    return count;
}
