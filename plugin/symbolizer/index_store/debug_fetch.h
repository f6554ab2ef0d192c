/*
 * debug_fetch.h - one file from the debuginfod servers: starts the program that
 * asks them, takes its bytes, and checks them.
 *
 * On the thread of debug_fetcher.h, which is the program's parent.
 */
#ifndef HW_DEBUG_FETCH_H
#define HW_DEBUG_FETCH_H

#include <stdint.h>

#include "file_store.h"
#include "index_dir.h"

struct error;

/* Below the directory: the library's own. */
#define DEBUG_DOWNLOADS "download"

struct debug_fetch {
    const char *program, *urls;
    const struct file_store *dir;
    const struct build_id *id;
    uint64_t bytes;     /* at most */
    uint32_t timeout_s; /* of it all */
    int cancel_fd;      /* readable: give up */
};

/* Writes it to the writer, which the caller commits or closes.  -1 with *err:
 * no server has it, it took too long, it is no debug information of that build,
 * ... */
int debug_fetch(const struct debug_fetch *fetch, struct index_writer *writer,
                struct error *err);

#endif
