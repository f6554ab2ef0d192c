/*
 * mapped_files.h - descriptors of the executable files mapped into this process.
 *
 * Opened early, so that a binary replaced or deleted later can still be read,
 * and by us, because another uid may not be allowed to.
 */
#ifndef HW_MAPPED_FILES_H
#define HW_MAPPED_FILES_H

#include <stddef.h>
#include <stdint.h>

enum { MAPPED_MAX = 256 };

struct mapped {
    struct mapped_file {
        uint64_t device, inode; /* as /proc/self/maps prints them */
        int fd;
    } list[MAPPED_MAX];
    size_t count;
};

/* Opens what is newly mapped.  What cannot be opened is left out. */
void mapped_scan(struct mapped *mapped);

/* The kept descriptor, still ours; -1 when there is none. */
int mapped_find(const struct mapped *mapped, uint64_t device, uint64_t inode);

#endif
