/* members.c - see members.h. */
#include "members.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "memory.h"

bool
member_is_same(const struct member *a, const struct member *b)
{
    return a->port == b->port && a->role == b->role &&
           strcmp(a->address, b->address) == 0;
}

static int
compare_ids(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static int
compare_places(const void *a, const void *b)
{
    const struct member *x = *(const struct member *const *)a,
                        *y = *(const struct member *const *)b;
    int order = strcmp(x->address, y->address);

    return order ? order : (x->port > y->port) - (x->port < y->port);
}

/* Two nodes may not have one address: one would answer for the other. */
static int
check_places(const struct members *members, struct error *err)
{
    const struct member **places = mem_zalloc(members->count, sizeof(*places));
    int rc = 0;

    if (!places) {
        error_memory(err, "the members");
        return -1;
    }
    for (size_t i = 0; i < members->count; i++)
        places[i] = &members->items[i];
    qsort(places, members->count, sizeof(*places), compare_places);
    for (size_t i = 1; rc == 0 && i < members->count; i++) {
        if (places[i]->port == 0 ||
            compare_places(&places[i - 1], &places[i]) != 0)
            continue;
        error_set(err, ER_UNKNOWN,
                  "nodes %" PRIu64 " and %" PRIu64 " have one address, %s:%u",
                  places[i - 1]->id, places[i]->id, places[i]->address,
                  places[i]->port);
        rc = -1;
    }
    mem_free(places);
    return rc;
}

static bool
is_listed(const struct members *members, uint64_t id)
{
    struct member key = {.id = id};

    return bsearch(&key, members->items, members->count, sizeof(key),
                   compare_ids) != NULL;
}

static int
check_ids(const struct members *members, struct error *err)
{
    for (size_t i = 1; i < members->count; i++) {
        if (members->items[i - 1].id != members->items[i].id)
            continue;
        error_set(err, ER_UNKNOWN, "node %" PRIu64 " is listed twice",
                  members->items[i].id);
        return -1;
    }
    if (is_listed(members, members->self))
        return 0;
    error_set(err, ER_UNKNOWN, "node %" PRIu64 ", this one, is not among them",
              members->self);
    return -1;
}

struct members *
members_new(uint64_t self, const struct member *items, size_t count,
            struct error *err)
{
    struct members *members;

    if (count > PEERS_MAX) {
        error_set(err, ER_UNKNOWN,
                  "%zu nodes are more than the %d of a cluster", count,
                  PEERS_MAX);
        return NULL;
    }
    members = mem_zalloc(1, sizeof(*members) + count * sizeof(*items));
    if (!members) {
        error_memory(err, "the members");
        return NULL;
    }
    members->self = self;
    members->count = count;
    memcpy(members->items, items, count * sizeof(*items));
    qsort(members->items, count, sizeof(*items), compare_ids);
    if (check_ids(members, err) == 0 && check_places(members, err) == 0)
        return members;
    mem_free(members);
    return NULL;
}

void
members_free(struct members *members)
{
    mem_free(members);
}
