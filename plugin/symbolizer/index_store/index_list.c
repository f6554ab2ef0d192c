/*
 * index_list.c - see index_list.h.
 *
 * Not every object is worth an index: making one costs seconds to minutes of a
 * processor and disk.  The rules are here, without files or threads, so that
 * they can be tested: an object that took long to name, or has much debug
 * information, gets a request; a failure is tried again after a pause, three
 * times at most; an index that turns out damaged is made again once. 256
 * entries, searched linearly: it happens once for each object of a profile.
 */
#include "index_list.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "reader.h"
#include "clean_text.h"
#include "clock.h"
#include "elf_file.h"
#include "file_store.h"
#include "files.h"
#include "mappings.h"
#include "memory.h"
#include "symbolizer.h"

enum {
    NO_DEBUG_FACTOR =
        5,           /* so much slower it must be without debug information */
    REASON_MAX = 200 /* bytes */
};

struct listed_index {
    struct index_entry entry;
    unsigned failures;
    bool damaged;             /* it was damaged once already */
    char refusal[REASON_MAX]; /* why a shipped index is not used; or "" */
    uint64_t tried_ms;        /* time of the last failure */
    /* While INDEX_WANTED: */
    int object_fd;
    char *path;
};

int
index_list_init(struct index_list *list, const struct index_rules *rules)
{
    list->rules = *rules;
    list->count = 0;
    list->list = mem_zalloc(INDEX_ENTRIES_MAX, sizeof(*list->list));
    return list->list ? 0 : -1;
}

/* The entry of a build-id, or NULL. */
static struct listed_index *
find_index_entry(const struct index_list *list, const struct build_id *id)
{
    for (size_t i = 0; i < list->count; i++)
        if (build_id_equal(&list->list[i].entry.id, id))
            return &list->list[i];
    return NULL;
}

static void
drop_index_request(struct listed_index *kept)
{
    fd_close(kept->object_fd);
    kept->object_fd = -1;
    mem_free(kept->path);
    kept->path = NULL;
}

static void
remove_index_entry(struct index_list *list, struct listed_index *kept)
{
    drop_index_request(kept);
    *kept = list->list[--list->count];
}

void
index_list_fini(struct index_list *list)
{
    while (list->count > 0)
        remove_index_entry(list, &list->list[list->count - 1]);
    mem_free(list->list);
    list->list = NULL;
}

void
index_request_fini(struct index_request *request)
{
    fd_close(request->fd);
    request->fd = -1;
    mem_free(request->path);
    request->path = NULL;
}

static int64_t
last_used(const struct listed_index *kept)
{
    const struct index_entry *e = &kept->entry;

    return e->used_ms > e->made_ms ? e->used_ms : e->made_ms;
}

/* The least recently used entry that has no file of ours; NULL: there is none.
 * Only its history is lost with it. */
static struct listed_index *
oldest_index_entry(struct index_list *list)
{
    struct listed_index *found = NULL;

    for (size_t i = 0; i < list->count; i++) {
        struct listed_index *kept = &list->list[i];
        enum index_state state = kept->entry.state;

        if (state != INDEX_WANTED && state != INDEX_MAKING &&
            state != INDEX_READY &&
            (!found || last_used(kept) < last_used(found)))
            found = kept;
    }
    return found;
}

/* Adds an entry; NULL: there is no room, and nothing can be dropped. */
static struct listed_index *
add_index_entry(struct index_list *list, const struct build_id *id)
{
    struct listed_index *kept;

    if (list->count == INDEX_ENTRIES_MAX) {
        kept = oldest_index_entry(list);
        if (!kept)
            return NULL;
        remove_index_entry(list, kept);
    }
    kept = &list->list[list->count++];
    memset(kept, 0, sizeof(*kept));
    kept->entry.id = *id;
    kept->object_fd = -1;
    return kept;
}

bool
index_list_add(struct index_list *list, const struct index_entry *entry)
{
    struct listed_index *kept = find_index_entry(list, &entry->id);

    if (!kept)
        kept = add_index_entry(list, &entry->id);
    if (kept)
        kept->entry = *entry;
    return kept != NULL;
}

bool
index_list_is_ready(struct index_list *list, const struct build_id *id)
{
    const struct listed_index *kept = find_index_entry(list, id);

    return kept && kept->entry.state == INDEX_READY;
}

/* Size and times are those of a file, so they go when the entry has none. */
static void
set_index_entry_state(struct listed_index *kept, enum index_state state,
                      const char *why)
{
    kept->entry.state = state;
    snprintf(kept->entry.why, sizeof(kept->entry.why), "%s", why);
    if (state != INDEX_READY) {
        kept->entry.bytes = 0;
        kept->entry.made_ms = 0;
        kept->entry.took_ms = 0;
    }
}

/* Counts the failure and starts the pause; after INDEX_FAILURES_MAX the object
 * is left alone. */
static void
mark_index_entry_failed(struct listed_index *kept, const char *why)
{
    kept->failures++;
    kept->tried_ms = clock_ms();
    set_index_entry_state(kept, INDEX_FAILED, why);
}

bool
index_list_reject_file(struct index_list *list, const struct build_id *id,
                       const char *why)
{
    if (!index_list_is_ready(list, id))
        return false;
    mark_index_entry_failed(find_index_entry(list, id), why);
    return true;
}

/* A file that others removed is no failure: the next slow naming may have it
 * made again. */
void
index_list_gone(struct index_list *list, const struct build_id *id)
{
    struct listed_index *kept = find_index_entry(list, id);

    if (!kept || kept->entry.state != INDEX_READY)
        return;
    if (kept->entry.object[0])
        set_index_entry_state(kept, INDEX_NONE, "");
    else /* found in the directory, but its object was never seen */
        remove_index_entry(list, kept);
}

/* ---- requests ---- */

bool
index_list_is_worth(const struct index_list *list,
                    const struct symbolizer_asked *asked, uint64_t debug_bytes)
{
    /* Without debug information a slow naming says more of the machine than of
     * the object. */
    uint32_t slow_ms =
        list->rules.slow_ms * (debug_bytes ? 1 : NO_DEBUG_FACTOR);

    return asked->refused ||
           (!asked->indexed && (asked->elapsed_ms >= slow_ms ||
                                debug_bytes >= list->rules.debug_bytes));
}

size_t
index_list_pending(const struct index_list *list)
{
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++)
        count += list->list[i].entry.state == INDEX_WANTED;
    return count;
}

static bool
add_index_request(struct index_list *list, struct listed_index *kept,
                  const struct symbolizer_asked *asked)
{
    if (index_list_pending(list) == INDEX_REQUESTS_MAX)
        return false; /* a later profile will ask again */
    kept->object_fd = fcntl(asked->elf->fd, F_DUPFD_CLOEXEC, 0);
    kept->path = mem_strdup(asked->path);
    if (kept->object_fd < 0 || !kept->path) {
        drop_index_request(kept);
        mark_index_entry_failed(kept,
                                "no memory or descriptor was left for it");
        return false;
    }
    set_index_entry_state(kept, INDEX_WANTED, "");
    return true;
}

/* Whether a new request makes sense now: none is waiting, and the last failure
 * is long enough ago.  A shipped index that is refused or too slow is replaced
 * by one of ours. */
static bool
is_due(const struct index_list *list, const struct listed_index *kept)
{
    switch (kept->entry.state) {
    case INDEX_FAILED:
        return kept->failures < INDEX_FAILURES_MAX &&
               clock_ms() - kept->tried_ms >= list->rules.retry_ms;
    case INDEX_NONE:
    case INDEX_SHIPPED:
        return true;
    default:
        return false;
    }
}

/* Records why an index was refused.  One of ours is made again at once, but
 * only once. */
static void
record_index_refusal(struct listed_index *kept, const char *why)
{
    if (kept->entry.state != INDEX_READY) {
        snprintf(kept->refusal, sizeof(kept->refusal), "%s", why);
        return;
    }
    if (kept->damaged)
        mark_index_entry_failed(kept, why);
    else
        set_index_entry_state(kept, INDEX_NONE, "");
    kept->damaged = true;
}

static void
set_object(struct listed_index *kept, const char *path)
{
    struct span name = {base_name(path), 0};

    name.size = strnlen(name.data, INDEX_OBJECT_MAX - 1);
    clean_text(name, kept->entry.object);
}

bool
index_list_is_new_refusal(const struct index_list *list,
                          const struct build_id *id,
                          const struct symbolizer_asked *asked)
{
    const struct listed_index *kept = find_index_entry(list, id);

    return !kept || (strncmp(kept->refusal, asked->refused,
                             sizeof(kept->refusal) - 1) != 0 &&
                     strcmp(kept->entry.why, asked->refused) != 0);
}

bool
index_list_asked(struct index_list *list, const struct build_id *id,
                 const struct symbolizer_asked *asked, bool worth,
                 uint64_t debug_bytes)
{
    struct listed_index *kept = find_index_entry(list, id);

    if (!kept && (asked->indexed || worth))
        kept = add_index_entry(list, id);
    if (!kept)
        return false;
    set_object(kept, asked->path);
    kept->entry.used_ms = clock_wall_ms();
    if (debug_bytes)
        kept->entry.debug_bytes = debug_bytes;
    if (asked->refused)
        record_index_refusal(kept, asked->refused);
    /* an index was used that is not ours */
    if (asked->indexed &&
        (kept->entry.state == INDEX_NONE || kept->entry.state == INDEX_FAILED))
        set_index_entry_state(kept, INDEX_SHIPPED, "");
    if (asked->indexed)
        kept->refusal[0] = '\0';
    return worth && is_due(list, kept) && add_index_request(list, kept, asked);
}

bool
index_list_begin(struct index_list *list, struct index_request *request)
{
    for (size_t i = 0; i < list->count; i++) {
        struct listed_index *kept = &list->list[i];

        if (kept->entry.state != INDEX_WANTED)
            continue;
        request->id = kept->entry.id;
        /* descriptor and path move to the taker, who works without the lock */
        memcpy(request->object, kept->entry.object, sizeof(request->object));
        request->fd = kept->object_fd;
        request->path = kept->path;
        request->debug_bytes = kept->entry.debug_bytes;
        request->damaged = kept->damaged;
        kept->object_fd = -1;
        kept->path = NULL;
        kept->entry.state = INDEX_MAKING;
        return true;
    }
    return false;
}

/* The entry is there: one that is being made is not evicted. */
void
index_list_made(struct index_list *list, const struct build_id *id,
                uint64_t bytes, int64_t made_ms, uint32_t took_ms)
{
    struct listed_index *kept = find_index_entry(list, id);

    set_index_entry_state(kept, INDEX_READY, "");
    kept->failures = 0;
    kept->entry.bytes = bytes;
    kept->entry.made_ms = made_ms;
    kept->entry.took_ms = took_ms;
}

void
index_list_request_failed(struct index_list *list, const struct build_id *id,
                          const char *why)
{
    mark_index_entry_failed(find_index_entry(list, id), why);
}

/* The service was paused or stopped in the middle: the request goes on waiting,
 * with its descriptor. */
void
index_list_put_back(struct index_list *list, struct index_request *request)
{
    struct listed_index *kept = find_index_entry(list, &request->id);

    kept->object_fd = request->fd;
    kept->path = request->path;
    request->fd = -1;
    request->path = NULL;
    kept->entry.state = INDEX_WANTED;
}

/* ---- free space ---- */

size_t
index_list_evict(struct index_list *list, uint64_t bytes, size_t new_files,
                 struct build_id victims[INDEX_ENTRIES_MAX])
{
    /* any priority that file_store_evict() may change to FILE_GOES */
    enum { EVICT_INDEX_FILE = FILE_GOES + 1 };
    struct eviction_candidate candidates[INDEX_ENTRIES_MAX + 1];
    struct listed_index *of[INDEX_ENTRIES_MAX];
    size_t count = 0, going = 0;

    for (size_t i = 0; i < list->count; i++) {
        struct listed_index *kept = &list->list[i];

        if (kept->entry.state != INDEX_READY)
            continue;
        of[count] = kept;
        candidates[count++] = (struct eviction_candidate){
            EVICT_INDEX_FILE, last_used(kept), kept->entry.bytes};
    }
    /* the new file counts, and cannot be chosen */
    candidates[count] = (struct eviction_candidate){FILE_STAYS, 0, bytes};
    (void)file_store_evict(candidates, count + new_files, INDEX_FILES_MAX,
                           list->rules.bytes);
    while (count-- > 0) /* backwards, since remove_index_entry() moves the last
                         * entry */
        if (candidates[count].priority == FILE_GOES) {
            victims[going++] = of[count]->entry.id;
            remove_index_entry(list, of[count]);
        }
    return going;
}

/* Appends to a failure the reason why a shipped index is not used. */
static void
append_index_refusal(const struct listed_index *kept, char why[ERROR_TEXT_MAX])
{
    size_t used = strlen(why);

    if (kept->refusal[0] && strcmp(why, kept->refusal) != 0)
        snprintf(why + used, ERROR_TEXT_MAX - used, "%s%s", used ? "; " : "",
                 kept->refusal);
}

size_t
index_list_copy(const struct index_list *list, struct index_entry *out,
                size_t max)
{
    size_t count = list->count < max ? list->count : max;

    for (size_t i = 0; i < count; i++) {
        out[i] = list->list[i].entry;
        append_index_refusal(&list->list[i], out[i].why);
    }
    return count;
}
