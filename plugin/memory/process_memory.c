/*
 * process_memory.c - see process_memory.h.
 *
 * Of the two versions of cgroups, the one whose hierarchy has the memory
 * controller counts: version 1 where /proc/<pid>/cgroup names "memory", else
 * version 2.  Where the cgroup lies in the file system depends on what is
 * mounted here: a container sees a part of the hierarchy, so the path is put
 * together from /proc/<pid>/cgroup and the mount's root in
 * /proc/self/mountinfo.
 *
 * The memory sampler reads these figures each second; so only files that the
 * kernel makes from counters are used (statm, not smaps), and the cgroup's path
 * is looked up apart.
 */
#include "process_memory.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "process_stat.h"
#include "reader.h"
#include "stats.h"

enum { PROC_FILE_MAX = 1 << 20, DEPTH_MAX = 64 };

/* Version 1 writes "no limit" as the largest multiple of a page. */
static const uint64_t no_limit = (uint64_t)1 << 62;

/* ---- the process ---- */

/* A zombie reads as all zeros, hence size > 0: it has no figures. */
static void
read_resident(pid_t pid, struct stats *stats)
{
    unsigned long long size, resident, shared;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return;
    if (fscanf(file, "%llu %llu %llu", &size, &resident, &shared) == 3 &&
        size > 0) {
        stats->rss = (struct stats_figure){true, resident * page};
        stats->rss_file = (struct stats_figure){true, shared * page};
    }
    fclose(file);
}

/* "name: 12 kB" in its status. */
static struct stats_figure
read_status_bytes(pid_t pid, const char *name)
{
    char status[PROCESS_STATUS_MAX];
    long kilobytes;

    process_status_read(pid, 0, status);
    kilobytes = process_status_number(status, name);
    return kilobytes < 0
               ? (struct stats_figure){false, 0}
               : (struct stats_figure){true, (uint64_t)kilobytes * 1024};
}

struct stats_figure
process_memory_page_tables(pid_t pid)
{
    return read_status_bytes(pid, "VmPTE");
}

struct stats_figure
process_memory_huge(pid_t pid)
{
    return read_status_bytes(pid, "HugetlbPages");
}

/* ---- where its cgroup is ---- */

static bool
has_line_prefix(const char *text, size_t size, const char *prefix)
{
    size_t prefix_size = strlen(prefix);

    return size >= prefix_size && memcmp(text, prefix, prefix_size) == 0;
}

/* word is one of a list of words with commas between them. */
static bool
has_cgroup_controller(const char *list, size_t size, const char *word)
{
    size_t word_size = strlen(word);
    const char *end = list + size;

    while (list < end) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        size_t n = (size_t)((comma ? comma : end) - list);

        if (n == word_size && memcmp(list, word, n) == 0)
            return true;
        list += n + 1;
    }
    return false;
}

/* "4:memory:/a/b" or, for version 2, "0::/a/b": the path. */
static bool
find_path(const char *cgroup, bool v2, struct span *path)
{
    struct reader r = reader_of(cgroup, strlen(cgroup));
    struct span line;

    while (reader_line(&r, &line)) {
        const char *end = line.data + line.size;
        const char *one = memchr(line.data, ':', line.size), *two;

        two = one ? memchr(one + 1, ':', (size_t)(end - one - 1)) : NULL;
        if (!two)
            continue;
        if (v2 ? !has_line_prefix(line.data, line.size, "0::")
               : !has_cgroup_controller(one + 1, (size_t)(two - one - 1),
                                        "memory"))
            continue;
        path->data = two + 1;
        path->size = (size_t)(end - path->data);
        return true;
    }
    return false;
}

/* The n-th word of a line, counted from 0; empty if there are fewer. */
static struct span
nth_line_word(struct span line, unsigned n)
{
    const char *end = line.data + line.size;

    for (;;) {
        const char *space = memchr(line.data, ' ', (size_t)(end - line.data));
        struct span word = {line.data,
                            (size_t)((space ? space : end) - line.data)};

        if (n-- == 0)
            return word;
        if (!space)
            return (struct span){end, 0};
        line.data = space + 1;
    }
}

/* A line of mountinfo (proc_pid_mountinfo(5)): "31 23 0:28 <root> <mount point>
 * <options> [...] - <type> <source> <options>".  The number of optional fields
 * before "-" varies.  Sets root and point if it is the hierarchy that is looked
 * for. */
static bool
is_mount(struct span line, bool v2, struct span *root, struct span *point)
{
    struct span word;

    for (unsigned i = 6; (word = nth_line_word(line, i)).size > 0; i++) {
        struct span type, options;

        if (!span_is(word, "-"))
            continue;
        type = nth_line_word(line, i + 1);
        options = nth_line_word(line, i + 3);
        *root = nth_line_word(line, 3);
        *point = nth_line_word(line, 4);
        return v2 ? span_is(type, "cgroup2")
                  : span_is(type, "cgroup") &&
                        has_cgroup_controller(options.data, options.size,
                                              "memory");
    }
    return false;
}

/* A path outside of what is mounted here ("/..", another container's) cannot be
 * reached.  Names with a backslash are octal escapes of blanks; they are not
 * decoded, and count as not found. */
static bool
make_path(struct span root, struct span point, struct span path,
          struct cgroup_path *out)
{
    struct span rest = path;
    int n;

    if (memchr(point.data, '\\', point.size) || path.size == 0 ||
        path.data[0] != '/' || memmem(path.data, path.size, "/..", 3))
        return false;
    if (!span_is(root, "/")) {
        if (path.size < root.size ||
            memcmp(path.data, root.data, root.size) != 0 ||
            (path.size > root.size && path.data[root.size] != '/'))
            return false;
        rest.data += root.size;
        rest.size -= root.size;
    }
    while (rest.size > 0 && rest.data[rest.size - 1] == '/')
        rest.size--;
    n = snprintf(out->path, sizeof(out->path), "%.*s%.*s", (int)point.size,
                 point.data, (int)rest.size, rest.data);
    out->root_size = point.size;
    return n > 0 && (size_t)n < sizeof(out->path);
}

static bool
find_mount(const char *mountinfo, struct span path, struct cgroup_path *out)
{
    struct reader r = reader_of(mountinfo, strlen(mountinfo));
    struct span line, root, point;

    while (reader_line(&r, &line))
        if (is_mount(line, out->v2, &root, &point) &&
            make_path(root, point, path, out))
            return true;
    return false;
}

bool
cgroup_find(const char *cgroup, const char *mountinfo, struct cgroup_path *out)
{
    struct span path;

    memset(out, 0, sizeof(*out));
    out->v2 = !find_path(cgroup, false, &path);
    if (out->v2 && !find_path(cgroup, true, &path))
        return false;
    return find_mount(mountinfo, path, out);
}

/* ---- its figures ---- */

/* The number in a file of a cgroup's directory; "max" means no limit, and is
 * unknown. */
static struct stats_figure
read_figure(const char *directory, size_t size, const char *name)
{
    struct stats_figure figure = {false, 0};
    unsigned long long value;
    char path[4200];
    FILE *file;

    snprintf(path, sizeof(path), "%.*s/%s", (int)size, directory, name);
    file = fopen(path, "re");
    if (!file)
        return figure;
    if (fscanf(file, "%llu", &value) == 1 && value < no_limit)
        figure = (struct stats_figure){true, value};
    fclose(file);
    return figure;
}

/* Finds the numbers behind all the words in one read of a file of lines "word
 * number": the kernel sums up the whole file for each read. */
static void
read_lines_of(const char *path, const char *const *words,
              struct stats_figure *figures, size_t count)
{
    unsigned long long value;
    char name[64];
    FILE *file = fopen(path, "re");

    for (size_t i = 0; i < count; i++)
        figures[i] = (struct stats_figure){false, 0};
    while (file && fscanf(file, "%63s %llu", name, &value) == 2)
        for (size_t i = 0; i < count; i++)
            if (strcmp(name, words[i]) == 0)
                figures[i] = (struct stats_figure){true, value};
    if (file)
        fclose(file);
}

static struct stats_figure
read_line_of(const char *path, const char *word)
{
    struct stats_figure figure;

    read_lines_of(path, &word, &figure, 1);
    return figure;
}

static struct stats_figure
read_cache(const char *directory, size_t size, bool v2)
{
    /* Of version 1 the words without total_ leave out child cgroups. */
    static const char *const words[2][2] = {
        {"total_active_file", "total_inactive_file"},
        {"active_file", "inactive_file"}};
    struct stats_figure of[2];
    char path[4200];

    snprintf(path, sizeof(path), "%.*s/memory.stat", (int)size, directory);
    read_lines_of(path, words[v2], of, 2);
    return (struct stats_figure){of[0].known && of[1].known,
                                 of[0].value + of[1].value};
}

void
cgroup_read_kernel(const struct cgroup_path *cgroup, const char *const *words,
                   struct stats_figure *figures, size_t count)
{
    char path[4200];

    snprintf(path, sizeof(path), "%s/memory.current", cgroup->path);
    /* Only the root cgroup has no memory.current. */
    if (access(path, R_OK) == 0)
        snprintf(path, sizeof(path), "%s/memory.stat", cgroup->path);
    read_lines_of(path, words, figures, count); /* else it cannot be opened */
}

struct stats_figure
process_memory_oom_kills(const struct cgroup_path *cgroup)
{
    char path[4200] = "/proc/vmstat";

    if (cgroup)
        snprintf(path, sizeof(path), "%s/%s", cgroup->path,
                 cgroup->v2 ? "memory.events" : "memory.oom_control");
    return read_line_of(path, "oom_kill");
}

/* A parent's limit binds its children: the smallest one on the way up counts,
 * with the use of the cgroup that has it. */
void
cgroup_read(const struct cgroup_path *cgroup, struct stats *stats)
{
    const char *current =
        cgroup->v2 ? "memory.current" : "memory.usage_in_bytes";
    const char *maximum = cgroup->v2 ? "memory.max" : "memory.limit_in_bytes";
    size_t size = strlen(cgroup->path), counted = size;

    stats->cgroup_current = read_figure(cgroup->path, size, current);
    /* Above the mount's root there may be limits that cannot be seen from
     * here. */
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        struct stats_figure limit = read_figure(cgroup->path, size, maximum);

        if (limit.known && (!stats->cgroup_limit.known ||
                            limit.value < stats->cgroup_limit.value)) {
            stats->cgroup_limit = limit;
            stats->cgroup_current = read_figure(cgroup->path, size, current);
            counted = size;
        }
        if (size <= cgroup->root_size)
            break;
        while (size > cgroup->root_size && cgroup->path[--size] != '/')
            ;
    }
    stats->cgroup_cache = read_cache(cgroup->path, counted, cgroup->v2);
}

/* The whole file, NUL-terminated, or NULL. */
static const char *
read_proc_text_file(struct buffer *out, const char *path)
{
    buffer_init(out, PROC_FILE_MAX);
    if (file_read_all(path, out, NULL) != 0 || !out->data)
        return NULL;
    return out->data;
}

bool
process_memory_find_cgroup(pid_t pid, struct cgroup_path *out)
{
    struct buffer cgroup, mounts;
    const char *text, *mountinfo;
    char path[64];
    bool found;

    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    text = read_proc_text_file(&cgroup, path);
    mountinfo = read_proc_text_file(&mounts, "/proc/self/mountinfo");
    found = text && mountinfo && cgroup_find(text, mountinfo, out);
    buffer_fini(&cgroup);
    buffer_fini(&mounts);
    return found;
}

void
process_memory_read_at(pid_t pid, const struct cgroup_path *cgroup,
                       struct stats *stats)
{
    read_resident(pid, stats);
    if (cgroup)
        cgroup_read(cgroup, stats);
}

void
process_memory_read(pid_t pid, struct stats *stats)
{
    struct cgroup_path cgroup;
    bool found = process_memory_find_cgroup(pid, &cgroup);

    process_memory_read_at(pid, found ? &cgroup : NULL, stats);
    /* Memory shared between processes: System V, POSIX or anonymous.  statm
     * counts it among the file pages. */
    stats->rss_shared = read_status_bytes(pid, "RssShmem");
}

struct stats_figure
process_cpu_ms(pid_t pid)
{
    struct stats_figure figure = {false, 0};
    long ticks = sysconf(_SC_CLK_TCK);
    struct process_stat stat;

    if (ticks > 0 && process_stat_read(pid, &stat))
        figure =
            (struct stats_figure){true, (stat.user_ticks + stat.system_ticks) *
                                            1000 / (unsigned long long)ticks};
    return figure;
}
