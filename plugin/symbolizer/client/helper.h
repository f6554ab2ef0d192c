/*
 * helper.h - the helper process as its client sees it: started when needed,
 * asked about one object at a time, killed when it fails or takes too long.
 *
 * One thread at a time.  The calling thread is the helper's parent: it has to
 * outlive the request.
 */
#ifndef HW_HELPER_H
#define HW_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct error;
struct helper;
struct wire_reply;

enum {
    HELPER_FAILURES_MAX = 3, /* within HELPER_WINDOW_MS: given up till later */
    HELPER_WINDOW_MS = 10 * 60 * 1000,
    HELPER_KILL_MS = 2000 /* how long a killed one is waited for */
};

struct helper_options {
    const char *program;
    uint64_t memory_bytes;
    uint32_t cpu_ms;    /* of one process, all its questions */
    int cancel_fd;      /* readable: stop */
    uint32_t reader_mb; /* what it may keep of DWARF; 0: 256 */
    bool idle;          /* runs where no processor has anything else to do */
};

struct helper *helper_new(const struct helper_options *options,
                          struct error *err);
void helper_free(struct helper *helper); /* kills; NULL is fine */

struct helper_question {
    int object_fd;
    int index_fd; /* the object's symbol index, as yet unchecked; -1: none */
    const char *path;
    const uint64_t *offsets; /* ascending */
    uint32_t count;
    uint32_t deadline_ms; /* of this question */
    bool symbols_only;
    bool no_lines; /* of answers by DWARF; nobody looks at them */
    /* Called per text, raw and borrowed, in the order of their numbers, and per
     * answer, whose numbers are as yet unchecked; false: it is garbage. */
    bool (*text)(void *arg, struct span text);
    bool (*answer)(void *arg, const struct wire_reply *reply);
    /* The index is of no use; why is raw, too.  NULL: nobody cares. */
    void (*refused)(void *arg, struct span why);
    void *arg;
};

enum helper_result {
    HELPER_DONE,      /* err says what the helper complained about, or "" */
    HELPER_FAILED,    /* and was killed; or who takes its index gave up */
    HELPER_LATE,      /* killed at its deadline: no object or index is bad for
                         that */
    HELPER_EXHAUSTED, /* too many failures, or killed ones that do not end: not
                         even started */
    HELPER_CANCELLED
};

/* Whatever the result, the answers given so far stand. */
enum helper_result helper_ask(struct helper *helper,
                              const struct helper_question *question,
                              struct error *err);

/* Sends a question that helper_ask will be called with later, so that nobody
 * waits in between; at most two, in their order.  Its descriptors stay open
 * until then.  False: not sent, as helper_ask will. */
bool helper_ask_ahead(struct helper *helper,
                      const struct helper_question *question);

/* An object whose symbol index is wanted. */
struct helper_index {
    int object_fd;
    const char *path;
    uint32_t deadline_ms;
    /* Takes the index file's bytes in their order; -1 with *err: give up. */
    int (*write)(void *arg, const void *data, size_t size, struct error *err);
    /* Told, before any bytes, that it is of symbols only, for want of debug
     * information; why is raw.  NULL: without some there is to be no index. */
    void (*symbols_only)(void *arg, struct span why);
    void *arg;
};

/* Only after HELPER_DONE with err "" is the index whole.  What comes from the
 * helper is hostile: the bytes are checked when the index is read. */
enum helper_result helper_make_index(struct helper *helper,
                                     const struct helper_index *index,
                                     struct error *err);

/* Starts the process, so that it is ready for a question that will come; what
 * is wrong with that the question says. */
void helper_prepare(struct helper *helper);

/* Ends the process, if there is one; the next question starts another. */
void helper_end(struct helper *helper);
/* Likewise, but goes on while it dies; helper_free sees to its end. */
void helper_let_go(struct helper *helper);

#endif
