/*
 * cluster_heap.c - the snapshots of several nodes as one:
 * cluster[_by_node][@ids][:name] (cluster_ask.h).
 *
 * Each node is asked for export('name') and sends its snapshot as a file; it
 * is decoded, added to the sum (merge.h) and freed, so that memory holds the
 * sum and one node's snapshot, not a thousand.  The bytes come from another
 * node and are decoded as hostile ones.  Functions are merged by name and
 * file, since addresses differ between processes.
 *
 * A difference of two kept snapshots is made per node before it is added: only
 * two snapshots of one process can be compared, and a node that was restarted
 * in between fails alone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "arena.h"
#include "clock.h"
#include "cluster_ask.h"
#include "diff.h"
#include "ascii.h"
#include "errors.h"
#include "handle.h"
#include "memory.h"
#include "merge.h"
#include "observed_name.h"
#include "peers.h"
#include "profile.h"
#include "profile_root.h"
#include "snapshot.h"
#include "snapshot_file.h"
#include "sql_session.h"
#include "view_options.h"

/* ---- names ---- */

enum { SHOWN = 100 }; /* bytes of a wrong name in its error */

struct cluster_name {
    bool by_node;
    uint64_t ids[CLUSTER_IDS_MAX]; /* ascending and distinct */
    size_t id_count;               /* 0: all nodes */
    /* SNAPSHOT_NOW, or the name of a kept one or of a profile to be taken. */
    char name[SNAPSHOT_NAME_MAX + 1];
    struct observed_name observed; /* that profile; seconds 0: none */
};

static bool
skip_cluster_word(const char **text, const char *word)
{
    size_t size = strlen(word);

    if (strncasecmp(*text, word, size) != 0)
        return false;
    *text += size;
    return true;
}

bool
cluster_name_is(const char *text)
{
    if (!skip_cluster_word(&text, SNAPSHOT_CLUSTER_BY_NODE) &&
        !skip_cluster_word(&text, SNAPSHOT_CLUSTER))
        return false;
    return *text == '\0' || *text == '@' || *text == ':';
}

const char *
cluster_name_rest(const char *text)
{
    if (!cluster_name_is(text))
        return text;
    text += strcspn(text, ":");
    return *text ? text + 1 : text;
}

/* Inserts id in order; a repeated id is accepted.  False: no room. */
static bool
insert_cluster_node_id(struct cluster_name *out, uint64_t id)
{
    size_t i = out->id_count;

    while (i > 0 && out->ids[i - 1] > id)
        i--;
    if (i > 0 && out->ids[i - 1] == id)
        return true;
    if (out->id_count == CLUSTER_IDS_MAX)
        return false;
    memmove(&out->ids[i + 1], &out->ids[i],
            (out->id_count - i) * sizeof(out->ids[0]));
    out->ids[i] = id;
    out->id_count++;
    return true;
}

static bool
parse_cluster_node_id(const char **text, struct cluster_name *out)
{
    const char *first = *text;
    uint64_t id = 0;

    for (; is_digit(**text); ++*text)
        if (__builtin_mul_overflow(id, (uint64_t)10, &id) ||
            __builtin_add_overflow(id, (uint64_t)(**text - '0'), &id))
            return false;
    return *text > first && insert_cluster_node_id(out, id);
}

static bool
parse_cluster_node_ids(const char **text, struct cluster_name *out)
{
    do {
        if (!parse_cluster_node_id(text, out))
            return false;
    } while (skip_cluster_word(text, ","));
    return true;
}

static bool
parse_cluster_snapshot_name(const char *text, struct cluster_name *out)
{
    size_t size = strlen(text);

    if (size == 0 || size > SNAPSHOT_NAME_MAX)
        return false;
    for (size_t i = 0; i <= size; i++)
        out->name[i] = to_lower(text[i]);
    return observed_name_is(out->name) || snapshot_is_name(out->name, size);
}

static bool
parse_cluster_name_parts(const char *text, struct cluster_name *out)
{
    out->by_node = skip_cluster_word(&text, SNAPSHOT_CLUSTER_BY_NODE);
    if (!out->by_node && !skip_cluster_word(&text, SNAPSHOT_CLUSTER))
        return false;
    if (skip_cluster_word(&text, "@") && !parse_cluster_node_ids(&text, out))
        return false;
    if (skip_cluster_word(&text, ":"))
        return parse_cluster_snapshot_name(text, out);
    memcpy(out->name, SNAPSHOT_NOW, sizeof(SNAPSHOT_NOW));
    return *text == '\0';
}

/* -1 with *err if text is not such a name. */
static int
parse_cluster_name(const char *text, struct cluster_name *out,
                   struct error *err)
{
    memset(out, 0, sizeof(*out));
    if (strlen(text) <= CLUSTER_NAME_MAX && parse_cluster_name_parts(text, out))
        return observed_name_is(out->name)
                   ? observed_name_parse(out->name, &out->observed, err)
                   : 0;
    error_set(err, ER_WRONG_ARGUMENTS,
              "'%.*s' names no snapshots of nodes: write cluster, or cluster:b "
              "for what each keeps as b, or cluster@10001,10002:b for those of "
              "at most %d nodes; cluster_by_node shows each node's share",
              SHOWN, text, CLUSTER_IDS_MAX);
    return -1;
}

/* Do both name the same nodes, and in the same form? */
static bool
has_same_nodes(const struct cluster_name *a, const struct cluster_name *b)
{
    return a->by_node == b->by_node && a->id_count == b->id_count &&
           memcmp(a->ids, b->ids, a->id_count * sizeof(a->ids[0])) == 0;
}

/* ---- sums ---- */

enum {
    QUESTION_MAX = 256,
    KEY_MAX = 2 * CLUSTER_NAME_MAX + 64,
    MISSING_MAX = 2048, /* bytes of the text that lists the missing nodes */
    MISSING_SHOWN = 8,
    REASON_SHOWN = 180 /* bytes */
};

/* Bytes of all answers: each is freed once added, and the sum has its own
 * ceiling. */
#define ALL_BYTES_MAX ((size_t)1 << 36)

struct cluster_heap {
    struct cluster_ask ask; /* first */
    struct merge *merge;
    struct snapshot *snapshot; /* the sum, once finished */
    bool difference, force;
    struct view_options roots; /* by_thread, by_pool */
    bool *added; /* one for each node: its snapshot is in the sum */
    char *name, *base;
};

/* ---- answers ---- */

static int
fail_node(struct cluster_heap *heap, size_t node, const struct error *why)
{
    cluster_fail(&heap->ask, node, why->code, why->text);
    return 0;
}

static struct snapshot *
decode_node_snapshot(struct span cell, struct error *err)
{
    if (cell.data)
        return snapshot_decode_foreign(cell.data, cell.size, err);
    error_set(err, ER_UNKNOWN, "the answer has no snapshot");
    return NULL;
}

/* Makes what the snapshot has more than base.  The caller owns it. */
static struct profile *
compare_node(struct cluster_heap *heap, const struct profile *now,
             const struct snapshot *snapshot, const struct snapshot *base,
             struct error *err)
{
    struct profile *difference, *rooted;

    if ((!heap->force && snapshot_comparable(snapshot, base, err) != 0) ||
        profile_root(base->profile, &heap->roots, &rooted, err) != 0)
        return NULL;
    difference = diff_make_until(now, rooted ? rooted : base->profile,
                                 heap->ask.cancelled, err);
    profile_free(rooted);
    return difference;
}

/* Gives the snapshot's profile, rooted as asked for, or what it has more than
 * base. *owned: what the caller has to free, or NULL. */
static const struct profile *
profile_of(struct cluster_heap *heap, const struct snapshot *snapshot,
           const struct snapshot *base, struct profile **owned,
           struct error *err)
{
    struct profile *rooted;

    if (profile_root(snapshot->profile, &heap->roots, &rooted, err) != 0)
        return NULL;
    *owned = rooted;
    if (base) {
        *owned = compare_node(heap, rooted ? rooted : snapshot->profile,
                              snapshot, base, err);
        profile_free(rooted);
        return *owned;
    }
    return rooted ? rooted : snapshot->profile;
}

static int
merge_node_snapshot(struct cluster_heap *heap, size_t node,
                    const struct span *cells, struct error *err)
{
    struct snapshot *base = NULL, *snapshot;
    struct profile *owned = NULL;
    const struct profile *profile;
    struct error why = {0};
    int rc = 0;

    snapshot = decode_node_snapshot(cells[0], &why);
    if (snapshot && heap->difference)
        base = decode_node_snapshot(cells[1], &why);
    if (!snapshot || (heap->difference && !base)) {
        fail_node(heap, node, &why);
        goto out;
    }
    profile = profile_of(heap, snapshot, base, &owned, &why);
    if (!profile || merge_check(heap->merge, profile, &why) != 0) {
        fail_node(heap, node, &why);
        goto out;
    }
    /* A failure here is the sum's (memory, cancelled), not the node's: it ends
     * the question. */
    rc = merge_add(heap->merge, heap->ask.ids[node], profile,
                   heap->ask.cancelled, err);
    heap->added[node] = rc == 0;
out:
    profile_free(owned);
    snapshot_unref(snapshot);
    snapshot_unref(base);
    return rc;
}

static int
start_cluster_heap(struct cluster_ask *ask)
{
    struct cluster_heap *heap = (struct cluster_heap *)ask;

    heap->added = mem_zalloc(ask->id_count + 1, sizeof(*heap->added));
    return heap->added ? 0 : -1;
}

/* Each node answers with one row. */
static int
take_cluster_heap_block(struct cluster_ask *ask, const struct peer_block *block,
                        struct error *err)
{
    struct cluster_heap *heap = (struct cluster_heap *)ask;

    /* A second row is of a node that does not keep to the protocol. */
    if (block->row_count == 0 || heap->added[block->id_index])
        return 0;
    return merge_node_snapshot(heap, block->id_index, block->cells, err);
}

/* ---- the sum ---- */

/* Writes the reason up to its first semicolon, behind which errors say what to
 * do. */
static void
write_reason(const char *text, struct buffer *out)
{
    size_t size = strcspn(text, ";");

    buffer_format(out, " (%.*s%s)",
                  (int)(size < REASON_SHOWN ? size : REASON_SHOWN), text,
                  size > REASON_SHOWN ? "..." : "");
}

/* "2 of 3 nodes, without 10002 (timeout after 5s), ..." */
static void
write_missing_nodes(const struct cluster_ask *ask, struct buffer *out)
{
    size_t shown = 0;

    if (ask->missing == 0)
        return;
    buffer_format(out, "%zu of %zu nodes", ask->id_count - ask->missing,
                  ask->id_count);
    for (size_t i = 0; i < ask->id_count && shown < MISSING_SHOWN; i++) {
        if (!ask->failures[i].text)
            continue;
        buffer_format(out, "%s %" PRIu64, shown++ ? "," : ", without",
                      ask->ids[i]);
        write_reason(ask->failures[i].text, out);
    }
    if (ask->missing > shown)
        buffer_format(out, ", and %zu others", ask->missing - shown);
}

/* Fails each node that ended without a snapshot or an error. */
static void
find_silent(struct cluster_heap *heap)
{
    struct cluster_ask *ask = &heap->ask;

    for (size_t i = 0; i < ask->id_count; i++)
        if (!heap->added[i])
            cluster_fail(ask, i, ER_UNKNOWN,
                         ask->truncated[i]
                             ? "its snapshot is too large to be sent"
                             : "the answer has no snapshot");
}

static int
finish_cluster_heap(struct cluster_ask *ask, struct error *err)
{
    struct cluster_heap *heap = (struct cluster_heap *)ask;
    struct snapshot *snapshot;
    struct buffer missing;
    int rc = -1;

    find_silent(heap);
    if (ask->missing == ask->id_count) {
        error_set(err, ask->failures[0].code,
                  "no node sent a snapshot; node %" PRIu64 ": %s", ask->ids[0],
                  ask->failures[0].text);
        return -1;
    }
    buffer_init(&missing, MISSING_MAX);
    write_missing_nodes(ask, &missing);
    snapshot = snapshot_new();
    if (!snapshot || missing.failed)
        error_memory(err, "the sum of snapshots");
    else
        snapshot->profile = merge_finish(
            heap->merge, missing.size > 0 ? missing.data : "", err);
    if (snapshot && snapshot->profile) {
        snapshot->taken_ms = clock_wall_ms();
        snapshot->profile->roots = profile_roots(&heap->roots);
        heap->snapshot = snapshot;
        snapshot = NULL;
        rc = 0;
    }
    snapshot_unref(snapshot);
    buffer_fini(&missing);
    merge_free(heap->merge);
    heap->merge = NULL;
    return rc;
}

static void
free_heap(struct cluster_ask *ask)
{
    struct cluster_heap *heap = (struct cluster_heap *)ask;

    merge_free(heap->merge);
    snapshot_unref(heap->snapshot);
    mem_free(heap->added);
    mem_free(heap->name);
    mem_free(heap->base);
    mem_free(heap);
}

static const struct cluster_ask_ops heap_ops = {start_cluster_heap,
                                                take_cluster_heap_block,
                                                finish_cluster_heap, free_heap};

/* ---- the question ---- */

static int
parse_base(const char *of, const struct cluster_name *name, const char *text,
           struct cluster_name *base, struct error *err)
{
    if (!cluster_name_is(text)) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "a sum of nodes is compared with one of the same nodes: "
                  "write '" SNAPSHOT_CLUSTER ":%.64s', not '%.64s'",
                  text, text);
        return -1;
    }
    if (parse_cluster_name(text, base, err) != 0)
        return -1;
    if (strcmp(base->name, SNAPSHOT_NOW) == 0 || base->observed.seconds > 0)
        error_set(err, ER_WRONG_ARGUMENTS,
                  "a base is a kept snapshot: write '" SNAPSHOT_CLUSTER
                  ":NAME', and not '%.64s'",
                  text);
    else if (!has_same_nodes(name, base))
        error_set(err, ER_WRONG_ARGUMENTS,
                  "'%.64s' and its base '%.64s' must be of the same nodes, "
                  "written alike",
                  of, text);
    else
        return 0;
    return -1;
}

static int
parse_cluster_names(const char *name, const char *base,
                    struct cluster_name names[2], struct error *err)
{
    if (!cluster_name_is(name)) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "'%.64s' is a snapshot of this node, but its base '%.64s' is "
                  "a sum of nodes: write '" SNAPSHOT_CLUSTER ":%.64s'",
                  name, base, name);
        return -1;
    }
    if (parse_cluster_name(name, &names[0], err) != 0)
        return -1;
    return base ? parse_base(name, &names[0], base, &names[1], err) : 0;
}

static struct cluster_heap *
heap_new(const char *name, const char *base, bool by_node, bool force,
         struct error *err)
{
    struct cluster_heap *heap = mem_zalloc(1, sizeof(*heap));

    if (heap) {
        heap->ask.ops = &heap_ops;
        heap->difference = base != NULL;
        heap->force = force;
        heap->name = mem_strdup(name);
        heap->base = base ? mem_strdup(base) : NULL;
        heap->merge = merge_new(by_node, err);
    }
    if (heap && heap->name && (!base || heap->base) && heap->merge)
        return heap;
    if (heap)
        free_heap(&heap->ask);
    error_memory(err, "the sum of snapshots");
    return NULL;
}

static int
request_cluster_heap(struct handle *handle, const char *name, const char *base,
                     const struct cluster_name names[2], bool force,
                     const struct view_options *options, struct buffer *key,
                     struct cluster_ask **out)
{
    char text[QUESTION_MAX];
    struct peer_request request = {.verb = PEER_SELECT,
                                   .column_count = base ? 2 : 1,
                                   /* A fresh dump stops each database for a
                                    * moment: then nodes take turns. */
                                   .parallel =
                                       strcmp(names[0].name, SNAPSHOT_NOW) == 0,
                                   .node_bytes_max = (size_t)2 * PEER_CELL_MAX,
                                   .bytes_max = ALL_BYTES_MAX};
    struct cluster_heap *heap =
        heap_new(name, base, names[0].by_node, force, &handle->failure);
    int size;

    if (!heap) {
        handle->failed = true;
        return SQLITE_ERROR;
    }
    if (options) {
        heap->roots.by_thread = options->by_thread;
        heap->roots.by_pool = options->by_pool;
    }
    size =
        base ? snprintf(text, sizeof(text), "SELECT export('%s'), export('%s')",
                        names[0].name, names[1].name)
             : snprintf(text, sizeof(text), "SELECT export('%s')",
                        names[0].name);
    request.text = (struct span){text, (size_t)size};
    heap->ask.seconds = names[0].observed.seconds;
    *out = &heap->ask;
    return cluster_begin(handle, &heap->ask, key, names[0].ids,
                         names[0].id_count, &request);
}

int
cluster_heap_need(struct handle *handle, const char *name, const char *base,
                  bool force, const struct view_options *options,
                  struct cluster_sum *out)
{
    struct cluster_name names[2];
    struct cluster_ask *ask;
    struct cluster_heap *heap;
    struct buffer key;
    int rc;

    if (parse_cluster_names(name, base, names, &handle->failure) != 0) {
        handle->failed = true;
        return SQLITE_ERROR;
    }
    buffer_init(&key, KEY_MAX);
    /* All that the answer depends on. */
    buffer_format(&key, "%s %s %d %u", name, base ? base : "", force,
                  options ? profile_roots(options) : 0);
    rc = cluster_find(handle, &key, &ask);
    if (rc == SQLITE_OK && !ask)
        rc = request_cluster_heap(handle, name, base, names, force, options,
                                  &key, &ask);
    if (rc == SQLITE_OK) {
        heap = (struct cluster_heap *)ask;
        *out = (struct cluster_sum){heap->snapshot, heap->name, heap->base};
    }
    buffer_fini(&key);
    return rc;
}
