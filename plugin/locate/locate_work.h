/*
 * locate_work.h - what the steps of locating share: memory, pieces of the file,
 * and what the steps before have found.
 */
#ifndef HW_LOCATE_WORK_H
#define HW_LOCATE_WORK_H

#include "locate.h"

enum {
    PIECE_BACK = 128,  /* bytes before what is looked at that may be read */
    PIECE_AHEAD = 512, /* and behind */
    PIECE_BYTES = 1 << 18,
    PAIRS = 1 << 16,
    REFERENCES_MAX = 1024,
    REFERENCE_SLOTS = 4 * REFERENCES_MAX,
    VOTES_MAX = 4096,
    /* What a reference refers to: the number of a name of mallctl's, or, from
     * here on, of a variable's name. */
    REFERS_TO_VARIABLE = 128
};

/* Where a text is loaded. */
struct reference {
    uint64_t address;
    uint32_t what;
};

struct vote {
    uint64_t target, names[2]; /* one bit for each name that was loaded */
    uint32_t count;
};

struct variable {
    char name[LOCATE_VARIABLE_MAX];
    uint64_t used_at; /* in the code, by the first that loads it; 0: nowhere */
};

struct locate_work {
    struct elf_file *elf;
    uint64_t bytes_left; /* to be read; from LOCATE_BYTES_MAX */
    uint8_t piece[PIECE_BACK + PIECE_BYTES + PIECE_AHEAD];

    /* texts: how far a pair of bytes lets us skip; which text it ends */
    uint8_t skips[PAIRS], firsts[PAIRS], nexts[REFERS_TO_VARIABLE];
    unsigned marks;
    uint64_t own; /* where LOCATE_JEMALLOC is: the version is near */
    char version[LOCATE_VERSION_MAX];
    struct variable variables[LOCATE_JEMALLOCS_MAX];
    size_t variable_count;
    uint64_t unsure; /* where MALLOC_CONF ends a longer text; 0: nowhere */
    struct reference references[REFERENCES_MAX];
    size_t reference_count;

    /* code */
    uint16_t slots[REFERENCE_SLOTS]; /* a reference's number + 1 */
    struct vote votes[VOTES_MAX];
    uint32_t voted;
};

/* Owned by the caller; NULL with *err: there is no memory. */
struct locate_work *locate_work_new(struct elf_file *elf, struct error *err);

/* Fills the identity of each. */
void locate_identify(struct locate *out, const struct elf_file *elf);

/* A piece of a segment.  Matches may begin in [begin, end) of bytes; size bytes
 * are readable, so that a match may look back and run on. */
struct piece {
    const uint8_t *bytes;
    size_t begin, end, size;
    uint64_t address; /* of bytes[0] */
};

/* Calls see for each piece of the loaded segments that have one of flags and
 * none of those in without. */
void
locate_work_pieces(struct locate_work *work, uint32_t flags, uint32_t without,
                   void (*see)(struct locate_work *, const struct piece *));

/* Fills marks, variables, references; the version where it is a jemalloc. */
void locate_texts(struct locate_work *work);

/* Fills votes and where variables are used. */
void locate_code(struct locate_work *work);
/* How many calls of this function voted. */
uint32_t locate_votes(const struct locate_work *work, uint64_t target);

/* Asks for functions whose names end with ending.  found gets the part of the
 * name before it, and returns false when it has enough. */
struct symbol_query {
    const char *ending;
    bool (*found)(void *arg, const char *before, uint64_t address);
    void *arg;
};

/* Where symbols are. */
struct symbol_source {
    enum locate_how how;
    const struct elf_file *elf; /* the file, or its debug file */
    void (*find)(const struct elf_file *elf, struct locate_work *work,
                 const struct symbol_query *query);
};

/* Calls use with each source in turn: dynamic symbols, .symtab, and the debug
 * file's if it has the same build-id.  use returns false when it has enough. */
void locate_symbols(struct elf_file *elf, const char *path,
                    bool (*use)(void *arg, const struct symbol_source *source),
                    void *arg);

/* Fills jemallocs from what the work holds, symbols, and code. */
void locate_pick(struct locate *out, struct locate_work *work,
                 const char *path);

#endif
