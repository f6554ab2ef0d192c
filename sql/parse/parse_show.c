/*
 * parse_show.c - parses SHOW ... [FROM db] [LIKE 'x' | WHERE expression].
 *
 * MySQL has more than 50 SHOWs; a table has the words of each, the hidden
 * table of the catalog that answers it, and what may follow.  The rows are
 * tried in turn, so that of two with a common beginning the longer one stands
 * first (GRANTS FOR before GRANTS).  A syntax error quotes the furthest token
 * that any row reached, which is where the reader went wrong.
 */
#include "parse.h"

#include <string.h>
#include <strings.h>

#include "errors.h"

enum {
    MAY_LIKE = 1,
    MAY_WHERE = 2,
    MAY_LIMIT = 4,
    MAY_FULL = 8,   /* FULL, EXTENDED */
    MAY_SCOPE = 16, /* GLOBAL, SESSION, LOCAL */
    MAY_FILTER = MAY_LIKE | MAY_WHERE
};

/* The words of each SHOW, separated by blanks, and the hidden table that
 * answers. */
static const struct {
    const char *words, *what;
    enum show_subject subject;
    unsigned may;
} shows[] = {
    {"BACKENDS", "backends", SHOW_OF_NODE, 0},
    {"BINARY LOG STATUS", "master_status", SHOW_OF_NODE, 0},
    {"BINARY LOGS", "binary_logs", SHOW_OF_NODE, 0},
    {"BINLOG EVENTS", "binlog_events", SHOW_OF_LOG, MAY_LIMIT},
    {"CHAR SET", "character_set", SHOW_OF_NODE, MAY_FILTER},
    {"CHARACTER SET", "character_set", SHOW_OF_NODE, MAY_FILTER},
    {"CHARSET", "character_set", SHOW_OF_NODE, MAY_FILTER},
    {"COLLATION", "collation", SHOW_OF_NODE, MAY_FILTER},
    {"COLUMNS", "columns", SHOW_OF_TABLE, MAY_FILTER | MAY_FULL},
    {"COMPUTE NODES", "compute_nodes", SHOW_OF_NODE, 0},
    {"COUNT ( * ) ERRORS", "error_count", SHOW_OF_NODE, 0},
    {"COUNT ( * ) WARNINGS", "warning_count", SHOW_OF_NODE, 0},
    {"CREATE DATABASE", "create_database", SHOW_NAMED_DATABASE, 0},
    {"CREATE FUNCTION", "create_function", SHOW_NAMED_ROUTINE, 0},
    {"CREATE PROCEDURE", "create_procedure", SHOW_NAMED_ROUTINE, 0},
    {"CREATE SCHEMA", "create_database", SHOW_NAMED_DATABASE, 0},
    {"CREATE TABLE", "create_table", SHOW_NAMED_TABLE, 0},
    {"CREATE USER", "create_user", SHOW_NAMED_USER, 0},
    {"CREATE VIEW", "create_view", SHOW_NAMED_TABLE, 0},
    {"DATABASES", "databases", SHOW_OF_NODE, MAY_FILTER},
    {"ENGINE", "engine_status", SHOW_NAMED_ENGINE, 0},
    {"ENGINES", "engines", SHOW_OF_NODE, 0},
    {"ERRORS", "errors", SHOW_OF_NODE, MAY_LIMIT},
    {"EVENTS", "events", SHOW_OF_DATABASE, MAY_FILTER},
    {"FIELDS", "columns", SHOW_OF_TABLE, MAY_FILTER | MAY_FULL},
    {"FUNCTION STATUS", "functions", SHOW_OF_NODE, MAY_FILTER},
    {"GRANTS FOR", "grants", SHOW_NAMED_USER, 0},
    {"GRANTS", "grants", SHOW_OF_NODE, 0},
    {"INDEX", "index", SHOW_OF_TABLE, MAY_WHERE | MAY_FULL},
    {"INDEXES", "index", SHOW_OF_TABLE, MAY_WHERE | MAY_FULL},
    {"KEYS", "index", SHOW_OF_TABLE, MAY_WHERE | MAY_FULL},
    {"MASTER LOGS", "binary_logs", SHOW_OF_NODE, 0},
    {"MASTER STATUS", "master_status", SHOW_OF_NODE, 0},
    {"OPEN TABLES", "open_tables", SHOW_OF_DATABASE, MAY_FILTER},
    {"PLUGINS", "plugins", SHOW_OF_NODE, 0},
    {"PRIVILEGES", "privileges", SHOW_OF_NODE, 0},
    {"PROCEDURE STATUS", "procedures", SHOW_OF_NODE, MAY_FILTER},
    {"PROCESSLIST", "processlist", SHOW_OF_NODE, MAY_FULL},
    {"PROFILES", "profiles", SHOW_OF_NODE, 0},
    {"REPLICA STATUS", "replica_status", SHOW_OF_CHANNEL, 0},
    {"REPLICAS", "replicas", SHOW_OF_NODE, 0},
    {"SCHEMAS", "databases", SHOW_OF_NODE, MAY_FILTER},
    {"SLAVE HOSTS", "replicas", SHOW_OF_NODE, 0},
    {"SLAVE STATUS", "slave_status", SHOW_OF_CHANNEL, 0},
    {"STATUS", "status", SHOW_OF_NODE, MAY_FILTER | MAY_SCOPE},
    {"STORAGE ENGINES", "engines", SHOW_OF_NODE, 0},
    {"TABLE STATUS", "table_status", SHOW_OF_DATABASE, MAY_FILTER},
    {"TABLES", "tables", SHOW_OF_DATABASE, MAY_FILTER | MAY_FULL},
    {"TRIGGERS", "triggers", SHOW_OF_DATABASE, MAY_FILTER | MAY_FULL},
    {"VARIABLES", "variables", SHOW_OF_NODE, MAY_FILTER | MAY_SCOPE},
    {"WARNINGS", "warnings", SHOW_OF_NODE, MAY_LIMIT},
};

/* SHOWs of MySQL that heapwire has not, with the reason. */
static const struct {
    const char *words, *why;
} missing[] = {
    {"CREATE EVENT", "there are no events"},
    {"CREATE TRIGGER", "there are no triggers"},
    {"FUNCTION CODE", "functions are not written in SQL"},
    {"PARSE_TREE", "EXPLAIN says how a SELECT runs"},
    {"PROCEDURE CODE", "procedures are not written in SQL"},
    {"PROFILE", "EXPLAIN says how a SELECT runs"},
    {"RELAYLOG EVENTS", "it replicates nothing"},
};

static bool
token_equals_word(const struct token *token, const char *word, size_t size)
{
    return (token->kind == TOKEN_WORD || token->kind == TOKEN_OPERATOR) &&
           token->text.size == size &&
           strncasecmp(token->text.data, word, size) == 0;
}

/* Consumes all the words, or none. *furthest moves on to the last token that
 * was read, for the error. */
static bool
accept_words(struct parser *p, const char *words, struct parser *furthest)
{
    struct parser ahead;

    if (!token_equals_word(&p->token, words, strcspn(words, " ")))
        return false;
    for (ahead = *p; *words; words += strspn(words, " ")) {
        size_t size = strcspn(words, " ");

        if (ahead.token.text.data > furthest->token.text.data)
            *furthest = ahead;
        if (!token_equals_word(&ahead.token, words, size))
            return false;
        parser_advance(&ahead);
        words += size;
    }
    *p = ahead;
    return true;
}

/* LIMIT [offset,] rows, LIMIT rows OFFSET offset */
static int
parse_show_limit(struct parser *p, struct show *out)
{
    parser_advance(p);
    out->has_limit = true;
    if (parser_number(p, &out->rows, NULL) != 0)
        return -1;
    if (parser_accept(p, "OFFSET"))
        return parser_number(p, &out->offset, NULL);
    if (!parser_accept_operator(p, ","))
        return 0;
    out->offset = out->rows;
    return parser_number(p, &out->rows, NULL);
}

static bool
accept_from(struct parser *p)
{
    return parser_accept_any(p, "FROM IN");
}

int
parser_table(struct parser *p, struct show *out)
{
    if (parser_name(p, &out->table) != 0)
        return -1;
    if (!parser_accept_operator(p, "."))
        return 0;
    out->database = out->table;
    out->has_database = true;
    return parser_name(p, &out->table);
}

static int
parse_database(struct parser *p, struct show *out)
{
    out->has_database = true;
    return parser_name(p, &out->database);
}

/* [IN 'log'] [FROM position] */
static int
parse_log(struct parser *p)
{
    struct span name;
    uint64_t position;

    if (parser_accept(p, "IN") && parser_string(p, &name, NULL) != 0)
        return -1;
    return parser_accept(p, "FROM") ? parser_number(p, &position, NULL) : 0;
}

/* [FOR CHANNEL 'name'] */
static int
parse_channel(struct parser *p)
{
    struct span name;

    if (!parser_accept(p, "FOR"))
        return 0;
    if (parser_expect(p, "CHANNEL") != 0)
        return -1;
    return parser_string(p, &name, NULL);
}

/* CURRENT_USER[()], name[@host]. */
static int
parse_user(struct parser *p, struct show *out)
{
    if (parser_accept(p, "CURRENT_USER"))
        return parser_accept_operator(p, "(") ? parser_expect_operator(p, ")")
                                              : 0;
    out->has_user = true;
    if (parser_name_or_string(p, &out->user) != 0)
        return -1;
    if (p->token.kind == TOKEN_USER)
        parser_advance(p); /* accounts have no hosts */
    return 0;
}

static int
parse_grantee(struct parser *p, struct show *out)
{
    if (parse_user(p, out) != 0)
        return -1;
    return token_is(&p->token, "USING")
               ? parser_refuse(p, "USING of a role", "there are no roles")
               : 0;
}

/* name STATUS, name LOGS, name MUTEX. */
static int
parse_engine(struct parser *p, struct show *out)
{
    if (parser_name_or_string(p, &out->table) != 0)
        return -1;
    if (parser_accept_any(p, "LOGS MUTEX"))
        return 0;
    if (span_is_nocase(out->table, "InnoDB"))
        out->what = "innodb_status";
    return parser_expect(p, "STATUS");
}

static int
parse_subject(struct parser *p, struct show *out)
{
    switch (out->subject) {
    case SHOW_OF_NODE:
        return 0;
    case SHOW_OF_DATABASE:
        return accept_from(p) ? parse_database(p, out) : 0;
    case SHOW_OF_TABLE:
        if (!accept_from(p))
            return parser_fail(p);
        if (parser_table(p, out) != 0)
            return -1;
        return accept_from(p) ? parse_database(p, out) : 0;
    case SHOW_NAMED_TABLE:
    case SHOW_NAMED_ROUTINE:
        return parser_table(p, out);
    case SHOW_NAMED_DATABASE:
        if (parser_accept(p, "IF") &&
            (parser_expect(p, "NOT") != 0 || parser_expect(p, "EXISTS") != 0))
            return -1;
        return parse_database(p, out);
    case SHOW_NAMED_USER:
        return parse_grantee(p, out);
    case SHOW_OF_LOG:
        return parse_log(p);
    case SHOW_OF_CHANNEL:
        return parse_channel(p);
    case SHOW_NAMED_ENGINE:
        break;
    }
    return parse_engine(p, out);
}

static int
parse_filter(struct parser *p, struct show *out, unsigned may)
{
    if ((may & MAY_LIMIT) && token_is(&p->token, "LIMIT"))
        return parse_show_limit(p, out);
    if ((may & MAY_LIKE) && parser_accept(p, "LIKE")) {
        out->has_like = true;
        return parser_string(p, &out->like, NULL);
    }
    if ((may & MAY_WHERE) && parser_accept(p, "WHERE"))
        return tree_parse(p, TREE_CONDITION, true, &out->where);
    return 0;
}

/* Consumes FULL, GLOBAL and the like; returns those that it found. */
static unsigned
parse_modifiers(struct parser *p, struct show *out)
{
    bool extended = parser_accept(p, "EXTENDED");

    out->full = parser_accept(p, "FULL");
    if (out->full || extended)
        return MAY_FULL;
    out->global = parser_accept(p, "GLOBAL");
    if (out->global || parser_accept_any(p, "SESSION LOCAL"))
        return MAY_SCOPE;
    return 0;
}

int
parse_show(struct parser *p, struct sql_statement *out)
{
    struct show *show = &out->show;
    struct parser furthest;
    unsigned given;

    out->kind = STATEMENT_SHOW;
    parser_advance(p);
    given = parse_modifiers(p, show);
    furthest = *p;
    for (size_t i = 0; i < sizeof(shows) / sizeof(shows[0]); i++) {
        /* FULL or GLOBAL in front excludes the rows that do not take it. */
        if ((given & ~shows[i].may) ||
            !accept_words(p, shows[i].words, &furthest))
            continue;
        show->what = shows[i].what;
        show->subject = shows[i].subject;
        if (parse_subject(p, show) != 0)
            return -1;
        return parse_filter(p, show, shows[i].may);
    }
    for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
        if (accept_words(p, missing[i].words, &furthest)) {
            error_set(p->err, ER_NOT_SUPPORTED,
                      "This version of heapwire doesn't yet support 'SHOW %s': "
                      "%s",
                      missing[i].words, missing[i].why);
            return -1;
        }
    return parser_fail(&furthest);
}
