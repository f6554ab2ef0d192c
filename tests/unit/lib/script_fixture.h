/* script_fixture.h - what the tests of scripts share. */
#ifndef HW_SCRIPT_FIXTURE_H
#define HW_SCRIPT_FIXTURE_H

#include <check.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "script.h"
#include "scripted_controller.h"
#include "view_cache.h"

static struct arena *arena;
static struct script_host host;
static struct error err;
static unsigned wakes;

static inline void
wake(void *arg)
{
    (void)arg;
    wakes++;
}

/* With one kept snapshot; views are rendered at once. */
static inline void
set_up(void)
{
    arena = arena_new(24 << 20);
    host = (struct script_host){
        .controller = scripted_reset(), .user = "admin", .waker = {wake, NULL}};
    host.views = view_cache_start(scripted.store, 0, &err);
    ck_assert_ptr_nonnull(host.views);
    scripted_keep("heap_1");
}

static inline void
tear_down(void)
{
    view_cache_stop(host.views);
    arena_free(arena);
    ck_assert_int_eq(scripted.tickets, 0);
}

static inline struct script *
parse(const char *text)
{
    struct span span = {text, strlen(text)};

    memset(&err, 0, sizeof(err));
    return script_parse(span, arena, &err);
}

static inline enum step
run(struct script *script)
{
    return script_run(script, &host, &err);
}

static inline const char *
output(const struct script *script)
{
    return script_output(script)->data ? script_output(script)->data : "";
}

#endif
