/* peers.c - see peers.h. */
#include "peers.h"

#include <string.h>

#include "memory.h"
#include "sql_session.h"

size_t
peers_list(const struct sql_session *session, struct peer_row **out)
{
    const struct sql_node *node = session->node;
    const struct sql_peers *peers = node->peers;
    size_t room = peers ? peers->list(peers->arg, NULL, 0) : 1, count;
    struct peer_row *rows = mem_zalloc(room ? room : 1, sizeof(*rows));

    *out = rows;
    if (!rows)
        return 0;
    if (peers) {
        count = peers->list(peers->arg, rows, room);
        return count < room ? count : room; /* some may have come or gone */
    }
    rows->id = node->id;
    memcpy(rows->address, node->address, sizeof(rows->address));
    rows->port = node->port;
    rows->self = rows->known = rows->alive = true;
    memcpy(rows->version, HW_VERSION, sizeof(HW_VERSION));
    return 1;
}
