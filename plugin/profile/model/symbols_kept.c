/* symbols_kept.c - see symbols_kept.h. */
#include "symbols_kept.h"

#include <stddef.h>
#include <string.h>

#include "arena.h"
#include "memory.h"
#include "names.h"
#include "profile.h"
#include "texts.h"
#include "view_options.h"

enum { MAKING_BYTES_MAX = 1 << 30 };

struct symbols_kept {
    struct names_made made; /* first */
    struct arena *arena;
    struct texts *texts;
    struct symbols symbols;
    uint64_t *addresses; /* the locations' */
    size_t count;
    const char *wrappers; /* by which the allocator's frames were chosen */
};

void
symbols_kept_free(struct symbols_kept *kept)
{
    if (!kept)
        return;
    texts_free(kept->texts);
    arena_free(kept->arena);
    mem_free(kept);
}

static void
free_made(struct names_made *made)
{
    symbols_kept_free((struct symbols_kept *)made);
}

static struct symbols_kept *
make(const struct profile *profile, const struct view_options *options)
{
    struct symbols_kept *kept = mem_zalloc(1, sizeof(*kept));
    const char *wrappers = options->wrappers ? options->wrappers : "";

    if (!kept)
        return NULL;
    kept->arena = arena_new(MAKING_BYTES_MAX);
    if (kept->arena) {
        kept->texts = texts_new(kept->arena);
        kept->addresses = arena_alloc(
            kept->arena, profile->location_count * sizeof(*kept->addresses));
        kept->wrappers = arena_strndup(kept->arena, wrappers, strlen(wrappers));
    }
    if (!kept->texts || !kept->addresses || !kept->wrappers ||
        symbols_make(profile, options, kept->arena, kept->texts,
                     &kept->symbols) != 0) {
        symbols_kept_free(kept);
        return NULL;
    }
    for (size_t i = 0; i < profile->location_count; i++)
        kept->addresses[i] = profile->locations[i].address;
    kept->count = profile->location_count;
    kept->made.free = free_made;
    kept->made.bytes =
        sizeof(*kept) + arena_used(kept->arena) + texts_memory(kept->texts);
    return kept;
}

static bool
is_of(const struct symbols_kept *kept, const struct profile *profile)
{
    if (kept->count != profile->location_count)
        return false;
    for (size_t i = 0; i < kept->count; i++)
        if (kept->addresses[i] != profile->locations[i].address)
            return false;
    return true;
}

/* A Run's name is added later, for the stack that it is in. */
int
symbols_kept_get(const struct profile *profile,
                 const struct view_options *options, struct symbols_kept **kept,
                 bool *own)
{
    unsigned kind = options->jeprof_names;
    struct symbols_kept *found;

    *kept = NULL;
    *own = false;
    if (!profile->names || options->granularity != GRANULARITY_FUNCTIONS ||
        options->allocator_frames)
        return 0;
    found = (struct symbols_kept *)names_made(profile->names, kind);
    if (found && !is_of(found, profile))
        return 0;
    if (!found) {
        found = make(profile, options);
        if (!found)
            return -1;
        *own = found->made.bytes > SYMBOLS_KEPT_BYTES_MAX ||
               !names_keep_made(profile->names, kind, &found->made);
    }
    if (!found->symbols.has_runs) {
        *kept = found;
    } else if (*own) {
        symbols_kept_free(found);
        *own = false;
    }
    return 0;
}

const struct symbols *
symbols_kept_symbols(const struct symbols_kept *kept)
{
    return &kept->symbols;
}

struct texts *
symbols_kept_texts(const struct symbols_kept *kept)
{
    return kept->texts;
}

bool
symbols_kept_have_parts(const struct symbols_kept *kept,
                        const struct view_options *options)
{
    return strcmp(kept->wrappers, options->wrappers ? options->wrappers : "") ==
           0;
}
