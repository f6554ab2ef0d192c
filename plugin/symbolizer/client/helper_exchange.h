/*
 * helper_exchange.h - one question to the helper, and what comes back for it.
 */
#ifndef HW_HELPER_EXCHANGE_H
#define HW_HELPER_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "helper.h"

struct error;

/* Which question it is; its descriptors are open for as long. */
struct sent {
    int object_fd, index_fd;
    uint32_t count;
    unsigned flags;
};

struct sent sent_of(const struct helper_question *question);
bool sent_is(const struct sent *a, const struct sent *b);

/* What is asked: addresses, or else an index. */
struct exchange {
    const struct helper_question *question; /* NULL: an index is asked for */
    const struct helper_index *index;
    int fds[2]; /* the object's, and its index's */
    size_t fd_count;
    bool sent; /* ahead */
    uint32_t answered, texts;
    bool refused; /* the index */
    bool parts;   /* of the one that is made came */
};

enum take { TAKE_MORE, TAKE_DONE, TAKE_GARBAGE, TAKE_REFUSED };

struct exchange exchange_of(const struct helper_question *question);
/* One reply; *err with TAKE_REFUSED, and what the helper says of the end with
 * TAKE_DONE. */
enum take exchange_take(struct exchange *x, struct span payload,
                        struct error *err);

#endif
