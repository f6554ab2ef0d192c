/*
 * mapped_files.h - descriptors of the executable files mapped into this
 * process.
 *
 * Opened early, so that a binary replaced or deleted later can still be read,
 * and by us, because another uid may not be allowed to.
 */
#ifndef HW_MAPPED_FILES_H
#define HW_MAPPED_FILES_H

#include <stddef.h>
#include <stdint.h>

enum { MAPPED_FILES_MAX = 256 };

struct mapped_files {
    struct mapped_file {
        uint64_t device, inode; /* as /proc/self/maps prints them */
        int fd;
    } list[MAPPED_FILES_MAX];
    size_t count;
};

/* Opens what is newly mapped.  What cannot be opened is left out. */
void mapped_files_scan(struct mapped_files *files);

/* Opens that one, which is the caller's; -1: it is not mapped, or cannot be
 * opened. */
int mapped_files_open(uint64_t device, uint64_t inode);

void mapped_files_close(struct mapped_files *files);

/* The kept descriptor, still ours; -1 when there is none. */
int mapped_files_find(const struct mapped_files *files, uint64_t device,
                      uint64_t inode);

#endif
