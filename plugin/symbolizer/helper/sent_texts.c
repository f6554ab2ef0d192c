/* sent_texts.c - see sent_texts.h. */
#include "sent_texts.h"

#include "hash.h"
#include "memory.h"
#include "symbolizer_wire.h"

enum { ROOM_FIRST = 1024 /* powers of two */ };

struct sent_text {
    const char *text; /* NULL: free */
    size_t max;       /* a text may be cut elsewhere if it is a path */
    uint32_t number;
};

void
sent_texts_fini(struct sent_texts *texts)
{
    mem_free(texts->places);
    *texts = (struct sent_texts){.room = 0};
}

static struct sent_text *
place_of(struct sent_text *places, uint32_t room, const char *text, size_t max)
{
    uint32_t i = (uint32_t)hash_mix(max, (uintptr_t)text) & (room - 1);

    while (places[i].text && (places[i].text != text || places[i].max != max))
        i = (i + 1) & (room - 1);
    return &places[i];
}

static int
grow(struct sent_texts *texts)
{
    uint32_t room = texts->room ? texts->room * 2 : ROOM_FIRST;
    struct sent_text *places = mem_zalloc(room, sizeof(*places));

    if (!places)
        return -1;
    for (uint32_t i = 0; i < texts->room; i++) {
        const struct sent_text *old = &texts->places[i];

        if (old->text)
            *place_of(places, room, old->text, old->max) = *old;
    }
    mem_free(texts->places);
    texts->places = places;
    texts->room = room;
    return 0;
}

int
sent_texts_number(struct sent_texts *texts, struct buffer *out,
                  const char *text, size_t max, uint32_t *number)
{
    if (texts->count == WIRE_TEXTS_MAX)
        return -1;
    wire_put_text(out, text, max);
    *number = ++texts->count;
    return 0;
}

int
sent_texts_put(struct sent_texts *texts, struct buffer *out, const char *text,
               size_t max, uint32_t *number)
{
    struct sent_text *place;

    *number = 0;
    if (text[0] == '\0')
        return 0;
    if (texts->used * 2 >= texts->room && grow(texts) != 0)
        return -1;
    place = place_of(texts->places, texts->room, text, max);
    if (!place->text) {
        if (sent_texts_number(texts, out, text, max, number) != 0)
            return -1;
        *place = (struct sent_text){text, max, *number};
        texts->used++;
    }
    *number = place->number;
    return 0;
}
