/*
 * waker.h - the callback by which work in progress notifies who waits for it.
 *
 * wake may be called from any thread, more than once, and must not block.
 */
#ifndef HW_WAKER_H
#define HW_WAKER_H

struct waker {
    void (*wake)(void *arg);
    void *arg;
};

#endif
