/* mappings.c - see mappings.h. */
#include "mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "arena.h"
#include "errors.h"
#include "reader.h"
#include "search.h"

/* The kernel writes a path of at most a page, with escapes. */
enum { LINE_MAX_BYTES = 8192 };

/* Parses one number at *at, and steps over the character after, which must
 * follow.  strtoull() would take a minus sign. */
static bool
parse_maps_number(const char **at, int base, char after, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(*at, &end, base);
    if (end == *at || errno || *end != after || **at == '-')
        return false;
    *at = end + 1;
    return true;
}

/* Parses "start-end perms offset major:minor inode path" (proc_pid_maps(5)).
 * m->path points into line; *path_size is its length without " (deleted)". */
static bool
parse_maps_line(const char *line, struct mapping *m, size_t *path_size)
{
    static const char gone[] = " (deleted)";
    const char *at = line;
    uint64_t major_number, minor_number;
    size_t size;
    char *end;

    if (!parse_maps_number(&at, 16, '-', &m->start) ||
        !parse_maps_number(&at, 16, ' ', &m->end) || m->end <= m->start)
        return false;
    if (strnlen(at, 5) < 5 || at[4] != ' ')
        return false;
    m->executable = at[2] == 'x';
    at += 5;
    if (!parse_maps_number(&at, 16, ' ', &m->offset) ||
        !parse_maps_number(&at, 16, ':', &major_number) ||
        !parse_maps_number(&at, 16, ' ', &minor_number))
        return false;
    m->device = makedev((unsigned)major_number, (unsigned)minor_number);
    errno = 0;
    m->inode = strtoull(at, &end, 10);
    if (end == at || errno)
        return false;
    at = end + strspn(end, " ");
    size = strlen(at);
    m->deleted = size > sizeof(gone) - 1 &&
                 strcmp(at + size - (sizeof(gone) - 1), gone) == 0;
    if (m->deleted)
        size -= sizeof(gone) - 1;
    m->path = at;
    *path_size = size;
    return true;
}

static size_t
count_lines(const char *text, size_t size)
{
    size_t lines = 1;

    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    return lines;
}

int
mappings_parse(struct arena *arena, const char *text, size_t size,
               struct mappings *out, size_t *skipped, struct error *err)
{
    struct reader r = reader_of(text, size);
    char line[LINE_MAX_BYTES];
    struct mapping *list, m;
    size_t room = count_lines(text, size), count = 0, bad = 0, path_size;
    struct span s;

    if (room > MAPPINGS_MAX) {
        error_set(err, ER_UNKNOWN, "the process has more than %d mappings",
                  MAPPINGS_MAX);
        return -1;
    }
    list = arena_alloc(arena, room * sizeof(*list));
    if (!list) {
        error_memory(err, "the list of mappings");
        return -1;
    }
    while (reader_line(&r, &s)) {
        if (s.size == 0)
            continue;
        if (s.size >= sizeof(line) || memchr(s.data, 0, s.size)) {
            bad++;
            continue;
        }
        memcpy(line, s.data, s.size);
        line[s.size] = '\0';
        if (!parse_maps_line(line, &m, &path_size) ||
            (count > 0 && m.start < list[count - 1].end)) {
            bad++;
            continue;
        }
        m.path = arena_strndup(arena, m.path, path_size);
        if (!m.path) {
            error_memory(err, "the list of mappings");
            return -1;
        }
        list[count++] = m;
    }
    out->list = list;
    out->count = count;
    if (skipped)
        *skipped = bad;
    return 0;
}

const struct mapping *
mappings_find(const struct mappings *maps, uint64_t address)
{
    size_t low = SEARCH_ABOVE(maps->list, maps->count, end, address);

    if (low < maps->count && address >= maps->list[low].start)
        return &maps->list[low];
    return NULL;
}
