/* peer_link.c - see peer_link.h. */
#include "peer_link.h"

#include <inttypes.h>
#include <string.h>

#include "memory.h"

/* A state's call of the library, and what follows it. */
struct step {
    void (*call)(struct peer_link *l);
    /* After the call; true: the next state's call may begin at once. */
    bool (*ended)(struct peer_link *l);
};

static void drive(struct peer_link *l);

/* The end */

static void
on_closed(uv_handle_t *handle)
{
    struct peer_link *l = handle->data;

    if (--l->handles > 0)
        return;
    buffer_fini(&l->text);
    peer_stack_fini(l);
    peer_client_reset(&l->client);
    mem_free(l);
}

static void
unwatch(struct peer_link *l)
{
    if (l->watching != 0)
        uv_poll_stop(&l->poll);
    l->watching = 0;
}

/* libuv lets go of the descriptor before it is closed. */
static void
close_now(struct peer_link *l)
{
    unwatch(l);
    if (l->poll_open)
        uv_close((uv_handle_t *)&l->poll, on_closed);
    uv_close((uv_handle_t *)&l->timer, on_closed);
    peer_link_abandon(l);
}

void
peer_link_close(struct peer_link *l)
{
    if (!l || !l->events)
        return;
    l->events = NULL;
    if (!l->driving)
        close_now(l);
}

/* The poll stops first: the library may have closed the descriptor, and what
 * the owner opens next could get its number. */
static void
fail(struct peer_link *l, const struct error *why)
{
    if (!l->events || l->broken)
        return;
    l->broken = true;
    unwatch(l);
    uv_timer_stop(&l->timer);
    l->events->broken(l, why);
}

static void
fail_text(struct peer_link *l, const char *text)
{
    struct error why;

    error_set(&why, ER_UNKNOWN, "%s", text);
    fail(l, &why);
}

/* With the library's reason. */
static void
fail_reason(struct peer_link *l)
{
    struct error why;

    peer_link_reason(l, &why);
    fail(l, &why);
}

/* Waiting */

static void
on_timer(uv_timer_t *timer)
{
    struct peer_link *l = timer->data;
    struct error why;

    if (l->due) {
        l->due = false;
        if (l->state == PEER_LINK_CONNECTING)
            uv_timer_start(&l->timer, on_timer, l->timeout_ms, 0);
        drive(l);
        return;
    }
    if (l->state == PEER_LINK_READY) {
        fail_text(l, "idle for long enough");
        return;
    }
    error_set(&why, ER_UNKNOWN,
              l->logs_in ? "it did not prove itself within %" PRIu64 " ms"
                         : "no connection within %" PRIu64 " ms",
              l->logs_in ? PEER_LINK_LOGIN * l->timeout_ms : l->timeout_ms);
    fail(l, &why);
}

/* On the loop's next turn. */
static void
drive_soon(struct peer_link *l)
{
    l->due = true;
    uv_timer_start(&l->timer, on_timer, 0, 0);
}

static void
on_poll(uv_poll_t *poll, int status, int events)
{
    struct peer_link *l = poll->data;

    if (l->state == PEER_LINK_READY) {
        fail_text(l, "it hung up");
        return;
    }
    (void)status; /* the socket itself reports its fault */
    (void)events;
    if (!l->due) /* the timer continues, on this turn */
        drive(l);
}

static int
open_poll(struct peer_link *l)
{
    if (l->fd < 0 || uv_poll_init(l->timer.loop, &l->poll, l->fd) != 0)
        return -1;
    l->poll.data = l;
    l->poll_open = true;
    l->handles++;
    return 0;
}

static void
watch(struct peer_link *l, int wait)
{
    int events = (wait & MYSQL_WAIT_READ ? UV_READABLE : 0) |
                 (wait & MYSQL_WAIT_WRITE ? UV_WRITABLE : 0);

    if (events == l->watching)
        return;
    if ((!l->poll_open && open_poll(l) != 0) ||
        uv_poll_start(&l->poll, events, on_poll) != 0) {
        fail_text(l, "its descriptor cannot be watched");
        return;
    }
    l->watching = events;
}

/* Connecting */

static void
call_connect(struct peer_link *l)
{
    const struct peer_place *at = &l->place;

    /* A name, because the library would look up this process's own. */
    l->made = mysql_real_connect(&l->mysql, at->socket ? NULL : at->address,
                                 "node", NULL, NULL, at->port, at->socket,
                                 CLIENT_REMEMBER_OPTIONS);
}

static bool
connected(struct peer_link *l)
{
    if (!l->made) {
        fail_reason(l);
        return false;
    }
    if (!l->client.proven) {
        fail_text(l, "it accepted the login and proved nothing");
        return false;
    }
    if (l->place.tls && !mysql_get_ssl_cipher(&l->mysql)) {
        fail_text(l, "it does not encrypt");
        return false;
    }
    /* This node's own socket is not encrypted.  A certificate shown here was
     * shown to a third party, which passes on the proof. */
    if (!l->place.tls && l->client.has_fingerprint) {
        fail_text(l, "it uses TLS, and this connection does not: a third party "
                     "is in between");
        return false;
    }
    /* Sends no question that a third party could read. */
    if (l->place.tls && !peer_socket_is_proven(l)) {
        fail_text(l, l->client.has_fingerprint
                         ? "the certificate is not the one that it proves to "
                           "have: a third party may be in between"
                         : "it sends no fingerprint of its certificate");
        return false;
    }
    uv_timer_stop(&l->timer);
    l->mysql.net.max_packet_size = PEER_CELL_MAX;
    peer_socket_connected(l);
    peer_link_trim(l, PEER_LINK_RESTING);
    peer_stack_trim(l);
    l->state = PEER_LINK_READY;
    l->events->connected(l);
    return false;
}

/* Asking */

static void
call_query(struct peer_link *l)
{
    l->refused = mysql_real_query(&l->mysql, l->text.data, l->text.size);
}

/* It has answered, and may be asked again. */
static void
rest(struct peer_link *l, const struct error *error)
{
    peer_link_note_byte(l);
    l->state = PEER_LINK_READY;
    l->reused = true;
    buffer_fini(&l->text);
    buffer_init(&l->text, PEER_CELL_MAX);
    peer_link_trim(l, PEER_LINK_RESTING);
    l->events->answered(l, error);
    if (l->events && !l->broken && !l->mysql.net.pvio)
        fail_text(l, "it hung up");
}

/* May another row be read? */
static bool
may_read(struct peer_link *l)
{
    if (!l->events->wants(l)) {
        unwatch(l);
        return false;
    }
    return l->events != NULL;
}

static bool
asked(struct peer_link *l)
{
    struct error error;

    if (l->refused) {
        if (peer_link_said(l, &error))
            rest(l, &error);
        else
            fail_reason(l);
        return false;
    }
    if (mysql_field_count(&l->mysql) != l->columns) {
        error_set(&error, ER_UNKNOWN,
                  "it answered with %u columns instead of %zu",
                  mysql_field_count(&l->mysql), l->columns);
        fail(l, &error);
        return false;
    }
    l->result = mysql_use_result(&l->mysql);
    if (!l->result) {
        fail_reason(l);
        return false;
    }
    l->state = PEER_LINK_READING;
    return may_read(l);
}

/* Reading */

static void
call_fetch(struct peer_link *l)
{
    l->row = mysql_fetch_row(l->result);
}

static bool
rows_ended(struct peer_link *l)
{
    static const struct error none;
    struct error error;
    bool failed = mysql_errno(&l->mysql) != 0,
         said = failed && peer_link_said(l, &error),
         more = mysql_more_results(&l->mysql);

    if (failed && !said) {
        fail_reason(l);
        return false;
    }
    if (!failed)
        mysql_free_result(l->result);
    else {
        l->result->handle = NULL; /* there is nothing left to skip */
        mysql_free_result(l->result);
        l->mysql.status = MYSQL_STATUS_READY;
    }
    l->result = NULL;
    if (!failed && more)
        fail_text(l, "it answers more than it was asked");
    else
        rest(l, failed ? &error : &none);
    return false;
}

static bool
fetched(struct peer_link *l)
{
    struct span cells[PEER_COLUMNS_MAX];
    const unsigned long *sizes;

    if (!l->row)
        return rows_ended(l);
    sizes = mysql_fetch_lengths(l->result);
    for (size_t i = 0; i < l->columns; i++) {
        cells[i].data = l->row[i];
        cells[i].size = l->row[i] ? sizes[i] : 0;
    }
    l->run += PEER_LINK_ROW;
    l->events->row(l, cells);
    if (!l->events || l->broken)
        return false;
    peer_link_trim(l, PEER_LINK_KEPT);
    return may_read(l);
}

static const struct step steps[] = {
    [PEER_LINK_CONNECTING] = {call_connect, connected},
    [PEER_LINK_ASKING] = {call_query, asked},
    [PEER_LINK_READING] = {call_fetch, fetched},
};

/* Handles the progress of the call. */
static void
look(struct peer_link *l)
{
    if (l->state == PEER_LINK_CONNECTING && l->established && !l->logs_in) {
        l->logs_in = true;
        uv_timer_start(&l->timer, on_timer, PEER_LINK_LOGIN * l->timeout_ms, 0);
    }
    if (l->state == PEER_LINK_ASKING &&
        l->bytes - l->bytes_before > PEER_LINK_HEADER)
        fail_text(l, "the columns of its answer have no end");
}

/* Continues the call, or begins the state's. */
static void
drive(struct peer_link *l)
{
    bool more = true;
    int wait = 0;

    l->driving = true;
    l->run = 0;
    while (more) {
        wait = l->pending ? peer_stack_go_on(l)
                          : peer_stack_call(l, steps[l->state].call);
        l->pending = wait != 0;
        if (l->pending)
            look(l);
        more =
            !l->pending && steps[l->state].ended(l) && l->events && !l->broken;
    }
    if (l->events && !l->broken && l->state == PEER_LINK_READING)
        l->events->quiet(l);
    l->driving = false;
    if (!l->events)
        close_now(l);
    else if (!l->broken && l->starved)
        unwatch(l);
    else if (!l->broken && wait != 0)
        watch(l, wait);
    else if (!l->broken && l->state == PEER_LINK_READY && !l->due)
        watch(l, MYSQL_WAIT_READ);
}

/* What owners call */

struct peer_link *
peer_link_open(uv_loop_t *loop, const struct peer_place *place,
               const struct peer_identity *identity, uint64_t timeout_ms,
               const struct peer_link_events *events, void *arg,
               struct error *err)
{
    struct peer_link *l = mem_zalloc(1, sizeof(*l));

    if (!l) {
        error_memory(err, "a connection");
        return NULL;
    }
    l->place = *place;
    l->identity = *identity;
    l->client.self = &l->identity;
    l->client.expected_id = place->id;
    l->events = events;
    l->arg = arg;
    l->fd = -1;
    l->timeout_ms = timeout_ms;
    buffer_init(&l->text, PEER_CELL_MAX);
    uv_timer_init(loop, &l->timer);
    l->timer.data = l;
    l->handles = 1;
    if (peer_stack_init(l, err) != 0 || peer_link_prepare(l, err) != 0) {
        peer_link_close(l);
        return NULL;
    }
    drive_soon(l);
    return l;
}

void
peer_link_own(struct peer_link *l, const struct peer_link_events *events,
              void *arg)
{
    l->events = events;
    l->arg = arg;
}

int
peer_link_ask(struct peer_link *l, const struct peer_request *request,
              unsigned timeout_ms, struct error *err)
{
    if (peer_client_seal(&l->client, request, timeout_ms, &l->text, err) != 0)
        return -1;
    if (l->text.failed) {
        error_memory(err, "a statement for another node");
        return -1;
    }
    l->columns = request->column_count;
    l->heard = false;
    l->asked_ns = uv_hrtime();
    l->heard_ns = 0;
    l->bytes_before = l->bytes;
    l->state = PEER_LINK_ASKING;
    drive_soon(l);
    return 0;
}

void
peer_link_rest(struct peer_link *l, uint64_t timeout_ms)
{
    uv_timer_start(&l->timer, on_timer, timeout_ms, 0);
}

void
peer_link_resume(struct peer_link *l)
{
    if (l->state == PEER_LINK_READING && !l->pending && !l->broken && !l->due)
        drive_soon(l);
}

void
peer_link_admit(struct peer_link *l)
{
    l->starved = false;
    l->large = true;
    drive_soon(l);
}

bool
peer_link_reusable(const struct peer_link *l)
{
    return l->state == PEER_LINK_READY && !l->broken && l->mysql.net.pvio &&
           l->mysql.net.max_packet <= PEER_LINK_KEPT;
}

uint64_t
peer_link_round_trip_us(const struct peer_link *l)
{
    return l->heard_ns > l->asked_ns ? (l->heard_ns - l->asked_ns) / 1000 : 0;
}
