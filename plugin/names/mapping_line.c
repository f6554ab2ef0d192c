/* mapping_line.c - see mapping_line.h.  Not by sscanf(), which takes signs and
 * numbers beyond 64 bits, and needs a NUL. */
#include "mapping_line.h"

#include <string.h>
#include <sys/sysmacros.h>

/* Reads a number and the character behind it, which must be after; a blank may
 * be missing at the end of the line. */
static bool
take_mapping_number(struct reader *r, unsigned base, char after, uint64_t *out)
{
    const uint8_t *from = r->pos;

    for (*out = 0; r->pos < r->end; r->pos++) {
        unsigned c = *r->pos, digit;

        if (c >= '0' && c <= '9')
            digit = c - '0';
        else if (base == 16 && c >= 'a' && c <= 'f')
            digit = c - 'a' + 10;
        else
            break;
        if (*out > (UINT64_MAX - digit) / base)
            return false;
        *out = *out * base + digit;
    }
    if (r->pos == from)
        return false;
    if (r->pos == r->end)
        return after == ' ';
    return (char)*r->pos++ == after;
}

static bool
take_permissions(struct reader *r, char out[4])
{
    if (r->end - r->pos < 5 || r->pos[4] != ' ')
        return false;
    memcpy(out, r->pos, 4);
    r->pos += 5;
    for (int i = 0; i < 4; i++)
        if (!strchr("rwxps-", out[i]))
            return false;
    return true;
}

/* proc_pid_maps(5): "start-end perms offset major:minor inode   path". */
bool
mapping_line_parse(struct span line, struct mapping_line *out)
{
    struct reader r = {(const uint8_t *)line.data,
                       (const uint8_t *)line.data + line.size, false};
    uint64_t major_number, minor_number;

    if (line.size >= MAPPING_LINE_MAX || memchr(line.data, 0, line.size) ||
        !take_mapping_number(&r, 16, '-', &out->start) ||
        !take_mapping_number(&r, 16, ' ', &out->end) ||
        out->end <= out->start || !take_permissions(&r, out->permissions) ||
        !take_mapping_number(&r, 16, ' ', &out->offset) ||
        !take_mapping_number(&r, 16, ':', &major_number) ||
        !take_mapping_number(&r, 16, ' ', &minor_number) ||
        !take_mapping_number(&r, 10, ' ', &out->inode))
        return false;
    out->device = makedev((unsigned)major_number, (unsigned)minor_number);
    reader_skip_blanks(&r);
    out->path = (struct span){(const char *)r.pos, (size_t)(r.end - r.pos)};
    return true;
}
