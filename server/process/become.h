/*
 * become.h - leaving root for good: to a given user, or to the database's.
 *
 * heapwired is never root when the database is not.  On the loop.
 */
#ifndef HW_BECOME_H
#define HW_BECOME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

struct controller;
struct error;

enum {
    BECOME_SOON_MS = 200,           /* how often we look at a new database, */
    BECOME_SOON_FOR_MS = 30 * 1000, /* for so long, */
    BECOME_LATER_MS = 5000          /* and then */
};

struct account {
    uid_t uid;
    gid_t gid;
};

int account_find(const char *name, struct account *out, struct error *err);

/* All groups, then the group, then the user; checked to be irrevocable. */
int become(const struct account *account, struct error *err);

/* Watches the database's uid while we are root. */
struct follower {
    struct controller *controller;
    uv_timer_t timer;
    int32_t pid; /* the incarnation looked at */
    uint64_t start_ticks, seen_ms;
    bool later, open; /* open: libuv has the timer */
    /* Hands over our files, then becomes; -1: try again later. */
    int (*leave)(void *arg, const struct account *account);
    void *arg;
};

void follower_start(struct follower *f, uv_loop_t *loop,
                    struct controller *controller,
                    int (*leave)(void *arg, const struct account *account),
                    void *arg);
/* A database of that uid comes, before its agent can be asked: perhaps it
 * cannot open the directory yet.  Whether we are that user now. */
bool follower_hint(struct follower *f, uid_t uid, pid_t pid);
void follower_stop(struct follower *f); /* zeroed is fine */

#endif
