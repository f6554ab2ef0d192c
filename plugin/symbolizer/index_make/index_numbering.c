/* index_numbering.c - see index_numbering.h. */
#include "index_numbering.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "index_builder.h"
#include "index_collected.h"

/* A node's position in the order. */
struct turn {
    uint64_t key;     /* its root's longest range's start */
    uint64_t longest; /* the length of that range; roots only */
    uint32_t node, root;
};

static int
compare(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->root != y->root)
        return x->root < y->root ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Marks the nodes that ranges need, and their parents. */
static void
mark(const struct index_collected *all, uint32_t *used)
{
    memset(used, 0, all->node_count * sizeof(*used));
    for (size_t i = 0; i < all->ranges.count; i++)
        for (uint32_t node = all->ranges.items[i].a;
             node != INDEX_NONE && !used[node]; node = all->nodes[node].parent)
            used[node] = 1;
}

/* Fills turns with the used nodes, sorted; returns how many. */
static size_t
take_turns(const struct index_collected *all, const uint32_t *used,
           struct turn *turns)
{
    size_t count = 0;

    for (size_t i = 0; i < all->node_count; i++) {
        uint32_t parent = all->nodes[i].parent;

        turns[i].node = (uint32_t)i;
        turns[i].root = parent == INDEX_NONE ? (uint32_t)i : turns[parent].root;
        turns[i].key = turns[i].longest = 0;
    }
    for (size_t i = 0; i < all->ranges.count; i++) {
        const struct index_interval *item = &all->ranges.items[i];
        struct turn *root;

        if (item->a == INDEX_NONE)
            continue;
        root = &turns[turns[item->a].root];
        if (item->end - item->start > root->longest) {
            root->longest = item->end - item->start;
            root->key = item->start;
        }
    }
    for (size_t i = 0; i < all->node_count; i++)
        turns[i].key = turns[turns[i].root].key;
    for (size_t i = 0; i < all->node_count; i++)
        if (used[i])
            turns[count++] = turns[i];
    qsort(turns, count, sizeof(*turns), compare);
    return count;
}

static uint64_t
hash_of(const void *seed, const struct index_node *node)
{
    uint64_t h = hash_mix(hash_seed(seed), node->parent);

    h = hash_mix(h, (uint64_t)node->name << 32 | node->call_line);
    return hash_mix(h, node->call_file);
}

static bool
same(const struct index_node *a, const struct index_node *b)
{
    return a->parent == b->parent && a->name == b->name &&
           a->call_file == b->call_file && a->call_line == b->call_line &&
           a->inlined && b->inlined && a->linkage && b->linkage;
}

/* Appends node unless there is an equal one; returns its number. */
static uint32_t
number_of(struct index_numbering *numbering, const struct index_node *node,
          uint32_t *places, size_t place_count)
{
    size_t i = (size_t)(hash_of(places, node) % place_count);

    for (; places[i]; i = (i + 1) % place_count)
        if (same(&numbering->nodes[places[i] - 1], node))
            return places[i] - 1;
    places[i] = (uint32_t)numbering->count + 1;
    numbering->nodes[numbering->count] = *node;
    return (uint32_t)numbering->count++;
}

bool
index_numbering_init(struct index_numbering *numbering,
                     const struct index_collected *all)
{
    struct turn *turns = NULL;
    size_t turns_capacity = 0, places_capacity = 0, count;
    uint32_t *places = NULL;
    bool rc = false;

    if (!index_room_grow(&all->room, &numbering->number,
                         &numbering->number_capacity, all->node_count,
                         sizeof(*numbering->number)) ||
        !index_room_grow(&all->room, &turns, &turns_capacity, all->node_count,
                         sizeof(*turns)))
        goto out;
    if (all->node_count > 0)
        mark(all, numbering->number);
    count = all->node_count ? take_turns(all, numbering->number, turns) : 0;
    if (!index_room_grow(&all->room, &numbering->nodes, &numbering->capacity,
                         count, sizeof(*numbering->nodes)) ||
        !index_room_grow(&all->room, &places, &places_capacity, count * 2 + 1,
                         sizeof(*places)))
        goto out;
    memset(places, 0, places_capacity * sizeof(*places));
    for (size_t i = 0; i < count; i++) {
        struct index_node node = all->nodes[turns[i].node];

        if (node.parent != INDEX_NONE)
            node.parent = numbering->number[node.parent];
        numbering->number[turns[i].node] =
            number_of(numbering, &node, places, places_capacity);
    }
    rc = true;
out:
    index_room_drop(&all->room, &turns, &turns_capacity, sizeof(*turns));
    index_room_drop(&all->room, &places, &places_capacity, sizeof(*places));
    return rc;
}

void
index_numbering_fini(struct index_numbering *numbering,
                     const struct index_collected *all)
{
    index_room_drop(&all->room, &numbering->nodes, &numbering->capacity,
                    sizeof(*numbering->nodes));
    index_room_drop(&all->room, &numbering->number, &numbering->number_capacity,
                    sizeof(*numbering->number));
    numbering->count = 0;
}
