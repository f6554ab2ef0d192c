/*
 * module_list.c - see module_list.h.
 *
 * A return address means nothing once another library is loaded in its place,
 * and libraries come and go.  _dl_find_object tells, without a lock, what is
 * loaded now: a library that has come to the addresses of another is a module
 * of its own, also if it has the same path (known by its build-id).  The loader
 * never unloads what the program began with, so only frames of other modules
 * are checked for each sample.
 */
#include "module_list.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "loaded_objects.h"
#include "recorder_state.h"

enum { PROGRAM_PATH_MAX = 4096, PAGE = 4096, START_MAX = 512 };

static char program_path[PROGRAM_PATH_MAX];
static const struct link_map *at_start[START_MAX]; /* never unloaded */
static uint8_t passing[UINT16_MAX]; /* by module: it may be unloaded */

void
module_list_begin(void)
{
    const struct link_map *map = _r_debug.r_map;
    ssize_t n = readlink("/proc/self/exe", program_path, PROGRAM_PATH_MAX - 1);

    program_path[n > 0 ? n : 0] = '\0';
    for (int i = 0; map && i < START_MAX; i++, map = map->l_next)
        at_start[i] = map;
}

/* Compared with the list taken before main, as the loader's own list may change
 * meanwhile. */
static bool
may_be_unloaded(const struct link_map *object)
{
    int i = 0;

    while (i < START_MAX && at_start[i] && at_start[i] != object)
        i++;
    return i == START_MAX || !at_start[i];
}

/* The build-id by the program headers in the object's first page, which is
 * mapped, as the loader itself reads them there. */
static uint32_t
read_object_build_id(const struct dl_find_object *found,
                     uint8_t id[SEGMENT_BUILD_ID_MAX])
{
    const ElfW(Ehdr) *head = found->dlfo_map_start;
    struct loaded_object object = {.base = found->dlfo_link_map->l_addr};

    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_phoff > PAGE ||
        head->e_phnum * sizeof(ElfW(Phdr)) > PAGE - head->e_phoff)
        return 0;
    object.headers = (const ElfW(Phdr) *)((const char *)found->dlfo_map_start +
                                          head->e_phoff);
    object.header_count = head->e_phnum;
    return (uint32_t)object_build_id(&object, id);
}

static void
fill_module(struct segment_module *m, const struct dl_find_object *found,
            const char *path)
{
    size_t size = strlen(path);

    m->end = (uint64_t)found->dlfo_map_end;
    m->base = found->dlfo_link_map->l_addr;
    m->path_size = (uint32_t)size;
    memcpy(m->path, path, size < SEGMENT_PATH_MAX ? size : SEGMENT_PATH_MAX);
    m->build_id_size = read_object_build_id(found, m->build_id);
    __atomic_store_n(&m->start, (uint64_t)found->dlfo_map_start,
                     __ATOMIC_RELEASE);
}

static bool
is_module_of_object(const struct segment_module *m,
                    const struct dl_find_object *found, const char *path)
{
    size_t size = strlen(path);
    uint8_t id[SEGMENT_BUILD_ID_MAX];

    return __atomic_load_n(&m->start, __ATOMIC_ACQUIRE) ==
               (uint64_t)found->dlfo_map_start &&
           m->end == (uint64_t)found->dlfo_map_end && m->path_size == size &&
           memcmp(m->path, path,
                  size < SEGMENT_PATH_MAX ? size : SEGMENT_PATH_MAX) == 0 &&
           m->build_id_size == read_object_build_id(found, id) &&
           memcmp(m->build_id, id, m->build_id_size) == 0;
}

/* Finds what is loaded at pc; returns its path, or NULL.  The main program has
 * an empty name in the loader's list. */
static const char *
find_loaded_path(uint64_t pc, struct dl_find_object *found)
{
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (_dl_find_object((void *)pc, found) != 0 || !found->dlfo_link_map)
        return NULL;
    return found->dlfo_link_map->l_name && *found->dlfo_link_map->l_name
               ? found->dlfo_link_map->l_name
               : program_path;
}

bool
modules_are_loaded(const uint64_t *frames, uint32_t depth)
{
    struct dl_find_object found;
    uint32_t last = 0;

    for (uint32_t i = 0; i < depth; i++) {
        uint32_t module = (uint32_t)(frames[i] >> SEGMENT_PC_BITS); /* + 1 */
        const char *path;

        if (module == last || module == 0 ||
            module > recorder_state.module_capacity || !passing[module - 1])
            continue;
        path = find_loaded_path(frames[i] & SEGMENT_PC_MASK, &found);
        if (!path || !is_module_of_object(&recorder_state.modules[module - 1],
                                          &found, path))
            return false;
        last = module;
    }
    return true;
}

uint64_t
module_frame(uint64_t pc)
{
    struct segment_header *header = recorder_state.header;
    uint32_t count = __atomic_load_n(&header->module_count, __ATOMIC_RELAXED);
    struct dl_find_object found;
    const char *path = find_loaded_path(pc, &found);

    if (!path)
        return pc;
    for (uint32_t i = 0; i < count && i < recorder_state.module_capacity; i++) {
        if (is_module_of_object(&recorder_state.modules[i], &found, path))
            return pc | (uint64_t)(i + 1) << SEGMENT_PC_BITS;
    }
    if (count >= recorder_state.module_capacity)
        return pc;
    count = __atomic_fetch_add(&header->module_count, 1, __ATOMIC_RELAXED);
    if (count >= recorder_state.module_capacity)
        return pc;
    passing[count] = may_be_unloaded(found.dlfo_link_map);
    fill_module(&recorder_state.modules[count], &found, path);
    return pc | (uint64_t)(count + 1) << SEGMENT_PC_BITS;
}
