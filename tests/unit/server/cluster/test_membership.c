/* test_membership.c - the cluster's members, from all sources. */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "errors.h"
#include "etcd_nodes.h"
#include "failing_memory.h"
#include "cluster.h"
#include "suite.h"

static struct config config;
static struct config_faults faults;
static struct etcd_nodes etcd;
static struct members *members;
static struct error trouble, err;

static void
setup(void)
{
    memset(&config, 0, sizeof(config));
    memset(&etcd, 0, sizeof(etcd));
    members = NULL;
    setting_defaults(&config);
    config_faults_init(&faults);
}

static void
teardown(void)
{
    mem_free(members);
    etcd_nodes_fini(&etcd);
    config_fini(&config);
    config_faults_fini(&faults);
}

static void
configure(const char *text)
{
    ck_assert_int_eq(config_parse(&config, "f", text, strlen(text), &faults),
                     0);
    config_cluster_complete(&config, "f", &faults);
    ck_assert_uint_eq(faults.count, 0);
}

/* created: when it came. */
static void
tell(uint64_t id, const char *address, uint16_t port, int64_t created)
{
    struct etcd_node node = {.member = {.id = id, .port = port},
                             .created = created};

    snprintf(node.member.address, sizeof(node.member.address), "%s", address);
    ck_assert_int_eq(etcd_nodes_put(&etcd, &node, &err), 0);
}

/* "id=address:port ..." */
static const char *
listed(void)
{
    static char text[512];
    size_t size = 0;

    mem_free(members);
    memset(&trouble, 0, sizeof(trouble));
    members = membership_make(&config, &etcd, &trouble, &err);
    ck_assert_msg(members != NULL, "%s", err.text);
    *text = '\0';
    for (size_t i = 0; i < members->count; i++)
        size +=
            (size_t)snprintf(text + size, sizeof(text) - size, "%s%u=%s:%u",
                             i ? " " : "", (unsigned)members->items[i].id,
                             members->items[i].address, members->items[i].port);
    return text;
}

#define SHARED "[cluster]\nsecret = 0123456789abcdef\n"
#define TWO                                                                    \
    SHARED "[peer 10002]\naddress = 10.0.0.2:1\n"                              \
           "[peer 10001]\naddress = 10.0.0.1:1\nrole = compute_node\n"

START_TEST(a_lone_node_is_its_own_cluster)
{
    ck_assert_str_eq(listed(), "10001=127.0.0.1:9036");
    ck_assert_uint_eq(members->self, 10001);
    config.listen.none = true;
    ck_assert_str_eq(listed(), "10001=:0");
}
END_TEST

START_TEST(peers_are_members_and_so_is_this_node)
{
    configure(TWO);
    ck_assert_str_eq(listed(), "10001=10.0.0.1:1 10002=10.0.0.2:1");
    ck_assert_int_eq(members->items[0].role, PEER_COMPUTE_NODE);
    /* With a section or without. */
    config.node_id = 7;
    memcpy(config.listen.text, "10.0.0.7", 9);
    ck_assert_str_eq(listed(),
                     "7=10.0.0.7:1 10001=10.0.0.1:1 10002=10.0.0.2:1");
    ck_assert_uint_eq(members->self, 7);
    ck_assert_uint_eq(trouble.code, 0);
}
END_TEST

START_TEST(etcd_adds_to_the_configuration)
{
    configure(TWO);
    tell(10003, "10.0.0.3", 1, 5);
    tell(10002, "10.0.0.2", 1, 6); /* the same */
    tell(10001, "10.9.9.9", 9, 7); /* this node knows where it is */
    ck_assert_str_eq(listed(),
                     "10001=10.0.0.1:1 10002=10.0.0.2:1 10003=10.0.0.3:1");
    ck_assert_uint_eq(trouble.code, 0);
}
END_TEST

START_TEST(etcd_never_displaces_the_configuration)
{
    configure(TWO);
    tell(10002, "10.9.9.9", 9, 5);
    ck_assert_str_eq(listed(), "10001=10.0.0.1:1 10002=10.0.0.2:1");
    ck_assert_str_eq(trouble.text,
                     "etcd's node 10002 at 10.9.9.9:9 is left out: the "
                     "configuration has node 10002 at 10.0.0.2:1");
    etcd_nodes_clear(&etcd);
    tell(10003, "10.0.0.2", 1, 5);
    tell(10004, "10.0.0.1", 1, 5);
    ck_assert_str_eq(listed(), "10001=10.0.0.1:1 10002=10.0.0.2:1");
    ck_assert_str_eq(trouble.text,
                     "etcd's node 10004 at 10.0.0.1:1 is left out: that is "
                     "the address of node 10001 at 10.0.0.1:1; and so are 1 "
                     "others");
}
END_TEST

START_TEST(the_earlier_entry_wins_the_address)
{
    tell(3, "10.0.0.3", 1, 9);
    tell(4, "10.0.0.3", 1, 8);
    tell(5, "10.0.0.3", 1, 10);
    tell(6, "10.0.0.3", 2, 11);
    ck_assert_str_eq(listed(),
                     "4=10.0.0.3:1 6=10.0.0.3:2 10001=127.0.0.1:9036");
    ck_assert_uint_ne(trouble.code, 0);
    etcd_nodes_remove(&etcd, 4);
    ck_assert_str_eq(listed(),
                     "3=10.0.0.3:1 6=10.0.0.3:2 10001=127.0.0.1:9036");
    ck_assert_str_eq(trouble.text,
                     "etcd's node 5 at 10.0.0.3:1 is left out: that is the "
                     "address of node 3 at 10.0.0.3:1");
}
END_TEST

START_TEST(a_node_gone_from_etcd_keeps_no_address)
{
    struct etcd_nodes now = {0}, both;

    tell(3, "10.0.0.3", 1, 1);
    tell(5, "10.0.0.5", 1, 2);
    tell(9, "10.0.0.9", 1, 3);
    now = etcd;
    memset(&etcd, 0, sizeof(etcd));
    tell(2, "10.0.0.3", 1, 8);
    tell(5, "10.0.0.5", 2, 7);
    ck_assert_int_eq(etcd_nodes_join(&both, &etcd, &now, &err), 0);
    etcd_nodes_fini(&now);
    etcd_nodes_fini(&etcd);
    etcd = both;
    ck_assert_str_eq(
        listed(),
        "2=10.0.0.3:1 5=10.0.0.5:2 9=10.0.0.9:1 10001=127.0.0.1:9036");
    ck_assert_uint_eq(trouble.code, 0);
}
END_TEST

START_TEST(without_memory_there_are_no_members)
{
    bool failed = true;

    configure(TWO);
    tell(10003, "10.0.0.3", 1, 5);
    for (unsigned n = 1; failed; n++) {
        ck_assert_uint_lt(n, 100);
        failing = allocations + n;
        members = membership_make(&config, &etcd, &trouble, &err);
        failing = 0;
        failed = !members;
        ck_assert_uint_eq(failed ? err.code : ER_OUT_OF_MEMORY,
                          ER_OUT_OF_MEMORY);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("membership");
    TCase *tcase = tcase_create("membership");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_lone_node_is_its_own_cluster);
    tcase_add_test(tcase, peers_are_members_and_so_is_this_node);
    tcase_add_test(tcase, etcd_adds_to_the_configuration);
    tcase_add_test(tcase, etcd_never_displaces_the_configuration);
    tcase_add_test(tcase, the_earlier_entry_wins_the_address);
    tcase_add_test(tcase, a_node_gone_from_etcd_keeps_no_address);
    tcase_add_test(tcase, without_memory_there_are_no_members);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
