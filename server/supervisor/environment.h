/* environment.h - the environments of the database and of heapwired. */
#ifndef HW_ENVIRONMENT_H
#define HW_ENVIRONMENT_H

#include <stddef.h>

struct error;

struct environment {
    char **list; /* NULL-terminated; every entry owned */
    size_t count;
};

/* A copy of envp.  -1 with *err; fini is due in any case. */
int environment_init(struct environment *env, char *const *envp,
                     struct error *err);
void environment_fini(struct environment *env);

const char *environment_get(const struct environment *env, const char *name);
int environment_set(struct environment *env, const char *name,
                    const char *value, struct error *err);
void environment_unset(struct environment *env, const char *name);

/* Removes what is meant for the database alone: preloads, malloc options, the
 * agent's settings. */
void environment_clean(struct environment *env);

/* Removes the agent's settings. */
void environment_drop_agents(struct environment *env);

/* name becomes "<first>,<old value>". */
int environment_prepend(struct environment *env, const char *name,
                        const char *first, struct error *err);

/* Appends library to LD_PRELOAD. */
int environment_preload(struct environment *env, const char *library,
                        struct error *err);

/* In a child, right before exec: systemd's variables that name the process
 * that they are for name us, and now the child. */
void environment_name_process(char **envp);

#endif
