/* peers.c - see peers.h. */
#include "peers.h"

#include "memory.h"
#include "sql_session.h"

size_t
peers_list(const struct sql_session *session, struct peer_row **out)
{
    const struct sql_peers *peers = session->node->peers;
    size_t room = peers->list(peers->arg, NULL, 0), count;
    struct peer_row *rows = mem_zalloc(room ? room : 1, sizeof(*rows));

    *out = rows;
    if (!rows)
        return 0;
    count = peers->list(peers->arg, rows, room);
    return count < room ? count
                        : room; /* the list may have changed meanwhile */
}

bool
peers_can_ask(const struct sql_session *session)
{
    const struct sql_peers *peers = session->node->peers;

    return !session->forwarded &&
           (session->who.privileges & PRIVILEGE_CLUSTER) &&
           peers->list(peers->arg, NULL, 0) > 1;
}
