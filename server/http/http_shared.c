/* http_shared.c - see http_shared.h. */
#include "http_shared.h"

#include "buffer.h"
#include "server.h"

bool
http_shared_is_fresh(struct server_answer *shared, uint64_t now_ms)
{
    if (shared->asked_ms && now_ms - shared->asked_ms < HTTP_SHARED_MAX_MS &&
        now_ms - shared->last_ms < HTTP_SHARED_MS)
        return true;
    shared->last_ms = now_ms;
    return false;
}

void
http_shared_keep(struct server_answer *shared, struct buffer *body,
                 uint64_t asked_ms)
{
    struct buffer old = shared->body;

    if (asked_ms < shared->asked_ms)
        return;
    shared->body = *body;
    shared->asked_ms = asked_ms;
    *body = old;
}
