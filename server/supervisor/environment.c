/*
 * environment.c - see environment.h.
 *
 * heapwire-run never changes its own environment: each child gets a list of its
 * own, of copies, so that what the database must have (preloads, options, the
 * agent's settings) can be removed for heapwired, and for a start without
 * heapwire.
 */
#include "environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "buffer.h"
#include "errors.h"
#include "memory.h"

enum { VARIABLE_MAX = 128 * 1024 }; /* the kernel's limit for one string */

#define PRELOAD      "LD_PRELOAD"
#define MALLOC_CONFS "MALLOC_CONF" /* with any prefix before it */

int
environment_init(struct environment *env, char *const *envp, struct error *err)
{
    size_t count = 0;

    memset(env, 0, sizeof(*env));
    while (envp[count])
        count++;
    env->list = mem_zalloc(count + 1, sizeof(*env->list));
    for (; env->list && env->count < count; env->count++) {
        env->list[env->count] = mem_strdup(envp[env->count]);
        if (!env->list[env->count])
            break;
    }
    if (!env->list || env->count < count) {
        error_memory(err, "the environment");
        return -1;
    }
    return 0;
}

void
environment_fini(struct environment *env)
{
    for (size_t i = 0; i < env->count; i++)
        mem_free(env->list[i]);
    mem_free(env->list);
    memset(env, 0, sizeof(*env));
}

static bool
is_entry_of_variable(const char *entry, const char *name)
{
    size_t size = strlen(name);

    return strncmp(entry, name, size) == 0 && entry[size] == '=';
}

const char *
environment_get(const struct environment *env, const char *name)
{
    for (size_t i = 0; i < env->count; i++) {
        if (is_entry_of_variable(env->list[i], name))
            return env->list[i] + strlen(name) + 1;
    }
    return NULL;
}

void
environment_unset(struct environment *env, const char *name)
{
    size_t kept = 0;

    for (size_t i = 0; i < env->count; i++) {
        if (is_entry_of_variable(env->list[i], name))
            mem_free(env->list[i]);
        else
            env->list[kept++] = env->list[i];
    }
    env->count = kept;
    env->list[kept] = NULL;
}

int
environment_set(struct environment *env, const char *name, const char *value,
                struct error *err)
{
    struct buffer entry;
    char **list;

    buffer_init(&entry, VARIABLE_MAX);
    buffer_format(&entry, "%s=%s", name, value);
    list = mem_realloc(env->list, (env->count + 2) * sizeof(*list));
    if (list)
        env->list = list;
    if (entry.failed || !list) {
        buffer_fini(&entry);
        error_set(err, ER_OUT_OF_MEMORY, "cannot set %s", name);
        return -1;
    }
    environment_unset(env, name);
    env->list[env->count++] = entry.data; /* belongs to the list now */
    env->list[env->count] = NULL;
    return 0;
}

/* Is the entry a setting of the agent? */
static bool
is_agents(const char *entry)
{
    return strncmp(entry, AGENT_ENV_PREFIX, strlen(AGENT_ENV_PREFIX)) == 0;
}

/* Is the entry meant for the database alone? */
static bool
is_databases(const char *entry)
{
    size_t size = strcspn(entry, "="), tail = strlen(MALLOC_CONFS);

    return is_entry_of_variable(entry, PRELOAD) ||
           is_entry_of_variable(entry, "LD_AUDIT") || is_agents(entry) ||
           (size >= tail &&
            strncmp(entry + size - tail, MALLOC_CONFS, tail) == 0);
}

static void
remove_variables_if(struct environment *env,
                    bool (*unwanted)(const char *entry))
{
    size_t kept = 0;

    for (size_t i = 0; i < env->count; i++) {
        if (unwanted(env->list[i]))
            mem_free(env->list[i]);
        else
            env->list[kept++] = env->list[i];
    }
    env->count = kept;
    env->list[kept] = NULL;
}

void
environment_clean(struct environment *env)
{
    remove_variables_if(env, is_databases);
}

void
environment_drop_agents(struct environment *env)
{
    remove_variables_if(env, is_agents);
}

/* Sets name to "<first><separator><second>"; an empty part has no separator. */
static int
set_joined_variable(struct environment *env, const char *name,
                    const char *first, const char *separator,
                    const char *second, struct error *err)
{
    struct buffer value;
    int rc = -1;

    buffer_init(&value, VARIABLE_MAX);
    buffer_format(&value, "%s%s%s", first, *first && *second ? separator : "",
                  second);
    if (value.failed)
        error_set(err, ER_OUT_OF_MEMORY, "cannot set %s", name);
    else
        rc = environment_set(env, name, value.data, err);
    buffer_fini(&value);
    return rc;
}

static const char *
or_empty(const char *text)
{
    return text ? text : "";
}

int
environment_prepend(struct environment *env, const char *name,
                    const char *first, struct error *err)
{
    /* jemalloc's options are read from left to right, so what stood there wins.
     */
    return set_joined_variable(env, name, first, ",",
                               or_empty(environment_get(env, name)), err);
}

int
environment_preload(struct environment *env, const char *library, bool first,
                    struct error *err)
{
    const char *others = or_empty(environment_get(env, PRELOAD));

    /* The loader splits at both, and knows no quotes. */
    if (strpbrk(library, " :")) {
        error_set(err, ER_WRONG_VALUE,
                  "%s cannot be preloaded: its name has a space or a colon",
                  library);
        return -1;
    }
    return set_joined_variable(env, PRELOAD, first ? library : others, ":",
                               first ? others : library, err);
}

void
environment_name_process(char **envp)
{
    static const char *const names[] = {"WATCHDOG_PID=", "LISTEN_PID="};
    static char entries[2][32];

    /* libsystemd ignores them where the pid is not its own process'. */
    for (; *envp; envp++)
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            size_t size = strlen(names[i]);

            if (strncmp(*envp, names[i], size) != 0 ||
                strtol(*envp + size, NULL, 10) != getppid())
                continue;
            snprintf(entries[i], sizeof(entries[i]), "%s%d", names[i],
                     getpid());
            *envp = entries[i];
        }
}
