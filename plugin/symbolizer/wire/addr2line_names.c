/*
 * addr2line_names.c - see addr2line_names.h.
 *
 * DWARF, index and symbol table each have a name for a function; which one
 * people expect depends on the case.  The choice is made here, once for helper
 * and client, so that an answer by an index is the same as one by DWARF.  Texts
 * are kept once each in an arena, except those whose owner outlives the answer
 * (lasting).  One thread.
 */
#include "addr2line_names.h"

#include "arena.h"
#include "errors.h"
#include "memory.h"
#include "texts.h"

static const size_t text_bytes_max = (size_t)512 << 20;

/* The name chosen for a frame. */
struct chosen {
    const char *name; /* NULL: no memory */
    uint32_t number;
};

struct addr2line_names {
    struct arena *arena;
    struct texts *texts; /* paths, and names that were readable already */
    struct addr2line_reader reader;
};

struct addr2line_names *
addr2line_names_new(const struct addr2line_reader *reader, struct error *err)
{
    struct addr2line_names *names = mem_zalloc(1, sizeof(*names));

    if (!names)
        goto fail;
    if (reader)
        names->reader = *reader;
    names->arena = arena_new(text_bytes_max);
    if (names->arena)
        names->texts = texts_new(names->arena);
    if (!names->texts)
        goto fail;
    return names;
fail:
    error_memory(err, "names");
    addr2line_names_free(names);
    return NULL;
}

void
addr2line_names_free(struct addr2line_names *names)
{
    if (!names)
        return;
    texts_free(names->texts);
    arena_free(names->arena);
    mem_free(names);
}

/* ---- texts ---- */

static const char *
keep_name_text(struct addr2line_names *names, struct span text, bool lasting)
{
    uint32_t number;

    if (text.size == 0)
        return "";
    if (lasting)
        return text.data;
    if (texts_add(names->texts, text.data, text.size, &number) != 0)
        return NULL;
    return texts_get(names->texts, number);
}

const char *
addr2line_names_readable(struct addr2line_names *names,
                         const struct addr2line_name *name)
{
    if (name->readable || name->text.size == 0 || !names->reader.readable)
        return keep_name_text(names, name->text, name->lasting);
    return names->reader.readable(names->reader.arg, name->text);
}

/* ---- frames ---- */

static struct chosen
choose_readable_name(struct addr2line_names *names,
                     const struct addr2line_name *name)
{
    return (struct chosen){addr2line_names_readable(names, name),
                           name->lasting ? name->number : 0};
}

static struct chosen
function_name(struct addr2line_names *names, const struct code_frame *frame,
              const struct addr2line_name *symbol)
{
    const struct addr2line_name own = {frame->name, frame->readable,
                                       frame->readable && frame->lasting,
                                       frame->name_number};
    /* A name without linkage is that of the source only ("operator()"); the
     * symbol at the address has the whole one, unless the function was inlined
     * there. */
    bool whole = frame->name.size > 0 && frame->linkage;

    if (frame->inlined || whole || symbol->text.size == 0)
        return choose_readable_name(names, &own);
    return choose_readable_name(names, symbol);
}

int
addr2line_names_frames(struct addr2line_names *names,
                       const struct code_chain *chain,
                       const struct addr2line_name *symbol,
                       struct frame frames[NAMES_INLINE_MAX],
                       struct addr2line_numbers numbers[NAMES_INLINE_MAX],
                       uint32_t *count)
{
    static const struct code_frame unknown = {.line = 0};
    static const struct code_chain nothing = {&unknown, 1};

    if (chain->count == 0)
        chain = &nothing;
    for (uint32_t i = 0; i < chain->count; i++) {
        const struct code_frame *from = &chain->frames[i];
        struct chosen name = function_name(names, from, symbol);
        struct frame *to = &frames[i];

        numbers[i] = (struct addr2line_numbers){name.number, from->file_number};
        to->function = name.name;
        to->file = keep_name_text(names, from->file, from->lasting);
        to->line = from->line;
        if (!to->function || !to->file)
            return -1;
        /* as addr2line prints it; alone, "" tells the client to use an
         * offset */
        if (!name.number && !to->function[0] && chain->count > 1)
            to->function = "??";
    }
    *count = chain->count;
    return 0;
}
