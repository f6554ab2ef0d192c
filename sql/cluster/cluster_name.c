/* cluster_name.c - see cluster_name.h. */
#include "cluster_name.h"

#include <string.h>
#include <strings.h>

#include "errors.h"

enum { SHOWN = 100 }; /* bytes of a wrong name in its error */

static bool
skip(const char **text, const char *word)
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
    if (!skip(&text, SNAPSHOT_CLUSTER_BY_NODE) &&
        !skip(&text, SNAPSHOT_CLUSTER))
        return false;
    return *text == '\0' || *text == '@' || *text == ':';
}

/* Inserts id in order; a repeated id is accepted.  False: no room. */
static bool
add_id(struct cluster_name *out, uint64_t id)
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
take_id(const char **text, struct cluster_name *out)
{
    const char *first = *text;
    uint64_t id = 0;

    for (; **text >= '0' && **text <= '9'; ++*text)
        if (__builtin_mul_overflow(id, (uint64_t)10, &id) ||
            __builtin_add_overflow(id, (uint64_t)(**text - '0'), &id))
            return false;
    return *text > first && add_id(out, id);
}

static bool
take_ids(const char **text, struct cluster_name *out)
{
    do {
        if (!take_id(text, out))
            return false;
    } while (skip(text, ","));
    return true;
}

static bool
take_name(const char *text, struct cluster_name *out)
{
    size_t size = strlen(text);

    if (size == 0 || size > SNAPSHOT_NAME_MAX)
        return false;
    for (size_t i = 0; i <= size; i++)
        out->name[i] =
            (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] | 0x20 : text[i]);
    return snapshot_is_name(out->name, size);
}

static bool
parse(const char *text, struct cluster_name *out)
{
    out->by_node = skip(&text, SNAPSHOT_CLUSTER_BY_NODE);
    if (!out->by_node && !skip(&text, SNAPSHOT_CLUSTER))
        return false;
    if (skip(&text, "@") && !take_ids(&text, out))
        return false;
    if (skip(&text, ":"))
        return take_name(text, out);
    memcpy(out->name, SNAPSHOT_NOW, sizeof(SNAPSHOT_NOW));
    return *text == '\0';
}

int
cluster_name_parse(const char *text, struct cluster_name *out,
                   struct error *err)
{
    memset(out, 0, sizeof(*out));
    if (strlen(text) <= CLUSTER_NAME_MAX && parse(text, out))
        return 0;
    error_set(err, ER_WRONG_ARGUMENTS,
              "'%.*s' names no snapshots of nodes: say cluster, or cluster:b "
              "for what each keeps as b, or cluster@10001,10002:b for those of "
              "at most %d nodes; cluster_by_node shows each node's share",
              SHOWN, text, CLUSTER_IDS_MAX);
    return -1;
}

bool
cluster_name_same_nodes(const struct cluster_name *a,
                        const struct cluster_name *b)
{
    return a->by_node == b->by_node && a->id_count == b->id_count &&
           memcmp(a->ids, b->ids, a->id_count * sizeof(a->ids[0])) == 0;
}
