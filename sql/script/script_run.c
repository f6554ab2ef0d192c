/*
 * script_run.c - runs a parsed script: each node of the tree once, from left
 * to right.
 *
 * There is no stack machine: without loops the tree is its own program, and a
 * node keeps its value (done), so that a variable used twice runs its call
 * once.  The recursion is as deep as the tree, at most SCRIPT_DEPTH_MAX.  A
 * call may block; the caller's thread is the statement's.  Outputs are counted
 * over all running scripts (outputs_bytes), since each may have 64 MB that wait
 * for a slow client.
 */
#include "script_tree.h"

#include <stdatomic.h>
#include <string.h>

#include "arena.h"
#include "controller.h"
#include "errors.h"
#include "script_lexer.h"
#include "script_methods.h"
#include "snapshot.h"
#include "sql.h"
#include "view_cache.h"

struct runner {
    struct script *script;
    const struct script_host *host;
    struct error *err;
};

static atomic_size_t outputs_bytes; /* of all scripts */

static enum step run_node(struct runner *r, struct script_node *node);

static enum step
run_join(struct runner *r, struct script_node *node)
{
    struct span left, right;
    char *text;

    left = node->left->value.text;
    right = node->right->value.text;
    text = arena_alloc(r->script->arena, left.size + right.size);
    if (!text) {
        error_memory(r->err,
                     "a joined string: the script's texts are too long");
        return STEP_FAIL;
    }
    memcpy(text, left.data, left.size);
    memcpy(text + left.size, right.data, right.size);
    node->value.type = SCRIPT_STRING;
    node->value.text.data = text;
    node->value.text.size = left.size + right.size;
    return STEP_DONE;
}

enum step
script_call_node(struct script *script, const struct script_host *host,
                 struct script_node *node, struct error *err)
{
    struct script_value arguments[SCRIPT_ARGUMENTS_MAX];
    struct script_call call = {.host = host,
                               .method = &node->method,
                               .arena = script->arena,
                               .output = &script->output,
                               .receiver = &node->left->value,
                               .arguments = arguments,
                               .argument_count = node->argument_count,
                               .work = &node->work,
                               .now = &script->now,
                               .views_bytes = &script->views_bytes,
                               .result = {.type = SCRIPT_NULL}};
    enum step step;

    /* Values, not nodes: a method cannot change the tree. */
    for (size_t i = 0; i < node->argument_count; i++)
        arguments[i] = node->arguments[i]->value;
    step = node->method.call(&call, err);
    if (step == STEP_DONE)
        node->value = call.result;
    /* script->now, the dump that calls share, is of before the change.  Forgets
     * it; the call that took it keeps the reference. */
    if (step == STEP_DONE && node->method.kind == SCRIPT_CHANGING)
        script->now = NULL;
    if (step == STEP_FAIL && call.blamed > 0) {
        script_add_position(script->text,
                            node->arguments[call.blamed - 1]->offset, err);
        script->has_position = true;
    }
    return step;
}

static enum step
run_call(struct runner *r, struct script_node *node)
{
    return script_call_node(r->script, r->host, node, r->err);
}

/* Runs the parts from left to right, as Wren does: the receiver, then the
 * arguments. */
static enum step
run_parts(struct runner *r, struct script_node *node)
{
    enum step step = STEP_DONE;

    if (node->left)
        step = run_node(r, node->left);
    if (step == STEP_DONE && node->right)
        step = run_node(r, node->right);
    for (size_t i = 0; step == STEP_DONE && i < node->argument_count; i++)
        step = run_node(r, node->arguments[i]);
    return step;
}

static enum step
run_node(struct runner *r, struct script_node *node)
{
    enum step step;

    if (node->done)
        return STEP_DONE;
    step = run_parts(r, node);
    if (step != STEP_DONE)
        return step;
    switch (node->kind) {
    case SCRIPT_NODE_VARIABLE:
        node->value = node->left->value;
        break;
    case SCRIPT_NODE_JOIN:
        step = run_join(r, node);
        break;
    case SCRIPT_NODE_CALL:
        step = run_call(r, node);
        break;
    case SCRIPT_NODE_LITERAL:
        break;
    }
    node->done = step == STEP_DONE;
    return step;
}

/* Puts "script line 2: " before what the method said; the code stays. */
static void
prefix_error_with_line(const struct script *script,
                       const struct script_node *statement, struct error *err)
{
    struct error cause = *err;

    error_set(err, cause.code, "script line %u: %s",
              script_line(script->text, statement->offset), cause.text);
}

/* Counts the output, which stays until the client has read it.  By its
 * capacity, since that is what is allocated. */
static int
check_output(struct script *script, struct error *err)
{
    size_t more = script->output.capacity - script->counted;

    script->counted += more;
    if (script->output.failed)
        error_set(err, ER_UNKNOWN,
                  "the output is larger than %d bytes, or memory ran out",
                  SCRIPT_OUTPUT_MAX);
    else if (more > 0 &&
             atomic_fetch_add(&outputs_bytes, more) + more > SCRIPT_OUTPUTS_MAX)
        error_set(err, ER_OUT_OF_MEMORY,
                  "Out of memory: the outputs of all scripts that are being "
                  "read are larger than %d MB together; try again later",
                  SCRIPT_OUTPUTS_MAX >> 20);
    else
        return 0;
    return -1;
}

enum step
script_run(struct script *script, const struct script_host *host,
           struct error *err)
{
    struct runner r = {script, host, err};

    for (size_t i = 0; i < script->statement_count; i++) {
        struct script_node *statement = script->statements[i];
        enum step step = run_node(&r, statement);

        if (step == STEP_DONE && check_output(script, err) != 0)
            step = STEP_FAIL;
        /* A kill is no fault of a line. */
        if (step == STEP_FAIL && !script->has_position &&
            err->code != ER_QUERY_INTERRUPTED)
            prefix_error_with_line(script, statement, err);
        if (step != STEP_DONE)
            return step;
    }
    return STEP_DONE;
}

int
script_check_privileges(const struct script *script, uint32_t privileges,
                        struct error *err)
{
    for (const struct script_node *c = script->calls; c; c = c->next_call)
        if (privilege_check(privileges, c->method.privilege, err) != 0)
            return -1;
    return 0;
}

/* The script itself lies in its arena. */
void
script_free(struct script *script)
{
    if (!script)
        return;
    for (struct script_node *c = script->calls; c; c = c->next_call) {
        /* Results of other calls may borrow from it, so it is released only
         * now. */
        view_unref(c->work.view);
        snapshot_unref(c->work.snapshot);
        buffer_fini(&c->work.text);
    }
    atomic_fetch_sub(&outputs_bytes, script->counted);
    buffer_fini(&script->output);
}
