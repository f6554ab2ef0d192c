/*
 * keeper_watch.h - another keeper in place of one that has ended.
 *
 * On the loop.
 */
#ifndef HW_KEEPER_WATCH_H
#define HW_KEEPER_WATCH_H

#include <stdbool.h>
#include <uv.h>

struct keeper;

enum { KEEPER_AGAIN_MS = 500 /* logins fail meanwhile */ };

struct keeper_watch {
    struct keeper *keeper;
    uv_poll_t socket;
    uv_timer_t timer;
    bool watched, open; /* which handles are libuv's */
    void (*again)(void *arg);
    void *arg;
};

/* again: there is a new one, to be told what to load. */
void keeper_watch_start(struct keeper_watch *w, uv_loop_t *loop,
                        struct keeper *keeper, void (*again)(void *arg),
                        void *arg);
void keeper_watch_stop(struct keeper_watch *w); /* zeroed is fine */

#endif
