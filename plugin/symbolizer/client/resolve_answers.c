/*
 * resolve_answers.c - turns answers of the cache or the helper into names.  See
 * resolve_job.h.
 */
#include <stdio.h>
#include <string.h>

#include "clean_text.h"
#include "errors.h"
#include "locate_inner.h"
#include "mappings.h"
#include "memory.h"
#include "names.h"
#include "resolve_job.h"
#include "symbolizer_wire.h"

enum { TEXTS_FIRST = 1024 };

static void
count_named(const struct resolve_job *job)
{
    if (job->request->named)
        __atomic_add_fetch(job->request->named, 1, __ATOMIC_RELAXED);
}

static void
add(struct resolve_job *job, uint64_t address, const struct frame *frames,
    uint32_t count, bool in_allocator)
{
    if (names_add(job->names, address, frames, count, in_allocator) != 0)
        job->no_memory = true;
    count_named(job);
}

void
resolve_answers_plain(struct resolve_job *job, uint64_t address,
                      const char *module, uint64_t offset, bool in_allocator)
{
    char text[MODULE_MAX + 24];
    struct frame frame = {text, "", 0};

    snprintf(text, sizeof(text), "%s%s0x%llx", module, module[0] ? "+" : "",
             (unsigned long long)offset);
    add(job, address, &frame, 1, in_allocator);
}

/* Whether an offset without a name is the allocator's. */
static bool
is_inner(struct resolve_object *object, uint64_t offset)
{
    uint64_t address;
    struct error why;

    if (object->in_allocator || object->mallctl == 0)
        return object->in_allocator;
    if (!object->inner)
        object->inner = locate_inner_new(&object->elf, object->mallctl, &why);
    if (!object->inner) {
        resolve_complain(object->job, object->module, why.text);
        object->mallctl = 0; /* do not ask again */
    }
    return object->inner && elf_address_of(&object->elf, offset, &address) &&
           locate_inner_has(object->inner, address);
}

/* A cached name that starts with '+' is an offset: in the next process the
 * module may have another name. */
static void
add_known(struct resolve_object *object, const struct resolve_item *item,
          const struct location *known)
{
    struct resolve_job *job = object->job;
    char text[MODULE_MAX + 24];
    struct frame frame = known->frames[0];
    const struct frame *frames = known->frames;
    bool in_allocator = object->in_allocator;

    if (frame.function[0] == '+' && known->frame_count == 1) {
        snprintf(text, sizeof(text), "%s%.20s", object->module, frame.function);
        frame.function = text;
        frames = &frame;
        in_allocator = is_inner(object, item->offset);
    }
    add(job, item->address, frames, known->frame_count, in_allocator);
    if (known->symbol &&
        names_set_symbol(job->names, item->address, known->symbol,
                         known->symbol_start) != 0)
        job->no_memory = true;
}

bool
resolve_answers_take_text(void *arg, struct span text)
{
    struct resolve_job *job = ((struct resolve_object *)arg)->job;
    uint32_t room = job->text_room ? job->text_room * 2 : TEXTS_FIRST;
    char clean[WIRE_NAME_MAX + 1];
    const char **grown;

    if (text.size > WIRE_NAME_MAX)
        return false;
    if (job->text_count == job->text_room) {
        grown = mem_realloc(job->texts, room * sizeof(*grown));
        if (!grown)
            return false;
        job->texts = grown;
        job->text_room = room;
    }
    clean_text(text, clean);
    grown = &job->texts[job->text_count];
    *grown = names_text(job->names, (struct span){clean, text.size});
    if (!*grown)
        return false;
    job->text_count++;
    return true;
}

/* NULL: the number is invalid. */
static const char *
text_of(const struct resolve_job *job, uint32_t number)
{
    if (number == 0)
        return "";
    return number <= job->text_count ? job->texts[number - 1] : NULL;
}

static const char *
text_kept(struct resolve_job *job, const char *text)
{
    return names_text(job->names, (struct span){text, strlen(text)});
}

/* Sets the answer's address and module in this process. */
static bool
add_answer(struct resolve_object *object, struct resolve_item *item,
           const struct location *answer)
{
    struct resolve_job *job = object->job;
    struct location location = *answer;
    struct frame frame = answer->frames[0];
    char text[MODULE_MAX + 24];

    location.in_allocator = object->in_allocator;
    if (frame.function[0] == '+' && location.frame_count == 1) {
        snprintf(text, sizeof(text), "%s%.20s", object->module, frame.function);
        frame.function = text_kept(job, text);
        location.frames = &frame;
        location.in_allocator = is_inner(object, item->offset);
    }
    if (!object->module_text)
        object->module_text = text_kept(job, object->module);
    location.address = item->address;
    location.module = object->module_text;
    if (!elf_address_of(&object->elf, item->offset, &location.module_offset))
        location.module_offset = item->offset;
    if (!frame.function || !location.module ||
        names_add_own(job->names, &location) != 0)
        job->no_memory = true;
    item->named = true;
    count_named(job);
    return !job->no_memory;
}

void
resolve_answers_cached(struct resolve_object *object,
                       const struct resolve_item *item,
                       const struct location *known)
{
    struct resolve_job *job = object->job;

    if (known->frames[0].function[0] == '+') { /* needs its module */
        add_known(object, item, known);
        return;
    }
    if (names_add_known(job->names, item->address, known,
                        object->in_allocator) != 0)
        job->no_memory = true;
    count_named(job);
}

bool
resolve_answers_add(struct resolve_object *object,
                    const struct location *answer)
{
    struct resolve_job *job = object->job;
    struct location named = *answer;
    struct frame frame = answer->frames[0];
    struct resolve_item *item = object->items + object->asked_first[0];
    struct resolve_item *end = object->items + object->count;
    char start[24];

    if (frame.function[0] == '\0') {
        snprintf(start, sizeof(start), "+0x%llx",
                 (unsigned long long)answer->symbol_start);
        frame.function = start;
        named.frames = &frame;
    }
    if (!named.symbol)
        named.symbol_start = 0;
    if (!job->s->once)
        symbol_cache_add(job->s->cache, &object->key, item->offset, &named);
    for (uint64_t offset = item->offset; item < end && item->offset == offset;
         item++)
        if (!add_answer(object, item, &named))
            return false;
    object->asked++;
    object->asked_first++;
    object->asked_count--;
    return true;
}

bool
resolve_answers_take(void *arg, const struct wire_reply *reply)
{
    struct resolve_object *object = arg;
    const struct resolve_job *job = object->job;
    struct frame frames[NAMES_INLINE_MAX];
    struct location answer = {.frames = frames,
                              .frame_count = reply->frame_count,
                              .symbol_start = reply->start,
                              .module = ""};

    frames[0] = (struct frame){"", "", 0};
    for (uint32_t i = 0; i < reply->frame_count; i++) {
        frames[i].function = text_of(job, reply->frames[i].function);
        frames[i].file = text_of(job, reply->frames[i].file);
        frames[i].line = reply->frames[i].line;
        if (!frames[i].function || !frames[i].file)
            return false;
    }
    if (reply->symbol && !(answer.symbol = text_of(job, reply->symbol)))
        return false;
    return resolve_answers_add(object, &answer);
}

void
resolve_answers_take_refusal(void *arg, struct span why)
{
    struct resolve_object *object = arg;

    if (why.size > sizeof(object->refused) - 1)
        why.size = sizeof(object->refused) - 1;
    clean_text(why, object->refused);
    if (!object->refused[0])
        snprintf(object->refused, sizeof(object->refused), "it is damaged");
}

void
resolve_answers_offsets(struct resolve_object *object)
{
    const struct resolve_item *items = object->items;
    struct resolve_job *job = object->job;
    uint64_t address;

    for (size_t i = 0; i < object->count; i++) {
        if (items[i].named)
            continue;
        if (!elf_address_of(&object->elf, items[i].offset, &address))
            address = items[i].offset;
        if (!names_find(job->names, items[i].address))
            resolve_answers_plain(job, items[i].address, object->module,
                                  address, is_inner(object, items[i].offset));
        if (names_set_module(job->names, items[i].address, object->module,
                             address) != 0)
            job->no_memory = true;
    }
}
