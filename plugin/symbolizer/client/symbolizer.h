/*
 * symbolizer.h - the client side of heapwire-symbolizer.
 *
 * Starts the helper on first need, restarts it within a budget, kills it at a
 * deadline, and treats whatever it says as hostile.  One thread at a time;
 * symbolizer_cancel alone may come from another.
 */
#ifndef HW_SYMBOLIZER_H
#define HW_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct error;
struct names;
struct mappings;
struct mapping;
struct symbolizer;

/* An object of which the helper has just been asked. */
struct symbolizer_asked {
    const struct elf_file *elf;
    const char *path;
    bool indexed;        /* by an index that was of use */
    const char *refused; /* why none was, though there is one; NULL */
    uint32_t elapsed_ms;
};

/* Whose indexes are looked at before the one beside an object, and who wants to
 * know what was asked.  Called by symbolizer_resolve's thread. */
struct symbolizer_indexes {
    /* A descriptor that is the caller's, or -1; *why is "", or gets the reason
     * why one that is there was passed over. */
    int (*open)(void *arg, const struct elf_file *elf, struct error *why);
    void (*asked)(void *arg, const struct symbolizer_asked *asked);
    void *arg;
};

struct symbolizer_options {
    const char *program;   /* path of heapwire-symbolizer */
    uint64_t memory_bytes; /* its RLIMIT_AS; 0: the default, 4 GiB */
    uint32_t deadline_ms;  /* of one resolve; 0: the default, 60 s */
    uint32_t reader_mb;    /* what it may keep of DWARF; 0: 256 */
    const struct symbolizer_indexes *indexes; /* copied; NULL: none */
    bool no_lines; /* functions are enough: files and lines may be missing */
    /* Functions may come as function_name_shorten shortens them, too, but for
     * those that end in '>', which may be a tag's. */
    bool short_names;
    bool once; /* one resolve only: no names are kept for the next */
    /* Indexes are read by this process, too: one that nobody relies on. */
    bool here;
};

struct symbolizer *symbolizer_new(const struct symbolizer_options *options,
                                  struct error *err);
void symbolizer_free(struct symbolizer *s); /* ends the helper */
/* Starts the helper, so that it is ready when symbolizer_resolve needs it. */
void symbolizer_prepare(struct symbolizer *s);
/* For good: the symbolizer_resolve that runs, and every later one, returns soon
 * with what it has. */
void symbolizer_cancel(struct symbolizer *s);

/* What is to be named. */
struct resolve_request {
    const struct mappings *maps;
    const uint64_t *addresses; /* ascending, distinct */
    size_t count;
    uint64_t allocator_address; /* any address in jemalloc's object; 0 unknown:
                                   objects called libjemalloc* are it */
    const char *program;        /* offline: the BINARY that was given, matched
                                   to its mapping by program headers; NULL */
    unsigned *named;            /* NULL or atomic: raised as they are named */
    /* An open descriptor of the mapped file, which resolve closes; -1: none.
     * NULL: files are opened by path, device and inode not compared. */
    int (*open_object)(void *arg, const struct mapping *mapping);
    void *arg;
};

/*
 * Names every address: what cannot be symbolised gets module+0x<offset> or
 * 0x<address>, and names_note says why.  Names that were given once may be
 * given again, for the same addresses: they are not added to.  -1 only without
 * memory.
 */
int symbolizer_resolve(struct symbolizer *s,
                       const struct resolve_request *request,
                       struct names **out, struct error *err);

#endif
