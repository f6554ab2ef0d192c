/* fake_peers.c - see fake_peers.h.  Not through mem_alloc(), whose failures are
 * for what is tested; but mem_free() is free(). */
#include "fake_peers.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct event {
    struct peer_block *block; /* NULL: an end */
    struct peer_end end;
};

struct peer_fanout {
    struct event *events;
    size_t count, room, taken, ended, id_count;
    size_t bytes, *node_bytes;
    struct {
        const struct sql_peers *peers;
        struct peer_fanout *fanout; /* theirs; NULL: it has ended */
        size_t index;
    } real[FAKE_REAL_MAX];
    size_t real_count;
};

struct fake_peers fake_peers;

/* Of the events: a test adds some while a statement takes others. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct fake_node *
find(uint64_t id)
{
    for (size_t i = 0; i < fake_peers.count; i++)
        if (fake_peers.nodes[i].row.id == id)
            return &fake_peers.nodes[i];
    return NULL;
}

static size_t
list(void *arg, struct peer_row *out, size_t max)
{
    (void)arg;
    for (size_t i = 0; i < fake_peers.count && i < max; i++)
        out[i] = fake_peers.nodes[i].row;
    return fake_peers.count;
}

/* ---- what has come ---- */

static void
push(struct peer_block *block, const struct peer_end *end)
{
    struct peer_fanout *f = fake_peers.fanout;

    ck_assert_ptr_nonnull(f);
    pthread_mutex_lock(&lock);
    if (f->count == f->room) {
        f->room = f->room ? 2 * f->room : 16;
        f->events = realloc(f->events, f->room * sizeof(*f->events));
        ck_assert_ptr_nonnull(f->events);
    }
    f->events[f->count] = (struct event){.block = block};
    if (end)
        f->events[f->count].end = *end;
    f->count++;
    pthread_mutex_unlock(&lock);
    fake_peers.request.waker.wake(fake_peers.request.waker.arg);
}

static size_t
index_of(uint64_t id)
{
    size_t i = 0;

    while (i < fake_peers.request.id_count && fake_peers.ids[i] != id)
        i++;
    ck_assert_uint_lt(i, fake_peers.request.id_count);
    return i;
}

/* What of a cell is within the ceilings. */
static size_t
allow(size_t index, size_t size)
{
    struct peer_fanout *f = fake_peers.fanout;
    const struct peer_request *r = &fake_peers.request;
    size_t room = r->node_bytes_max - f->node_bytes[index];

    if (room > r->bytes_max - f->bytes)
        room = r->bytes_max - f->bytes;
    if (size > room)
        size = room;
    f->node_bytes[index] += size;
    f->bytes += size;
    return size;
}

/* True: it was cut. */
static bool
push_cell(size_t index, const char *data, size_t size, bool null)
{
    size_t kept = allow(index, size);
    struct peer_block *block =
        calloc(1, sizeof(*block) + sizeof(struct span) + kept + 1);
    char *copy;

    ck_assert_ptr_nonnull(block);
    copy = (char *)&block->cells[1];
    if (kept)
        memcpy(copy, data, kept);
    block->id_index = index;
    block->row_count = 1;
    block->bytes = kept;
    block->cells[0] = (struct span){null ? NULL : copy, kept};
    push(block, NULL);
    return kept < size;
}

static size_t
count_of(const char *text, size_t size, char what)
{
    size_t count = 1;

    for (size_t i = 0; i < size; i++)
        count += text[i] == what;
    return count;
}

/* All rows in one block. */
static bool
push_rows(size_t index, const char *rows)
{
    size_t size = strlen(rows), columns = fake_peers.request.column_count;
    size_t count = count_of(rows, size, '\n'), cell = 0;
    struct peer_block *block = calloc(
        1, sizeof(*block) + count * columns * sizeof(struct span) + size + 1);
    char *copy;
    bool cut = false;

    ck_assert_ptr_nonnull(block);
    copy = (char *)&block->cells[count * columns];
    memcpy(copy, rows, size + 1);
    block->id_index = index;
    block->row_count = count;
    while (cell < count * columns) {
        size_t length = strcspn(copy, columns > 1 ? "|\n" : "\n");
        size_t kept = allow(index, length);

        for (size_t i = 0; i < length; i++)
            copy[i] = copy[i] == '\v' ? '\n' : copy[i];
        block->cells[cell++] = length == 2 && memcmp(copy, "\\N", 2) == 0
                                   ? (struct span){NULL, 0}
                                   : (struct span){copy, kept};
        block->bytes += kept;
        cut = cut || kept < length;
        copy += length + (copy[length] != '\0'); /* too few: empty ones */
    }
    push(block, NULL);
    return cut;
}

static void
push_end(size_t index, uint16_t code, const char *why, bool truncated)
{
    struct peer_end end = {.id_index = index, .truncated = truncated};

    if (code)
        error_set(&end.error, code, "%s", why);
    push(NULL, &end);
}

static void
answer(size_t index, const struct fake_node *node)
{
    bool cut = node->truncated;

    if (node->value.data)
        cut |= push_cell(index, node->value.data, node->value.size, false);
    else if (node->rows)
        cut |= push_rows(index, node->rows);
    push_end(index, node->error, node->why, cut && !node->error);
}

/* ---- struct sql_peers ---- */

static void
keep_request(const struct peer_request *request)
{
    size_t size = request->id_count * sizeof(*request->ids);

    fake_peers.request = *request;
    free(fake_peers.ids);
    fake_peers.ids = calloc(1, size + 1);
    ck_assert_ptr_nonnull(fake_peers.ids);
    memcpy(fake_peers.ids, request->ids, size);
    fake_peers.request.ids = fake_peers.ids;
    fake_peers.caller = *request->caller;
    free((void *)fake_peers.text.data);
    fake_peers.text = request->text;
    fake_peers.text.data = strndup(request->text.data, request->text.size);
    ck_assert_ptr_nonnull(fake_peers.text.data);
}

/* It knows itself by an id of its own. */
static void
ask_real(struct peer_fanout *f, size_t index, const struct sql_peers *peers,
         const struct peer_request *request)
{
    struct peer_request alone = *request;
    struct peer_row row;
    struct error err;

    ck_assert_uint_lt(f->real_count, FAKE_REAL_MAX);
    ck_assert_uint_eq(peers->list(peers->arg, &row, 1), 1);
    alone.ids = &row.id;
    alone.id_count = 1;
    f->real[f->real_count].peers = peers;
    f->real[f->real_count].index = index;
    f->real[f->real_count].fanout = peers->ask(peers->arg, &alone, &err);
    ck_assert_ptr_nonnull(f->real[f->real_count].fanout);
    f->real_count++;
}

static struct peer_fanout *
ask(void *arg, const struct peer_request *request, struct error *err)
{
    struct peer_fanout *f;

    (void)arg;
    ck_assert_uint_gt(request->id_count, 0);
    ck_assert_uint_gt(request->text.size, 0);
    for (size_t i = 1; i < request->id_count; i++)
        ck_assert_uint_lt(request->ids[i - 1], request->ids[i]);
    if (fake_peers.refuses) {
        error_set(err, ER_OUT_OF_MEMORY, "Out of memory for the question");
        return NULL;
    }
    f = calloc(1, sizeof(*f));
    ck_assert_ptr_nonnull(f);
    f->id_count = request->id_count;
    f->node_bytes = calloc(request->id_count, sizeof(*f->node_bytes));
    keep_request(request);
    fake_peers.fanout = f;
    fake_peers.asked++;
    for (size_t i = 0; i < request->id_count; i++)
        if (!find(request->ids[i]))
            push_end(i, ER_KEY_NOT_FOUND, "node not found", false);
    for (size_t i = 0; i < fake_peers.count; i++) {
        struct fake_node *node = &fake_peers.nodes[i];
        size_t at = 0;

        while (at < request->id_count && request->ids[at] != node->row.id)
            at++;
        node->asked = at < request->id_count;
        if (node->asked && node->real)
            ask_real(f, at, node->real, request);
        else if (node->asked && !node->held)
            answer(at, node);
    }
    return f;
}

static enum peer_event
take_real(struct peer_fanout *f, struct peer_block **block,
          struct peer_end *end)
{
    for (size_t i = 0; i < f->real_count; i++) {
        const struct sql_peers *peers = f->real[i].peers;
        enum peer_event event = PEER_NOTHING_YET;

        if (f->real[i].fanout)
            event = peers->take(f->real[i].fanout, block, end);
        if (event == PEER_NOTHING_YET)
            continue;
        if (event == PEER_BLOCK) {
            (*block)->id_index = f->real[i].index;
            return event;
        }
        end->id_index = f->real[i].index;
        peers->release(f->real[i].fanout);
        f->real[i].fanout = NULL;
        f->ended++;
        return event;
    }
    return PEER_NOTHING_YET;
}

static enum peer_event
take_event(struct peer_fanout *f, struct peer_block **block,
           struct peer_end *end)
{
    struct event *event;

    if (f->ended == f->id_count)
        return PEER_ALL_ENDED;
    if (f->taken == f->count)
        return take_real(f, block, end);
    event = &f->events[f->taken++];
    if (event->block) {
        *block = event->block;
        return PEER_BLOCK;
    }
    *end = event->end;
    f->ended++;
    return PEER_END;
}

static enum peer_event
take(struct peer_fanout *f, struct peer_block **block, struct peer_end *end)
{
    enum peer_event event;

    pthread_mutex_lock(&lock);
    event = take_event(f, block, end);
    pthread_mutex_unlock(&lock);
    return event;
}

static void
release(struct peer_fanout *f)
{
    if (!f)
        return;
    for (; f->taken < f->count; f->taken++)
        free(f->events[f->taken].block);
    for (size_t i = 0; i < f->real_count; i++)
        f->real[i].peers->release(f->real[i].fanout);
    free(f->events);
    free(f->node_bytes);
    if (fake_peers.fanout == f)
        fake_peers.fanout = NULL;
    free(f);
    fake_peers.released++;
}

/* ---- for tests ---- */

void
fake_peers_reset(void)
{
    fake_peers_fini();
    fake_peers.peers = (struct sql_peers){NULL, list, ask, take, release};
}

void
fake_peers_fini(void)
{
    free(fake_peers.nodes);
    free(fake_peers.ids);
    free((void *)fake_peers.text.data);
    memset(&fake_peers, 0, sizeof(fake_peers));
}

struct fake_node *
fake_peers_add(uint64_t id, enum peer_role role)
{
    struct fake_node *node;

    ck_assert_uint_lt(fake_peers.count, FAKE_NODES_MAX);
    if (fake_peers.count == fake_peers.room) {
        fake_peers.room = fake_peers.room ? 2 * fake_peers.room : 16;
        fake_peers.nodes = realloc(fake_peers.nodes,
                                   fake_peers.room * sizeof(*fake_peers.nodes));
        ck_assert_ptr_nonnull(fake_peers.nodes);
    }
    node = &fake_peers.nodes[fake_peers.count++];
    *node = (struct fake_node){.rows = ""};
    node->row = (struct peer_row){.id = id,
                                  .address = "127.0.0.1",
                                  .port = 9036,
                                  .role = role,
                                  .known = true,
                                  .alive = true,
                                  .version = "0.1.0"};
    return node;
}

void
fake_peers_say(uint64_t id, const char *rows)
{
    push_rows(index_of(id), rows);
}

void
fake_peers_let_go(uint64_t id)
{
    struct fake_node *node = find(id);

    ck_assert(node->held);
    answer(index_of(id), node);
}

size_t
fake_peers_waiting(void)
{
    const struct peer_fanout *f = fake_peers.fanout;
    size_t waiting;

    pthread_mutex_lock(&lock);
    waiting = f ? f->count - f->taken : 0;
    pthread_mutex_unlock(&lock);
    return waiting;
}
