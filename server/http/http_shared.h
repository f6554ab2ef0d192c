/*
 * http_shared.h - an answer that requests of the same moment share, so that
 * many scrapers ask hardly more of the node than one does.
 *
 * Pure.  For an answer that is the same for every account that may see it.
 */
#ifndef HW_HTTP_SHARED_H
#define HW_HTTP_SHARED_H

#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct server_answer;

enum {
    HTTP_SHARED_MS = 250,     /* content is asked for again after */
    HTTP_SHARED_MAX_MS = 1000 /* the age of one that is still shown meanwhile */
};

/* True: its body is the answer.  False: the caller asks for its content now. */
bool http_shared_is_fresh(struct server_answer *shared, uint64_t now_ms);
/* Takes the bytes of body, which was asked for then, unless it has newer ones.
 */
void http_shared_keep(struct server_answer *shared, struct buffer *body,
                      uint64_t asked_ms);

#endif
