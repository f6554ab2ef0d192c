/*
 * forward.c - ADMIN FORWARD: runs a statement that another node sends on
 * behalf of its caller.
 *
 * The envelope is sealed by the other node and opens once (struct
 * peer_channel).  Its statement runs in a session of its own with the caller's
 * name and privileges, so that a node that was broken into gains no more here
 * than its callers have; its rows and errors are the answer.  It may be a
 * script or a SELECT, and may ask no further node.
 */

#include <string.h>

#include "admin.h"
#include "arena.h"
#include "errors.h"
#include "memory.h"
#include "parse_statement.h"
#include "peers.h"
#include "select_query.h"
#include "sql.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "sql_statement.h"

struct forward_cursor {
    struct cursor base; /* first */
    struct sql_session *session;
    struct cursor *inner;
};

static enum step
forward_step(struct cursor *base, struct rows *out, struct error *err)
{
    struct forward_cursor *c = (struct forward_cursor *)base;
    enum step step = c->inner->ops->step(c->inner, out, err);

    base->affected_rows = c->inner->affected_rows;
    base->info = c->inner->info;
    return step;
}

static void
forward_free(struct cursor *base)
{
    struct forward_cursor *c = (struct forward_cursor *)base;

    cursor_free(c->inner);
    sql_session_free(c->session);
    mem_free(c);
}

static const struct cursor_ops forward_ops = {forward_step, forward_free};

/* Opens what ADMIN EXECUTE ON <this node> '<text>' would open. */
static struct cursor *
open_script(struct opening *o, struct span text, struct error *err)
{
    const struct sql_node *node = o->session->node;
    struct sql_statement statement = {.kind = STATEMENT_ADMIN_EXECUTE,
                                      .source = text};
    uint64_t *id = arena_alloc(o->arena, sizeof(*id));

    if (!id) {
        error_memory(err, "the statement");
        return NULL;
    }
    /* This node alone, so the task cannot be forwarded again. */
    *id = node->id;
    statement.admin.target = TARGET_ONE;
    statement.admin.ids = id;
    statement.admin.id_count = 1;
    statement.admin.script = text;
    o->statement = &statement;
    return admin_open(o, err);
}

static struct cursor *
open_select(struct opening *o, struct span text, struct error *err)
{
    const struct parsing how = {.arena = o->arena, .use = PARAMETERS_NONE};
    struct sql_statement statement;

    if (statement_parse(text, &how, &statement, err) != 0)
        return NULL;
    if (statement.kind == STATEMENT_ADMIN_EXECUTE ||
        statement.kind == STATEMENT_FORWARD) {
        error_set(err, ER_PRIVILEGE,
                  "Access denied; the statement was forwarded once already");
        return NULL;
    }
    if (statement.kind != STATEMENT_SELECT) {
        error_set(err, ER_PRIVILEGE,
                  "Access denied; nodes forward only scripts and SELECT");
        return NULL;
    }
    o->statement = &statement;
    return select_open(o, err);
}

/* The inner statement's cursor may take the outer one's arena. */
static int
open_inner(struct forward_cursor *c, struct opening *outer,
           const struct peer_forwarded *f, struct error *err)
{
    struct opening o = {
        .session = c->session, .await = outer->await, .arena = outer->arena};

    if (f->verb == PEER_SCRIPT)
        c->inner = open_script(&o, f->text, err);
    else
        c->inner = open_select(&o, f->text, err);
    /* NULL if the cursor took it. */
    outer->arena = o.arena;
    return c->inner ? 0 : -1;
}

/* Checks that the caller may reach other nodes.  A node may forward to itself,
 * for any of its own callers. */
static int
check_caller(const struct sql_node *node, const struct peer_forwarded *f,
             struct error *err)
{
    if (f->origin == node->id)
        return 0;
    return privilege_check(f->caller.privileges, PRIVILEGE_CLUSTER, err);
}

static int
open_forwarded(struct forward_cursor *c, struct opening *o, struct error *err)
{
    const struct peer_channel *channel = o->session->channel;
    const struct sql_node *node = o->session->node;
    struct peer_forwarded f = {.verb = PEER_SCRIPT};

    if (channel->open(channel->arg, o->statement->forward, o->arena, &f, err) !=
            0 ||
        check_caller(node, &f, err) != 0)
        return -1;
    c->session = sql_session_new(node, &f.caller, f.connection_id);
    if (!c->session) {
        error_memory(err, "a session");
        return -1;
    }
    /* From here on it can ask no other node: tables of all nodes and ADMIN
     * EXECUTE refuse. */
    c->session->forwarded = true;
    if (open_inner(c, o, &f, err) != 0)
        return -1;
    /* A copy of the inner cursor's columns and limits, with operations that
     * pass on to it. */
    c->base = *c->inner;
    c->base.ops = &forward_ops;
    c->base.timed = false; /* The caller's remaining time counts, even past
                            * this node's own limit. */
    c->base.timeout_ms = f.timeout_ms ? f.timeout_ms : 1;
    return 0;
}

static int
check_forward_allowed(const struct opening *o, struct error *err)
{
    if (!o->session->channel) {
        error_set(err, ER_PRIVILEGE,
                  "Access denied; ADMIN FORWARD is for the other nodes of the "
                  "cluster; use ADMIN EXECUTE");
        return -1;
    }
    if (o->describing) {
        error_set(err, ER_UNSUPPORTED_PS,
                  "This command is not supported in the prepared statement "
                  "protocol yet");
        return -1;
    }
    return 0;
}

struct cursor *
forward_open(struct opening *o, struct error *err)
{
    struct forward_cursor *c;

    if (check_forward_allowed(o, err) != 0)
        return NULL;
    c = mem_zalloc(1, sizeof(*c));
    if (!c) {
        error_memory(err, "the statement");
        return NULL;
    }
    if (open_forwarded(c, o, err) != 0) {
        forward_free(&c->base);
        return NULL;
    }
    return &c->base;
}
