/*
 * find_node.c - see find_node.h.
 *
 * Nodes are found by their sockets.  A wrong guess would show another
 * database's memory, so only a node that is alone is taken.
 */
#include "find_node.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    NODES_NAMED = 16,
    ID_MAX = 16,
    BEFORE_ID = sizeof("/run/heapwire/") - 1
};

/* Answers how many there are.  The caller calls globfree(), even for 0. */
static size_t
list_sockets(glob_t *out)
{
    *out = (glob_t){0};
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    return glob(NODE_SOCKETS, 0, NULL, out) == 0 ? out->gl_pathc : 0;
}

void
node_find_socket(char out[NODE_PATH])
{
    glob_t found;
    bool one = list_sockets(&found) == 1;

    snprintf(out, NODE_PATH, "%s", one ? found.gl_pathv[0] : NODE_SOCKETS);
    globfree(&found);
}

/* Writes ids as "10001, 10002". */
static void
write_ids(const glob_t *found, char out[NODES_TEXT])
{
    size_t at = 0;

    for (size_t i = 0; i < found->gl_pathc && i < NODES_NAMED; i++) {
        const char *id = found->gl_pathv[i] + BEFORE_ID;
        int size = (int)strcspn(id, "/");

        at += (size_t)snprintf(out + at, NODES_TEXT - at, "%s%.*s",
                               i > 0 ? ", " : "", size < ID_MAX ? size : ID_MAX,
                               id);
    }
    if (found->gl_pathc > NODES_NAMED)
        snprintf(out + at, NODES_TEXT - at, ", ...");
}

void
node_list_others(char out[NODES_TEXT])
{
    char ids[NODES_TEXT];
    glob_t found;
    size_t count = list_sockets(&found);

    if (count > 0) {
        write_ids(&found, ids);
        snprintf(out, NODES_TEXT,
                 "%zu nodes: %.300s; name one with --socket "
                 "/run/heapwire/%.*s/mysql.sock",
                 count, ids, (int)strcspn(ids, ","), ids);
    } else if (access("/run/heapwire", R_OK | X_OK) != 0 && errno == EACCES) {
        snprintf(out, NODES_TEXT,
                 "this user may not look for nodes in /run/heapwire: name one "
                 "with --socket FILE, or with --host HOST and --user NAME");
    } else {
        snprintf(out, NODES_TEXT,
                 "there is no " NODE_SOCKETS
                 "; a node elsewhere is named with --socket FILE, which "
                 "heapwire-run said at its start, or with --host HOST; start "
                 "one with heapwire-run -- COMMAND");
    }
    globfree(&found);
}
