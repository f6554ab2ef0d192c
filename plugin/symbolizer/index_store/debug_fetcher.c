/*
 * debug_fetcher.c - see debug_fetcher.h.
 *
 * A download takes seconds to minutes, and most requests are for objects that
 * no server has; so a naming thread only adds a request and goes on, misses are
 * remembered for an hour, and one thread serves the requests in order.  The
 * lock is held across no I/O but debug_fetcher_give's, while the thread rests.
 */
#include "debug_fetcher.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "reader.h"
#include "clock.h"
#include "debug_fetch.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "log.h"
#include "mappings.h"
#include "memory.h"
#include "symbolizer.h"
#include "thread.h"

enum { STACK_BYTES = 256 * 1024, OBJECT_MAX = 128 };

struct debug_request {
    struct build_id id;
    char object[OBJECT_MAX];
};

/* A build-id that no server has. */
struct debug_miss {
    struct build_id id;
    uint64_t until_ms; /* monotonic */
};

struct debug_fetcher {
    char *program, *urls;
    uint64_t bytes;
    uint32_t timeout_s;
    void (*log)(const char *line);
    struct file_store dir; /* the fetching thread's */
    int cancel_fd;         /* eventfd */
    pthread_t thread;
    bool runs;

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t work, rests;
    struct debug_request pending[DEBUG_REQUESTS_MAX]; /* the first is being
                                                       * served */
    size_t request_count;
    struct debug_miss misses[DEBUG_MISSES_MAX];
    size_t miss_next; /* index of the oldest */
    bool stop, pause, fetching;
};

/* ---- the symboliser's thread ---- */

/* With the lock. */
static bool
is_debug_request_settled(struct debug_fetcher *fetcher,
                         const struct build_id *id)
{
    uint64_t now_ms = clock_ms();

    for (size_t i = 0; i < fetcher->request_count; i++)
        if (build_id_equal(&fetcher->pending[i].id, id))
            return true;
    for (size_t i = 0; i < DEBUG_MISSES_MAX; i++)
        if (fetcher->misses[i].until_ms > now_ms &&
            build_id_equal(&fetcher->misses[i].id, id))
            return true;
    return fetcher->request_count == DEBUG_REQUESTS_MAX;
}

/* Whether the object has debug information in it, beside it, or fetched before.
 * Reads the file, so without the lock. */
static bool
has_debug(const struct symbolizer_asked *asked)
{
    struct elf_file elf = {0};
    struct error ignored;
    bool has = true; /* nothing is fetched for an unreadable object */

    if (elf_init(&elf, asked->elf->fd, asked->path, &ignored) == 0)
        has = debug_info_may_exist(&elf, asked->path);
    elf_fini(&elf);
    return has;
}

void
debug_fetcher_asked(void *arg, const struct symbolizer_asked *asked)
{
    struct debug_fetcher *fetcher = arg;
    struct debug_request request = {.id = build_id_of(asked->elf)};
    bool settled;

    /* without a build-id no server can be asked */
    if (!fetcher || request.id.size == 0)
        return;
    pthread_mutex_lock(&fetcher->lock);
    settled = is_debug_request_settled(fetcher, &request.id);
    pthread_mutex_unlock(&fetcher->lock);
    if (settled || has_debug(asked))
        return;
    snprintf(request.object, sizeof(request.object), "%.*s", OBJECT_MAX - 1,
             base_name(asked->path));
    pthread_mutex_lock(&fetcher->lock);
    /* again: another thread may have added it meanwhile */
    if (!is_debug_request_settled(fetcher, &request.id)) {
        fetcher->pending[fetcher->request_count++] = request;
        pthread_cond_signal(&fetcher->work);
    }
    pthread_mutex_unlock(&fetcher->lock);
}

/* ---- the fetching thread ---- */

struct debug_candidates {
    struct eviction_candidate candidates[DEBUG_FILES_MAX + 1];
    char names[DEBUG_FILES_MAX + 1][FILE_STORE_NAME];
    size_t count;
    const struct debug_fetcher *fetcher;
};

static void
add_debug_candidate(void *arg, const struct file_found *file)
{
    struct debug_candidates *all = arg;
    struct eviction_candidate candidate = {1, file->used_ms, file->bytes};

    /* more were put there by others */
    if (all->count > DEBUG_FILES_MAX)
        return;
    snprintf(all->names[all->count], FILE_STORE_NAME, "%s", file->name);
    all->candidates[all->count++] = candidate;
}

/* Removes the files that were unused for the longest time, until there is room
 * for one of this size.  -1 with *err. */
static int
evict_debug_files(struct debug_fetcher *fetcher, uint64_t bytes,
                  struct error *err)
{
    struct debug_candidates *all = mem_zalloc(1, sizeof(*all));
    struct file_scan scan = {add_debug_candidate, NULL, all};
    int rc = -1;

    if (!all)
        error_memory(err, "the list of debug files");
    else
        rc = file_store_scan(&fetcher->dir, &scan, err);
    if (rc == 0)
        (void)file_store_evict(all->candidates, all->count, DEBUG_FILES_MAX - 1,
                               bytes < fetcher->bytes ? fetcher->bytes - bytes
                                                      : 0);
    for (size_t i = 0; rc == 0 && i < all->count; i++)
        if (all->candidates[i].priority == FILE_GOES)
            rc = file_store_remove(&fetcher->dir, all->names[i], err);
    mem_free(all);
    return rc;
}

/* Other files are evicted only after the new one has come, and its size is
 * known. */
static int
fetch_requested_debug(struct debug_fetcher *fetcher,
                      const struct debug_request *request, uint64_t *bytes,
                      struct error *err)
{
    struct debug_fetch fetch = {
        fetcher->program, fetcher->urls,      &fetcher->dir,     &request->id,
        fetcher->bytes,   fetcher->timeout_s, fetcher->cancel_fd};
    struct index_writer writer;
    int64_t made_ms;
    int rc = -1;

    if (file_store_renew(&fetcher->dir, err) < 0 ||
        index_writer_open(&writer, &fetcher->dir, &request->id, fetcher->bytes,
                          err) != 0)
        return -1;
    if (debug_fetch(&fetch, &writer, err) == 0 &&
        evict_debug_files(fetcher, writer.bytes, err) == 0)
        rc = file_writer_commit(&writer.file, true, &made_ms, err);
    *bytes = writer.bytes;
    file_writer_close(&writer.file);
    return rc;
}

/* With the lock. */
static void
settle_debug_request(struct debug_fetcher *fetcher, bool missed)
{
    if (missed) {
        /* a ring: the oldest miss is forgotten, and asked for again */
        fetcher->misses[fetcher->miss_next] = (struct debug_miss){
            fetcher->pending[0].id, clock_ms() + DEBUG_MISS_MS};
        fetcher->miss_next = (fetcher->miss_next + 1) % DEBUG_MISSES_MAX;
    }
    fetcher->request_count--;
    memmove(fetcher->pending, fetcher->pending + 1,
            fetcher->request_count * sizeof(fetcher->pending[0]));
}

/* A failure counts as a miss, whatever its reason: a server that is down is not
 * asked at every profile.  An interrupted request stays the first. */
static void
serve_debug_request(struct debug_fetcher *fetcher,
                    const struct debug_request *request)
{
    uint64_t began = clock_ms(), bytes = 0;
    struct error err = {0};
    int rc = fetch_requested_debug(fetcher, request, &bytes, &err);
    char id[BUILD_ID_TEXT];
    bool interrupted;

    pthread_mutex_lock(&fetcher->lock);
    interrupted = rc != 0 && (fetcher->pause || fetcher->stop);
    if (!interrupted)
        settle_debug_request(fetcher, rc != 0);
    pthread_mutex_unlock(&fetcher->lock);
    build_id_text(&request->id, id);
    if (rc == 0)
        log_to(fetcher->log,
               "fetched debug information of %s (%s): %llu bytes, in %llu ms",
               request->object, id, (unsigned long long)bytes,
               (unsigned long long)(clock_ms() - began));
    else if (!interrupted)
        log_to(fetcher->log,
               "no debug information of %s (%s) was fetched: %s; it is not "
               "requested again for %d minutes",
               request->object, id, err.text, DEBUG_MISS_MS / 60000);
}

static void *
keep_debug(void *arg)
{
    struct debug_fetcher *fetcher = arg;
    struct debug_request request;

    pthread_mutex_lock(&fetcher->lock);
    while (!fetcher->stop) {
        if (fetcher->pause || fetcher->request_count == 0) {
            pthread_cond_wait(&fetcher->work, &fetcher->lock);
            continue;
        }
        request = fetcher->pending[0];
        fetcher->fetching = true;
        pthread_mutex_unlock(&fetcher->lock);
        serve_debug_request(fetcher, &request);
        pthread_mutex_lock(&fetcher->lock);
        fetcher->fetching = false;
        pthread_cond_signal(&fetcher->rests);
    }
    pthread_mutex_unlock(&fetcher->lock);
    return NULL;
}

/* ---- start and stop ---- */

static int
prepare_debug_fetcher(struct debug_fetcher *fetcher,
                      const struct debug_fetcher_options *options,
                      struct error *err)
{
    fetcher->program = mem_strdup(options->program);
    fetcher->urls = mem_strdup(options->urls);
    fetcher->bytes = options->bytes;
    fetcher->timeout_s = options->timeout_s;
    fetcher->log = options->log;
    if (!fetcher->program || !fetcher->urls) {
        error_memory(err, "the fetcher of debug files");
        return -1;
    }
    fetcher->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fetcher->cancel_fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot make an event descriptor");
        return -1;
    }
    return file_store_open(&fetcher->dir, options->dir, &debug_dir_kind, err);
}

struct debug_fetcher *
debug_fetcher_start(const struct debug_fetcher_options *options,
                    struct error *err)
{
    struct debug_fetcher *fetcher = mem_zalloc(1, sizeof(*fetcher));
    struct thread_start start = {"hw-debuginfod", STACK_BYTES, keep_debug,
                                 fetcher};

    if (!fetcher) {
        error_memory(err, "the fetcher of debug files");
        return NULL;
    }
    pthread_mutex_init(&fetcher->lock, NULL);
    pthread_cond_init(&fetcher->work, NULL);
    pthread_cond_init(&fetcher->rests, NULL);
    fetcher->dir.fd = fetcher->cancel_fd = -1;
    if (prepare_debug_fetcher(fetcher, options, err) == 0)
        fetcher->runs = thread_start(&fetcher->thread, &start, err) == 0;
    if (fetcher->runs)
        return fetcher;
    debug_fetcher_stop(fetcher);
    return NULL;
}

void
debug_fetcher_stop(struct debug_fetcher *fetcher)
{
    if (!fetcher)
        return;
    pthread_mutex_lock(&fetcher->lock);
    fetcher->stop = true;
    pthread_cond_signal(&fetcher->work);
    pthread_mutex_unlock(&fetcher->lock);
    if (fetcher->runs) {
        (void)eventfd_write(fetcher->cancel_fd, 1);
        pthread_join(fetcher->thread, NULL);
    }
    file_store_close(&fetcher->dir);
    fd_close(fetcher->cancel_fd);
    pthread_cond_destroy(&fetcher->rests);
    pthread_cond_destroy(&fetcher->work);
    pthread_mutex_destroy(&fetcher->lock);
    mem_free(fetcher->program);
    mem_free(fetcher->urls);
    mem_free(fetcher);
}

/* Files that are made meanwhile would stay the old user's: so the thread is
 * interrupted, and rests until all files are given.  Its request stays
 * pending. */
int
debug_fetcher_give(struct debug_fetcher *fetcher, uid_t uid, gid_t gid,
                   struct error *err)
{
    eventfd_t drained;
    int rc;

    if (!fetcher)
        return 0;
    pthread_mutex_lock(&fetcher->lock);
    fetcher->pause = true;
    (void)eventfd_write(fetcher->cancel_fd, 1);
    while (fetcher->fetching)
        pthread_cond_wait(&fetcher->rests, &fetcher->lock);
    (void)eventfd_read(fetcher->cancel_fd, &drained);
    rc = file_store_give(&fetcher->dir, uid, gid, err);
    fetcher->pause = false;
    pthread_cond_signal(&fetcher->work);
    pthread_mutex_unlock(&fetcher->lock);
    return rc;
}
