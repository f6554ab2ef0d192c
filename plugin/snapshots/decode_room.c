/* decode_room.c - see decode_room.h. */
#include "decode_room.h"

#include <pthread.h>
#include <stdint.h>

#include "arena.h"
#include "errors.h"
#include "memory_budget.h"

const struct arena_meter decode_room_meter = {decode_room_take,
                                              decode_room_give};

static size_t ceiling = DECODE_ROOM_BYTES; /* set before threads are */
static struct {
    pthread_mutex_t lock;
    size_t used;
    struct memory_hold held;
} room = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local bool refused;

void
decode_room_set(size_t bytes)
{
    ceiling = bytes;
}

size_t
decode_room_used(void)
{
    size_t used;

    pthread_mutex_lock(&room.lock);
    used = room.used;
    pthread_mutex_unlock(&room.lock);
    return used;
}

bool
decode_room_take(size_t bytes)
{
    bool taken = true;
    size_t sum;

    pthread_mutex_lock(&room.lock);
    if (ceiling > 0)
        taken = !__builtin_add_overflow(room.used, bytes, &sum) &&
                sum <= ceiling && memory_hold(&room.held, NULL, sum);
    room.used += taken ? bytes : 0;
    pthread_mutex_unlock(&room.lock);
    refused |= !taken;
    return taken;
}

void
decode_room_give(size_t bytes)
{
    pthread_mutex_lock(&room.lock);
    room.used -= bytes;
    if (ceiling > 0)
        memory_hold(&room.held, NULL, room.used);
    pthread_mutex_unlock(&room.lock);
}

void
decode_room_begin(void)
{
    refused = false;
}

void
decode_room_explain(struct error *err)
{
    uint64_t left;

    if (!refused)
        return;
    left = memory_left();
    error_set(
        err, ER_OUT_OF_RESOURCES,
        "Out of resources: all that is decoded at a time may take %zu MB, "
        "and half of the memory that is free (%llu MB are left now): this "
        "and what others decode take more; try again later, or read the "
        "file with heapwire-prof elsewhere",
        ceiling >> 20,
        (unsigned long long)(left == UINT64_MAX ? 0 : left >> 20));
}
