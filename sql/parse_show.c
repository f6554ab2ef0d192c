/* parse_show.c - SHOW ... [FROM db] [LIKE 'x' | WHERE expression]. */
#include "parser.h"

#include "errors.h"

enum { MAY_LIKE = 1, MAY_WHERE = 2, MAY_FROM = 4, MAY_LIMIT = 8 };

static const struct {
    const char *first, *second; /* second NULL: one word */
    enum show_kind kind;
    unsigned may;
} shows[] = {
    {"BACKENDS", NULL, SHOW_BACKENDS, 0},
    {"COMPUTE", "NODES", SHOW_COMPUTE_NODES, 0},
    {"PROCESSLIST", NULL, SHOW_PROCESSLIST, 0},
    {"DATABASES", NULL, SHOW_DATABASES, MAY_LIKE | MAY_WHERE},
    {"SCHEMAS", NULL, SHOW_DATABASES, MAY_LIKE | MAY_WHERE},
    {"TABLES", NULL, SHOW_TABLES, MAY_FROM | MAY_LIKE | MAY_WHERE},
    {"VARIABLES", NULL, SHOW_VARIABLES, MAY_LIKE | MAY_WHERE},
    {"STATUS", NULL, SHOW_STATUS, MAY_LIKE | MAY_WHERE},
    {"WARNINGS", NULL, SHOW_WARNINGS, MAY_LIMIT},
    {"ERRORS", NULL, SHOW_WARNINGS, MAY_LIMIT},
};

/* LIMIT [offset,] rows, of a set that is always empty. */
static int
parse_limit(struct parser *p)
{
    uint64_t nothing;

    do {
        parser_advance(p);
        if (parser_number(p, &nothing, NULL) != 0)
            return -1;
    } while (token_is_operator(&p->token, ","));
    return 0;
}

static int
parse_filter(struct parser *p, struct show *out, unsigned may)
{
    if ((may & MAY_FROM) &&
        (parser_accept(p, "FROM") || parser_accept(p, "IN"))) {
        out->has_database = true;
        if (parser_name(p, &out->database) != 0)
            return -1;
    }
    if ((may & MAY_LIMIT) && token_is(&p->token, "LIMIT"))
        return parse_limit(p);
    if ((may & MAY_LIKE) && parser_accept(p, "LIKE")) {
        out->has_like = true;
        return parser_string(p, &out->like, NULL);
    }
    if ((may & MAY_WHERE) && parser_accept(p, "WHERE")) {
        out->has_where = true;
        return parser_fragment(p, false, &out->where);
    }
    return 0;
}

int
parse_show(struct parser *p, struct statement *out)
{
    struct show *show = &out->show;

    out->kind = STATEMENT_SHOW;
    parser_advance(p);
    show->full = parser_accept(p, "FULL");
    show->global = !show->full && parser_accept(p, "GLOBAL");
    if (!show->full && !show->global && !parser_accept(p, "SESSION"))
        parser_accept(p, "LOCAL");
    for (size_t i = 0; i < sizeof(shows) / sizeof(shows[0]); i++) {
        if (!parser_accept(p, shows[i].first))
            continue;
        if (shows[i].second && parser_expect(p, shows[i].second) != 0)
            return -1;
        show->kind = shows[i].kind;
        return parse_filter(p, show, shows[i].may);
    }
    return parser_fail(p);
}
