/*
 * peer_ask.c - a node's end of a link, as heapwired has it, for peers.py: asks
 * one thing once and prints what comes.
 *
 *     peer_ask PLACE WANTED-ID OWN-ID CLUSTER SECRET PRIVILEGES VERB TEXT
 *
 * PLACE is a unix socket, or an IPv4 address and port, or "tls:" and that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/ssl.h>

#include "peer_link.h"
#include "tls_stream.h"

enum { ARGUMENTS = 9, TIMEOUT_MS = 5000 };

static struct peer_request request = {.column_count = 1};
static int status = 1;

static void
leave(struct peer_link *link, const struct error *why)
{
    if (why->code)
        printf("%u %s\n", why->code, why->text);
    status = why->code != 0;
    peer_link_close(link);
}

static void
connected(struct peer_link *link)
{
    const struct peer_client *client = &link->wire.client;
    struct error err;

    printf("proven %d, %s, %s\n", client->proven, client->version,
           client->has_fingerprint ? "fingerprint" : "no fingerprint");
    if (peer_link_ask(link, &request, TIMEOUT_MS, &err) != 0)
        leave(link, &err);
}

static bool
wants(struct peer_link *link)
{
    (void)link;
    return true;
}

static void
row(struct peer_link *link, const struct span *cells)
{
    (void)link;
    printf("%.*s\n", (int)cells[0].size,
           cells[0].data ? cells[0].data : "NULL");
}

static void
quiet(struct peer_link *link)
{
    (void)link;
}

static const struct peer_link_events events = {.connected = connected,
                                               .wants = wants,
                                               .row = row,
                                               .quiet = quiet,
                                               .grows = wants,
                                               .shrank = quiet,
                                               .answered = leave,
                                               .broken = leave};

static struct peer_endpoint
endpoint_of(const char *text, const char *id)
{
    struct peer_endpoint endpoint = {.id = strtoull(id, NULL, 10)};
    const char *port;

    if (*text == '/') {
        endpoint.socket = text;
        return endpoint;
    }
    endpoint.tls = strncmp(text, "tls:", 4) == 0;
    text += endpoint.tls ? 4 : 0;
    port = strrchr(text, ':');
    snprintf(endpoint.address, sizeof(endpoint.address), "%.*s",
             (int)(port - text), text);
    endpoint.port = (uint16_t)strtoul(port + 1, NULL, 10);
    return endpoint;
}

/* The key is here: this is no heapwired. */
static int
prove(void *arg, enum peer_label label, struct span said,
      uint8_t out[PEER_PROOF], struct error *err)
{
    return peer_key_prove(arg, label, said, out, err);
}

static int
check(void *arg, enum peer_label label, struct span said,
      const uint8_t proof[PEER_PROOF], bool *valid, struct error *err)
{
    return peer_key_check(arg, label, said, proof, valid, err);
}

int
main(int argc, char **argv)
{
    struct sql_identity caller = {.user = "ann", .host = "10.1.2.3"};
    struct peer_key key;
    struct peer_prover prover = {prove, check, &key};
    struct peer_identity self;
    struct peer_endpoint endpoint;
    struct error err;
    SSL_CTX *tls;
    struct peer_link_settings settings = {uv_default_loop(), &self, NULL,
                                          TIMEOUT_MS};

    if (argc != ARGUMENTS)
        return 2;
    caller.privileges = (uint32_t)strtoul(argv[6], NULL, 10);
    request.caller = &caller;
    request.connection_id = 77;
    request.verb = strcmp(argv[7], "select") == 0 ? PEER_SELECT : PEER_SCRIPT;
    request.text = (struct span){argv[8], strlen(argv[8])};
    endpoint = endpoint_of(argv[1], argv[2]);
    tls = settings.tls = tls_context_for_links(&err);
    if (!tls || peer_key_make(&key, argv[4], argv[5], &err) != 0 ||
        peer_identity_make(&self, &prover, 1, strtoull(argv[3], NULL, 10),
                           &err) != 0 ||
        !peer_link_open(&settings, &endpoint, &events, NULL, &err)) {
        puts(err.text);
        return 2;
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    uv_loop_close(uv_default_loop());
    SSL_CTX_free(tls);
    return status;
}
