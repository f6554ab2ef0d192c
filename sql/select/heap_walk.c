/* heap_walk.c - see heap_walk.h. */
#include "heap_walk.h"

#include <string.h>

#include "collate.h"
#include "cursor.h"
#include "functions.h"
#include "handle.h"
#include "memory.h"
#include "profile.h"
#include "select_pins.h"
#include "snapshot.h"

/* Moves to a stack and finds its frames; a stack without frames has no rows. */
static void
arrive(struct heap_place *place)
{
    struct functions *functions = place->pin->functions;

    place->frame = 0;
    if (place->walk->row == HEAP_FUNCTIONS || place->walk->row == HEAP_CALLS)
        return;
    for (; place->at < place->end; place->at++) {
        place->frame_count =
            functions_stack(functions, place->at, place->frames);
        if (place->frame_count > 0 || place->walk->row == HEAP_STACKS)
            return;
    }
}

/* All of them for a name that is not ASCII, which may be like others: SQLite
 * compares each row once more. */
static void
find_function(struct heap_place *place, const struct value *key)
{
    const struct functions *functions = place->pin->functions;
    struct span name;

    place->end = functions->count;
    if (!key)
        return;
    name = collate_trimmed((struct span){key->data, key->size});
    for (size_t i = 0; i < name.size; i++)
        if ((unsigned char)name.data[i] >= 0x80)
            return;
    place->order = functions->by_name;
    functions_find(functions, name.data, name.size, &place->at, &place->end);
}

static void
find_numbered(struct heap_place *place, const struct value *key)
{
    size_t count = place->walk->row == HEAP_CALLS
                       ? place->pin->calls.count
                       : place->pin->profile->stack_count;

    place->end = (uint32_t)count;
    if (!key)
        return;
    place->end = 0;
    if (key->integer < 1 || (uint64_t)key->integer > count)
        return;
    place->end = (uint32_t)key->integer;
    place->at = place->end - 1;
}

int
heap_place_open(struct heap_place *place, const struct heap_walk *walk,
                const struct select_pin *pin, const struct value *key)
{
    struct stack_frame *frames = place->frames;
    struct buffer text = place->text;

    if (place->pin != pin) {
        mem_free(frames);
        place->pin = NULL;
        place->frames = frames =
            mem_zalloc(pin->functions->names.longest + 1, sizeof(*frames));
        if (!frames)
            return -1;
    }
    if (!place->walk)
        buffer_init(&text, SELECT_VALUE_MAX);
    *place = (struct heap_place){
        .walk = walk, .pin = pin, .frames = frames, .text = text};
    if (walk->row == HEAP_FUNCTIONS)
        find_function(place, key);
    else
        find_numbered(place, key);
    arrive(place);
    return 0;
}

void
heap_place_fini(struct heap_place *place)
{
    mem_free(place->frames);
    buffer_fini(&place->text);
    memset(place, 0, sizeof(*place));
}

bool
heap_place_done(const struct heap_place *place)
{
    return place->at >= place->end;
}

void
heap_place_next(struct heap_place *place)
{
    if (place->walk->row == HEAP_FRAMES && ++place->frame < place->frame_count)
        return;
    place->at++;
    arrive(place);
}

uint32_t
heap_place_index(const struct heap_place *place)
{
    return place->order ? place->order[place->at] : place->at;
}
