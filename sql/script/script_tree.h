/* script_tree.h - a parsed script, as the parser makes it and the runner runs
 * it. */
#ifndef HW_SCRIPT_TREE_H
#define HW_SCRIPT_TREE_H

#include "script.h"
#include "script_lexer.h"

enum script_node_kind {
    SCRIPT_NODE_LITERAL,  /* value is known */
    SCRIPT_NODE_VARIABLE, /* left: its initial value */
    SCRIPT_NODE_JOIN,     /* left + right, both strings */
    SCRIPT_NODE_CALL      /* left: the receiver */
};

struct script_node {
    enum script_node_kind kind;
    size_t offset; /* in the script */
    unsigned depth;
    struct script_node *left, *right;
    struct script_method method;
    struct script_node **arguments;
    size_t argument_count;
    enum script_type type;  /* set by the parser */
    const char *class_name; /* for CLASS and INSTANCE */
    bool done;              /* value is computed */
    struct script_value value;
    struct script_work work;
    struct script_node
        *next_call; /* links all calls, for privileges and for clean-up */
};

/* script_run.c: runs a call whose receiver and arguments are computed.  DONE
 * or FAIL; an error about an argument has its line. */
enum step script_call_node(struct script *script,
                           const struct script_host *host,
                           struct script_node *node, struct error *err);

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
