/*
 * symbolizer.h - the client side of heapwire-symbolizer.
 *
 * Starts the helper on first need, restarts it within a budget, kills it at a
 * deadline, and trusts none of its output.  One thread at a time; only
 * symbolizer_cancel may come from another.
 */
#ifndef HW_SYMBOLIZER_H
#define HW_SYMBOLIZER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct error;
struct names;
struct mappings;
struct mapping;
struct symbolizer;

/* The report that the helper was asked about an object. */
struct symbolizer_asked {
    const struct elf_file *elf;
    const char *path;
    bool indexed;        /* an index was used */
    const char *refused; /* why an existing index was not used; NULL */
    uint32_t elapsed_ms;
};

/* The caller's indexes, which precede the one beside an object, and its
 * interest in what was asked.  Called by symbolizer_resolve's thread. */
struct symbolizer_indexes {
    /* A descriptor, which then belongs to the caller, or -1; *why is "", or the
     * reason why an existing index was passed over. */
    int (*open)(void *arg, const struct elf_file *elf, struct error *why);
    void (*asked)(void *arg, const struct symbolizer_asked *asked);
    void *arg;
};

/* The caller's interest in objects that may lack debug information.  Called on
 * the same thread; asked may be NULL. */
struct symbolizer_debug {
    void (*asked)(void *arg, const struct symbolizer_asked *asked);
    void *arg;
};

struct symbolizer_options {
    const char *program;   /* path of heapwire-symbolizer */
    uint64_t memory_bytes; /* the helper's RLIMIT_AS; 0: the default, 4 GiB */
    uint32_t deadline_ms;  /* for one resolve; 0: the default, 60 s */
    uint32_t reader_mb;    /* may be kept of DWARF; 0: 256 */
    const struct symbolizer_indexes *indexes; /* copied; NULL: none */
    struct symbolizer_debug debug;
    bool no_lines; /* functions suffice: files and lines may be missing */
    /* Function names may also be short ones (function_name_shorten), except
     * those that end in '>', which may be a tag. */
    bool short_names;
    bool once; /* one resolve only: keeps no names for the next */
    /* This process may read indexes itself: it can afford to crash. */
    bool here;
};

struct symbolizer *symbolizer_new(const struct symbolizer_options *options,
                                  struct error *err);
void symbolizer_free(struct symbolizer *s); /* ends the helper */
/* Starts the helper in advance. */
void symbolizer_prepare(struct symbolizer *s);
/* Final: the current symbolizer_resolve, and every later one, returns soon with
 * the names it has. */
void symbolizer_cancel(struct symbolizer *s);

/* The addresses to name. */
struct resolve_request {
    const struct mappings *maps;
    const uint64_t *addresses; /* ascending, distinct */
    size_t count;
    uint64_t allocator_address; /* any address in jemalloc's object; 0: unknown,
                                   objects named libjemalloc* count as it */
    const char *program; /* offline: the BINARY argument, matched to its mapping
                            by program headers; NULL */
    const atomic_bool *cancelled; /* if set, it ends soon with the names so far;
                                   * NULL */
    atomic_uint *named;           /* NULL, or counts the named addresses */
    /* Opens the mapped file; resolve closes it; -1: cannot.  NULL: files are
     * opened by path, without comparing device and inode. */
    int (*open_object)(void *arg, const struct mapping *mapping);
    void *arg;
};

/*
 * Names every address: by module+0x<offset> or 0x<address> if it cannot be
 * symbolised; names_note says why.  May return the same names again for the
 * same addresses, so they must not be added to.  The helper ends with it, so
 * its parent, this thread, may end after that.  -1 only without memory.
 */
int symbolizer_resolve(struct symbolizer *s,
                       const struct resolve_request *request,
                       struct names **out, struct error *err);

/* The mapping of code that has the offset and size of one of elf's segments, or
 * NULL.  Of several, prefers the one with the path, then the file name, then
 * the lowest address. */
const struct mapping *program_mapping(const struct mappings *maps,
                                      const struct elf_file *elf,
                                      const char *path);

#endif
