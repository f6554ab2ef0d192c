/*
 * mapped_files.h - descriptors of the executable files mapped into this
 * process.
 *
 * Opened early, so that a binary replaced or deleted later can still be read,
 * and by us, because another uid may not be allowed to.
 */
#ifndef HW_MAPPED_FILES_H
#define HW_MAPPED_FILES_H

#include <stdbool.h>
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

/* Opens newly mapped files; leaves out those that cannot be opened. */
void mapped_files_scan(struct mapped_files *files);

/* Opens one mapped file; the caller closes it.  -1: not mapped, or it cannot be
 * opened. */
int mapped_files_open(uint64_t device, uint64_t inode);

void mapped_files_close(struct mapped_files *files);

/* The kept descriptor, which stays ours; -1: none. */
int mapped_files_find(const struct mapped_files *files, uint64_t device,
                      uint64_t inode);

#endif
