/*
 * sent_texts.h - the numbers of the texts that the client has already.
 *
 * Texts are told apart by where they are: they stay there, and equal ones are
 * one, until sent_texts_fini.
 */
#ifndef HW_SENT_TEXTS_H
#define HW_SENT_TEXTS_H

#include <stddef.h>
#include <stdint.h>

struct buffer;
struct sent_text;

/* Zeroed at first. */
struct sent_texts {
    struct sent_text *places; /* open addressing, at most half in use */
    uint32_t room, used;
    uint32_t count; /* of texts, those in no place as well */
};

void sent_texts_fini(struct sent_texts *texts); /* zeroed is fine */

/* The number of text, 0 for "", which is put into out the first time.  -1
 * without memory, or when there are too many. */
int sent_texts_put(struct sent_texts *texts, struct buffer *out,
                   const char *text, size_t max, uint32_t *number);

/* Likewise a text, not "", that nobody looks for again: it is put. */
int sent_texts_number(struct sent_texts *texts, struct buffer *out,
                      const char *text, size_t max, uint32_t *number);

#endif
