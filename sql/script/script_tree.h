/* script_tree.h - a parsed script: the parser makes it, the runner runs it. */
#ifndef HW_SCRIPT_TREE_H
#define HW_SCRIPT_TREE_H

#include "script.h"

enum script_node_kind {
    SCRIPT_NODE_LITERAL,  /* value is known */
    SCRIPT_NODE_VARIABLE, /* left: what it was initialised with */
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
    enum script_type type;  /* known once parsed */
    const char *class_name; /* of CLASS and INSTANCE */
    bool done;              /* value is there */
    struct script_value value;
    struct script_work work;
    struct script_node *next_call; /* all calls: privileges, clean-up */
};

struct script {
    struct span text;
    struct arena *arena;
    struct script_node *statements[SCRIPT_STATEMENTS_MAX];
    size_t statement_count;
    size_t current; /* statement */
    struct script_node *calls;
    struct script_watch watch;
    struct snapshot *now; /* see struct script_call */
    size_t views_bytes;   /* likewise */
    unsigned prints;      /* calls of System.print, */
    bool prints_bytes;    /* one of which prints bytes */
    bool placed;          /* the error has its line already */
    struct buffer output;
    size_t counted; /* bytes of it, among those of all scripts */
};

/* script_run.c: makes a call whose receiver and arguments have their values.
 * DONE, WAIT or FAIL: an error about an argument has its line. */
enum step script_call_node(struct script *script,
                           const struct script_host *host,
                           struct script_node *node, struct error *err);

#endif
