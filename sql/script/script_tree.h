/* script_tree.h - a parsed script, as the parser makes it and the runner runs
 * it. */
#ifndef HW_SCRIPT_TREE_H
#define HW_SCRIPT_TREE_H

#include "script.h"

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

struct script {
    struct span text;
    struct arena *arena;
    struct script_node *statements[SCRIPT_STATEMENTS_MAX];
    size_t statement_count;
    struct script_node *calls;
    struct snapshot *now; /* see struct script_call */
    size_t views_bytes;   /* likewise */
    unsigned prints;      /* number of calls of System.print */
    bool prints_bytes;    /* one of them prints bytes */
    bool placed;          /* the error has its line */
    struct buffer output;
    size_t counted; /* bytes of output counted among all scripts' */
};

/* script_run.c: runs a call whose receiver and arguments are computed.  DONE
 * or FAIL; an error about an argument has its line. */
enum step script_call_node(struct script *script,
                           const struct script_host *host,
                           struct script_node *node, struct error *err);

#endif
