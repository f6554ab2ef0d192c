/*
 * files.h - descriptors and whole files, with limits.
 */
#ifndef HW_FILES_H
#define HW_FILES_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct error;

void fd_close(int fd); /* -1 is fine; keeps errno */

/* Appends all of fd, from its start, to out; fails past out's ceiling.
 * what names it in the error. */
int fd_read_all(int fd, struct buffer *out, const char *what,
                struct error *err);
/* -1 with errno. */
int fd_write_all(int fd, const char *data, size_t size);
/* Maps a sealed file that is wholly in memory; the caller unmaps it.  false:
 * read it instead. */
bool fd_map_sealed(int fd, size_t max, void **out, size_t *size);
/* Opens an untrusted path for reading: refuses a device, and a pipe, which
 * would wait for its writer.  -1 with errno. */
int file_open_regular(const char *path);
int file_read_all(const char *path, struct buffer *out, struct error *err);

/* Removes a regular file; a missing one counts as removed.  -1 with EEXIST for
 * anything else. */
int file_remove_at(int dir, const char *name);

#endif
