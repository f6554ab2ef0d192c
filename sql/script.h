/*
 * script.h - the script of ADMIN EXECUTE: Wren's syntax, without loops.
 *
 * Straight-line code, so that every type is known once it is parsed, every
 * method is resolved and its privilege checked before anything runs, and each
 * call runs at most once: values stay in the nodes, and running again goes on
 * where a native had to wait.
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
struct ticket;

enum {
    SCRIPT_SIZE_MAX = 64 * 1024, /* bytes of text */
    SCRIPT_DEPTH_MAX = 64,       /* of nested and chained expressions */
    SCRIPT_STATEMENTS_MAX = 1024,
    SCRIPT_ARGUMENTS_MAX = 16,
    SCRIPT_OUTPUT_MAX = 64 * 1024 * 1024
};

enum script_type {
    SCRIPT_ANY, /* in the table only: takes anything, returns its argument */
    SCRIPT_NULL,
    SCRIPT_BOOL,
    SCRIPT_NUMBER,
    SCRIPT_STRING,
    SCRIPT_CLASS,
    SCRIPT_INSTANCE
};

struct script_value {
    enum script_type type;
    bool boolean;
    double number;
    struct span text;       /* STRING: borrowed from the script */
    const char *class_name; /* CLASS and INSTANCE */
};

/*
 * How far the call that runs is, for other threads to look at.  lock guards the
 * rest and lies before the controller's; the ticket is taken out of here before
 * it is freed.
 */
struct script_watch {
    pthread_mutex_t lock;
    struct ticket *ticket; /* waited for, or NULL */
    bool renders;          /* after the ticket's stages comes one more */
    bool rendering;        /* it is there */
    unsigned stages;       /* while rendering */
};

/* What a call in the script keeps while it waits and for what it returned. */
struct script_work {
    struct ticket *ticket;
    struct buffer text;
};

struct script_call {
    struct controller *controller;
    struct waker waker;
    struct buffer *output; /* what System.print writes */
    const struct script_value *arguments;
    size_t argument_count;
    struct script_work *work;
    struct script_watch *watch;
    struct script_value result; /* null unless set */
};

enum script_kind {
    SCRIPT_INSTANT,  /* never computes for long */
    SCRIPT_CHANGING, /* instant, and the node is different afterwards */
    SCRIPT_SLOW      /* renders: not on the event loop */
};

struct script_method {
    const char *class_name, *name;
    unsigned arity_min, arity_max;
    bool is_static;
    enum script_type takes, returns;
    uint32_t privilege; /* 0: none */
    enum script_kind kind;
    /* DONE, WAIT (to be called again once woken) or FAIL. */
    enum step (*call)(struct script_call *call, struct error *err);
};

extern const struct script_method script_methods[];
extern const size_t script_method_count;

/* text must outlive the script.  NULL with 1064 and the script's line and
 * column. */
struct script *script_parse(struct span text, struct arena *arena,
                            struct error *err);
void script_free(struct script *script); /* NULL is fine */

/* 1227 when a call in it needs a privilege that is not among these. */
int script_check(const struct script *script, uint32_t privileges,
                 struct error *err);
bool script_is_slow(const struct script *script);

/* DONE, WAIT (run again once woken) or FAIL. */
enum step script_run(struct script *script, struct controller *controller,
                     struct waker waker, struct error *err);
/* Any thread, until it is freed: false while there is nothing to tell. */
bool script_progress(struct script *script, struct progress *out);
const struct buffer *script_output(const struct script *script);

#endif
