/*
 * peer_ask.c - a node's end of a link, over the real libmysqlclient, for
 * peers.py: asks one thing once and prints what comes.
 *
 *     peer_ask PLACE WANTED-ID OWN-ID CLUSTER SECRET PRIVILEGES VERB TEXT
 *
 * PLACE is a unix socket, or an IPv4 address and port, or "tls:" and that.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "peer_client.h"
#include "peer_envelope.h"

enum { ARGUMENTS = 9 };

static int
fail(const struct peer_client *client, MYSQL *mysql)
{
    if (client->error.code)
        printf("plugin %u %s\n", client->error.code, client->error.text);
    else
        printf("%u %s\n", mysql_errno(mysql), mysql_error(mysql));
    return 1;
}

static int
dial(struct peer_client *client, MYSQL *mysql, const char *place)
{
    char address[64];
    const char *port;

    if (*place == '/')
        return mysql_real_connect(mysql, NULL, "peer", NULL, NULL, 0, place, 0)
                   ? 0
                   : fail(client, mysql);
    if (strncmp(place, "tls:", 4) == 0) {
        mysql_ssl_set(mysql, NULL, NULL, NULL, NULL, NULL);
        place += 4;
    }
    port = strrchr(place, ':');
    snprintf(address, sizeof(address), "%.*s", (int)(port - place), place);
    return mysql_real_connect(mysql, address, "peer", NULL, NULL,
                              (unsigned)strtoul(port + 1, NULL, 10), NULL, 0)
               ? 0
               : fail(client, mysql);
}

static int
ask(struct peer_client *client, MYSQL *mysql,
    const struct peer_request *request)
{
    struct buffer text;
    struct error err;
    MYSQL_RES *rows;
    MYSQL_ROW row;

    buffer_init(&text, (size_t)2 * PEER_ENVELOPE_MAX + 100);
    if (peer_client_seal(client, request, 5000, &text, &err) != 0 ||
        mysql_real_query(mysql, text.data, text.size) != 0 ||
        !(rows = mysql_store_result(mysql))) {
        buffer_fini(&text);
        return fail(client, mysql);
    }
    buffer_fini(&text);
    while ((row = mysql_fetch_row(rows)))
        puts(row[0] ? row[0] : "NULL");
    mysql_free_result(rows);
    return 0;
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
      const uint8_t proof[PEER_PROOF], bool *right, struct error *err)
{
    return peer_key_check(arg, label, said, proof, right, err);
}

int
main(int argc, char **argv)
{
    struct sql_identity caller = {.user = "ann", .host = "10.1.2.3"};
    struct peer_request request = {.caller = &caller, .connection_id = 77};
    struct peer_key key;
    struct peer_prover prover = {prove, check, &key};
    struct peer_identity self;
    struct peer_client client = {.self = &self};
    struct error err;
    MYSQL *mysql;
    int rc;

    if (argc != ARGUMENTS)
        return 2;
    client.expected_id = strtoull(argv[2], NULL, 10);
    caller.privileges = (uint32_t)strtoul(argv[6], NULL, 10);
    request.verb = strcmp(argv[7], "select") == 0 ? PEER_SELECT : PEER_SCRIPT;
    request.text = (struct span){argv[8], strlen(argv[8])};
    if (peer_key_make(&key, argv[4], argv[5], &err) != 0 ||
        peer_identity_make(&self, &prover, 1, strtoull(argv[3], NULL, 10),
                           &err) != 0 ||
        peer_client_prepare(&err) != 0) {
        puts(err.text);
        return 2;
    }
    mysql = mysql_init(NULL);
    rc = peer_client_attach(&client, mysql, &err) != 0 ||
         dial(&client, mysql, argv[1]) != 0;
    if (rc == 0) {
        printf("proven %d, %s, %s\n", client.proven, client.version,
               client.has_fingerprint ? "fingerprint" : "no fingerprint");
        rc = ask(&client, mysql, &request);
    }
    mysql_close(mysql);
    mysql_library_end();
    return rc;
}
