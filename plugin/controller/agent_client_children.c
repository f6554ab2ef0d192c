/* agent_client_children.c - see agent_client_children.h. */
#include "agent_client_children.h"

#include <stdio.h>

#include "clock.h"
#include "agent_client.h"
#include "process_children.h"

enum { LOOK_MS = 5000, LOOK_SHARE = 100 };

static void
describe(const struct process_children *children, char *out, size_t size)
{
    bool one = children->count == 1;

    out[0] = '\0';
    if (children->count > 0)
        snprintf(out, size,
                 "%zu %s of the same executable %s up to %.1f MB and %s not "
                 "seen; process = child (or a NAME) serves one of them instead",
                 children->count, one ? "child" : "children",
                 one ? "holds" : "hold", (double)children->bytes / (1 << 20),
                 one ? "is" : "are");
}

void
agent_client_children_look(struct agent_client *client)
{
    struct process_children children = {0};
    uint64_t now = clock_ms(), took;

    if (client->children_of == client->peer && now < client->children_due_ms)
        return;
    if (client->peer != 0)
        process_children_read(client->peer, &children);
    describe(&children, client->status.children,
             sizeof(client->status.children));
    took = clock_ms() - now;
    client->children_of = client->peer;
    client->children_due_ms =
        now + (took * LOOK_SHARE > LOOK_MS ? took * LOOK_SHARE : LOOK_MS);
}
