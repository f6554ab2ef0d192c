/* fake_session.c - the sessions of the fake sql/. */
#include "fake_sql.h"

#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "memory.h"

struct sql_session *
sql_session_new(const struct sql_node *node, const struct sql_identity *who,
                uint32_t connection_id)
{
    struct sql_session *s = mem_zalloc(1, sizeof(*s));

    if (s) {
        s->node = node;
        s->who = *who;
        s->id = connection_id;
        s->autocommit = true;
    }
    return s;
}

void
sql_session_set_channel(struct sql_session *s,
                        const struct peer_channel *channel)
{
    s->channel = channel;
}

void
sql_session_free(struct sql_session *s)
{
    mem_free(s);
}

void
sql_session_reset(struct sql_session *s)
{
    s->autocommit = true;
    s->in_transaction = false;
}

int
sql_session_use(struct sql_session *s, struct span database, struct error *err)
{
    if (!span_is(database, "heapwire") &&
        !span_is(database, "information_schema")) {
        error_set(err, ER_BAD_DB, "Unknown database '%.*s'", (int)database.size,
                  database.data);
        return -1;
    }
    snprintf(s->database, sizeof(s->database), "%.*s", (int)database.size,
             database.data);
    return 0;
}

const struct value *
sql_session_variable(const struct sql_session *s, struct span name)
{
    (void)s;
    (void)name;
    return NULL;
}

int
sql_indirect(struct sql_session *s, struct span text, struct sql_indirect *out,
             struct error *err)
{
    (void)s;
    (void)err;
    *out = (struct sql_indirect){.text = text};
    return 0;
}

void
sql_indirect_fini(struct sql_indirect *indirect)
{
    (void)indirect;
}

const char *
sql_session_database(const struct sql_session *s)
{
    return s->database;
}

bool
sql_session_autocommit(const struct sql_session *s)
{
    return s->autocommit;
}

bool
sql_session_in_transaction(const struct sql_session *s)
{
    return s->in_transaction;
}

uint16_t
sql_session_warnings(const struct sql_session *s)
{
    return s->warnings;
}

const char *
sql_session_warning(const struct sql_session *s, size_t i)
{
    return i < s->warnings ? "a warning" : NULL;
}

void
sql_session_check_row(struct sql_session *session, const struct column *columns,
                      struct value *values, size_t count)
{
    (void)session, (void)columns, (void)values, (void)count;
}

uint32_t
sql_session_statement_s(const struct sql_session *s)
{
    (void)s;
    return 0;
}

uint32_t
sql_session_timeout_ms(const struct sql_session *s)
{
    (void)s;
    return 0;
}

uint32_t
sql_session_idle_s(const struct sql_session *s)
{
    return s->node->idle_timeout_s;
}
