/* test_peer_link.c - a link and the node that it asks, on one loop: in the
 * clear and by TLS, slow readers, large rows, want of memory. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "await.h"
#include "certificate.h"
#include "errors.h"
#include "failing_memory.h"
#include "handshake.h"
#include "peer_fixture.h"
#include "peer_link.h"
#include "reply.h"
#include "suite.h"
#include "tls_stream.h"

enum { ASKS = 1, ASKED = 2, ROWS = 3, LARGE = 2 * PEER_WIRE_KEPT };

static uv_loop_t loop;
static char path[64];
static SSL_CTX *links_tls, *node_tls;
static struct peer_identity self;
static struct peer_end_point asked;

/* The node: what has come in, and how far it is. */
static struct {
    uv_pipe_t listener, client;
    struct peer_end_point end;
    struct tls_stream *tls;
    struct packet_reader in;
    struct reply reply;
    int stage, asked;
    size_t large;           /* bytes of the second row; 0: few */
    bool lies, shows, quit; /* about its certificate */
    bool mute;              /* it does not answer */
    bool open;
} node;

/* The link, and what was heard of it. */
static struct {
    struct peer_link *link;
    int questions; /* still to be asked */
    size_t rows, bytes, quiet, grown, shrunk;
    bool holds, refuses; /* rows; large packets */
    bool slow;           /* the loop's turns are long */
    bool answered, broken;
    struct error why;
} seen;

static void
forget(uv_write_t *write, int status)
{
    (void)status;
    free(write->data);
    free(write);
}

static void
on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
    static char room[65536];

    (void)handle;
    (void)size;
    *buffer = uv_buf_init(room, sizeof(room));
}

static void
hang_up(void)
{
    if (node.open)
        uv_close((uv_handle_t *)&node.client, NULL);
    node.open = false;
}

static void
send_bytes(struct buffer *bytes)
{
    uv_write_t *write = malloc(sizeof(*write));
    uv_buf_t copy;

    if (bytes->size == 0) {
        free(write);
        return;
    }
    copy = uv_buf_init(malloc(bytes->size), (unsigned)bytes->size);
    memcpy(copy.base, bytes->data, bytes->size);
    write->data = copy.base;
    uv_write(write, (uv_stream_t *)&node.client, &copy, 1, forget);
}

/* All that reply has, and what TLS itself says. */
static void
answer_now(void)
{
    struct buffer out = {0};

    if (node.reply.out.failed)
        hang_up();
    if (!node.open)
        return;
    if (!node.tls) {
        send_bytes(&node.reply.out);
        buffer_clear(&node.reply.out);
        return;
    }
    tls_stream_give(node.tls, &node.reply.out);
    do {
        buffer_fini(&out);
        if (tls_stream_seal(node.tls, false, &out) != 0) {
            hang_up();
            return;
        }
        send_bytes(&out);
    } while (out.size > 0 && tls_stream_unsent(node.tls) > 0);
    buffer_fini(&out);
}

static void
say(const void *data, size_t size)
{
    size_t mark = packet_begin(&node.reply.out);

    buffer_add(&node.reply.out, data, size);
    packet_end(&node.reply.out, mark, &node.reply.sequence);
}

static void
say_rows(void)
{
    char *wide = NULL;

    say("\1", 1);
    say("\3def\0\0\0\1r", 9);
    say("\xfe\0\0\2\0", 5);
    say("\5hello", 6);
    if (node.large > 0) {
        wide = calloc(1, node.large + 4);
        wide[0] = (char)0xfd;
        wide[1] = (char)(node.large & 0xff);
        wide[2] = (char)(node.large >> 8 & 0xff);
        wide[3] = (char)(node.large >> 16);
        say(wide, node.large + 4);
        free(wide);
    } else {
        say("\xfb", 1);
    }
    say("\0", 1);
    say("\xfe\0\0\2\0", 5);
}

static int
prove(struct span hello)
{
    struct peer_welcome welcome = {.version = "0.1.0"};
    struct peer_party client;
    struct error err;
    struct span said;

    if (peer_hello_check(&node.end.transcript, &node.end.self, hello, &client,
                         &err) != 0)
        return -1;
    welcome.has_fingerprint =
        node.shows ||
        (node.tls && tls_stream_fingerprint(node.tls, welcome.fingerprint));
    welcome.fingerprint[0] ^= node.lies;
    if (peer_welcome_make(&node.end.transcript, &node.end.self, &welcome, &said,
                          &err) != 0)
        return -1;
    handshake_more(&node.reply, said);
    reply_ok(&node.reply, 0, "");
    return 0;
}

/* -1: it hangs up. */
static int
hear_packet(struct span packet)
{
    struct error err;
    struct span said;

    node.reply.sequence = node.in.sequence;
    if (node.stage == 0 && handshake_wants_tls(packet)) {
        node.tls = tls_stream_new(node_tls, &err);
        return node.tls ? 0 : -1;
    }
    if (node.stage == 0) {
        node.stage = 1;
        if (peer_challenge_make(&node.end.transcript, &node.end.self, &said,
                                &err) != 0)
            return -1;
        handshake_switch_to(&node.reply, PEER_PLUGIN, said);
    } else if (node.stage == 1) {
        node.stage = 2;
        return prove(packet);
    } else if (packet.size == 1) {
        node.quit = true;
        return -1;
    } else {
        node.asked++;
        if (!node.mute)
            say_rows();
    }
    return 0;
}

static int
keep(void *arg, const void *data, size_t size)
{
    (void)arg;
    return packet_feed(&node.in, data, size);
}

static int
receive(struct span data)
{
    struct error err;

    return (node.tls ? tls_stream_receive(node.tls, data, keep, NULL, &err) ==
                           TLS_OPEN
                     : keep(NULL, data.data, data.size) == 0)
               ? 0
               : -1;
}

/* What is behind the request for TLS is TLS's. */
static int
hand_over(void)
{
    struct packet_reader early = node.in;
    struct span left = {early.bytes.data + early.start, packet_waiting(&early)};
    int rc;

    packet_reader_init(&node.in, PACKET_PIECE_MAX);
    node.in.sequence = early.sequence;
    rc = left.size > 0 ? receive(left) : 0;
    packet_reader_fini(&early);
    return rc;
}

static void
on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct span data = {buffer->base, size > 0 ? (size_t)size : 0}, packet;
    int rc = size < 0 ? -1 : receive(data);
    bool clear;

    (void)stream;
    while (rc == 0 && packet_next(&node.in, &packet) == PACKET_READY) {
        clear = !node.tls;
        rc = hear_packet(packet);
        packet_done(&node.in, node.stage == 2 ? 0 : node.reply.sequence);
        if (rc == 0 && clear && node.tls)
            rc = hand_over();
    }
    answer_now();
    if (rc != 0)
        hang_up();
}

static void
on_client(uv_stream_t *listener, int status)
{
    static const uint8_t nonce[AUTH_NONCE] = {1};

    ck_assert_int_eq(status, 0);
    uv_pipe_init(&loop, &node.client, 0);
    uv_accept(listener, (uv_stream_t *)&node.client);
    node.open = true;
    uv_read_start((uv_stream_t *)&node.client, on_alloc, on_read);
    handshake_greet(&node.reply, 1, "8.0", nonce);
    node.in.sequence = 1;
    answer_now();
    uv_close((uv_handle_t *)&node.listener, NULL); /* one is enough */
}

/* The link's owner */

static void
ask(void)
{
    static const struct sql_identity who = {.user = "ann"};
    static const struct peer_request request = {
        .text = {"SELECT 1", 8}, .caller = &who, .column_count = 1};

    seen.questions--;
    if (peer_link_ask(seen.link, &request, 1000, &seen.why) != 0) {
        seen.broken = true;
        peer_link_close(seen.link);
    }
}

static void
on_connected(struct peer_link *link)
{
    (void)link;
    ask();
}

static void
work_long(void)
{
    uint64_t end = uv_hrtime() + (uint64_t)2 * PEER_LINK_ITERATION_MS * 1000000;

    while (uv_hrtime() < end)
        ;
}

static bool
on_wants(struct peer_link *link)
{
    (void)link;
    if (seen.slow)
        work_long();
    return !seen.holds;
}

static void
on_row(struct peer_link *link, const struct span *cells)
{
    (void)link;
    if (seen.rows % ROWS == 0)
        ck_assert(span_is(cells[0], "hello"));
    seen.rows++;
    seen.bytes += cells[0].size;
}

static void
on_quiet(struct peer_link *link)
{
    (void)link;
    seen.quiet++;
}

static bool
on_grows(struct peer_link *link)
{
    (void)link;
    seen.grown++;
    return !seen.refuses;
}

static void
on_shrank(struct peer_link *link)
{
    (void)link;
    seen.shrunk++;
}

static void
on_answered(struct peer_link *link, const struct error *error)
{
    seen.why = *error;
    ck_assert(peer_link_reusable(link));
    if (seen.questions > 0) {
        ask();
        return;
    }
    seen.answered = true;
    peer_link_close(link);
}

static void
on_broken(struct peer_link *link, const struct error *why)
{
    ck_assert(!seen.answered && !seen.broken);
    seen.broken = true;
    seen.why = *why;
    peer_link_close(link);
}

static const struct peer_link_events events = {.connected = on_connected,
                                               .wants = on_wants,
                                               .row = on_row,
                                               .quiet = on_quiet,
                                               .grows = on_grows,
                                               .shrank = on_shrank,
                                               .answered = on_answered,
                                               .broken = on_broken};

static void
reset(void)
{
    allocations = 0;
    failing = 0;
    memset(&node, 0, sizeof(node));
    memset(&seen, 0, sizeof(seen));
    seen.questions = 1;
}

static void
set_up(void)
{
    struct certificate certificate;
    struct error err;

    reset();
    self = peer_node("blue", PEER_SECRET, ASKS);
    asked = peer_end_point(ASKED);
    ck_assert_int_eq(certificate_init(&certificate, "", "", &err), 0);
    node_tls = tls_context_new(&certificate, &err);
    links_tls = tls_context_for_links(&err);
    certificate_fini(&certificate);
    ck_assert_ptr_nonnull(node_tls);
    ck_assert_ptr_nonnull(links_tls);
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    snprintf(path, sizeof(path), "/tmp/hw-link-%d", (int)getpid());
}

static void
tear_down(void)
{
    failing = 0;
    SSL_CTX_free(node_tls);
    SSL_CTX_free(links_tls);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}

/* Opens the link, to a node that listens. */
static void
begin(bool tls)
{
    struct peer_endpoint endpoint = {.id = ASKED, .socket = path, .tls = tls};
    struct peer_link_settings settings = {&loop, &self, links_tls, 10000};

    node.end = asked;
    packet_reader_init(&node.in, PACKET_PIECE_MAX);
    reply_init(&node.reply);
    unlink(path);
    uv_pipe_init(&loop, &node.listener, 0);
    ck_assert_int_eq(uv_pipe_bind(&node.listener, path), 0);
    ck_assert_int_eq(uv_listen((uv_stream_t *)&node.listener, 4, on_client), 0);
    seen.link = peer_link_open(&settings, &endpoint, &events, NULL, &seen.why);
    seen.broken = !seen.link;
}

static void
end(void)
{
    if (!uv_is_closing((uv_handle_t *)&node.listener))
        uv_close((uv_handle_t *)&node.listener, NULL);
    hang_up();
    uv_run(&loop, UV_RUN_DEFAULT);
    tls_stream_free(node.tls);
    node.tls = NULL;
    packet_reader_fini(&node.in);
    reply_fini(&node.reply);
    unlink(path);
}

/* Until it has answered or is broken. */
static void
run(void)
{
    while (!seen.answered && !seen.broken)
        uv_run(&loop, UV_RUN_ONCE);
}

START_TEST(it_logs_in_and_asks)
{
    seen.questions = 3;
    begin(_i == 1);
    run();
    ck_assert(seen.answered);
    ck_assert_uint_eq(seen.why.code, 0);
    ck_assert_uint_eq(seen.rows, 3 * ROWS);
    ck_assert_int_eq(node.asked, 3);
    ck_assert_int_eq(node.tls != NULL, _i == 1);
    while (node.open)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert(node.quit); /* it said farewell */
    end();
}
END_TEST

START_TEST(a_certificate_is_the_proven_one)
{
    static const struct {
        bool tls, lies, shows;
        const char *text;
    } cases[] = {{true, true, false, "not the one that it proves to have"},
                 {false, false, true, "a third party is in between"}};

    node.lies = cases[_i].lies;
    node.shows = cases[_i].shows;
    begin(cases[_i].tls);
    run();
    ck_assert(seen.broken);
    ck_assert_ptr_nonnull(strstr(seen.why.text, cases[_i].text));
    ck_assert_int_eq(node.asked, 0);
    end();
}
END_TEST

static void
let_go_on(uv_timer_t *timer)
{
    ck_assert_uint_eq(seen.rows, 0);
    seen.holds = false;
    peer_link_resume(seen.link);
    uv_close((uv_handle_t *)timer, NULL);
}

START_TEST(who_wants_no_rows_gets_none)
{
    uv_timer_t timer;

    seen.holds = true;
    begin(_i == 1);
    while (node.asked == 0)
        uv_run(&loop, UV_RUN_ONCE);
    uv_timer_init(&loop, &timer);
    uv_timer_start(&timer, let_go_on, 50, 0);
    run();
    ck_assert(seen.answered);
    ck_assert_uint_eq(seen.rows, ROWS);
    ck_assert_uint_gt(seen.quiet, 0);
    end();
}
END_TEST

/* The time for which a silent node is listened to is over now. */
static void
end_patience(void)
{
    uv_timer_t *timer = &seen.link->timer;

    ck_assert_uint_gt(uv_timer_get_due_in(timer), PEER_LINK_SILENT_MS / 2);
    uv_timer_start(timer, timer->timer_cb, 0, 0);
}

static void
ask_a_mute_node(bool tls)
{
    node.mute = true;
    begin(tls);
    while (node.asked == 0)
        uv_run(&loop, UV_RUN_ONCE);
    for (int turn = 0; turn < 5; turn++)
        uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert(!seen.broken);
}

START_TEST(a_silent_node_is_given_up)
{
    ask_a_mute_node(_i == 1);
    end_patience();
    run();
    ck_assert(seen.broken);
    ck_assert_uint_eq(seen.why.code, ER_QUERY_TIMEOUT);
    ck_assert_str_eq(seen.why.text, "no answer for 10 s");
    end();
}
END_TEST

/* Also one whose progress lies unread in the socket when the time is over: it
 * is this process that stood still. */
START_TEST(a_node_that_works_is_waited_for)
{
    static const struct progress progress = {1, 1, 50, "working"};

    ask_a_mute_node(_i == 1);
    for (int times = 0; times < 3; times++) {
        reply_progress(&node.reply, &progress);
        answer_now();
        end_patience();
        uv_run(&loop, UV_RUN_NOWAIT);
        uv_run(&loop, UV_RUN_NOWAIT);
        ck_assert(!seen.broken);
    }
    say_rows();
    answer_now();
    run();
    ck_assert(seen.answered);
    ck_assert_uint_eq(seen.rows, ROWS);
    end();
}
END_TEST

START_TEST(a_node_that_is_not_read_is_not_silent)
{
    seen.holds = true;
    begin(_i == 1);
    while (node.asked == 0)
        uv_run(&loop, UV_RUN_ONCE);
    for (int times = 0; times < 3; times++) {
        end_patience();
        uv_run(&loop, UV_RUN_NOWAIT);
        uv_run(&loop, UV_RUN_NOWAIT);
        ck_assert(!seen.broken);
    }
    seen.holds = false;
    peer_link_resume(seen.link);
    run();
    ck_assert(seen.answered);
    ck_assert_uint_eq(seen.rows, ROWS);
    end();
}
END_TEST

START_TEST(a_large_row_waits_for_leave)
{
    size_t bytes;

    node.large = LARGE;
    seen.refuses = true;
    begin(_i == 1);
    while (seen.grown == 0)
        uv_run(&loop, UV_RUN_ONCE);
    bytes = seen.bytes;
    for (int turn = 0; turn < 5; turn++)
        uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_uint_eq(bytes, seen.bytes);
    ck_assert_uint_lt(packet_waiting(&seen.link->wire.in), LARGE);
    peer_link_admit(seen.link);
    run();
    ck_assert(seen.answered);
    ck_assert_uint_eq(seen.bytes, LARGE + 5);
    ck_assert_uint_eq(seen.grown, 1);
    ck_assert_uint_eq(seen.shrunk, 1);
    end();
}
END_TEST

/* Each stretch of reading ends with quiet. */
START_TEST(in_a_long_turn_it_reads_little)
{
    node.large = 16 * PEER_LINK_LITTLE;
    seen.slow = true;
    begin(_i == 1);
    run();
    ck_assert(seen.answered);
    ck_assert_uint_eq(seen.bytes, node.large + 5);
    ck_assert_uint_ge(seen.quiet, 16);
    end();
}
END_TEST

START_TEST(it_may_be_closed_at_any_time)
{
    for (int turns = 0; turns < 12; turns++) {
        reset();
        begin(_i == 1);
        for (int i = 0; i < turns && !seen.answered && !seen.broken; i++)
            uv_run(&loop, UV_RUN_NOWAIT);
        if (!seen.answered && !seen.broken)
            peer_link_close(seen.link);
        end();
    }
}
END_TEST

/* Whichever allocation fails, of both ends: it is told once. */
START_TEST(want_of_memory_is_told)
{
    bool all = false;

    for (unsigned nth = 1; !all; nth++) {
        reset();
        seen.questions = 2;
        node.large = LARGE;
        allocations = 0;
        failing = nth;
        begin(_i == 1);
        run();
        all = allocations < nth;
        ck_assert(!all || seen.answered);
        ck_assert(seen.answered || *seen.why.text != '\0');
        failing = 0;
        end();
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("peer_link");
    TCase *tcase = tcase_create("peer_link");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, it_logs_in_and_asks, 0, 2);
    tcase_add_loop_test(tcase, a_certificate_is_the_proven_one, 0, 2);
    tcase_add_loop_test(tcase, who_wants_no_rows_gets_none, 0, 2);
    tcase_add_loop_test(tcase, a_silent_node_is_given_up, 0, 2);
    tcase_add_loop_test(tcase, a_node_that_works_is_waited_for, 0, 2);
    tcase_add_loop_test(tcase, a_node_that_is_not_read_is_not_silent, 0, 2);
    tcase_add_loop_test(tcase, a_large_row_waits_for_leave, 0, 2);
    tcase_add_loop_test(tcase, in_a_long_turn_it_reads_little, 0, 2);
    tcase_add_loop_test(tcase, it_may_be_closed_at_any_time, 0, 2);
    tcase_add_loop_test(tcase, want_of_memory_is_told, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
