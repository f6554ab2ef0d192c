/* kept_texts.c - see kept_texts.h. */
#include "kept_texts.h"

#include <string.h>

#include "dwarf_room.h"
#include "memory.h"

enum { BLOCK = 1 << 16 /* bytes of texts allocated at once */ };

struct kept_block {
    struct kept_block *next;
    size_t used;
    char bytes[BLOCK];
};

void
kept_texts_init(struct kept_texts *texts)
{
    pthread_mutex_init(&texts->lock, NULL);
    texts->last = NULL;
}

void
kept_texts_fini(struct kept_texts *texts)
{
    for (struct kept_block *b = texts->last, *next; b; b = next) {
        next = b->next;
        mem_free(b);
    }
    pthread_mutex_destroy(&texts->lock);
}

/* Under lock: one with size bytes free, or NULL. */
static struct kept_block *
block_for(struct kept_texts *texts, struct dwarf_room *room, size_t size)
{
    struct kept_block *b = texts->last;

    if (b && size <= BLOCK - b->used)
        return b;
    if (size > BLOCK || !dwarf_room_try(room, sizeof(*b)))
        return NULL;
    b = mem_alloc(sizeof(*b));
    if (!b) {
        dwarf_room_give(room, sizeof(*b));
        return NULL;
    }
    b->next = texts->last;
    b->used = 0;
    texts->last = b;
    return b;
}

const char *
kept_texts_put(struct kept_texts *texts, struct dwarf_room *room,
               const char *text, size_t size)
{
    struct kept_block *b;
    char *copy = NULL;

    pthread_mutex_lock(&texts->lock);
    b = block_for(texts, room, size);
    if (b) {
        copy = b->bytes + b->used;
        b->used += size;
    }
    pthread_mutex_unlock(&texts->lock);
    return copy ? memcpy(copy, text, size) : NULL;
}
