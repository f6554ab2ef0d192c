/*
 * objects.h - descriptors of the executable files mapped into this process.
 *
 * Opened early, so that a binary replaced or deleted later can still be read,
 * and by us, because another uid may not be allowed to.
 */
#ifndef HW_OBJECTS_H
#define HW_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

enum { OBJECTS_MAX = 256 };

struct objects {
    struct object {
        uint64_t device, inode; /* as /proc/self/maps prints them */
        int fd;
    } list[OBJECTS_MAX];
    size_t count;
};

/* Opens what is newly mapped.  What cannot be opened is left out. */
void objects_scan(struct objects *objects);

/* The kept descriptor, still ours; -1 when there is none. */
int objects_find(const struct objects *objects, uint64_t device,
                 uint64_t inode);

#endif
