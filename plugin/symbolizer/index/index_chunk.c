/* index_chunk.c - see index_chunk.h. */
#include "index_chunk.h"

#include <endian.h>
#include <string.h>

#define ODDS_INIT(odds) index_odds_init(odds, sizeof(*(odds)))

/* from + step, if it is a valid number. */
static uint32_t
go(struct index_coder *coder, uint64_t from, int64_t step)
{
    uint64_t to = from + (uint64_t)step;

    if (to <= UINT32_MAX)
        return (uint32_t)to;
    coder->failed = true;
    return 0;
}

static void
recent_init(struct index_recent *recent, uint32_t newest)
{
    recent->count = 0;
    recent->newest = newest;
    ODDS_INIT(&recent->which);
    ODDS_INIT(&recent->ahead);
}

/* Moves the i-th to the front. */
static void
recent_front(struct index_recent *recent, uint32_t i)
{
    uint32_t number = recent->number[i], line = recent->line[i];

    memmove(recent->number + 1, recent->number, i * sizeof(uint32_t));
    memmove(recent->line + 1, recent->line, i * sizeof(uint32_t));
    recent->number[0] = number;
    recent->line[0] = line;
}

/* A new number is usually the highest plus one; *was: how long ago it was used,
 * 0 never. */
static uint32_t
code_recent(struct index_coder *coder, struct index_recent *recent,
            uint32_t number, uint64_t *was)
{
    uint32_t i = 0;

    if (coder->out) {
        while (i < recent->count && recent->number[i] != number)
            i++;
        *was = i < recent->count ? i + 1 : 0;
    }
    *was = index_code_number(coder, &recent->which, *was);
    if (*was > recent->count) {
        coder->failed = true;
        return 0;
    }
    if (*was > 0) {
        recent_front(recent, (uint32_t)*was - 1);
        return recent->number[0];
    }
    number = go(coder, (uint64_t)recent->newest + 1,
                index_code_signed(coder, &recent->ahead,
                                  (int64_t)number - recent->newest - 1));
    if (number > recent->newest)
        recent->newest = number;
    if (recent->count < INDEX_RECENT)
        recent->count++;
    recent->number[recent->count - 1] = number;
    recent->line[recent->count - 1] = 0;
    recent_front(recent, recent->count - 1);
    return number;
}

/* A line of the file just coded. */
static uint32_t
code_line(struct index_coder *coder, struct index_recent *files,
          struct index_number_odds *odds, uint32_t line)
{
    int64_t step = (int64_t)line - files->line[0];

    step = index_code_signed(coder, odds, step);
    return files->line[0] = go(coder, files->line[0], step);
}

/* ---- code ---- */

static void
code_symbol(struct index_code_odds *odds, struct index_coder *coder,
            struct index_event *event, uint32_t *newest)
{
    int64_t step = (int64_t)event->name - *newest - 1;

    event->back = index_code_number(coder, &odds->back, event->back);
    if (index_code_bit(coder, &odds->unnamed, event->name == 0)) {
        event->name = 0;
        return;
    }
    step = index_code_signed(coder, &odds->name, step);
    event->name = go(coder, (uint64_t)*newest + 1, step);
    *newest = event->name;
}

static void
code_row(struct index_code_odds *odds, struct index_coder *coder,
         struct index_event *event)
{
    uint64_t was = 0;
    unsigned kind;

    event->file = code_recent(coder, &odds->files, event->file, &was);
    kind = (was != 1 ? 2 : 0) + (event->kinds & INDEX_EVENT_RANGE ? 1 : 0);
    event->line =
        code_line(coder, &odds->files, &odds->line[kind], event->line);
}

bool
index_chunk_events(struct index_chunk *chunk, struct index_coder *coder,
                   struct index_event *events, uint32_t count)
{
    struct index_code_odds *odds = &chunk->code;
    uint32_t kinds = 7, newest = 0;

    ODDS_INIT(&odds->kinds);
    ODDS_INIT(&odds->unnamed);
    ODDS_INIT(&odds->step);
    ODDS_INIT(&odds->back);
    ODDS_INIT(&odds->name);
    ODDS_INIT(&odds->line);
    recent_init(&odds->ranges, INDEX_LEFT_OUT);
    recent_init(&odds->files, 0);
    for (uint32_t i = 0; i < count && !coder->failed; i++) {
        struct index_event *event = &events[i];
        uint64_t step = 0, was = 0;

        if (i > 0) {
            if (coder->out)
                step = event->address - event[-1].address - 1;
            step = index_code_number(coder, &odds->step[kinds], step);
            event->address = event[-1].address + step + 1;
            kinds = index_code_tree(coder, odds->kinds[kinds], 3, event->kinds);
            if (event->address - events[0].address > UINT32_MAX || kinds == 0)
                return false;
        }
        event->kinds = kinds;
        if (kinds & INDEX_EVENT_RANGE)
            event->range =
                code_recent(coder, &odds->ranges, event->range, &was);
        if (kinds & INDEX_EVENT_SYMBOL)
            code_symbol(odds, coder, event, &newest);
        if (kinds & INDEX_EVENT_ROW)
            code_row(odds, coder, event);
    }
    return !coder->failed;
}

/* ---- nodes ---- */

static void
code_name(struct index_node_odds *odds, struct index_coder *coder,
          struct index_chunk_node *node, unsigned inner, uint32_t *root)
{
    uint32_t name = node->function / 8, flags = node->function % 8;
    int64_t step = (int64_t)name - *root - 1;
    uint64_t was = 0;

    flags = index_code_tree(coder, odds->flags[inner], 3, flags);
    if (inner)
        name = code_recent(coder, &odds->names, name, &was);
    else
        name = *root = go(coder, (uint64_t)*root + 1,
                          index_code_signed(coder, &odds->root, step));
    if (name > INDEX_ITEMS_MAX) {
        coder->failed = true;
        name = 0;
    }
    node->function = name * 8 + flags;
}

bool
index_chunk_nodes(struct index_chunk *chunk, struct index_coder *coder,
                  struct index_chunk_node *nodes, uint32_t count)
{
    struct index_node_odds *odds = &chunk->nodes;
    uint32_t root = 0;
    unsigned inner = 0;

    ODDS_INIT(&odds->flags);
    ODDS_INIT(&odds->placed);
    ODDS_INIT(&odds->up);
    ODDS_INIT(&odds->root);
    ODDS_INIT(&odds->line);
    recent_init(&odds->names, 0);
    recent_init(&odds->files, 0);
    for (uint32_t i = 0; i < count && !coder->failed; i++) {
        struct index_chunk_node *node = &nodes[i];
        uint64_t was = 0;

        node->up =
            go(coder, 0,
               (int64_t)index_code_number(coder, &odds->up[inner], node->up));
        inner = node->up > 0;
        code_name(odds, coder, node, inner, &root);
        if (!index_code_bit(coder, &odds->placed[inner],
                            node->file || node->line)) {
            node->file = node->line = 0;
            continue;
        }
        node->file = code_recent(coder, &odds->files, node->file, &was);
        node->line =
            code_line(coder, &odds->files, &odds->line[was != 1], node->line);
    }
    return !coder->failed;
}

/* ---- texts ---- */

void
index_chunk_texts(struct index_chunk *chunk)
{
    struct index_text_odds *odds = &chunk->texts;

    ODDS_INIT(&odds->byte);
    ODDS_INIT(&odds->again);
    ODDS_INIT(&odds->same);
    memset(odds->seen, 0, sizeof(odds->seen));
}

/* Adds place; returns where the same bytes were before, or 0; *like: how many.
 */
static size_t
seen_before(struct index_text_odds *odds, const char *texts, size_t place,
            size_t *like)
{
    uint32_t four;
    uint16_t *seen;
    size_t found;

    *like = 0;
    if (place < sizeof(four))
        return 0;
    memcpy(&four, texts + place - sizeof(four), sizeof(four));
    seen =
        &odds->seen[le32toh(four) * 2654435761U >> (32 - INDEX_TEXT_HASH_BITS)];
    found = *seen;
    *seen = (uint16_t)place;
    while (*like < INDEX_TEXT_AGAIN && *like < found &&
           texts[found - 1 - *like] == texts[place - 1 - *like])
        ++*like;
    return *like >= sizeof(four) ? found : 0;
}

/* The byte at place, 0 past the end. */
static uint8_t
code_byte(struct index_text_odds *odds, struct index_coder *coder,
          const char *texts, size_t place, uint8_t byte)
{
    unsigned context = place ? (uint8_t)texts[place - 1] : 0;
    size_t like, found = seen_before(odds, texts, place, &like);

    if (found && index_code_bit(coder, &odds->again[like - 1],
                                byte == (uint8_t)texts[found]))
        return (uint8_t)texts[found];
    return (uint8_t)index_code_tree(coder,
                                    odds->byte[context % INDEX_TEXT_CONTEXTS],
                                    INDEX_TREE_BITS, byte);
}

bool
index_chunk_text(struct index_chunk *chunk, struct index_coder *coder,
                 char *texts, size_t at, size_t before, size_t *size)
{
    const char *last = texts + (at ? at - before - 1 : 0);
    char *text = texts + at;
    size_t room = INDEX_CHUNK_TEXTS - at, same = 0, i;

    if (at >= INDEX_CHUNK_TEXTS || (coder->out && *size >= room))
        return false;
    if (coder->out)
        while (same < before && same < *size && last[same] == text[same])
            same++;
    i = (size_t)index_code_number(coder, &chunk->texts.same, same);
    if (coder->failed || i > before || i >= room)
        return false;
    if (!coder->out && i > 0)
        memcpy(text, last, i);
    for (;; i++) {
        uint8_t byte = 0;

        if (coder->out && i < *size && (byte = (uint8_t)text[i]) == 0)
            return false;
        byte = code_byte(&chunk->texts, coder, texts, at + i, byte);
        text[i] = (char)byte;
        if (byte == 0)
            break;
        if (i == INDEX_TEXT_MAX || i + 1 >= room)
            return false;
    }
    *size = i;
    return true;
}
