/*
 * helper.h - the helper process, from the client's side: started when needed,
 * asked about one object at a time, killed when it fails or takes too long.
 *
 * One thread at a time.  The calling thread is the helper's parent, so it must
 * outlive the request.
 */
#ifndef HW_HELPER_H
#define HW_HELPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "reader.h"

struct error;
struct helper;
struct wire_reply;

enum {
    HELPER_FAILURES_MAX = 3, /* failures within HELPER_WINDOW_MS; after so many
                              * none is started until that has passed */
    HELPER_WINDOW_MS = 10 * 60 * 1000,
    HELPER_KILL_MS = 2000, /* how long to wait for the end of a killed
                            * process */
    HELPER_LOST_MAX = 3    /* with so many killed ones alive, none is started */
};

/* Processes that were killed and have not ended yet; a later call reaps
 * them. */
struct helper_lost {
    pid_t pids[HELPER_LOST_MAX]; /* 0: free */
};

/* Reaps them and waits at most this long for that; returns how many are
 * left. */
size_t helper_lost_reap(struct helper_lost *lost, int milliseconds);

struct helper_options {
    const char *program;
    uint64_t memory_bytes;
    uint32_t cpu_ms;    /* CPU time of one process, for all its questions */
    int cancel_fd;      /* readable: stop */
    uint32_t reader_mb; /* MB of DWARF that it may keep; 0: 256 */
    bool idle;          /* runs only on otherwise idle processors */
    /* Outlives the helper, so that a later one can reap its processes; NULL:
     * its own. */
    struct helper_lost *lost;
};

struct helper *helper_new(const struct helper_options *options,
                          struct error *err);
void helper_free(struct helper *helper); /* kills; NULL is fine */
/* From now on this flag cancels, too; NULL: it no longer does. */
void helper_cancel_by(struct helper *helper, const atomic_bool *cancelled);

struct helper_question {
    int object_fd;
    int index_fd; /* the object's symbol index, not checked yet; -1: none */
    const char *path;
    const uint64_t *offsets; /* ascending */
    uint32_t count;
    uint32_t deadline_ms; /* for this question */
    bool symbols_only;
    bool no_lines; /* the caller needs no lines of answers by DWARF */
    /* Called for each text, raw and borrowed, in the order of their numbers;
     * and for each answer, whose numbers are not checked yet.  Return false for
     * garbage: that ends the helper. */
    bool (*text)(void *arg, struct span text);
    bool (*answer)(void *arg, const struct wire_reply *reply);
    /* The index is unusable; why is raw too.  May be NULL. */
    void (*refused)(void *arg, struct span why);
    void *arg;
};

enum helper_result {
    HELPER_DONE,      /* err has the helper's complaint, or "" */
    HELPER_FAILED,    /* and it was killed; or the index's receiver failed */
    HELPER_LATE,      /* killed at its deadline, for which no object or index is
                         blamed */
    HELPER_EXHAUSTED, /* not started: too many failures, or too many killed
                       * processes that do not end */
    HELPER_CANCELLED
};

/* Whatever the result, the answers given so far are valid. */
enum helper_result helper_ask(struct helper *helper,
                              const struct helper_question *question,
                              struct error *err);

/* Sends a question in advance of its helper_ask, to save waiting; at most two,
 * in their order.  Its descriptors must stay open until then.  false: it was
 * not sent, but helper_ask will send it. */
bool helper_ask_ahead(struct helper *helper,
                      const struct helper_question *question);

/* An object to make a symbol index of, or an unwind table. */
struct helper_index {
    int object_fd;
    const char *path;
    uint32_t deadline_ms;
    bool unwind; /* a table is wanted; symbols_only is NULL then */
    /* Takes the file's bytes in their order; -1 with *err: give up. */
    int (*write)(void *arg, const void *data, size_t size, struct error *err);
    /* Called before any bytes if the index has symbols only, for lack of debug
     * information; why is raw.  NULL: without debug information, make no index.
     */
    void (*symbols_only)(void *arg, struct span why);
    void *arg;
};

/* The index or table is whole only after HELPER_DONE with err "".  The helper
 * is not trusted: the reader checks its bytes. */
enum helper_result helper_make_index(struct helper *helper,
                                     const struct helper_index *index,
                                     struct error *err);

/* Starts the process in advance; helper_ask reports any failure of that. */
void helper_prepare(struct helper *helper);

/* Ends the process, if there is one; the next question starts another. */
void helper_end(struct helper *helper);
/* The same without waiting for its death; helper_free waits. */
void helper_let_go(struct helper *helper);

#endif
