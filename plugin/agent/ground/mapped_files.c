/* mapped_files.c - see mapped_files.h. */
#include "mapped_files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
    MAPS_LINE_MAX = 8192,
    FDS_RESERVED = 16 /* for connections and dumps under a low RLIMIT_NOFILE */
};

/* The same file?  Its device is not compared: on btrfs and overlayfs stat()
 * and maps disagree about it, and heapwired compares build-ids anyway. */
static int
open_if_inode(const char *path, uint64_t inode)
{
    struct stat st;
    int fd;

    /* Opening a device may do something; looking does not. */
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_ino != inode)
        return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == inode)
        return fd;
    close(fd);
    return -1;
}

static bool
room_for(int fd)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
           (rlim_t)fd + FDS_RESERVED < limit.rlim_cur;
}

static void
add(struct mapped_files *files, uint64_t device, uint64_t inode, int fd)
{
    if (fd < 0)
        return;
    if (!room_for(fd)) {
        close(fd);
        return;
    }
    files->list[files->count++] =
        (struct mapped_file){.device = device, .inode = inode, .fd = fd};
}

/* An executable mapping of a file. */
struct mapped {
    unsigned long start, end;
    uint64_t device, inode;
    const char *path;
};

/* "start-end perms offset major:minor inode   path" */
static bool
read_line(const char *line, struct mapped *out)
{
    unsigned long long inode;
    unsigned major_number, minor_number;
    char perms[5];
    int path = 0;

    if (sscanf(line, "%lx-%lx %4s %*x %x:%x %llu %n", &out->start, &out->end,
               perms, &major_number, &minor_number, &inode, &path) != 6 ||
        perms[2] != 'x' || inode == 0 || line[path] != '/')
        return false;
    out->device = makedev(major_number, minor_number);
    out->inode = inode;
    out->path = line + path;
    return true;
}

/* map_files needs privileges; exe works even for a deleted file. */
static int
open_mapped(const struct mapped *mapped)
{
    char range[64];
    int fd = open_if_inode(mapped->path, mapped->inode);

    snprintf(range, sizeof(range), "/proc/self/map_files/%lx-%lx",
             mapped->start, mapped->end);
    if (fd < 0)
        fd = open_if_inode(range, mapped->inode);
    return fd < 0 ? open_if_inode("/proc/self/exe", mapped->inode) : fd;
}

static void
take(const struct mapped *mapped, void *arg)
{
    struct mapped_files *files = arg;

    if (files->count < MAPPED_FILES_MAX &&
        mapped_files_find(files, mapped->device, mapped->inode) < 0)
        add(files, mapped->device, mapped->inode, open_mapped(mapped));
}

/* What is looked for, and what was found. */
static void
take_one(const struct mapped *mapped, void *arg)
{
    struct mapped_file *file = arg;

    if (file->fd < 0 && mapped->device == file->device &&
        mapped->inode == file->inode)
        file->fd = open_mapped(mapped);
}

static void
each_mapping(void (*see)(const struct mapped *, void *), void *arg)
{
    char text[MAPS_LINE_MAX];
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    struct mapped mapped;
    size_t used = 0;
    ssize_t n;
    char *end;

    if (fd < 0)
        return;
    for (;;) {
        n = read(fd, text + used, sizeof(text) - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += (size_t)n;
        while ((end = memchr(text, '\n', used)) != NULL) {
            size_t size = (size_t)(end - text) + 1;

            *end = '\0';
            if (read_line(text, &mapped))
                see(&mapped, arg);
            used -= size;
            memmove(text, end + 1, used);
        }
        if (used == sizeof(text))
            break; /* the kernel prints no line as long as this */
    }
    close(fd);
}

void
mapped_files_scan(struct mapped_files *files)
{
    each_mapping(take, files);
}

int
mapped_files_open(uint64_t device, uint64_t inode)
{
    struct mapped_file file = {.device = device, .inode = inode, .fd = -1};

    each_mapping(take_one, &file);
    return file.fd;
}

void
mapped_files_close(struct mapped_files *files)
{
    while (files->count > 0)
        close(files->list[--files->count].fd);
}

int
mapped_files_find(const struct mapped_files *files, uint64_t device,
                  uint64_t inode)
{
    for (size_t i = 0; i < files->count; i++) {
        if (files->list[i].device == device && files->list[i].inode == inode)
            return files->list[i].fd;
    }
    return -1;
}

/* ---- the loader's objects ---- */

bool
object_holds(const struct loaded_object *object, uintptr_t address, size_t size,
             unsigned flags)
{
    for (size_t i = 0; i < object->header_count; i++) {
        const ElfW(Phdr) *h = &object->headers[i];
        uintptr_t start = object->base + h->p_vaddr;

        if (h->p_type == PT_LOAD && (h->p_flags & flags) == flags &&
            address >= start && size <= h->p_memsz &&
            address - start <= h->p_memsz - size)
            return true;
    }
    return false;
}

static size_t
padded(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

static size_t
find_in_notes(const uint8_t *notes, size_t size, uint8_t out[BUILD_ID_MAX])
{
    ElfW(Nhdr) note;

    while (size >= sizeof(note)) {
        size_t name, data;

        memcpy(&note, notes, sizeof(note));
        name = padded(note.n_namesz);
        data = padded(note.n_descsz);
        notes += sizeof(note);
        size -= sizeof(note);
        if (name > size || data > size - name)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes, "GNU", 4) == 0 && note.n_descsz > 0 &&
            note.n_descsz <= BUILD_ID_MAX) {
            memcpy(out, notes + name, note.n_descsz);
            return note.n_descsz;
        }
        notes += name + data;
        size -= name + data;
    }
    return 0;
}

size_t
object_build_id(const struct loaded_object *object, uint8_t out[BUILD_ID_MAX])
{
    for (size_t i = 0; i < object->header_count; i++) {
        const ElfW(Phdr) *h = &object->headers[i];
        uintptr_t at = object->base + h->p_vaddr;
        size_t found;

        if (h->p_type != PT_NOTE || !object_holds(object, at, h->p_memsz, PF_R))
            continue;
        found = find_in_notes((const uint8_t *)at, h->p_memsz, out);
        if (found > 0)
            return found;
    }
    return 0;
}
