/* script_parser.h - shared by the script's parser and its tables of names. */
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

/* The class's name as the table spells it; NULL: unknown. */
const char *script_class(struct span name);

/* Sets the error for an unknown name, which lists the known ones. */
void script_unknown_name(struct script_parser *p);

/* The class or type of a value, for errors. */
const char *script_describe(const struct script_node *node);

/* Finds the method of a call, and thereby its type; receiver and arguments are
 * resolved before.  -1 with *err, which lists the receiver's methods. */
int script_resolve(struct script_parser *p, struct script_node *call,
                   const struct script_token *name);

#endif
