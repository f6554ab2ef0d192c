/*
 * registry.h - the node's sessions as statements and other threads see them.
 *
 * One lock guards all entries; it is held for copying only.  Sessions belong
 * to the loop: a kill is noted here and carried out there.
 */
#ifndef HW_REGISTRY_H
#define HW_REGISTRY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"
#include "sql.h"
#include "waker.h"

struct error;

enum registry_kill { KILL_NONE, KILL_QUERY, KILL_SESSION };

/* Part of a session; only registry.c looks inside. */
struct registry_entry {
    struct registry_entry *next, *previous;
    uint32_t id;
    char user[SQL_NAME_MAX + 1];
    bool trusted; /* as in struct sql_identity */
    char host[SQL_HOST_MAX + 8];
    char database[SQL_NAME_MAX + 1];
    const char *command; /* static */
    char state[64];
    bool web;   /* of HTTP */
    char *info; /* owned; NULL without a statement */
    uint64_t since_ms;
    uint64_t statement; /* counts them, so that a kill hits the one meant */
    uint64_t kill_statement;
    enum registry_kill kill;
};

struct registry {
    pthread_mutex_t lock;
    struct registry_entry *first, *last; /* ascending by id */
    uint32_t last_id;
    size_t count, web;   /* entries, and those of HTTP */
    struct waker killed; /* a session was killed: see registry_take_kill */
    size_t most;         /* the highest count so far */
    uint64_t added;
    /* counters: relaxed */
    atomic_uint_fast64_t questions, failed_statements;
    atomic_uint_fast64_t failed_logins, lost_clients;
    atomic_uint_fast64_t received, sent;
};

void registry_init(struct registry *r, struct waker killed);
void registry_fini(struct registry *r);

/* Gives the entry its id: from 1 upwards, never one in use. web: of HTTP. */
void registry_add(struct registry *r, struct registry_entry *e,
                  const char *host, bool web);
void registry_remove(struct registry *r, struct registry_entry *e);

void registry_set_user(struct registry *r, struct registry_entry *e,
                       const struct sql_identity *who);
void registry_set_database(struct registry *r, struct registry_entry *e,
                           const char *database);
/* info: the statement's text (cut), or size 0 for none.  now_ms: of clock_ms(),
 * or a little earlier. */
void registry_set_command(struct registry *r, struct registry_entry *e,
                          const char *command, const char *state,
                          struct span info, uint64_t now_ms);
/* The state of the command: copied.  Its time goes on. */
void registry_set_state(struct registry *r, struct registry_entry *e,
                        const char *state);

/* The kill requested since the last call; a KILL QUERY for an earlier statement
 * is ignored. */
enum registry_kill registry_take_kill(struct registry *r,
                                      struct registry_entry *e);

/* Sessions of this account, besides except (may be NULL). */
size_t registry_count_user(struct registry *r, const char *user,
                           const struct registry_entry *except);

/* struct sql_host's functions: arg is the registry. */
size_t registry_list(void *arg, struct sql_session_row *out, size_t max);
int registry_kill(void *arg, uint32_t id, bool query_only,
                  const struct sql_identity *by, struct error *err);
void registry_count(void *arg, struct sql_counts *out);

/* One of the counters; any thread. */
static inline void
registry_note(atomic_uint_fast64_t *counter, uint64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

#endif
