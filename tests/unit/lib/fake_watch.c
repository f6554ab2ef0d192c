/* fake_watch.c - a watch that looks at nothing. */
#include "watch.h"

#include <stddef.h>

static char fake;

struct watch *
watch_start(struct controller *controller, const struct watch_options *options,
            struct error *err)
{
    (void)controller;
    (void)options;
    (void)err;
    return (struct watch *)&fake;
}

void
watch_stop(struct watch *watch)
{
    (void)watch;
}

struct history *
watch_history(struct watch *watch)
{
    (void)watch;
    return NULL;
}

void
watch_set_rules(struct watch *watch, const struct marks_rules *rules)
{
    (void)watch;
    (void)rules;
}

int
watch_give(struct watch *watch, uid_t uid, gid_t gid)
{
    (void)watch;
    (void)uid;
    (void)gid;
    return 0;
}
