/*
 * resolve_answers.c - see resolve_job.h: asks cache and helper about one
 * object, and turns their answers into names.
 *
 * The order of questions is the order of trust and cost: the object's index,
 * then its DWARF, then symbols only.  A question that fails or is late is
 * repeated one step lower with the offsets that still lack an answer: answers
 * that came before a crash are kept.  An object whose DWARF failed stays at
 * symbols for ten minutes (symbol_cache_degrade), so that it costs its deadline
 * once and not at each request.  Texts of the helper are cleaned of control
 * bytes before they become names.  On the thread of symbolizer_resolve.
 */
#include <stdio.h>
#include <string.h>

#include "clean_text.h"
#include "clock.h"
#include "errors.h"
#include "files.h"
#include "helper.h"
#include "locate_inner.h"
#include "memory.h"
#include "names.h"
#include "resolve_job.h"
#include "symbolizer_wire.h"

enum { TEXTS_FIRST = 1024 };

static void
count_named(const struct resolve_job *job)
{
    if (job->request->named)
        atomic_fetch_add_explicit(job->request->named, 1, memory_order_relaxed);
}

static void
add_resolved_address(struct resolve_job *job, uint64_t address,
                     const struct frame *frames, uint32_t count,
                     bool in_allocator)
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
    add_resolved_address(job, address, &frame, 1, in_allocator);
}

/* Whether an offset without a name lies in the allocator.  In a stripped
 * program that contains jemalloc only the code itself can tell
 * (locate_inner.h), which is read when first needed. */
static bool
check_inner_allocator(struct resolve_object *object, uint64_t offset)
{
    uint64_t address;
    struct error why;

    if (object->in_allocator || object->mallctl == 0)
        return object->in_allocator;
    if (!object->inner)
        object->inner = locate_inner_new(&object->elf, object->mallctl, &why);
    if (!object->inner) {
        resolve_complain(object->job, object->module, why.text);
        object->mallctl = 0; /* so it is not tried again */
    }
    return object->inner && elf_address_of(&object->elf, offset, &address) &&
           locate_inner_has(object->inner, address);
}

/* Adds an answer of the cache.  A cached name that starts with '+' is an offset
 * without its module: in the next process the module may have another name. */
static void
add_cached_answer(struct resolve_object *object,
                  const struct resolve_item *item, const struct location *known)
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
        in_allocator = check_inner_allocator(object, item->offset);
    }
    add_resolved_address(job, item->address, frames, known->frame_count,
                         in_allocator);
    if (known->symbol &&
        names_set_symbol(job->names, item->address, known->symbol,
                         known->symbol_start) != 0)
        job->no_memory = true;
}

/* The callbacks text, answer and refused of struct helper_question. */
static bool
resolve_answers_take_text(void *arg, struct span text)
{
    struct resolve_job *job = ((struct resolve_object *)arg)->job;
    uint32_t room = job->text_capacity ? job->text_capacity * 2 : TEXTS_FIRST;
    char clean[WIRE_NAME_MAX + 1];
    const char **grown;

    /* the wire has checked that, but clean's size depends on it */
    if (text.size > WIRE_NAME_MAX)
        return false;
    if (job->text_count == job->text_capacity) {
        grown = mem_realloc(job->texts, room * sizeof(*grown));
        if (!grown)
            return false;
        job->texts = grown;
        job->text_capacity = room;
    }
    clean_text(text, clean);
    grown = &job->texts[job->text_count];
    *grown = names_text(job->names, (struct span){clean, text.size});
    if (!*grown)
        return false;
    job->text_count++;
    return true;
}

/* The text of a number; NULL: the number is invalid. */
static const char *
helper_text_by_number(const struct resolve_job *job, uint32_t number)
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

/* Adds an answer of the helper under its address and module in this process. */
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
        location.in_allocator = check_inner_allocator(object, item->offset);
    }
    if (!object->module_text)
        object->module_text = text_kept(job, object->module);
    location.address = item->address;
    location.module = object->module_text;
    /* a damaged file: the offset is better than nothing */
    if (!elf_address_of(&object->elf, item->offset, &location.module_offset))
        location.module_offset = item->offset;
    if (!frame.function || !location.module ||
        names_add_own(job->names, &location) != 0)
        job->no_memory = true;
    item->named = true;
    count_named(job);
    return !job->no_memory;
}

/* known belongs to the cache, which must not change before this returns. */
static void
resolve_answers_cached(struct resolve_object *object,
                       const struct resolve_item *item,
                       const struct location *known)
{
    struct resolve_job *job = object->job;

    if (known->frames[0].function[0] == '+') { /* an offset, which needs its
                                                * module's name */
        add_cached_answer(object, item, known);
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
    /* in the cache without the module, which belongs to the process */
    if (!job->s->once)
        symbol_cache_add(job->s->cache, &object->key, item->offset, &named);
    /* one file may be mapped twice: several addresses have this offset */
    for (uint64_t offset = item->offset; item < end && item->offset == offset;
         item++)
        if (!add_answer(object, item, &named))
            return false;
    object->asked++;
    object->asked_first++;
    object->asked_count--;
    return true;
}

/* An answer refers to texts by number.  The helper may give any: each is
 * checked, and garbage ends it.  Texts are in names already, so nothing is
 * copied. */
static bool
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
        frames[i].function =
            helper_text_by_number(job, reply->frames[i].function);
        frames[i].file = helper_text_by_number(job, reply->frames[i].file);
        frames[i].line = reply->frames[i].line;
        if (!frames[i].function || !frames[i].file)
            return false;
    }
    if (reply->symbol &&
        !(answer.symbol = helper_text_by_number(job, reply->symbol)))
        return false;
    return resolve_answers_add(object, &answer);
}

static void
resolve_answers_take_refusal(void *arg, struct span why)
{
    struct resolve_object *object = arg;

    if (why.size > sizeof(object->refused) - 1)
        why.size = sizeof(object->refused) - 1;
    clean_text(why, object->refused);
    if (!object->refused[0])
        snprintf(object->refused, sizeof(object->refused), "it is damaged");
}

/* Whatever failed, each address has a name in the end: this is the last
 * step. */
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
            resolve_answers_plain(
                job, items[i].address, object->module, address,
                check_inner_allocator(object, items[i].offset));
        if (names_set_module(job->names, items[i].address, object->module,
                             address) != 0)
            job->no_memory = true;
    }
}

/* ---- the question ---- */

/* Each question may take half of the time that is left, so that one endless
 * object does not cost the others their names. */
static struct helper_question
question_of(struct resolve_object *object, bool symbols_only)
{
    uint64_t now = clock_ms();
    uint64_t left = object->job->until > now ? object->job->until - now : 0;

    return (struct helper_question){
        .object_fd = object->elf.fd,
        .index_fd = object->index_fd,
        .path = object->path,
        .offsets = object->asked,
        .count = (uint32_t)object->asked_count,
        .deadline_ms = (uint32_t)(left / 2),
        .symbols_only = symbols_only,
        .no_lines = object->job->s->no_lines,
        .text = resolve_answers_take_text,
        .answer = resolve_answers_take,
        .refused = resolve_answers_take_refusal,
        .arg = object,
    };
}

static enum helper_result
ask_helper_for_object(struct resolve_object *object, bool symbols_only,
                      struct error *err)
{
    const struct helper_question question = question_of(object, symbols_only);

    object->job->text_count = 0;
    return helper_ask(object->job->s->helper, &question, err);
}

/* Why an existing index is not used; NULL: it is, or there is none. */
static const char *
unused_index(const struct resolve_object *object)
{
    if (object->refused[0])
        return object->refused;
    return object->index_fd < 0 && object->passed_over[0] ? object->passed_over
                                                          : NULL;
}

/* Reports to the index service. */
static void
report_asked(const struct resolve_object *object, uint64_t began, bool indexed)
{
    const struct symbolizer_indexes *indexes = &object->job->s->indexes;
    const struct symbolizer_debug *debug = &object->job->s->debug;
    struct symbolizer_asked asked = {.elf = &object->elf,
                                     .path = object->path,
                                     .indexed = indexed,
                                     .refused = unused_index(object),
                                     .elapsed_ms =
                                         (uint32_t)(clock_ms() - began)};

    if (indexes->asked)
        indexes->asked(indexes->arg, &asked);
    if (debug->asked)
        debug->asked(debug->arg, &asked);
}

/* Keeps a complaint with the object, to be repeated when all its names come
 * from the cache. */
static void
set_remark(struct resolve_object *object, const char *complaint, bool indexed)
{
    char remark[CACHE_WHY_MAX];

    snprintf(remark, sizeof(remark), "%.*s", CACHE_WHY_MAX - 1, complaint);
    symbol_cache_set_remark(object->job->s->cache, &object->key, remark,
                            indexed);
}

static void
drop_index(struct resolve_object *object)
{
    fd_close(object->index_fd);
    object->index_fd = -1;
}

static bool
has_object_answer_failed(const struct resolve_object *object,
                         enum helper_result result)
{
    return (result == HELPER_FAILED || result == HELPER_LATE) &&
           object->asked_count > 0;
}

/* Asks with the index, then with DWARF, then for symbols only. */
static enum helper_result
ask_helper_with_fallbacks(struct resolve_object *object, bool degraded,
                          char why[CACHE_WHY_MAX], struct error *err)
{
    enum helper_result result = ask_helper_for_object(object, degraded, err);

    /* A damaged index may be why the helper failed, but not why it took
     * long. */
    if (has_object_answer_failed(object, result) && object->index_fd >= 0 &&
        !object->refused[0]) {
        if (result == HELPER_FAILED)
            snprintf(object->refused, sizeof(object->refused),
                     "its symbol index is unusable: %.*s", CACHE_WHY_MAX - 64,
                     err->text);
        drop_index(object);
        result = ask_helper_for_object(object, degraded, err);
    }
    if (!has_object_answer_failed(object, result) || degraded)
        return result;
    snprintf(why, CACHE_WHY_MAX, "%.*s; symbol names only", CACHE_WHY_MAX - 32,
             err->text);
    drop_index(object);
    result = ask_helper_for_object(object, true, err);
    if (result == HELPER_DONE)
        symbol_cache_degrade(object->job->s->cache, &object->key, why);
    else
        why[0] = '\0';
    return result;
}

/* One complaint for each object, about its names and its index. */
static void
complain_about_object(const struct resolve_object *object, const char *names)
{
    const char *index =
        object->refused[0] ? object->refused : object->passed_over;
    char text[2 * CACHE_WHY_MAX];

    snprintf(text, sizeof(text), "%.*s%s%s", CACHE_WHY_MAX, names,
             *names && *index ? "; " : "", index);
    if (*text)
        resolve_complain(object->job, object->module, text);
}

static bool
is_asked(const struct resolve_object *object)
{
    return object->elf.fd >= 0 && object->asked_count > 0 &&
           !object->job->cancelled;
}

bool
resolve_question_ask_ahead(struct resolve_object *object)
{
    const struct resolve_job *job = object->job;
    struct helper_question question;

    if (!is_asked(object))
        return true;
    question = question_of(
        object, symbol_cache_degraded(job->s->cache, &object->key) != NULL);
    return helper_ask_ahead(job->s->helper, &question);
}

/* Asks about an object.  One whose DWARF failed recently is asked without it
 * for a while. */
void
resolve_question_ask(struct resolve_object *object)
{
    struct symbol_cache *cache = object->job->s->cache;
    const char *degraded = symbol_cache_degraded(cache, &object->key);
    char why[CACHE_WHY_MAX] = "", remark[CACHE_WHY_MAX];
    uint64_t began = clock_ms();
    enum helper_result result = HELPER_DONE;
    struct error err = {0};
    bool indexed = false;

    snprintf(remark, sizeof(remark), "%s",
             symbol_cache_remark(cache, &object->key));
    if (degraded) /* a copy, for the cache may be emptied by its answers */
        snprintf(why, sizeof(why), "%s", degraded);
    if (is_asked(object)) {
        result = ask_helper_with_fallbacks(object, degraded != NULL, why, &err);
        indexed = object->index_fd >= 0 && !object->refused[0];
        if (result == HELPER_DONE || result == HELPER_FAILED ||
            result == HELPER_LATE)
            report_asked(object, began, indexed);
        if (result == HELPER_DONE && err.text[0] && object->asked_count == 0)
            set_remark(object, err.text, indexed);
    }
    object->job->unsteady |= degraded || why[0] || object->refused[0] ||
                             result != HELPER_DONE || object->asked_count > 0;
    if (result == HELPER_CANCELLED)
        object->job->cancelled = true;
    else if (result != HELPER_DONE || err.text[0])
        complain_about_object(object, err.text);
    else if (why[0] && !indexed)
        complain_about_object(object, why);
    else
        complain_about_object(object, remark);
}

void
resolve_question_look_up(struct resolve_object *object)
{
    struct resolve_job *job = object->job;
    const struct location *known;
    size_t count = 0;

    names_clear_addresses(job->names); /* names remembers texts by their
                                        * addresses in the cache, which may have
                                        * been emptied since */
    for (size_t i = 0; i < object->count; i++) {
        const struct resolve_item *item = &object->items[i];

        known = symbol_cache_find(job->s->cache, &object->key, item->offset);
        if (known) {
            resolve_answers_cached(object, item, known);
        } else if (count == 0 || object->asked[count - 1] != item->offset) {
            object->asked[count] = item->offset;
            object->asked_first[count++] = i;
        }
    }
    object->asked_count = count;
    if (count > WIRE_ADDRESSES_MAX) {
        object->asked_count = WIRE_ADDRESSES_MAX;
        snprintf(object->trouble, sizeof(object->trouble),
                 "more than 1000000 addresses in it");
    }
}
