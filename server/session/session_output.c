/*
 * session_output.c - what goes out to a session's client: the reply, or with
 * TLS the ciphertext made of it, as much as the socket takes.
 *
 * Called by whoever has the session: with the loop's lock, or off the loop by
 * its statement's thread.  Sending never waits.  Bytes that the client does not
 * take stay in the buffer, and progress_ms says since when; session_tick.c
 * closes the connection when that is too long ago.
 */
#include <errno.h>
#include <sys/socket.h>

#include "clock.h"
#include "session.h"
#include "tls_stream.h"

static struct buffer *
session_output_buffer(struct session *s)
{
    return s->tls ? &s->sealed : &s->reply.out;
}

size_t
session_unsent(const struct session *s)
{
    size_t unsealed = s->tls ? tls_stream_unsent(s->tls) : 0;

    return s->reply.out.size + unsealed + s->sealed.size - s->sent;
}

bool
session_output_full(const struct session *s)
{
    return session_unsent(s) >= REPLY_FULL;
}

/* While a statement runs, the block is kept for the next bytes of a long
 * result; TLS makes its own.  An idle session has no block. */
static void
empty_session_output(struct session *s, struct buffer *out)
{
    size_t max = out->max;

    s->sent = 0;
    if (s->state == SESSION_RUNNING && !s->tls &&
        out->capacity <= (size_t)2 * REPLY_FULL) {
        buffer_clear(out);
        return;
    }
    buffer_fini(out);
    buffer_init(out, max);
}

/* -1: the connection is broken. */
static int
send_output(struct session *s, struct buffer *out)
{
    size_t before = s->sent;
    ssize_t n = 0;

    while (s->sent < out->size) {
        n = send(s->source.fd, out->data + s->sent, out->size - s->sent,
                 MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        s->sent += (size_t)n;
    }
    s->noted += s->sent - before;
    if (s->sent == out->size)
        empty_session_output(s, out);
    /* send() has failed, so errno is its own. */
    else if (errno != EAGAIN)
        return -1;
    else if (s->sent > before || s->progress_ms == 0)
        s->progress_ms = clock_ms();
    if (out->size == 0)
        s->progress_ms = 0;
    return 0;
}

/* Makes the next ciphertext, if none is under way. */
static int
seal_session_output(struct session *s)
{
    bool last = s->state == SESSION_CLOSING && s->reply.out.size == 0;

    if (s->sealed.size > 0)
        return 0;
    tls_stream_give(s->tls, &s->reply.out);
    return tls_stream_seal(s->tls, last, &s->sealed);
}

int
session_send(struct session *s)
{
    /* With TLS a large reply becomes several ciphertexts, one after the other.
     */
    do {
        if (s->reply.out.failed) /* there was no room even for an error */
            return -1;
        if ((s->tls && seal_session_output(s) != 0) ||
            send_output(s, session_output_buffer(s)) != 0)
            return -1;
    } while (s->tls && s->sealed.size == 0 && tls_stream_unsent(s->tls) > 0);
    return 0;
}

void
session_send_alert(struct session *s)
{
    if (s->sealed.size == 0 && tls_stream_seal(s->tls, false, &s->sealed) == 0)
        (void)send_output(s, &s->sealed);
}
