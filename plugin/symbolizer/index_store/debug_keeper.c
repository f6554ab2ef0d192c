/*
 * debug_keeper.c - see debug_keeper.h.
 *
 * The keeper's thread takes one wish at a time.  The lock is held across no I/O
 * but debug_keeper_give's, while the thread rests.
 */
#include "debug_keeper.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

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

struct debug_wish {
    struct build_id id;
    char object[OBJECT_MAX];
};

/* What no server has, for now. */
struct debug_miss {
    struct build_id id;
    uint64_t until_ms; /* monotonic */
};

struct debug_keeper {
    char *program, *urls;
    uint64_t bytes;
    uint32_t timeout_s;
    void (*log)(const char *line);
    struct file_store dir; /* the thread's */
    int cancel_fd;         /* eventfd */
    pthread_t thread;
    bool runs;

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t work, rests;
    struct debug_wish wishes[DEBUG_WISHES_MAX]; /* the first is at hand */
    size_t wish_count;
    struct debug_miss misses[DEBUG_MISSES_MAX];
    size_t miss_next; /* the oldest one's place */
    bool stop, pause, fetching;
};

/* ---- the symboliser's thread ---- */

/* With the lock. */
static bool
is_debug_wish_settled(struct debug_keeper *keeper, const struct build_id *id)
{
    uint64_t now_ms = clock_ms();

    for (size_t i = 0; i < keeper->wish_count; i++)
        if (build_id_equal(&keeper->wishes[i].id, id))
            return true;
    for (size_t i = 0; i < DEBUG_MISSES_MAX; i++)
        if (keeper->misses[i].until_ms > now_ms &&
            build_id_equal(&keeper->misses[i].id, id))
            return true;
    return keeper->wish_count == DEBUG_WISHES_MAX;
}

/* In the file, beside it, or fetched. */
static bool
has_debug(const struct symbolizer_asked *asked)
{
    struct elf_file elf = {0};
    struct error unsaid;
    bool has = true; /* what cannot be read is not fetched for, either */

    if (elf_init(&elf, asked->elf->fd, asked->path, &unsaid) == 0)
        has = debug_beside(&elf, asked->path);
    elf_fini(&elf);
    return has;
}

void
debug_keeper_asked(void *arg, const struct symbolizer_asked *asked)
{
    struct debug_keeper *keeper = arg;
    struct debug_wish wish = {.id = build_id_of(asked->elf)};
    bool settled;

    if (!keeper || wish.id.size == 0)
        return;
    pthread_mutex_lock(&keeper->lock);
    settled = is_debug_wish_settled(keeper, &wish.id);
    pthread_mutex_unlock(&keeper->lock);
    if (settled || has_debug(asked))
        return;
    snprintf(wish.object, sizeof(wish.object), "%.*s", OBJECT_MAX - 1,
             mapping_basename(asked->path));
    pthread_mutex_lock(&keeper->lock);
    if (!is_debug_wish_settled(keeper, &wish.id)) {
        keeper->wishes[keeper->wish_count++] = wish;
        pthread_cond_signal(&keeper->work);
    }
    pthread_mutex_unlock(&keeper->lock);
}

/* ---- the keeper's thread ---- */

struct debug_held {
    struct file_held held[DEBUG_FILES_MAX + 1];
    char names[DEBUG_FILES_MAX + 1][FILE_STORE_NAME];
    size_t count;
    const struct debug_keeper *keeper;
};

static void
hold_file(void *arg, const struct file_found *file)
{
    struct debug_held *all = arg;
    struct file_held held = {1, file->used_ms, file->bytes};

    if (all->count > DEBUG_FILES_MAX)
        return;
    snprintf(all->names[all->count], FILE_STORE_NAME, "%s", file->name);
    all->held[all->count++] = held;
}

static void
pass_odd(void *arg, const char *name, const char *why)
{
    (void)arg;
    (void)name;
    (void)why;
}

/* Removes those that were unused for the longest time, until there is room for
 * one of so many bytes.  -1 with *err. */
static int
make_room_for(struct debug_keeper *keeper, uint64_t bytes, struct error *err)
{
    struct debug_held *all = mem_zalloc(1, sizeof(*all));
    struct file_scan scan = {hold_file, pass_odd, all};
    int rc = -1;

    if (!all)
        error_memory(err, "the list of debug files");
    else
        rc = file_store_scan(&keeper->dir, &scan, err);
    if (rc == 0)
        (void)file_store_evict(all->held, all->count, DEBUG_FILES_MAX - 1,
                               bytes < keeper->bytes ? keeper->bytes - bytes
                                                     : 0);
    for (size_t i = 0; rc == 0 && i < all->count; i++)
        if (all->held[i].turn == FILE_GOES)
            rc = file_store_remove(&keeper->dir, all->names[i], err);
    mem_free(all);
    return rc;
}

static int
fetch_wish(struct debug_keeper *keeper, const struct debug_wish *wish,
           uint64_t *bytes, struct error *err)
{
    struct debug_fetch fetch = {
        keeper->program, keeper->urls,      &keeper->dir,     &wish->id,
        keeper->bytes,   keeper->timeout_s, keeper->cancel_fd};
    struct index_writer writer;
    int64_t made_ms;
    int rc = -1;

    if (file_store_renew(&keeper->dir, err) < 0 ||
        index_writer_open(&writer, &keeper->dir, &wish->id, keeper->bytes,
                          err) != 0)
        return -1;
    if (debug_fetch(&fetch, &writer, err) == 0 &&
        make_room_for(keeper, writer.bytes, err) == 0)
        rc = file_writer_commit(&writer.file, true, &made_ms, err);
    *bytes = writer.bytes;
    file_writer_close(&writer.file);
    return rc;
}

/* With the lock. */
static void
settle_wish(struct debug_keeper *keeper, bool missed)
{
    if (missed) {
        keeper->misses[keeper->miss_next] = (struct debug_miss){
            keeper->wishes[0].id, clock_ms() + DEBUG_MISS_MS};
        keeper->miss_next = (keeper->miss_next + 1) % DEBUG_MISSES_MAX;
    }
    keeper->wish_count--;
    memmove(keeper->wishes, keeper->wishes + 1,
            keeper->wish_count * sizeof(keeper->wishes[0]));
}

static void
grant_wish(struct debug_keeper *keeper, const struct debug_wish *wish)
{
    uint64_t began = clock_ms(), bytes = 0;
    struct error err = {0};
    int rc = fetch_wish(keeper, wish, &bytes, &err);
    char id[BUILD_ID_TEXT];
    bool interrupted;

    pthread_mutex_lock(&keeper->lock);
    interrupted = rc != 0 && (keeper->pause || keeper->stop);
    if (!interrupted)
        settle_wish(keeper, rc != 0);
    pthread_mutex_unlock(&keeper->lock);
    build_id_text(&wish->id, id);
    if (rc == 0)
        log_to(keeper->log,
               "fetched debug information of %s (%s): %llu bytes, in %llu ms",
               wish->object, id, (unsigned long long)bytes,
               (unsigned long long)(clock_ms() - began));
    else if (!interrupted)
        log_to(keeper->log,
               "no debug information of %s (%s) was fetched: %s; not asked for "
               "again for %d minutes",
               wish->object, id, err.text, DEBUG_MISS_MS / 60000);
}

static void *
keep_debug(void *arg)
{
    struct debug_keeper *keeper = arg;
    struct debug_wish wish;

    pthread_mutex_lock(&keeper->lock);
    while (!keeper->stop) {
        if (keeper->pause || keeper->wish_count == 0) {
            pthread_cond_wait(&keeper->work, &keeper->lock);
            continue;
        }
        wish = keeper->wishes[0];
        keeper->fetching = true;
        pthread_mutex_unlock(&keeper->lock);
        grant_wish(keeper, &wish);
        pthread_mutex_lock(&keeper->lock);
        keeper->fetching = false;
        pthread_cond_signal(&keeper->rests);
    }
    pthread_mutex_unlock(&keeper->lock);
    return NULL;
}

/* ---- start and stop ---- */

static int
prepare_keeper(struct debug_keeper *keeper,
               const struct debug_keeper_options *options, struct error *err)
{
    keeper->program = mem_strdup(options->program);
    keeper->urls = mem_strdup(options->urls);
    keeper->bytes = options->bytes;
    keeper->timeout_s = options->timeout_s;
    keeper->log = options->log;
    if (!keeper->program || !keeper->urls) {
        error_memory(err, "the keeper of debug files");
        return -1;
    }
    keeper->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (keeper->cancel_fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot make an event descriptor");
        return -1;
    }
    return file_store_open(&keeper->dir, options->dir, &debug_dir_kind, err);
}

struct debug_keeper *
debug_keeper_start(const struct debug_keeper_options *options,
                   struct error *err)
{
    struct debug_keeper *keeper = mem_zalloc(1, sizeof(*keeper));
    struct thread_start start = {"hw-debuginfod", STACK_BYTES, keep_debug,
                                 keeper};

    if (!keeper) {
        error_memory(err, "the keeper of debug files");
        return NULL;
    }
    pthread_mutex_init(&keeper->lock, NULL);
    pthread_cond_init(&keeper->work, NULL);
    pthread_cond_init(&keeper->rests, NULL);
    keeper->dir.fd = keeper->cancel_fd = -1;
    if (prepare_keeper(keeper, options, err) == 0)
        keeper->runs = thread_start(&keeper->thread, &start, err) == 0;
    if (keeper->runs)
        return keeper;
    debug_keeper_stop(keeper);
    return NULL;
}

void
debug_keeper_stop(struct debug_keeper *keeper)
{
    if (!keeper)
        return;
    pthread_mutex_lock(&keeper->lock);
    keeper->stop = true;
    pthread_cond_signal(&keeper->work);
    pthread_mutex_unlock(&keeper->lock);
    if (keeper->runs) {
        (void)eventfd_write(keeper->cancel_fd, 1);
        pthread_join(keeper->thread, NULL);
    }
    file_store_close(&keeper->dir);
    fd_close(keeper->cancel_fd);
    pthread_cond_destroy(&keeper->rests);
    pthread_cond_destroy(&keeper->work);
    pthread_mutex_destroy(&keeper->lock);
    mem_free(keeper->program);
    mem_free(keeper->urls);
    mem_free(keeper);
}

/* Files made meanwhile would stay the old user's. */
int
debug_keeper_give(struct debug_keeper *keeper, uid_t uid, gid_t gid,
                  struct error *err)
{
    eventfd_t drained;
    int rc;

    if (!keeper)
        return 0;
    pthread_mutex_lock(&keeper->lock);
    keeper->pause = true;
    (void)eventfd_write(keeper->cancel_fd, 1);
    while (keeper->fetching)
        pthread_cond_wait(&keeper->rests, &keeper->lock);
    (void)eventfd_read(keeper->cancel_fd, &drained);
    rc = file_store_give(&keeper->dir, uid, gid, err);
    keeper->pause = false;
    pthread_cond_signal(&keeper->work);
    pthread_mutex_unlock(&keeper->lock);
    return rc;
}
