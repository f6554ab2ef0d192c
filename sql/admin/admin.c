/*
 * admin.c - ADMIN EXECUTE: parses the script, resolves the nodes that run it,
 * and runs it on this node alone, with its output as lines.
 *
 * A script may change the database, so bad syntax, missing privileges and
 * unknown targets are refused before any node is asked; the three cursors
 * (here, admin_remote.c, admin_fanout.c) only get a task that is complete.
 * The local script runs once, in the first step of its cursor, and its output
 * is then sent from where it lies.  A script that waits leaves the event loop
 * when it is opened.
 */
#include "admin.h"

#include <string.h>

#include "admin_task.h"
#include "arena.h"
#include "controller.h"
#include "errors.h"
#include "memory.h"
#include "peers.h"
#include "script.h"
#include "sql.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "sql_statement.h"

struct local_cursor {
    struct sql_cursor cursor;
    const struct sql_node *node;
    struct sql_session *session;
    const char *user; /* borrowed from the session, which outlives the cursor */
    struct arena *arena; /* holds the script */
    struct script *script;
    bool ran;
    struct span output; /* output that is still to be sent */
    bool bytes;         /* the output is one value, not lines */
};

/* Takes the script's output, without empty lines at its end unless it is
 * bytes. */
static void
take_script_output(struct local_cursor *c)
{
    const struct buffer *output = &c->script->output;

    c->output.data = output->data ? output->data : "";
    c->output.size = output->size;
    while (!c->bytes && c->output.size > 0 &&
           c->output.data[c->output.size - 1] == '\n')
        c->output.size--;
}

/* Gives the output's lines as rows; an output without lines is one empty
 * row. */
static enum step
send_lines(struct local_cursor *c, struct rows *out)
{
    if (c->bytes) {
        out->values[out->count++] = (struct value){
            .type = VALUE_BLOB, .data = c->output.data, .size = c->output.size};
        return STEP_DONE;
    }
    while (out->count < out->capacity) {
        const char *newline = memchr(c->output.data, '\n', c->output.size);
        size_t size =
            newline ? (size_t)(newline - c->output.data) : c->output.size;

        out->values[out->count++] = (struct value){
            .type = VALUE_TEXT, .data = c->output.data, .size = size};
        if (!newline)
            return STEP_DONE;
        c->output.data += size + 1;
        c->output.size -= size + 1;
    }
    return STEP_MORE;
}

/* Warns, behind enable_prof(), if profiles will be incomplete. */
static void
warn_of_profile(const struct local_cursor *c)
{
    struct node_status status;

    controller_status(c->node->controller, &status);
    if (status.state != NODE_CONNECTED || status.hello.allocator != AGENT_OK)
        return;
    if (*status.note)
        warnings_add(c->session, ER_UNKNOWN, "%s", status.note);
    if (*status.elsewhere)
        warnings_add(c->session, ER_UNKNOWN, "%s", status.elsewhere);
}

/* Runs the script, if it has not run yet; DONE once the output is ready. */
static enum step
run_local_script(struct local_cursor *c, struct error *err)
{
    const struct script_host host = {.node_id = c->node->id,
                                     .controller = c->node->controller,
                                     .views = c->node->views,
                                     .user = c->user,
                                     .await = c->cursor.await,
                                     .state_dir = c->node->state_dir,
                                     .history = c->node->history,
                                     .trends = c->node->trends};
    enum step step;

    if (c->ran)
        return STEP_DONE;
    c->ran = true;
    step = script_run(c->script, &host, err);
    if (step == STEP_DONE && c->script->switches_on)
        warn_of_profile(c);
    if (step == STEP_DONE)
        take_script_output(c);
    return step;
}

static enum step
local_step(struct cursor *base, struct rows *out, struct error *err)
{
    struct local_cursor *c = (struct local_cursor *)base;
    enum step step;

    out->count = 0;
    if (sql_cursor_check(&c->cursor, err) != 0)
        return STEP_FAIL;
    step = run_local_script(c, err);
    return step == STEP_DONE ? send_lines(c, out) : step;
}

static void
local_free(struct cursor *base)
{
    struct local_cursor *c = (struct local_cursor *)base;

    script_free(c->script);
    arena_free(c->arena);
    mem_free(c);
}

static const struct cursor_ops local_ops = {local_step, local_free};

/* Opens the cursor on this node.  Like the other two, it takes script and
 * arena unless it fails: then the caller still owns both. */
static struct cursor *
admin_open_local(const struct admin_task *task, struct error *err)
{
    struct local_cursor *c = mem_zalloc(1, sizeof(*c));

    if (!c) {
        error_memory(err, "the statement");
        return NULL;
    }
    admin_cursor_init(&c->cursor, &local_ops, task);
    c->node = task->session->node;
    c->session = task->session;
    c->user = task->session->who.user;
    c->arena = task->arena;
    c->script = task->script;
    c->bytes = task->bytes;
    return &c->cursor.base;
}

/* ---- the nodes ---- */

static bool
is_target_peer(const struct peer_row *row, enum target_kind target)
{
    return target == TARGET_ALL ||
           (target == TARGET_BACKENDS) == (row->role == PEER_BACKEND);
}

/* Lists the members of that role, or all members. */
static int
resolve_members(struct admin_task *task, enum target_kind target,
                struct error *err)
{
    struct peer_row *rows;
    size_t count = peers_list(task->session, &rows);
    uint64_t *ids = arena_alloc(task->arena, (count + 1) * sizeof(*ids));

    if (!rows || !ids) {
        mem_free(rows);
        error_memory(err, "the list of nodes");
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        if (is_target_peer(&rows[i], target))
            ids[task->id_count++] = rows[i].id;
    mem_free(rows);
    task->ids = ids;
    return 0;
}

static int
resolve_admin_targets(struct admin_task *task,
                      const struct admin_execute *admin, struct error *err)
{
    int rc = 0;

    task->list = admin->target != TARGET_ONE;
    task->ids = admin->ids;
    task->id_count = admin->id_count;
    if (admin->target != TARGET_ONE && admin->target != TARGET_LIST)
        rc = resolve_members(task, admin->target, err);
    if (rc == 0 && task->id_count == 0) {
        error_set(err, ER_UNKNOWN,
                  "no target nodes resolved for ADMIN EXECUTE");
        rc = -1;
    }
    return rc;
}

static bool
is_self_alone(const struct admin_task *task)
{
    return task->id_count == 1 && task->ids[0] == task->session->node->id;
}

static int
check_targets(const struct admin_task *task, const struct opening *o,
              struct error *err)
{
    const struct sql_session *session = task->session;

    if (o->statement->admin.ids_unknown || is_self_alone(task))
        return 0;
    if (session->forwarded) {
        error_set(err, ER_UNKNOWN,
                  "this statement was forwarded once already: it may not ask "
                  "other nodes");
        return -1;
    }
    return privilege_check(session->who.privileges, PRIVILEGE_CLUSTER, err);
}

/* ---- the script ---- */

/* Copies the script into the arena, which lasts as long as its cursor, and
 * parses it.  A script whose text is still a ? is only described. */
static int
prepare_admin_script(struct admin_task *task, const struct opening *o,
                     struct error *err)
{
    const struct admin_execute *admin = &o->statement->admin;
    char *text;

    if (admin->script_unknown)
        return 0;
    text = arena_strndup(task->arena, admin->script.data, admin->script.size);
    if (!text) {
        error_memory(err, "the statement");
        return -1;
    }
    task->text = (struct span){text, admin->script.size};
    task->script = script_parse(task->text, task->arena, err);
    if (!task->script)
        return -1;
    task->bytes = task->script->prints_bytes;
    if (task->script->slow && task->parallel == 0)
        task->parallel = ADMIN_SLOW_PARALLEL;
    task->stops = task->script->tunes;
    if (task->stops && task->parallel == 0)
        task->parallel = 1; /* one after the other: a change that harms one
                             * node must not reach the next */
    return script_check_privileges(task->script, task->session->who.privileges,
                                   err);
}

/* Adds the time that the script samples, which is no part of its limit. */
static void
add_sampling(struct admin_task *task)
{
    if (task->script)
        task->timeout_ms += peers_sampling_ms(task->script->seconds,
                                              task->id_count, task->parallel);
}

static struct cursor *
open_task(const struct admin_task *task, const struct opening *o,
          struct error *err)
{
    /* a script that waits leaves the event loop now */
    if (task->script && task->script->longest >= SCRIPT_WAITING &&
        !o->describing && opening_compute(o, err) != 0)
        return NULL;
    if (task->list)
        return admin_open_fanout(task, err);
    return is_self_alone(task) ? admin_open_local(task, err)
                               : admin_open_remote(task, err);
}

struct cursor *
admin_open(struct opening *o, struct error *err)
{
    struct admin_task task = {
        .session = o->session,
        .arena = o->arena,
        .timeout_ms = session_timeout_s(o->session, o->statement) * 1000,
        .parallel = session_parallel(o->session, o->statement),
        .await = o->await};
    struct cursor *cursor = NULL;

    if (prepare_admin_script(&task, o, err) == 0 &&
        resolve_admin_targets(&task, &o->statement->admin, err) == 0 &&
        check_targets(&task, o, err) == 0) {
        add_sampling(&task);
        cursor = open_task(&task, o, err);
    }
    if (cursor)
        o->arena = NULL; /* the cursor's now */
    else
        script_free(task.script);
    return cursor;
}
