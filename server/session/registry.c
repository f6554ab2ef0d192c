/*
 * registry.c - see registry.h.
 *
 * Statements of any thread list sessions, but sessions belong to the loop.  So
 * what is shown of a session is kept in an entry with a lock of its own:
 * showing never waits for the loop, and costs the loop a short uncontended lock
 * for each command.  A kill goes the other way: it is noted here, and the loop
 * is woken to carry it out.  The list is ordered by id; adding is O(1) until
 * ids wrap around.
 */
#include "registry.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "errors.h"
#include "memory.h"

void
registry_init(struct registry *r, struct waker killed)
{
    memset(r, 0, sizeof(*r));
    pthread_mutex_init(&r->lock, NULL);
    r->killed = killed;
    atomic_init(&r->questions, 0);
    atomic_init(&r->failed_statements, 0);
    atomic_init(&r->failed_logins, 0);
    atomic_init(&r->lost_clients, 0);
    atomic_init(&r->received, 0);
    atomic_init(&r->sent, 0);
}

void
registry_fini(struct registry *r)
{
    pthread_mutex_destroy(&r->lock);
}

/* After ids have wrapped around, the next one may be in use, or be smaller than
 * others: finds a free one, and returns the entry after which it belongs. */
static struct registry_entry *
assign_connection_id(struct registry *r, uint32_t *id)
{
    struct registry_entry *e;

    do {
        *id = ++r->last_id;
        for (e = r->last; e && e->id > *id; e = e->previous)
            ;
    } while (*id == 0 || (e && e->id == *id));
    return e;
}

static void
set_session_entry_state(struct registry_entry *e, const char *state)
{
    snprintf(e->state, sizeof(e->state), "%s", state);
}

void
registry_add(struct registry *r, struct registry_entry *e, const char *host,
             bool web)
{
    memset(e, 0, sizeof(*e));
    snprintf(e->user, sizeof(e->user), "unauthenticated user");
    snprintf(e->host, sizeof(e->host), "%s", host);
    e->web = web;
    e->command = "Connect";
    set_session_entry_state(e, "login");
    e->since_ms = clock_ms();
    pthread_mutex_lock(&r->lock);
    e->previous = assign_connection_id(r, &e->id);
    e->next = e->previous ? e->previous->next : r->first;
    *(e->previous ? &e->previous->next : &r->first) = e;
    *(e->next ? &e->next->previous : &r->last) = e;
    r->count++;
    r->web += web;
    r->added++;
    r->most = r->count > r->most ? r->count : r->most;
    pthread_mutex_unlock(&r->lock);
}

void
registry_remove(struct registry *r, struct registry_entry *e)
{
    pthread_mutex_lock(&r->lock);
    *(e->previous ? &e->previous->next : &r->first) = e->next;
    *(e->next ? &e->next->previous : &r->last) = e->previous;
    r->count--;
    r->web -= e->web;
    pthread_mutex_unlock(&r->lock);
    mem_free(e->info);
    e->info = NULL;
}

void
registry_set_user(struct registry *r, struct registry_entry *e,
                  const struct sql_identity *who)
{
    pthread_mutex_lock(&r->lock);
    snprintf(e->user, sizeof(e->user), "%s", who->user);
    e->trusted = who->trusted;
    pthread_mutex_unlock(&r->lock);
}

void
registry_set_database(struct registry *r, struct registry_entry *e,
                      const char *database)
{
    if (strcmp(e->database, database) == 0)
        /* only holders of the loop's lock write it, so it can be read without
         * r->lock */
        return;
    pthread_mutex_lock(&r->lock);
    snprintf(e->database, sizeof(e->database), "%s", database);
    pthread_mutex_unlock(&r->lock);
}

/* Cuts at a character's first byte, so that none is cut in half. */
static size_t
cut_text(struct span text, size_t max)
{
    size_t size = text.size;

    if (size <= max)
        return size;
    for (size = max; size > 0 && (text.data[size] & 0xc0) == 0x80; size--)
        ;
    return size;
}

void
registry_set_command(struct registry *r, struct registry_entry *e,
                     const char *command, const char *state, struct span info,
                     uint64_t now_ms)
{
    size_t size = cut_text(info, SQL_INFO_MAX);
    char *copy = size ? mem_strndup(info.data, size) : NULL, *old;

    pthread_mutex_lock(&r->lock);
    /* The former text is freed after the lock: others wait for it. */
    old = e->info;
    e->info = copy;
    e->command = command;
    set_session_entry_state(e, state);
    e->since_ms = now_ms;
    e->statement++;
    pthread_mutex_unlock(&r->lock);
    mem_free(old);
}

void
registry_set_state(struct registry *r, struct registry_entry *e,
                   const char *state)
{
    /* A forwarded statement that is opened off the loop writes the state, too.
     */
    pthread_mutex_lock(&r->lock);
    if (strcmp(e->state, state) != 0)
        set_session_entry_state(e, state);
    pthread_mutex_unlock(&r->lock);
}

enum registry_kill
registry_take_kill(struct registry *r, struct registry_entry *e)
{
    enum registry_kill kill;

    pthread_mutex_lock(&r->lock);
    kill = e->kill;
    /* The statement that was meant has ended: the next one is not to blame. */
    if (kill == KILL_QUERY && e->kill_statement != e->statement)
        kill = KILL_NONE;
    e->kill = KILL_NONE;
    pthread_mutex_unlock(&r->lock);
    return kill;
}

size_t
registry_count_user(struct registry *r, const char *user,
                    const struct registry_entry *except)
{
    size_t n = 0;

    pthread_mutex_lock(&r->lock);
    for (const struct registry_entry *e = r->first; e; e = e->next)
        n += e != except && !e->trusted && strcmp(e->user, user) == 0;
    pthread_mutex_unlock(&r->lock);
    return n;
}

static void
copy_session_row(const struct registry_entry *e, uint64_t now_ms,
                 struct sql_session_row *row)
{
    memset(row, 0, sizeof(*row));
    row->id = e->id;
    memcpy(row->user, e->user, sizeof(row->user));
    row->trusted = e->trusted;
    memcpy(row->host, e->host, sizeof(row->host));
    memcpy(row->database, e->database, sizeof(row->database));
    snprintf(row->command, sizeof(row->command), "%s", e->command);
    snprintf(row->state, sizeof(row->state), "%s", e->state);
    row->seconds = (now_ms - e->since_ms) / 1000;
    row->has_info = e->info != NULL;
    if (e->info)
        snprintf(row->info, sizeof(row->info), "%s", e->info);
}

size_t
registry_list(void *arg, struct sql_session_row *out, size_t max)
{
    struct registry *r = arg;
    uint64_t now_ms;
    size_t n = 0;

    pthread_mutex_lock(&r->lock);
    now_ms = clock_ms();
    for (struct registry_entry *e = r->first; e && n < max; e = e->next)
        copy_session_row(e, now_ms, &out[n++]);
    pthread_mutex_unlock(&r->lock);
    return n;
}

/* Called under the lock; -1 with *err. */
static int
mark_session_killed(struct registry *r, uint32_t id, bool query_only,
                    const struct sql_identity *by, struct error *err)
{
    struct registry_entry *e = r->first;

    while (e && e->id != id)
        e = e->next;
    if (!e) {
        error_set(err, ER_NO_SUCH_THREAD, "Unknown thread id: %u", id);
        return -1;
    }
    /* A trusted local user may have the name of an account: both must match. */
    if (!(by->privileges & PRIVILEGE_ADMIN) &&
        (by->trusted != e->trusted || strcmp(by->user, e->user) != 0)) {
        error_set(err, ER_KILL_DENIED, "You are not owner of thread %u", id);
        return -1;
    }
    if (query_only) {
        e->kill_statement = e->statement;
        if (e->kill == KILL_NONE)
            e->kill = KILL_QUERY;
    } else {
        e->kill = KILL_SESSION;
    }
    return 0;
}

int
registry_kill(void *arg, uint32_t id, bool query_only,
              const struct sql_identity *by, struct error *err)
{
    struct registry *r = arg;
    int rc;

    pthread_mutex_lock(&r->lock);
    rc = mark_session_killed(r, id, query_only, by, err);
    pthread_mutex_unlock(&r->lock);
    if (rc == 0)
        r->killed.wake(r->killed.arg);
    return rc;
}

static uint64_t
registry_counter_value(atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void
registry_count(void *arg, struct sql_counts *out)
{
    struct registry *r = arg;

    pthread_mutex_lock(&r->lock);
    out->connections = r->added;
    out->most_connections = r->most;
    out->mysql_open = r->count - r->web;
    out->http_open = r->web;
    pthread_mutex_unlock(&r->lock);
    out->questions = registry_counter_value(&r->questions);
    out->failed_statements = registry_counter_value(&r->failed_statements);
    out->failed_logins = registry_counter_value(&r->failed_logins);
    out->lost_clients = registry_counter_value(&r->lost_clients);
    out->received = registry_counter_value(&r->received);
    out->sent = registry_counter_value(&r->sent);
}
