/*
 * kept_texts.h - copies of short texts that last: several threads put them,
 * each for a moment.
 */
#ifndef HW_KEPT_TEXTS_H
#define HW_KEPT_TEXTS_H

#include <pthread.h>
#include <stddef.h>

struct dwarf_sections;
struct kept_block;

struct kept_texts {
    pthread_mutex_t lock;
    struct kept_block *last; /* under lock */
};

void kept_texts_init(struct kept_texts *texts);
void kept_texts_fini(struct kept_texts *texts);

/* With room of the sections'; NULL: there is none. */
const char *kept_texts_put(struct kept_texts *texts,
                           struct dwarf_sections *sections, const char *text,
                           size_t size);

#endif
