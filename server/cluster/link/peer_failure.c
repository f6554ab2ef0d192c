/* peer_failure.c - see peer_failure.h. */
#include "peer_failure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "peer_link.h"

static const char mismatch[] = "id mismatch: ";

/* The name of a node in a failure. */
static void
name_of(const struct peer_place *place, char *out)
{
    bool six = strchr(place->address, ':') != NULL;

    if (place->port == 0)
        snprintf(out, PEER_NAME_MAX, "node %" PRIu64, place->id);
    else
        snprintf(out, PEER_NAME_MAX, "%s%s%s:%u", six ? "[" : "",
                 place->address, six ? "]" : "", place->port);
}

/* That a node was silent is passed on: it is not asked again so soon. */
static enum error_code
code_of(const struct error *why)
{
    return why->code == ER_QUERY_TIMEOUT ? ER_QUERY_TIMEOUT : ER_UNKNOWN;
}

void
peer_failure_unknown(struct error *out)
{
    error_set(out, ER_KEY_NOT_FOUND, "node not found");
}

void
peer_failure_timeout(struct error *out, unsigned timeout_ms)
{
    if (timeout_ms % 1000 == 0)
        error_set(out, ER_QUERY_TIMEOUT, "timeout after %us",
                  timeout_ms / 1000);
    else
        error_set(out, ER_QUERY_TIMEOUT, "timeout after %.3gs",
                  timeout_ms / 1000.0);
}

void
peer_failure_submit(struct error *out, const struct peer_place *place,
                    const struct error *why)
{
    char name[PEER_NAME_MAX];

    if (strncmp(why->text, mismatch, sizeof(mismatch) - 1) == 0) {
        *out = *why;
        return;
    }
    name_of(place, name);
    error_set(out, code_of(why), "submit failed for %s: %s", name, why->text);
}

void
peer_failure_rpc(struct error *out, const struct peer_place *place,
                 const struct error *why)
{
    char name[PEER_NAME_MAX];

    name_of(place, name);
    error_set(out, code_of(why), "rpc failed %s: %s", name, why->text);
}
