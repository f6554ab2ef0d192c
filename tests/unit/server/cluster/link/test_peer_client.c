/* test_peer_client.c - the plugin, as libmysqlclient calls it, against the
 * server's end of the same proof. */
#include <mysql.h>

#include "buffer.h"
#include "client_plugin_api.h"
#include "peer_client.h"
#include "peer_envelope.h"
#include "peer_fixture.h"
#include "peer_link.h"
#include "suite.h"

enum { ASKS = 10001, ASKED = 10002 };

/* What the server does not do. */
enum fault {
    NONE,
    SWITCHES,      /* begins with a request to switch, as it always does */
    GOES,          /* closes instead of a challenge */
    SAYS_OK,       /* where the challenge should be */
    GOES_AFTER,    /* closes instead of a welcome */
    WELCOME_LATER, /* says OK instead of a welcome */
    WRONG_KEY
};

struct wire {
    MYSQL_PLUGIN_VIO vio; /* first */
    struct peer_end_point server;
    enum fault fault;
    int reads, writes;
    struct span next;
    struct peer_party client;
    struct error err; /* the server's */
};

static int
give(struct wire *w, struct span what, unsigned char **out)
{
    static unsigned char bytes[256];

    memcpy(bytes, what.data, what.size);
    *out = bytes;
    w->reads++;
    return (int)what.size;
}

static int
wire_read(MYSQL_PLUGIN_VIO *vio, unsigned char **out)
{
    static const struct span ok = {"\0\0\0\2\0\0\0", 7};
    struct wire *w = (struct wire *)vio;
    struct peer_end_point *s = &w->server;

    if (w->fault == SWITCHES || w->fault == GOES ||
        (w->fault == GOES_AFTER && w->reads == 1))
        return -1;
    if (w->fault == SAYS_OK || (w->fault == WELCOME_LATER && w->reads == 1))
        return give(w, ok, out);
    if (w->reads == 0)
        ck_assert_int_eq(
            peer_challenge_make(&s->said, &s->self, &w->next, &w->err), 0);
    return give(w, w->next, out);
}

static int
wire_write(MYSQL_PLUGIN_VIO *vio, const unsigned char *bytes, int size)
{
    static const struct peer_welcome welcome = {.version = "0.1.0"};
    struct span said = {(const char *)bytes, (size_t)size};
    struct wire *w = (struct wire *)vio;
    struct peer_end_point *s = &w->server;

    w->writes++;
    if (peer_hello_check(&s->said, &s->self, said, &w->client, &w->err) != 0) {
        if (w->fault != WRONG_KEY)
            return 1;
        s->said.size = PEER_CHALLENGE; /* it pretends */
        memcpy(s->said.bytes + PEER_CHALLENGE, bytes, (size_t)size);
        s->said.size += (size_t)size;
    }
    ck_assert_int_eq(
        peer_welcome_make(&s->said, &s->self, &welcome, &w->next, &w->err), 0);
    return 0;
}

static struct wire wire;
static struct peer_client client;
static struct peer_identity self;
static MYSQL *mysql;

static void
set_up(void)
{
    struct error err;

    memset(&wire, 0, sizeof(wire));
    wire.vio.read_packet = wire_read;
    wire.vio.write_packet = wire_write;
    wire.server = peer_end_point(ASKED);
    self = peer_node("blue", PEER_SECRET, ASKS);
    client = (struct peer_client){.self = &self, .expected_id = ASKED};
    ck_assert_int_eq(peer_client_prepare(&err), 0);
    mysql = mysql_init(NULL);
    ck_assert_ptr_nonnull(mysql);
    ck_assert_int_eq(peer_client_attach(&client, mysql, &err), 0);
}

static void
tear_down(void)
{
    mysql_close(mysql);
    mysql_library_end();
}

static int
authenticate(void)
{
    struct st_mysql_client_plugin *plugin = mysql_client_find_plugin(
        mysql, "heapwire_peer", CLIENT_PLUGIN_AUTH_TYPE);

    ck_assert_ptr_nonnull(plugin);
    return ((struct client_auth_plugin *)plugin)
        ->authenticate(&wire.vio, mysql);
}

START_TEST(the_plugin_logs_in)
{
    uint8_t key[PEER_KEY];
    struct error err;

    /* Called twice, as the library does. */
    wire.fault = SWITCHES;
    ck_assert_int_eq(authenticate(), CR_ERROR);
    ck_assert_uint_eq(client.error.code, 0);
    wire.fault = NONE;
    ck_assert_int_eq(authenticate(), CR_OK);
    ck_assert(client.proven);
    ck_assert_uint_eq(wire.client.id, ASKS);
    ck_assert_str_eq(client.version, "0.1.0");
    ck_assert(!client.has_fingerprint);
    ck_assert_mem_eq(client.incarnation, wire.server.self.incarnation,
                     PEER_INCARNATION);
    peer_session_key(&wire.server.said, &wire.server.self, key, &err);
    ck_assert_mem_eq(client.session_key, key, PEER_KEY);
}
END_TEST

static const struct {
    enum fault fault;
    uint64_t expected;
    const char *text; /* that error has; "" none */
    int writes;
} faults[] = {
    {GOES, ASKED, "", 0},
    {SAYS_OK, ASKED, "Bad handshake", 0},
    {GOES_AFTER, ASKED, "", 1},
    {WELCOME_LATER, ASKED, "Bad handshake", 1},
    {WRONG_KEY, ASKED, "does not prove", 1},
    {NONE, 10003, "id mismatch: node 10002 answers for node 10003", 0}};

START_TEST(what_is_not_proven_is_no_login)
{
    struct peer_request request = {
        .text = {"1", 1}, .caller = &(struct sql_identity){.user = ""}};
    struct buffer out;
    struct error err;

    wire.fault = faults[_i].fault;
    client.expected_id = faults[_i].expected;
    if (wire.fault == WRONG_KEY)
        wire.server.self =
            peer_node("blue", "another one, just as long", ASKED);
    ck_assert_int_eq(authenticate(), CR_ERROR);
    ck_assert(!client.proven);
    ck_assert_int_eq(wire.writes, faults[_i].writes);
    ck_assert_ptr_nonnull(strstr(client.error.text, faults[_i].text));
    ck_assert_int_eq(client.error.code != 0, *faults[_i].text != '\0');
    buffer_init(&out, 1000);
    ck_assert_int_eq(peer_client_seal(&client, &request, 1, &out, &err), -1);
    ck_assert_uint_eq(out.size, 0);
}
END_TEST

static uint8_t
nibble(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* What stands between the quotes. */
static size_t
decode(const struct buffer *statement, uint8_t *out)
{
    static const char head[] = "ADMIN FORWARD '";
    size_t size = (statement->size - strlen(head) - 1) / 2;
    const char *hex = statement->data + strlen(head);

    ck_assert_int_eq(strncmp(statement->data, head, strlen(head)), 0);
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(nibble(hex[2 * i]) << 4 | nibble(hex[2 * i + 1]));
    ck_assert_int_eq(hex[2 * size], '\'');
    return size;
}

START_TEST(statements_are_numbered_and_sealed_for_the_connection)
{
    struct sql_identity caller = {.user = "eve", .host = "::1"};
    struct peer_request request = {.verb = PEER_SCRIPT,
                                   .text = {"it", 2},
                                   .caller = &caller,
                                   .connection_id = 3};
    struct peer_envelope read;
    struct buffer out;
    struct error err;
    uint8_t key[PEER_KEY], bytes[1000];
    struct span envelope = {(char *)bytes, 0};

    ck_assert_int_eq(authenticate(), CR_OK);
    peer_session_key(&wire.server.said, &wire.server.self, key, &err);
    buffer_init(&out, 2000);
    for (uint64_t i = 1; i <= 3; i++) {
        buffer_clear(&out);
        ck_assert_int_eq(peer_client_seal(&client, &request, 500, &out, &err),
                         0);
        envelope.size = decode(&out, bytes);
        ck_assert_int_eq(peer_envelope_open(envelope, key, &read, &err), 0);
        ck_assert_uint_eq(read.sequence, i);
        ck_assert_str_eq(read.forwarded.caller.user, "eve");
        ck_assert_uint_eq(read.forwarded.timeout_ms, 500);
    }
    peer_client_reset(&client);
    ck_assert(!client.proven);
    ck_assert_uint_eq(client.expected_id, ASKED);
    buffer_fini(&out);
}
END_TEST

static unsigned long library;

unsigned long __wrap_mysql_get_client_version(void);

unsigned long
__wrap_mysql_get_client_version(void)
{
    return library;
}

START_TEST(a_library_of_another_make_is_refused)
{
    static const struct {
        int more; /* than what it was built for */
        bool taken;
    } cases[] = {{0, true}, {100, false}, {-100, false}, {10000, false}};
    struct error err = {0};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        library = MARIADB_PACKAGE_VERSION_ID + (unsigned long)cases[i].more;
        ck_assert_int_eq(peer_socket_prepare(&err) == 0, cases[i].taken);
    }
    ck_assert_ptr_nonnull(strstr(err.text, "build it anew"));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("peer_client");
    TCase *tcase = tcase_create("peer_client");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, the_plugin_logs_in);
    tcase_add_loop_test(tcase, what_is_not_proven_is_no_login, 0,
                        sizeof(faults) / sizeof(faults[0]));
    tcase_add_test(tcase,
                   statements_are_numbered_and_sealed_for_the_connection);
    tcase_add_test(tcase, a_library_of_another_make_is_refused);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
