/* script_tree.h - a parsed script, as its parser leaves it to its runner. */
#ifndef HW_SCRIPT_TREE_H
#define HW_SCRIPT_TREE_H

#include "script.h"

enum node_kind {
    NODE_LITERAL,  /* value is known */
    NODE_VARIABLE, /* left: what it was initialised with */
    NODE_JOIN,     /* left + right, both strings */
    NODE_CALL      /* left: the receiver */
};

struct node {
    enum node_kind kind;
    size_t offset; /* in the script */
    unsigned depth;
    struct node *left, *right;
    struct script_method method;
    struct node **arguments;
    size_t argument_count;
    enum script_type type;  /* known once parsed */
    const char *class_name; /* of CLASS and INSTANCE */
    bool done;              /* value is there */
    struct script_value value;
    struct script_work work;
    struct node *next_call; /* all calls: privileges, clean-up */
};

struct script {
    struct span text;
    struct arena *arena;
    struct node *statements[SCRIPT_STATEMENTS_MAX];
    size_t statement_count;
    size_t current; /* statement */
    struct node *calls;
    struct script_watch watch;
    struct snapshot *now; /* see struct script_call */
    size_t views_bytes;   /* likewise */
    unsigned prints;      /* calls of System.print, */
    bool prints_bytes;    /* one of which prints bytes */
    bool placed;          /* an error says where already */
    struct buffer output;
    size_t counted; /* bytes of it, among those of all scripts */
};

/* script_run.c: calls it, of which the receiver and all arguments are there.
 * DONE, WAIT or FAIL: an error about an argument says where it stands. */
enum step script_call_node(struct script *script,
                           const struct script_host *host, struct node *node,
                           struct error *err);

#endif
