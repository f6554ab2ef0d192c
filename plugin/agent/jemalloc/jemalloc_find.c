/*
 * jemalloc_find.c - every jemalloc in the process, and which is the database's;
 * see jemalloc.h.
 *
 * A process may have several: linked into the program under a prefix, exported,
 * preloaded, brought by a library.  Calling a wrong address ends the database,
 * so a mallctl is taken from dlsym or from heapwire-run's findings, must lie in
 * the code of the right object (by build-id, or its first bytes), and must
 * answer with a version text out of that same object, before anything else is
 * asked of it.  Which one serves malloc is tried: a block is allocated, and the
 * counter of this thread must move.  Runs on the main thread before main, where
 * nothing is loaded or unloaded, or per object later (jemalloc_late.c).
 */
#include "jemalloc.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent_tools.h"
#include "jemalloc_known.h"
#include "loaded_objects.h"
#include "reader.h"

enum {
    PROBE_BYTES = 64, /* what the probe allocates; any small size tells */
    OBJECTS_MAX = 1024,
    PRELOAD_MAX = 4096, /* bytes of LD_PRELOAD that are looked at */
    /* heapwire-run's findings, the agent's own, and usual_prefixes */
    PREFIXES_MAX = 2 * KNOWN_MAX + 8
};

/* Prefixes to try with dlsym; others are found in the file. */
static const char *const usual_prefixes[] = {"je_", "je", "_rjem_", "_rjem_je_",
                                             ""};

/* ---- one jemalloc ---- */

/* Calls mallctl for the first time: the version's text must lie in the same
 * object, as it does in every jemalloc. */
static bool
read_version(struct allocator *a, const struct loaded_object *object)
{
    const char *version = NULL;
    size_t size = 0;

    if (mallctl_read(a->mallctl, "version", (void *)&version,
                     sizeof(version)) != 0 ||
        !version)
        return false;
    while (size < sizeof(a->version) &&
           object_holds(object, (uintptr_t)version + size, 1, PF_R) &&
           isprint((unsigned char)version[size]))
        size++;
    if (size == 0 || size == sizeof(a->version) ||
        !object_holds(object, (uintptr_t)version + size, 1, PF_R) ||
        version[size] != '\0' || !isdigit((unsigned char)version[0]))
        return false;
    memcpy(a->version, version, size + 1);
    return true;
}

/* True if a block from the process's malloc, or operator new, counts in this
 * jemalloc; without a counter, if the function lies in its object.  The block
 * is not freed: with two allocators loaded, free may belong to the other one.
 */
static bool
is_served_by_allocator(const struct allocator *a,
                       const struct loaded_object *object, const char *name)
{
    void *allocate = dlsym(RTLD_DEFAULT, name);
    uint64_t *counter = NULL, before;
    const void *block;

    if (!allocate)
        return false;
    if (mallctl_read(a->mallctl, "thread.allocatedp", (void *)&counter,
                     sizeof(counter)) != 0 ||
        !counter)
        return object_holds(object, (uintptr_t)allocate, 1, PF_X);
    before = *counter;
    block = ((void *(*)(size_t))allocate)(PROBE_BYTES);
    return block && *counter - before >= PROBE_BYTES;
}

void
allocator_read_bytes(struct allocator *a)
{
    size_t bytes = 0, resident = 0;

    a->counted = mallctl_read(a->mallctl, "stats.allocated", &bytes,
                              sizeof(bytes)) == 0 &&
                 mallctl_read(a->mallctl, "stats.resident", &resident,
                              sizeof(resident)) == 0;
    a->bytes = bytes;
    a->resident = resident;
}

void
allocator_refresh_bytes(struct allocator *a)
{
    if (!a->mallctl)
        return;
    mallctl_refresh(a->mallctl, &a->epoch);
    allocator_read_bytes(a);
}

static void
ask_settings(struct allocator *a)
{
    a->config_prof = mallctl_read_bool(a->mallctl, "config.prof");
    a->opt_prof = mallctl_read_bool(a->mallctl, "opt.prof");
}

static void
probe_allocator(struct allocator *a, const struct loaded_object *object)
{
    ask_settings(a);
    a->serves_malloc = is_served_by_allocator(a, object, "malloc");
    a->serves_new = is_served_by_allocator(a, object, "_Znwm");
    allocator_refresh_bytes(a);
}

/* ---- the list ---- */

static bool
is_mallctl_listed(const struct allocators *all, const void *mallctl)
{
    for (size_t i = 0; i < all->count; i++)
        if ((const void *)all->list[i].mallctl == mallctl)
            return true;
    return false;
}

/* Whether LD_PRELOAD names the library, by path or by base name. */
static bool
is_preloaded(const char *path)
{
    const char *name = base_name(path);
    size_t size = strlen(name);
    char text[PRELOAD_MAX], *list = text;

    agent_initial_env("LD_PRELOAD", text, sizeof(text));
    while (*list && size > 0) {
        size_t entry = strcspn(list, ": ");
        char *end = list + entry;

        if (entry >= size && memcmp(end - size, name, size) == 0 &&
            (entry == size || end[-(ptrdiff_t)size - 1] == '/'))
            return true;
        list = end + strspn(end, ": ");
    }
    return false;
}

/* A new entry, not counted in all->count yet; NULL: there is no room. */
static struct allocator *
prepare_allocator_entry(struct allocators *all,
                        const struct loaded_object *object, const char *prefix)
{
    struct allocator *a;
    ssize_t n;

    if (all->count == ALLOCATORS_MAX)
        return NULL;
    a = &all->list[all->count];
    memset(a, 0, sizeof(*a));
    snprintf(a->mallctl_name, sizeof(a->mallctl_name), "%smallctl", prefix);
    /* as jemalloc's configure forms it from --with-jemalloc-prefix */
    snprintf(a->variable, sizeof(a->variable), "%sMALLOC_CONF", prefix);
    for (char *c = a->variable; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    a->in_program = object->path[0] == '\0';
    a->preloaded = is_preloaded(object->path);
    a->own = a->in_program;
    snprintf(a->object, sizeof(a->object), "%s", object->path);
    if (a->in_program) {
        n = readlink("/proc/self/exe", a->object, sizeof(a->object) - 1);
        a->object[n < 0 ? 0 : n] = '\0';
    }
    return a;
}

static void
add_exported(struct allocators *all, const struct loaded_object *object,
             void *handle, const char *prefix)
{
    char name[AGENT_NAME_MAX];
    struct allocator *a;
    void *address;

    snprintf(name, sizeof(name), "%smallctl", prefix);
    address = dlsym(handle, name);
    if (!address || is_mallctl_listed(all, address) ||
        !object_holds(object, (uintptr_t)address, 1, PF_X))
        return; /* or it is a dependency's */
    a = prepare_allocator_entry(all, object, prefix);
    if (!a)
        return;
    a->mallctl = (mallctl_fn *)address;
    a->exported = true;
    snprintf(a->how, sizeof(a->how), "exported");
    if (!read_version(a, object))
        return;
    probe_allocator(a, object);
    all->count++;
}

static bool
is_known_for_object(const struct known *known,
                    const struct loaded_object *object)
{
    uintptr_t at = object->base + known->address;
    uint8_t id[BUILD_ID_MAX];

    if (!known->is_code)
        return object_build_id(object, id) == known->mark_size &&
               memcmp(id, known->mark, known->mark_size) == 0;
    return known->address != 0 &&
           object_holds(object, at, known->mark_size, PF_R | PF_X) &&
           memcmp((const void *)at, known->mark, known->mark_size) == 0;
}

static void
mark_uncallable(struct allocator *a, const char *why)
{
    a->mallctl = NULL;
    snprintf(a->note, sizeof(a->note), "%s", why);
}

/* Adds the findings; from_run: they are heapwire-run's, not the agent's. */
static void
add_what_is_known(struct allocator *a, const struct known *known, bool from_run)
{
    a->own = a->own || (from_run && !a->preloaded);
    if (*known->variable)
        snprintf(a->variable, sizeof(a->variable), "%s", known->variable);
}

static void
add_known_allocator(struct allocators *all, const struct loaded_object *object,
                    const struct known *known, bool from_run)
{
    uintptr_t at = object->base + known->address;
    struct allocator *a;

    for (size_t i = 0; known->address && i < all->count; i++)
        if ((uintptr_t)all->list[i].mallctl == at) {
            add_what_is_known(&all->list[i], known, from_run);
            return;
        }
    a = prepare_allocator_entry(all, object, known->prefix);
    if (!a)
        return;
    add_what_is_known(a, known, from_run);
    snprintf(a->how, sizeof(a->how), "%s", known->how);
    a->mallctl = (mallctl_fn *)at;
    if (known->address == 0)
        mark_uncallable(
            a, "where its mallctl lies was not found in the file: link "
               "it with -rdynamic, install its debug file, or give "
               "mallctl = ADDRESS");
    else if (!object_holds(object, at, 1, PF_X))
        mark_uncallable(a,
                        "the address that was found for its mallctl is not in "
                        "its code: give the right mallctl = ADDRESS");
    else if (!read_version(a, object))
        mark_uncallable(a, "what lies at the address that was found for its "
                           "mallctl does not answer as one: give the right "
                           "mallctl = ADDRESS");
    else
        probe_allocator(a, object);
    all->count++;
}

/* ---- which one ---- */

/* True if it may be the database's: it serves malloc or new, or it is the
 * program's own, which code calls by a prefixed or hidden name. */
static bool
is_eligible_allocator(const struct allocator *a)
{
    bool named = strcmp(a->mallctl_name, "mallctl") != 0 || !a->exported;

    return a->serves_malloc || (!a->preloaded && (a->serves_new || named));
}

static bool
is_better_allocator(const struct allocator *a, const struct allocator *b)
{
    int serves_a = a->serves_malloc + a->serves_new;
    int serves_b = b->serves_malloc + b->serves_new;

    /* Do not fall back to another jemalloc when the program's own cannot be
     * called. */
    if (a->in_program != b->in_program && (!a->mallctl || !b->mallctl))
        return a->in_program;
    if (!a->mallctl != !b->mallctl)
        return a->mallctl != NULL;
    if (a->own != b->own)
        return a->own;
    if (serves_a != serves_b)
        return serves_a > serves_b;
    return a->bytes > b->bytes;
}

static bool
is_allocator_named(const struct allocator *a, const char *name)
{
    return strcmp(name, a->mallctl_name) == 0 || strcmp(name, a->object) == 0 ||
           strcmp(name, base_name(a->object)) == 0;
}

static void
write_unmatched_allocators(struct allocators *all, const char *wanted)
{
    size_t used = (size_t)snprintf(
        all->why, sizeof(all->why),
        "allocator = %.64s names none of its jemallocs:", wanted);

    for (size_t i = 0; i < all->count && used < sizeof(all->why); i++)
        used += (size_t)snprintf(all->why + used, sizeof(all->why) - used,
                                 "%s %s in %s", i ? "," : "",
                                 all->list[i].mallctl_name,
                                 base_name(all->list[i].object));
}

/* Notes that only a library's allocations are seen, where the program's malloc
 * is another. */
static void
write_partial_coverage(struct allocators *all, const struct allocator *a)
{
    if (!a->own && !a->serves_malloc)
        snprintf(all->why, sizeof(all->why),
                 "only what %.100s allocates is seen: the program's malloc is "
                 "another",
                 base_name(a->object));
}

static void
write_uncallable_allocator(struct allocators *all, const struct allocator *a)
{
    int prefix = (int)(strlen(a->mallctl_name) - strlen("mallctl"));

    snprintf(all->why, sizeof(all->why),
             "%s has a jemalloc of its own (%s%s%.*s) that cannot be called: "
             "%s",
             base_name(a->object), a->version,
             prefix ? (*a->version ? ", prefix " : "prefix ") : "no prefix",
             prefix, a->mallctl_name, a->note);
}

void
allocators_choose(struct allocators *all, const char *wanted)
{
    const struct allocator *best = NULL;

    wanted = wanted ? wanted : "";
    all->chosen = -1;
    all->why[0] = '\0';
    for (size_t i = 0; i < all->count; i++) {
        const struct allocator *a = &all->list[i];

        if (*wanted ? is_allocator_named(a, wanted)
                    : (is_eligible_allocator(a) &&
                       (!best || is_better_allocator(a, best)))) {
            best = a;
            if (*wanted && a->mallctl)
                break;
        }
    }
    if (!best && *wanted && all->count > 0)
        write_unmatched_allocators(all, wanted);
    else if (best && !best->mallctl)
        write_uncallable_allocator(all, best);
    else if (best) {
        all->chosen = (int)(best - all->list);
        write_partial_coverage(all, best);
    }
}

/* ---- all that is loaded ---- */

struct objects {
    struct loaded_object list[OBJECTS_MAX];
    size_t count;
};

static int
list_loaded_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct objects *objects = arg;
    struct loaded_object *object = &objects->list[objects->count];

    (void)size;
    object->base = info->dlpi_addr;
    object->headers = info->dlpi_phdr;
    object->header_count = info->dlpi_phnum;
    /* the program is the first object */
    object->path = objects->count == 0 ? "" : info->dlpi_name;
    return ++objects->count == OBJECTS_MAX;
}

static size_t
prefixes_of(const struct known *known, size_t known_count,
            const char *out[PREFIXES_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < known_count; i++)
        out[count++] = known[i].prefix;
    for (size_t i = 0; i < sizeof(usual_prefixes) / sizeof(usual_prefixes[0]);
         i++)
        out[count++] = usual_prefixes[i];
    return count;
}

void
allocators_probe(struct allocators *all, const struct loaded_object *object,
                 void *handle, const struct known *known, size_t known_count,
                 size_t from_run)
{
    const char *prefixes[PREFIXES_MAX];
    size_t count = prefixes_of(known, known_count, prefixes);

    for (size_t i = 0; handle && i < count; i++)
        add_exported(all, object, handle, prefixes[i]);
    for (size_t i = 0; i < known_count; i++)
        if (is_known_for_object(&known[i], object))
            add_known_allocator(all, object, &known[i], i < from_run);
}

/* An object with a jemalloc stays loaded, since the agent may call it at any
 * time. */
static void
search_loaded_object(struct allocators *all, const struct loaded_object *object,
                     const struct known *known, size_t known_count)
{
    size_t before = all->count;
    void *handle =
        dlopen(*object->path ? object->path : NULL, RTLD_NOLOAD | RTLD_LAZY);

    allocators_probe(all, object, handle, known, known_count, known_count);
    if (handle && all->count == before)
        dlclose(handle);
}

static int
find_holder(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct loaded_object *object = arg;
    uintptr_t address = object->base;
    struct loaded_object here = {info->dlpi_addr, info->dlpi_phdr,
                                 info->dlpi_phnum, info->dlpi_name};

    (void)size;
    if (!object_holds(&here, address, 1, PF_X))
        return 0;
    *object = here;
    return 1;
}

void
allocators_give(struct allocators *all, mallctl_fn *mallctl, const char *prefix)
{
    struct loaded_object object = {.base = (uintptr_t)mallctl};
    struct allocator *a;

    memset(all, 0, sizeof(*all));
    all->chosen = -1;
    if (!dl_iterate_phdr(find_holder, &object))
        return;
    a = prepare_allocator_entry(all, &object, prefix);
    a->mallctl = mallctl;
    snprintf(a->how, sizeof(a->how), "given");
    if (!read_version(a, &object))
        return;
    ask_settings(a);
    all->count = 1;
    all->chosen = 0;
}

void
allocators_find(struct allocators *all, const char *known_text,
                const char *wanted)
{
    static struct objects objects;
    struct known known[KNOWN_MAX];
    size_t known_count = known_text ? known_parse(known_text, known) : 0;

    memset(all, 0, sizeof(*all));
    objects.count = 0;
    dl_iterate_phdr(list_loaded_object, &objects);
    for (size_t i = 0; i < objects.count; i++)
        search_loaded_object(all, &objects.list[i], known, known_count);
    allocators_choose(all, wanted);
}
