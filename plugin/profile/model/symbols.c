/*
 * symbols.c - see symbols.h.
 *
 * jeprof names frames by a long list of rules, and a graph is comparable with
 * its own only if all of them hold: short names without arguments, a symbol
 * preferred to the debug information's name, addresses after names that would
 * be ambiguous.  So names are made in two passes.  The first drafts for each
 * frame a short and a full name; then short names that stand for several full
 * ones are known, and the second pass writes the final name.
 *
 * A profile has a hundred thousand frames but only thousands of names, and all
 * work on texts is done once per name and kept by number.  stack_names.c keeps
 * the result from dump to dump; the rest runs on the thread that renders the
 * view.
 */
#include "symbols.h"

#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "function_name.h"
#include "view_options.h"
#include "allocator.h"
#include "memory.h"
#include "profile.h"
#include "texts.h"

enum { NAME_BYTES_MAX = 16 << 20, SHORTENED_FIRST = 1024 };

/* A frame while its names are made. */
struct draft {
    uint32_t short_name; /* number in the texts */
    uint32_t full_name;  /* number in the full names */
};

struct maker {
    const struct profile *profile;
    enum granularity granularity;
    bool jeprof_names;
    struct texts *texts;
    /* full names, kept apart: they are long, and not shown */
    struct texts *full;
    struct buffer scratch;
    /* By frame: the two numbers of its draft.  In the end names has numbers in
     * the texts. */
    uint32_t *short_names, *names;
    /* by full name: 1 + its short name; 0: not known yet */
    uint32_t *shortened;
    uint32_t shortened_capacity;
    uint32_t *seen;    /* by short name: 1 + the first full name that has it */
    bool *ambiguous;   /* by short name: several full names have it */
    uint32_t *unique;  /* by full name: 1 + its name@address; 0: not needed */
    uint32_t *inlined; /* by name: 1 + "name (inline)"; 0: not made yet */
};

static int
add_scratch(struct maker *m, struct texts *texts, uint32_t *number)
{
    if (m->scratch.failed ||
        texts_add(texts, m->scratch.data ? m->scratch.data : "",
                  m->scratch.size, number) != 0)
        return -1;
    return 0;
}

static int
grow_shortened(struct maker *m)
{
    uint32_t before = m->shortened_capacity;
    uint32_t room = before ? before * 2 : SHORTENED_FIRST;
    uint32_t *grown = mem_realloc(m->shortened, room * sizeof(*grown));

    if (!grown)
        return -1;
    memset(grown + before, 0, (room - before) * sizeof(*grown));
    m->shortened = grown;
    m->shortened_capacity = room;
    return 0;
}

/* Adds a name and its short name, and fills draft with both numbers.  Each
 * distinct name is shortened once.  A label is no function, and stays whole. */
static int
add_shortened_name(struct maker *m, const char *name, bool label,
                   struct draft *draft)
{
    struct span whole = {name, 0};
    uint32_t *known;

    if (texts_add_lasting(m->full, name, &draft->full_name) != 0)
        return -1;
    while (draft->full_name >= m->shortened_capacity)
        if (grow_shortened(m) != 0)
            return -1;
    known = &m->shortened[draft->full_name];
    if (*known == 0) {
        buffer_clear(&m->scratch);
        whole.size = texts_size(m->full, draft->full_name);
        if (label)
            buffer_add(&m->scratch, name, whole.size);
        else if (m->jeprof_names)
            function_name_shorten(whole, &m->scratch);
        else
            function_name_plain(whole, &m->scratch);
        if (add_scratch(m, m->texts, known) != 0)
            return -1;
        ++*known;
    }
    draft->short_name = *known - 1;
    return 0;
}

/* Adds the full name of a symbol: "symbol<0123456789abcdef>". */
static int
tag_symbol(struct maker *m, const struct location *location, uint32_t *number)
{
    buffer_clear(&m->scratch);
    buffer_text(&m->scratch, location->symbol);
    buffer_char(&m->scratch, '<');
    granularity_address(&m->scratch, location->symbol_start);
    buffer_char(&m->scratch, '>');
    return add_scratch(m, m->full, number);
}

/* Whether symbol begins with a short name.  For an inlined frame the first byte
 * usually shows that it does not. */
static bool
symbol_begins_with_name(const char *symbol, const struct maker *m,
                        uint32_t short_name)
{
    const char *name = texts_get(m->texts, short_name);
    size_t size = texts_size(m->texts, short_name);

    return size == 0 ||
           (symbol[0] == name[0] && strncmp(symbol, name, size) == 0);
}

/* jeprof prefers the symbol that nm shows at the address, tagged with its
 * start, if it begins with the frame's short name, even for an inlined frame.
 * With plain names, only an outermost frame that has the symbol's name is
 * tagged. */
static int
draft_frame(struct maker *m, const struct location *location, uint32_t i,
            struct draft *draft)
{
    struct draft symbol;

    if (add_shortened_name(m, location->frames[i].function,
                           frame_is_label(&location->frames[i]), draft) != 0)
        return -1;
    if (!location->symbol ||
        (m->jeprof_names
             ? !symbol_begins_with_name(location->symbol, m, draft->short_name)
             : i + 1 < location->frame_count))
        return 0;
    if (add_shortened_name(m, location->symbol, false, &symbol) != 0)
        return -1;
    if (!m->jeprof_names && symbol.short_name != draft->short_name)
        return 0;
    *draft = symbol;
    return tag_symbol(m, location, &draft->full_name);
}

/* Whether a full name ends in "<hexadecimal digits>". */
static bool
is_tagged(const char *name)
{
    const char *open = strrchr(name, '<');
    size_t digits = open ? strspn(open + 1, "0123456789abcdefABCDEF") : 0;

    return digits > 0 && strcmp(open + 1 + digits, ">") == 0;
}

/* The content of the "<...>" at the end of a full name, without leading zeros;
 * NULL: there is none.  Perl's /<0*([^>]*)>$/, as jeprof has it. */
static const char *
tag_of(const char *name, size_t *size)
{
    size_t end = strlen(name), start;
    const char *open;

    if (end == 0 || name[end - 1] != '>')
        return NULL;
    for (start = end - 1; start > 0 && name[start - 1] != '>';)
        start--;
    open = memchr(name + start, '<', end - 1 - start);
    if (!open)
        return NULL;
    for (open++; *open == '0';)
        open++;
    *size = (size_t)(name + end - 1 - open);
    return open;
}

static struct draft
draft_of(const struct maker *m, uint32_t frame)
{
    return (struct draft){m->short_names[frame], m->names[frame]};
}

/* The draft of a location's outermost frame, the only one that jeprof looks at
 * for ambiguous names. */
static struct draft
outermost_draft(const struct maker *m, const uint32_t *first, size_t location)
{
    return draft_of(m, first[location + 1] - 1);
}

static int
disambiguate_short_names(struct maker *m, const uint32_t *first)
{
    struct draft draft;
    const char *tag;
    uint32_t number;
    size_t size;

    for (size_t i = 0; i < m->profile->location_count; i++) {
        draft = outermost_draft(m, first, i);
        if (!is_tagged(texts_get(m->full, draft.full_name)))
            continue;
        if (m->seen[draft.short_name] == 0)
            m->seen[draft.short_name] = draft.full_name + 1;
        else if (m->seen[draft.short_name] != draft.full_name + 1)
            m->ambiguous[draft.short_name] = true;
    }
    for (size_t i = 0; i < m->profile->location_count; i++) {
        draft = outermost_draft(m, first, i);
        if (!m->ambiguous[draft.short_name] || m->unique[draft.full_name])
            continue;
        tag = tag_of(texts_get(m->full, draft.full_name), &size);
        if (!tag)
            continue;
        buffer_clear(&m->scratch);
        buffer_text(&m->scratch, texts_get(m->texts, draft.short_name));
        buffer_char(&m->scratch, '@');
        buffer_add(&m->scratch, tag, size);
        if (add_scratch(m, m->texts, &number) != 0)
            return -1;
        m->unique[draft.full_name] = number + 1;
    }
    return 0;
}

/* Whether a function is a Run, whose name depends on its callee: Perl's
 * /Callback.*::Run$/ in jeprof. */
static bool
is_run(const char *name, size_t size)
{
    static const char head[] = "Callback", tail[] = "::Run";
    const size_t head_size = sizeof(head) - 1, tail_size = sizeof(tail) - 1;

    return size >= head_size + tail_size &&
           memcmp(name + size - tail_size, tail, tail_size) == 0 &&
           memmem(name, size - tail_size, head, head_size) != NULL;
}

static int
name_inlined(struct maker *m, uint32_t *name)
{
    uint32_t *known = &m->inlined[*name];

    if (*known == 0) {
        buffer_clear(&m->scratch);
        buffer_text(&m->scratch, texts_get(m->texts, *name));
        buffer_text(&m->scratch, " (inline)");
        if (add_scratch(m, m->texts, known) != 0)
            return -1;
        ++*known;
    }
    *name = *known - 1;
    return 0;
}

static int
name_function(struct maker *m, const struct draft *draft, bool inlined,
              uint32_t *name, bool *run)
{
    uint32_t unique = m->unique[draft->full_name];

    *name = unique ? unique - 1 : draft->short_name;
    if (inlined)
        return name_inlined(m, name);
    *run = is_run(texts_get(m->texts, *name), texts_size(m->texts, *name)) &&
           m->granularity != GRANULARITY_FILES;
    return 0;
}

/* A Run's name depends on the stack: see stack_names.c. */
static int
name_frame(struct maker *m, const struct location *location, uint32_t i,
           const struct draft *draft, uint32_t *name, bool *run)
{
    bool inlined = i + 1 < location->frame_count;

    if (name_function(m, draft, inlined, name, run) != 0)
        return -1;
    if (m->granularity == GRANULARITY_FUNCTIONS || *run)
        return 0;
    buffer_clear(&m->scratch);
    granularity_name(&m->scratch, m->granularity, texts_get(m->texts, *name),
                     &location->frames[i], location->address);
    return add_scratch(m, m->texts, name);
}

/* A sum has no lists of wrappers: each node has said which of its own frames
 * are the allocator's. */
int
symbols_part(const struct profile *profile, const struct view_options *options,
             struct arena *arena, struct texts *texts, struct symbols *symbols)
{
    size_t count = profile->location_count;
    struct allocator_part *parts = arena_alloc(arena, count * sizeof(*parts));
    struct allocator_rule rule = {.jeprofs = options->allocator_frames};

    if (profile->nodes == 0) {
        rule.wrappers = options->wrappers;
        rule.known = known_wrappers(profile->program, options->wrappers);
    }
    symbols->parts = parts;
    return parts ? allocator_parts(&rule, profile->locations, count, texts,
                                   symbols->first, symbols->short_names, parts)
                 : -1;
}

static int
count_frames(const struct profile *profile, uint32_t *first)
{
    for (size_t i = 0; i < profile->location_count; i++)
        if (__builtin_add_overflow(first[i], profile->locations[i].frame_count,
                                   &first[i + 1]))
            return -1;
    return 0;
}

/* Whether the location before has the same frame, counted from the outermost.
 * Addresses ascend, so most have the symbol and the outer frames of the one
 * before, and their drafts are copied. */
static bool
is_frame_repeated(const struct location *location, uint32_t frame)
{
    const struct location *before = location - 1;
    uint32_t outer = location->frame_count - frame;

    return before->frame_count >= outer && before->symbol == location->symbol &&
           before->symbol_start == location->symbol_start &&
           before->frames[before->frame_count - outer].function ==
               location->frames[frame].function;
}

static int
draft_all(struct maker *m, const uint32_t *first)
{
    struct draft draft;

    for (size_t i = 0; i < m->profile->location_count; i++) {
        const struct location *location = &m->profile->locations[i];

        for (uint32_t k = 0; k < location->frame_count; k++) {
            if (i > 0 && is_frame_repeated(location, k))
                draft = draft_of(m, first[i] + k - location->frame_count);
            else if (draft_frame(m, location, k, &draft) != 0)
                return -1;
            m->short_names[first[i] + k] = draft.short_name;
            m->names[first[i] + k] = draft.full_name;
        }
    }
    return 0;
}

static int
name_all_frames(struct maker *m, const uint32_t *first, bool *runs)
{
    for (size_t i = 0; i < m->profile->location_count; i++)
        for (uint32_t k = first[i]; k < first[i + 1]; k++) {
            struct draft draft = draft_of(m, k);

            if (name_frame(m, &m->profile->locations[i], k - first[i], &draft,
                           &m->names[k], &runs[k]) != 0)
                return -1;
        }
    return 0;
}

int
symbols_make(const struct profile *profile, const struct view_options *options,
             struct arena *arena, struct texts *texts, struct symbols *out)
{
    struct maker m = {.profile = profile,
                      .granularity = options->granularity,
                      .jeprof_names = options->jeprof_names,
                      .texts = texts};
    size_t locations = profile->location_count, count;
    uint32_t *first = arena_alloc(arena, (locations + 1) * sizeof(*first));
    bool *runs;
    int rc = -1;

    buffer_init(&m.scratch, NAME_BYTES_MAX);
    if (!first || count_frames(profile, first) != 0)
        goto out;
    /* Borrows the texts of names instead of storing them twice. */
    m.full = texts_new_borrowing(arena, profile->names != NULL);
    m.names = arena_alloc(arena, first[locations] * sizeof(*m.names));
    m.short_names =
        arena_alloc(arena, first[locations] * sizeof(*m.short_names));
    runs = arena_alloc(arena, first[locations] * sizeof(*runs));
    if (!m.full || !m.names || !m.short_names || !runs ||
        draft_all(&m, first) != 0)
        goto out;
    count = texts_count(texts);
    m.seen = mem_zalloc(count, sizeof(*m.seen));
    m.ambiguous = mem_zalloc(count, sizeof(*m.ambiguous));
    m.unique = mem_zalloc(texts_count(m.full), sizeof(*m.unique));
    if (!m.seen || !m.ambiguous || !m.unique ||
        disambiguate_short_names(&m, first) != 0)
        goto out;
    m.inlined = mem_zalloc(texts_count(texts), sizeof(*m.inlined));
    if (!m.inlined || name_all_frames(&m, first, runs) != 0)
        goto out;
    *out = (struct symbols){first,
                            m.names,
                            m.short_names,
                            runs,
                            memchr(runs, true, first[locations]) != NULL,
                            NULL};
    rc = symbols_part(profile, options, arena, texts, out);
out:
    buffer_fini(&m.scratch);
    texts_free(m.full);
    mem_free(m.shortened);
    mem_free(m.seen);
    mem_free(m.ambiguous);
    mem_free(m.unique);
    mem_free(m.inlined);
    return rc;
}
