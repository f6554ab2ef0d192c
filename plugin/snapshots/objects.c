/*
 * objects.c - see objects.h.
 *
 * A table with linear search: some dozens of files, looked up once each per
 * profile.  A file that could not be opened is remembered with -1, so that the
 * agent is not asked for it again with each dump.
 */
#include "objects.h"

#include <fcntl.h>
#include <string.h>

#include "arena.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "mappings.h"
#include "profile.h"

void
objects_init(struct objects *objects)
{
    objects->count = 0;
    pthread_mutex_init(&objects->lock, NULL);
}

void
objects_fini(struct objects *objects)
{
    objects_clear(objects);
    pthread_mutex_destroy(&objects->lock);
}

void
objects_clear(struct objects *objects)
{
    pthread_mutex_lock(&objects->lock);
    for (int i = 0; i < objects->count; i++)
        fd_close(objects->list[i].fd);
    objects->count = 0;
    pthread_mutex_unlock(&objects->lock);
}

/* Call with the lock held. */
static int
find_known_object(const struct objects *objects, uint64_t device,
                  uint64_t inode)
{
    for (int i = 0; i < objects->count; i++)
        if (objects->list[i].device == device &&
            objects->list[i].inode == inode)
            return i;
    return -1;
}

bool
objects_known(struct objects *objects, uint64_t device, uint64_t inode)
{
    bool known;

    pthread_mutex_lock(&objects->lock);
    /* A full table knows all: nothing more is asked of the agent. */
    known = objects->count == OBJECTS_MAX ||
            find_known_object(objects, device, inode) >= 0;
    pthread_mutex_unlock(&objects->lock);
    return known;
}

void
objects_put(struct objects *objects, uint64_t device, uint64_t inode, int fd)
{
    pthread_mutex_lock(&objects->lock);
    if (objects->count < OBJECTS_MAX &&
        find_known_object(objects, device, inode) < 0) {
        objects->list[objects->count].device = device;
        objects->list[objects->count].inode = inode;
        objects->list[objects->count].fd = fd;
        objects->count++;
        fd = -1;
    }
    pthread_mutex_unlock(&objects->lock);
    fd_close(fd);
}

int
objects_open(struct objects *objects, uint64_t device, uint64_t inode)
{
    int at, fd = -1;

    pthread_mutex_lock(&objects->lock);
    at = find_known_object(objects, device, inode);
    if (at >= 0 && objects->list[at].fd >= 0)
        fd = fcntl(objects->list[at].fd, F_DUPFD_CLOEXEC, 0);
    pthread_mutex_unlock(&objects->lock);
    return fd;
}

int
objects_open_mapping(void *objects, const struct mapping *mapping)
{
    return objects_open(objects, mapping->device, mapping->inode);
}

/* The file's build-id as text; "" if it has none or cannot be read.  The
 * descriptor is a duplicate: objects_clear() may close the original
 * meanwhile. */
static void
read_mapping_build_id(struct objects *objects, const struct mapping *mapping,
                      char text[ELF_BUILD_ID_TEXT])
{
    int fd =
        objects ? objects_open(objects, mapping->device, mapping->inode) : -1;
    struct elf_file elf = {0};
    struct error ignored;

    text[0] = '\0';
    if (fd < 0)
        return;
    if (elf_init(&elf, fd, mapping->path, &ignored) == 0)
        elf_build_id_text(&elf, text);
    elf_fini(&elf);
    fd_close(fd);
}

static bool
is_module_mapping(const struct mapping *mapping)
{
    return mapping->executable && *mapping->path;
}

static int
fill_profile_module(struct profile *profile, const struct mapping *mapping,
                    const struct mapping *last, struct objects *objects,
                    struct profile_module *module)
{
    char build_id[ELF_BUILD_ID_TEXT];

    module->start = mapping->start;
    module->end = mapping->end;
    module->offset = mapping->offset;
    /* A file's mappings follow each other, so its build-id is read once. */
    if (last && mapping->inode && last->device == mapping->device &&
        last->inode == mapping->inode) {
        module->path = module[-1].path;
        module->build_id = module[-1].build_id;
        return 0;
    }
    read_mapping_build_id(objects, mapping, build_id);
    module->path =
        arena_strndup(profile->arena, mapping->path, strlen(mapping->path));
    module->build_id =
        arena_strndup(profile->arena, build_id, strlen(build_id));
    return module->path && module->build_id ? 0 : -1;
}

int
modules_fill(struct profile *profile, const struct mappings *maps,
             struct objects *objects, struct error *err)
{
    const struct mapping *last = NULL;
    struct profile_module *list;
    size_t count = 0, filled = 0;

    for (size_t i = 0; i < maps->count; i++)
        count += is_module_mapping(&maps->list[i]);
    if (count > MODULES_MAX)
        count = MODULES_MAX;
    list = arena_alloc(profile->arena, count * sizeof(*list));
    for (size_t i = 0; list && filled < count; i++) {
        const struct mapping *mapping = &maps->list[i];

        if (!is_module_mapping(mapping))
            continue;
        if (fill_profile_module(profile, mapping, last, objects,
                                &list[filled]) != 0)
            break;
        last = mapping;
        filled++;
    }
    if (!list || filled < count) {
        error_memory(err, "the modules of a profile");
        return -1;
    }
    profile->modules = list;
    profile->module_count = count;
    return 0;
}
