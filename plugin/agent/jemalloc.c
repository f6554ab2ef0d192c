/* jemalloc.c - see jemalloc.h. */
#include "jemalloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "agent.h"

enum { PROBE_BYTES = 4096, RETRY_MS = 1000 };

/* A prefix is in a name because the program calls it so: those come first. */
static const struct build {
    const char *prefix, *conf_name;
} builds[] = {
    {"je_", "JE_MALLOC_CONF"},
    {"_rjem_", "_RJEM_MALLOC_CONF"},
    {"_rjem_je_", "_RJEM_JE_MALLOC_CONF"},
    {"", "MALLOC_CONF"},
};

static void *
find_symbol(const struct build *build, const char *name)
{
    char full[AGENT_NAME_MAX];

    snprintf(full, sizeof(full), "%s%s", build->prefix, name);
    return dlsym(RTLD_DEFAULT, full);
}

int
jemalloc_read(mallctl_fn *mallctl, const char *name, void *out, size_t size)
{
    size_t got = size;
    int error = mallctl(name, out, &got, NULL, 0);

    return error == 0 && got != size ? EINVAL : error;
}

static bool
read_bool(mallctl_fn *mallctl, const char *name)
{
    bool value = false;

    return jemalloc_read(mallctl, name, &value, sizeof(value)) == 0 && value;
}

static int
write_bool(mallctl_fn *mallctl, const char *name, bool value)
{
    return mallctl(name, NULL, NULL, &value, sizeof(value));
}

/* Does a block of the malloc that goes with this mallctl count in it? */
static bool
serves(const struct build *build, mallctl_fn *mallctl)
{
    void *(*allocate)(size_t) = (void *(*)(size_t))find_symbol(build, "malloc");
    void (*release)(void *) = (void (*)(void *))find_symbol(build, "free");
    uint64_t *counter = NULL, before;
    void *block;
    bool moved;

    if (!allocate || !release ||
        jemalloc_read(mallctl, "thread.allocatedp", &counter,
                      sizeof(counter)) ||
        !counter)
        return false;
    before = *counter;
    block = allocate(PROBE_BYTES);
    moved = block && *counter - before >= PROBE_BYTES;
    release(block);
    return moved;
}

void
jemalloc_find(struct jemalloc *jemalloc)
{
    memset(jemalloc, 0, sizeof(*jemalloc));
    for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
        mallctl_fn *mallctl = (mallctl_fn *)find_symbol(&builds[i], "mallctl");
        bool opt_prof;

        if (!mallctl || !serves(&builds[i], mallctl))
            continue;
        opt_prof = read_bool(mallctl, "opt.prof");
        if (jemalloc->mallctl && (jemalloc->opt_prof || !opt_prof))
            continue;
        jemalloc->mallctl = mallctl;
        snprintf(jemalloc->mallctl_name, sizeof(jemalloc->mallctl_name),
                 "%smallctl", builds[i].prefix);
        memcpy(jemalloc->conf_name, builds[i].conf_name,
               strlen(builds[i].conf_name) + 1);
        jemalloc->config_prof = read_bool(mallctl, "config.prof");
        jemalloc->opt_prof = opt_prof;
    }
}

/* jemalloc's own rule: the prefix in capitals. */
void
jemalloc_use(struct jemalloc *jemalloc, const struct jemalloc_given *given)
{
    memset(jemalloc, 0, sizeof(*jemalloc));
    jemalloc->mallctl = given->mallctl;
    snprintf(jemalloc->mallctl_name, sizeof(jemalloc->mallctl_name),
             "%smallctl", given->prefix);
    snprintf(jemalloc->conf_name, sizeof(jemalloc->conf_name), "%sMALLOC_CONF",
             given->prefix);
    for (char *at = jemalloc->conf_name; *at; at++) {
        if (*at >= 'a' && *at <= 'z')
            *at = (char)(*at - 'a' + 'A');
    }
    jemalloc->config_prof = read_bool(given->mallctl, "config.prof");
    jemalloc->opt_prof = read_bool(given->mallctl, "opt.prof");
}

void
jemalloc_hide_thread(struct jemalloc *jemalloc)
{
    if (jemalloc->opt_prof)
        write_bool(jemalloc->mallctl, "thread.prof.active", false);
}

enum agent_status
jemalloc_status(const struct jemalloc *jemalloc)
{
    if (!jemalloc->mallctl)
        return AGENT_NO_JEMALLOC;
    if (!jemalloc->config_prof)
        return AGENT_NO_PROF;
    return jemalloc->opt_prof ? AGENT_OK : AGENT_PROF_OFF;
}

int
jemalloc_get_active(struct jemalloc *jemalloc, bool *active)
{
    int error = jemalloc_read(jemalloc->mallctl, "prof.active", active,
                              sizeof(*active));

    if (error != 0)
        return error;
    /* The program may have switched it by itself. */
    if (!*active) {
        jemalloc->active_since_ms = jemalloc->until_ms = 0;
        jemalloc->ours = false;
    } else if (jemalloc->active_since_ms == 0) {
        jemalloc->active_since_ms = agent_wall_ms();
    }
    return 0;
}

/* When it is to end; 0: not by itself.  Who has it on already, without an end
 * or with a later one, is not to be cut short by somebody else. */
static int64_t
end_after(const struct jemalloc *jemalloc, bool was_active, uint32_t seconds)
{
    int64_t until_ms = agent_monotonic_ms() + (int64_t)seconds * 1000;

    if (seconds == 0 || (was_active && jemalloc->until_ms == 0))
        return 0;
    return jemalloc->until_ms > until_ms ? jemalloc->until_ms : until_ms;
}

/* Threads copy thread_active_init when they are born: a thread born while it
 * is false is never sampled again, so switching off leaves it alone. */
int
jemalloc_set_active(struct jemalloc *jemalloc, bool active, uint32_t seconds)
{
    mallctl_fn *mallctl = jemalloc->mallctl;
    bool was, init = read_bool(mallctl, "prof.thread_active_init");
    int error = jemalloc_get_active(jemalloc, &was);

    if (error == 0 && active)
        error = write_bool(mallctl, "prof.thread_active_init", true);
    if (error != 0)
        return error;
    error = write_bool(mallctl, "prof.active", active);
    if (error != 0) {
        write_bool(mallctl, "prof.thread_active_init", init);
        return error;
    }
    jemalloc->changes += was != active;
    jemalloc->ours = active && (jemalloc->ours || !was);
    jemalloc->until_ms = active ? end_after(jemalloc, was, seconds) : 0;
    return jemalloc_get_active(jemalloc, &was);
}

int
jemalloc_expire(struct jemalloc *jemalloc)
{
    int64_t left;

    if (jemalloc->until_ms == 0)
        return -1;
    left = jemalloc->until_ms - agent_monotonic_ms();
    if (left > 0)
        return left < INT_MAX ? (int)left : INT_MAX;
    if (jemalloc_set_active(jemalloc, false, 0) == 0)
        return -1;
    jemalloc->until_ms = agent_monotonic_ms() + RETRY_MS;
    return RETRY_MS;
}

void
jemalloc_leave(struct jemalloc *jemalloc)
{
    if (jemalloc->ours)
        jemalloc_set_active(jemalloc, false, 0);
}

int
jemalloc_reset(struct jemalloc *jemalloc, uint32_t lg_sample)
{
    size_t lg = lg_sample;
    bool same = lg_sample == AGENT_LG_SAMPLE_SAME;
    int error = jemalloc->mallctl("prof.reset", NULL, NULL, same ? NULL : &lg,
                                  same ? 0 : sizeof(lg));

    jemalloc->resets += error == 0;
    return error;
}

int
jemalloc_dump(struct jemalloc *jemalloc, const char *path)
{
    return jemalloc->mallctl("prof.dump", NULL, NULL, &path, sizeof(path));
}

static uint32_t
log_sample(mallctl_fn *mallctl)
{
    size_t lg = 0;

    /* prof.reset may have changed it since the start. */
    if (jemalloc_read(mallctl, "prof.lg_sample", &lg, sizeof(lg)) != 0 &&
        jemalloc_read(mallctl, "opt.lg_prof_sample", &lg, sizeof(lg)) != 0)
        return 0;
    return (uint32_t)lg;
}

void
jemalloc_hello(struct jemalloc *jemalloc, struct agent_hello *hello)
{
    const char *version = NULL;
    bool active = false;

    hello->allocator = jemalloc_status(jemalloc);
    hello->secure = getauxval(AT_SECURE) != 0;
    if (!jemalloc->mallctl)
        return;
    memcpy(hello->mallctl, jemalloc->mallctl_name, sizeof(hello->mallctl));
    hello->mallctl_address = (uint64_t)(uintptr_t)jemalloc->mallctl;
    snprintf(hello->malloc_conf_name, sizeof(hello->malloc_conf_name), "%s",
             jemalloc->conf_name);
    if (jemalloc_read(jemalloc->mallctl, "version", (void *)&version,
                      sizeof(version)) == 0 &&
        version)
        snprintf(hello->version, sizeof(hello->version), "%s", version);
    hello->config_prof = jemalloc->config_prof;
    hello->opt_prof = jemalloc->opt_prof;
    hello->lg_sample = log_sample(jemalloc->mallctl);
    jemalloc_get_active(jemalloc, &active);
    hello->active = active;
    hello->changes = jemalloc->changes;
    hello->resets = jemalloc->resets;
    hello->active_since_ms = jemalloc->active_since_ms;
    if (jemalloc->until_ms != 0)
        hello->active_until_ms =
            agent_wall_ms() + jemalloc->until_ms - agent_monotonic_ms();
}
