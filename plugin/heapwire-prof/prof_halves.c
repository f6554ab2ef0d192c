/* prof_halves.c - see prof_halves.h. */
#include "prof_halves.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "errors.h"
#include "heap_dump.h"
#include "heap_join.h"
#include "heap_lines.h"
#include "prof_input.h"
#include "thread.h"

enum {
    HALVES_MIN =
        1 << 20, /* a smaller file takes no longer than starting a thread */
    HALVES_LOOK = 32 << 10, /* a stack begins within so many bytes */
    HALVES_STACK = 256 << 10
};

struct half {
    int fd;
    off_t at, end;
    struct heap_dump *dump;
    struct error err;
};

/* heap_source.read */
static ssize_t
read_half(void *arg, char *to, size_t room, struct error *err)
{
    struct half *half = arg;
    size_t left = (size_t)(half->end - half->at);
    ssize_t n;

    do
        n = pread(half->fd, to, room < left ? room : left, half->at);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        error_sys(err, ER_UNKNOWN, "cannot read half of a profile");
    else
        half->at += n;
    return n;
}

/* The start of a stack near the middle; 0: none. */
static off_t
find_middle(int fd, off_t size)
{
    char text[HALVES_LOOK];
    off_t middle = size / 2;
    ssize_t n = pread(fd, text, sizeof(text), middle);
    const char *at = n > 0 ? memmem(text, (size_t)n, "\n@", 2) : NULL;

    return at ? middle + (at - text) + 1 : 0;
}

static void *
read_second(void *arg)
{
    struct half *half = arg;
    const struct heap_source source = {read_half, half};

    half->dump = heap_dump_read_part(&source, &half->err);
    return NULL;
}

static void
read_first(struct half *half)
{
    const struct heap_source source = {read_half, half};

    half->dump = heap_dump_read(&source, &half->err);
}

struct heap_dump *
prof_halves_dump(int fd)
{
    struct half first = {.fd = fd}, second = {.fd = fd};
    const struct thread_start start = {.name = "hw-half",
                                       .stack_bytes = HALVES_STACK,
                                       .body = read_second,
                                       .arg = &second};
    struct heap_dump *dump = NULL;
    struct stat status;
    pthread_t thread;

    if (thread_cores() < 2 || fstat(fd, &status) != 0 ||
        !S_ISREG(status.st_mode) || status.st_size < HALVES_MIN ||
        status.st_size > PROF_INPUT_BYTES_MAX)
        return NULL;
    first.end = second.at = find_middle(fd, status.st_size);
    second.end = PROF_INPUT_BYTES_MAX; /* the file may grow */
    if (first.end == 0 || thread_start(&thread, &start, &second.err) != 0)
        return NULL;
    read_first(&first);
    pthread_join(thread, NULL);
    if (first.dump && second.dump && !first.dump->has_maps &&
        second.at < second.end && heap_join(first.dump, second.dump) == 0) {
        dump = first.dump;
        first.dump = NULL;
    }
    heap_dump_free(first.dump);
    heap_dump_free(second.dump);
    return dump;
}
