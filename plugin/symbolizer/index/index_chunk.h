/*
 * index_chunk.h - the content of a packed block: events of code, nodes, or
 * texts, as numbers of index_coder, each coded by those before it.
 *
 * One function for each works in both directions.  When reading, all results
 * are in the ranges given here, and never more than asked for.
 */
#ifndef HW_INDEX_CHUNK_H
#define HW_INDEX_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index_coder.h"
#include "symbol_index_format.h"

enum { INDEX_EVENT_RANGE = 1, INDEX_EVENT_ROW = 2, INDEX_EVENT_SYMBOL = 4 };

/* What changes in the code at address. */
struct index_event {
    uint64_t address, back;
    uint32_t kinds;      /* the kinds that change; other fields are not set */
    uint32_t range;      /* as in section RANGES */
    uint32_t file, line; /* as in section ROWS */
    uint32_t name;       /* as in section SYMBOLS */
};

struct index_chunk_node {
    uint32_t up, function, file, line; /* as in section NODES */
};

enum {
    INDEX_RECENT = 32,
    INDEX_TEXT_CONTEXTS = 128,
    INDEX_TEXT_AGAIN = 24,
    INDEX_TEXT_HASH_BITS = 12
};

/* Recent numbers, and the last line in each. */
struct index_recent {
    uint32_t number[INDEX_RECENT], line[INDEX_RECENT];
    uint32_t count, newest;
    struct index_number_odds which, ahead;
};

struct index_code_odds {
    struct index_odds kinds[8][8], unnamed;
    struct index_number_odds step[8], back, name, line[4];
    struct index_recent ranges, files;
};

struct index_node_odds {
    struct index_odds flags[2][8], placed[2];
    struct index_number_odds up[2], root, line[2];
    struct index_recent names, files;
};

/* Bytes that followed the same four bytes before are likely to come again. */
struct index_text_odds {
    struct index_odds byte[INDEX_TEXT_CONTEXTS][1 << INDEX_TREE_BITS];
    struct index_odds again[INDEX_TEXT_AGAIN];
    struct index_number_odds same;
    uint16_t seen[1 << INDEX_TEXT_HASH_BITS]; /* place + 1; 0: nowhere */
};

/* Room for any kind, because it is large; each call starts afresh. */
struct index_chunk {
    union {
        struct index_code_odds code;
        struct index_node_odds nodes;
        struct index_text_odds texts;
    };
};

/* All count events; the first has all kinds, and its address is set in both
 * directions.  False: invalid. */
bool index_chunk_events(struct index_chunk *chunk, struct index_coder *coder,
                        struct index_event *events, uint32_t count);
bool index_chunk_nodes(struct index_chunk *chunk, struct index_coder *coder,
                       struct index_chunk_node *nodes, uint32_t count);

void index_chunk_texts(struct index_chunk *chunk); /* for the following ones */
/* The text at texts + at, behind all earlier ones, each with a NUL; the last
 * has `before` bytes.  A text that is read gets a NUL too; there is room up to
 * INDEX_CHUNK_TEXTS.  False: too long, or it contains a NUL. */
bool index_chunk_text(struct index_chunk *chunk, struct index_coder *coder,
                      char *texts, size_t at, size_t before, size_t *size);

#endif
