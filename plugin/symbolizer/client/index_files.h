/*
 * index_files.h - where the symbol index of an object lies.
 *
 * Beside the object as <path>.hwindex, or in a directory of ours as
 * <build-id in hex>.hwindex: a regular file, not followed through a symbolic
 * link, written under another name and renamed when it is whole.  One beside
 * the object is root's, ours, or belongs to the object's owner, and others may
 * not write to it.  Who reads it checks what is in it.
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

/* Where the index of elf is in a directory of ours; -1: elf has no build-id, or
 * the path is too long. */
int index_file_path(const struct elf_file *elf, const char *directory,
                    char *path, size_t size);

/* In directory first (NULL: none of ours), then beside path (NULL: not there);
 * -1: there is none.  The caller closes it.  *why (NULL: nobody cares) says
 * which is there and was passed over, for what reason; "" if none was. */
int index_file_open(const struct elf_file *elf, const char *directory,
                    const char *path, struct error *why);

/* Whether something lies where the index beside path would: it may be of no
 * use. */
bool index_file_beside(const char *path);

/*
 * Has the helper make the index of the object behind elf, and puts it at
 * target, where an older one may lie but nothing that is no regular file.  -1
 * with *err, and nothing there, when that fails or takes longer.  Without debug
 * information it is of symbols only, and remark says why, else is ""; NULL:
 * there is none then.
 */
int index_file_make(struct helper *helper, const struct elf_file *elf,
                    const char *path, const char *target, uint32_t deadline_ms,
                    char remark[INDEX_REMARK_MAX], struct error *err);

#endif
