/* objects.c - see objects.h. */
#include "objects.h"

#include <fcntl.h>

#include "files.h"

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
find(const struct objects *objects, uint64_t device, uint64_t inode)
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
    known = objects->count == OBJECTS_MAX || find(objects, device, inode) >= 0;
    pthread_mutex_unlock(&objects->lock);
    return known;
}

void
objects_put(struct objects *objects, uint64_t device, uint64_t inode, int fd)
{
    pthread_mutex_lock(&objects->lock);
    if (objects->count < OBJECTS_MAX && find(objects, device, inode) < 0) {
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
    at = find(objects, device, inode);
    if (at >= 0 && objects->list[at].fd >= 0)
        fd = fcntl(objects->list[at].fd, F_DUPFD_CLOEXEC, 0);
    pthread_mutex_unlock(&objects->lock);
    return fd;
}
