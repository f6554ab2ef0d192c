/*
 * scripted_controller.h - a controller whose answers a test writes down.
 *
 * Implements controller.h without threads of its own; one test at a time.
 */
#ifndef HW_SCRIPTED_CONTROLLER_H
#define HW_SCRIPTED_CONTROLLER_H

#include "controller.h"
#include "observe.h"
#include "view_options.h"

enum answer {
    ANSWER_DONE,   /* at the first look */
    ANSWER_WAIT,   /* once scripted_finish was called */
    ANSWER_FAIL,   /* at the first look */
    ANSWER_REFUSE, /* already when submitted */
    ANSWER_HANG    /* never */
};

struct profile;
struct snapshot;
struct stats;

struct scripted {
    struct node_status status;
    enum answer answer;               /* to every job */
    bool active;                      /* what enable and disable switch */
    bool fail_snapshots;              /* whatever the answer to others is */
    struct store *store;              /* in memory; emptied by scripted_reset */
    struct profile *(*profile)(void); /* of a new snapshot; NULL: none */
    struct stats *(*stats)(void);     /* likewise */
    void (*on_render)(void);          /* called by the renderer, or NULL */
    /* What was asked of it. */
    unsigned submitted, profiles, snapshots;
    struct job_request request;       /* the latest; its texts are not kept, */
    char name[SNAPSHOT_NAME_MAX + 1]; /* but this one */
    unsigned observed;                /* profiles from outside */
    struct observe_request observe;   /* the latest; name is likewise in name */
    struct view_options options;      /* of the latest graph, likewise */
    char focus[64], ignore[64];       /* "": none */
    int seats;                        /* not left yet */
};

extern struct scripted scripted;

/* Connected to a redis with profiling possible and off. */
struct controller *scripted_reset(void);
/* A snapshot of that name, of scripted.profile; one reference. */
struct snapshot *scripted_snapshot(const char *name);
/* Likewise, and kept in the store, whose it is. */
struct snapshot *scripted_keep(const char *name);
/* The latest job is answered, and its waker called. */
void scripted_finish(bool ok);

#endif
