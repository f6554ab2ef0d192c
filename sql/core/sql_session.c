/*
 * sql_session.c - what a session keeps between its statements: variables,
 * warnings, database, limits.
 *
 * server/ runs one statement of a session at a time, so nothing here takes a
 * lock.  SET changes a session's own values; they are a linked list of at most
 * SESSION_VALUES_MAX, searched linearly.  The few variables that heapwire
 * itself obeys (timeouts, heapwire_parallel) are also kept as numbers, so that
 * reading them at every statement costs no search.
 *
 * The beginning of the file has the small helpers of peers.h that need a
 * session.
 */
#include "sql_session.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "clean_text.h"
#include "errors.h"
#include "memory.h"
#include "peers.h"
#include "sql_statement.h"
#include "variables.h"

size_t
peers_list(const struct sql_session *session, struct peer_row **out)
{
    const struct sql_peers *peers = session->node->peers;
    size_t room = peers->list(peers->arg, NULL, 0), count;
    struct peer_row *rows = mem_zalloc(room ? room : 1, sizeof(*rows));

    *out = rows;
    if (!rows)
        return 0;
    count = peers->list(peers->arg, rows, room);
    return count < room ? count : room; /* a node may have joined or left since
                                         * room was asked for */
}

uint32_t
peers_sampling_ms(uint32_t seconds, size_t nodes, unsigned parallel)
{
    /* Turns of so many nodes follow each other; more than a day is no answer
     * that a client waits for. */
    enum { DAY_S = 86400 };
    size_t turns = parallel ? (nodes + parallel - 1) / parallel : 1;
    uint64_t all = (uint64_t)turns * seconds;

    return (uint32_t)(all < DAY_S ? all : DAY_S) * 1000;
}

bool
peers_can_ask(const struct sql_session *session)
{
    const struct sql_peers *peers = session->node->peers;

    /* A forwarded statement must not ask further nodes: two nodes could
     * otherwise ask each other for ever. */
    return !session->forwarded &&
           (session->who.privileges & PRIVILEGE_CLUSTER) &&
           peers->list(peers->arg, NULL, 0) > 1;
}

static void
warnings_clear(struct sql_session *session)
{
    struct warning *warning = session->warnings.first, *next;

    for (; warning; warning = next) {
        next = warning->next;
        mem_free(warning);
    }
    memset(&session->warnings, 0, sizeof(session->warnings));
}

/* Without memory the warning is only counted; its text may quote a client's
 * bytes, so clean_text() replaces control characters. */
static void
append_warning(struct warnings *all, uint16_t code, const char *text,
               size_t size)
{
    struct warning *warning = mem_zalloc(1, sizeof(*warning) + size + 1);

    if (!warning)
        return;
    warning->code = code;
    clean_text((struct span){text, size}, warning->text);
    *(all->last ? all->last : &all->first) = warning;
    all->last = &warning->next;
    all->kept++;
}

void
warnings_add(struct sql_session *session, uint16_t code, const char *format,
             ...)
{
    struct warnings *all = &session->warnings;
    char text[ERROR_TEXT_MAX];
    va_list arguments;

    /* The first warning of a statement drops those of the one before.  They
     * stay until then because SHOW WARNINGS may be that statement. */
    if (all->old)
        warnings_clear(session);
    all->total++;
    if (all->kept == WARNINGS_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    append_warning(all, code, text, strlen(text));
}

void
warnings_drop_old(struct sql_session *session)
{
    if (session->warnings.old)
        warnings_clear(session);
}

struct sql_session *
sql_session_new(const struct sql_node *node, const struct sql_identity *who,
                uint32_t connection_id)
{
    struct sql_session *session = mem_zalloc(1, sizeof(*session));

    if (!session)
        return NULL;
    session->node = node;
    session->who = *who;
    session->connection_id = connection_id;
    session->autocommit = true;
    return session;
}

void
sql_session_set_channel(struct sql_session *session,
                        const struct peer_channel *channel)
{
    session->channel = channel;
}

void
sql_session_free(struct sql_session *session)
{
    if (!session)
        return;
    user_locks_release(session);
    session_value_free(session->values);
    prepared_texts_free(session->prepared);
    warnings_clear(session);
    mem_free(session);
}

/* Does what MySQL's COM_RESET_CONNECTION does: all is as after login but the
 * current database, which stays. */
void
sql_session_reset(struct sql_session *session)
{
    user_locks_release(session);
    session_value_free(session->values);
    session->values = NULL;
    prepared_texts_free(session->prepared);
    session->prepared = NULL;
    warnings_clear(session);
    session->autocommit = true;
    session->in_transaction = false;
    session->idle_s = 0;
    session->found_rows = 0;
    session->last_insert_id = 0;
    session->timeout_ms = 0;
    session->statement_s = 0;
    session->parallel = 0;
}

int
sql_session_use(struct sql_session *session, struct span database,
                struct error *err)
{
    const char *name = catalog_database(database);

    if (!name)
        return catalog_unknown_database(database, err);
    memcpy(session->database, name, strlen(name) + 1);
    return 0;
}

const char *
sql_session_database(const struct sql_session *session)
{
    return session->database;
}

bool
sql_session_autocommit(const struct sql_session *session)
{
    return session->autocommit;
}

bool
sql_session_in_transaction(const struct sql_session *session)
{
    return session->in_transaction;
}

uint32_t
sql_session_idle_s(const struct sql_session *session)
{
    return session->idle_s ? session->idle_s : session->node->idle_timeout_s;
}

uint32_t
sql_session_statement_s(const struct sql_session *session)
{
    return session->statement_s;
}

uint32_t
sql_session_timeout_ms(const struct sql_session *session)
{
    return session->timeout_ms;
}

uint32_t
session_timeout_s(const struct sql_session *session,
                  const struct sql_statement *statement)
{
    /* The statement's hint wins over SET, and SET over the configuration.
     * Read once: a reload may change it meanwhile. */
    uint32_t node_s = session->node->statement_timeout_s;

    if (statement->timeout_s)
        return statement->timeout_s;
    if (session->statement_s)
        return session->statement_s;
    return node_s ? node_s : TIMEOUT_DEFAULT_S;
}

uint32_t
session_parallel(const struct sql_session *session,
                 const struct sql_statement *statement)
{
    return statement->parallel ? statement->parallel : session->parallel;
}

uint16_t
sql_session_warnings(const struct sql_session *session)
{
    const struct warnings *all = &session->warnings;

    if (all->old)
        return 0;
    /* The OK and EOF packets have two bytes for it. */
    return (uint16_t)(all->total < UINT16_MAX ? all->total : UINT16_MAX);
}

const char *
sql_session_warning(const struct sql_session *session, size_t i)
{
    const struct warning *warning =
        session->warnings.old ? NULL : session->warnings.first;

    while (warning && i-- > 0)
        warning = warning->next;
    return warning ? warning->text : NULL;
}

void
sql_session_check_row(struct sql_session *session, const struct column *columns,
                      struct value *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct span text = {values[i].data, values[i].size};

        if ((values[i].type != VALUE_TEXT && values[i].type != VALUE_BLOB) ||
            columns[i].type == COLUMN_BLOB || text_is_utf8(text))
            continue;
        warnings_add(session, ER_INVALID_CHARACTERS,
                     "Invalid utf8mb4 character string in column '%s': it is "
                     "NULL; HEX() shows the bytes",
                     columns[i].name);
        values[i].type = VALUE_NULL;
    }
}

static bool
is_value(const struct session_value *s, const struct variable *variable,
         struct span name)
{
    return s->variable == variable &&
           (variable || span_is_nocase(name, s->name));
}

const struct session_value *
session_value_find(const struct sql_session *session,
                   const struct variable *variable, struct span name)
{
    const struct session_value *s = session->values;

    while (s && !is_value(s, variable, name))
        s = s->next;
    return s;
}

const struct value *
sql_session_variable(const struct sql_session *session, struct span name)
{
    const struct session_value *found = session_value_find(session, NULL, name);

    return found ? &found->value : NULL;
}

struct session_value *
session_value_new(const struct variable *variable, struct span name,
                  const struct value *value, struct error *err)
{
    /* One allocation holds the variable and a copy of its text: the value
     * given lies in the statement's arena, which is freed at its end. */
    bool bytes = value->type == VALUE_TEXT || value->type == VALUE_BLOB;
    size_t size = bytes ? value->size : 0;
    struct session_value *s;

    if (name.size > SQL_NAME_MAX || size > SESSION_VALUE_MAX) {
        error_set(err, ER_WRONG_VALUE,
                  "a variable has at most %d bytes of name and %d of value",
                  SQL_NAME_MAX, SESSION_VALUE_MAX);
        return NULL;
    }
    s = mem_zalloc(1, sizeof(*s) + size + 1);
    if (!s) {
        error_memory(err, "a variable");
        return NULL;
    }
    s->variable = variable;
    if (!variable)
        memcpy(s->name, name.data, name.size);
    s->value = *value;
    if (bytes) {
        if (size)
            memcpy(s->bytes, value->data, size);
        s->value.data = s->bytes;
    }
    return s;
}

static size_t
count_session_values(const struct session_value *s)
{
    size_t n = 0;

    for (; s; s = s->next)
        n++;
    return n;
}

/* The number of values in list that would be new to the session. */
static size_t
count_new(const struct sql_session *session, const struct session_value *s)
{
    size_t n = 0;

    for (; s; s = s->next)
        n += !session_value_find(session, s->variable,
                                 (struct span){s->name, strlen(s->name)});
    return n;
}

static void
drop_session_value(struct sql_session *session, const struct variable *variable,
                   struct span name)
{
    struct session_value **at = &session->values, *old;

    while (*at && !is_value(*at, variable, name))
        at = &(*at)->next;
    old = *at;
    if (!old)
        return;
    *at = old->next;
    mem_free(old);
}

/* The value as a number between least and most; it must not be NULL. */
static uint32_t
bounded_session_number(const struct session_value *s, uint32_t least,
                       uint32_t most)
{
    int64_t number = s->value.integer;

    if (s->value.type == VALUE_TEXT)
        number = strtoll(s->bytes, NULL, 10);
    /* Out of range means the nearest, as MySQL does with a warning. */
    if (number < (int64_t)least)
        return least;
    return number < (int64_t)most ? (uint32_t)number : most;
}

/* Applies the variables that heapwire itself reads; value NULL: the default. */
static void
apply_heapwire_variable(struct sql_session *session,
                        const struct session_value *s)
{
    bool unset = s->value.type == VALUE_NULL;

    /* A user variable has no meaning for heapwire. */
    if (!s->variable)
        return;
    if (strcmp(s->variable->name, "wait_timeout") == 0)
        session->idle_s = unset ? 0 : bounded_session_number(s, 1, IDLE_MAX_S);
    else if (strcmp(s->variable->name, "max_execution_time") == 0)
        session->timeout_ms =
            unset ? 0 : bounded_session_number(s, 0, UINT32_MAX);
    else if (strcmp(s->variable->name, "heapwire_timeout") == 0)
        session->statement_s =
            unset ? 0 : bounded_session_number(s, 1, TIMEOUT_MAX_S);
    else if (strcmp(s->variable->name, "heapwire_parallel") == 0)
        session->parallel =
            unset ? 0 : bounded_session_number(s, 0, PARALLEL_MAX);
}

/* Is this SET x = DEFAULT of a computed variable?  Then the session drops its
 * own value, and the computed one shows again. */
static bool
is_default_session_value(const struct session_value *s)
{
    return s->variable && s->value.type == VALUE_NULL &&
           s->variable->access != ACCESS_NULL;
}

int
session_value_apply(struct sql_session *session, struct session_value *list,
                    struct error *err)
{
    struct session_value *next;

    /* Checked before the first change: SET a = 1, b = 2 does all or nothing. */
    if (count_session_values(session->values) + count_new(session, list) >
        SESSION_VALUES_MAX) {
        error_set(err, ER_WRONG_VALUE, "a session has at most %d variables",
                  SESSION_VALUES_MAX);
        session_value_free(list);
        return -1;
    }
    for (; list; list = next) {
        struct span name = {list->name, strlen(list->name)};

        next = list->next;
        /* Values are applied in the statement's order, so of a name that is
         * set twice the last value stays. */
        drop_session_value(session, list->variable, name);
        apply_heapwire_variable(session, list);
        if (is_default_session_value(list)) {
            mem_free(list);
            continue;
        }
        list->next = session->values;
        session->values = list;
    }
    return 0;
}

void
session_value_free(struct session_value *list)
{
    struct session_value *next;

    for (; list; list = next) {
        next = list->next;
        mem_free(list);
    }
}
