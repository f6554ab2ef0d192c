/*
 * index_keeper.c - see index_keeper.h.
 *
 * The keeper's thread takes one wish at a time, has the index made under a
 * temporary name, and removes older ones before it moves the new one to its
 * place.  The lock is held across no I/O except index_keeper_give's, while the
 * thread rests.
 */
#include "index_keeper.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "clock.h"
#include "elf_file.h"
#include "files.h"
#include "helper.h"
#include "index_dir.h"
#include "log.h"
#include "mappings.h"
#include "memory.h"
#include "memory_budget.h"
#include "symbolizer.h"
#include "thread.h"

enum {
    STACK_BYTES = 1 << 20,
    CPU_MS = 20 * 60 * 1000, /* of one helper */
    /* Of one index: its helper runs on idle processors only. */
    DEADLINE_MS = 2 * 3600 * 1000,
    /* An index is made from all units at once, names from a few: so it may take
     * more memory than the reader, but no more than an object of its size
     * needs. */
    READER_MB = 256,
    READER_FACTOR = 4,
    READER_MAX_MB = 3072, /* of the 4 GiB of its process */
    NEED_MIN_MB = 64,
    NEED_FACTOR = 2 /* times the debug information */
};

static const uint64_t helper_memory_bytes = (uint64_t)4 << 30;

const struct index_keeper_options index_keeper_defaults = {
    .rules = {.bytes = (uint64_t)1 << 30,
              .debug_bytes = 4 << 20,
              .slow_ms = 50,
              .retry_ms = 10 * 60 * 1000},
    .quiet_ms = 1000};

struct index_keeper {
    char *program;
    uint64_t bytes_max;
    uint32_t reader_mb, quiet_ms;
    void (*log)(const char *line);
    struct file_store dir;   /* the thread writes to it; others open files */
    int cancel_fd;           /* eventfd */
    struct helper_lost lost; /* the thread's: an idle helper on a busy machine
                                can take seconds to end */
    pthread_t thread;
    bool runs;

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t work;  /* on the monotonic clock */
    pthread_cond_t rests;
    struct index_list list;
    uint64_t asked_ms; /* the symboliser's last question */
    bool stop, pause, making;
};

static void
forget_index_file(struct index_keeper *keeper, const struct build_id *id)
{
    pthread_mutex_lock(&keeper->lock);
    index_list_gone(&keeper->list, id);
    pthread_mutex_unlock(&keeper->lock);
}

/* ---- the symboliser's thread ---- */

int
index_keeper_open(void *arg, const struct elf_file *elf, struct error *why)
{
    struct index_keeper *keeper = arg;
    struct build_id id = build_id_of(elf);
    struct stat st;
    bool ready;
    int fd;

    why->text[0] = '\0';

    pthread_mutex_lock(&keeper->lock);
    ready = index_list_is_ready(&keeper->list, &id);
    pthread_mutex_unlock(&keeper->lock);
    if (!ready)
        return -1;
    fd = index_dir_use(&keeper->dir, &id, &st, why);
    if (fd >= 0)
        return fd;
    if (!index_dir_has(&keeper->dir, &id)) {
        why->text[0] = '\0';
        forget_index_file(keeper, &id);
        return -1;
    }
    pthread_mutex_lock(&keeper->lock);
    ready = index_list_fail(&keeper->list, &id, why->text);
    pthread_mutex_unlock(&keeper->lock);
    if (ready)
        log_to(keeper->log, "a symbol index is not used: %s", why->text);
    return -1;
}

/* The object's own; a separate debug file only shows in the time it takes. */
static uint64_t
debug_bytes_of(const struct symbolizer_asked *asked)
{
    static const char debug[] = ".debug_";
    struct elf_file elf = {0};
    struct error err;
    uint64_t bytes = 0;

    if (elf_init(&elf, asked->elf->fd, asked->path, &err) == 0 &&
        elf_load_sections(&elf, &err) == 0)
        for (size_t i = 0; elf.sections && i < elf.section_count; i++)
            if (strncmp(elf.sections[i].name, debug, sizeof(debug) - 1) == 0 &&
                elf.sections[i].size <= elf.size)
                bytes += elf.sections[i].size;
    elf_fini(&elf);
    return bytes;
}

void
index_keeper_asked(void *arg, const struct symbolizer_asked *asked)
{
    struct index_keeper *keeper = arg;
    struct build_id id = build_id_of(asked->elf);
    uint64_t debug_bytes;
    bool worth, news;

    if (id.size == 0)
        return;
    debug_bytes = asked->indexed ? 0 : debug_bytes_of(asked);
    pthread_mutex_lock(&keeper->lock);
    keeper->asked_ms = clock_ms();
    worth = index_list_is_worth(&keeper->list, asked, debug_bytes);
    news = asked->refused && index_list_is_news(&keeper->list, &id, asked);
    if (index_list_asked(&keeper->list, &id, asked, worth, debug_bytes))
        pthread_cond_signal(&keeper->work);
    pthread_mutex_unlock(&keeper->lock);
    if (news)
        log_to(keeper->log, "a symbol index of %s was refused: %s",
               mapping_basename(asked->path), asked->refused);
}

/* ---- the keeper's thread ---- */

/* Removes the least recently used ones until there is room for so many more. */
static void
evict_index_files(struct index_keeper *keeper, uint64_t bytes, size_t files)
{
    struct build_id victims[INDEX_ENTRIES_MAX];
    struct error err;
    size_t count;

    pthread_mutex_lock(&keeper->lock);
    count = index_list_evict(&keeper->list, bytes, files, victims);
    pthread_mutex_unlock(&keeper->lock);
    for (size_t i = 0; i < count; i++)
        if (index_dir_remove(&keeper->dir, &victims[i], &err) != 0)
            log_to(keeper->log, "%s", err.text);
}

/* The memory for making it; half of the free memory stays free.  0 with *err.
 */
static uint32_t
reader_mb(const struct index_keeper *keeper, const struct index_wish *wish,
          struct error *err)
{
    uint64_t most = (uint64_t)keeper->reader_mb * READER_FACTOR;
    uint64_t need = NEED_MIN_MB + (wish->debug_bytes >> 20) * NEED_FACTOR;
    uint64_t left_mb = memory_left() >> 20;

    most = most < READER_MAX_MB ? most : READER_MAX_MB;
    if (wish->debug_bytes == 0 || need > most)
        need = most;
    if (need <= left_mb / 2)
        return (uint32_t)need;
    error_set(err, ER_UNKNOWN,
              "it may need %llu MB of memory, and %llu MB are left",
              (unsigned long long)need, (unsigned long long)left_mb);
    return 0;
}

static int
write_wished_index(struct index_keeper *keeper, const struct index_wish *wish,
                   struct index_writer *writer, struct error *err)
{
    struct helper_options options = {.program = keeper->program,
                                     .memory_bytes = helper_memory_bytes,
                                     .cpu_ms = CPU_MS,
                                     .reader_mb = reader_mb(keeper, wish, err),
                                     .idle = true,
                                     .cancel_fd = keeper->cancel_fd,
                                     .lost = &keeper->lost};
    struct helper_index index = {.object_fd = wish->fd,
                                 .path = wish->path,
                                 .deadline_ms = DEADLINE_MS,
                                 .write = index_writer_write,
                                 .arg = writer};
    enum helper_result result;
    struct helper *helper;

    if (options.reader_mb == 0)
        return -1;
    helper = helper_new(&options, err);
    if (!helper)
        return -1;
    result = helper_make_index(helper, &index, err);
    helper_free(helper);
    if (result == HELPER_CANCELLED)
        error_set(err, ER_UNKNOWN, "cancelled");
    else if (result == HELPER_DONE && writer->bytes == 0 && !err->text[0])
        error_set(err, ER_UNKNOWN, "the symboliser returned nothing");
    return result == HELPER_DONE && !err->text[0] ? 0 : -1;
}

static int
make_stored_index(struct index_keeper *keeper, const struct index_wish *wish,
                  uint64_t *bytes, struct error *err)
{
    struct index_writer writer;
    int64_t made_ms;
    int rc = -1;

    if (file_store_renew(&keeper->dir, err) < 0 ||
        index_writer_open(&writer, &keeper->dir, &wish->id, keeper->bytes_max,
                          err) != 0)
        return -1;
    if (write_wished_index(keeper, wish, &writer, err) == 0) {
        evict_index_files(keeper, writer.bytes, 1);
        rc = file_writer_commit(&writer.file, true, &made_ms, err);
    }
    *bytes = writer.bytes;
    file_writer_close(&writer.file);
    return rc;
}

static void
say_made(const struct index_keeper *keeper, const struct index_wish *wish,
         uint64_t bytes, uint32_t took_ms)
{
    char id[BUILD_ID_TEXT], share[64] = "";

    build_id_text(&wish->id, id);
    if (wish->debug_bytes)
        snprintf(share, sizeof(share), ", %.1f %% of its debug information",
                 100. * (double)bytes / (double)wish->debug_bytes);
    log_to(keeper->log,
           "made the symbol index of %s (%s): %llu bytes%s, in %u ms",
           wish->object, id, (unsigned long long)bytes, share, took_ms);
}

/* Another node may have made it meanwhile in the same directory. */
static bool
is_made(struct index_keeper *keeper, const struct index_wish *wish)
{
    struct error unsaid;
    struct stat st;
    int fd;

    if (wish->damaged)
        return false;
    fd = index_dir_use(&keeper->dir, &wish->id, &st, &unsaid);
    if (fd < 0)
        return false;
    fd_close(fd);
    pthread_mutex_lock(&keeper->lock);
    index_list_made(&keeper->list, &wish->id, (uint64_t)st.st_size,
                    file_made_ms(&st), 0);
    pthread_mutex_unlock(&keeper->lock);
    log_to(keeper->log, "found the symbol index of %s", wish->object);
    return true;
}

/* An interrupted job becomes a wish again. */
static void
carry_out_index_wish(struct index_keeper *keeper, struct index_wish *wish)
{
    uint64_t began = clock_ms(), bytes = 0;
    struct error err = {0}, unsaid;
    int rc = make_stored_index(keeper, wish, &bytes, &err);
    uint32_t took_ms = (uint32_t)(clock_ms() - began);
    bool interrupted;

    if (rc != 0 && wish->damaged)
        (void)index_dir_remove(&keeper->dir, &wish->id, &unsaid);
    pthread_mutex_lock(&keeper->lock);
    interrupted = rc != 0 && (keeper->pause || keeper->stop);
    if (rc == 0)
        index_list_made(&keeper->list, &wish->id, bytes, clock_wall_ms(),
                        took_ms);
    else if (interrupted)
        index_list_put_back(&keeper->list, wish);
    else
        index_list_failed(&keeper->list, &wish->id, err.text);
    pthread_mutex_unlock(&keeper->lock);
    if (rc == 0)
        say_made(keeper, wish, bytes, took_ms);
    else if (!interrupted)
        log_to(keeper->log, "no symbol index of %s was made: %s", wish->object,
               err.text);
}

/* The caller holds the lock. */
static void
wait_for_quiet(struct index_keeper *keeper)
{
    (void)clock_cond_wait(&keeper->work, &keeper->lock,
                          keeper->asked_ms + keeper->quiet_ms);
}

static void *
keeper_main(void *arg)
{
    struct index_keeper *keeper = arg;
    struct index_wish wish;

    pthread_mutex_lock(&keeper->lock);
    while (!keeper->stop) {
        if (keeper->pause || index_list_wishes(&keeper->list) == 0) {
            pthread_cond_wait(&keeper->work, &keeper->lock);
        } else if (clock_ms() < keeper->asked_ms + keeper->quiet_ms) {
            wait_for_quiet(keeper);
        } else if (index_list_begin(&keeper->list, &wish)) {
            keeper->making = true;
            pthread_mutex_unlock(&keeper->lock);
            if (!is_made(keeper, &wish))
                carry_out_index_wish(keeper, &wish);
            index_wish_fini(&wish);
            pthread_mutex_lock(&keeper->lock);
            keeper->making = false;
            pthread_cond_signal(&keeper->rests);
        }
    }
    pthread_mutex_unlock(&keeper->lock);
    return NULL;
}

/* ---- start, stop, and the rest ---- */

static void
on_index_file_skipped(void *arg, const char *file, const char *why)
{
    const struct index_keeper *keeper = arg;

    log_to(keeper->log, "%s/%.100s is passed over: %s", keeper->dir.path, file,
           why);
}

static void
on_index_file_found(void *arg, const struct file_found *file)
{
    struct index_keeper *keeper = arg;
    struct index_entry entry = {.state = INDEX_READY,
                                .bytes = file->bytes,
                                .made_ms = file->made_ms,
                                .used_ms = file->used_ms};

    if (!build_id_parse(file->name, file->stem, &entry.id) ||
        !index_list_add(&keeper->list, &entry))
        on_index_file_skipped(keeper, "an index", "there are too many");
    evict_index_files(keeper, 0, 0);
}

static int
index_store_init(struct index_keeper *keeper,
                 const struct index_keeper_options *options, struct error *err)
{
    struct file_scan scan = {on_index_file_found, on_index_file_skipped,
                             keeper};

    keeper->bytes_max = options->rules.bytes;
    keeper->reader_mb = options->reader_mb ? options->reader_mb : READER_MB;
    keeper->quiet_ms = options->quiet_ms;
    keeper->log = options->log;
    keeper->program = mem_strdup(options->program);
    if (!keeper->program ||
        index_list_init(&keeper->list, &options->rules) != 0) {
        error_memory(err, "the symbol indexes");
        return -1;
    }
    keeper->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (keeper->cancel_fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot make an event descriptor");
        return -1;
    }
    if (file_store_open(&keeper->dir, options->dir, &index_dir_kind, err) != 0)
        return -1;
    return file_store_scan(&keeper->dir, &scan, err);
}

struct index_keeper *
index_keeper_start(const struct index_keeper_options *options,
                   struct error *err)
{
    struct index_keeper *keeper = mem_zalloc(1, sizeof(*keeper));
    struct thread_start start = {"hw-indexes", STACK_BYTES, keeper_main,
                                 keeper};

    if (!keeper) {
        error_memory(err, "the symbol indexes");
        return NULL;
    }
    pthread_mutex_init(&keeper->lock, NULL);
    clock_cond_init(&keeper->work);
    pthread_cond_init(&keeper->rests, NULL);
    keeper->dir.fd = keeper->cancel_fd = -1;
    if (index_store_init(keeper, options, err) == 0)
        keeper->runs = thread_start(&keeper->thread, &start, err) == 0;
    if (keeper->runs)
        return keeper;
    index_keeper_stop(keeper);
    return NULL;
}

struct index_keeper *
index_keeper_start_anyhow(const char *dir, const char *program, uint64_t bytes,
                          uint32_t reader_mb, void (*log)(const char *line))
{
    struct index_keeper_options options = index_keeper_defaults;
    struct index_keeper *keeper;
    struct error err;

    if (!dir)
        return NULL;
    options.dir = dir;
    options.program = program;
    options.rules.bytes = bytes;
    options.reader_mb = reader_mb;
    options.log = log;
    keeper = index_keeper_start(&options, &err);
    if (!keeper)
        log_to(log, "no symbol indexes are made: %s", err.text);
    return keeper;
}

void
index_keeper_stop(struct index_keeper *keeper)
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
    helper_lost_reap(&keeper->lost, 0);
    index_list_fini(&keeper->list);
    file_store_close(&keeper->dir);
    fd_close(keeper->cancel_fd);
    pthread_cond_destroy(&keeper->rests);
    pthread_cond_destroy(&keeper->work);
    pthread_mutex_destroy(&keeper->lock);
    mem_free(keeper->program);
    mem_free(keeper);
}

static size_t
copy_list(struct index_keeper *keeper, struct index_entry *out, size_t max)
{
    size_t count;

    pthread_mutex_lock(&keeper->lock);
    count = index_list_copy(&keeper->list, out, max);
    pthread_mutex_unlock(&keeper->lock);
    return count;
}

/* A user, or another node, may have removed files. */
size_t
index_keeper_list(struct index_keeper *keeper, struct index_entry *out,
                  size_t max)
{
    size_t count = copy_list(keeper, out, max);
    bool gone = false;

    for (size_t i = 0; i < count; i++)
        if (out[i].state == INDEX_READY &&
            !index_dir_has(&keeper->dir, &out[i].id)) {
            gone = true;
            forget_index_file(keeper, &out[i].id);
        }
    return gone ? copy_list(keeper, out, max) : count;
}

/* Files made meanwhile would stay the old user's. */
int
index_keeper_give(struct index_keeper *keeper, uid_t uid, gid_t gid,
                  struct error *err)
{
    eventfd_t drained;
    int rc;

    pthread_mutex_lock(&keeper->lock);
    keeper->pause = true;
    (void)eventfd_write(keeper->cancel_fd, 1);
    while (keeper->making)
        pthread_cond_wait(&keeper->rests, &keeper->lock);
    (void)eventfd_read(keeper->cancel_fd, &drained);
    rc = file_store_give(&keeper->dir, uid, gid, err);
    keeper->pause = false;
    pthread_cond_signal(&keeper->work);
    pthread_mutex_unlock(&keeper->lock);
    return rc;
}
