/* setting_database.c - settings of the database's start, by heapwire-run. */
#include <string.h>

#include "config.h"
#include "errors.h"
#include "setting_value.h"
#include "units.h"

static const char *const profiling_names[] = {
    [CONFIG_PROFILING_PREPARED] = "prepared",
    [CONFIG_PROFILING_ON] = "on",
    [CONFIG_PROFILING_OFF] = "off",
};

int
setting_set_exe(struct config *c, const char *value, struct error *err)
{
    return setting_path(c->exe, CONFIG_PATH_MAX - 1, value, err);
}

int
setting_set_jemalloc(struct config *c, const char *value, struct error *err)
{
    if (strcmp(value, "auto") == 0 || strcmp(value, "no") == 0) {
        snprintf(c->jemalloc, sizeof(c->jemalloc), "%s", value);
        return 0;
    }
    if (!strchr(value, '/'))
        return setting_wrong(err,
                             "must be auto, no, or the path of libjemalloc");
    return setting_path(c->jemalloc, CONFIG_PATH_MAX - 1, value, err);
}

int
setting_set_profiling(struct config *c, const char *value, struct error *err)
{
    for (enum config_profiling i = CONFIG_PROFILING_PREPARED;
         i <= CONFIG_PROFILING_OFF; i++) {
        if (strcmp(value, profiling_names[i]) == 0) {
            c->profiling = i;
            return 0;
        }
    }
    return setting_wrong(err, "must be on, prepared or off");
}

/* Text that fits into a line of --check and an environment variable. */
static int
set_text(char *out, size_t max, const char *value, struct error *err)
{
    size_t size = strlen(value);
    bool plain = size > 0 && size <= max;

    for (size_t i = 0; plain && i < size; i++)
        plain = (unsigned char)value[i] >= ' ' && value[i] != 0x7f;
    if (!plain)
        return setting_wrong(err,
                             "must be 1 to %zu bytes without control "
                             "characters",
                             max);
    memcpy(out, value, size + 1);
    return 0;
}

int
setting_set_allocator(struct config *c, const char *value, struct error *err)
{
    return set_text(c->allocator, CONFIG_PATH_MAX - 1, value, err);
}

int
setting_set_mallctl(struct config *c, const char *value, struct error *err)
{
    return set_text(c->mallctl, CONFIG_PATH_MAX - 1, value, err);
}

int
setting_set_process(struct config *c, const char *value, struct error *err)
{
    return set_text(c->process, CONFIG_NAME_MAX, value, err);
}

int
setting_set_start_timeout(struct config *c, const char *value,
                          struct error *err)
{
    uint64_t seconds;

    if (units_seconds(value, 0, CONFIG_START_MAX_S, &seconds) != 0)
        return setting_wrong(
            err,
            "must be a time such as 20 or 2m, at most %d seconds; 0: the start "
            "is not watched",
            CONFIG_START_MAX_S);
    c->start_timeout_s = (uint32_t)seconds;
    return 0;
}

void
setting_default_database(struct config *c)
{
    c->profiling = CONFIG_PROFILING_PREPARED;
    c->start_timeout_s = CONFIG_DEFAULT_START_S;
    snprintf(c->jemalloc, sizeof(c->jemalloc), "auto");
    snprintf(c->allocator, sizeof(c->allocator), "auto");
    snprintf(c->process, sizeof(c->process), "parent");
}

void
setting_print_database(const struct config *c, FILE *out)
{
    fprintf(out,
            "exe=%s\njemalloc=%s\nprofiling=%s\nallocator=%s\nmallctl=%s\n"
            "process=%s\nstart_timeout=%u\n",
            c->exe, c->jemalloc, profiling_names[c->profiling], c->allocator,
            c->mallctl, c->process, c->start_timeout_s);
}
