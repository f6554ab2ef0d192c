/* decode_room.c - see decode_room.h. */
#include "decode_room.h"

#include <stdatomic.h>
#include <stdint.h>

#include "arena.h"
#include "errors.h"
#include "memory_left.h"

enum {
    /* So many bytes are taken between two looks at what is left: a look reads
     * files of the kernel's. */
    LOOK_BYTES = 4 << 20,
    /* Nothing is decoded where less is left. */
    LEFT_MIN = 16 << 20
};

const struct arena_meter decode_room_meter = {decode_room_take,
                                              decode_room_give};

static size_t ceiling = DECODE_ROOM_BYTES; /* set before threads are */
static atomic_size_t used;
static _Thread_local bool refused;

void
decode_room_set(size_t bytes)
{
    ceiling = bytes;
}

size_t
decode_room_used(void)
{
    return atomic_load_explicit(&used, memory_order_relaxed);
}

/* Of what was free before decoding began it may have half. */
static bool
is_left(size_t sum, size_t bytes)
{
    uint64_t left = memory_left();

    return left >= LEFT_MIN && left - LEFT_MIN >= (uint64_t)sum + bytes;
}

bool
decode_room_take(size_t bytes)
{
    size_t before =
        atomic_fetch_add_explicit(&used, bytes, memory_order_relaxed);
    size_t sum;

    if (ceiling == 0)
        return true;
    if (!__builtin_add_overflow(before, bytes, &sum) && sum <= ceiling &&
        (sum / LOOK_BYTES == before / LOOK_BYTES || is_left(sum, bytes)))
        return true;
    decode_room_give(bytes);
    refused = true;
    return false;
}

void
decode_room_give(size_t bytes)
{
    atomic_fetch_sub_explicit(&used, bytes, memory_order_relaxed);
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
