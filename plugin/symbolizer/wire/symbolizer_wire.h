/*
 * symbolizer_wire.h - the messages between client and heapwire-symbolizer.
 *
 * They use a SOCK_STREAM unix socket pair; the helper's end is its descriptor
 * 0.  A message is a u32 length and that many bytes, little-endian; the first
 * byte is the type.  A request is about one object: its descriptor comes with
 * the request's first byte (SCM_RIGHTS), followed by that of its symbol index,
 * if there is one.  The answers stream back, one per offset, in their order,
 * and WIRE_DONE ends them: answers before a crash or a deadline are kept.  A
 * request for an index, or for an unwind table, gets its parts instead.
 *
 *   WIRE_NAME
 *       u8 version, u8 flags, text path, u32 count, count * u64 file offset
 *   WIRE_TEXT
 *       text, not "": the request's next one, numbered from 1.  For an index:
 *       once, before its parts, why it has symbols only
 *   WIRE_ANSWER
 *       u64 function start, number symbol (0 when there is none), u8 frames,
 *       then per frame: number function, number file, u32 line
 *   WIRE_PART
 *       the next bytes of an index or table, to the end of the message
 *   WIRE_REFUSED
 *       text why: the index is unusable, or damaged; once, before the end
 *   WIRE_DONE
 *       text complaint; "": all offsets are answered, or the index or table is
 * whole
 *
 * A text is a length-encoded size and its bytes.  A number is length-encoded:
 * that of an earlier text, or 0 for "".  An address without a name has one
 * frame with function 0: its function is known by its start.  The start is the
 * symbol's, if there is one.
 */
#ifndef HW_SYMBOLIZER_WIRE_H
#define HW_SYMBOLIZER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names.h"
#include "reader.h"

struct buffer;

enum {
    /* Raise it with any change here: a package may replace the helper while
     * heapwired runs. */
    WIRE_VERSION = 6,
    WIRE_HEAD = 4,
    WIRE_ADDRESSES_MAX = 1000000, /* of one object */
    WIRE_PATH_MAX = 4096,
    WIRE_NAME_MAX = 8192, /* the helper truncates longer names */
    WIRE_FILE_MAX = 4096, /* and truncates longer source paths */
    WIRE_COMPLAINT_MAX = 200,
    WIRE_PART_MAX = 1 << 16,
    WIRE_TEXTS_MAX = 1 << 24, /* in the answer to one request */
    /* Each fits the largest message of its direction. */
    WIRE_REQUEST_MAX = WIRE_ADDRESSES_MAX * 8 + WIRE_PATH_MAX + 64,
    WIRE_REPLY_MAX = WIRE_PART_MAX + 64
};

enum wire_type {
    WIRE_NAME = 1,
    WIRE_ANSWER,
    WIRE_DONE,
    WIRE_PART,
    WIRE_REFUSED,
    WIRE_TEXT
};

/* The helper's exit status if it cannot go on. */
enum wire_exit {
    WIRE_EXIT_PROTOCOL = 3,
    WIRE_EXIT_MEMORY = 4,
    WIRE_EXIT_VERSION = 5
};

enum wire_flag {
    WIRE_SYMBOLS_ONLY = 1, /* do not read DWARF */
    WIRE_HAS_INDEX = 2,    /* a second descriptor follows the object's */
    WIRE_MAKE_INDEX = 4,   /* without offsets */
    WIRE_NO_LINES = 8,     /* files and lines need not be read */
    WIRE_SYMBOLS_DO = 16,  /* only with WIRE_MAKE_INDEX: without debug
                              information, an index of symbols only is wanted */
    WIRE_MAKE_UNWIND = 32  /* alone: make an unwind table */
};

struct wire_request {
    uint8_t version; /* if it is not WIRE_VERSION, nothing else is parsed */
    bool symbols_only, has_index, make_index, no_lines, symbols_do, make_unwind;
    struct span path; /* of the mapped file: shown by its name, and its
                         directory is searched for split debug files */
    uint32_t count;
    struct reader offsets; /* count * u64, ascending */
};

struct wire_frame {
    uint32_t function, file; /* numbers of texts */
    uint32_t line;
};

struct wire_reply {
    enum wire_type type;
    uint64_t start; /* virtual address in the object */
    uint32_t symbol;
    uint32_t frame_count;
    struct wire_frame frames[NAMES_INLINE_MAX];
    struct span complaint; /* of WIRE_REFUSED too */
    struct span part;      /* never "" */
    struct span text;      /* never "" */
};

/* Append one message; out fails if it has no room.  flags is of enum wire_flag;
 * a part is at most WIRE_PART_MAX. */
void wire_put_request(struct buffer *out, const char *path, unsigned flags,
                      const uint64_t *offsets, uint32_t count);
void wire_put_text(struct buffer *out, const char *text, size_t max);
void wire_put_answer(struct buffer *out, uint64_t start, uint32_t symbol,
                     const struct wire_frame *frames, uint32_t frame_count);
void wire_put_part(struct buffer *out, const void *data, size_t size);
void wire_put_refused(struct buffer *out, const char *why);
void wire_put_done(struct buffer *out, const char *complaint);

enum wire_framing { WIRE_MORE, WIRE_READY, WIRE_BAD };

/* Whether data starts with a whole message; its payload, if so. */
enum wire_framing wire_next(const void *data, size_t size, size_t max,
                            struct span *payload);

/* Parse a payload and borrow from it; false if anything is invalid.  The caller
 * checks that numbers belong to texts received. */
bool wire_parse_request(struct span payload, struct wire_request *out);
bool wire_parse_reply(struct span payload, struct wire_reply *out);

#endif
