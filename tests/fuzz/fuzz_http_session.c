/*
 * fuzz_http_session.c - any bytes as what comes over a connection of HTTP.
 *
 * The conversation of http.c with a session around it that has no socket:
 * each login with an Authorization succeeds, and each statement is answered at
 * once.  The first byte says what kind of connection it is, and the next one in
 * what pieces the rest comes: what is answered must not depend on them, and
 * whoever waits with a body must be asked for it, or be answered.
 */
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "fuzz_target.h"
#include "http.h"
#include "http_answer.h"
#include "http_request.h"
#include "session.h"
#include "statement.h"

enum { LOCAL = 1, TLS = 2, GET_CHANGES = 4, WHOLE = SESSION_LOGIN_PACKET };

static const char asks[] = "HTTP/1.1 100 Continue\r\n\r\n";

/* ---- what the conversation calls ---- */

void
session_enter(struct session *s, enum session_state state)
{
    s->state = state;
    packet_reader_set_limit(&s->in, session_is_logging_in(state)
                                        ? SESSION_LOGIN_PACKET
                                        : SESSION_PACKET);
}

void
session_fail(struct session *s, const struct error *err)
{
    s->conversation->send_error(&s->reply, err);
    session_enter(s, SESSION_CLOSING);
}

/* Its one body finds room. */
void
session_refuse_more(struct session *s)
{
    (void)s;
    abort();
}

void
session_start_tls(struct session *s)
{
    session_enter(s, SESSION_CLOSED);
}

int
http_login(struct session *s, const struct http_request *request,
           struct http_proven *proven, bool whole, struct error *err)
{
    (void)s, (void)whole;
    proven->user = request->authorization.size > 0;
    if (proven->user)
        return 0;
    error_set(err, ER_ACCESS_DENIED, "Access denied");
    return -1;
}

void
statement_answer(struct session *s, struct span text,
                 const struct statement_form *form, void *arg, bool opens_only)
{
    struct http_show_state *show = arg;

    (void)form;
    if (text.size == 0)
        abort();
    http_answer_with_body(&show->answer, &s->reply.out, 200, HTTP_TEXT,
                          opens_only ? (struct span){"", 0} : text);
}

/* ---- a connection ---- */

static struct server server = {.node = {.id = 10001, .state_dir = "/s"}};

static enum http_state
read_request(struct session *s, struct http_request *out)
{
    return http_request_read(packet_claim(&s->in, packet_waiting(&s->in)), out);
}

static void
process(struct session *s)
{
    struct http_request r;
    struct span packet;
    size_t said;
    bool bad;

    while (session_is_logging_in(s->state) || s->state == SESSION_READY) {
        said = s->reply.out.size;
        bad = read_request(s, &r) == HTTP_BAD;
        if (s->conversation->next(s, &packet) != PACKET_READY)
            break;
        s->conversation->on_packet(s, packet);
        packet_done(&s->in, 0);
        if (bad && s->reply.out.size > said)
            s->reply.out.size = said; /* what is wrong with it depends on where
                                         it is cut */
        else if (bad && s->state != SESSION_CLOSED)
            abort();
    }
    if (s->reply.out.failed ||
        packet_waiting(&s->in) > HTTP_HEAD_MAX + HTTP_BODY_MAX + WHOLE)
        abort();
}

/* Whoever waits with a body was asked for it last. */
static void
check_wait(struct session *s)
{
    size_t size = strlen(asks), said = s->reply.out.size;
    struct http_request r;

    if (s->state != SESSION_CLOSING && s->state != SESSION_CLOSED &&
        read_request(s, &r) == HTTP_MORE && r.expects &&
        (said < size ||
         memcmp(s->reply.out.data + said - size, asks, size) != 0))
        abort();
}

static void
feed(struct session *s, struct span bytes, size_t piece)
{
    char *block;

    while (bytes.size > 0 && s->state != SESSION_CLOSING &&
           s->state != SESSION_CLOSED) {
        if (piece > bytes.size)
            piece = bytes.size;
        block = malloc(piece); /* exact, for the sanitizers */
        if (!block)
            abort();
        memcpy(block, bytes.data, piece);
        if (packet_feed(&s->in, block, piece) != 0)
            abort();
        free(block);
        process(s);
        check_wait(s);
        bytes.data += piece;
        bytes.size -= piece;
    }
}

/* Appends what is said, without the time, and without asking for bodies. */
static void
clean(struct span said, struct buffer *out)
{
    const char *at = said.data, *end, *line;

    for (end = at + said.size; at < end; at = line) {
        line = memchr(at, '\n', (size_t)(end - at));
        line = line ? line + 1 : end;
        if ((size_t)(end - at) >= strlen(asks) &&
            memcmp(at, asks, strlen(asks)) == 0)
            line = at + strlen(asks);
        else if (line - at < 6 || memcmp(at, "Date: ", 6) != 0)
            buffer_add(out, at, (size_t)(line - at));
    }
}

static enum session_state
converse(uint8_t form, struct span bytes, size_t piece, struct buffer *said)
{
    struct session s = {.server = &server,
                        .conversation = &http_conversation,
                        .transport =
                            form & LOCAL ? TRANSPORT_LOCAL : TRANSPORT_TCP,
                        .tls = form & TLS ? (void *)&server : NULL};
    enum session_state state;

    server.http_get_changes = form & GET_CHANGES;
    packet_reader_init(&s.in, SESSION_LOGIN_PACKET);
    reply_init(&s.reply);
    s.conversation->greet(&s);
    feed(&s, bytes, piece);
    buffer_init(said, REPLY_MAX);
    buffer_text(said, "");
    buffer_text(&s.reply.out, "");
    clean((struct span){s.reply.out.data, s.reply.out.size}, said);
    state = s.state;
    s.conversation->free(&s);
    memory_reserve(&s.input_reserved, s.who.user, 0);
    packet_reader_fini(&s.in);
    reply_fini(&s.reply);
    return state;
}

/* An unauthenticated client's body is refused as soon as its head is there. */
static bool
is_refused(const struct buffer *said)
{
    return memmem(said->data, said->size, "HTTP/1.1 401", 12) != NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum session_state state;
    struct buffer whole, pieces;
    struct span bytes;

    if (size < 2)
        return 0;
    bytes = (struct span){(const char *)data + 2, size - 2};
    state = converse(data[0], bytes, WHOLE, &whole);
    if ((state != converse(data[0], bytes, (size_t)data[1] + 1, &pieces) ||
         whole.size != pieces.size ||
         memcmp(whole.data, pieces.data, whole.size) != 0) &&
        !is_refused(&whole) && !is_refused(&pieces))
        abort();
    buffer_fini(&whole);
    buffer_fini(&pieces);
    return 0;
}
