/*
 * keeper_watch.h - replaces a keeper that has ended.
 *
 * On the loop.
 */
#ifndef HW_KEEPER_WATCH_H
#define HW_KEEPER_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct keeper;

enum {
    KEEPER_AGAIN_MS =
        500, /* logins fail meanwhile; doubles with each attempt, */
    KEEPER_AGAIN_MAX_MS = 60 * 1000
};

struct keeper_watch {
    struct keeper *keeper;
    uv_poll_t socket;
    uv_timer_t timer;
    uint64_t pause_ms;  /* before the next attempt; 0: none is needed */
    bool watched, open; /* which handles libuv has */
    void (*again)(void *arg);
    void *arg;
};

/* again: a new keeper must load the configuration; called repeatedly until
 * keeper_watch_loaded says that one has. */
void keeper_watch_start(struct keeper_watch *w, uv_loop_t *loop,
                        struct keeper *keeper, void (*again)(void *arg),
                        void *arg);
void keeper_watch_loaded(struct keeper_watch *w);
void keeper_watch_stop(struct keeper_watch *w); /* zeroed is fine */

#endif
