/*
 * jemalloc_late.c - finds jemallocs in objects that are loaded later; see
 * jemalloc.h.
 *
 * A plugin or an extension may bring a jemalloc long after the start.  An
 * object shows up in the loader's list before it is relocated, and a function
 * in it must not be called then; dlopen(RTLD_NOLOAD) answers when that is done,
 * and keeps the object.  Only files with a jemalloc are opened so: closing
 * another one could run its destructors on our thread.  The list is walked one
 * object at a time, since work inside dl_iterate_phdr would hold the loader's
 * lock.  An object's file is read once, or, if it has a jemalloc, until the
 * loader has finished the object.
 */
#include "jemalloc.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "errors.h"
#include "jemalloc_known.h"
#include "loaded_objects.h"
#include "locate.h"

enum { OBJECTS_MAX = 4096, ENTRY_MAX = 512 };

struct wanted_object {
    size_t index; /* counted down */
    struct loaded_object object;
    char path[AGENT_PATH_MAX];
};

static int
read_loader_add_count(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(unsigned long long *)arg = info->dlpi_adds;
    return 1;
}

static int
copy_wanted_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct wanted_object *out = arg;

    (void)size;
    if (out->index-- > 0)
        return 0;
    out->object = (struct loaded_object){info->dlpi_addr, info->dlpi_phdr,
                                         info->dlpi_phnum, out->path};
    snprintf(out->path, sizeof(out->path), "%s", info->dlpi_name);
    return 1;
}

/* Finds an object by its number: the list may change between two calls. */
static bool
object_at(size_t index, struct wanted_object *out)
{
    out->index = index;
    return dl_iterate_phdr(copy_wanted_object, out) != 0;
}

/* A hash of the object's address and name. */
static uint64_t
hash_wanted_object(const struct wanted_object *wanted)
{
    uint64_t hash = 14695981039346656037ULL ^ wanted->object.base;

    for (const char *c = wanted->path; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211ULL;
    return hash;
}

static bool
is_seen(const struct late *late, uint64_t hash)
{
    for (size_t i = 0; i < late->seen_count; i++)
        if (late->seen[i] == hash)
            return true;
    return late->seen_count == LATE_SEEN_MAX;
}

static void
note_seen(struct late *late, uint64_t hash)
{
    if (late->seen_count < LATE_SEEN_MAX)
        late->seen[late->seen_count++] = hash;
}

void
late_begin(struct late *late)
{
    struct wanted_object wanted;

    memset(late, 0, sizeof(*late));
    dl_iterate_phdr(read_loader_add_count, &late->adds);
    for (size_t i = 0; i < OBJECTS_MAX && object_at(i, &wanted); i++)
        note_seen(late, hash_wanted_object(&wanted));
}

/* Reads the file of the object, as heapwire-run does. */
static size_t
read_jemallocs_of_file(const char *path, struct known out[KNOWN_MAX])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char entry[ENTRY_MAX];
    struct locate file = {.count = 0};
    struct error ignored;
    size_t count = 0;

    if (fd < 0)
        return 0;
    if (locate_read(&file, fd, path, &ignored) != 0)
        file.count = 0;
    close(fd);
    for (size_t i = 0; i < file.count && count < KNOWN_MAX; i++) {
        const struct locate_jemalloc *j = &file.jemallocs[i];

        snprintf(entry, sizeof(entry), "%s,%llx,%s,%s,%s", j->identity,
                 (unsigned long long)j->mallctl, j->prefix, j->variable,
                 locate_how_text(j->how));
        count += known_parse(entry, &out[count]);
    }
    return count;
}

/* NULL: the loader has not finished it, or the object is gone. */
static void *
open_wanted_object(const struct wanted_object *wanted)
{
    void *handle =
        dlopen(*wanted->path ? wanted->path : NULL, RTLD_NOLOAD | RTLD_LAZY);
    const struct link_map *map = NULL;

    if (!handle)
        return NULL;
    if (dlinfo(handle, RTLD_DI_LINKMAP, (void *)&map) == 0 && map &&
        map->l_addr == wanted->object.base)
        return handle;
    dlclose(handle);
    return NULL;
}

static void
search_late_object(struct late *late, struct allocators *all,
                   const struct wanted_object *wanted, const char *known_text)
{
    struct known known[2 * KNOWN_MAX];
    size_t from_run = known_text ? known_parse(known_text, known) : 0, count;
    size_t before = all->count;
    void *handle;

    count = read_jemallocs_of_file(
        *wanted->path ? wanted->path : "/proc/self/exe", known + from_run);
    if (count == 0) {
        note_seen(late, hash_wanted_object(wanted));
        return;
    }
    handle = open_wanted_object(wanted);
    if (!handle) {
        late->recheck = true;
        return;
    }
    note_seen(late, hash_wanted_object(wanted));
    allocators_probe(all, &wanted->object, handle, known, from_run + count,
                     from_run);
    if (all->count == before)
        dlclose(handle);
}

bool
late_scan_objects(struct late *late, struct allocators *all, const char *known,
                  const char *wanted)
{
    unsigned long long adds = late->adds;
    struct wanted_object object;
    size_t before = all->count;

    dl_iterate_phdr(read_loader_add_count, &adds);
    if (adds == late->adds && !late->recheck)
        return false;
    late->adds = adds;
    late->recheck = false;
    for (size_t i = 0; i < OBJECTS_MAX && object_at(i, &object); i++)
        if (!is_seen(late, hash_wanted_object(&object)))
            search_late_object(late, all, &object, known);
    if (all->count == before)
        return false;
    if (all->chosen < 0)
        allocators_choose(all, wanted);
    return true;
}
