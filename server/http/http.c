/*
 * http.c - see http.h.
 *
 * One request is one packet of the session, so waiting, back-pressure, timeouts
 * and KILL are the session's.  Checks come in a fixed order: is it a request,
 * is it meant for this host, who asks, is there such a path, may the method and
 * the site do this, are the parameters known.  Until a client has logged in, at
 * most 64 KB of its bytes are kept.  With the loop's lock, except for the rows
 * of a statement that is off the loop.
 */
#include "http.h"

#include <stdio.h>
#include <string.h>

#include "address.h"
#include "buffer.h"
#include "clock.h"
#include "errors.h"
#include "http_request.h"
#include "http_route.h"
#include "http_answer.h"
#include "memory.h"
#include "session.h"
#include "sql.h"
#include "statement.h"

enum {
    IDLE_MS = 75 * 1000, /* of a connection without a request */
    TLS_HANDSHAKE = 0x16,
    HOST_BYTES = 64,
    /* a larger request proves its identity before its body comes */
    UNAUTHENTICATED_REQUEST_MAX = 64 * 1024
};

struct http_session {
    struct http_request request; /* borrows the packet */
    enum http_state state;
    bool spoke;     /* there was a request */
    bool continued; /* its body was asked for */
    struct http_proven proven;
    struct http_show_state show;
};

static void
begin_http_session(struct session *s)
{
    struct error err;

    s->login_deadline_ms = clock_ms() + SESSION_LOGIN_MS;
    session_enter(s, SESSION_LOGIN);
    s->http = mem_zalloc(1, sizeof(*s->http));
    if (s->http)
        return;
    error_memory(&err, "a connection");
    session_fail(s, &err);
}

/* ---- answers without a statement ---- */

static void
send_text_answer(struct session *s, unsigned status, const char *text)
{
    struct http_show_state *show = &s->http->show;

    http_show_message(&show->answer, &s->reply.out, status, text);
}

static void
answer_http_error(struct session *s, const struct error *err)
{
    http_show_error(&s->http->show.answer, &s->reply.out, err);
}

/* For a connection that has no request: an idle one is closed without a word.
 */
static void
answer_last_http_error(struct reply *reply, const struct error *err)
{
    struct http_answer answer = {.closes = true};

    if (err->code != ER_CLIENT_TIMEOUT)
        http_show_error(&answer, &reply->out, err);
}

/* ---- what a request must not be ---- */

/* Is the host, without its port, this machine? */
static bool
is_local_host(struct span host)
{
    const char *end = memrchr(host.data, ':', host.size);
    const char *close = memrchr(host.data, ']', host.size);
    char text[HOST_BYTES];

    if (close) { /* [::1] or [::1]:9037 */
        if (*host.data != '[' ||
            (close + 1 != host.data + host.size && close + 1 != end))
            return false;
        end = close;
        host.data++;
        host.size--;
    }
    if (end)
        host.size = (size_t)(end - host.data);
    if (host.size >= sizeof(text))
        return false;
    snprintf(text, sizeof(text), "%.*s", (int)host.size, host.data);
    return span_is_nocase(host, "localhost") ||
           (address_canonical(text, sizeof(text)) == 0 &&
            address_is_loopback(text));
}

/* With DNS rebinding a page's own name comes to stand for this address: then
 * Host is that name, and under TLS the certificate does not fit.  The unix
 * socket is checked too, as ssh may forward it to a port that a browser
 * reaches. */
static bool
is_misdirected(const struct session *s)
{
    const struct http_request *r = &s->http->request;

    return !s->tls && r->host.size > 0 && !is_local_host(r->host);
}

/* A browser sends Sec-Fetch-Site whatever the page made it send.  Even a GET is
 * refused, as it may cost the database a heap dump. */
static bool
is_cross_site_request(const struct http_request *r)
{
    return r->site.size > 0 && !span_is_any(r->site, "same-origin none");
}

/* Does the setting http_get_changes let this path change something as its
 * scripts ask for it: by GET, or by a POST without our header? */
static bool
is_lenient(const struct session *s, const struct http_route *route)
{
    return route->gets && s->server->http_get_changes;
}

/* May a page of another origin have sent it?  Such a page can set no header of
 * ours, and the browser adds its Origin. */
static bool
may_be_forged(const struct session *s, const struct http_route *route)
{
    const struct http_request *r = &s->http->request;
    const char *scheme = s->tls ? "https://" : "http://";
    size_t size = strlen(scheme);

    if (r->own.size > 0 ||
        (r->origin.size == 0 &&
         (s->transport == TRANSPORT_LOCAL || is_lenient(s, route))))
        return false;
    return r->origin.size != size + r->host.size || r->host.size == 0 ||
           memcmp(r->origin.data, scheme, size) != 0 ||
           memcmp(r->origin.data + size, r->host.data, r->host.size) != 0;
}

/* Is the text read as it stands by a shell, within single quotes? */
static bool
is_shell_safe_text(struct span text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] <= ' ' || text.data[i] >= 0x7f ||
            strchr("'\"\\`$", text.data[i]))
            return false;
    return text.size > 0;
}

/* Writes the command that does what a GET meant to do. */
static void
show_command(const struct session *s, const struct http_route *route,
             struct buffer *out)
{
    const struct http_request *r = &s->http->request;
    struct span host = {"localhost", 9};

    buffer_text(out, "curl -X POST -H 'X-Heapwire: 1'");
    if (s->transport == TRANSPORT_LOCAL)
        buffer_format(out, " --unix-socket %s/http.sock",
                      s->server->node.state_dir);
    else if (s->by_password)
        buffer_format(out, " -u %s", s->who.user);
    if (s->transport == TRANSPORT_TCP && is_shell_safe_text(r->host))
        host = r->host;
    buffer_format(out, " 'http%s://", s->tls ? "s" : "");
    buffer_add(out, host.data, host.size);
    buffer_add(out, r->path.data, r->path.size);
    if (is_shell_safe_text(r->query)) {
        buffer_char(out, '?');
        buffer_add(out, r->query.data, r->query.size);
    }
    buffer_text(out,
                route->show == HTTP_SHOW_LINES ? "'\n" : "' -d 'SELECT 1'\n");
}

static void
refuse_method(struct session *s, const struct http_route *route)
{
    struct http_session *h = s->http;
    const struct http_route *other = http_route_find(&h->request, true);
    const char *allow = is_lenient(s, route) ? "Allow: GET, POST\r\n"
                        : route->post        ? "Allow: POST\r\n"
                        : other->post || other->asks
                            ? "Allow: GET, HEAD, POST\r\n"
                            : "Allow: GET, HEAD\r\n";
    struct buffer text;

    h->show.answer.more = allow;
    buffer_init(&text, HTTP_STATEMENT_MAX);
    if (route->post) {
        buffer_text(&text, "this path takes only POST:\n");
        show_command(s, route, &text);
        if (route->gets)
            buffer_text(&text, "http_get_changes = yes in [node] is for "
                               "scripts that use GET\n");
    } else {
        buffer_format(&text, "%s takes only GET\n", route->path);
    }
    buffer_char(&text, '\0');
    send_text_answer(
        s, 405, text.failed ? "this path takes another method\n" : text.data);
    buffer_fini(&text);
}

static bool
takes_method(const struct session *s, const struct http_route *route)
{
    enum http_method method = s->http->request.method;

    if (method == HTTP_POST)
        return route->post || route->asks;
    if (route->post)
        return method == HTTP_GET && is_lenient(s, route);
    return method == HTTP_GET || method == HTTP_HEAD;
}

/* True: the request was refused, and has its answer. */
static bool
refuse_http_request(struct session *s, const struct http_route *route)
{
    const struct http_request *r = &s->http->request;
    struct span unknown;
    struct error err;

    if (!takes_method(s, route)) {
        refuse_method(s, route);
        return true;
    }
    /* A fixed text runs no statement, so any site may link to it. */
    if (is_cross_site_request(r) && route->show != HTTP_SHOW_TEXT) {
        send_text_answer(
            s, 403,
            "a page of another site asks for this (Sec-Fetch-Site); type the "
            "address yourself\n");
        return true;
    }
    if (route->post && may_be_forged(s, route)) {
        send_text_answer(
            s, 403,
            r->origin.size > 0
                ? "the request's Origin is another site's; the header "
                  "'X-Heapwire: 1' says that no page sent it\n"
                : "a POST needs the header 'X-Heapwire: 1', or the Origin of "
                  "this server\n");
        return true;
    }
    unknown = http_query_unknown(r->query,
                                 route->parameters ? route->parameters : "");
    if (unknown.size == 0 || route->answer)
        return false;
    error_set(&err, ER_WRONG_ARGUMENTS,
              "unknown parameter '%.*s' (allowed: %s)",
              (int)(unknown.size < 64 ? unknown.size : 64), unknown.data,
              route->parameters ? route->parameters : "none");
    answer_http_error(s, &err);
    return true;
}

/* ---- what a request may do ---- */

static void
copy_header_value(struct span from, char *out, size_t size)
{
    if (from.size < size)
        memcpy(out, from.data, from.size);
    out[from.size < size ? from.size : 0] = '\0';
}

static bool
asks_all(const struct http_request *request)
{
    char node[sizeof("all")];

    return http_query_get(request->query, "node", node, sizeof(node)) == 0 &&
           strcmp(node, "all") == 0;
}

/* Does /metrics have figures of this moment?  This node's figures are the same
 * for everybody who may see them. */
static bool
try_reuse_metrics(struct session *s)
{
    struct http_session *h = s->http;
    struct http_show_state *show = &h->show;

    if (!(s->who.privileges & PRIVILEGE_STATUS) || h->request.query.size > 0)
        return false;
    show->shared = &s->server->metrics[h->request.open][h->request.gzip];
    show->asked_ms = clock_ms();
    return http_shared_try_reuse(show->shared, show->asked_ms);
}

static void
run_route_statement(struct session *s, const struct http_route *route)
{
    struct http_session *h = s->http;
    struct http_show_state *show = &h->show;
    bool is_head = h->request.method == HTTP_HEAD;
    char kept[2];
    struct buffer text;
    struct error err;

    if (route->answer && h->request.method != HTTP_POST) {
        send_text_answer(s, 200, route->answer);
        return;
    }
    show->route = route;
    show->open_metrics = h->request.open;
    show->all_nodes = asks_all(&h->request);
    /* What is kept never changes, so it has an ETag and HEAD costs no profile.
     */
    show->kept =
        strchr(route->path, '*') ||
        http_query_get(h->request.query, "snapshot", kept, sizeof(kept)) != 0 ||
        *kept != '\0';
    copy_header_value(h->request.if_none_match, show->if_none_match,
                      sizeof(show->if_none_match));
    show->answer.more = route->more;
    if (route->show == HTTP_SHOW_METRICS && try_reuse_metrics(s)) {
        registry_note(&s->server->registry.questions, 1);
        http_show_shared(show, &s->reply.out);
        return;
    }
    buffer_init(&text, HTTP_STATEMENT_MAX);
    if (http_route_statement(route, &h->request, s->server->node.id, &text,
                             &err) != 0) {
        answer_http_error(s, &err);
        buffer_fini(&text);
        return;
    }
    registry_note(&s->server->registry.questions, 1);
    if (text.failed) {
        error_memory(&err, "a statement");
        answer_http_error(s, &err);
    } else if (server_check_http_quota(s->server, s, &err) != 0) {
        answer_http_error(s, &err);
    } else {
        /* HEAD of a path that would take a profile only parses and checks its
         * statement. */
        statement_answer(s, (struct span){text.data, text.size}, &http_form,
                         show,
                         is_head && !show->kept &&
                             (route->show == HTTP_SHOW_VALUE ||
                              route->show == HTTP_SHOW_LINES));
    }
    buffer_fini(&text);
}

static void
answer_http_request(struct session *s, const struct http_route *route)
{
    struct http_session *h = s->http;

    if (route->show != HTTP_SHOW_TEXT) {
        run_route_statement(s, route);
        return;
    }
    h->show.route = route;
    copy_header_value(h->request.if_none_match, h->show.if_none_match,
                      sizeof(h->show.if_none_match));
    http_show_text(&h->show, &s->reply.out);
}

/* False: the request may not come in and has its answer, or it waits for its
 * turn. */
static bool
admit_request(struct session *s, const struct http_route *route, bool whole)
{
    struct error err;
    int rc;

    if (is_misdirected(s)) {
        s->http->show.answer.closes = true;
        send_text_answer(s, 421,
                         "without TLS, Host must be localhost or a loopback "
                         "address: 'Host: localhost'\n");
        return false;
    }
    if (route && route->open) {
        /* A monitor may come again on the same connection, without a login. */
        s->login_deadline_ms = clock_ms() + IDLE_MS;
        return true;
    }
    rc = http_login(s, &s->http->request, &s->http->proven, whole, &err);
    /* 1: it waits among logins after wrong ones. */
    if (rc > 0)
        return false;
    if (rc < 0) {
        if (s->http->request.authorization.size > 0)
            registry_note(&s->server->registry.failed_logins, 1);
        if (err.code == ER_HOST_IS_BLOCKED)
            s->http->show.answer.retry_s = BACKOFF_WAIT_MS / 1000;
        answer_http_error(s, &err);
        return false;
    }
    if (session_is_logging_in(s->state))
        session_enter(s, SESSION_READY);
    return true;
}

static void
handle_http_request(struct session *s)
{
    struct http_session *h = s->http;
    const struct http_route *route =
        http_route_find(&h->request, h->request.method == HTTP_POST);

    if (h->state == HTTP_BAD) {
        char text[128];

        snprintf(text, sizeof(text), "%s\n", h->request.why);
        h->show.answer.closes = true;
        send_text_answer(s, h->request.status, text);
    } else if (admit_request(s, route, true)) {
        if (!route)
            send_text_answer(
                s, 404,
                "there is no such path; /help lists those that there are\n");
        else if (!refuse_http_request(s, route))
            answer_http_request(s, route);
    }
}

static void
begin_answer(struct http_session *h)
{
    const struct http_request *r = &h->request;

    h->spoke = true;
    http_show_fini(&h->show);
    memset(&h->show, 0, sizeof(h->show));
    h->show.answer = (struct http_answer){.head_alone = r->method == HTTP_HEAD,
                                          .http_1_0 = r->http_1_0,
                                          .closes = r->closes,
                                          .gzip = r->gzip,
                                          .from_page = r->own.size > 0};
}

/* The head has the password itself, which should not stay in memory. */
static void
wipe_request_head(struct span request)
{
    explicit_bzero((char *)(uintptr_t)request.data, request.size);
}

/* Judges a request whose body is yet to come by its head alone. */
static void
take_head(struct session *s, struct span head)
{
    struct http_session *h = s->http;

    begin_answer(h);
    /* unless it is admitted, when the whole request starts again */
    h->show.answer.closes = true;
    if (admit_request(s, NULL, false))
        return;
    wipe_request_head(head);
    session_enter(s, SESSION_CLOSING);
}

static void
on_packet(struct session *s, struct span packet)
{
    struct http_session *h = s->http;

    if (packet.size == 0) {
        session_start_tls(s);
        return;
    }
    /* HTTP's clients leave without COM_QUIT: that is no lost connection */
    s->quit = true;
    h->continued = false;
    begin_answer(h);
    handle_http_request(s);
    if (s->delayed_ms)
        return; /* session_delay() gives the same packet again */
    if (s->state != SESSION_RUNNING && s->state != SESSION_CLOSED &&
        h->show.answer.closes)
        session_enter(s, SESSION_CLOSING);
}

/* The head is there, and the client waits to be asked for the body. */
static void
take_expectation(struct session *s, struct span head)
{
    struct http_session *h = s->http;

    h->continued = true;
    take_head(s, head);
    if (s->state == SESSION_READY)
        buffer_text(&s->reply.out, "HTTP/1.1 100 Continue\r\n\r\n");
}

/* Makes room for size bytes and one read at once, because a buffer that grows
 * leaves copies of a password behind.  What is larger than one read counts
 * against the memory of all clients. */
static void
reserve_request_input(struct session *s, size_t size)
{
    if (size < SERVER_INPUT)
        size = SERVER_INPUT;
    if (s->in.bytes.capacity > size || s->state == SESSION_CLOSING)
        return;
    if (size == SERVER_INPUT ||
        memory_reserve(&s->input_reserved, s->who.user, size + 1))
        packet_move(&s->in, size + 1);
    else
        session_refuse_more(s);
}

/* A packet is a whole request, or what came instead of one; an empty one means
 * that TLS begins, which no request of HTTP looks like. */
static enum packet_state
next_http_request(struct session *s, struct span *packet)
{
    struct http_session *h = s->http;
    /* All that waits is looked at; then the packet is claimed again, by its
     * size. */
    struct span waiting = packet_claim(&s->in, packet_waiting(&s->in));

    *packet = packet_claim(&s->in, 0);
    if (waiting.size == 0) {
        reserve_request_input(s, 0);
        return PACKET_MORE;
    }
    if (!h->spoke && !s->tls && s->transport == TRANSPORT_TCP &&
        *waiting.data == TLS_HANDSHAKE)
        return PACKET_READY;
    h->state = http_request_read(waiting, &h->request);
    /* A large body is not kept for somebody who has not logged in. */
    if (h->state == HTTP_MORE) {
        if (h->request.expects && !h->continued)
            take_expectation(s, waiting);
        else if (h->request.size > UNAUTHENTICATED_REQUEST_MAX &&
                 session_is_logging_in(s->state))
            take_head(s, waiting);
        reserve_request_input(s, h->request.size);
        return PACKET_MORE;
    }
    *packet = packet_claim(&s->in, h->state == HTTP_BAD ? waiting.size
                                                        : h->request.size);
    return PACKET_READY;
}

static void
free_http_session(struct session *s)
{
    if (s->http) {
        http_show_fini(&s->http->show);
        explicit_bzero(&s->http->proven, sizeof(s->http->proven));
    }
    mem_free(s->http);
    sql_session_free(s->sql);
}

const struct conversation http_conversation = {
    .web = true,
    .idle_ms = IDLE_MS,
    .greet = begin_http_session,
    .next = next_http_request,
    .send_error = answer_last_http_error,
    .on_packet = on_packet,
    .on_drained = statement_resume,
    .on_closed = statement_abandon,
    .on_tick = statement_tick,
    .cancel = statement_cancel,
    .free = free_http_session,
};
