/* test_keeper_wire.c - what heapwired and its keeper say to each other. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config.h"
#include "errors.h"
#include "keeper_wire.h"
#include "suite.h"
#include "auth.h"

#define SECRET "the-secret-of-this-cluster"
#define SHA1   "0123456789abcdef0123456789abcdef01234567"
#define SHA256                                                                 \
    "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static int ends[2];
static struct buffer message;

static void
set_up(void)
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    buffer_init(&message, KEEPER_QUESTION_MAX);
}

static void
tear_down(void)
{
    buffer_wipe(&message);
    close(ends[0]);
    if (ends[1] >= 0)
        close(ends[1]);
}

static void
hang_up(void)
{
    close(ends[1]);
    ends[1] = -1;
}

START_TEST(a_message_arrives_as_it_was_sent)
{
    struct buffer sent;

    buffer_init(&sent, KEEPER_QUESTION_MAX);
    buffer_text(&sent, "a question");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(keeper_send(ends[1], &sent, 1000), 0);
        buffer_clear(&message);
        ck_assert_int_eq(keeper_receive(ends[0], &message, 1000), 0);
        ck_assert_str_eq(message.data, "a question");
        buffer_clear(&sent);
        buffer_text(&sent, "a question");
    }
    buffer_wipe(&sent);
}
END_TEST

/* 4 bytes of its size, 4 of its text. */
START_TEST(a_message_that_is_cut_off_is_none)
{
    static const char bytes[] = "\4\0\0\0text";

    ck_assert_int_eq(send(ends[1], bytes, (size_t)_i, 0), _i);
    hang_up();
    ck_assert_int_eq(keeper_receive(ends[0], &message, 1000), -1);
    ck_assert_int_eq(errno, EPIPE);
    ck_assert_uint_eq(message.size, 0);
}
END_TEST

START_TEST(a_message_that_does_not_come_is_not_waited_for)
{
    ck_assert_int_eq(send(ends[1], "\4\0\0\0te", 6, 0), 6);
    ck_assert_int_eq(keeper_receive(ends[0], &message, 10), -1);
    ck_assert_int_eq(errno, ETIMEDOUT);
}
END_TEST

START_TEST(a_message_has_a_ceiling)
{
    static const uint32_t size = KEEPER_QUESTION_MAX + 1;

    ck_assert_int_eq(send(ends[1], &size, sizeof(size), 0), sizeof(size));
    ck_assert_int_eq(keeper_receive(ends[0], &message, 1000), -1);
    ck_assert_int_eq(errno, EMSGSIZE);
}
END_TEST

START_TEST(unread_output_is_given_up)
{
    struct buffer large;
    int size = 4096;

    ck_assert_int_eq(
        setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
    buffer_init(&large, KEEPER_ANSWER_MAX);
    memset(buffer_reserve(&large, 1 << 20), 'x', 1 << 20);
    buffer_claim(&large, 1 << 20);
    ck_assert_int_eq(keeper_send(ends[0], &large, 10), -1);
    ck_assert_int_eq(errno, ETIMEDOUT);
    hang_up();
    ck_assert_int_eq(keeper_send(ends[0], &large, 1000), -1);
    ck_assert_int_eq(errno, EPIPE);
    buffer_wipe(&large);
}
END_TEST

/* The configuration */

static const char text[] =
    "[node]\nid = 7\nlisten = 10.0.0.7:9036\n"
    "[user ann]\nauth = native+sha2 " SHA1 " " SHA256
    "\nprivileges = status\nmax_connections = 3\n"
    "[user bob]\nauth = sha2 " SHA256 "\nprivileges = all\n"
    "[cluster]\nsecret = " SECRET "\netcd_user = hw\n"
    "etcd_password = " SECRET "2\n"
    "[peer 7]\naddress = 10.0.0.7:9036\n[peer 8]\naddress = 10.0.0.8:9036\n";

static void
put(struct buffer *out, struct config *config)
{
    struct config_faults faults;

    memset(config, 0, sizeof(*config));
    config_faults_init(&faults);
    setting_defaults(config);
    ck_assert_int_eq(config_parse(config, "x", text, sizeof(text) - 1, &faults),
                     0);
    config_faults_fini(&faults);
    buffer_init(out, KEEPER_ANSWER_MAX);
    keeper_put_config(out, config);
    ck_assert(!out->failed);
}

static bool
holds(const struct buffer *bytes, const void *secret, size_t size)
{
    return memmem(bytes->data, bytes->size, secret, size) != NULL;
}

START_TEST(a_configuration_comes_without_its_secrets)
{
    const struct user *ann, *bob;
    struct config config, read = {0};
    struct buffer bytes;
    struct reader in;
    struct error err;

    put(&bytes, &config);
    ann = users_named(config.users, "ann");
    ck_assert(!holds(&bytes, SECRET, strlen(SECRET)));
    ck_assert(!holds(&bytes, ann->verifier.sha1, AUTH_SHA1));
    ck_assert(!holds(&bytes, ann->verifier.sha256, AUTH_SHA256));
    in = reader_of(bytes.data, bytes.size);
    ck_assert_int_eq(keeper_read_config(&in, &read, &err), 0);
    ck_assert_uint_eq(read.node_id, 7);
    ck_assert_str_eq(read.cluster.secret, "(not shown)");
    ck_assert_str_eq(read.cluster.etcd.password, "(not shown)");
    ck_assert_str_eq(read.cluster.etcd.user, "hw");
    ck_assert_uint_eq(read.cluster.peer_count, 2);
    ck_assert_str_eq(read.cluster.peers[1].address, "10.0.0.8");
    ck_assert_uint_eq(users_count(read.users), 2);
    ann = users_named(read.users, "ann");
    bob = users_named(read.users, "bob");
    ck_assert(ann->verifier.has_native && !bob->verifier.has_native);
    ck_assert_uint_eq(ann->max_connections, 3);
    ck_assert_uint_ne(ann->privileges, bob->privileges);
    ck_assert_ptr_null(users_named(read.users, "eve"));
    config_fini(&read);
    config_fini(&config);
    buffer_wipe(&bytes);
}
END_TEST

START_TEST(a_configuration_that_is_cut_off_is_none)
{
    struct config config;
    struct buffer bytes;
    struct error err;

    put(&bytes, &config);
    for (size_t size = 0; size < bytes.size; size += 13) {
        struct reader in = reader_of(bytes.data, size);
        struct config read = {0};

        ck_assert_int_eq(keeper_read_config(&in, &read, &err), -1);
        config_fini(&read);
    }
    config_fini(&config);
    buffer_wipe(&bytes);
}
END_TEST

int
main(void)
{
    TCase *wire = tcase_create("wire"), *rest = tcase_create("configuration");
    Suite *suite = suite_create("keeper_wire");

    tcase_add_checked_fixture(wire, set_up, tear_down);
    tcase_add_test(wire, a_message_arrives_as_it_was_sent);
    tcase_add_loop_test(wire, a_message_that_is_cut_off_is_none, 0, 8);
    tcase_add_test(wire, a_message_that_does_not_come_is_not_waited_for);
    tcase_add_test(wire, a_message_has_a_ceiling);
    tcase_add_test(wire, unread_output_is_given_up);
    tcase_add_test(rest, a_configuration_comes_without_its_secrets);
    tcase_add_test(rest, a_configuration_that_is_cut_off_is_none);
    suite_add_tcase(suite, wire);
    suite_add_tcase(suite, rest);
    return suite_run(suite);
}
