/*
 * resolve_items.c - finds the file that each address lies in.  See
 * resolve_job.h.
 *
 * It names addresses outside files at once; the others become items, in the
 * order of their places in files.  Addresses ascend, so those of one mapping
 * are in order already: nearly always, only the mappings need sorting.
 */
#include <stdlib.h>
#include <string.h>

#include "mappings.h"
#include "memory.h"
#include "resolve_job.h"

/* Addresses of one mapping. */
struct run {
    const struct mapping *mapping;
    const uint64_t *addresses;
    size_t count;
};

struct runs {
    struct run *list; /* with room for `room` */
    size_t count, room;
};

enum { ROOM_FIRST = 64 };

static int
compare_items(const void *a, const void *b)
{
    const struct resolve_item *x = a, *y = b;
    const struct mapping *m = x->mapping, *n = y->mapping;
    int order;

    if (m->device != n->device)
        return m->device < n->device ? -1 : 1;
    if (m->inode != n->inode)
        return m->inode < n->inode ? -1 : 1;
    order = m == n ? 0 : strcmp(m->path, n->path);
    if (order != 0)
        return order;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* The i-th of a run. */
static struct resolve_item
item_of(const struct run *run, size_t i)
{
    const struct mapping *m = run->mapping;
    uint64_t address = run->addresses[i];

    return (struct resolve_item){.address = address,
                                 .offset = address - m->start + m->offset,
                                 .mapping = m};
}

static int
compare_runs(const void *a, const void *b)
{
    const struct resolve_item x = item_of(a, 0), y = item_of(b, 0);

    return compare_items(&x, &y);
}

/* False: no memory. */
static bool
add_to_runs(struct runs *runs, const struct mapping *mapping,
            const uint64_t *address)
{
    struct run *run = runs->count ? &runs->list[runs->count - 1] : NULL;
    size_t room = runs->room ? runs->room * 2 : ROOM_FIRST;

    if (run && run->mapping == mapping &&
        run->addresses + run->count == address) {
        run->count++;
        return true;
    }
    if (runs->count == runs->room) {
        run = mem_realloc(runs->list, room * sizeof(*run));
        if (!run)
            return false;
        runs->list = run;
        runs->room = room;
    }
    runs->list[runs->count++] = (struct run){mapping, address, 1};
    return true;
}

static bool
lies_in(const struct mapping *m, uint64_t address)
{
    return m && address >= m->start && address < m->end;
}

/* False: no memory. */
static bool
find_runs(struct resolve_job *job, struct runs *runs)
{
    const struct resolve_request *request = job->request;
    const struct mapping *m = NULL;
    char module[MODULE_MAX];

    for (size_t i = 0; i < request->count; i++) {
        uint64_t address = request->addresses[i];

        if (!lies_in(m, address))
            m = mappings_find(request->maps, address);
        if (!m || (m->inode == 0 && m->path[0] != '[')) {
            resolve_answers_plain(job, address, "", address, false);
        } else if (m->inode == 0) {
            resolve_set_module(module, m->path);
            resolve_answers_plain(job, address, module, address - m->start,
                                  false);
        } else if (!add_to_runs(runs, m, &request->addresses[i])) {
            return false;
        }
    }
    return true;
}

/* Runs of a file that is mapped twice may overlap. */
size_t
resolve_items_sort(struct resolve_job *job)
{
    struct runs runs = {NULL, 0, 0};
    struct resolve_item *items = job->items;
    size_t count = 0;
    bool sorted = true;

    if (!find_runs(job, &runs))
        job->no_memory = true;
    if (runs.count > 0)
        qsort(runs.list, runs.count, sizeof(*runs.list), compare_runs);
    for (size_t k = 0; k < runs.count; k++)
        for (size_t i = 0; i < runs.list[k].count; i++, count++) {
            items[count] = item_of(&runs.list[k], i);
            sorted = sorted && (count == 0 || compare_items(&items[count - 1],
                                                            &items[count]) < 0);
        }
    if (!sorted)
        qsort(items, count, sizeof(*items), compare_items);
    mem_free(runs.list);
    return count;
}
