/*
 * json_path.c - MySQL's paths into JSON: $.a, $."a b", $[0], $[last - 1], $[0
 * to 2], $[*], $.*; see json_text.h.
 *
 * A path is not compiled: json_path() checks it once, and json_find() reads it
 * again leg by leg while it walks the document's text.  That needs no memory,
 * and paths are short; a path with * over a large document reads parts of it
 * several times, so the caller is asked (spend) before each part, and stops
 * what costs too much. ** (all levels) is refused, since MySQL's order of its
 * results would need the whole tree.
 */
#include "json_text.h"

#include <stdint.h>
#include <string.h>

#include "buffer.h"
#include "ascii.h"

enum { INDEX_MAX = 1000000000 };

enum leg_kind { LEG_MEMBER, LEG_MEMBERS, LEG_CELLS, LEG_ALL_CELLS };

/* The index of a cell, from 0, or back from the last one. */
struct cell_index {
    int64_t index;
    bool from_last;
};

struct leg {
    enum leg_kind kind;
    struct span name; /* as written, perhaps without its quotes */
    struct cell_index first, last;
};

struct path_reader {
    const char *at, *end;
    bool wrong; /* sticky */
};

static void
skip_path_blanks(struct path_reader *s)
{
    /* strchr() finds the NUL at the end of its list, too. */
    while (s->at < s->end && strchr(" \t\n\r", *s->at) && *s->at)
        s->at++;
}

static bool
accept_path_char(struct path_reader *s, char c)
{
    skip_path_blanks(s);
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

static bool
accept_path_word(struct path_reader *s, const char *word)
{
    size_t size = strlen(word);

    skip_path_blanks(s);
    if ((size_t)(s->end - s->at) < size || memcmp(s->at, word, size) != 0)
        return false;
    s->at += size;
    return true;
}

static bool
read_index(struct path_reader *s, int64_t *out)
{
    const char *start;

    skip_path_blanks(s);
    start = s->at;
    for (*out = 0; s->at < s->end && is_digit(*s->at); s->at++)
        /* An index beyond that finds nothing, however long it is; it must not
         * overflow. */
        if (*out < INDEX_MAX)
            *out = *out * 10 + (*s->at - '0');
    return s->at > start;
}

static bool
read_array_position(struct path_reader *s, struct cell_index *out)
{
    *out = (struct cell_index){0, false};
    if (!accept_path_word(s, "last"))
        return read_index(s, &out->index);
    out->from_last = true;
    return !accept_path_char(s, '-') || read_index(s, &out->index);
}

static bool
read_cells(struct path_reader *s, struct leg *leg)
{
    leg->kind = LEG_CELLS;
    if (accept_path_char(s, '*')) {
        leg->kind = LEG_ALL_CELLS;
        return accept_path_char(s, ']');
    }
    if (!read_array_position(s, &leg->first))
        return false;
    leg->last = leg->first;
    if (accept_path_word(s, "to")) {
        if (!read_array_position(s, &leg->last) ||
            (leg->first.from_last == leg->last.from_last &&
             (leg->first.from_last ? leg->first.index < leg->last.index
                                   : leg->first.index > leg->last.index)))
            return false;
    }
    return accept_path_char(s, ']');
}

static bool
may_name(char c, bool first)
{
    return is_letter(c) || c == '_' || c == '$' || (unsigned char)c >= 0x80 ||
           (!first && is_digit(c));
}

static bool
read_leg_name(struct path_reader *s, struct leg *leg)
{
    skip_path_blanks(s);
    leg->kind = LEG_MEMBER;
    leg->name.data = s->at;
    if (accept_path_char(s, '*')) {
        leg->kind = LEG_MEMBERS;
        return true;
    }
    if (s->at < s->end && *s->at == '"') {
        const char *end = json_read_string(s->at, s->end, &s->at);

        if (!end)
            return false;
        s->at = end;
    } else {
        while (s->at < s->end && may_name(*s->at, s->at == leg->name.data))
            s->at++;
    }
    leg->name.size = (size_t)(s->at - leg->name.data);
    return leg->name.size > 0;
}

/* The next leg; false at the end, and at a fault. */
static bool
read_leg(struct path_reader *s, struct leg *leg)
{
    bool cells;

    if (s->wrong || (!accept_path_char(s, '.') && !accept_path_char(s, '[')))
        return false;
    cells = s->at[-1] == '[';
    s->wrong = !(cells ? read_cells(s, leg) : read_leg_name(s, leg));
    return !s->wrong;
}

enum json_fault
json_path(struct span path, bool *many, size_t *at)
{
    struct path_reader s = {path.data, path.data + path.size, false};
    enum json_fault fault = JSON_WRONG;
    struct leg leg;

    *many = false;
    if (accept_path_char(&s, '$')) {
        while (read_leg(&s, &leg))
            *many |= leg.kind == LEG_MEMBERS || leg.kind == LEG_ALL_CELLS ||
                     (leg.kind == LEG_CELLS &&
                      (leg.first.index != leg.last.index ||
                       leg.first.from_last != leg.last.from_last));
        skip_path_blanks(&s);
        if (s.at == s.end && !s.wrong)
            fault = JSON_FINE;
        else if (s.end - s.at >= 2 && memcmp(s.at, "**", 2) == 0)
            fault = JSON_ALL_LEVELS;
    }
    *at = (size_t)(s.at - path.data);
    return fault;
}

/* ---- finding ---- */

struct finding {
    const char *end; /* of the path */
    bool (*found)(void *arg, struct span value);
    bool (*spend)(void *arg, size_t bytes);
    void *arg;
    bool failed; /* no memory */
};

static bool follow_json_path(struct finding *f, struct span value,
                             const char *at);

/* Names compare in the document's form: in quotes, and escaped as json_quote()
 * does it.  So the path's name is brought into that form, not each of the
 * document's. */
static bool
find_member(struct finding *f, struct span value, const struct leg *leg,
            const char *at)
{
    struct buffer plain, name;
    struct span member;
    bool go_on = true;

    if (json_kind(value) != JSON_OBJECT)
        return true;
    buffer_init(&plain, leg->name.size + 1);
    /* A byte is \u0000 at worst. */
    buffer_init(&name, 6 * leg->name.size + 2);
    if (*leg->name.data == '"')
        json_decode(&plain, leg->name);
    else
        buffer_add(&plain, leg->name.data, leg->name.size);
    json_quote(&name, (struct span){plain.data ? plain.data : "", plain.size});
    if (plain.failed || name.failed) {
        f->failed = true;
        go_on = false;
    } else if (json_member(value, (struct span){name.data, name.size},
                           &member)) {
        go_on = follow_json_path(f, member, at);
    }
    buffer_fini(&plain);
    buffer_fini(&name);
    return go_on;
}

/* Walks the cells from first to last of an array.  Those counted from the end
 * need the array's length, which is a walk of its own. */
static bool
find_cells(struct finding *f, struct span value, const struct leg *leg,
           const char *at)
{
    int64_t count = (int64_t)json_count(value), i = 0, first, last;
    struct json_walk walk = json_walk(value);
    struct span name, cell;

    first =
        leg->first.from_last ? count - 1 - leg->first.index : leg->first.index;
    last = leg->last.from_last ? count - 1 - leg->last.index : leg->last.index;
    for (; i <= last && json_next(&walk, &name, &cell); i++)
        if (i >= first && !follow_json_path(f, cell, at))
            return false;
    return true;
}

static bool
find_in_all_children(struct finding *f, struct span value, enum json_kind kind,
                     const char *at)
{
    struct json_walk walk = json_walk(value);
    struct span name, part;

    if (json_kind(value) != kind)
        return true;
    while (json_next(&walk, &name, &part))
        if (!follow_json_path(f, part, at))
            return false;
    return true;
}

/* Follows the path from `at` on.  The recursion is no deeper than the document
 * (JSON_DEPTH_MAX): each leg but one of cells goes down a level, and cells of
 * a value that is no array are taken in the loop. */
static bool
follow_json_path(struct finding *f, struct span value, const char *at)
{
    struct path_reader s = {at, f->end, false};
    struct leg leg;

    if (!f->spend(f->arg, value.size + (size_t)(f->end - at)))
        return false;
    while (read_leg(&s, &leg)) {
        if (leg.kind == LEG_MEMBER)
            return find_member(f, value, &leg, s.at);
        if (leg.kind == LEG_MEMBERS)
            return find_in_all_children(f, value, JSON_OBJECT, s.at);
        if (leg.kind == LEG_ALL_CELLS)
            return find_in_all_children(f, value, JSON_ARRAY, s.at);
        if (json_kind(value) == JSON_ARRAY)
            return find_cells(f, value, &leg, s.at);
        /* A value that is no array stands for an array of itself alone, as in
         * MySQL: [0] and [last] find it, and the loop goes on with the next
         * leg. */
        if ((leg.first.from_last ? -leg.first.index : leg.first.index) > 0 ||
            (leg.last.from_last ? -leg.last.index : leg.last.index) < 0)
            return true;
    }
    return f->found(f->arg, value);
}

bool
json_find(struct span value, struct span path,
          bool (*found)(void *arg, struct span value),
          bool (*spend)(void *arg, size_t bytes), void *arg)
{
    struct finding f = {path.data + path.size, found, spend, arg, false};
    const char *dollar = memchr(path.data, '$', path.size);

    if (dollar)
        follow_json_path(&f, value, dollar + 1);
    return !f.failed;
}
