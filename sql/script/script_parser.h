/* script_parser.h - what the script's parser and its name tables share. */
#ifndef HW_SCRIPT_PARSER_H
#define HW_SCRIPT_PARSER_H

#include "script_lexer.h"
#include "script_tree.h"

struct script_variable {
    struct script_variable *next;
    struct span name;
    struct node *value;
};

struct script_parser {
    struct script *script;
    struct script_lexer lexer;
    struct script_token token;
    struct script_variable *variables;
    unsigned depth;
    struct error *err;
};

#define fail_at(p, offset, ...)                                                \
    script_error((p)->script->text, offset, (p)->err, __VA_ARGS__)

/* The table's own spelling, or NULL. */
const char *script_class(struct span name);

/* The token is a name that nothing has: says what exists. */
void script_unknown_name(struct script_parser *p);

/* How an error calls a value: its class, or its type. */
const char *script_describe(const struct node *node);

/* Finds the method of a call whose receiver and arguments are there, and so
 * its type.  -1 with what the receiver has. */
int script_resolve(struct script_parser *p, struct node *call,
                   const struct script_token *name);

#endif
