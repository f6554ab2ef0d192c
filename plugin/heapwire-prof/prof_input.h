/*
 * prof_input.h - a profile's file, or pipe: what it is shows at its start, and
 * a raw one is never in memory as a whole.
 *
 * Files are read, not mapped: they may be cut off meanwhile.
 */
#ifndef HW_PROF_INPUT_H
#define HW_PROF_INPUT_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct error;
struct heap_dump;

enum {
    PROF_INPUT_HEAD = 64, /* bytes that are looked at first */
    PROF_INPUT_BYTES_MAX = 1 << 30
};

struct prof_input {
    const char *path;
    int fd;
    char head[PROF_INPUT_HEAD];
    size_t head_size; /* less: so short is it */
    size_t given;     /* bytes that were read as a dump */
    bool pipe;        /* the head is not there any more */
    bool failed;      /* it could not be read, which the error says */
};

/* Borrows path. */
int prof_input_open(struct prof_input *input, const char *path,
                    struct error *err);
void prof_input_close(struct prof_input *input);

/* Either all of it, appended to out, or as a heap dump, or NULL. */
int prof_input_all(struct prof_input *input, struct buffer *out,
                   struct error *err);
struct heap_dump *prof_input_dump(struct prof_input *input, struct error *err);

#endif
