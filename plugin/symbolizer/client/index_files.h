/*
 * index_files.h - the paths of an object's symbol index.
 *
 * An index lies beside the object as <path>.hwindex, or in our own directory as
 * <build-id in hex>.hwindex.  It is a regular file, not reached through a
 * symbolic link, written under another name and renamed when it is whole.  One
 * beside the object belongs to root, to us or to the object's owner, and others
 * cannot write to it.  Readers check its content.
 */
#ifndef HW_INDEX_FILES_H
#define HW_INDEX_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct error;
struct helper;

#define INDEX_FILE_SUFFIX ".hwindex"

enum { INDEX_REMARK_MAX = 256 };

/* The path of elf's index in our own directory; -1: elf has no build-id, or the
 * path is too long. */
int index_file_path(const struct elf_file *elf, const char *directory,
                    char *path, size_t size);

/* Opens the index in directory, or else the one beside path; NULL skips that
 * place.  -1: there is none.  The caller closes it. *why (may be NULL) gets the
 * path and fault of an index that was passed over, or "". */
int index_file_open(const struct elf_file *elf, const char *directory,
                    const char *path, struct error *why);

/* Whether anything lies at the index's path beside path, usable or not. */
bool index_file_is_shipped(const char *path);

/*
 * Has the helper make the index of the object behind elf, and puts it at
 * target, replacing an older index but no other kind of file.  On failure or
 * timeout -1 with *err, and target is unchanged.  Without debug information the
 * index has symbols only, and remark says why (else it is ""); with remark NULL
 * none is made then.
 */
int index_file_make(struct helper *helper, const struct elf_file *elf,
                    const char *path, const char *target, uint32_t deadline_ms,
                    char remark[INDEX_REMARK_MAX], struct error *err);

#endif
