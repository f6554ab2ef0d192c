/*
 * daemon_place.h - notices on the loop that the state directory was deleted, or
 * names in it: cleaners of /tmp do that, file by file or all at once.
 *
 * Sockets, lock and log are made again.  The directory is made by whoever
 * starts heapwired again: it may have left root, who alone can make it.
 */
#ifndef HW_DAEMON_PLACE_H
#define HW_DAEMON_PLACE_H

#include <stdbool.h>
#include <uv.h>

enum { PLACE_LOOK_MS = 2000 };

struct listener;
struct state_dir;
struct supervised;

struct place_watch {
    uv_timer_t timer;
    struct state_dir *dir;
    const char *path;
    const struct supervised *supervised;
    struct listener *local, *http_local;
    void (*end)(void *arg);
    void *arg;
    bool open, lost; /* the directory is gone */
};

/* end: the directory is gone, and somebody starts heapwired again. */
void place_watch_start(struct place_watch *watch, uv_loop_t *loop,
                       struct state_dir *dir, const char *path,
                       const struct supervised *supervised,
                       struct listener *local, struct listener *http_local,
                       void (*end)(void *arg), void *arg);
void place_watch_stop(struct place_watch *watch);

#endif
