/* script_parser.h - what the script's parser and its name tables share. */
#ifndef HW_SCRIPT_PARSER_H
#define HW_SCRIPT_PARSER_H

#include "script_lexer.h"
#include "script_tree.h"

struct script_variable {
    struct script_variable *next;
    struct span name;
    struct script_node *value;
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

/* An error for an unknown name, with the names that exist. */
void script_unknown_name(struct script_parser *p);

/* How an error calls a value: its class, or its type. */
const char *script_describe(const struct script_node *node);

/* Finds the method of a call, and so its type; receiver and arguments are
 * resolved.  -1 with the receiver's methods. */
int script_resolve(struct script_parser *p, struct script_node *call,
                   const struct script_token *name);

#endif
