/*
 * script.h - the script of ADMIN EXECUTE: Wren's syntax, without loops.
 *
 * The code is a straight line: parsing finds every type and method and checks
 * its privilege before anything runs.  Each call runs at most once, from top to
 * bottom; one that must wait for the node blocks.
 */
#ifndef HW_SCRIPT_H
#define HW_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "cursor.h"
#include "reader.h"

struct arena;
struct await;
struct controller;
struct error;
struct heap_trends;
struct history;
struct script_node;
struct snapshot;
struct view;
struct view_cache;
struct view_form;

enum {
    SCRIPT_SIZE_MAX = 64 * 1024, /* bytes of text */
    SCRIPT_DEPTH_MAX = 64,       /* of nested and chained expressions */
    SCRIPT_STATEMENTS_MAX = 1024,
    SCRIPT_ARGUMENTS_MAX = 16,
    SCRIPT_OUTPUT_MAX = 64 * 1024 * 1024,
    SCRIPT_OUTPUTS_MAX = 4 * SCRIPT_OUTPUT_MAX, /* of all scripts together */
    SCRIPT_VIEWS_BYTES_MAX = SCRIPT_OUTPUT_MAX  /* kept by one script's calls */
};

enum script_type {
    SCRIPT_ANY, /* only in the table: the method returns its argument */
    SCRIPT_NULL,
    SCRIPT_BOOL,
    SCRIPT_NUMBER,
    SCRIPT_STRING,
    SCRIPT_BYTES, /* no text: a script prints it alone, or not at all */
    SCRIPT_CLASS,
    SCRIPT_INSTANCE
};

struct script_value {
    enum script_type type;
    bool boolean;
    double number;
    struct span text;       /* STRING and BYTES: borrowed from the script */
    const char *class_name; /* CLASS and INSTANCE */
    const void *state;      /* INSTANCE: immutable, the script's; NULL: none */
};

/* What a call's result may borrow from, until the script is freed. */
struct script_work {
    struct view *view;
    struct snapshot *snapshot;
    struct buffer text;
};

/* The node that a script runs on, and its user. */
struct script_host {
    uint32_t node_id;
    struct controller *controller;
    struct view_cache *views;
    const char *user;
    struct await *await; /* NULL: no call waits */
    /* Of the node, as in struct sql_node; each may be NULL. */
    const char *state_dir;
    struct history *history;
    struct heap_trends *trends;
};

struct script_call {
    const struct script_host *host;
    const struct script_method *method;
    struct arena *arena;   /* the script's, until it is freed */
    struct buffer *output; /* takes the output of System.print */
    const struct script_value *receiver, *arguments;
    size_t argument_count;
    struct script_work *work;
    /* The fresh dump that all calls of the script share, borrowed; NULL: none
     * yet. */
    struct snapshot **now;
    size_t *views_bytes; /* of all views that the script keeps */
    size_t blamed; /* FAIL: the number of the wrong argument, from 1; 0: none */
    struct script_value result; /* null, unless the call sets it */
};

enum script_kind {
    SCRIPT_PURE,  /* depends on its arguments alone; parsing runs it if they are
                     known */
    SCRIPT_SHORT, /* never takes long, and never waits */
    SCRIPT_WAITING,  /* waits for the node, briefly */
    SCRIPT_CHANGING, /* waits for the node, and changes it */
    SCRIPT_SLOW      /* reads the store or renders, and may wait */
};

struct script_method {
    const char *class_name, *name;
    /* One letter for each argument: s, b, n; m for a snapshot's name, * for any
     * type.  Arguments behind a bar are optional. */
    const char *takes;
    bool is_static;
    enum script_type returns; /* INSTANCE: of the class that gives says */
    uint32_t privilege;       /* 0: none */
    enum script_kind kind;
    /* DONE, or FAIL with *err. */
    enum step (*call)(struct script_call *call, struct error *err);
    const struct view_form *form; /* the form that it returns; NULL: no view */
    const char *gives; /* the class of the INSTANCE; NULL: the method's own */
};

/* All methods, sorted by class: the table's, then one for each form of
 * Profile. */
size_t script_method_count(void);
struct script_method script_method(size_t i);

/* Whoever runs it reads longest, slow, switches_on, tunes, seconds,
 * prints_bytes and output. */
struct script {
    struct span text;
    struct arena *arena;
    struct script_node *statements[SCRIPT_STATEMENTS_MAX];
    size_t statement_count;
    struct script_node *calls;
    enum script_kind longest; /* of its calls */
    bool slow;                /* one of them is, though it does not sample */
    bool switches_on;         /* one of them is enable_prof() */
    bool tunes;               /* one of them changes the allocator */
    uint32_t seconds;         /* that its calls sample together */
    struct snapshot *now;     /* see struct script_call */
    size_t views_bytes;       /* see struct script_call */
    unsigned prints;          /* number of calls of System.print */
    bool prints_bytes;        /* one of them prints bytes */
    bool has_position;        /* the error has its line */
    struct buffer output;
    size_t counted; /* bytes of output counted among all scripts' */
};

/* text outlives the script.  NULL with 1064, which names line and column. */
struct script *script_parse(struct span text, struct arena *arena,
                            struct error *err);
void script_free(struct script *script); /* NULL is fine */

/* -1 with 1227 if a call needs a privilege that is missing. */
int script_check_privileges(const struct script *script, uint32_t privileges,
                            struct error *err);
/* Runs the script; call it once.  DONE, or FAIL with *err. */
enum step script_run(struct script *script, const struct script_host *host,
                     struct error *err);

#endif
