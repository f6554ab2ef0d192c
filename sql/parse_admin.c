/* parse_admin.c - ADMIN EXECUTE ON <target> '<script>'. */
#include "parser.h"

#include <string.h>

#include "arena.h"
#include "errors.h"

/* Ascending, each once: ids is kept sorted, TARGETS_MAX is small. */
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
    uint64_t *ids = arena_alloc(p->arena, TARGETS_MAX * sizeof(*ids));
    bool list = parser_accept_operator(p, "(");
    bool unknown = false;
    size_t given = 0;
    uint64_t id = 0;

    if (!ids) {
        error_memory(p->err, "the statement");
        return -1;
    }
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
    parser_accept(p, "BACKENDS");
    return 0;
}

int
parse_admin(struct parser *p, struct statement *out)
{
    out->kind = STATEMENT_ADMIN_EXECUTE;
    parser_advance(p);
    if (parser_expect(p, "EXECUTE") != 0 || parser_expect(p, "ON") != 0 ||
        parse_target(p, &out->admin) != 0)
        return -1;
    return parser_string(p, &out->admin.script, &out->admin.script_unknown);
}
