/* agent_settings.c - see agent_settings.h. */
#include "agent_settings.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static bool
is_ours(const char *text)
{
    return strncmp(text, AGENT_ENV_PREFIX, sizeof(AGENT_ENV_PREFIX) - 1) == 0;
}

const char *
agent_settings_get(const char *settings, const char *name)
{
    size_t size = strlen(name);

    for (; *settings; settings += strlen(settings) + 1) {
        if (strncmp(settings, name, size) == 0 && settings[size] == '=')
            return settings + size + 1;
    }
    return NULL;
}

const char *
agent_settings_next(const char *value, const char *name)
{
    return agent_settings_get(value + strlen(value) + 1, name);
}

/* Appends a setting of that length; room is left for the NUL that ends all. */
static int
append(char settings[AGENT_SETTINGS_MAX], size_t *used, const char *text,
       size_t size)
{
    if (size + 2 > AGENT_SETTINGS_MAX - *used)
        return E2BIG;
    memcpy(settings + *used, text, size);
    settings[*used + size] = '\0';
    *used += size + 1;
    settings[*used] = '\0';
    return 0;
}

static int
check_directory(const char *settings)
{
    const char *dir = agent_settings_get(settings, AGENT_ENV_STATE);

    return dir && dir[0] == '/' && strlen(dir) < AGENT_PATH_MAX ? 0 : EINVAL;
}

int
agent_settings_take_lines(char settings[AGENT_SETTINGS_MAX], const char *lines)
{
    size_t used = 0;
    int error = 0;

    settings[0] = '\0';
    while (*lines && error == 0) {
        size_t size = strcspn(lines, "\n");

        if (size > 0) {
            if (!is_ours(lines) || !memchr(lines, '=', size))
                return EINVAL;
            error = append(settings, &used, lines, size);
        }
        lines += size + (lines[size] == '\n');
    }
    return error != 0 ? error : check_directory(settings);
}

int
agent_settings_take_environment(char settings[AGENT_SETTINGS_MAX],
                                char *const *envp)
{
    size_t used = 0;
    int error = 0;

    settings[0] = '\0';
    for (; envp && *envp && error == 0; envp++) {
        if (is_ours(*envp))
            error = append(settings, &used, *envp, strlen(*envp));
    }
    return error != 0 ? error : check_directory(settings);
}
