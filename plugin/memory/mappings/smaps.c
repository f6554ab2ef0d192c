/*
 * smaps.c - see smaps.h.
 *
 * A mapping begins with a line as in maps, "start-end rw-p offset device inode
 * path", whose first byte is a small hexadecimal digit; lines of figures, "Rss:
 * 12 kB", begin with a capital letter.  What makes no sense (an end before its
 * start, a range that is taken, more in memory than there is) is left out and
 * counted.
 */
#include "smaps.h"

#include <string.h>

#include "ascii.h"
#include "mapping_line.h"
#include "memory_map.h"

/* Up to the next blank, which is eaten; empty at the end. */
static struct span
take_smaps_word(struct reader *r)
{
    const uint8_t *from = r->pos;
    struct span word;

    while (r->pos < r->end && *r->pos != ' ')
        r->pos++;
    word = (struct span){(const char *)from, (size_t)(r->pos - from)};
    reader_skip_blanks(r);
    return word;
}

/* Returns where the figures of the mapping go: past the ceiling all are summed
 * up in one. */
static struct memory_range *
add_smaps_range(struct smaps *smaps, const struct memory_range *range,
                struct span name)
{
    struct memory_map *map = smaps->map;
    struct memory_range *new = memory_map_add(map);

    if (!new && map->count < MEMORY_MAP_MAX) {
        smaps->no_memory = true;
        return NULL;
    }
    if (!new) {
        map->rest_count++;
        map->rest.size += range->size;
        return &map->rest;
    }
    *new = *range;
    new->owner = new->evidence = "";
    new->name = memory_map_text(map, name.data, name.size);
    return new;
}

static void
begin_mapping(struct smaps *smaps, struct span line)
{
    struct mapping_line head;
    struct memory_range range;

    smaps->now = NULL;
    if (!mapping_line_parse(line, &head) || head.start < smaps->last_end) {
        smaps->map->bad_lines++;
        return;
    }
    range =
        (struct memory_range){.start = head.start,
                              .end = head.end,
                              .size = head.end - head.start,
                              .bare = head.path.size == 0 && head.inode == 0};
    memcpy(range.permissions, head.permissions, sizeof(head.permissions));
    smaps->last_end = range.end;
    smaps->now = add_smaps_range(smaps, &range, head.path);
}

/* "Rss: 12 kB": adds it to *out; false if that would be more than the mapping's
 * size. */
static bool
sum_smaps_figure(struct reader *r, uint64_t size, uint64_t *out)
{
    const uint8_t *from;
    uint64_t kilobytes = 0;

    reader_skip_blanks(r);
    for (from = r->pos; r->pos < r->end && is_digit((char)*r->pos); r->pos++) {
        kilobytes = kilobytes * 10 + (uint64_t)(*r->pos - '0');
        if (kilobytes > size / 1024)
            return false;
    }
    if (r->pos == from || *out + kilobytes * 1024 > size)
        return false;
    *out += kilobytes * 1024;
    return true;
}

static void
take_smaps_figure(struct smaps *smaps, struct span line)
{
    struct memory_range *now = smaps->now;
    struct reader r = reader_of(line.data, line.size);
    struct span key = take_smaps_word(&r);
    const struct {
        const char *key;
        uint64_t *figure;
    } figures[] = {
        {"Rss:", &now->rss},
        {"Shared_Dirty:", &now->dirty},
        {"Private_Dirty:", &now->dirty},
        {"Anonymous:", &now->anonymous},
        {"Swap:", &now->swap},
    };

    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        if (span_is(key, figures[i].key) &&
            !sum_smaps_figure(&r, now->size, figures[i].figure))
            smaps->map->bad_lines++;
}

void
smaps_begin(struct smaps *smaps, struct memory_map *map)
{
    *smaps = (struct smaps){.map = map};
}

static void
take_smaps_line(struct smaps *smaps, struct span line)
{
    if (line.size == 0)
        return;
    if (line.data[0] >= 'A' && line.data[0] <= 'Z') {
        if (smaps->now)
            take_smaps_figure(smaps, line);
    } else {
        begin_mapping(smaps, line);
    }
}

size_t
smaps_take(struct smaps *smaps, struct span text)
{
    size_t taken = 0;

    while (taken < text.size) {
        const char *from = text.data + taken;
        const char *end = memchr(from, '\n', text.size - taken);

        if (!end)
            break;
        take_smaps_line(smaps, (struct span){from, (size_t)(end - from)});
        taken += (size_t)(end - from) + 1;
    }
    /* A line that never ends is dropped, or the reader would buffer it all. */
    if (taken == 0 && text.size > MAPPING_LINE_MAX) {
        smaps->map->bad_lines++;
        taken = text.size;
    }
    return taken;
}
