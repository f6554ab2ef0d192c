/*
 * kept_texts.h - lasting copies of short texts.  Callable from any thread.
 */
#ifndef HW_KEPT_TEXTS_H
#define HW_KEPT_TEXTS_H

#include <pthread.h>
#include <stddef.h>

struct dwarf_room;
struct kept_block;

struct kept_texts {
    pthread_mutex_t lock;
    struct kept_block *last; /* under lock */
};

void kept_texts_init(struct kept_texts *texts);
void kept_texts_fini(struct kept_texts *texts);

/* The copy takes room; NULL: too little is left. */
const char *kept_texts_put(struct kept_texts *texts, struct dwarf_room *room,
                           const char *text, size_t size);

#endif
