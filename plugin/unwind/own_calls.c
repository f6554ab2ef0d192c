/*
 * own_calls.c - see own_calls.h.
 *
 * The agent and the recorder call this on the database's threads, at each
 * sample.  The library's unwinder finds and interprets .eh_frame at each frame;
 * by tables a sample costs a fifth.  But a wrong table would give wrong stacks
 * that nobody notices.  So a walk by tables counts only if each of its frames
 * lies in an object that is still the one its table was made for
 * (_dl_find_object: no lock), and if it reached the end of the stack.  Until an
 * object was part of OWN_CALLS_CHECKED stacks, the library's unwinder takes
 * each stack as well: the object of the frame behind which the two differ is
 * not used any more.  Everything else falls back to the library.
 */
#include "own_calls.h"

#include <dlfcn.h>
#include <stddef.h>

#include "own_stack.h"

/* Since glibc 2.35; weak, so that older systems load this code: without it no
 * object counts as loaded, and the library's unwinder takes every stack. */
#pragma weak _dl_find_object

/* The result of a walk; the addresses are in the caller's array. */
struct walked {
    uint16_t codes[OWN_CALLS_MAX];
    uint32_t count;
    bool cut; /* the stack has more frames than these */
};

bool
own_object_is_there(const struct own_object *object)
{
    struct dl_find_object found;

    return _dl_find_object &&
           _dl_find_object((void *)object->start, &found) == 0 &&
           found.dlfo_map_start == object->start &&
           found.dlfo_link_map == object->map &&
           found.dlfo_eh_frame == object->frames;
}

static struct own_object *
object_of(const struct given_tables *tables, const struct walked *w, uint32_t i)
{
    return tables->objects[w->codes[i]];
}

/* The recorder's own functions, which lie between the allocator and the
 * program, do not belong to the stack. */
static void
drop_hidden_frames(const struct own_calls *calls, uint64_t *frames,
                   struct walked *w)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < w->count; i++) {
        w->codes[kept] = w->codes[i];
        frames[kept] = frames[i];
        kept +=
            frames[i] < calls->hidden_start || frames[i] >= calls->hidden_end;
    }
    w->count = kept;
}

static bool
walk_own_stack(const struct own_calls *calls, const struct given_tables *tables,
               const struct unwind_call *call, uint64_t *frames,
               struct walked *w)
{
    const struct unwind_calls out = {frames, w->codes, OWN_CALLS_MAX};
    const uint64_t end = own_stack_end(call->sp);
    const struct thread_stack stack = {
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        call->sp, (const uint8_t *)call->sp, end - call->sp};
    enum unwind_end why;

    /* on a signal's or a coroutine's stack the bounds are unknown */
    if (end == 0)
        return false;
    w->count = (uint32_t)unwind_walk_calls(&tables->source, tables->memo,
                                           &stack, call, &out, &why);
    w->cut = why == UNWIND_END_DEPTH;
    if (calls->hidden_end != 0)
        drop_hidden_frames(calls, frames, w);
    return why == UNWIND_END_OUTERMOST || why == UNWIND_END_DEPTH ||
           (why == UNWIND_END_SIGNAL && calls->ends_at_signal);
}

/* Whether all objects of the walk may be used; *least: the smallest number of
 * checks among them.  Most stacks alternate between two objects (the program
 * and libc), so remembering two saves most of the look-ups. */
static bool
are_there(const struct given_tables *tables, const struct walked *w,
          uint32_t *least)
{
    const struct own_object *last = NULL, *before = NULL;

    *least = OWN_CALLS_CHECKED;
    for (uint32_t i = 0; i < w->count; i++) {
        const struct own_object *object = object_of(tables, w, i);
        uint32_t checked;

        if (object == last || object == before)
            continue;
        if (atomic_load_explicit(&object->unused, memory_order_relaxed) ||
            !own_object_is_there(object))
            return false;
        checked = atomic_load_explicit(&object->checked, memory_order_relaxed);
        *least = checked < *least ? checked : *least;
        before = last;
        last = object;
    }
    return true;
}

/* Threads race here, so a count may end a little above the limit; nothing
 * depends on its exact value. */
static void
count_checked(const struct given_tables *tables, const struct walked *w)
{
    struct own_object *last = NULL;

    for (uint32_t i = 0; i < w->count; i++) {
        struct own_object *object = object_of(tables, w, i);

        if (object != last &&
            atomic_load_explicit(&object->checked, memory_order_relaxed) <
                OWN_CALLS_CHECKED)
            atomic_fetch_add_explicit(&object->checked, 1,
                                      memory_order_relaxed);
        last = object;
    }
}

/* Not inlined: its array is a kilobyte of stack, which the usual path must not
 * cost.  The caller gets the library's frames. */
static __attribute__((noinline)) uint32_t
check(const struct own_calls *calls, const struct given_tables *tables,
      const struct unwind_call *call, const struct walked *w, uint64_t *frames)
{
    uint64_t theirs[OWN_CALLS_MAX];
    uint32_t count = calls->library(call, theirs), same = 0;

    while (same < count && same < w->count && theirs[same] == frames[same])
        same++;
    if (same == w->count && (same == count || w->cut))
        count_checked(tables, w);
    /* The frame before the first difference led to a wrong caller: that one's
     * table is wrong.  Without a common frame nothing can be blamed. */
    else if (same > 0)
        atomic_store_explicit(&object_of(tables, w, same - 1)->unused, 1,
                              memory_order_relaxed);
    for (uint32_t i = same; i < count; i++)
        frames[i] = theirs[i];
    return count;
}

uint32_t
own_calls_take(const struct own_calls *calls, const struct given_tables *tables,
               const struct unwind_call *call, uint64_t frames[OWN_CALLS_MAX])
{
    struct walked w;
    uint32_t least;

    if (!tables || !walk_own_stack(calls, tables, call, frames, &w) ||
        !are_there(tables, &w, &least))
        return calls->library(call, frames);
    if (least < OWN_CALLS_CHECKED)
        return check(calls, tables, call, &w, frames);
    return w.count;
}
