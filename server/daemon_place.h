/*
 * daemon_place.h - notices on the loop that the state directory was deleted, or
 * names in it: cleaners of /tmp do that, file by file or all at once.
 *
 * All is made again.  Where heapwired has left root, who alone can make the
 * directory, heapwire-run makes it, or whoever starts heapwired again.
 */
#ifndef HW_DAEMON_PLACE_H
#define HW_DAEMON_PLACE_H

#include <stdbool.h>
#include <stdint.h>
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
    void (*renewed)(void *arg), (*end)(void *arg);
    void *arg;
    int deaths;      /* the file; -1: there is none */
    bool open, lost; /* the directory is gone, since ... */
    uint64_t lost_ms;
};

/* renewed: the directory is a new one; end: it is gone, and somebody starts
 * heapwired again. */
void place_watch_start(struct place_watch *watch, uv_loop_t *loop,
                       struct state_dir *dir, const char *path,
                       const struct supervised *supervised,
                       struct listener *local, struct listener *http_local,
                       void (*renewed)(void *arg), void (*end)(void *arg),
                       void *arg);
void place_watch_stop(struct place_watch *watch);

#endif
