/* test_peer_wire.c - the asking end, against what a node says and what none
 * should. */
#include <string.h>

#include "buffer.h"
#include "await.h"
#include "errors.h"
#include "failing_memory.h"
#include "handshake.h"
#include "peer_fixture.h"
#include "peer_wire.h"
#include "reply.h"
#include "suite.h"

enum { ASKS = 10001, ASKED = 10002 };

#define BYTES(text) ((struct span){text, sizeof(text) - 1})

static struct peer_end_point server;
static struct peer_identity self;
static struct peer_wire wire;
static struct reply reply; /* what the node says, as heapwired writes it */
static struct span cells[PEER_COLUMNS_MAX];
static struct error err;

static void
set_up(void)
{
    allocations = 0;
    failing = 0;
    server = peer_end_point(ASKED);
    self = peer_node("blue", PEER_SECRET, ASKS);
    peer_wire_init(&wire, &self, ASKED, false);
    reply_init(&reply);
}

static void
tear_down(void)
{
    failing = 0;
    peer_wire_fini(&wire);
    reply_fini(&reply);
}

/* What reply has comes in, in pieces; the event of the last. */
static enum peer_wire_event
hear(size_t piece)
{
    enum peer_wire_event event = PEER_WIRE_MORE;
    size_t size = reply.out.size;

    for (size_t at = 0; at < size && event == PEER_WIRE_MORE; at += piece) {
        size_t left = size - at;

        if (peer_wire_feed(&wire, reply.out.data + at,
                           left < piece ? left : piece) != 0)
            return PEER_WIRE_BROKEN;
        event = peer_wire_next(&wire, cells, &err);
    }
    buffer_clear(&reply.out);
    return event;
}

/* One packet, as it is. */
static void
say(struct span payload)
{
    size_t mark = packet_begin(&reply.out);

    buffer_add(&reply.out, payload.data, payload.size);
    packet_end(&reply.out, mark, &reply.sequence);
}

/* The one packet that wire sends. */
static struct span
sent(void)
{
    struct span payload = {wire.out.data + PACKET_HEADER,
                           wire.out.size - PACKET_HEADER};

    ck_assert_uint_gt(wire.out.size, PACKET_HEADER);
    reply.sequence = (uint8_t)(wire.out.data[3] + 1);
    buffer_clear(&wire.out);
    return payload;
}

static void
greet(void)
{
    static const uint8_t nonce[AUTH_NONCE] = "abcdefghijklmnopqrst";

    handshake_greet(&reply, 7, "8.0.36-heapwire", nonce);
}

static void
challenge(void)
{
    struct span said;

    ck_assert_int_eq(
        peer_challenge_make(&server.transcript, &server.self, &said, &err), 0);
    handshake_switch_to(&reply, PEER_PLUGIN, said);
}

/* To the OK, with what the asking end sends read by what heapwired has. */
static enum peer_wire_event
log_in(size_t piece)
{
    static const struct peer_welcome welcome = {.version = "0.1.0"};
    struct peer_party seen;
    struct handshake h;
    struct span said;

    greet();
    if (hear(piece) != PEER_WIRE_MORE)
        return PEER_WIRE_BROKEN;
    ck_assert_int_eq(handshake_decode(sent(), &h, &err), 0);
    ck_assert(span_is(h.plugin, PEER_PLUGIN));
    ck_assert_uint_eq(h.answer.size, 0);
    challenge();
    if (hear(piece) != PEER_WIRE_MORE)
        return PEER_WIRE_BROKEN;
    ck_assert_int_eq(
        peer_hello_check(&server.transcript, &server.self, sent(), &seen, &err),
        0);
    ck_assert_int_eq(peer_welcome_make(&server.transcript, &server.self,
                                       &welcome, &said, &err),
                     0);
    handshake_more(&reply, said);
    reply_ok(&reply, 0, "");
    return hear(piece);
}

static int
ask(size_t columns)
{
    static const struct sql_identity who = {.user = "ann"};
    struct peer_request request = {
        .text = {"SELECT 1", 8}, .caller = &who, .column_count = columns};

    if (peer_wire_ask(&wire, &request, 1000, &err) != 0)
        return -1;
    ck_assert_int_eq(sent().data[0], 3);
    ck_assert_uint_eq(reply.sequence, 1);
    return 0;
}

/* The head of an answer, in the classic form. */
static void
begin_rows(size_t columns)
{
    char count = (char)columns;

    say((struct span){&count, 1});
    for (size_t i = 0; i < columns; i++)
        say(BYTES("\3def\0\0\0\1r\1r\x0c\x2d\0\xff\xff\xff\xff\xfd\0\0\0\0\0"));
    say(BYTES("\xfe\0\0\2\0"));
}

static const size_t pieces[] = {1, 3, 7, 1000};

START_TEST(a_node_logs_in_and_asks)
{
    size_t piece = pieces[_i];

    ck_assert_int_eq(log_in(piece), PEER_WIRE_READY);
    ck_assert(wire.client.proven);
    for (int round = 0; round < 3; round++) {
        ck_assert_int_eq(ask(2), 0);
        begin_rows(2);
        ck_assert_int_eq(hear(piece), PEER_WIRE_MORE);
        say(BYTES("\5hello\xfb"));
        ck_assert_int_eq(hear(piece), PEER_WIRE_ROW);
        ck_assert(span_is(cells[0], "hello"));
        ck_assert_ptr_null(cells[1].data);
        say(BYTES("\0\1x"));
        ck_assert_int_eq(hear(piece), PEER_WIRE_ROW);
        ck_assert_ptr_nonnull(cells[0].data);
        ck_assert_uint_eq(cells[0].size, 0);
        ck_assert(span_is(cells[1], "x"));
        say(BYTES("\xfe\0\0\2\0"));
        ck_assert_int_eq(hear(piece), PEER_WIRE_ANSWERED);
        ck_assert_uint_eq(err.code, 0);
        ck_assert(peer_wire_is_clean(&wire));
        ck_assert_ptr_null(wire.in.bytes.data);
    }
}
END_TEST

START_TEST(progress_may_come_anywhere)
{
    static const struct progress progress = {1, 2, 3, "working"};

    ck_assert_int_eq(log_in(1000), PEER_WIRE_READY);
    ck_assert_int_eq(ask(1), 0);
    reply_progress(&reply, &progress);
    ck_assert_int_eq(hear(pieces[_i]), PEER_WIRE_MORE);
    begin_rows(1);
    reply_progress(&reply, &progress);
    ck_assert_int_eq(hear(pieces[_i]), PEER_WIRE_MORE);
    say(BYTES("\5hello"));
    ck_assert_int_eq(hear(pieces[_i]), PEER_WIRE_ROW);
    ck_assert(span_is(cells[0], "hello"));
    reply_progress(&reply, &progress);
    say(BYTES("\xfe\0\0\2\0"));
    ck_assert_int_eq(hear(pieces[_i]), PEER_WIRE_ANSWERED);
    ck_assert_uint_eq(err.code, 0);
}
END_TEST

START_TEST(a_refusal_is_an_answer)
{
    struct error why;

    ck_assert_int_eq(log_in(1000), PEER_WIRE_READY);
    for (int rows = 0; rows < 2; rows++) {
        ck_assert_int_eq(ask(1), 0);
        if (rows)
            begin_rows(1);
        error_set(&why, ER_PARSE, "no such thing");
        reply_error(&reply, &why);
        ck_assert_int_eq(hear(1000), PEER_WIRE_ANSWERED);
        ck_assert_uint_eq(err.code, ER_PARSE);
        ck_assert_str_eq(err.text, "no such thing");
    }
    ck_assert_int_eq(ask(1), 0);
}
END_TEST

START_TEST(before_the_login_a_refusal_keeps_its_code)
{
    say(BYTES("\xff\x10\x04Too many connections"));
    ck_assert_int_eq(hear(1000), PEER_WIRE_BROKEN);
    ck_assert_uint_eq(err.code, ER_TOO_MANY_CONNECTIONS);
    ck_assert_str_eq(err.text, "Too many connections");
}
END_TEST

/* What comes instead of a packet of the login, and what is said of it. */
static const struct {
    int after; /* packets of the login */
    struct span packet;
    const char *text;
} faults[] = {
    {0, BYTES("HTTP/1.1 400 Bad Request"), "does not speak the MySQL"},
    {0, BYTES("\x0a"), "does not speak the MySQL"},
    {0, BYTES(""), "does not speak the MySQL"},
    {1, BYTES("\0\0\0\2\0\0\0"), "but did not prove which node"},
    {1, BYTES(""), "but did not prove which node"},
    {1, BYTES("\xfe"), "does not accept logins of other nodes"},
    {1,
     BYTES("\xfe"
           "caching_sha2_password\0abc"),
     "does not accept logins of other nodes"},
    {1, BYTES("\xfe" PEER_PLUGIN "\0\1"), "challenge of a node is malformed"},
    {2, BYTES("\0\0\0\2\0\0\0"), "but did not prove which node"},
    {2, BYTES("\1"), "Bad handshake"},
    {2, BYTES("\xff"), "no reason"}};

START_TEST(what_is_no_login_breaks_it)
{
    if (faults[_i].after > 0) {
        greet();
        ck_assert_int_eq(hear(1000), PEER_WIRE_MORE);
        sent();
    }
    if (faults[_i].after > 1) {
        challenge();
        ck_assert_int_eq(hear(1000), PEER_WIRE_MORE);
        sent();
    }
    say(faults[_i].packet);
    ck_assert_int_eq(hear(1000), PEER_WIRE_BROKEN);
    ck_assert_ptr_nonnull(strstr(err.text, faults[_i].text));
    ck_assert(!wire.client.proven);
}
END_TEST

/* What comes in an answer of one column, instead of its head or after it. */
static const struct {
    bool head;
    struct span packet;
    const char *text;
} answers[] = {
    {false, BYTES("\0\0\0\2\0\0\0"), "0 columns instead of 1"},
    {false, BYTES("\2"), "2 columns instead of 1"},
    {false, BYTES("\1\1"), "1 columns instead of 1"},
    {false, BYTES("\xfe\xff\xff\xff\xff\xff\xff\xff\xff"),
     "18446744073709551615 columns"},
    {false, BYTES("\xfb/etc/passwd"), "asks for a file"},
    {false, BYTES(""), "0 columns instead of 1"},
    {false, BYTES("\xff\xdd\x07#HY000Lost"), "Lost"},
    {true, BYTES(""), "malformed"},
    {true, BYTES("\1"), "malformed"},
    {true, BYTES("\1ab"), "malformed"},
    {true, BYTES("\xfd\xff\xff\xffhello"), "malformed"},
    {true, BYTES("\xfe\xff\xff\xff\xff\xff\xff\xff\xff"), "malformed"},
    {true, BYTES("\xfe\0\0\x0a\0"), "more than it was asked"},
    {true, BYTES("\xff\x01"), "no reason"}};

START_TEST(what_is_no_answer_breaks_it)
{
    ck_assert_int_eq(log_in(1000), PEER_WIRE_READY);
    ck_assert_int_eq(ask(1), 0);
    if (answers[_i].head)
        begin_rows(1);
    say(answers[_i].packet);
    ck_assert_int_eq(hear(1000), PEER_WIRE_BROKEN);
    ck_assert_ptr_nonnull(strstr(err.text, answers[_i].text));
}
END_TEST

START_TEST(columns_are_as_many_as_were_said)
{
    static const char column[] = "\3def";

    for (int more = 0; more < 2; more++) {
        tear_down();
        set_up();
        ck_assert_int_eq(log_in(1000), PEER_WIRE_READY);
        ck_assert_int_eq(ask(2), 0);
        say(BYTES("\2"));
        for (int i = 0; i < (more ? 3 : 1); i++)
            say(BYTES(column));
        say(BYTES("\xfe\0\0\2\0"));
        ck_assert_int_eq(hear(1000), PEER_WIRE_BROKEN);
        ck_assert_ptr_nonnull(strstr(err.text, more ? "no end" : "not all"));
    }
}
END_TEST

START_TEST(who_speaks_ahead_is_not_listened_to)
{
    greet();
    challenge();
    ck_assert_int_eq(hear(1000), PEER_WIRE_BROKEN);
    tear_down();
    set_up();
    ck_assert_int_eq(log_in(1000), PEER_WIRE_READY);
    ck_assert_int_eq(ask(1), 0);
    begin_rows(1);
    say(BYTES("\xfe\0\0\2\0"));
    say(BYTES("\1"));
    ck_assert_int_eq(hear(1000), PEER_WIRE_ANSWERED);
    ck_assert(!peer_wire_is_clean(&wire));
    ck_assert_int_eq(peer_wire_next(&wire, cells, &err), PEER_WIRE_BROKEN);
    ck_assert_str_eq(err.text, "it sent a packet that was not asked for");
}
END_TEST

START_TEST(packets_have_ceilings)
{
    static const char head[] = {0, 0, 1, 0}, large[] = {-1, -1, -1, 4},
                      rest[] = {2, 0, 0, 5};

    ck_assert_int_eq(peer_wire_feed(&wire, "\1\0\1\0", 4), 0);
    ck_assert_int_eq(peer_wire_next(&wire, cells, &err), PEER_WIRE_BROKEN);
    ck_assert_ptr_nonnull(strstr(err.text, "too large"));
    tear_down();
    set_up();
    ck_assert_int_eq(peer_wire_feed(&wire, head, 4), 0);
    ck_assert_int_eq(peer_wire_next(&wire, cells, &err), PEER_WIRE_MORE);
    tear_down();
    set_up();
    ck_assert_int_eq(log_in(1000), PEER_WIRE_READY);
    ck_assert_int_eq(ask(1), 0);
    begin_rows(1);
    ck_assert_int_eq(hear(1000), PEER_WIRE_MORE);
    ck_assert_int_eq(peer_wire_feed(&wire, large, 4), 0);
    ck_assert_int_eq(peer_wire_next(&wire, cells, &err), PEER_WIRE_MORE);
    ck_assert_uint_eq(packet_expected(&wire.in), PACKET_PIECE_MAX);
    for (size_t at = 0; at < PACKET_PIECE_MAX;) {
        static const char zeros[4096];
        size_t size = PACKET_PIECE_MAX - at;

        size = size < sizeof(zeros) ? size : sizeof(zeros);
        ck_assert_int_eq(peer_wire_feed(&wire, zeros, size), 0);
        at += size;
    }
    ck_assert_int_eq(peer_wire_feed(&wire, rest, 4), 0);
    ck_assert_int_eq(peer_wire_next(&wire, cells, &err), PEER_WIRE_BROKEN);
    ck_assert_ptr_nonnull(strstr(err.text, "too large"));
}
END_TEST

START_TEST(a_large_rows_memory_is_given_back)
{
    size_t size = 4 * PEER_WIRE_KEPT, mark;
    enum peer_wire_event event;

    ck_assert_int_eq(log_in(1000), PEER_WIRE_READY);
    ck_assert_int_eq(ask(1), 0);
    begin_rows(1);
    mark = packet_begin(&reply.out);
    buffer_lenenc(&reply.out, size);
    ck_assert_ptr_nonnull(buffer_reserve(&reply.out, size));
    memset(reply.out.data + reply.out.size, 'w', size);
    buffer_claim(&reply.out, size);
    packet_end(&reply.out, mark, &reply.sequence);
    ck_assert_int_eq(hear(16384), PEER_WIRE_ROW);
    ck_assert_uint_eq(cells[0].size, size);
    say(BYTES("\1x"));
    ck_assert_int_eq(peer_wire_feed(&wire, reply.out.data, 3), 0);
    event = peer_wire_next(&wire, cells, &err);
    ck_assert_int_eq(event, PEER_WIRE_MORE);
    ck_assert_uint_le(wire.in.bytes.capacity, PEER_WIRE_KEPT);
    ck_assert_int_eq(
        peer_wire_feed(&wire, reply.out.data + 3, reply.out.size - 3), 0);
    ck_assert_int_eq(peer_wire_next(&wire, cells, &err), PEER_WIRE_ROW);
    ck_assert(span_is(cells[0], "x"));
}
END_TEST

START_TEST(packets_are_counted)
{
    greet();
    reply.out.data[3] = 1;
    ck_assert_int_eq(hear(1000), PEER_WIRE_BROKEN);
    ck_assert_str_eq(err.text, "its packets are out of order");
}
END_TEST

START_TEST(tls_comes_before_the_login)
{
    struct handshake h;

    wire.tls = true;
    greet();
    ck_assert_int_eq(hear(1000), PEER_WIRE_TLS);
    ck_assert(handshake_wants_tls(sent()));
    peer_wire_secured(&wire);
    ck_assert_int_eq(wire.out.data[3], 2);
    ck_assert_int_eq(handshake_decode(sent(), &h, &err), 0);
    ck_assert(span_is(h.plugin, PEER_PLUGIN));
    challenge();
    ck_assert_int_eq(hear(1000), PEER_WIRE_MORE);
    ck_assert_int_eq(wire.out.data[3], 4);
    tear_down();
    set_up();
    wire.tls = true;
    say(BYTES("\x0a"
              "8.0\0\1\0\0\0saltsalt\0\xff\xf7\x21\2\0\xff\xc1"));
    ck_assert_int_eq(hear(1000), PEER_WIRE_BROKEN);
    ck_assert_str_eq(err.text, "it does not encrypt");
}
END_TEST

/* Whichever allocation fails: it breaks, or the statement is not sent. */
START_TEST(want_of_memory_is_an_error)
{
    bool went_well = false;

    for (unsigned nth = 1; !went_well; nth++) {
        ck_assert_uint_lt(nth, 200);
        tear_down();
        set_up();
        failing = nth;
        greet();
        if (!reply.out.failed && hear(1000) == PEER_WIRE_MORE &&
            !wire.out.failed) {
            failing = 0;
            sent();
            challenge();
            allocations = 0;
            failing = nth;
            went_well = hear(1000) == PEER_WIRE_MORE && !wire.out.failed;
        }
    }
    tear_down();
    set_up();
    ck_assert_int_eq(log_in(1000), PEER_WIRE_READY);
    allocations = 0;
    failing = 1;
    ck_assert_int_eq(ask(1), -1);
    ck_assert_uint_eq(err.code, ER_OUT_OF_MEMORY);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("peer_wire");
    TCase *tcase = tcase_create("peer_wire");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, a_node_logs_in_and_asks, 0,
                        sizeof(pieces) / sizeof(pieces[0]));
    tcase_add_loop_test(tcase, progress_may_come_anywhere, 0,
                        sizeof(pieces) / sizeof(pieces[0]));
    tcase_add_test(tcase, a_refusal_is_an_answer);
    tcase_add_test(tcase, before_the_login_a_refusal_keeps_its_code);
    tcase_add_loop_test(tcase, what_is_no_login_breaks_it, 0,
                        sizeof(faults) / sizeof(faults[0]));
    tcase_add_loop_test(tcase, what_is_no_answer_breaks_it, 0,
                        sizeof(answers) / sizeof(answers[0]));
    tcase_add_test(tcase, columns_are_as_many_as_were_said);
    tcase_add_test(tcase, who_speaks_ahead_is_not_listened_to);
    tcase_add_test(tcase, packets_have_ceilings);
    tcase_add_test(tcase, a_large_rows_memory_is_given_back);
    tcase_add_test(tcase, packets_are_counted);
    tcase_add_test(tcase, tls_comes_before_the_login);
    tcase_add_test(tcase, want_of_memory_is_an_error);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
