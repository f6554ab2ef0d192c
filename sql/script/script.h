/*
 * script.h - the script of ADMIN EXECUTE: Wren's syntax, without loops.
 *
 * Straight-line code, so that every type is known once it is parsed, every
 * method is resolved and its privilege checked before anything runs, and each
 * call runs at most once: values stay in the tree, and running again resumes
 * where a method had to wait.
 */
#ifndef HW_SCRIPT_H
#define HW_SCRIPT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "cursor.h"
#include "reader.h"
#include "waker.h"

struct arena;
struct controller;
struct error;
struct script;
struct snapshot;
struct ticket;
struct view;
struct view_cache;
struct view_form;
struct view_ticket;

enum {
    SCRIPT_SIZE_MAX = 64 * 1024, /* bytes of text */
    SCRIPT_DEPTH_MAX = 64,       /* of nested and chained expressions */
    SCRIPT_STATEMENTS_MAX = 1024,
    SCRIPT_ARGUMENTS_MAX = 16,
    SCRIPT_OUTPUT_MAX = 64 * 1024 * 1024,
    SCRIPT_OUTPUTS_MAX = 4 * SCRIPT_OUTPUT_MAX, /* of all there are */
    SCRIPT_VIEWS_BYTES_MAX = SCRIPT_OUTPUT_MAX  /* kept by its calls */
};

enum script_type {
    SCRIPT_ANY, /* in the table only: it returns its argument */
    SCRIPT_NULL,
    SCRIPT_BOOL,
    SCRIPT_NUMBER,
    SCRIPT_STRING,
    SCRIPT_BYTES, /* not text: printed alone, or not at all */
    SCRIPT_CLASS,
    SCRIPT_INSTANCE
};

struct script_value {
    enum script_type type;
    bool boolean;
    double number;
    struct span text;       /* STRING and BYTES: borrowed from the script */
    const char *class_name; /* CLASS and INSTANCE */
    const void *state;      /* INSTANCE: immutable, the script's; or NULL */
};

/*
 * The progress of the running call, for other threads.  lock guards the rest
 * and is taken before the controller's and the cache's locks; a ticket leaves
 * this struct before it is freed.
 */
struct script_watch {
    pthread_mutex_t lock;
    struct ticket *ticket; /* waited for, or NULL */
    struct view_ticket *view;
    bool renders;    /* after the ticket's stages comes one more */
    unsigned before; /* the view's, as many stages */
};

/* What a call keeps while it waits, and what its result borrows. */
struct script_work {
    struct ticket *ticket;
    struct view_ticket *view_ticket;
    struct view *view;
    struct snapshot *snapshot;
    struct buffer text;
};

/* The node that a script runs on, and its user. */
struct script_host {
    struct controller *controller;
    struct view_cache *views;
    const char *user;
    struct waker waker;
};

struct script_call {
    const struct script_host *host;
    const struct script_method *method;
    struct arena *arena;   /* the script's */
    struct buffer *output; /* what System.print writes */
    const struct script_value *receiver, *arguments;
    size_t argument_count;
    struct script_work *work;
    struct script_watch *watch;
    /* The fresh dump that all calls of the script share, borrowed; or NULL. */
    struct snapshot **now;
    size_t *views_bytes; /* of all views that the script has */
    size_t blamed;       /* FAIL: the argument that is wrong, from 1; 0: none */
    struct script_value result; /* null unless set */
};

enum script_kind {
    SCRIPT_PURE,     /* of its arguments alone: done while parsing, if known */
    SCRIPT_INSTANT,  /* never computes for long */
    SCRIPT_CHANGING, /* instant, and the node is different afterwards */
    SCRIPT_SLOW      /* reads the store or renders: not on the event loop */
};

struct script_method {
    const char *class_name, *name;
    /* A letter for each argument: s, b, n, m for a snapshot's name, * for any;
     * those behind a bar may be left out. */
    const char *takes;
    bool is_static;
    enum script_type returns; /* INSTANCE: of its own class */
    uint32_t privilege;       /* 0: none */
    enum script_kind kind;
    /* DONE, WAIT (to be called again once woken) or FAIL. */
    enum step (*call)(struct script_call *call, struct error *err);
    const struct view_form *form; /* that it gives; or NULL */
};

/* All methods, class by class: the table's, then one for each form of Profile.
 */
size_t script_method_count(void);
struct script_method script_method(size_t i);

/* text must outlive the script.  NULL with 1064 and the script's line and
 * column. */
struct script *script_parse(struct span text, struct arena *arena,
                            struct error *err);
void script_free(struct script *script); /* NULL is fine */

/* -1 with 1227 where a call needs a privilege that is not among these. */
int script_check(const struct script *script, uint32_t privileges,
                 struct error *err);
bool script_is_slow(const struct script *script);
bool script_switches_on(const struct script *script); /* by enable_prof() */
/* Whether its output is one binary value, not text. */
bool script_prints_bytes(const struct script *script);

/* DONE, WAIT (run again once woken) or FAIL. */
enum step script_run(struct script *script, const struct script_host *host,
                     struct error *err);
/* From any thread, until script is freed.  False: no figure yet. */
bool script_progress(struct script *script, struct progress *out);
const struct buffer *script_output(const struct script *script);

#endif
