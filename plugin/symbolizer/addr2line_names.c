/* addr2line_names.c - see addr2line_names.h. */
#include "addr2line_names.h"

#include "arena.h"
#include "errors.h"
#include "hash.h"
#include "memory.h"
#include "texts.h"

enum { ROOM_FIRST = 1024 /* powers of two */ };

static const size_t text_bytes_max = (size_t)512 << 20;

/* A function without a linkage name that was the innermost one. */
struct named_entry {
    uint64_t entry;
    const char *name; /* NULL: the slot is free; "": its own */
    uint32_t number;  /* of name */
};

/* What a frame is called. */
struct chosen {
    const char *name; /* NULL: no memory */
    uint32_t number;
};

struct addr2line_names {
    struct arena *arena;
    struct texts *texts; /* paths, and names that came readable */
    struct addr2line_reader reader;
    struct named_entry *entries; /* open addressing */
    size_t entry_room, entry_count;
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
    names->entry_room = ROOM_FIRST;
    names->entries = mem_zalloc(ROOM_FIRST, sizeof(*names->entries));
    if (!names->texts || !names->entries)
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
    mem_free(names->entries);
    mem_free(names);
}

/* ---- texts ---- */

static const char *
keep(struct addr2line_names *names, struct span text, bool lasting)
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
        return keep(names, name->text, name->lasting);
    return names->reader.readable(names->reader.arg, name->text);
}

/* ---- entries ---- */

static struct named_entry *
entry_slot(struct named_entry *entries, size_t room, uint64_t entry)
{
    size_t i = hash_mix(hash_seed(entries), entry) & (room - 1);

    while (entries[i].name && entries[i].entry != entry)
        i = (i + 1) & (room - 1);
    return &entries[i];
}

/* The table doubles at three quarters. */
static int
remember(struct addr2line_names *names, uint64_t entry,
         const struct chosen *name)
{
    size_t room = names->entry_room * 2;
    struct named_entry *grown;

    if (names->entry_count * 4 >= names->entry_room * 3) {
        grown = mem_zalloc(room, sizeof(*grown));
        if (!grown)
            return -1;
        for (size_t i = 0; i < names->entry_room; i++)
            if (names->entries[i].name)
                *entry_slot(grown, room, names->entries[i].entry) =
                    names->entries[i];
        mem_free(names->entries);
        names->entries = grown;
        names->entry_room = room;
    }
    *entry_slot(names->entries, names->entry_room, entry) =
        (struct named_entry){entry, name->name, name->number};
    names->entry_count++;
    return 0;
}

/* ---- frames ---- */

/* An index knows only that they do, but for the part that was moved away. */
static bool
stays(const struct code_frame *frame, const struct addr2line_symbol *symbol)
{
    if (frame->low)
        return frame->low == symbol->start;
    return !symbol->cold && !code_is_cold(symbol->name.text);
}

static struct chosen
choose(struct addr2line_names *names, const struct addr2line_name *name)
{
    return (struct chosen){addr2line_names_readable(names, name),
                           name->lasting ? name->number : 0};
}

static struct chosen
function_name(struct addr2line_names *names, const struct code_frame *frame,
              const struct addr2line_symbol *symbol, bool innermost)
{
    static const struct chosen none = {"", 0}, failed = {NULL, 0};
    const struct addr2line_name own = {frame->name, frame->readable,
                                       frame->readable && frame->lasting,
                                       frame->name_number};
    const struct named_entry *known;
    struct chosen name;

    if (frame->name.size == 0)
        return innermost ? choose(names, &symbol->name) : none;
    if (frame->linkage)
        return choose(names, &own);
    known = entry_slot(names->entries, names->entry_room, frame->entry);
    if (known->name && known->name[0])
        return (struct chosen){known->name, known->number};
    if (known->name || !innermost || symbol->name.text.size == 0)
        return choose(names, &own);
    name = choose(names, &symbol->name);
    if (!name.name || remember(names, frame->entry,
                               stays(frame, symbol) ? &name : &none) != 0)
        return failed;
    return name;
}

int
addr2line_names_frames(struct addr2line_names *names,
                       const struct code_chain *chain,
                       const struct addr2line_symbol *symbol,
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
        struct chosen name = function_name(names, from, symbol, i == 0);
        struct frame *to = &frames[i];

        numbers[i] = (struct addr2line_numbers){name.number, from->file_number};
        to->function = name.name;
        to->file = keep(names, from->file, from->lasting);
        to->line = from->line;
        if (!to->function || !to->file)
            return -1;
        if (!name.number && !to->function[0] && chain->count > 1)
            to->function = "??";
    }
    *count = chain->count;
    return 0;
}
