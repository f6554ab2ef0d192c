/*
 * needed.c - the libraries of a program, found without running it.
 *
 * ldd would run the program's loader, and so its code, with our privileges; so
 * the search of ld.so(8) is repeated here: RPATH (unless there is a RUNPATH),
 * LD_LIBRARY_PATH, RUNPATH, ld.so.cache, the standard directories.  Breadth
 * first, each file once by device and inode.  It is an approximation: an
 * object's RPATH is not inherited by what it needs, $LIB and $PLATFORM are not
 * replaced, and what is not found is passed over.  heapwire-run calls it before
 * the start of a database, to see which malloc the program will have.
 */
#include "needed.h"

#include <elf.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "buffer.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "memory.h"
#include "reader.h"

#define CACHE       "/etc/ld.so.cache"
#define CACHE_MAGIC "glibc-ld.so.cache1.1"

enum {
    CACHE_MAX = 16 << 20,
    CACHE_HEADER = 48,
    CACHE_ENTRY = 24,
    STRINGS_MAX = 64 << 20,
    NEEDED_OF_ONE_MAX = 256
};

/* A file that was seen. */
struct object {
    dev_t device;
    ino_t inode;
    bool preloaded;
    char *path;
};

struct walk {
    const struct needed *needed;
    struct object *objects;
    size_t count;
    uint16_t machine; /* the program's; EM_NONE before it is known */
    struct buffer cache;
};

/* Notes the object at path; -1 if it is no ELF file of the program's machine,
 * where the loader would go on searching.  One that was noted before is found,
 * but not noted twice. */
static int
note_object(struct walk *walk, const char *path, bool preloaded)
{
    struct elf_file elf = {.fd = -1};
    struct error ignored;
    struct stat st;
    int fd = file_open_regular(path);

    if (fd < 0 || fstat(fd, &st) != 0 ||
        elf_init(&elf, fd, path, &ignored) != 0 ||
        (walk->machine != EM_NONE && elf.machine != walk->machine)) {
        fd_close(fd);
        elf_fini(&elf);
        return -1;
    }
    walk->machine = elf.machine;
    elf_fini(&elf);
    for (size_t i = 0; i < walk->count; i++) {
        if (walk->objects[i].device == st.st_dev &&
            walk->objects[i].inode == st.st_ino)
            goto seen;
    }
    if (walk->count == NEEDED_MAX)
        goto seen;
    walk->objects[walk->count] =
        (struct object){st.st_dev, st.st_ino, preloaded, mem_strdup(path)};
    if (walk->objects[walk->count].path)
        walk->count++;
seen:
    fd_close(fd);
    return 0;
}

/* Searches a list of directories, separated by colons, each of which may begin
 * with $ORIGIN. */
static bool
note_in(struct walk *walk, const char *directories, const char *origin,
        const char *name)
{
    static const char *const words[] = {"$ORIGIN", "${ORIGIN}"};

    while (directories && *directories) {
        size_t size = strcspn(directories, ":"), skip = 0;
        char path[PATH_MAX];

        for (size_t i = 0; i < 2; i++) {
            if (strncmp(directories, words[i], strlen(words[i])) == 0)
                skip = strlen(words[i]);
        }
        if (snprintf(path, sizeof(path), "%s%.*s/%s", skip ? origin : "",
                     (int)(size - skip), directories + skip,
                     name) < (int)sizeof(path) &&
            note_object(walk, path, false) == 0)
            return true;
        directories += size + (directories[size] == ':');
    }
    return false;
}

/* The format of /etc/ld.so.cache, glibc's dl-cache.h: behind the magic the
 * number of entries; each has flags, the offsets of key and value from the
 * magic, a version and required capabilities.  An old header may precede the
 * magic. */
static bool
note_cached(struct walk *walk, const char *name)
{
    const char *start = NULL;
    struct reader header, entries;
    uint32_t count;

    if (walk->cache.size > 0)
        start = memmem(walk->cache.data, walk->cache.size, CACHE_MAGIC,
                       strlen(CACHE_MAGIC));
    if (!start)
        return false;
    header =
        reader_of(start, walk->cache.size - (size_t)(start - walk->cache.data));
    entries = header;
    reader_bytes(&entries, strlen(CACHE_MAGIC));
    count = reader_u32(&entries);
    reader_bytes(&entries, CACHE_HEADER - strlen(CACHE_MAGIC) - 4);
    while (count-- > 0 && reader_left(&entries) >= CACHE_ENTRY) {
        struct reader key = header, value = header;
        struct span path;

        reader_u32(&entries); /* flags */
        reader_bytes(&key, reader_u32(&entries));
        reader_bytes(&value, reader_u32(&entries));
        reader_bytes(&entries, 4 + 8); /* version, capabilities */
        path = reader_text(&value);    /* a NUL follows path.data */
        if (span_is(reader_text(&key), name) && !key.failed && !value.failed &&
            note_object(walk, path.data, false) == 0)
            return true;
    }
    return false;
}

/* What PT_DYNAMIC says about libraries: offsets into names; 0: none. */
struct links {
    struct buffer names;
    uint64_t needed[NEEDED_OF_ONE_MAX], rpath, runpath;
    size_t count;
};

static const char *
text_at(const struct links *links, uint64_t offset)
{
    return offset > 0 && offset < links->names.size ? links->names.data + offset
                                                    : NULL;
}

static int
read_links(const struct elf_file *elf, struct links *links)
{
    uint64_t tag, value, names = 0, size = 0, offset, left;
    struct buffer bytes;
    struct reader r;

    buffer_init(&bytes, ELF_DYNAMIC_MAX);
    if (elf_dynamic(elf, &bytes) == 0) {
        r = reader_of(bytes.data, bytes.size);
        while (elf_dynamic_next(&r, &tag, &value)) {
            if (tag == DT_NEEDED && links->count < NEEDED_OF_ONE_MAX)
                links->needed[links->count++] = value;
            else if (tag == DT_RPATH)
                links->rpath = value;
            else if (tag == DT_RUNPATH)
                links->runpath = value;
            else if (tag == DT_STRTAB)
                names = value;
            else if (tag == DT_STRSZ)
                size = value;
        }
    }
    buffer_fini(&bytes);
    if (links->count == 0 || !elf_offset_of(elf, names, &offset, &left) ||
        size > left || elf_read(elf, offset, size, &links->names) != 0)
        return -1;
    buffer_char(&links->names, '\0');
    return links->names.failed ? -1 : 0;
}

static void
find_needed_library(struct walk *walk, const struct links *links,
                    const char *origin, const char *name)
{
    static const char standard[] =
        "/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib";
    const char *rpath = text_at(links, links->rpath);
    const char *runpath = text_at(links, links->runpath);

    if (strchr(name, '/'))
        note_object(walk, name, false);
    else if (!((!runpath && note_in(walk, rpath, origin, name)) ||
               note_in(walk, walk->needed->library_path, origin, name) ||
               note_in(walk, runpath, origin, name) || note_cached(walk, name)))
        note_in(walk, standard, origin, name);
}

static void
follow_object_links(struct walk *walk, const char *path, int fd)
{
    struct elf_file elf = {.fd = -1};
    struct error ignored;
    struct links *links = mem_alloc(sizeof(*links));
    char *origin = realpath(path, NULL);

    if (!links || !origin)
        goto out;
    buffer_init(&links->names, STRINGS_MAX);
    *strrchr(origin, '/') = '\0';
    if (elf_init(&elf, fd, path, &ignored) == 0 &&
        read_links(&elf, links) == 0) {
        for (size_t i = 0; i < links->count; i++) {
            const char *name = text_at(links, links->needed[i]);

            if (name)
                find_needed_library(walk, links, origin, name);
        }
    }
    elf_fini(&elf);
    buffer_fini(&links->names);
out:
    mem_free(links);
    free(origin);
}

/* LD_PRELOAD has colons or spaces between its names. */
static void
note_preloads(struct walk *walk)
{
    const struct links none = {.count = 0};
    const char *list = walk->needed->preloads;

    while (list && *list) {
        size_t size = strcspn(list, ": "), before = walk->count;
        char *name = mem_strndup(list, size);

        if (name && *name)
            find_needed_library(walk, &none, "", name);
        if (walk->count > before)
            walk->objects[before].preloaded = true;
        mem_free(name);
        list += size + (list[size] != '\0');
    }
}

int
needed_walk(const struct needed *needed, struct error *err)
{
    struct walk walk = {.needed = needed, .machine = EM_NONE};
    struct error ignored;
    int rc = 0;

    walk.objects = mem_zalloc(NEEDED_MAX, sizeof(*walk.objects));
    if (!walk.objects) {
        error_memory(err, "the list of shared libraries");
        return -1;
    }
    buffer_init(&walk.cache, CACHE_MAX);
    if (note_object(&walk, needed->program, false) != 0)
        goto out;
    if (file_read_all(CACHE, &walk.cache, &ignored) != 0)
        buffer_clear(&walk.cache);
    note_preloads(&walk);
    /* The list grows while it is walked: each object adds what it needs. */
    for (size_t i = 0; rc == 0 && i < walk.count; i++) {
        const struct object *o = &walk.objects[i];
        int fd = file_open_regular(o->path);

        if (fd >= 0)
            rc = needed->see(needed->arg, o->path, fd, o->preloaded, err);
        if (fd >= 0 && rc == 0)
            follow_object_links(&walk, o->path, fd);
        fd_close(fd);
    }
out:
    for (size_t i = 0; i < walk.count; i++)
        mem_free(walk.objects[i].path);
    mem_free(walk.objects);
    buffer_fini(&walk.cache);
    return rc;
}
