/*
 * etcd_http.c - see etcd_session.h.
 *
 * libcurl's multi interface: a question and the stream go on side by side in
 * one thread, and curl_multi_wakeup() is all that other threads need to end a
 * wait.  A transfer is made for each request, but the multi handle keeps
 * the connections.
 */
#include "etcd_session.h"

#include <curl/curl.h>
#include <stdatomic.h>
#include <string.h>

#include "buffer.h"
#include "clock.h"
#include "errors.h"
#include "etcd_wire.h"
#include "memory.h"

enum { URL_MAX = 512, HEADER_MAX = ETCD_TOKEN_MAX + 32 };

struct transfer {
    CURL *easy; /* NULL: none */
    struct curl_slist *headers;
    struct buffer *got; /* has a ceiling */
    char why[CURL_ERROR_SIZE];
    bool ended;
    CURLcode result;
};

struct etcd_http {
    struct etcd_http_options options;
    CURLM *multi;
    struct transfer question, stream;
    struct buffer asked, lines; /* the stream's request; its answer so far */
    size_t taken;               /* bytes of lines that were returned already */
    atomic_bool woken;          /* any thread sets it */
};

struct etcd_http *
etcd_http_new(const struct etcd_http_options *options, struct error *err)
{
    struct etcd_http *http = mem_zalloc(1, sizeof(*http));

    if (!http) {
        error_memory(err, "the connection to etcd");
        return NULL;
    }
    http->options = *options;
    buffer_init(&http->asked, ETCD_REQUEST_MAX);
    buffer_init(&http->lines, ETCD_LINES_MAX);
    http->multi = curl_multi_init();
    if (http->multi)
        return http;
    error_memory(err, "the connection to etcd");
    mem_free(http);
    return NULL;
}

static void
end_transfer(struct etcd_http *http, struct transfer *t)
{
    if (t->easy) {
        curl_multi_remove_handle(http->multi, t->easy);
        curl_easy_cleanup(t->easy);
    }
    curl_slist_free_all(t->headers);
    memset(t, 0, sizeof(*t));
}

void
etcd_http_free(struct etcd_http *http)
{
    if (!http)
        return;
    end_transfer(http, &http->question);
    end_transfer(http, &http->stream);
    curl_multi_cleanup(http->multi);
    buffer_fini(&http->asked);
    buffer_fini(&http->lines);
    mem_free(http);
}

static size_t
on_data(char *data, size_t size, size_t count, void *arg)
{
    struct transfer *t = arg;

    buffer_add(t->got, data, size * count);
    /* Less than was given makes libcurl end the transfer. */
    return t->got->failed ? 0 : size * count;
}

static int
add_header(struct transfer *t, const char *header)
{
    struct curl_slist *more = curl_slist_append(t->headers, header);

    if (!more)
        return -1;
    t->headers = more;
    return 0;
}

static int
add_headers(struct transfer *t, const char *token)
{
    char header[HEADER_MAX];
    int rc;

    if (add_header(t, "Content-Type: application/json") != 0 ||
        /* Without this libcurl asks for "100 Continue" and waits a second for
         * it. */
        add_header(t, "Expect:") != 0)
        return -1;
    if (!*token)
        return 0;
    snprintf(header, sizeof(header), "Authorization: %s", token);
    rc = add_header(t, header);
    explicit_bzero(header, sizeof(header));
    return rc;
}

/* Nothing comes from the environment: no proxy, no other protocol, no other
 * host. */
static bool
set_transfer_options(struct transfer *t,
                     const struct etcd_http_options *options, const char *url,
                     const struct buffer *body)
{
    CURL *c = t->easy;
    bool ok = curl_easy_setopt(c, CURLOPT_URL, url) == CURLE_OK;

    ok = ok &&
         curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_PROXY, "") == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) == CURLE_OK;
    /* Otherwise libcurl waits for a pending name lookup, which would delay the
     * stop. */
    ok = ok && curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_HTTP_VERSION,
                                (long)CURL_HTTP_VERSION_1_1) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
                                (long)ETCD_CONNECT_MS) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_TCP_KEEPALIVE, 1L) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)body->size) ==
                   CURLE_OK;
    ok = ok &&
         curl_easy_setopt(c, CURLOPT_COPYPOSTFIELDS, body->data) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_HTTPHEADER, t->headers) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_data) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_WRITEDATA, t) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->why) == CURLE_OK;
    if (*options->cacert)
        ok = ok &&
             curl_easy_setopt(c, CURLOPT_CAINFO, options->cacert) == CURLE_OK;
    if (*options->cert)
        ok = ok &&
             curl_easy_setopt(c, CURLOPT_SSLCERT, options->cert) == CURLE_OK &&
             curl_easy_setopt(c, CURLOPT_SSLKEY, options->key) == CURLE_OK;
    return ok;
}

static int
begin_transfer(struct etcd_http *http, struct transfer *t, const char *endpoint,
               const char *path, const char *token, const struct buffer *body,
               struct buffer *got, struct error *err)
{
    char url[URL_MAX];

    snprintf(url, sizeof(url), "%s%s", endpoint, path);
    t->got = got;
    t->easy = curl_easy_init();
    if (body->failed || !t->easy || add_headers(t, token) != 0 ||
        !set_transfer_options(t, &http->options, url, body) ||
        curl_multi_add_handle(http->multi, t->easy) != CURLM_OK) {
        error_set(err, ER_UNKNOWN, "%s cannot be asked: no memory", endpoint);
        end_transfer(http, t);
        return -1;
    }
    return 0;
}

/* Does whatever can be done without waiting. */
static void
perform_transfers(struct etcd_http *http)
{
    int running, left;
    const CURLMsg *message;

    curl_multi_perform(http->multi, &running);
    while ((message = curl_multi_info_read(http->multi, &left))) {
        struct transfer *t = message->easy_handle == http->stream.easy
                                 ? &http->stream
                                 : &http->question;

        t->ended = message->msg == CURLMSG_DONE;
        t->result = message->data.result;
    }
}

static const char *
transfer_error_text(const struct transfer *t)
{
    return *t->why ? t->why : curl_easy_strerror(t->result);
}

/* Tells whether a finished transfer succeeded; -1 with *err. */
static int
check_end(const struct transfer *t, const char *endpoint, struct error *err)
{
    long status = 0;

    if (t->result != CURLE_OK) {
        error_set(err, ER_UNKNOWN, "%s: %s", endpoint,
                  t->got->failed ? "it answers too much"
                                 : transfer_error_text(t));
        return -1;
    }
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status == 200)
        return 0;
    etcd_read_failure((struct span){t->got->data, t->got->size}, status, err);
    return -1;
}

bool
etcd_http_is_woken(const struct etcd_http *http)
{
    return atomic_load_explicit(&http->woken, memory_order_acquire);
}

int
etcd_http_ask(struct etcd_http *http, const char *endpoint, const char *path,
              const char *token, const struct buffer *body,
              struct buffer *answer, unsigned timeout_ms, struct error *err)
{
    struct transfer *t = &http->question;
    uint64_t deadline = clock_ms() + timeout_ms;
    uint64_t now;
    int rc = -1;

    buffer_clear(answer);
    if (begin_transfer(http, t, endpoint, path, token, body, answer, err) != 0)
        return -1;
    for (;;) {
        perform_transfers(http);
        if (t->ended) {
            rc = check_end(t, endpoint, err);
            break;
        }
        now = clock_ms();
        if (etcd_http_is_woken(http) || now >= deadline) {
            error_set(err, ER_UNKNOWN, "%s: no answer within %u ms", endpoint,
                      timeout_ms);
            break;
        }
        curl_multi_poll(http->multi, NULL, 0, (int)(deadline - now), NULL);
    }
    end_transfer(http, t);
    return rc;
}

int
etcd_http_watch(struct etcd_http *http, const char *endpoint, const char *path,
                const char *token, const struct buffer *body, struct error *err)
{
    etcd_http_unwatch(http);
    return begin_transfer(http, &http->stream, endpoint, path, token, body,
                          &http->lines, err);
}

void
etcd_http_unwatch(struct etcd_http *http)
{
    end_transfer(http, &http->stream);
    buffer_clear(&http->lines);
    http->taken = 0;
}

/* Finds the end of the next line; NULL: it has not come yet. */
static const char *
next_end(const struct etcd_http *http)
{
    size_t left = http->lines.size - http->taken;

    return left > 0 ? memchr(http->lines.data + http->taken, '\n', left) : NULL;
}

int
etcd_http_line(struct etcd_http *http, struct span *line, struct error *err)
{
    const struct transfer *t = &http->stream;
    const char *end = next_end(http);

    if (end) {
        line->data = http->lines.data + http->taken;
        line->size = (size_t)(end - line->data);
        http->taken += line->size + 1;
        return 1;
    }
    /* Once per round, when no whole line is left: the rest is short. */
    buffer_drop_front(&http->lines, http->taken);
    http->taken = 0;
    if (!t->ended)
        return 0;
    if (check_end(t, "the watch", err) == 0)
        error_set(err, ER_UNKNOWN, "the watch was ended by etcd");
    return -1;
}

void
etcd_http_wait(struct etcd_http *http, unsigned timeout_ms)
{
    perform_transfers(http);
    if (etcd_http_is_woken(http) || http->stream.ended || next_end(http))
        return;
    curl_multi_poll(http->multi, NULL, 0, (int)timeout_ms, NULL);
    perform_transfers(http);
}

void
etcd_http_poke(struct etcd_http *http)
{
    curl_multi_wakeup(http->multi);
}

void
etcd_http_wake(struct etcd_http *http)
{
    atomic_store_explicit(&http->woken, true, memory_order_release);
    curl_multi_wakeup(http->multi);
}

void
etcd_http_resume(struct etcd_http *http)
{
    atomic_store_explicit(&http->woken, false, memory_order_release);
}
