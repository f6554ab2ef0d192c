/*
 * sent_texts.h - the numbers of the texts sent to the client.
 *
 * A text is identified by its address: it must stay there, and equal texts must
 * be one, until sent_texts_fini.
 */
#ifndef HW_SENT_TEXTS_H
#define HW_SENT_TEXTS_H

#include <stddef.h>
#include <stdint.h>

struct buffer;
struct sent_text;

/* Initially zeroed. */
struct sent_texts {
    struct sent_text *places; /* open addressing, at most half in use */
    uint32_t room, used;
    uint32_t count; /* of texts, including those without a place */
};

void sent_texts_fini(struct sent_texts *texts); /* zeroed is fine */

/* The number of text, 0 for ""; appends it to out the first time.  -1 without
 * memory, or with too many texts. */
int sent_texts_put(struct sent_texts *texts, struct buffer *out,
                   const char *text, size_t max, uint32_t *number);

/* Likewise for a text, not "", that will not be looked up again: always appends
 * it. */
int sent_texts_number(struct sent_texts *texts, struct buffer *out,
                      const char *text, size_t max, uint32_t *number);

#endif
