/*
 * index_list.h - the existing and the wanted symbol indexes, and what to do
 * about them.
 *
 * It is a list only: without files or threads.  The owner locks it.
 */
#ifndef HW_INDEX_LIST_H
#define HW_INDEX_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "errors.h"
#include "index_dir.h"

struct symbolizer_asked;

enum {
    INDEX_ENTRIES_MAX = 256,
    INDEX_FILES_MAX = 192,   /* entries that have a file of ours */
    INDEX_REQUESTS_MAX = 16, /* each has a descriptor */
    INDEX_OBJECT_MAX = 256,
    INDEX_FAILURES_MAX = 3 /* of one build-id, until heapwired restarts */
};

enum index_state {
    INDEX_NONE,    /* none yet: too many requests, or it was damaged, or was
                    * removed by others */
    INDEX_SHIPPED, /* it lies beside the object, made by somebody else */
    INDEX_WANTED,
    INDEX_MAKING,
    INDEX_READY,
    INDEX_FAILED
};

/* The part of an entry that is shown. */
struct index_entry {
    struct build_id id;
    char object[INDEX_OBJECT_MAX]; /* a file name; "": not seen yet */
    enum index_state state;
    uint64_t bytes, debug_bytes; /* 0: not known */
    int64_t made_ms, used_ms;    /* wall clock; 0: never */
    uint32_t took_ms; /* time to make it; 0: made by an earlier heapwired */
    char why[ERROR_TEXT_MAX]; /* why it failed, or why a shipped index is not
                               * used; "" */
};

struct index_rules {
    uint64_t bytes;       /* of all files together, at most */
    uint64_t debug_bytes; /* an object with this many is worth an index */
    uint32_t slow_ms;     /* so is one that took this long to name; longer if it
                           * has no debug information, as the machine may be
                           * slow */
    uint32_t retry_ms;    /* after a failure */
};

struct listed_index;
struct index_list {
    struct index_rules rules;
    struct listed_index *list; /* INDEX_ENTRIES_MAX */
    size_t count;
};

/* A request that was taken: it belongs to the taker. */
struct index_request {
    struct build_id id;
    char object[INDEX_OBJECT_MAX];
    int fd; /* of the object */
    char *path;
    uint64_t debug_bytes;
    bool damaged; /* its present index file is unusable */
};
void index_request_fini(struct index_request *request);

/* -1: out of memory. */
int index_list_init(struct index_list *list, const struct index_rules *rules);
void index_list_fini(struct index_list *list); /* a zeroed one is fine */

/* Adds an existing file.  false: there is no room in the list. */
bool index_list_add(struct index_list *list, const struct index_entry *entry);
bool index_list_is_ready(struct index_list *list, const struct build_id *id);
/* Marks a ready index as unusable.  false: it was not ready. */
bool index_list_reject_file(struct index_list *list, const struct build_id *id,
                            const char *why);

/* The file of a ready index is gone: it may be made again. */
void index_list_gone(struct index_list *list, const struct build_id *id);

/* Whether naming was slow enough for an index to be worth it.  debug_bytes: of
 * the object. */
bool index_list_is_worth(const struct index_list *list,
                         const struct symbolizer_asked *asked,
                         uint64_t debug_bytes);
/* Whether the reason of a refusal is new. */
bool index_list_is_new_refusal(const struct index_list *list,
                               const struct build_id *id,
                               const struct symbolizer_asked *asked);
/* Records that an object was named.  true: there is a new request. */
bool index_list_asked(struct index_list *list, const struct build_id *id,
                      const struct symbolizer_asked *asked, bool worth,
                      uint64_t debug_bytes);

size_t index_list_pending(const struct index_list *list);
/* Takes the next request; false: there is none.  Must be followed by one of: */
bool index_list_begin(struct index_list *list, struct index_request *request);
void index_list_made(struct index_list *list, const struct build_id *id,
                     uint64_t bytes, int64_t made_ms, uint32_t took_ms);
void index_list_request_failed(struct index_list *list,
                               const struct build_id *id, const char *why);
void index_list_put_back(struct index_list *list,
                         struct index_request *request);

/* Removes entries from the list to make room for a file of this size (or none),
 * the least recently used first; returns how many.  new_files: 0 or 1.  The
 * caller removes their files. */
size_t index_list_evict(struct index_list *list, uint64_t bytes,
                        size_t new_files,
                        struct build_id victims[INDEX_ENTRIES_MAX]);

size_t index_list_copy(const struct index_list *list, struct index_entry *out,
                       size_t max);

#endif
