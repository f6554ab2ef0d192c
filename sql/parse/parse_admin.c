/*
 * parse_admin.c - ADMIN EXECUTE ON <target> '<script>', and its form as a CALL.
 *
 * CALL admin_execute(<target>, '<script>') does the same for ODBC drivers,
 * which drop the rows of statements whose first word they do not know.  Also
 * CALL import_snapshot(), and ADMIN FORWARD '<envelope>', which nodes send each
 * other.
 */
#include "parse.h"

#include <string.h>

#include "errors.h"

/* Inserts id into ids, which stay ascending and distinct; TARGETS_MAX is
 * small. */
static void
insert_id(uint64_t *ids, size_t *count, uint64_t id)
{
    size_t at = 0;

    while (at < *count && ids[at] < id)
        at++;
    if (at < *count && ids[at] == id)
        return;
    memmove(ids + at + 1, ids + at, (*count - at) * sizeof(*ids));
    ids[at] = id;
    (*count)++;
}

static int
parse_ids(struct parser *p, struct admin_execute *out)
{
    uint64_t *ids = parser_alloc(p, TARGETS_MAX * sizeof(*ids));
    bool list = parser_accept_operator(p, "(");
    bool unknown = false;
    size_t given = 0;
    uint64_t id = 0;

    if (!ids)
        return -1;
    out->ids = ids;
    do {
        if (given++ == TARGETS_MAX) {
            error_set(p->err, ER_UNKNOWN,
                      "ADMIN EXECUTE takes at most %d node ids", TARGETS_MAX);
            return -1;
        }
        if (parser_number(p, &id, &unknown) != 0)
            return -1;
        out->ids_unknown = out->ids_unknown || unknown;
        insert_id(ids, &out->id_count, id);
    } while (parser_accept_operator(p, ","));
    if (list && !parser_accept_operator(p, ")"))
        return parser_fail(p);
    out->target = list || given > 1 ? TARGET_LIST : TARGET_ONE;
    return 0;
}

static int
parse_target(struct parser *p, struct admin_execute *out)
{
    if (token_is(&p->token, "FRONTEND")) {
        error_set(p->err, ER_NOT_SUPPORTED,
                  "This version of heapwire doesn't yet support 'ADMIN EXECUTE "
                  "ON FRONTEND'; name a node's id or ALL");
        return -1;
    }
    if (!parser_accept(p, "ALL"))
        return parse_ids(p, out);
    out->target = TARGET_ALL;
    if (parser_accept(p, "COMPUTE")) {
        out->target = TARGET_COMPUTE_NODES;
        return parser_expect(p, "NODES");
    }
    if (parser_accept(p, "BACKENDS"))
        out->target = TARGET_BACKENDS;
    return 0;
}

int
parse_admin(struct parser *p, struct sql_statement *out)
{
    parser_advance(p);
    if (parser_accept(p, "FORWARD")) {
        out->kind = STATEMENT_FORWARD;
        return parser_string(p, &out->forward, NULL);
    }
    out->kind = STATEMENT_ADMIN_EXECUTE;
    if (parser_expect(p, "EXECUTE") != 0 || parse_hint(p, out) != 0 ||
        parser_expect(p, "ON") != 0 || parse_target(p, &out->admin) != 0)
        return -1;
    return parser_string(p, &out->admin.script, &out->admin.script_unknown);
}

/* Of a CALL: a number or a text, also in parentheses. */
static int
parse_argument(struct parser *p, struct span *out, bool *unknown)
{
    size_t open = 0;

    for (; parser_accept_operator(p, "("); open++)
        if (open == NESTING_MAX)
            return parser_fail_deep(p);
    if (p->token.kind == TOKEN_INTEGER) {
        *out = p->token.text;
        parser_advance(p);
    } else if (parser_string(p, out, unknown) != 0) {
        return -1;
    }
    for (; open > 0; open--)
        if (parser_expect_operator(p, ")") != 0)
            return -1;
    return 0;
}

/* Reads a CALL's target argument: an id, or the text between ON and the
 * script. */
static int
parse_target_argument(struct parser *p, struct admin_execute *out)
{
    struct parser inner = *p;
    struct span text = {"", 0};
    bool unknown = false;

    if (parse_argument(p, &text, &unknown) != 0)
        return -1;
    if (unknown) { /* the statement is only described: one id has the same
                      columns */
        text.data = "0";
        text.size = 1;
        out->ids_unknown = true;
    }
    inner.lexer = lexer_of(text);
    inner.source = text;
    parser_advance(&inner);
    if (parse_target(&inner, out) != 0)
        return -1;
    return inner.token.kind == TOKEN_END ? 0 : parser_fail(&inner);
}

int
parse_admin_call(struct parser *p, struct sql_statement *out)
{
    out->kind = STATEMENT_ADMIN_EXECUTE;
    if (parser_expect_operator(p, "(") != 0 ||
        parse_target_argument(p, &out->admin) != 0 ||
        parser_expect_operator(p, ",") != 0 ||
        parse_argument(p, &out->admin.script, &out->admin.script_unknown) != 0)
        return -1;
    return parser_expect_operator(p, ")");
}

/* import_snapshot('name', bytes) */
int
parse_import(struct parser *p, struct sql_statement *out)
{
    out->kind = STATEMENT_IMPORT;
    if (parser_expect_operator(p, "(") != 0 ||
        parse_argument(p, &out->import.name, NULL) != 0 ||
        parser_expect_operator(p, ",") != 0 ||
        parser_bytes(p, &out->import.bytes) != 0)
        return -1;
    return parser_expect_operator(p, ")");
}
