/*
 * levers.c - see levers.h.
 *
 * jemalloc has decay times for each arena, and for arenas that it makes later,
 * so the old value of each is kept, in 64 KB of static memory.  A value is kept
 * before it is changed: a fork in between then leaves the child something that
 * it can put back.  A value that is not the lever's own any more is the
 * program's, and stays.  A lever that cannot be undone is tried again each
 * second.
 */
#include "levers.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "agent_tools.h"

enum {
    KINDS = 2,
    ARENAS = 4096,   /* at most: the next number is MALLCTL_ARENAS_ALL */
    NEW = ARENAS,    /* stands for the default of arenas made later */
    KEPT_OFFSET = 2, /* values begin at -1, and 0 means none */
    RETRY_MS = 1000
};

static const char *const decays[KINDS] = {"dirty_decay_ms", "muzzy_decay_ms"};

static struct {
    mallctl_fn *mallctl; /* whose decay times were changed; NULL: none */
    struct lever_state state[LEVERS_LASTING];
    int64_t due_ms[LEVERS_LASTING];  /* monotonic */
    ssize_t kept[KINDS][ARENAS + 1]; /* the value + KEPT_OFFSET; 0: none */
    int64_t next[KINDS];             /* being set, or in force */
} own;

/* ---- decay times ---- */

static int
access_decay(mallctl_fn *mallctl, unsigned arena, size_t kind, ssize_t *old,
             ssize_t *new)
{
    size_t size = sizeof(*old);
    char name[AGENT_NAME_MAX];

    if (arena == NEW)
        snprintf(name, sizeof(name), "arenas.%s", decays[kind]);
    else
        snprintf(name, sizeof(name), "arena.%u.%s", arena, decays[kind]);
    return mallctl(name, old, old ? &size : NULL, new, new ? sizeof(*new) : 0);
}

/* EFAULT: no thread has used this arena yet.  arena.<i>.initialized would not
 * say so, since it is as of the last refresh of the epoch. */
static bool
is_not_there(int error, unsigned arena)
{
    return error == EFAULT && arena != NEW;
}

static unsigned
count_arenas(mallctl_fn *mallctl)
{
    unsigned count = 0;

    if (mallctl_read(mallctl, "arenas.narenas", &count, sizeof(count)) != 0)
        return 0;
    return count < ARENAS ? count : ARENAS;
}

/* Whether a value is the lever's own, also of a change that failed half-way. */
static bool
is_lever_decay_value(size_t kind, ssize_t value)
{
    const struct lever_state *state = &own.state[LEVER_DECAY];

    return (state->in_force && value == (ssize_t)state->set[kind]) ||
           value == (ssize_t)own.next[kind];
}

/* Keeps the present value, unless it is the lever's own: then the first kept
 * one stays, and an arena that was made since gets the one for new arenas. */
static void
keep_decay(unsigned arena, size_t kind, ssize_t now)
{
    ssize_t *kept = &own.kept[kind][arena];

    if (!own.state[LEVER_DECAY].in_force || !is_lever_decay_value(kind, now))
        *kept = now + KEPT_OFFSET;
    else if (*kept == 0)
        *kept = own.kept[kind][NEW];
}

static int
set_decay(mallctl_fn *mallctl, unsigned arena, size_t kind)
{
    ssize_t value = (ssize_t)own.next[kind], now;
    int error = access_decay(mallctl, arena, kind, &now, NULL);

    if (error != 0)
        return is_not_there(error, arena) ? 0 : error;
    keep_decay(arena, kind, now);
    return access_decay(mallctl, arena, kind, NULL, &value);
}

/* Puts a value back.  Where a first lever failed half-way, an arena that it did
 * not reach is left alone, though it may have the same value. */
static int
put_back_decay(mallctl_fn *mallctl, unsigned arena, size_t kind)
{
    ssize_t old = own.kept[kind][arena], now;
    int error;

    if (old == 0 && own.state[LEVER_DECAY].in_force)
        old = own.kept[kind][NEW];
    error = access_decay(mallctl, arena, kind, &now, NULL);
    if (error != 0)
        return is_not_there(error, arena) ? 0 : error;
    if (old == 0 || !is_lever_decay_value(kind, now))
        return 0; /* the program has set it since */
    old -= KEPT_OFFSET;
    return access_decay(mallctl, arena, kind, NULL, &old);
}

/* New arenas first, so that none is missed which is made meanwhile. */
static int
for_each_arena(mallctl_fn *mallctl, int (*call)(mallctl_fn *, unsigned, size_t))
{
    unsigned count;
    int error = 0;

    for (size_t kind = 0; kind < KINDS && error == 0; kind++)
        error = call(mallctl, NEW, kind);
    count = count_arenas(mallctl);
    for (unsigned i = 0; i < count && error == 0; i++)
        for (size_t kind = 0; kind < KINDS && error == 0; kind++)
            error = call(mallctl, i, kind);
    return error;
}

static int
put_back_decays(mallctl_fn *mallctl)
{
    int error = for_each_arena(mallctl, put_back_decay);

    if (error == 0)
        memset(own.kept, 0, sizeof(own.kept));
    return error;
}

/* ---- all of them ---- */

static void
begin_lever(enum lever_lasting lever, uint32_t seconds, const char *by)
{
    struct lever_state *state = &own.state[lever];
    int64_t ms = (int64_t)seconds * 1000;

    if (!state->in_force)
        state->since_ms = agent_wall_ms();
    state->in_force = true;
    state->error = 0;
    own.due_ms[lever] = agent_monotonic_ms() + ms;
    snprintf(state->by, sizeof(state->by), "%s", by);
}

static int
end_lever(const struct lever_host *host, enum lever_lasting lever,
          bool by_itself)
{
    struct lever_state *state = &own.state[lever];
    bool now;
    int error = 0;

    if (!state->in_force)
        return 0;
    if (lever == LEVER_DECAY)
        error = put_back_decays(host->mallctl);
    else if (mallctl_read(host->mallctl, "background_thread", &now,
                          sizeof(now)) == 0 &&
             now == (state->set[0] != 0) && now != (state->was[0] != 0))
        error = host->background(host, state->was[0] != 0);
    state->error = error;
    if (error != 0) {
        own.due_ms[lever] = agent_monotonic_ms() + RETRY_MS;
        return error;
    }
    state->in_force = false;
    state->by_itself = by_itself;
    state->end_reported = false;
    state->ended_ms = agent_wall_ms();
    return 0;
}

int
levers_purge(const struct lever_host *host)
{
    char name[AGENT_NAME_MAX];

    snprintf(name, sizeof(name), "arena.%d.purge", ARENAS);
    return host->mallctl(name, NULL, NULL, NULL, 0);
}

/* Whether the last change failed half-way: its values would not be recognised
 * as a lever's once the next one sets others. */
static bool
is_half_set(const struct lever_state *state)
{
    return state->in_force &&
           (own.next[0] != state->set[0] || own.next[1] != state->set[1]);
}

int
levers_decay(const struct lever_host *host, int64_t dirty_ms, int64_t muzzy_ms,
             uint32_t seconds, const char *by)
{
    struct lever_state *state = &own.state[LEVER_DECAY];
    int error = is_half_set(state) ? end_lever(host, LEVER_DECAY, false) : 0;
    bool first = !state->in_force;

    if (error != 0)
        return error;
    host->watch(host->mallctl);
    own.mallctl = host->mallctl;
    own.next[0] = dirty_ms;
    own.next[1] = muzzy_ms;
    error = for_each_arena(host->mallctl, set_decay);
    /* An earlier lever stays in force: its end puts back these, too. */
    if (error != 0) {
        if (first)
            (void)put_back_decays(host->mallctl);
        return error;
    }
    for (size_t kind = 0; kind < KINDS; kind++) {
        state->set[kind] = own.next[kind];
        state->was[kind] = own.kept[kind][NEW] - KEPT_OFFSET;
    }
    begin_lever(LEVER_DECAY, seconds, by);
    return 0;
}

int
levers_background(const struct lever_host *host, bool on, uint32_t seconds,
                  const char *by)
{
    struct lever_state *state = &own.state[LEVER_BACKGROUND];
    bool now;
    int error =
        mallctl_read(host->mallctl, "background_thread", &now, sizeof(now));

    if (error == 0 && now != on)
        error = host->background(host, on);
    if (error != 0)
        return error;
    if (!state->in_force || now != (state->set[0] != 0))
        state->was[0] = now;
    state->set[0] = on;
    begin_lever(LEVER_BACKGROUND, seconds, by);
    return 0;
}

int
levers_undo(const struct lever_host *host)
{
    int error = 0;

    for (int i = 0; i < LEVERS_LASTING; i++) {
        int failed = end_lever(host, (enum lever_lasting)i, false);

        error = error ? error : failed;
    }
    return error;
}

int
levers_expire(const struct lever_host *host)
{
    int64_t next = -1;

    for (int i = 0; i < LEVERS_LASTING; i++) {
        int64_t left = own.due_ms[i] - agent_monotonic_ms();

        if (!own.state[i].in_force)
            continue;
        if (left <= 0) {
            if (end_lever(host, (enum lever_lasting)i, true) == 0)
                continue;
            left = RETRY_MS;
        }
        if (next < 0 || left < next)
            next = left;
    }
    return next < INT_MAX ? (int)next : INT_MAX;
}

struct lever_state
levers_state(enum lever_lasting lever)
{
    struct lever_state state = own.state[lever];

    /* computed now, as the wall clock may have been set since */
    if (state.in_force)
        state.until_ms =
            agent_wall_ms() + own.due_ms[lever] - agent_monotonic_ms();
    return state;
}

void
levers_mark_reported(void)
{
    for (int i = 0; i < LEVERS_LASTING; i++)
        own.state[i].end_reported = own.state[i].ended_ms != 0;
}

bool
levers_any(void)
{
    return own.state[LEVER_DECAY].in_force ||
           own.state[LEVER_BACKGROUND].in_force;
}

/* Also if the parent's agent was just setting them: kept values are put back,
 * and others were not changed yet.  If none is kept, the array is not touched:
 * each child would copy its sixteen pages. */
void
levers_forked(void)
{
    if (own.kept[0][NEW] != 0) {
        (void)put_back_decays(own.mallctl);
        memset(own.kept, 0, sizeof(own.kept));
    }
    memset(own.state, 0, sizeof(own.state));
}
