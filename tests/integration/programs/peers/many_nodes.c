/*
 * many_nodes.c - the other ends of the links to thousands of nodes, for
 * many_nodes.py and bench/ten_thousand.py.
 *
 *     many_nodes FIRST-ADDRESS PORT FIRST-ID CLUSTER SECRET [tls]
 *
 * The node with FIRST-ID has FIRST-ADDRESS, the next id the next address, as
 * many as are asked for.  Proofs, TLS, seals and packets are heapwired's own
 * code; what it lacks are sessions and statements: each script is answered with
 * 7, at once.  tls: refuses logins without.  One thread.
 *
 * Takes lines from stdin, and answers each with one:
 *
 *     counts       connections, logins, statements so far, and what is open
 *     drop N       closes N connections
 *     hold         statements wait for their answers
 *     release      they have them, and later ones do not wait
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "certificate.h"
#include "cursor.h"
#include "errors.h"
#include "handshake.h"
#include "packet.h"
#include "peer_proof.h"
#include "reply.h"
#include "tls_stream.h"

enum {
    ARGUMENTS = 6,
    EVENTS = 256,
    BACKLOG = 4096,
    PACKET_MAX = 64 << 10,
    READ = 16 << 10,
    LINE = 64,
    QUERY = 3
};

enum stage { LOGIN, PROOF, READY };

struct end {
    int fd;
    enum stage stage;
    struct peer_identity self;
    struct tls_stream *tls;
    struct packet_reader in;
    struct reply reply;
    struct peer_transcript transcript;
    struct peer_party asker;
    uint8_t key[PEER_KEY];
    bool held; /* its statement waits for an answer */
    struct end *next, **link;
};

static struct {
    int listener, epoll;
    uint32_t first_address;
    uint64_t first_id;
    struct peer_identity self;
    SSL_CTX *tls;
    bool requires_tls, holds;
    struct end *ends;
    unsigned long connections, logins, statements, open;
} all;

static void
give_up(const char *why)
{
    fprintf(stderr, "many_nodes: %s: %s\n", why, strerrordesc_np(errno));
    _exit(1);
}

static void
close_end(struct end *e)
{
    *e->link = e->next;
    if (e->next)
        e->next->link = e->link;
    close(e->fd);
    tls_stream_free(e->tls);
    packet_reader_fini(&e->in);
    reply_fini(&e->reply);
    free(e);
    all.open--;
}

static struct end *
accept_end(void)
{
    struct sockaddr_in here = {0};
    socklen_t size = sizeof(here);
    struct epoll_event event = {.events = EPOLLIN};
    int yes = 1, fd = accept4(all.listener, NULL, NULL, SOCK_CLOEXEC);
    struct end *e;

    if (fd < 0) {
        if (errno != EAGAIN)
            give_up("accept");
        return NULL;
    }
    e = calloc(1, sizeof(*e));
    if (!e || getsockname(fd, (struct sockaddr *)&here, &size) != 0)
        give_up("a connection");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    e->fd = fd;
    e->self = all.self;
    e->self.node_id =
        all.first_id + ntohl(here.sin_addr.s_addr) - all.first_address;
    packet_reader_init(&e->in, PACKET_MAX);
    reply_init(&e->reply);
    e->next = all.ends;
    e->link = &all.ends;
    if (e->next)
        e->next->link = &e->next;
    all.ends = e;
    event.data.ptr = e;
    if (epoll_ctl(all.epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        give_up("epoll_ctl");
    all.connections++;
    all.open++;
    return e;
}

/* Logins */

static int
challenge(struct end *e, const struct handshake *h, struct error *err)
{
    struct span said;

    e->reply.capabilities = h->capabilities;
    if (all.requires_tls && !e->tls) {
        error_set(err, ER_SECURE_TRANSPORT_REQUIRED, "with TLS alone");
        return -1;
    }
    if (!span_is(h->plugin, PEER_PLUGIN)) {
        error_set(err, ER_ACCESS_DENIED, "nodes alone");
        return -1;
    }
    if (peer_challenge_make(&e->transcript, &e->self, &said, err) != 0)
        return -1;
    handshake_switch_to(&e->reply, PEER_PLUGIN, said);
    e->stage = PROOF;
    return 0;
}

static int
log_in(struct end *e, struct span packet, struct error *err)
{
    struct handshake h;

    if (!e->tls && handshake_wants_tls(packet)) {
        e->tls = tls_stream_new(all.tls, err);
        return e->tls ? 0 : -1;
    }
    return handshake_decode(packet, &h, err) == 0 ? challenge(e, &h, err) : -1;
}

static int
welcome(struct end *e, struct span hello, struct error *err)
{
    struct peer_welcome welcome = {.version = HW_VERSION};
    struct span said;

    if (e->tls)
        welcome.has_fingerprint =
            tls_stream_fingerprint(e->tls, welcome.fingerprint);
    if (peer_hello_check(&e->transcript, &e->self, hello, &e->asker, err) !=
            0 ||
        peer_welcome_make(&e->transcript, &e->self, &welcome, &said, err) !=
            0 ||
        peer_session_key(&e->transcript, &e->self, e->key, err) != 0)
        return -1;
    handshake_more(&e->reply, said);
    reply_ok(&e->reply, 0, "");
    e->stage = READY;
    all.logins++;
    return 0;
}

/* Statements */

static size_t
decode_hex(struct span hex, char *out)
{
    char pair[3] = "";
    size_t size = 0;

    for (; 2 * size + 1 < hex.size; size++) {
        memcpy(pair, hex.data + 2 * size, 2);
        out[size] = (char)strtoul(pair, NULL, 16);
    }
    return size;
}

static void
put_answer(struct reply *reply)
{
    static const struct column column = {
        .name = "result", .table = "", .database = "", .type = COLUMN_LONGTEXT};
    static const struct cursor cursor = {.columns = &column, .column_count = 1};
    static const struct value seven = {VALUE_TEXT, "7", 1, 0, 0, 0};
    struct error err;

    reply_columns(reply, &cursor);
    if (reply_row(reply, &seven, 1, &err) == 0)
        reply_end(reply);
}

static int
answer(struct end *e, struct span packet, struct error *err)
{
    static const char forward[] = "\3ADMIN FORWARD '";
    const size_t head = sizeof(forward) - 1;
    char bytes[PACKET_MAX];
    struct peer_envelope envelope;
    struct span hex;

    if (packet.size <= head || memcmp(packet.data, forward, head) != 0) {
        error_set(err, ER_UNKNOWN, "goodbye");
        return -1; /* or COM_QUIT */
    }
    hex = (struct span){packet.data + head, packet.size - head - 1};
    if (peer_envelope_open((struct span){bytes, decode_hex(hex, bytes)}, e->key,
                           &envelope, err) != 0)
        return -1;
    all.statements++;
    e->held = all.holds;
    if (!e->held)
        put_answer(&e->reply);
    return 0;
}

/* Bytes */

static int
keep(void *arg, const void *data, size_t size)
{
    struct end *e = arg;

    return packet_feed(&e->in, data, size);
}

/* Answers are shorter than a socket's buffer. */
static int
send_reply(struct end *e)
{
    struct buffer sealed;
    int rc;

    if (e->tls) {
        tls_stream_give(e->tls, &e->reply.out);
        buffer_init(&sealed, TLS_OUT_MAX);
        rc = tls_stream_seal(e->tls, false, &sealed);
    } else {
        sealed = e->reply.out;
        buffer_init(&e->reply.out, REPLY_MAX);
        rc = 0;
    }
    if (rc == 0 && sealed.size > 0 &&
        send(e->fd, sealed.data, sealed.size, MSG_NOSIGNAL) !=
            (ssize_t)sealed.size)
        rc = -1;
    buffer_fini(&sealed);
    return rc;
}

static int
handle_packet(struct end *e, struct span packet)
{
    struct error err;
    int rc;

    e->reply.sequence = e->in.sequence;
    if (e->stage == LOGIN)
        rc = log_in(e, packet, &err);
    else if (e->stage == PROOF)
        rc = welcome(e, packet, &err);
    else
        rc = answer(e, packet, &err);
    if (rc != 0)
        reply_error(&e->reply, &err);
    packet_done(&e->in, e->stage == READY && rc == 0 && packet.size > 0 &&
                                *packet.data == QUERY
                            ? 0
                            : e->reply.sequence);
    if (e->stage == READY)
        e->in.sequence = 0;
    return rc;
}

/* What came behind the request for TLS is TLS's. */
static int
begin_tls(struct end *e)
{
    struct packet_reader early = e->in;
    struct span bytes = {early.bytes.data + early.start,
                         packet_waiting(&early)};
    struct error err;
    int rc = 0;

    packet_reader_init(&e->in, PACKET_MAX);
    e->in.sequence = early.sequence;
    if (bytes.size > 0 &&
        tls_stream_receive(e->tls, bytes, keep, e, &err) != TLS_OPEN)
        rc = -1;
    packet_reader_fini(&early);
    return rc;
}

static int
handle_packets(struct end *e)
{
    struct span packet;
    bool secured;
    int rc = 0;

    while (rc == 0 && packet_next(&e->in, &packet) == PACKET_READY) {
        secured = e->tls != NULL;
        rc = handle_packet(e, packet);
        if (rc == 0 && !secured && e->tls)
            rc = begin_tls(e);
    }
    return send_reply(e) != 0 ? -1 : rc;
}

static void
read_end(struct end *e)
{
    char bytes[READ];
    ssize_t got = recv(e->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    struct error err;
    int rc;

    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0)
        rc = -1;
    else if (e->tls)
        rc = tls_stream_receive(e->tls, (struct span){bytes, (size_t)got}, keep,
                                e, &err) == TLS_OPEN
                 ? 0
                 : -1;
    else
        rc = packet_feed(&e->in, bytes, (size_t)got);
    if (rc != 0 || handle_packets(e) != 0)
        close_end(e);
}

static void
greet(struct end *e)
{
    static const uint8_t nonce[AUTH_NONCE] = "saltsaltsaltsaltsal";

    handshake_greet(&e->reply, 1, "8.0.36", nonce);
    e->in.sequence = e->reply.sequence;
    if (send_reply(e) != 0)
        close_end(e);
}

static void
release(void)
{
    struct end *next;

    all.holds = false;
    for (struct end *e = all.ends; e; e = next) {
        next = e->next;
        if (e->held)
            put_answer(&e->reply);
        e->held = false;
        if (send_reply(e) != 0)
            close_end(e);
    }
}

/* The whole */

/* False: that was all. */
static bool
obey(void)
{
    char line[LINE];
    unsigned long count;

    if (!fgets(line, sizeof(line), stdin))
        return false;
    if (sscanf(line, "drop %lu", &count) == 1)
        while (count-- > 0 && all.ends)
            close_end(all.ends);
    else if (strcmp(line, "hold\n") == 0)
        all.holds = true;
    else if (strcmp(line, "release\n") == 0)
        release();
    printf("%lu %lu %lu %lu\n", all.connections, all.logins, all.statements,
           all.open);
    return fflush(stdout) == 0;
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

static void
identify(char **argv)
{
    static struct peer_key key;
    struct peer_prover prover = {prove, check, &key};
    struct certificate certificate = {0};
    struct error err;

    if (peer_key_make(&key, argv[4], argv[5], &err) != 0 ||
        peer_identity_make(&all.self, &prover, 1, all.first_id, &err) != 0 ||
        certificate_init(&certificate, "localhost", "", &err) != 0)
        give_up(err.text);
    all.tls = tls_context_new(&certificate, &err);
    if (!all.tls)
        give_up(err.text);
    certificate_fini(&certificate);
}

static void
watch(int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};

    if (epoll_ctl(all.epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        give_up("epoll_ctl");
}

static void
open_listener(const char *port)
{
    struct sockaddr_in any = {.sin_family = AF_INET,
                              .sin_port = htons((uint16_t)atoi(port))};
    struct rlimit files;
    int yes = 1;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    all.epoll = epoll_create1(EPOLL_CLOEXEC);
    all.listener =
        socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)setsockopt(all.listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(all.listener, (struct sockaddr *)&any, sizeof(any)) != 0 ||
        listen(all.listener, BACKLOG) != 0)
        give_up("listen");
    watch(all.listener, &all.listener);
    watch(STDIN_FILENO, &all.self);
}

int
main(int argc, char **argv)
{
    struct epoll_event events[EVENTS];
    struct end *e;
    bool goes_on = true;

    if (argc < ARGUMENTS)
        return 2;
    all.first_address = ntohl(inet_addr(argv[1]));
    all.first_id = strtoull(argv[3], NULL, 10);
    all.requires_tls = argc > ARGUMENTS;
    identify(argv);
    open_listener(argv[2]);
    while (goes_on) {
        int count = epoll_wait(all.epoll, events, EVENTS, -1);
        bool told = false;

        for (int i = 0; i < count; i++)
            if (events[i].data.ptr == &all.listener)
                while ((e = accept_end()))
                    greet(e);
            else if (events[i].data.ptr == &all.self)
                told = true; /* last: it may close others */
            else
                read_end(events[i].data.ptr);
        if (told)
            goes_on = obey();
    }
    return 0;
}
