/* prof_input.c - see prof_input.h. */
#include "prof_input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "heap_dump.h"

/* Reads at a place of a file, or the next bytes of a pipe. */
static ssize_t
read_at(struct prof_input *input, char *to, size_t room, size_t at)
{
    ssize_t n;

    do {
        n = input->pipe ? -1 : pread(input->fd, to, room, (off_t)at);
        if (n < 0 && (input->pipe || errno == ESPIPE)) {
            input->pipe = true;
            n = read(input->fd, to, room);
        }
    } while (n < 0 && errno == EINTR);
    return n;
}

int
prof_input_open(struct prof_input *input, const char *path, struct error *err)
{
    ssize_t n = 1;

    memset(input, 0, sizeof(*input));
    input->path = path;
    input->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (input->fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot open %s", path);
        return -1;
    }
    while (n > 0 && input->head_size < sizeof(input->head)) {
        n = read_at(input, input->head + input->head_size,
                    sizeof(input->head) - input->head_size, input->head_size);
        input->head_size += n > 0 ? (size_t)n : 0;
    }
    if (n >= 0)
        return 0;
    error_sys(err, ER_UNKNOWN, "cannot read %s", path);
    prof_input_close(input);
    return -1;
}

void
prof_input_close(struct prof_input *input)
{
    fd_close(input->fd);
    input->fd = -1;
}

int
prof_input_all(struct prof_input *input, struct buffer *out, struct error *err)
{
    if (input->pipe)
        buffer_add(out, input->head, input->head_size);
    return fd_read_all(input->fd, out, input->path, err);
}

/* heap_source.read */
static ssize_t
read_piece(void *arg, char *to, size_t room, struct error *err)
{
    struct prof_input *input = arg;
    ssize_t n = (ssize_t)input->head_size;

    if (input->pipe && input->given == 0 && n > 0)
        memcpy(to, input->head, input->head_size);
    else
        n = read_at(input, to, room, input->given);
    input->failed = true;
    if (n < 0) {
        error_sys(err, ER_UNKNOWN, "cannot read %s", input->path);
        return -1;
    }
    input->given += (size_t)n;
    if (input->given > PROF_INPUT_BYTES_MAX) {
        error_set(err, ER_OUT_OF_MEMORY,
                  "%s is larger than the ceiling of %d bytes", input->path,
                  PROF_INPUT_BYTES_MAX);
        return -1;
    }
    input->failed = false;
    return n;
}

struct heap_dump *
prof_input_dump(struct prof_input *input, struct error *err)
{
    const struct heap_source source = {read_piece, input};

    return heap_dump_read(&source, err);
}
