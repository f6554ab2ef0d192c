/*
 * lever_write.c - the effect of a lever as text: see jemalloc.h.
 *
 * "before.", "after.": rss (the kernel's), resident, active, dirty, muzzy,
 * tcache, all in bytes; background_thread (0, 1).  "decay.", "background.": the
 * fields of struct lever_state (set0, set1, was0 and was1 are set and was, told
 * is end_reported).  took_us: the time of the lever itself.
 * heapwired's lever_job.c reads it.
 */
#include "levers.h"

#include <stdio.h>
#include <string.h>

#include "agent_tools.h"

enum { TEXT_BYTES = 4096 };

struct figure {
    const char *name, *mallctl;
    size_t offset;
    bool pages;
};

#define OF_ALL "stats.arenas.4096." /* MALLCTL_ARENAS_ALL */

static const struct figure figures[] = {
    {"resident", "stats.resident", offsetof(struct lever_figures, resident),
     false},
    {"active", "stats.active", offsetof(struct lever_figures, active), false},
    {"dirty", OF_ALL "pdirty", offsetof(struct lever_figures, dirty), true},
    {"muzzy", OF_ALL "pmuzzy", offsetof(struct lever_figures, muzzy), true},
    {"tcache", OF_ALL "tcache_bytes", offsetof(struct lever_figures, tcache),
     false},
};

enum { FIGURES = sizeof(figures) / sizeof(figures[0]) };

void
levers_read(struct jemalloc *jemalloc, struct lever_figures *out)
{
    mallctl_fn *mallctl = jemalloc->mallctl;
    size_t page = 0;
    bool on;

    memset(out, 0xff, sizeof(*out)); /* -1: not known */
    if (statistics_refresh(jemalloc) != 0)
        return;
    if (jemalloc->rss > 0)
        out->rss = (int64_t)jemalloc->rss;
    if (mallctl_read(mallctl, "background_thread", &on, sizeof(on)) == 0)
        out->background_thread = on;
    (void)mallctl_read(mallctl, "arenas.page", &page, sizeof(page));
    for (size_t i = 0; i < FIGURES; i++) {
        int64_t *to = (int64_t *)((char *)out + figures[i].offset);
        size_t value;

        if (mallctl_read(mallctl, figures[i].mallctl, &value, sizeof(value)) !=
            0)
            continue;
        *to = (int64_t)(figures[i].pages ? value * page : value);
    }
}

struct text {
    char bytes[TEXT_BYTES];
    size_t used;
};

/* Writes a line; an unknown value is left out. */
static void
put_number(struct text *text, const char *of, const char *name, int64_t value,
           bool known)
{
    int n;

    if (!known)
        return;
    n = snprintf(text->bytes + text->used, TEXT_BYTES - text->used,
                 "%s%s %lld\n", of, name, (long long)value);
    if (n > 0 && (size_t)n < TEXT_BYTES - text->used)
        text->used += (size_t)n;
}

static void
put_figures(struct text *text, const char *of, const struct lever_figures *from)
{
    put_number(text, of, "rss", from->rss, from->rss >= 0);
    put_number(text, of, "background_thread", from->background_thread,
               from->background_thread >= 0);
    for (size_t i = 0; i < FIGURES; i++) {
        int64_t value =
            *(const int64_t *)((const char *)from + figures[i].offset);

        put_number(text, of, figures[i].name, value, value >= 0);
    }
}

static void
put_lever_state(struct text *text, const char *of,
                const struct lever_state *state)
{
    int n;

    put_number(text, of, "in_force", state->in_force, true);
    put_number(text, of, "since_ms", state->since_ms, true);
    put_number(text, of, "until_ms", state->until_ms, true);
    put_number(text, of, "set0", state->set[0], true);
    put_number(text, of, "set1", state->set[1], true);
    put_number(text, of, "was0", state->was[0], true);
    put_number(text, of, "was1", state->was[1], true);
    put_number(text, of, "ended_ms", state->ended_ms, true);
    put_number(text, of, "by_itself", state->by_itself, true);
    put_number(text, of, "told", state->end_reported, true);
    put_number(text, of, "error", state->error, true);
    n = snprintf(text->bytes + text->used, TEXT_BYTES - text->used, "%sby %s\n",
                 of, state->by);
    if (*state->by && n > 0 && (size_t)n < TEXT_BYTES - text->used)
        text->used += (size_t)n;
}

int
levers_write(struct jemalloc *jemalloc, int fd)
{
    const struct lever_state decay = levers_state(LEVER_DECAY),
                             background = levers_state(LEVER_BACKGROUND);
    const struct lever_pulled *pulled = &jemalloc->pulled;
    struct text text = {.used = 0};
    int error;

    put_figures(&text, "before.", &pulled->before);
    put_figures(&text, "after.", &pulled->after);
    put_number(&text, "", "took_us", pulled->took_us, true);
    put_lever_state(&text, "decay.", &decay);
    put_lever_state(&text, "background.", &background);
    error = agent_write_all(fd, text.bytes, text.used);
    if (error == 0)
        levers_mark_reported();
    return error;
}
