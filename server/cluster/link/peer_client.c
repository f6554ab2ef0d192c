/* peer_client.c - see peer_client.h. */
#include "peer_client.h"

#include <string.h>

#include <openssl/crypto.h>

#include "buffer.h"
#include "client_plugin_api.h"
#include "peer_envelope.h"

static const char user_data[] = "heapwire";

/* ---- the plugin ---- */

/* False with client->error; without one, the connection itself failed, and
 * mysql has the reason. */
static bool
take(MYSQL_PLUGIN_VIO *vio, struct span *out)
{
    unsigned char *bytes = NULL;
    int size = vio->read_packet(vio, &bytes);

    if (size < 0)
        return false;
    *out = (struct span){bytes ? (const char *)bytes : "",
                         bytes ? (size_t)size : 0};
    return true;
}

static bool
say(MYSQL_PLUGIN_VIO *vio, struct span text)
{
    return vio->write_packet(vio, (const unsigned char *)text.data,
                             (int)text.size) == 0;
}

static void
keep_welcome(struct peer_client *client, const struct peer_party *server,
             const struct peer_welcome *welcome)
{
    memcpy(client->incarnation, server->incarnation, PEER_INCARNATION);
    memcpy(client->fingerprint, welcome->fingerprint, PEER_FINGERPRINT);
    client->has_fingerprint = welcome->has_fingerprint;
    memcpy(client->version, welcome->version, sizeof(client->version));
    client->sequence = 1;
    client->proven = true;
}

static bool
talk(struct peer_client *client, MYSQL_PLUGIN_VIO *vio)
{
    const struct peer_identity *self = client->self;
    struct peer_transcript t = {.size = 0};
    struct peer_welcome welcome;
    struct peer_party server;
    struct span packet;

    if (!take(vio, &packet) ||
        peer_challenge_read(&t, self, client->expected_id, packet, &server,
                            &client->error) != 0 ||
        peer_hello_make(&t, self, client->expected_id, &packet,
                        &client->error) != 0 ||
        !say(vio, packet) || !take(vio, &packet) ||
        peer_welcome_check(&t, self, packet, &welcome, &client->error) != 0 ||
        peer_session_key(&t, self, client->session_key, &client->error) != 0)
        return false;
    keep_welcome(client, &server, &welcome);
    return true;
}

/* Called twice: first to begin, where the answer is the switch to this very
 * plugin, which reads as a failure; then with the challenge. */
static int
authenticate(MYSQL_PLUGIN_VIO *vio, MYSQL *mysql)
{
    struct peer_client *client = NULL;

    if (mysql_get_optionv(mysql, MARIADB_OPT_USERDATA, (void *)user_data,
                          (void *)&client) != 0 ||
        !client)
        return CR_ERROR;
    peer_client_reset(client);
    return talk(client, vio) ? CR_OK : CR_ERROR;
}

static struct client_auth_plugin plugin = {
    .base = {.type = CLIENT_PLUGIN_AUTH_TYPE,
             .interface_version = CLIENT_PLUGIN_AUTH_INTERFACE,
             .name = PEER_PLUGIN,
             .author = "heapwire",
             .desc = "proves nodes of a cluster to each other",
             .version = {PEER_PROTOCOL, 0, 0},
             .license = ""},
    .authenticate = authenticate,
};

/* ---- */

int
peer_client_prepare(struct error *err)
{
    MYSQL *mysql;
    int rc = -1;

    if (mysql_library_init(0, NULL, NULL) != 0 || !(mysql = mysql_init(NULL))) {
        error_memory(err, "libmysqlclient");
        return -1;
    }
    if (mysql_client_register_plugin(mysql,
                                     (struct st_mysql_client_plugin *)&plugin))
        rc = 0;
    else
        error_set(err, ER_UNKNOWN, "libmysqlclient takes no plugin: %s",
                  mysql_error(mysql));
    mysql_close(mysql);
    return rc;
}

int
peer_client_attach(struct peer_client *client, MYSQL *mysql, struct error *err)
{
    unsigned off = 0;

    if (mysql_options(mysql, MYSQL_DEFAULT_AUTH, PEER_PLUGIN) == 0 &&
        mysql_options(mysql, MARIADB_OPT_RESTRICTED_AUTH, PEER_PLUGIN) == 0 &&
        mysql_options(mysql, MYSQL_OPT_LOCAL_INFILE, &off) == 0 &&
        mysql_optionsv(mysql, MARIADB_OPT_USERDATA, (void *)user_data,
                       client) == 0)
        return 0;
    error_set(err, ER_UNKNOWN,
              "libmysqlclient does not log in with " PEER_PLUGIN ": %s",
              mysql_error(mysql));
    return -1;
}

static void
put_hex(struct buffer *out, const struct buffer *bytes)
{
    static const char digits[] = "0123456789abcdef";
    char *at = buffer_reserve(out, 2 * bytes->size);

    if (!at)
        return;
    for (size_t i = 0; i < bytes->size; i++) {
        at[2 * i] = digits[(unsigned char)bytes->data[i] >> 4];
        at[2 * i + 1] = digits[(unsigned char)bytes->data[i] & 15];
    }
    buffer_claim(out, 2 * bytes->size);
}

int
peer_client_seal(struct peer_client *client, const struct peer_request *request,
                 unsigned timeout_ms, struct buffer *out, struct error *err)
{
    struct peer_envelope envelope = {
        .sequence = client->sequence,
        .forwarded = {.verb = request->verb,
                      .text = request->text,
                      .caller = *request->caller,
                      .connection_id = request->connection_id,
                      .timeout_ms = timeout_ms}};
    struct buffer bytes;
    int rc = -1;

    buffer_init(&bytes, PEER_ENVELOPE_MAX);
    if (!client->proven) {
        error_set(err, ER_ACCESS_DENIED,
                  "Access denied: the other node has not proven itself");
        goto out;
    }
    if (peer_envelope_seal(&envelope, client->session_key, &bytes, err) != 0)
        goto out;
    buffer_text(out, "ADMIN FORWARD '");
    put_hex(out, &bytes);
    buffer_char(out, '\'');
    if (out->failed) {
        error_memory(err, "a statement for another node");
        goto out;
    }
    client->sequence++;
    rc = 0;
out:
    buffer_fini(&bytes);
    return rc;
}

void
peer_client_reset(struct peer_client *client)
{
    const struct peer_identity *self = client->self;
    uint64_t expected_id = client->expected_id;

    OPENSSL_cleanse(client, sizeof(*client));
    client->self = self;
    client->expected_id = expected_id;
}
