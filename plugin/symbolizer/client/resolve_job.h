/*
 * resolve_job.h - what the parts of symbolizer.c share: one symbolizer_resolve
 * under way, and the object at hand.
 */
#ifndef HW_RESOLVE_JOB_H
#define HW_RESOLVE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"
#include "reader.h"
#include "symbol_cache.h"
#include "symbolizer.h"

struct helper;
struct wire_reply;

enum {
    MODULE_MAX = 256, /* a file name; longer ones are cut */
    NOTE_BYTES = 256,
    NAMES_BYTES_MAX = 512 << 20 /* of one answer */
};

/* Of a request: addresses, and the mappings that they lie in. */
struct resolve_print {
    uint64_t hash[2];
};

/* The last answer, which is as good as it gets. */
struct resolve_kept {
    struct names *names; /* NULL: none */
    struct resolve_print print;
    uint64_t keys;    /* as job's */
    uint64_t changes; /* of the cache then */
};

struct symbolizer {
    struct helper *helper;
    struct symbol_cache *cache;
    uint32_t deadline_ms;
    int cancel_fd; /* eventfd: never read, so that no cancel is missed */
    struct symbolizer_indexes indexes; /* zeroed: none */
    bool no_lines, short_names, once, here;
    struct resolve_kept kept;
};

/* An address and its place in a file; mapping NULL: in none. */
struct item {
    uint64_t address, offset;
    const struct mapping *mapping;
    bool named; /* with its module, as the helper answered */
};

/* One symbolizer_resolve under way. */
struct job {
    struct symbolizer *s;
    const struct resolve_request *request;
    struct names *names;
    struct item *items;
    uint64_t *offsets;  /* those to be asked for, object by object */
    size_t *first;      /* item of each offset, in its object */
    const char **texts; /* the helper's, clean, of the object at hand */
    uint32_t text_count, text_room;
    uint64_t until; /* when all of it has to be done */
    int program_fd;
    const struct mapping *program; /* where request->program lies; NULL */
    char *program_path;            /* absolute; libc's malloc */
    bool cancelled, no_memory;
    bool unsteady; /* another answer may come next time */
    struct resolve_print print;
    uint64_t keys; /* a sum over the objects' */
    char note[NOTE_BYTES];
    size_t more_notes;
};

/* The items of one file. */
struct object {
    struct job *job;
    const struct mapping *mapping;
    const char *path;
    struct item *items;
    size_t count;
    struct elf_file elf;
    struct cache_key key;
    char module[MODULE_MAX];
    const char *module_text; /* names' own; NULL: not asked for as yet */
    bool in_allocator;
    char trouble[NOTE_BYTES];        /* before anything was asked; "" */
    int index_fd;                    /* -1: none */
    char refused[CACHE_WHY_MAX];     /* why the index is of no use; "": it is */
    char passed_over[CACHE_WHY_MAX]; /* why one was not even opened; "" */
    uint64_t *asked;                 /* what is still to be answered */
    size_t *asked_first;
    size_t asked_count;
};

/* The first complaint is told, the others are counted. */
void job_complain(struct job *job, const char *what, const char *why);
/* Shown as an offset in module, or "" as an address. */
void job_add_plain(struct job *job, uint64_t address, const char *module,
                   uint64_t offset, bool in_allocator);
void job_set_module(char *module, const char *path);

/* Opens the file, and sets where to look for its split debug file; -1: it
 * cannot be had. */
int object_open(struct object *object);

/* ---- resolve_items.c: which file each address lies in ---- */

/* Addresses outside files are named; how many items the others are, of one file
 * after the other, and in their order. */
size_t job_sort_out(struct job *job);
bool mapping_same_file(const struct mapping *a, const struct mapping *b);

/* ---- resolve_kept.c: the last answer, for who asks the same again ---- */

/* A reference, or NULL. */
struct names *resolve_kept_find(struct job *job);
/* Of each object, before the answer is kept: which file it is. */
void resolve_kept_note(struct job *job, const struct cache_key *key);
void resolve_kept_set(struct job *job);

/* ---- object_answers.c: what the cache or the helper knows becomes names ----
 */

/* A location of the cache, which does not change meanwhile. */
void object_add_cached(struct object *object, const struct item *item,
                       const struct location *known);
/* The next offset's answer, whose texts are names' own; the function of a frame
 * that is alone may be "": it starts at symbol_start.  False: no memory. */
bool object_add_answer(struct object *object, const struct location *answer);
/* helper_question's text, answer and refused. */
bool object_take_text(void *arg, struct span text);
bool object_take_answer(void *arg, const struct wire_reply *reply);
void object_take_refusal(void *arg, struct span why);
/* Where everything lies, and a name for whatever is still without one. */
void object_add_offsets(struct object *object);

/* ---- object_indexed.c: what an index says, read by this process ---- */

/* Takes what the object's index answers from what is asked, where indexes may
 * be read here. */
void object_take_indexed(struct object *object);

/* ---- object_question.c: what is not known is asked for ---- */

/* Takes from the cache what is there, and lists the rest, which is asked for.
 */
void object_look_up(struct object *object);
/* The question for it, if there is one, is on its way, maybe since long; false:
 * nor may the next object's be. */
bool object_ask_ahead(struct object *object);
void object_ask(struct object *object);
/* Ours before the one beside it. */
void object_open_index(struct object *object);

#endif
