/*
 * resolve_job.h - the state of one symbolizer_resolve, and of the object it is
 * asking about.
 *
 * Shared by symbolizer.c and the resolve_*.c files that it calls.
 */
#ifndef HW_RESOLVE_JOB_H
#define HW_RESOLVE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"
#include "symbolizer.h"

struct helper;
struct location;
struct symbol_cache;

/*
 * The names of known objects' addresses.
 *
 * Keyed by the object (build-id, else device, inode, time and size) and the
 * offset in its file, so it outlives processes and restarts.  When full it is
 * emptied, and fills again with what is needed.
 */

enum {
    CACHE_BYTES = 64 << 20, /* bytes of texts; each table has the same limit */
    CACHE_OBJECTS = 1024,
    CACHE_KEY_MAX = 64,
    CACHE_WHY_MAX = 160,
    CACHE_DEGRADED_MS = 10 * 60 * 1000 /* then a failed object is tried again */
};

struct cache_key {
    uint8_t bytes[CACHE_KEY_MAX];
    size_t size;
};

struct symbol_cache *symbol_cache_new(void);        /* NULL: out of memory */
void symbol_cache_free(struct symbol_cache *cache); /* NULL is fine */

/* The key of an object whose headers are read; size 0: it has no identity. */
struct cache_key cache_key_of(const struct elf_file *elf);

/*
 * Why an object's DWARF is not to be read for now, because it was too much for
 * the symboliser; else NULL.  Once the time is over, the object is forgotten.
 */
const char *symbol_cache_degraded(struct symbol_cache *cache,
                                  const struct cache_key *key);
void symbol_cache_degrade(struct symbol_cache *cache,
                          const struct cache_key *key, const char *why);

/* The remark to report with the object's names: "" at first, and for a degraded
 * one. */
const char *symbol_cache_remark(struct symbol_cache *cache,
                                const struct cache_key *key);

/* indexed: the remark holds although the object had a symbol index. */
void symbol_cache_set_remark(struct symbol_cache *cache,
                             const struct cache_key *key, const char *remark,
                             bool indexed);

/* Whether an index would make its names better. */
bool symbol_cache_is_poor(struct symbol_cache *cache,
                          const struct cache_key *key);

/* The object has an index now: forgets its names and remark; it stays
 * degraded. */
void symbol_cache_renew(struct symbol_cache *cache,
                        const struct cache_key *key);

/* The names at an offset; NULL: not known (yet). */
const struct location *symbol_cache_find(struct symbol_cache *cache,
                                         const struct cache_key *key,
                                         uint64_t offset);

/* Adds it if there is room; otherwise empties the cache. */
void symbol_cache_add(struct symbol_cache *cache, const struct cache_key *key,
                      uint64_t offset, const struct location *location);

enum {
    MODULE_MAX = 256, /* a file name; longer ones are cut */
    NOTE_BYTES = 256,
    NAMES_BYTES_MAX = 512 << 20 /* of one answer */
};

/* Fingerprint of a request: a hash of its addresses, and of the mappings that
 * they lie in. */
struct resolve_print {
    uint64_t hash[2];
};

/* The last answer, for a request that repeats the last one; set only if asking
 * again could not improve it. */
struct resolve_kept {
    struct names *names; /* NULL: none */
    struct resolve_print print;
    uint64_t keys;    /* sum of the objects' keys */
    uint64_t changes; /* the cache's number of changes then */
};

struct symbolizer {
    struct helper *helper;
    struct symbol_cache *cache;
    uint32_t deadline_ms;
    int cancel_fd; /* eventfd: never read, so that no cancel is missed */
    struct symbolizer_indexes indexes; /* zeroed: none */
    struct symbolizer_debug debug;
    bool no_lines, short_names, once, here; /* as in symbolizer_options */
    struct resolve_kept kept;
};

/* An address and its offset in a file; mapping NULL: in none. */
struct resolve_item {
    uint64_t address, offset;
    const struct mapping *mapping;
    bool named; /* an answer has given its names and module */
};

/* One symbolizer_resolve under way. */
struct resolve_job {
    struct symbolizer *s;
    const struct resolve_request *request;
    struct names *names;
    struct resolve_item *items;
    uint64_t *offsets;  /* offsets to ask for, object by object */
    size_t *first;      /* index of each offset's item, in its object */
    const char **texts; /* the helper's texts about the present object,
                         * cleaned */
    uint32_t text_count, text_capacity;
    uint64_t until; /* the deadline of the whole job */
    int program_fd;
    const struct mapping *program; /* the mapping of request->program; NULL */
    char *program_path;            /* absolute; libc's malloc */
    bool cancelled, no_memory;
    bool unsteady; /* asking again may give another answer */
    struct resolve_print print;
    uint64_t keys; /* sum of the objects' keys */
    char note[NOTE_BYTES];
    size_t more_notes;
};

/* The items of one file. */
struct resolve_object {
    struct resolve_job *job;
    const struct mapping *mapping;
    const char *path;
    struct resolve_item *items;
    size_t count;
    struct elf_file elf;
    struct cache_key key;
    char module[MODULE_MAX];
    const char *module_text;     /* its copy in names; NULL: not made yet */
    bool in_allocator;           /* the whole object is the allocator */
    uint64_t mallctl;            /* address of mallctl if it contains jemalloc;
                                  * else 0 */
    struct locate_inner *inner;  /* finds that jemalloc's functions; NULL until
                                  * needed */
    char trouble[NOTE_BYTES];    /* found before anything was asked; "" */
    int index_fd;                /* -1: none */
    char refused[CACHE_WHY_MAX]; /* why the index is unusable; "": it is not */
    char passed_over[CACHE_WHY_MAX]; /* why one was not even opened, or "" */
    uint64_t *asked;                 /* offsets still without an answer */
    size_t *asked_first;
    size_t asked_count;
};

/* ---- resolve_job.c ---- */

/* Adds to the note: it shows the first complaint and counts the others. */
void resolve_complain(struct resolve_job *job, const char *what,
                      const char *why);
/* The clean file name of path. */
void resolve_set_module(char *module, const char *path);
bool resolve_same_file(const struct mapping *a, const struct mapping *b);

/* Opens the object's file and sets its path, near which a split debug file is
 * looked for; -1: it cannot be opened. */
int resolve_open(struct resolve_object *object);
/* The caller's index comes before the one beside the object.  Either may hold
 * anything: its reader compares the build-id. */
void resolve_open_index(struct resolve_object *object);

/* The last answer, if this request repeats the last one: a reference, or
 * NULL. */
struct names *resolve_kept_find(struct resolve_job *job);
/* Adds an object's key to the job's sum.  Call it for each object before
 * resolve_kept_set. */
void resolve_kept_note(struct resolve_job *job, const struct cache_key *key);
void resolve_kept_set(struct resolve_job *job);

/* ---- symbolizer.c: which file each address lies in ---- */

/* Names the addresses outside files, and sorts the others as items: file by
 * file, each file's ascending.  Returns their number. */
size_t resolve_items_sort(struct resolve_job *job);

/* ---- resolve_answers.c: asks about an object; answers become names ---- */

/* Names an address by its offset in module; by itself if module is "". */
void resolve_answers_plain(struct resolve_job *job, uint64_t address,
                           const char *module, uint64_t offset,
                           bool in_allocator);
/* The answer for the next asked offset; its texts belong to names.  A lone
 * frame may have the function "": then it starts at symbol_start.  False: no
 * memory. */
bool resolve_answers_add(struct resolve_object *object,
                         const struct location *answer);
/* Sets each item's module, and names those without a name by their offset. */
void resolve_answers_offsets(struct resolve_object *object);

/* Names what the cache knows, and lists the other offsets as asked. */
void resolve_question_look_up(struct resolve_object *object);
/* Sends the object's question if it has one and it is not sent yet.  false: it
 * cannot be sent ahead, so neither can the next object's. */
bool resolve_question_ask_ahead(struct resolve_object *object);
void resolve_question_ask(struct resolve_object *object);

/* ---- resolve_indexed.c: answers of an index, read by this process ---- */

/* Takes from the asked offsets those that the object's index knows.  Without
 * effect unless symbolizer_options.here is set. */
void resolve_indexed(struct resolve_object *object);

#endif
