/*
 * main.c - heapwire-symbolizer MEMORY_BYTES CPU_SECONDS PARENT_PID READER_MB
 *                               [DIRECTORY]
 *
 * Started by heapwired or heapwire-prof with a socket as descriptor 0; answers
 * requests (symbolizer_wire.h) until the socket's end.  DIRECTORY has debug
 * files that were fetched.  Everything that it reads may be hostile, and
 * everything that it says is checked by the client; it does not clean up after
 * errors, since the client starts another one.  Texts are sent once each and
 * then by number: a profile's frames repeat a few thousand names.  It is linked
 * with libbfd, and thereby distributed under GPL-3.0-or-later.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "addr2line_names.h"
#include "buffer.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "hash.h"
#include "large_heap.h"
#include "helper_limits.h"
#include "memory.h"
#include "object_index.h"
#include "object_names.h"
#include "symbolizer_wire.h"
#include "unwind_make.h"

/* ---- the numbers of the texts sent to the client ---- */

/* A text is identified by its address, which saves comparing: it must stay
 * there, and equal texts must have one address, until sent_texts_fini.  Zero it
 * first. */
struct sent_texts {
    struct sent_text *hash_slots; /* open addressing, at most half in use */
    uint32_t capacity, used;
    uint32_t count; /* number of texts, including those without a slot */
};

enum { FIRST_CAPACITY = 1024 /* powers of two */ };

struct sent_text {
    const char *text; /* NULL: free */
    size_t max;       /* names and paths are cut at different lengths */
    uint32_t number;
};

/* A zeroed struct is fine. */
static void
sent_texts_fini(struct sent_texts *texts)
{
    mem_free(texts->hash_slots);
    *texts = (struct sent_texts){.capacity = 0};
}

static struct sent_text *
find_sent_text_slot(struct sent_text *new_slots, uint32_t room,
                    const char *text, size_t max)
{
    uint32_t i = (uint32_t)hash_mix(max, (uintptr_t)text) & (room - 1);

    while (new_slots[i].text &&
           (new_slots[i].text != text || new_slots[i].max != max))
        i = (i + 1) & (room - 1);
    return &new_slots[i];
}

static int
grow_sent_texts(struct sent_texts *texts)
{
    uint32_t room = texts->capacity ? texts->capacity * 2 : FIRST_CAPACITY;
    struct sent_text *new_slots = mem_zalloc(room, sizeof(*new_slots));

    if (!new_slots)
        return -1;
    for (uint32_t i = 0; i < texts->capacity; i++) {
        const struct sent_text *old = &texts->hash_slots[i];

        if (old->text)
            *find_sent_text_slot(new_slots, room, old->text, old->max) = *old;
    }
    mem_free(texts->hash_slots);
    texts->hash_slots = new_slots;
    texts->capacity = room;
    return 0;
}

/* Appends a text, not "", that will not be looked up again, and numbers it. */
static int
sent_texts_number(struct sent_texts *texts, struct buffer *out,
                  const char *text, size_t max, uint32_t *number)
{
    if (texts->count == WIRE_TEXTS_MAX)
        return -1;
    wire_put_text(out, text, max);
    *number = ++texts->count;
    return 0;
}

/* The number of text, 0 for ""; appends it to out the first time.  -1 without
 * memory, or with too many texts. */
static int
sent_texts_put(struct sent_texts *texts, struct buffer *out, const char *text,
               size_t max, uint32_t *number)
{
    struct sent_text *slot;

    *number = 0;
    if (text[0] == '\0')
        return 0;
    if (texts->used * 2 >= texts->capacity && grow_sent_texts(texts) != 0)
        return -1;
    slot = find_sent_text_slot(texts->hash_slots, texts->capacity, text, max);
    if (!slot->text) {
        if (sent_texts_number(texts, out, text, max, number) != 0)
            return -1;
        *slot = (struct sent_text){text, max, *number};
        texts->used++;
    }
    *number = slot->number;
    return 0;
}

enum {
    SOCKET = 0,
    FLUSH_BYTES = 1 << 16,
    READ_BYTES = 1 << 16,
    /* The texts of one answer, if all of them are new. */
    ANSWER_BYTES = NAMES_INLINE_MAX * (WIRE_NAME_MAX + WIRE_FILE_MAX + 64) +
                   2 * WIRE_NAME_MAX,
    /* The object's and its index's, for this request and the next. */
    DESCRIPTORS_MAX = 4,
    EXIT_USAGE = 2,
    HEAP_BYTES = 64 << 20
};

struct helper {
    struct buffer in, out;
    struct sent_texts texts;  /* those of the current request */
    int fds[DESCRIPTORS_MAX]; /* descriptors of the requests received so far */
    size_t fd_count;
    uint32_t cpu_seconds;
    uint64_t reader_bytes; /* bytes of DWARF that may be kept; 0: the default */
};

static bool
parse_limit_argument(const char *text, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    return end != text && *end == '\0' && errno == 0;
}

/* Closes the first count descriptors. */
static void
drop_descriptors(struct helper *h, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fd_close(h->fds[i]);
    h->fd_count -= count;
    memmove(h->fds, h->fds + count, h->fd_count * sizeof(h->fds[0]));
}

/* Keeps the descriptors that came with a message, as many as there is room
 * for. */
static void
take_request_descriptors(struct helper *h, struct msghdr *message)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(message);
    int fds[DESCRIPTORS_MAX];
    size_t size;

    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
        c->cmsg_len < CMSG_LEN(0))
        return;
    size = c->cmsg_len - CMSG_LEN(0);
    size = size < sizeof(fds) ? size : sizeof(fds);
    memcpy(fds, CMSG_DATA(c), size);
    for (size_t i = 0; i < size / sizeof(fds[0]); i++) {
        if (h->fd_count < DESCRIPTORS_MAX)
            h->fds[h->fd_count++] = fds[i];
        else
            fd_close(fds[i]);
    }
}

/* 1: received more bytes; 0: the end; -1: failure. */
static int
receive_request_bytes(struct helper *h)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
    } control;
    struct iovec piece = {buffer_reserve(&h->in, READ_BYTES), READ_BYTES};
    struct msghdr message = {0};
    ssize_t n;

    if (!piece.iov_base)
        return -1;
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
    do
        n = recvmsg(SOCKET, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return (int)n;
    take_request_descriptors(h, &message);
    buffer_claim(&h->in, (size_t)n);
    return 1;
}

/* Blocks while the client does not read: it kills us if it has lost
 * interest. */
static int
flush_helper_replies(struct helper *h)
{
    size_t done = 0;
    ssize_t n;

    while (!h->out.failed && done < h->out.size) {
        n = send(SOCKET, h->out.data + done, h->out.size - done, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        done += (size_t)n;
    }
    if (h->out.failed)
        return -1;
    buffer_clear(&h->out);
    return 0;
}

/* ---- requests ---- */

static struct object_names *
open_requested_object(const struct helper *h,
                      const struct wire_request *request, struct error *err)
{
    struct object_request object = {.fd = h->fds[0],
                                    .index_fd =
                                        request->has_index ? h->fds[1] : -1,
                                    .symbols_only = request->symbols_only,
                                    .no_lines = request->no_lines,
                                    .reader_bytes = h->reader_bytes};
    char *path = mem_strndup(request->path.data, request->path.size);
    struct object_names *names = NULL;

    object.path = path;
    if (path)
        names = object_names_new(&object, err);
    else
        error_memory(err, "a path");
    mem_free(path);
    return names;
}

/* object_taker.text: sends it while other texts are still looked up. */
static int
put_object_text(void *arg, struct span text, enum symbol_index_use use,
                uint32_t *number)
{
    struct helper *h = arg;

    *number = 0;
    if (text.size == 0 || text.data[0] == '\0') /* WIRE_TEXT is never "" */
        return 0;
    if (sent_texts_number(&h->texts, &h->out, text.data,
                          use == INDEX_USE_FILE ? WIRE_FILE_MAX : WIRE_NAME_MAX,
                          number) != 0)
        return -1;
    return h->out.size >= FLUSH_BYTES ? flush_helper_replies(h) : 0;
}

/* The number of a text; -1 without memory. */
static int
number_answer_text(struct helper *h, const char *text, size_t max,
                   uint32_t known, uint32_t *number)
{
    *number = known;
    return known ? 0 : sent_texts_put(&h->texts, &h->out, text, max, number);
}

/* object_taker.answer */
static int
put_answer(void *arg, const struct object_answer *answer)
{
    struct helper *h = arg;
    struct wire_frame frames[NAMES_INLINE_MAX];
    uint32_t symbol;

    if (number_answer_text(h, answer->symbol, WIRE_NAME_MAX,
                           answer->symbol_number, &symbol) != 0)
        return -1;
    for (uint32_t i = 0; i < answer->frame_count; i++) {
        const struct frame *frame = &answer->frames[i];
        const struct addr2line_numbers *known = &answer->numbers[i];

        if (number_answer_text(h, frame->function, WIRE_NAME_MAX,
                               known->function, &frames[i].function) != 0 ||
            number_answer_text(h, frame->file, WIRE_FILE_MAX, known->file,
                               &frames[i].file) != 0)
            return -1;
        frames[i].line = frame->line;
    }
    wire_put_answer(&h->out, answer->start, symbol, frames,
                    answer->frame_count);
    return h->out.size >= FLUSH_BYTES ? flush_helper_replies(h) : 0;
}

/* 0, or the exit status. */
static int
name_object(struct helper *h, struct wire_request *request)
{
    char complaint[WIRE_COMPLAINT_MAX + 1] = "";
    struct error err = {0};
    struct object_names *object = open_requested_object(h, request, &err);
    uint64_t *offsets = mem_zalloc(request->count, sizeof(*offsets));
    const struct object_taker taker = {put_object_text, put_answer, h};
    const char *refused = NULL;
    int status = WIRE_EXIT_MEMORY;

    if (!offsets)
        goto out;
    for (uint32_t i = 0; i < request->count; i++)
        offsets[i] = reader_u64(&request->offsets);
    if (object) {
        if (object_names_ask(object, offsets, request->count, &taker) != 0) {
            /* answers so far are good */
            (void)flush_helper_replies(h);
            goto out;
        }
        object_names_complaint(object, complaint, sizeof(complaint));
        refused = object_names_refused(object);
    }
    if (refused)
        wire_put_refused(&h->out, refused);
    wire_put_done(&h->out, object ? complaint : err.text);
    if (flush_helper_replies(h) == 0)
        status = EXIT_SUCCESS;
out:
    sent_texts_fini(&h->texts);
    object_names_free(object);
    mem_free(offsets);
    return status;
}

/* index_sink.write */
static int
put_parts(void *arg, const void *data, size_t size, struct error *err)
{
    struct helper *h = arg;
    const char *next = data;

    while (size > 0) {
        size_t part = size < WIRE_PART_MAX ? size : WIRE_PART_MAX;

        wire_put_part(&h->out, next, part);
        if (h->out.size >= FLUSH_BYTES && flush_helper_replies(h) != 0) {
            error_set(err, ER_UNKNOWN, "the client did not take the index");
            return -1;
        }
        next += part;
        size -= part;
    }
    return 0;
}

/* index_sink.symbols_only */
static void
put_remark(void *arg, const char *why)
{
    struct helper *h = arg;

    wire_put_text(&h->out, why, WIRE_COMPLAINT_MAX);
}

/* 0, or the exit status. */
static int
make_index(struct helper *h, const struct wire_request *request)
{
    struct index_sink sink = {put_parts,
                              request->symbols_do ? put_remark : NULL, h};
    struct error err = {0};
    struct object_names *object = open_requested_object(h, request, &err);
    int made = object ? object_names_index(object, &sink, &err) : -1;

    object_names_free(object);
    wire_put_done(&h->out, made == 0 ? "" : err.text);
    return flush_helper_replies(h) == 0 ? EXIT_SUCCESS : WIRE_EXIT_MEMORY;
}

/* 0, or the exit status. */
static int
make_unwind(struct helper *h, const struct wire_request *request)
{
    char *path = mem_strndup(request->path.data, request->path.size);
    struct elf_file elf = {0};
    struct buffer table;
    struct error err = {0};
    int made = -1;

    buffer_init(&table, UNWIND_TABLE_BYTES_MAX);
    if (!path)
        error_memory(&err, "a path");
    else if (elf_init(&elf, h->fds[0], path, &err) == 0 &&
             elf_load_sections(&elf, &err) == 0 &&
             unwind_make(&elf, &table, &err) == 0)
        made = put_parts(h, table.data, table.size, &err);
    elf_fini(&elf);
    buffer_fini(&table);
    mem_free(path);
    wire_put_done(&h->out, made == 0 ? "" : err.text);
    return flush_helper_replies(h) == 0 ? EXIT_SUCCESS : WIRE_EXIT_MEMORY;
}

static int
serve_request(struct helper *h, struct span payload)
{
    struct wire_request request;
    int status;

    /* the descriptor comes with a request's first byte */
    if (h->fd_count == 0 || !wire_parse_request(payload, &request))
        return WIRE_EXIT_PROTOCOL;
    if (request.version != WIRE_VERSION)
        return WIRE_EXIT_VERSION;
    if (request.has_index && h->fd_count < 2)
        return WIRE_EXIT_PROTOCOL;
    /* anew for each request: the limit is cumulative */
    limits_cpu(h->cpu_seconds);
    if (request.make_unwind)
        status = make_unwind(h, &request);
    else if (request.make_index)
        status = make_index(h, &request);
    else
        status = name_object(h, &request);
    /* those of a request that was sent ahead stay */
    drop_descriptors(h, request.has_index ? 2 : 1);
    buffer_drop_front(&h->in, WIRE_HEAD + payload.size);
    return status;
}

/* One request at a time; the next may have been sent ahead, and waits in the
 * socket or in h->in.  The client's end closes the socket. */
static int
serve_requests(struct helper *h)
{
    struct span payload;
    int status = EXIT_SUCCESS, more;

    while (status == EXIT_SUCCESS) {
        switch (wire_next(h->in.data, h->in.size, WIRE_REQUEST_MAX, &payload)) {
        case WIRE_READY:
            status = serve_request(h, payload);
            break;
        case WIRE_BAD:
            return WIRE_EXIT_PROTOCOL;
        case WIRE_MORE:
            more = receive_request_bytes(h);
            if (more <= 0)
                return more == 0 ? EXIT_SUCCESS : WIRE_EXIT_PROTOCOL;
        }
    }
    return status;
}

int
main(int argc, char **argv)
{
    struct helper h = {.fd_count = 0};
    uint64_t memory_bytes, cpu_seconds, parent, reader_mb;
    int status;

    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        static const char version[] = "heapwire-symbolizer " HW_VERSION "\n";

        return write(STDOUT_FILENO, version, sizeof(version) - 1) < 0;
    }
    if (argc < 5 || argc > 6 || !parse_limit_argument(argv[1], &memory_bytes) ||
        !parse_limit_argument(argv[2], &cpu_seconds) ||
        cpu_seconds > UINT32_MAX / 2 ||
        !parse_limit_argument(argv[3], &parent) ||
        !parse_limit_argument(argv[4], &reader_mb) || reader_mb > UINT32_MAX) {
        static const char usage[] =
            "heapwire-symbolizer is started by heapwired, never by hand\n";

        return write(STDERR_FILENO, usage, sizeof(usage) - 1) < 0 ? EXIT_FAILURE
                                                                  : EXIT_USAGE;
    }
    /* The helper lives for moments, and the next object reuses the memory of
     * the last: returning it to the kernel would cost more than it saves. */
    large_heap(HEAP_BYTES);
    /* libbfd also searches the working directory for split debug files. */
    if (chdir("/") != 0 || limits_apply(memory_bytes, (pid_t)parent) != 0)
        return EXIT_FAILURE;
    debug_fetched_set(argv[5]); /* or NULL */
    h.cpu_seconds = (uint32_t)cpu_seconds;
    h.reader_bytes = reader_mb << 20;
    buffer_init(&h.in, WIRE_REQUEST_MAX + WIRE_HEAD + READ_BYTES);
    buffer_init(&h.out, FLUSH_BYTES + WIRE_REPLY_MAX + ANSWER_BYTES);
    status = serve_requests(&h);
    drop_descriptors(&h, h.fd_count);
    buffer_fini(&h.in);
    buffer_fini(&h.out);
    return status;
}
