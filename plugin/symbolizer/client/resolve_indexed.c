/*
 * resolve_indexed.c - see resolve_job.h: answers addresses by an object's
 * symbol index in this process, if it can afford to crash (heapwire-prof).
 *
 * A question to the helper costs its start and two copies of each name; an
 * index is a file that several threads can search at once.  Each looks up a
 * part of the addresses, with its own names, so that no lock is needed.  This
 * thread makes names of the results in order: first of its own part, which is
 * smaller, while the others still look up theirs.  Addresses that the index
 * does not know stay asked, and go to the helper.
 */
#include <pthread.h>
#include <string.h>

#include "addr2line_names.h"
#include "buffer.h"
#include "clean_text.h"
#include "clock.h"
#include "elf_file.h"
#include "errors.h"
#include "function_name.h"
#include "memory.h"
#include "names.h"
#include "resolve_job.h"
#include "symbol_index.h"
#include "symbolizer_wire.h"
#include "texts.h"
#include "thread.h"

enum {
    PART_BITS = 3, /* bits of a text's number that say which part has it */
    PARTS_MAX = 1 << PART_BITS,
    PART_WORTH = 256, /* fewer addresses are not worth a thread */
    AHEAD = 8,        /* names' slots are prefetched by this many addresses */
    FIRST_SHARE = 6,  /* size of the first part, which is this thread's */
    SHARE = 7, /* size of each other part: making a name takes a sixth of a
                * look-up */
    SCRATCH_MAX = 1 << 20,
    STACK = 1 << 20
};

_Static_assert((uint64_t)TEXTS_MAX << PART_BITS < UINT32_MAX,
               "a text's number and its part share 32 bits");

/* Addresses that one thread looks up. */
struct part {
    struct indexed *all;
    struct symbol_index *index;
    struct names *names; /* the first part uses the job's */
    const char *
        *lasting; /* the job's copy by number; NULL if names are the job's */
    const uint64_t *addresses;
    uint32_t count;
    struct buffer scratch; /* a short name */
    bool failed;
    bool running;
    pthread_t thread;
};

struct indexed {
    struct resolve_object *object;
    uint64_t *addresses; /* asked addresses, as the file has them */
    struct part parts[PARTS_MAX];
    uint32_t part_count;
};

/* ---- texts ---- */

/* The short name, in scratch.  Names that end in "<...>" stay whole, because
 * that may distinguish them; so do those whose short name would begin with '+',
 * which means an offset. */
static struct span
shorten_indexed_name(struct part *part, struct span name)
{
    buffer_clear(&part->scratch);
    if (name.data[name.size - 1] != '>')
        function_name_shorten(name, &part->scratch);
    return part->scratch.size > 0 && part->scratch.data[0] != '+'
               ? (struct span){part->scratch.data, part->scratch.size}
               : name;
}

/* symbol_index_question.text */
static int
take_indexed_text(void *arg, struct span text, enum symbol_index_use use,
                  uint32_t *number)
{
    struct part *part = arg;
    const struct symbolizer *s = part->all->object->job->s;
    size_t max = use == INDEX_USE_FILE ? WIRE_FILE_MAX : WIRE_NAME_MAX;
    char clean[WIRE_NAME_MAX + 1];

    *number = 0;
    if (text.size > max)
        text.size = max;
    if (!text_is_plain(text)) {
        text.size = strnlen(text.data, text.size);
        clean_text(text, clean);
        text.data = clean;
    }
    if (text.size == 0) /* "" means that there is no name */
        return 0;
    if (use == INDEX_USE_FUNCTION && s->short_names)
        text = shorten_indexed_name(part, text);
    if (part->scratch.failed)
        return -1;
    if (texts_add(names_texts(part->names), text.data, text.size, number) != 0)
        return -1;
    *number = *number << PART_BITS | (uint32_t)(part - part->all->parts);
    ++*number; /* 0 means none */
    return 0;
}

/* The text of a number, which belongs to the job's names. */
static const char *
indexed_text_by_number(const struct indexed *all, uint32_t number)
{
    const struct part *part = &all->parts[(number - 1) & (PARTS_MAX - 1)];

    number = (number - 1) >> PART_BITS;
    return part->lasting ? part->lasting[number]
                         : texts_get(names_texts(part->names), number);
}

/* A text of the job's names.  Only few texts have no number. */
static const char *
keep_indexed_text(const struct indexed *all, const char *text, uint32_t number)
{
    if (number)
        return indexed_text_by_number(all, number);
    return *text ? names_text(all->object->job->names,
                              (struct span){text, strlen(text)})
                 : "";
}

/* ---- look-ups ---- */

/* NULL: the index is unusable; the helper will say why. */
static struct symbol_index *
open_object_index(const struct resolve_object *object)
{
    struct error ignored;

    return symbol_index_open(object->index_fd, object->elf.build_id,
                             object->elf.build_id_size, &ignored);
}

/* symbol_index_question.stop: a hostile file may make a look-up endless. */
static bool
is_index_lookup_late(void *arg)
{
    const struct part *part = arg;

    return clock_ms() >= part->all->object->job->until;
}

/* Runs in a thread of its own, but for the first part.  Each opens the index
 * itself: its blocks and groups are one thread's. */
static void *
look_up_part_addresses(void *arg)
{
    struct part *part = arg;
    const struct symbolizer *s = part->all->object->job->s;
    const struct symbol_index_question question = {.addresses = part->addresses,
                                                   .count = part->count,
                                                   .no_lines = s->no_lines,
                                                   .with_symbols =
                                                       s->short_names,
                                                   .text = take_indexed_text,
                                                   .stop = is_index_lookup_late,
                                                   .arg = part};

    if (!part->index)
        part->index = open_object_index(part->all->object);
    if (!part->names)
        part->names = names_new(NAMES_BYTES_MAX);
    part->failed = !part->index || !part->names ||
                   symbol_index_look_up(part->index, &question) != 0;
    return NULL;
}

/* Ascending parts, so that each thread reads other blocks of the index. */
static void
split_asked_addresses(struct indexed *all)
{
    uint32_t count = (uint32_t)all->object->asked_count;
    unsigned cores = thread_cores();
    uint32_t shares;

    all->part_count = 1 + count / PART_WORTH;
    if (all->part_count > cores)
        all->part_count = cores;
    if (all->part_count > PARTS_MAX)
        all->part_count = PARTS_MAX;
    shares = FIRST_SHARE + (all->part_count - 1) * SHARE;
    for (uint32_t i = 0, first = 0; i < all->part_count; i++) {
        struct part *part = &all->parts[i];
        uint64_t end = FIRST_SHARE + (uint64_t)i * SHARE;

        part->all = all;
        part->addresses = all->addresses + first;
        part->count = (uint32_t)(count * end / shares) - first;
        first += part->count;
        buffer_init(&part->scratch, SCRATCH_MAX);
    }
}

static void
start_all(struct indexed *all)
{
    struct thread_start start = {.name = "hw-index",
                                 .stack_bytes = STACK,
                                 .body = look_up_part_addresses};

    for (uint32_t i = 1; i < all->part_count; i++) {
        start.arg = &all->parts[i];
        all->parts[i].running =
            thread_start(&all->parts[i].thread, &start, NULL) == 0;
    }
}

/* Copies the part's texts to the job's; false: no memory. */
static bool
copy_part_texts(struct part *part)
{
    struct names *names = part->all->object->job->names;
    const struct texts *texts = names_texts(part->names);
    uint32_t count = texts_count(texts);

    part->lasting = mem_zalloc(count, sizeof(*part->lasting));
    if (!part->lasting)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        part->lasting[i] = names_text(
            names, (struct span){texts_get(texts, i), texts_size(texts, i)});
        if (!part->lasting[i])
            return false;
    }
    return true;
}

/* Waits for a part; looks it up here if it got no thread. */
static void
finish_index_part(struct part *part)
{
    if (part->running)
        pthread_join(part->thread, NULL);
    else
        look_up_part_addresses(part);
    if (!part->failed && part->names != part->all->object->job->names)
        part->failed = !copy_part_texts(part);
}

/* ---- answers ---- */

/* Adds the answer for the part's i-th address. 1: added; 0: the index does not
 * know it, or not completely; -1: no memory. */
static int
take_indexed_answer(struct indexed *all, struct part *part, uint32_t i,
                    struct addr2line_names *names)
{
    struct addr2line_numbers numbers[NAMES_INLINE_MAX];
    struct frame frames[NAMES_INLINE_MAX];
    struct location answer = {.frames = frames, .module = ""};
    struct addr2line_name holder;
    struct index_symbol symbol;
    struct code_chain chain;

    if (part->failed ||
        symbol_index_answer(part->index, i, &chain, &symbol) != INDEX_KNOWN)
        return 0;
    holder = (struct addr2line_name){symbol.name, true, true, symbol.number};
    if (addr2line_names_frames(names, &chain, &holder, frames, numbers,
                               &answer.frame_count) != 0)
        return -1;
    if (frames[0].function[0] == '\0' && symbol.start == 0)
        return 0; /* without a name the helper may know more */
    for (uint32_t k = 0; k < answer.frame_count; k++) {
        frames[k].function =
            keep_indexed_text(all, frames[k].function, numbers[k].function);
        frames[k].file =
            keep_indexed_text(all, frames[k].file, numbers[k].file);
        if (!frames[k].function || !frames[k].file)
            return -1;
    }
    answer.symbol_start = symbol.start;
    if (symbol.name.size > 0) {
        answer.symbol = keep_indexed_text(all, symbol.name.data, symbol.number);
        if (!answer.symbol)
            return -1;
    }
    return resolve_answers_add(all->object, &answer) ? 1 : -1;
}

/* Adds all answers, in the order of addresses.  Those without one are moved to
 * the front of asked, and stay asked. */
static void
answer_all(struct indexed *all, struct addr2line_names *names)
{
    struct resolve_object *object = all->object;
    uint64_t *asked = object->asked, address;
    size_t *first = object->asked_first, left = 0, at = 0;
    size_t count = object->asked_count;
    int taken = 0;

    for (uint32_t k = 0; k < all->part_count; k++) {
        finish_index_part(&all->parts[k]);
        for (uint32_t i = 0; i < all->parts[k].count; i++, at++) {
            if (at + AHEAD < count)
                names_prefetch(object->job->names,
                               object->items[first[at + AHEAD]].address);
            object->asked = asked + at;
            object->asked_first = first + at;
            if (taken >= 0 && elf_address_of(&object->elf, asked[at], &address))
                taken = take_indexed_answer(all, &all->parts[k], i, names);
            else
                taken = taken < 0 ? taken : 0;
            if (taken > 0)
                continue;
            asked[left] = asked[at];
            first[left++] = first[at];
        }
    }
    object->asked = asked;
    object->asked_first = first;
    object->asked_count = left;
}

static void
indexed_fini(struct indexed *all)
{
    for (uint32_t i = 0; i < all->part_count; i++) {
        struct part *part = &all->parts[i];

        symbol_index_close(part->index);
        if (part->names != all->object->job->names)
            names_free(part->names);
        mem_free(part->lasting);
        buffer_fini(&part->scratch);
    }
    mem_free(all->addresses);
}

void
resolve_indexed(struct resolve_object *object)
{
    struct indexed all = {.object = object};
    struct addr2line_names *names = NULL;
    struct symbol_index *index;
    struct error ignored;

    if (!object->job->s->here || object->index_fd < 0 ||
        object->asked_count == 0)
        return;
    index = open_object_index(object);
    /* an index of symbols must not hide inlined calls that DWARF has */
    if (!index || (symbol_index_symbols_only(index) &&
                   debug_info_may_exist(&object->elf, object->path))) {
        symbol_index_close(index);
        return;
    }
    all.addresses = mem_zalloc(object->asked_count, sizeof(*all.addresses));
    names = addr2line_names_new(NULL, &ignored);
    all.parts[0].index = index;
    all.parts[0].names = object->job->names;
    all.part_count = 1; /* so that indexed_fini frees it */
    if (all.addresses && names) {
        for (size_t i = 0; i < object->asked_count; i++)
            (void)elf_address_of(&object->elf, object->asked[i],
                                 &all.addresses[i]);
        split_asked_addresses(&all);
        start_all(&all);
        answer_all(&all, names);
    }
    addr2line_names_free(names);
    indexed_fini(&all);
}
