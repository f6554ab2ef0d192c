/*
 * helper_exchange.h - one question to the helper, and the replies to it.
 */
#ifndef HW_HELPER_EXCHANGE_H
#define HW_HELPER_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "helper.h"

struct error;

/* Identifies a question as long as its descriptors are open. */
struct helper_sent {
    int object_fd, index_fd;
    uint32_t count;
    unsigned flags;
};

struct helper_sent helper_sent_of(const struct helper_question *question);
bool helper_sent_is(const struct helper_sent *a, const struct helper_sent *b);

/* A question: about addresses, or for an index. */
struct helper_exchange {
    const struct helper_question *question; /* NULL: an index is asked for */
    const struct helper_index *index;
    int fds[2]; /* the object's, and its index's */
    size_t fd_count;
    bool sent; /* it was sent ahead */
    uint32_t answered, texts;
    bool refused; /* the index was refused */
    bool parts;   /* bytes of the index have come */
};

enum helper_take {
    HELPER_TAKE_MORE,
    HELPER_TAKE_DONE,
    HELPER_TAKE_GARBAGE,
    HELPER_TAKE_REFUSED
};

struct helper_exchange
helper_exchange_of(const struct helper_question *question);
/* Takes one reply.  *err is set with HELPER_TAKE_REFUSED, and is the helper's
 * complaint with HELPER_TAKE_DONE. */
enum helper_take helper_exchange_take(struct helper_exchange *x,
                                      struct span payload, struct error *err);

#endif
