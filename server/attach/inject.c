/*
 * inject.c - see attach.h.
 *
 * Finds, in the target's memory, libc's dlopen and a thread that sleeps where
 * it holds no lock; lets that thread call dlopen with our library, and then the
 * library's entry.  Nothing is written into code.  What can be found is looked
 * for again before each attempt, since libraries and stacks come and go.  Only
 * x86-64: the frame and the landmarks are its own.
 */
#include "attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "errors.h"
#include "memory.h"
#include "remote.h"

#define LIBRARY "libheapwire.so"
#define CALL    "heapwire_borrowed"

/* __RTLD_DLOPEN, which __libc_dlopen_mode wants */
enum { LOADER_TEXT_MAX = 300, LIBC_DLOPEN = 0x80000000 };

struct work {
    struct injection *injection;
    struct remote remote;
    struct landmarks landmarks;
    struct borrowed borrowed;
    uint64_t dlopen, dlerror, call;
    int mode;
};

/* ---- what the target has ---- */

static void
find_loader(struct work *w)
{
    const struct remote *r = &w->remote;
    const struct mapping *libdl = remote_object(r, "libdl");

    w->dlopen = remote_symbol(r, w->landmarks.libc, "dlopen", 0);
    w->dlerror = remote_symbol(r, w->landmarks.libc, "dlerror", 0);
    w->mode = RTLD_NOW;
    if (w->dlopen == 0 && libdl) { /* before glibc 2.34 */
        w->dlopen = remote_symbol(r, libdl, "dlopen", 0);
        w->dlerror = remote_symbol(r, libdl, "dlerror", 0);
    }
    if (w->dlopen == 0) {
        w->dlopen =
            remote_symbol(r, w->landmarks.libc, "__libc_dlopen_mode", 0);
        w->mode = (int)(RTLD_NOW | LIBC_DLOPEN);
    }
}

/* Finds the function to call, if the library is loaded already. */
static int
find_agent_entry(struct work *w, struct error *err)
{
    const struct mapping *library = remote_object(&w->remote, LIBRARY);

    w->call = library ? remote_symbol(&w->remote, library, CALL, 0) : 0;
    if (!library || w->call != 0)
        return 0;
    error_set(err, ER_WRONG_VALUE,
              "process %d has a %s that cannot be attached to: it is older, "
              "and stays until the process ends",
              (int)w->remote.pid, library->path);
    return -1;
}

static int
find_landmarks(struct work *w, struct error *err)
{
    /* where signal handlers return to: mov $15, %rax; syscall */
    static const unsigned char restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0,
                                             0,    0,    0x0f, 0x05};
    /* mov %rax, (%rbx); pop %rbx; ret */
    static const unsigned char store[] = {0x48, 0x89, 0x03, 0x5b, 0xc3};
    const struct remote *r = &w->remote;
    struct landmarks *p = &w->landmarks;

    /* A process that ends and is no zombie yet has none. */
    if (r->maps.count == 0) {
        error_set(err, ER_UNKNOWN,
                  "process %d has ended, or its main thread has: it has no "
                  "mappings",
                  (int)r->pid);
        return -1;
    }
    p->libc = remote_object(r, "libc.so.6");
    if (!p->libc)
        p->libc = remote_object(r, "libc-2.");
    p->loader = remote_object(r, "ld-linux-x86-64.so.2");
    if (!p->loader)
        p->loader = remote_object(r, "ld-2.");
    if (remote_object(r, "ld-musl") || remote_object(r, "libc.musl")) {
        error_set(err, ER_WRONG_VALUE,
                  "process %d runs with musl: only glibc is supported",
                  (int)r->pid);
        return -1;
    }
    if (!p->libc || !p->loader) {
        error_set(err, ER_WRONG_VALUE,
                  "process %d is static: no library can be loaded into it",
                  (int)r->pid);
        return -1;
    }
    p->restorer = remote_search(r, p->libc, restorer, sizeof(restorer));
    p->store = remote_search(r, p->libc, store, sizeof(store));
    find_loader(w);
    if (p->restorer == 0 || w->dlopen == 0) {
        error_set(err, ER_WRONG_VALUE, "process %d has a libc (%s) without %s",
                  (int)r->pid, p->libc->path,
                  w->dlopen == 0 ? "dlopen" : "a return from signals");
        return -1;
    }
    return find_agent_entry(w, err);
}

/* ---- the calls ---- */

/* Asks the target's loader for its last error. */
static void
ask_loader(struct work *w, struct error *err)
{
    char text[LOADER_TEXT_MAX] = "";
    uint64_t at = 0, result;

    if (w->dlerror != 0 && w->landmarks.store != 0 &&
        (borrow_put(&w->borrowed, &at, sizeof(at), &result, err) != 0 ||
         borrow_call(&w->borrowed, w->dlerror, 0, 0, result, err) != 0 ||
         remote_read(&w->remote, result, &at, sizeof(at)) != 0))
        return;
    /* Byte by byte, as the text may end at the end of a mapping. */
    for (size_t i = 0; at != 0 && i < sizeof(text) - 1; i++) {
        if (remote_read(&w->remote, at + i, text + i, 1) != 0 || !text[i])
            break;
    }
    error_set(err, ER_UNKNOWN, "process %d cannot load %s: %s",
              (int)w->remote.pid, w->injection->library,
              *text ? text : "its loader does not say why");
}

static int
load_agent_library(struct work *w, struct error *err)
{
    const char *library = w->injection->library;
    uint64_t path;

    if (w->call != 0)
        return 0;
    if (borrow_put(&w->borrowed, library, strlen(library) + 1, &path, err) !=
            0 ||
        borrow_call(&w->borrowed, w->dlopen, path, (uint64_t)w->mode, 0, err) !=
            0 ||
        remote_read_mappings(&w->remote, err) != 0 ||
        find_landmarks(w, err) != 0)
        return -1;
    if (w->call == 0) {
        ask_loader(w, err);
        return -1;
    }
    return 0;
}

static void
set_agent_call_error(const struct injection *i, int error, struct error *err)
{
    bool start = i->settings != NULL;

    errno = error;
    error_sys(err, ER_UNKNOWN, "process %d: the agent does not %s%s",
              (int)i->target->pid, start ? "start" : "end",
              error == EBUSY ? ", because another process serves the state "
                               "directory (--node-id, --state-dir)"
                             : "");
}

/* Calls heapwire_start or heapwire_stop, and takes its error. */
static int
call_agent_entry(struct work *w, struct error *err)
{
    const char *settings = w->injection->settings;
    uint64_t text = 0, at;
    int32_t result = -1;

    if ((settings && borrow_put(&w->borrowed, settings, strlen(settings) + 1,
                                &text, err) != 0) ||
        borrow_put(&w->borrowed, &result, sizeof(result), &at, err) != 0 ||
        borrow_call(&w->borrowed, w->call, text, at, 0, err) != 0)
        return -1;
    if (remote_read(&w->remote, at, &result, sizeof(result)) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot read what it returned");
        return -1;
    }
    if (result == 0)
        return 0;
    set_agent_call_error(w->injection, result, err);
    return -1;
}

static unsigned
injection_clock_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned)(now.tv_sec * 1000000 + now.tv_nsec / 1000);
}

static int
use_thread(struct work *w, const struct sleeper *s, struct error *err)
{
    unsigned began = injection_clock_us();
    int rc;

    snprintf(w->injection->thread, sizeof(w->injection->thread),
             "%s (%d), which sleeps in %s", s->name, (int)s->tid, s->call);
    if (w->injection->dry)
        /* A dry run has named the thread, and touches nothing. */
        return 0;
    rc = borrow_begin(&w->borrowed, &w->remote, &w->landmarks, s, err);
    if (rc != 0)
        return rc;
    rc = load_agent_library(w, err) == 0 && call_agent_entry(w, err) == 0 ? 0
                                                                          : -1;
    borrow_end(&w->borrowed);
    w->injection->stopped_us = injection_clock_us() - began;
    return rc;
}

/* Threads that wait for other threads may hold what those want; they are used
 * only when there has been no better one for a while. */
static int
try_threads(struct work *w, struct error *err)
{
    static const struct timespec step = {0, INJECT_STEP_MS * 1000000L};
    uint64_t began = clock_ms(), now;
    struct sleeper s;
    int rc = 1;

    for (;;) {
        now = clock_ms();
        if (sleeper_choose(&w->remote, &w->landmarks,
                           now - began < INJECT_GENTLE_MS
                               ? SLEEPER_RANK_WAITS - 1
                               : SLEEPER_RANK_MAX,
                           &s, err) == 0)
            rc = use_thread(w, &s, err);
        if (rc <= 0 || now - began >= INJECT_TRY_MS)
            return rc;
        nanosleep(&step, NULL);
        /* Stacks and libraries may be new. */
        if (remote_read_mappings(&w->remote, err) != 0 ||
            find_landmarks(w, err) != 0)
            return -1;
    }
}

int
inject(struct injection *injection, struct error *err)
{
    struct work *w = mem_zalloc(1, sizeof(*w));
    int rc = -1;

    if (!w) {
        error_memory(err, "the attachment");
        return -1;
    }
    w->injection = injection;
    if (remote_open(&w->remote, injection->target->pid, err) == 0 &&
        find_landmarks(w, err) == 0)
        rc = try_threads(w, err) == 0 ? 0 : -1;
    if (rc != 0 && !target_is_there(injection->target))
        error_set(err, ER_UNKNOWN, "process %d has ended",
                  (int)injection->target->pid);
    remote_close(&w->remote);
    mem_free(w);
    return rc;
}
