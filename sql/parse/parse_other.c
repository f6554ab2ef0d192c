/*
 * parse_other.c - parses ADMIN, CALL, PREPARE, and MySQL's statements that do
 * nothing here.
 *
 * CALL admin_execute(<target>, '<script>') does the same as ADMIN EXECUTE, for
 * ODBC drivers, which drop the rows of statements whose first word they do not
 * know.  CALL import_snapshot() and budget() are heapwire's own, and nodes
 * send each other ADMIN FORWARD '<envelope>'.
 *
 * Backup tools, connection pools and ORMs send FLUSH, LOCK TABLES, ANALYZE and
 * the like and give up at an error.  Some get an OK, since there is nothing to
 * flush or lock; some get a note; the rest is refused with the reason.
 */
#include <string.h>

#include "errors.h"
#include "parse.h"

/* Inserts id into ids, which stay ascending and distinct.  Moving the rest is
 * quadratic, which TARGETS_MAX keeps small. */
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
        /* Counted as they are given, since each costs an insertion. */
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
    /* (10001) is a list of one: its answer has a list's columns. */
    out->target = list || given > 1 ? TARGET_LIST : TARGET_ONE;
    return 0;
}

static int
parse_target(struct parser *p, struct admin_execute *out)
{
    /* StarRocks has frontends; here every node is both. */
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

/* Reads an argument of a CALL: a number or a text, perhaps in parentheses, as
 * JDBC's escape {call f((?))} leaves them. */
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
    /* Parses the argument's text as if it stood in the statement, so that
     * '10001, 10002' and 'ALL BACKENDS' mean what they do behind ON. */
    struct parser inner = *p;
    struct span text = {"", 0};
    bool unknown = false;

    if (parse_argument(p, &text, &unknown) != 0)
        return -1;
    if (unknown) { /* The statement is only described: an answer of one id
                    * has the same columns. */
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

static int
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
static int
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

/* budget('name', '2G' | 2147483648 | NULL) */
static int
parse_budget(struct parser *p, struct sql_statement *out)
{
    struct budget_call *call = &out->budget;

    out->kind = STATEMENT_BUDGET;
    if (parser_expect_operator(p, "(") != 0 ||
        parse_argument(p, &call->name, NULL) != 0 ||
        parser_expect_operator(p, ",") != 0)
        return -1;
    call->removes = parser_accept_null(p);
    if (!call->removes && parse_argument(p, &call->limit, NULL) != 0)
        return -1;
    return parser_expect_operator(p, ")");
}

int
parse_change(struct parser *p, struct sql_statement *out)
{
    (void)out;
    return parser_refuse_change(p);
}

/* ---- answered with an OK ---- */

/* Skips names, values, commas and dots; at least one of them must be there.
 * Nothing depends on what they name. */
static int
skip_names(struct parser *p)
{
    if (parser_done(p))
        return parser_fail(p);
    while (p->token.kind == TOKEN_WORD || p->token.kind == TOKEN_QUOTED ||
           p->token.kind == TOKEN_STRING || p->token.kind == TOKEN_INTEGER ||
           token_is_operator(&p->token, ",") ||
           token_is_operator(&p->token, "."))
        parser_advance(p);
    return 0;
}

/* LOCK TABLES name [AS name] READ [LOCAL] | WRITE, ... */
static int
parse_lock(struct parser *p, struct sql_statement *out)
{
    out->kind = STATEMENT_NOTHING;
    parser_advance(p);
    if (parser_accept(p, "INSTANCE"))
        return parser_expect(p, "FOR") != 0 ? -1 : parser_expect(p, "BACKUP");
    if (!parser_accept(p, "TABLE") && parser_expect(p, "TABLES") != 0)
        return -1;
    return skip_names(p);
}

static int
parse_unlock(struct parser *p, struct sql_statement *out)
{
    out->kind = STATEMENT_NOTHING;
    parser_advance(p);
    return parser_accept_any(p, "INSTANCE TABLE") ? 0
                                                  : parser_expect(p, "TABLES");
}

static int
parse_flush(struct parser *p, struct sql_statement *out)
{
    out->kind = STATEMENT_NOTHING;
    parser_advance(p);
    if (!parser_accept(p, "LOCAL"))
        parser_accept(p, "NO_WRITE_TO_BINLOG");
    return token_is_any(&p->token,
                        "BINARY ENGINE ERROR GENERAL RELAY SLOW HOSTS "
                        "PRIVILEGES STATUS USER_RESOURCES LOGS TABLES TABLE "
                        "OPTIMIZER_COSTS")
               ? skip_names(p)
               : parser_fail(p);
}

/* ---- answered with a note ---- */

static int
parse_tables(struct parser *p, struct named_table **tail)
{
    do {
        struct named_table *named = parser_alloc(p, sizeof(*named));
        struct show name = {0};

        if (!named || parser_table(p, &name) != 0)
            return -1;
        named->has_database = name.has_database;
        named->database = name.database;
        named->table = name.table;
        *tail = named;
        tail = &named->next;
    } while (parser_accept_operator(p, ","));
    return 0;
}

/* CHECK TABLE name, ... [how] */
static int
parse_maintain(struct parser *p, struct sql_statement *out)
{
    static const char *const operations[] = {"analyze", "check", "optimize",
                                             "repair"};

    out->kind = STATEMENT_MAINTAIN;
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
        if (token_is(&p->token, operations[i]))
            out->maintain.operation = operations[i];
    parser_advance(p);
    if (!parser_accept(p, "LOCAL"))
        parser_accept(p, "NO_WRITE_TO_BINLOG");
    if (!parser_accept(p, "TABLE") && parser_expect(p, "TABLES") != 0)
        return -1;
    if (parse_tables(p, &out->maintain.tables) != 0)
        return -1;
    return parser_done(p) ? 0 : skip_names(p);
}

/* ---- PREPARE ---- */

/* PREPARE name FROM 'text' | @name */
static int
parse_prepare(struct parser *p, struct sql_statement *out)
{
    out->kind = STATEMENT_PREPARE;
    parser_advance(p);
    if (parser_name(p, &out->prepare.name) != 0 ||
        parser_expect(p, "FROM") != 0)
        return -1;
    return parser_string(p, &out->prepare.text, NULL);
}

/* DEALLOCATE | DROP PREPARE name */
static int
parse_deallocate(struct parser *p, struct sql_statement *out)
{
    out->kind = STATEMENT_DEALLOCATE;
    parser_advance(p);
    if (parser_expect(p, "PREPARE") != 0)
        return -1;
    return parser_name(p, &out->prepare.name);
}

/* DROP of anything else is refused as a change. */
static int
parse_drop(struct parser *p, struct sql_statement *out)
{
    struct lexer ahead = p->lexer;
    struct token next = lexer_next(&ahead);

    return token_is(&next, "PREPARE") ? parse_deallocate(p, out)
                                      : parse_change(p, out);
}

/* ---- refused ---- */

static int
parse_call_statement(struct parser *p, struct sql_statement *out)
{
    struct show name = {0};
    int size, database_size;

    parser_advance(p);
    if (parser_table(p, &name) != 0)
        return -1;
    if (!name.has_database || span_is_nocase(name.database, "heapwire")) {
        if (span_is_nocase(name.table, "admin_execute"))
            return parse_admin_call(p, out);
        if (span_is_nocase(name.table, "import_snapshot"))
            return parse_import(p, out);
        if (span_is_nocase(name.table, "budget"))
            return parse_budget(p, out);
    }
    size = span_shown(name.table);
    database_size = span_shown(name.database);
    error_set(p->err, ER_FUNCTION_UNKNOWN,
              "PROCEDURE %.*s%s%.*s does not exist", database_size,
              name.has_database ? name.database.data : "",
              name.has_database ? "." : "", size, name.table.data);
    return -1;
}

/* Parses HELP, which has one topic here; any other gives an empty set. */
static int
parse_help(struct parser *p, struct sql_statement *out)
{
    struct span topic;

    out->kind = STATEMENT_SHOW;
    out->show.what = "help";
    out->show.subject = SHOW_OF_NODE;
    parser_advance(p);
    if (parser_name_or_string(p, &topic) != 0)
        return -1;
    if (span_is_nocase(topic, "admin execute"))
        out->show.what = "help_topic";
    return 0;
}

static const struct {
    const char *word;
    enum error_code code;
    const char *text;
} refusals[] = {
    {"CHECKSUM", ER_NOT_SUPPORTED,
     "This version of heapwire doesn't yet support 'CHECKSUM TABLE': its "
     "tables are made when they are read"},
    {"EXECUTE", ER_UNSUPPORTED_PS,
     "This command is not supported in the prepared statement protocol yet"},
    {"GET", ER_NOT_SUPPORTED,
     "This version of heapwire doesn't yet support 'GET DIAGNOSTICS': SHOW "
     "WARNINGS "
     "has the conditions"},
    {"HANDLER", ER_NOT_SUPPORTED,
     "This version of heapwire doesn't yet support 'HANDLER'; use SELECT"},
    {"RESIGNAL", ER_NOT_SUPPORTED,
     "This version of heapwire doesn't yet support 'RESIGNAL': there are no "
     "handlers"},
    {"RESTART", ER_PRIVILEGE,
     "Access denied; you need (at least one of) the SHUTDOWN privilege(s) for "
     "this operation; no account has it: end heapwired where it was started"},
    {"SHUTDOWN", ER_PRIVILEGE,
     "Access denied; you need (at least one of) the SHUTDOWN privilege(s) for "
     "this operation; no account has it: end heapwired where it was started"},
    {"SIGNAL", ER_NOT_SUPPORTED,
     "This version of heapwire doesn't yet support 'SIGNAL': there are no "
     "handlers"},
    {"XA", ER_NOT_SUPPORTED,
     "This version of heapwire doesn't yet support 'XA': no statement changes "
     "data"},
};

static const struct {
    const char *word;
    int (*parse)(struct parser *p, struct sql_statement *out);
} statements[] = {
    {"CALL", parse_call_statement},
    {"CHECK", parse_maintain},
    {"FLUSH", parse_flush},
    {"HELP", parse_help},
    {"LOCK", parse_lock},
    {"PREPARE", parse_prepare},
    {"DEALLOCATE", parse_deallocate},
    {"DROP", parse_drop},
    {"UNLOCK", parse_unlock},
    {"ANALYZE", parse_maintain},
    {"OPTIMIZE", parse_maintain},
    {"REPAIR", parse_maintain},
};

int
parse_other(struct parser *p, struct sql_statement *out)
{
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
        if (token_is(&p->token, statements[i].word))
            return statements[i].parse(p, out);
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
        if (token_is(&p->token, refusals[i].word)) {
            error_set(p->err, refusals[i].code, "%s", refusals[i].text);
            return -1;
        }
    return token_is_any(&p->token,
                        "ALTER BINLOG CACHE CHANGE CLONE CREATE DELETE GRANT "
                        "IMPORT INSERT INSTALL LOAD PURGE RENAME REPLACE RESET "
                        "REVOKE STOP TRUNCATE UNINSTALL UPDATE")
               ? parse_change(p, out)
               : parser_fail(p);
}
