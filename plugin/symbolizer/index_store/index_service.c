/*
 * index_service.c - see index_service.h.
 *
 * Naming by DWARF may take seconds at each profile; by an index it takes
 * milliseconds, but making one reads all of an object's debug information.  So
 * it is made in the background, when nobody has asked the symboliser for a
 * second, with SCHED_IDLE and at most half of the free memory.  The service's
 * thread takes one request at a time, has the index made under a temporary
 * name, and removes older ones before it moves the new one to its place.  The
 * lock is held across no I/O except index_service_give's, while the thread
 * rests.
 */
#include "index_service.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "reader.h"
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
    CPU_MS = 20 * 60 * 1000, /* CPU time of one helper */
    /* For one index.  Its helper may wait long for an idle processor. */
    DEADLINE_MS = 2 * 3600 * 1000,
    /* An index is made from all units at once, names from a few: so it may take
     * more memory than naming, but no more than an object of its size needs. */
    READER_MB = 256,
    READER_FACTOR = 4,
    READER_MAX_MB = 3072, /* out of the 4 GiB of its process */
    NEED_MIN_MB = 64,
    NEED_FACTOR = 2 /* times the debug information */
};

static const uint64_t helper_memory_bytes = (uint64_t)4 << 30;

const struct index_service_options index_service_defaults = {
    .rules = {.bytes = (uint64_t)1 << 30,
              .debug_bytes = 4 << 20,
              .slow_ms = 50,
              .retry_ms = 10 * 60 * 1000},
    .quiet_ms = 1000};

struct index_service {
    char *program;
    uint64_t bytes_max;
    uint32_t reader_mb, quiet_ms;
    void (*log)(const char *line);
    struct file_store dir;   /* the thread writes to it; others open files */
    int cancel_fd;           /* eventfd */
    struct helper_lost lost; /* the thread's: an idle helper on a busy machine
                              * may take seconds to end */
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
drop_index_file(struct index_service *service, const struct build_id *id)
{
    pthread_mutex_lock(&service->lock);
    index_list_gone(&service->list, id);
    pthread_mutex_unlock(&service->lock);
}

/* ---- the symboliser's thread ---- */

int
index_service_open(void *arg, const struct elf_file *elf, struct error *why)
{
    struct index_service *service = arg;
    struct build_id id = build_id_of(elf);
    struct stat st;
    bool ready;
    int fd;

    why->text[0] = '\0';

    pthread_mutex_lock(&service->lock);
    ready = index_list_is_ready(&service->list, &id);
    pthread_mutex_unlock(&service->lock);
    if (!ready)
        return -1;
    fd = index_dir_use(&service->dir, &id, &st, why);
    if (fd >= 0)
        return fd;
    /* removed by others: no reason to complain */
    if (!index_dir_has(&service->dir, &id)) {
        why->text[0] = '\0';
        drop_index_file(service, &id);
        return -1;
    }
    pthread_mutex_lock(&service->lock);
    ready = index_list_reject_file(&service->list, &id, why->text);
    pthread_mutex_unlock(&service->lock);
    if (ready)
        log_to(service->log, "a symbol index is not used: %s", why->text);
    return -1;
}

/* The size of the object's own debug sections.  A split debug file shows only
 * in the time that naming takes. */
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
index_service_asked(void *arg, const struct symbolizer_asked *asked)
{
    struct index_service *service = arg;
    struct build_id id = build_id_of(asked->elf);
    uint64_t debug_bytes;
    bool worth, news;

    /* without a build-id an index could be any object's */
    if (id.size == 0)
        return;
    debug_bytes = asked->indexed ? 0 : debug_bytes_of(asked);
    pthread_mutex_lock(&service->lock);
    service->asked_ms = clock_ms();
    worth = index_list_is_worth(&service->list, asked, debug_bytes);
    news =
        asked->refused && index_list_is_new_refusal(&service->list, &id, asked);
    if (index_list_asked(&service->list, &id, asked, worth, debug_bytes))
        pthread_cond_signal(&service->work);
    pthread_mutex_unlock(&service->lock);
    if (news)
        log_to(service->log, "a symbol index of %s was refused: %s",
               base_name(asked->path), asked->refused);
}

/* ---- the service's thread ---- */

/* Removes the least recently used indexes until there is room for this much
 * more.  The list first, then the files: nobody opens an index that is being
 * removed. */
static void
evict_index_files(struct index_service *service, uint64_t bytes, size_t files)
{
    struct build_id victims[INDEX_ENTRIES_MAX];
    struct error err;
    size_t count;

    pthread_mutex_lock(&service->lock);
    count = index_list_evict(&service->list, bytes, files, victims);
    pthread_mutex_unlock(&service->lock);
    for (size_t i = 0; i < count; i++)
        if (index_dir_remove(&service->dir, &victims[i], &err) != 0)
            log_to(service->log, "%s", err.text);
}

/* How much memory making it may take; half of the free memory stays free. 0
 * with *err: too little is left. */
static uint32_t
reader_mb(const struct index_service *service,
          const struct index_request *request, struct error *err)
{
    uint64_t most = (uint64_t)service->reader_mb * READER_FACTOR;
    uint64_t need = NEED_MIN_MB + (request->debug_bytes >> 20) * NEED_FACTOR;
    uint64_t left_mb = memory_left() >> 20;

    most = most < READER_MAX_MB ? most : READER_MAX_MB;
    if (request->debug_bytes == 0 || need > most)
        need = most;
    if (need <= left_mb / 2)
        return (uint32_t)need;
    error_set(err, ER_UNKNOWN,
              "it may need %llu MB of memory, and %llu MB are left",
              (unsigned long long)need, (unsigned long long)left_mb);
    return 0;
}

/* A helper of its own for each index: it ends with its memory, and its limits
 * depend on the object. */
static int
write_requested_index(struct index_service *service,
                      const struct index_request *request,
                      struct index_writer *writer, struct error *err)
{
    struct helper_options options = {.program = service->program,
                                     .memory_bytes = helper_memory_bytes,
                                     .cpu_ms = CPU_MS,
                                     .reader_mb =
                                         reader_mb(service, request, err),
                                     .idle = true,
                                     .cancel_fd = service->cancel_fd,
                                     .lost = &service->lost};
    struct helper_index index = {.object_fd = request->fd,
                                 .path = request->path,
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
make_stored_index(struct index_service *service,
                  const struct index_request *request, uint64_t *bytes,
                  struct error *err)
{
    struct index_writer writer;
    int64_t made_ms;
    int rc = -1;

    if (file_store_renew(&service->dir, err) < 0 ||
        index_writer_open(&writer, &service->dir, &request->id,
                          service->bytes_max, err) != 0)
        return -1;
    if (write_requested_index(service, request, &writer, err) == 0) {
        evict_index_files(service, writer.bytes, 1);
        rc = file_writer_commit(&writer.file, true, &made_ms, err);
    }
    *bytes = writer.bytes;
    file_writer_close(&writer.file);
    return rc;
}

static void
log_index_made(const struct index_service *service,
               const struct index_request *request, uint64_t bytes,
               uint32_t took_ms)
{
    char id[BUILD_ID_TEXT], share[64] = "";

    build_id_text(&request->id, id);
    if (request->debug_bytes)
        snprintf(share, sizeof(share), ", %.1f %% of its debug information",
                 100. * (double)bytes / (double)request->debug_bytes);
    log_to(service->log,
           "made the symbol index of %s (%s): %llu bytes%s, in %u ms",
           request->object, id, (unsigned long long)bytes, share, took_ms);
}

/* Whether another node that shares the directory has made it meanwhile. */
static bool
is_made(struct index_service *service, const struct index_request *request)
{
    struct error ignored;
    struct stat st;
    int fd;

    if (request->damaged)
        return false;
    fd = index_dir_use(&service->dir, &request->id, &st, &ignored);
    if (fd < 0)
        return false;
    fd_close(fd);
    pthread_mutex_lock(&service->lock);
    index_list_made(&service->list, &request->id, (uint64_t)st.st_size,
                    file_made_ms(&st), 0);
    pthread_mutex_unlock(&service->lock);
    log_to(service->log, "found the symbol index of %s", request->object);
    return true;
}

/* Makes an index and records the result.  An interrupted one becomes a request
 * again. */
static void
carry_out_index_request(struct index_service *service,
                        struct index_request *request)
{
    uint64_t began = clock_ms(), bytes = 0;
    struct error err = {0}, ignored;
    int rc = make_stored_index(service, request, &bytes, &err);
    uint32_t took_ms = (uint32_t)(clock_ms() - began);
    bool interrupted;

    /* the damaged file must not be found again after a restart */
    if (rc != 0 && request->damaged)
        (void)index_dir_remove(&service->dir, &request->id, &ignored);
    pthread_mutex_lock(&service->lock);
    interrupted = rc != 0 && (service->pause || service->stop);
    if (rc == 0)
        index_list_made(&service->list, &request->id, bytes, clock_wall_ms(),
                        took_ms);
    else if (interrupted)
        index_list_put_back(&service->list, request);
    else
        index_list_request_failed(&service->list, &request->id, err.text);
    pthread_mutex_unlock(&service->lock);
    if (rc == 0)
        log_index_made(service, request, bytes, took_ms);
    else if (!interrupted)
        log_to(service->log, "no symbol index of %s was made: %s",
               request->object, err.text);
}

/* Waits until nobody has asked for a while: then the machine is not naming.
 * The caller holds the lock. */
static void
wait_for_quiet(struct index_service *service)
{
    (void)clock_cond_wait(&service->work, &service->lock,
                          service->asked_ms + service->quiet_ms);
}

static void *
index_service_main(void *arg)
{
    struct index_service *service = arg;
    struct index_request request;

    pthread_mutex_lock(&service->lock);
    while (!service->stop) {
        if (service->pause || index_list_pending(&service->list) == 0) {
            pthread_cond_wait(&service->work, &service->lock);
        } else if (clock_ms() < service->asked_ms + service->quiet_ms) {
            wait_for_quiet(service);
        } else if (index_list_begin(&service->list, &request)) {
            service->making = true;
            pthread_mutex_unlock(&service->lock);
            if (!is_made(service, &request))
                carry_out_index_request(service, &request);
            index_request_fini(&request);
            pthread_mutex_lock(&service->lock);
            service->making = false;
            pthread_cond_signal(&service->rests);
        }
    }
    pthread_mutex_unlock(&service->lock);
    return NULL;
}

/* ---- start, stop, and the rest ---- */

static void
on_index_file_skipped(void *arg, const char *file, const char *why)
{
    const struct index_service *service = arg;

    log_to(service->log, "%s/%.100s is skipped: %s", service->dir.path, file,
           why);
}

static void
on_index_file_found(void *arg, const struct file_found *file)
{
    struct index_service *service = arg;
    struct index_entry entry = {.state = INDEX_READY,
                                .bytes = file->bytes,
                                .made_ms = file->made_ms,
                                .used_ms = file->used_ms};

    if (!build_id_parse(file->name, file->stem, &entry.id) ||
        !index_list_add(&service->list, &entry))
        on_index_file_skipped(service, "an index", "there are too many");
    /* the limits may have been lowered since the last run */
    evict_index_files(service, 0, 0);
}

static int
index_store_init(struct index_service *service,
                 const struct index_service_options *options, struct error *err)
{
    struct file_scan scan = {on_index_file_found, on_index_file_skipped,
                             service};

    service->bytes_max = options->rules.bytes;
    service->reader_mb = options->reader_mb ? options->reader_mb : READER_MB;
    service->quiet_ms = options->quiet_ms;
    service->log = options->log;
    service->program = mem_strdup(options->program);
    if (!service->program ||
        index_list_init(&service->list, &options->rules) != 0) {
        error_memory(err, "the symbol indexes");
        return -1;
    }
    service->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (service->cancel_fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot make an event descriptor");
        return -1;
    }
    if (file_store_open(&service->dir, options->dir, &index_dir_kind, err) != 0)
        return -1;
    return file_store_scan(&service->dir, &scan, err);
}

/* The directory is scanned before the thread exists, hence without the lock. */
struct index_service *
index_service_start(const struct index_service_options *options,
                    struct error *err)
{
    struct index_service *service = mem_zalloc(1, sizeof(*service));
    struct thread_start start = {"hw-indexes", STACK_BYTES, index_service_main,
                                 service};

    if (!service) {
        error_memory(err, "the symbol indexes");
        return NULL;
    }
    pthread_mutex_init(&service->lock, NULL);
    clock_cond_init(&service->work);
    pthread_cond_init(&service->rests, NULL);
    service->dir.fd = service->cancel_fd = -1;
    if (index_store_init(service, options, err) == 0)
        service->runs = thread_start(&service->thread, &start, err) == 0;
    if (service->runs)
        return service;
    index_service_stop(service);
    return NULL;
}

struct index_service *
index_service_try_start(const char *dir, const char *program, uint64_t bytes,
                        uint32_t reader_mb, void (*log)(const char *line))
{
    struct index_service_options options = index_service_defaults;
    struct index_service *service;
    struct error err;

    if (!dir)
        return NULL;
    options.dir = dir;
    options.program = program;
    options.rules.bytes = bytes;
    options.reader_mb = reader_mb;
    options.log = log;
    service = index_service_start(&options, &err);
    if (!service)
        log_to(log, "no symbol indexes are made: %s", err.text);
    return service;
}

/* The flag under the lock wakes a resting thread, the eventfd a working one. */
void
index_service_stop(struct index_service *service)
{
    if (!service)
        return;
    pthread_mutex_lock(&service->lock);
    service->stop = true;
    pthread_cond_signal(&service->work);
    pthread_mutex_unlock(&service->lock);
    if (service->runs) {
        (void)eventfd_write(service->cancel_fd, 1);
        pthread_join(service->thread, NULL);
    }
    helper_lost_reap(&service->lost, 0);
    index_list_fini(&service->list);
    file_store_close(&service->dir);
    fd_close(service->cancel_fd);
    pthread_cond_destroy(&service->rests);
    pthread_cond_destroy(&service->work);
    pthread_mutex_destroy(&service->lock);
    mem_free(service->program);
    mem_free(service);
}

static size_t
copy_list(struct index_service *service, struct index_entry *out, size_t max)
{
    size_t count;

    pthread_mutex_lock(&service->lock);
    count = index_list_copy(&service->list, out, max);
    pthread_mutex_unlock(&service->lock);
    return count;
}

/* Copies the list.  A user, or another node, may have removed files: those
 * entries are dropped first. */
size_t
index_service_list(struct index_service *service, struct index_entry *out,
                   size_t max)
{
    size_t count = copy_list(service, out, max);
    bool gone = false;

    for (size_t i = 0; i < count; i++)
        if (out[i].state == INDEX_READY &&
            !index_dir_has(&service->dir, &out[i].id)) {
            gone = true;
            drop_index_file(service, &out[i].id);
        }
    return gone ? copy_list(service, out, max) : count;
}

/* Files that are made meanwhile would stay the old user's: so the thread is
 * interrupted, and rests until all files are given. */
int
index_service_give(struct index_service *service, uid_t uid, gid_t gid,
                   struct error *err)
{
    eventfd_t drained;
    int rc;

    pthread_mutex_lock(&service->lock);
    service->pause = true;
    (void)eventfd_write(service->cancel_fd, 1);
    while (service->making)
        pthread_cond_wait(&service->rests, &service->lock);
    (void)eventfd_read(service->cancel_fd, &drained);
    rc = file_store_give(&service->dir, uid, gid, err);
    service->pause = false;
    pthread_cond_signal(&service->work);
    pthread_mutex_unlock(&service->lock);
    return rc;
}
