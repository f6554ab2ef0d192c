/* mappings.c - see mappings.h. */
#include "mappings.h"

#include <string.h>

#include "arena.h"
#include "errors.h"
#include "mapping_line.h"
#include "reader.h"
#include "search.h"

/* Sets m from a line, but for its path: *path is that, without " (deleted)". */
static bool
parse_mapping(struct span text, struct mapping *m, struct span *path)
{
    static const char gone[] = " (deleted)";
    const size_t suffix = sizeof(gone) - 1;
    struct mapping_line line;
    struct span p;

    if (!mapping_line_parse(text, &line))
        return false;
    p = line.path;
    *m = (struct mapping){.start = line.start,
                          .end = line.end,
                          .offset = line.offset,
                          .device = line.device,
                          .inode = line.inode,
                          .executable = line.permissions[2] == 'x'};
    m->deleted =
        p.size > suffix && memcmp(p.data + p.size - suffix, gone, suffix) == 0;
    p.size -= m->deleted ? suffix : 0;
    *path = p;
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
    struct mapping *list, m;
    size_t room = count_lines(text, size), count = 0, bad = 0;
    struct span s, path;

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
        if (!parse_mapping(s, &m, &path) ||
            (count > 0 && m.start < list[count - 1].end)) {
            bad++;
            continue;
        }
        m.path = arena_strndup(arena, path.data, path.size);
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
