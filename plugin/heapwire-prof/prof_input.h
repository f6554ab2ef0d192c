/*
 * prof_input.h - a profile's file or pipe.  Its first bytes show the format; a
 * raw profile is never in memory as a whole.
 *
 * Files are read, not mapped: they may be cut meanwhile.
 */
#ifndef HW_PROF_INPUT_H
#define HW_PROF_INPUT_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct error;
struct heap_dump;

enum {
    PROF_INPUT_HEAD = 64, /* bytes read first */
    PROF_INPUT_BYTES_MAX = 1 << 30
};

struct prof_input {
    const char *path;
    int fd;
    char head[PROF_INPUT_HEAD];
    size_t head_size; /* less than PROF_INPUT_HEAD: the whole input */
    size_t given;     /* bytes read as a dump so far */
    bool pipe;        /* cannot be read again from the start */
    bool failed;      /* reading failed; the error was reported */
};

/* Borrows path. */
int prof_input_open(struct prof_input *input, const char *path,
                    struct error *err);
void prof_input_close(struct prof_input *input);

/* Use one of them.  all: appends the whole input to out.  dump: reads it as a
 * heap dump; NULL with *err. */
int prof_input_all(struct prof_input *input, struct buffer *out,
                   struct error *err);
struct heap_dump *prof_input_dump(struct prof_input *input, struct error *err);

#endif
