/*
 * resolve_question.c - asks the helper about the addresses that the cache does
 * not know: with the object's index, then its DWARF, then its symbols.  See
 * resolve_job.h.
 */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "errors.h"
#include "files.h"
#include "helper.h"
#include "names.h"
#include "resolve_job.h"
#include "symbolizer_wire.h"

/* Each question may take half of the time left, so that one endless object does
 * not cost the others their names. */
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
ask(struct resolve_object *object, bool symbols_only, struct error *err)
{
    const struct helper_question question = question_of(object, symbols_only);

    object->job->text_count = 0;
    return helper_ask(object->job->s->helper, &question, err);
}

/* Why an existing index is not used; NULL: it is used, or there is none. */
static const char *
unused_index(const struct resolve_object *object)
{
    if (object->refused[0])
        return object->refused;
    return object->index_fd < 0 && object->passed_over[0] ? object->passed_over
                                                          : NULL;
}

/* Reports to the keeper of indexes. */
static void
report_asked(const struct resolve_object *object, uint64_t began, bool indexed)
{
    const struct symbolizer_indexes *indexes = &object->job->s->indexes;
    struct symbolizer_asked asked = {.elf = &object->elf,
                                     .path = object->path,
                                     .indexed = indexed,
                                     .refused = unused_index(object),
                                     .elapsed_ms =
                                         (uint32_t)(clock_ms() - began)};

    if (indexes->asked)
        indexes->asked(indexes->arg, &asked);
}

/* Repeated later, when all names come from the cache. */
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
has_failed(const struct resolve_object *object, enum helper_result result)
{
    return (result == HELPER_FAILED || result == HELPER_LATE) &&
           object->asked_count > 0;
}

/* With the index, then with DWARF, then with symbols only. */
static enum helper_result
ask_in_turn(struct resolve_object *object, bool degraded,
            char why[CACHE_WHY_MAX], struct error *err)
{
    enum helper_result result = ask(object, degraded, err);

    /* An index in use may be why the helper failed, but not why it took long.
     */
    if (has_failed(object, result) && object->index_fd >= 0 &&
        !object->refused[0]) {
        if (result == HELPER_FAILED)
            snprintf(object->refused, sizeof(object->refused),
                     "its symbol index is unusable: %.*s", CACHE_WHY_MAX - 64,
                     err->text);
        drop_index(object);
        result = ask(object, degraded, err);
    }
    if (!has_failed(object, result) || degraded)
        return result;
    snprintf(why, CACHE_WHY_MAX, "%.*s; symbol names only", CACHE_WHY_MAX - 32,
             err->text);
    drop_index(object);
    result = ask(object, true, err);
    if (result == HELPER_DONE)
        symbol_cache_degrade(object->job->s->cache, &object->key, why);
    else
        why[0] = '\0';
    return result;
}

/* One complaint per object: about its names, and about its index. */
static void
complain(const struct resolve_object *object, const char *names)
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

/* An object whose DWARF failed recently is asked without it for a while. */
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
    if (degraded) /* the cache may be emptied meanwhile */
        snprintf(why, sizeof(why), "%s", degraded);
    if (is_asked(object)) {
        result = ask_in_turn(object, degraded != NULL, why, &err);
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
        complain(object, err.text);
    else if (why[0] && !indexed)
        complain(object, why);
    else
        complain(object, remark);
}

void
resolve_question_look_up(struct resolve_object *object)
{
    struct resolve_job *job = object->job;
    const struct location *known;
    size_t count = 0;

    names_forget_other(job->names); /* the cache may have been emptied */
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
