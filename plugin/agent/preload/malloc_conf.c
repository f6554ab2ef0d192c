/*
 * malloc_conf.c - merges options; see malloc_conf.h.  jemalloc lets the last of
 * several equal keys win, so ours stand in front: the user's own always win.
 */
#include "malloc_conf.h"

#include <string.h>

/* Whether conf, "key:value" pairs between commas, has that key. */
static bool
has_conf_key(const char *conf, const char *key, size_t size)
{
    while (conf && *conf) {
        if (strncmp(conf, key, size) == 0 && conf[size] == ':')
            return true;
        conf += strcspn(conf, ",");
        conf += *conf == ',';
    }
    return false;
}

static bool
is_prof(const char *pair, size_t size)
{
    static const char prof[] = "prof:true";

    return size == sizeof(prof) - 1 && memcmp(pair, prof, size) == 0;
}

static bool
append_conf_text(char out[MALLOC_CONF_MAX], size_t *used, const char *text,
                 size_t size)
{
    size_t comma = *used > 0;

    if (size + comma >= MALLOC_CONF_MAX - *used)
        return false;
    if (comma)
        out[*used] = ',';
    memcpy(out + *used + comma, text, size);
    *used += size + comma;
    out[*used] = '\0';
    return true;
}

bool
malloc_conf_merge(char out[MALLOC_CONF_MAX], const char *wanted,
                  const char *present, const char *compiled)
{
    bool prof = false;
    size_t used = 0;

    out[0] = '\0';
    while (*wanted) {
        size_t size = strcspn(wanted, ",");
        size_t key = strcspn(wanted, ":,");

        /* prof:true also against the program's own options: without it there
         * is no profile at all. */
        if (size > 0 && !has_conf_key(present, wanted, key) &&
            (is_prof(wanted, size) || !has_conf_key(compiled, wanted, key))) {
            if (!append_conf_text(out, &used, wanted, size))
                return false;
            prof = prof || is_prof(wanted, size);
        }
        wanted += size;
        wanted += *wanted == ',';
    }
    if (present && *present &&
        !append_conf_text(out, &used, present, strlen(present)))
        return false;
    return prof;
}
