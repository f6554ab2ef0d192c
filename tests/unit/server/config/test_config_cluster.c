/* test_config_cluster.c - [cluster] and [peer N], and all that is wrong there.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "errors.h"
#include "suite.h"

#define SECRET "0123456789abcdef"
#define SHARED "[cluster]\nsecret = " SECRET "\n"

static struct config config;
static struct config_faults faults;
static char directory[] = "/tmp/hw-cluster-XXXXXX";
static char path[64], secret_path[64];

static void
setup(void)
{
    memset(&config, 0, sizeof(config));
    config_faults_init(&faults);
    memcpy(directory + strlen(directory) - 6, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/c", directory);
    snprintf(secret_path, sizeof(secret_path), "%s/s", directory);
}

static void
teardown(void)
{
    config_fini(&config);
    config_faults_fini(&faults);
    unlink(path);
    unlink(secret_path);
    rmdir(directory);
}

static void
write_file(const char *name, const char *text, mode_t mode)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (int)strlen(text));
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

static int
load_as(const char *id, const char *listen)
{
    struct config_arguments args = {.file = path};

    args.values[CONFIG_ID] = id;
    args.values[CONFIG_LISTEN] = listen;
    config_fini(&config);
    config_faults_fini(&faults);
    config_faults_init(&faults);
    return config_load(&config, &args, &faults);
}

static int
load(const char *text)
{
    write_file(path, text, 0600);
    return load_as(NULL, NULL);
}

#define THREE                                                                  \
    SHARED "[peer 10003]\naddress = [0:0::3]:9036\nrole = compute_node\n"      \
           "[peer 10001]\naddress = 127.0.0.1:9001\n"                          \
           "[peer  10002]\nrole = backend\naddress = 127.0.0.2:9036\n"

START_TEST(one_file_serves_all_nodes)
{
    ck_assert_int_eq(load(THREE), 0);
    ck_assert_str_eq(config.cluster.name, "heapwire");
    ck_assert_str_eq(config.cluster.secret, SECRET);
    ck_assert_uint_eq(config.cluster.connect_timeout_s, 1);
    ck_assert_uint_eq(config.cluster.links_max, 10240);
    ck_assert_uint_eq(config.cluster.peer_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_uint_eq(config.cluster.peers[i].id, 10001 + i);
    ck_assert_str_eq(config.cluster.peers[1].address, "127.0.0.2");
    ck_assert_str_eq(config.cluster.peers[2].address, "::3");
    ck_assert_uint_eq(config.cluster.peers[2].port, 9036);
    ck_assert_int_eq(config.cluster.peers[2].role, PEER_COMPUTE_NODE);
    /* Each listens where the others look for it. */
    ck_assert_str_eq(config.listen.text, "127.0.0.1");
    ck_assert_uint_eq(config.listen.port, 9001);
    ck_assert_int_eq(config.cluster.role, PEER_BACKEND);
    ck_assert_int_eq(load_as("10003", NULL), 0);
    ck_assert_str_eq(config.listen.text, "::3");
    ck_assert_uint_eq(config.listen.port, 9036);
    ck_assert_int_eq(config.cluster.role, PEER_COMPUTE_NODE);
    ck_assert(config_requires_tls(&config));
    /* One that is not among them has its own. */
    ck_assert_int_eq(load_as("7", NULL), 0);
    ck_assert_str_eq(config.listen.text, "127.0.0.1");
    ck_assert_uint_eq(config.listen.port, CONFIG_DEFAULT_PORT);
}
END_TEST

START_TEST(the_advertised_address_can_be_set)
{
    write_file(path, THREE, 0600);
    ck_assert_int_eq(load_as(NULL, "127.0.0.1:9001"), 0);
    ck_assert_int_eq(load_as(NULL, "0.0.0.0:9001"), 0);
    ck_assert_str_eq(config.listen.text, "0.0.0.0");
    ck_assert_int_eq(load_as("10003", "[0::3]:9036"), 0);
    ck_assert_int_eq(load_as("10003", "[::]:9036"), 0);
}
END_TEST

START_TEST(the_keys_of_cluster_are_read)
{
    ck_assert_int_eq(load("[cluster]\nname = east-1.prod_2\n"
                          "secret = " SECRET "\nconnect_timeout = 5\n"
                          "max_links = 20000\n"
                          "role = compute_node\n"),
                     0);
    ck_assert_str_eq(config.cluster.name, "east-1.prod_2");
    ck_assert_uint_eq(config.cluster.connect_timeout_s, 5);
    ck_assert_uint_eq(config.cluster.links_max, 20000);
    ck_assert_int_eq(config.cluster.role, PEER_COMPUTE_NODE);
    ck_assert_uint_eq(config.cluster.peer_count, 0);
}
END_TEST

#define PEER(id, address) "[peer " id "]\naddress = " address "\n"

static const struct {
    const char *text;
    const char *fault; /* contained, behind the file's name */
} wrong[] = {
    {"[cluster]\nname =\n", ":2: name = : must be 1 to 64 letters"},
    {"[cluster]\nname = a/b\n", ":2: name = a/b: must be 1 to 64 letters"},
    {"[cluster]\nsecret = short\n", ":2: secret = (not shown): must be 16 to"},
    {"[cluster]\nsecret = 0123456789 abcdef\n",
     ":2: secret = (not shown): must be 16 to 160 letters"},
    {SHARED "secret = " SECRET "\n", ":3: 'secret' is given twice"},
    {"[cluster]\nsecrets = " SECRET "\n",
     ":2: unknown key 'secrets' in [cluster] (allowed: name, secret, "},
    {"[cluster]\nsecret_file =\n", ":2: secret_file = : must be a path"},
    {"[cluster]\nsecret_file = /nowhere/at/all\n",
     "/nowhere/at/all: cannot be opened"},
    {SHARED "secret_file = /nowhere\n",
     ": [cluster] has both secret and secret_file: give only one"},
    {"[cluster]\nconnect_timeout = 0\n", ":2: connect_timeout = 0: must be a"},
    {"[cluster]\nconnect_timeout = 61\n", ":2: connect_timeout = 61: must be"},
    {"[cluster]\nmax_links = 15\n", ":2: max_links = 15: must be a"},
    {"[cluster]\nrole = follower\n", ":2: role = follower: must be backend or"},
    {"[cluster]\n[cluster]\n", ":2: [cluster] is given twice"},
    {SHARED "[peer db2]\naddress = 10.0.0.1:1\n",
     ":3: [peer db2]: a peer's name is its node's id, a number from 1 to"},
    {SHARED PEER("0", "10.0.0.1:1"), ":3: [peer 0]: a peer's name is its"},
    {SHARED PEER("-1", "10.0.0.1:1"), ":3: [peer -1]: a peer's name is"},
    {SHARED PEER("4294967296", "10.0.0.1:1"), ":3: [peer 4294967296]: a p"},
    {SHARED PEER("1 2", "10.0.0.1:1"), ":3: [peer 1 2]: a peer's name is"},
    {SHARED "[peer ]\naddress = 10.0.0.1:1\n", ":3: [peer ]: a peer's name"},
    {SHARED "[peer]\naddress = 10.0.0.1:1\n", ":3: unknown section [peer]"},
    {SHARED "[peer 2]\n", ":3: [peer 2] has no line 'address = ...'"},
    {SHARED PEER("2", "db2:9036"),
     ":4: address = db2:9036: must be ADDRESS:PORT such as 10.0.0.2:9036 or "
     "[fd00::2]:9036; no name is looked up"},
    {SHARED PEER("2", "localhost:1"), ":4: address = localhost:1: must be"},
    {SHARED PEER("2", "10.0.0.2"), ":4: address = 10.0.0.2: must be ADDRESS"},
    {SHARED PEER("2", "10.0.0.2:0"), ":4: address = 10.0.0.2:0: must be that"},
    {SHARED PEER("2", "0.0.0.0:1"), ":4: address = 0.0.0.0:1: must be that"},
    {SHARED PEER("2", "[::]:1"), ":4: address = [::]:1: must be that node's"},
    {SHARED PEER("2", "224.0.0.1:1"), ":4: address = 224.0.0.1:1: must be"},
    {SHARED PEER("2", "[::ffff:1.2.3.4]:1"), ":4: address = [::ffff:1.2.3.4]"},
    {SHARED PEER("2", "none"), ":4: address = none: must be ADDRESS:PORT"},
    {SHARED PEER("2", "10.0.0.2:1") "address = 10.0.0.3:1\n",
     ":5: 'address' is given twice"},
    {SHARED PEER("2", "10.0.0.2:1") "role = master\n",
     ":5: role = master: must be backend or compute_node"},
    {SHARED PEER("2", "10.0.0.2:1") "role = backend\nrole = backend\n",
     ":6: 'role' is given twice"},
    {SHARED PEER("2", "10.0.0.2:1") "secret = x\n",
     ":5: unknown key 'secret' in [peer 2] (allowed: address, role)"},
    {SHARED PEER("2", "10.0.0.2:1") PEER("3", "10.0.0.3:1")
         PEER("2", "10.0.0.4:1"),
     ":7: [peer 2] was given before, in line 3"},
    {SHARED PEER("2", "[fd00::2]:1") PEER("3", "10.0.0.3:1")
         PEER("4", "[fd00:0::0:2]:1"),
     ":7: [peer 4] has the address of [peer 2] in line 3"},
    {"[node]\nid = 2\nlisten = 10.0.0.9:1\n" SHARED PEER("2", "10.0.0.2:1"),
     ":6: [peer 2] is this node, which listens on 10.0.0.9:1: give both"},
    {"[node]\nid = 2\nlisten = none\n" SHARED PEER("2", "10.0.0.2:1"),
     ":6: [peer 2] is this node, which listens on none: give both"},
    {"[node]\nid = 2\nlisten = 0.0.0.0:2\n" SHARED PEER("2", "10.0.0.2:1"),
     ":6: [peer 2] is this node, which listens on 0.0.0.0:2: give both"},
    {PEER("2", "10.0.0.2:1"), ":1: [peer 2] needs a secret that all nodes"},
    {SHARED "etcd =\n", ":3: etcd = : must be at most 8 of http://HOST:PORT"},
    {SHARED "etcd = 127.0.0.1:2379\n", ":3: etcd = 127.0.0.1:2379: must be"},
    {SHARED "etcd = http://127.0.0.1\n", ":3: etcd = http://127.0.0.1: mus"},
    {SHARED "etcd = http://:2379\n", ":3: etcd = http://:2379: must be at"},
    {SHARED "etcd = ftp://a:1\n", ":3: etcd = ftp://a:1: must be at most 8"},
    {SHARED "etcd = http://u@a:1\n", ":3: etcd = http://u@a:1: must be at"},
    {SHARED "etcd = http://a:1/v3\n", ":3: etcd = http://a:1/v3: must be at"},
    {SHARED "etcd = http://a:1 http://b:1\n", ":3: etcd = http://a:1 http://b"},
    {SHARED "etcd = http://a:1,\n", ":3: etcd = http://a:1,: must be at mos"},
    {SHARED "etcd = http://a:1,http://a:1,http://a:1,http://a:1,http://a:1,"
            "http://a:1,http://a:1,http://a:1,http://a:1\n",
     ": must be at most 8 of http://HOST:PORT"},
    {SHARED "etcd_ttl = 2\n", ":3: etcd_ttl = 2: must be a number of seconds"},
    {SHARED "etcd_password = hush hush\netcd_password = hush hush\n",
     ":4: 'etcd_password' is given twice"},
    {"[cluster]\netcd = http://a:1\n", ": [cluster] etcd needs a secret tha"},
    {SHARED "etcd = http://a:1\n[node]\nlisten = none\n",
     ": [cluster] etcd gives other nodes the address that this node listens "
     "on, which must"},
    {SHARED "etcd = http://a:1\n[node]\nlisten = 0.0.0.0:9036\n",
     ": [cluster] etcd gives other nodes the address that this node listens "
     "on, which must"},
    {SHARED "etcd = http://a:1\netcd_user = hw\n",
     ": [cluster] etcd_user and etcd_password: both, or neither"},
    {SHARED "etcd = https://a:1\netcd_cert = /c\n",
     ": [cluster] etcd_cert and etcd_key: both, or neither"},
};

START_TEST(each_fault_is_reported_with_its_line)
{
    ck_assert_int_eq(load(wrong[_i].text), -1);
    ck_assert_msg(strstr(faults.text.data, wrong[_i].fault), "%s",
                  faults.text.data);
    ck_assert_msg(faults.count == 1, "%s", faults.text.data);
    ck_assert_ptr_null(strstr(faults.text.data, SECRET));
    ck_assert_ptr_null(strstr(faults.text.data, "0123456789"));
}
END_TEST

START_TEST(the_keys_of_etcd_are_read)
{
    const struct config_etcd *etcd = &config.cluster.etcd;

    ck_assert_int_eq(load(SHARED "etcd = http://127.0.0.1:2379, "
                                 "https://etcd-2.example.org:2379,"
                                 "http://[::1]:2379\n"
                                 "etcd_ttl = 30\netcd_cacert = /ca.pem\n"
                                 "etcd_cert = /c.pem\netcd_key = /k.pem\n"
                                 "etcd_user = hw\netcd_password = hush\n"),
                     0);
    ck_assert_str_eq(etcd->endpoints,
                     "http://127.0.0.1:2379, https://etcd-2.example.org:2379,"
                     "http://[::1]:2379");
    ck_assert_uint_eq(etcd->ttl_s, 30);
    ck_assert_str_eq(etcd->cacert, "/ca.pem");
    ck_assert_str_eq(etcd->password, "hush");
    ck_assert_int_eq(load(SHARED "etcd = http://127.0.0.1:2379\n"), 0);
    ck_assert_uint_eq(etcd->ttl_s, 10);
    /* Listening everywhere is fine where the others learn where. */
    ck_assert_int_eq(load(SHARED
                          "etcd = http://a:1\n[node]\nid = 2\n"
                          "listen = 0.0.0.0:9036\n" PEER("2", "10.0.0.2:9036")),
                     0);
}
END_TEST

START_TEST(too_many_nodes_are_reported)
{
    struct buffer text;

    buffer_init(&text, CONFIG_FILE_MAX);
    buffer_text(&text, SHARED);
    for (unsigned i = 1; i <= PEERS_MAX; i++)
        buffer_format(&text, "[peer %u]\naddress = 10.0.0.1:%u\n", i, i);
    ck_assert(!text.failed);
    ck_assert_int_eq(load(text.data), 0);
    ck_assert_uint_eq(config.cluster.peer_count, PEERS_MAX);
    buffer_format(&text, "[peer %u]\naddress = 10.0.0.2:1\n", PEERS_MAX + 1);
    ck_assert_int_eq(load(text.data), -1);
    ck_assert_ptr_nonnull(
        strstr(faults.text.data, ":32771: [peer 16385]: there are more than"));
    buffer_fini(&text);
}
END_TEST

START_TEST(a_file_with_a_secret_is_private)
{
    write_file(path, SHARED, 0640);
    ck_assert_int_eq(load_as(NULL, NULL), -1);
    ck_assert_ptr_nonnull(strstr(
        faults.text.data, "holds a secret of the cluster and can be read "
                          "by others (chmod 600"));
}
END_TEST

static int
load_secret(const char *secret, mode_t mode)
{
    char text[256];

    snprintf(text, sizeof(text),
             "[cluster]\nsecret_file = %s\n" PEER("2", "10.0.0.2:1"),
             secret_path);
    write_file(secret_path, secret, mode);
    write_file(path, text, 0644); /* nothing is secret in this one */
    return load_as(NULL, NULL);
}

START_TEST(a_secret_may_have_a_file_of_its_own)
{
    char longest[CONFIG_SECRET_MAX + 4];

    ck_assert_int_eq(load_secret(SECRET "\n", 0600), 0);
    ck_assert_str_eq(config.cluster.secret, SECRET);
    ck_assert_int_eq(load_secret(SECRET, 0400), 0);
    ck_assert_str_eq(config.cluster.secret, SECRET);
    memset(longest, 'x', sizeof(longest));
    memcpy(longest + CONFIG_SECRET_MAX, "\r\n", 3);
    ck_assert_int_eq(load_secret(longest, 0600), 0);
    ck_assert_uint_eq(strlen(config.cluster.secret), CONFIG_SECRET_MAX);
}
END_TEST

static const struct {
    const char *secret;
    mode_t mode;
    const char *fault;
} wrong_secrets[] = {
    {SECRET, 0640, "holds the cluster's secret and can be read by others"},
    {SECRET, 0604, "holds the cluster's secret and can be read by others"},
    {SECRET, 0620, "can be written by others (chmod 600)"},
    {"", 0600, "the cluster's secret must be one line of 16 to 160"},
    {"\n\n", 0600, "the cluster's secret must be one line of 16 to 160"},
    {"short\n", 0600, "the cluster's secret must be one line of 16 to 160"},
    {SECRET " x\n", 0600, "the cluster's secret must be one line of 16 to"},
    {SECRET "\n" SECRET "\n", 0600, "the cluster's secret must be one line"},
};

START_TEST(a_secrets_file_is_vetted)
{
    ck_assert_int_eq(
        load_secret(wrong_secrets[_i].secret, wrong_secrets[_i].mode), -1);
    ck_assert_uint_eq(faults.count, 1);
    ck_assert_msg(strstr(faults.text.data, wrong_secrets[_i].fault), "%s",
                  faults.text.data);
    ck_assert_ptr_null(strstr(faults.text.data, SECRET));
}
END_TEST

START_TEST(a_secret_is_never_shown)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    ck_assert_int_eq(load(THREE), 0);
    setting_print(&config, out);
    fclose(out);
    ck_assert_ptr_null(strstr(text, SECRET));
    ck_assert_ptr_nonnull(strstr(text, "\ncluster.secret=(not shown)\n"));
    ck_assert_ptr_nonnull(strstr(text, "\ncluster.name=heapwire\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nlisten=127.0.0.1:9001\n"));
    free(text);
}
END_TEST

START_TEST(a_reload_takes_what_may_be_reloaded)
{
    struct config before;

    ck_assert_int_eq(load(SHARED PEER("2", "10.0.0.2:1")), 0);
    before = config;
    memset(&config, 0, sizeof(config));
    ck_assert_int_eq(
        load("[node]\nhttp_get_changes = yes\nmax_connections = 7\n"
             "tls_cert = /c\ntls_key = /k\n[snapshots]\ngrowth = 1M\n"
             "[cluster]\nsecret = ABCDEFGHIJKLMNOPQ\n" PEER("3", "10.0.0.3:1")
                 PEER("4", "10.0.0.4:1")),
        0);
    setting_reload(&before, &config, false);
    ck_assert_str_eq(before.tls_cert, "");
    setting_reload(&before, &config, true);
    ck_assert_str_eq(before.tls_cert, "/c");
    ck_assert(before.http_get_changes);
    ck_assert_uint_eq(before.marks.growth, 1 << 20);
    ck_assert_uint_eq(before.max_connections, CONFIG_DEFAULT_CONNECTIONS);
    config_cluster_take(&before, &config);
    ck_assert_uint_eq(config.cluster.peer_count, 0);
    ck_assert_uint_eq(before.cluster.peer_count, 2);
    ck_assert_uint_eq(before.cluster.peers[0].id, 3);
    ck_assert_str_eq(before.cluster.secret, "ABCDEFGHIJKLMNOPQ");
    config_fini(&before);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("config_cluster");
    TCase *tcase = tcase_create("config_cluster");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, one_file_serves_all_nodes);
    tcase_add_test(tcase, the_advertised_address_can_be_set);
    tcase_add_test(tcase, the_keys_of_cluster_are_read);
    tcase_add_loop_test(tcase, each_fault_is_reported_with_its_line, 0,
                        sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_test(tcase, the_keys_of_etcd_are_read);
    tcase_add_test(tcase, too_many_nodes_are_reported);
    tcase_add_test(tcase, a_file_with_a_secret_is_private);
    tcase_add_test(tcase, a_secret_may_have_a_file_of_its_own);
    tcase_add_loop_test(tcase, a_secrets_file_is_vetted, 0,
                        sizeof(wrong_secrets) / sizeof(wrong_secrets[0]));
    tcase_add_test(tcase, a_secret_is_never_shown);
    tcase_add_test(tcase, a_reload_takes_what_may_be_reloaded);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
