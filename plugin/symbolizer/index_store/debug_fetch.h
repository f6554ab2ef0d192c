/*
 * debug_fetch.h - fetches one file from the debuginfod servers: starts the
 * program that asks them, takes its bytes, and checks them.
 *
 * On the thread of debug_fetcher.h, which is the program's parent.
 */
#ifndef HW_DEBUG_FETCH_H
#define HW_DEBUG_FETCH_H

#include <stdint.h>

#include "file_store.h"
#include "index_dir.h"

struct error;

/* The library's own directory, below the fetcher's. */
#define DEBUG_DOWNLOADS "download"

struct debug_fetch {
    const char *program, *urls;
    const struct file_store *dir;
    const struct build_id *id;
    uint64_t bytes;     /* size of the file, at most */
    uint32_t timeout_s; /* for all of it */
    int cancel_fd;      /* readable: give up */
};

/* Fetches a file into the writer, which the caller commits or closes.  -1 with
 * *err: no server has it, it took too long, it is no debug information of that
 * build, ... */
int debug_fetch(const struct debug_fetch *fetch, struct index_writer *writer,
                struct error *err);

#endif
