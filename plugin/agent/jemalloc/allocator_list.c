/*
 * allocator_list.c - the list of jemallocs as text; see jemalloc.h.  A value
 * that does not fit its line is left out, rather than the line.
 */

#include "jemalloc.h"

#include <stdarg.h>
#include <stdio.h>

#include "agent_tools.h"

enum { LINE_BYTES = AGENT_PATH_MAX + 1024 };

struct line {
    char text[LINE_BYTES];
    size_t used;
};

static void append_allocator_field(struct line *line, const char *key,
                                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void
append_allocator_field(struct line *line, const char *key, const char *format,
                       ...)
{
    size_t start = line->used;
    size_t left = sizeof(line->text) - start - 1; /* of '\n' */
    char *at = line->text + start;
    va_list args;
    int name, value;

    name = snprintf(at, left, "%s%s=", start ? "\t" : "", key);
    if (name < 0 || (size_t)name >= left)
        return;
    va_start(args, format);
    value = vsnprintf(at + name, left - (size_t)name, format, args);
    va_end(args);
    if (value < 0 || (size_t)value >= left - (size_t)name)
        return;
    line->used += (size_t)name + (size_t)value;
    for (char *c = at + name; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = '?';
}

static void
format_allocator_line(struct line *line, const struct allocator *a, bool chosen)
{
    line->used = 0;
    append_allocator_field(line, "object", "%s", a->object);
    append_allocator_field(line, "mallctl", "%s", a->mallctl_name);
    append_allocator_field(line, "variable", "%s", a->variable);
    append_allocator_field(line, "found", "%s", a->how);
    append_allocator_field(line, "chosen", "%d", chosen);
    append_allocator_field(line, "callable", "%d", a->mallctl != NULL);
    if (*a->note)
        append_allocator_field(line, "note", "%s", a->note);
    if (!a->mallctl)
        return;
    append_allocator_field(line, "version", "%s", a->version);
    append_allocator_field(line, "config_prof", "%d", a->config_prof);
    append_allocator_field(line, "opt_prof", "%d", a->opt_prof);
    append_allocator_field(line, "active", "%d",
                           a->opt_prof &&
                               mallctl_read_bool(a->mallctl, "prof.active"));
    append_allocator_field(line, "malloc", "%d", a->serves_malloc);
    append_allocator_field(line, "new", "%d", a->serves_new);
    if (!a->counted)
        return;
    append_allocator_field(line, "allocated", "%llu",
                           (unsigned long long)a->bytes);
    append_allocator_field(line, "resident", "%llu",
                           (unsigned long long)a->resident);
}

/* Refreshes the counts.  Those of the chosen jemalloc are refreshed together
 * with its statistics, since the kernel's figures of that moment are compared
 * with them. */
static void
count_bytes(struct jemalloc *jemalloc, size_t index)
{
    struct allocator *a = &jemalloc->all.list[index];

    if ((int)index != jemalloc->all.chosen)
        allocator_refresh_bytes(a);
    else if (statistics_refresh(jemalloc) == 0)
        allocator_read_bytes(a);
}

int
allocator_list_write(struct jemalloc *jemalloc, int fd)
{
    struct allocators *all = &jemalloc->all;
    struct line line;
    int error = 0;

    for (size_t i = 0; i < all->count && error == 0; i++) {
        count_bytes(jemalloc, i);
        format_allocator_line(&line, &all->list[i], (int)i == all->chosen);
        line.text[line.used++] = '\n';
        error = agent_write_all(fd, line.text, line.used);
    }
    return error;
}
