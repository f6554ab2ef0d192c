/*
 * script_chain.c - Profile: which snapshot to show, and how.
 *
 * Every option gives a new instance; the one before stays as it was.
 */
#include "script_methods.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "pattern.h"

enum { SHOWN = 64 /* bytes of a wrong word in its error */ };

static int
shown(struct span text)
{
    return (int)(text.size < SHOWN ? text.size : SHOWN);
}

enum step
script_blame(struct script_call *call, size_t i)
{
    call->blamed = i + 1;
    return STEP_FAIL;
}

int
script_check_name(struct span name, struct error *err)
{
    if (snapshot_is_name(name.data, name.size))
        return 0;
    error_set(err, ER_UNKNOWN,
              "'%.*s' is not a snapshot's name (1 to %d of a-z, 0-9, _); "
              "snapshot() returns one",
              shown(name), name.data, SNAPSHOT_NAME_MAX);
    return -1;
}

int
script_snapshot_name(struct script_call *call, size_t i,
                     char out[SNAPSHOT_NAME_MAX + 1], struct error *err)
{
    struct span given = call->arguments[i].text;

    if (script_check_name(given, err) != 0) {
        script_blame(call, i);
        return -1;
    }
    memcpy(out, given.data, given.size);
    out[given.size] = '\0';
    return 0;
}

/* A copy of the receiver's, or of the defaults; it is the call's result. */
static struct chain *
new_chain(struct script_call *call, struct error *err)
{
    struct chain *chain = arena_alloc(call->arena, sizeof(*chain));
    const struct chain *old = call->receiver->state;

    if (!chain) {
        error_memory(err, "the script");
        return NULL;
    }
    if (old)
        *chain = *old;
    else
        chain->options = view_defaults;
    script_return_instance(call, chain);
    return chain;
}

enum step
chain_of(struct script_call *call, struct error *err)
{
    struct chain *chain = new_chain(call, err);

    if (!chain || script_snapshot_name(call, 0, chain->name, err) != 0)
        return STEP_FAIL;
    return STEP_DONE;
}

/* Equal calls share one dump, up to where something changes the node. */
enum step
chain_now(struct script_call *call, struct error *err)
{
    struct job_result result = {0};
    struct chain *chain;
    enum step step;

    if (!*call->now) {
        step = script_await(call, &(struct job_request){.kind = JOB_PROFILE},
                            true, &result, err);
        if (step != STEP_DONE)
            return step;
        *call->now = call->work->snapshot = result.snapshot;
    }
    chain = new_chain(call, err);
    if (!chain)
        return STEP_FAIL;
    chain->now = *call->now;
    return STEP_DONE;
}

enum step
chain_base(struct script_call *call, struct error *err)
{
    struct chain *chain = new_chain(call, err);

    if (!chain || script_snapshot_name(call, 0, chain->base, err) != 0)
        return STEP_FAIL;
    return STEP_DONE;
}

/* ---- options ---- */

enum option_kind { OPTION_FLAG, OPTION_COUNT, OPTION_FRACTION, OPTION_PATTERN };

static const struct option {
    const char *method;
    enum option_kind kind;
    size_t at; /* in struct chain */
} option_table[] = {
#define OPTION(name, kind)                                                     \
    {                                                                          \
#name, kind, offsetof(struct chain, options.name)                      \
    }
    OPTION(focus, OPTION_PATTERN),
    OPTION(ignore, OPTION_PATTERN),
    OPTION(nodecount, OPTION_COUNT),
    OPTION(nodefraction, OPTION_FRACTION),
    OPTION(edgefraction, OPTION_FRACTION),
    OPTION(maxdegree, OPTION_COUNT),
    OPTION(show_bytes, OPTION_FLAG),
    OPTION(allocator_frames, OPTION_FLAG),
    OPTION(by_growth, OPTION_FLAG),
    {"force", OPTION_FLAG, offsetof(struct chain, force)},
#undef OPTION
};

int
script_count(struct script_call *call, size_t i, double least, double most,
             uint32_t *out, struct error *err)
{
    double given = call->arguments[i].number;

    if (!(given >= least && given <= most) || given != floor(given)) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "%s takes a whole number from %.0f to %.0f",
                  call->method->name, least, most);
        script_blame(call, i);
        return -1;
    }
    *out = (uint32_t)given;
    return 0;
}

static enum step
set_fraction(struct script_call *call, double *out, struct error *err)
{
    double given = call->arguments[0].number;

    if (!(given >= 0 && given <= 1)) {
        error_set(err, ER_WRONG_ARGUMENTS, "%s takes a number from 0 to 1",
                  call->method->name);
        return script_blame(call, 0);
    }
    *out = given;
    return STEP_DONE;
}

static enum step
set_pattern(struct script_call *call, const char **out, struct error *err)
{
    struct span given = call->arguments[0].text;
    struct pattern *pattern;

    if (given.size == 0 || memchr(given.data, '\0', given.size)) {
        error_set(err, ER_WRONG_ARGUMENTS, "%s takes a regular expression",
                  call->method->name);
        return script_blame(call, 0);
    }
    *out = arena_strndup(call->arena, given.data, given.size);
    if (!*out) {
        error_memory(err, "the script");
        return STEP_FAIL;
    }
    pattern = pattern_new(call->method->name, *out, err);
    pattern_free(pattern);
    return pattern ? STEP_DONE : script_blame(call, 0);
}

static enum step
set_option(struct script_call *call, enum option_kind kind, void *field,
           struct error *err)
{
    switch (kind) {
    case OPTION_FLAG:
        *(bool *)field =
            call->argument_count == 0 || call->arguments[0].boolean;
        break;
    case OPTION_COUNT:
        return script_count(call, 0, 1, VIEW_COUNT_MAX, field, err) == 0
                   ? STEP_DONE
                   : STEP_FAIL;
    case OPTION_FRACTION:
        return set_fraction(call, field, err);
    case OPTION_PATTERN:
        return set_pattern(call, field, err);
    }
    return STEP_DONE;
}

enum step
chain_option(struct script_call *call, struct error *err)
{
    struct chain *chain = new_chain(call, err);
    const struct option *option = option_table;

    while (strcmp(option->method, call->method->name) != 0)
        option++;
    return chain
               ? set_option(call, option->kind, (char *)chain + option->at, err)
               : STEP_FAIL;
}

/* ---- words ---- */

enum { WORD_MAX = 32 };

/* The argument, or "" when it is no word at all. */
static const char *
word(const struct script_call *call, char room[WORD_MAX])
{
    struct span given = call->arguments[0].text;

    if (given.size >= WORD_MAX || memchr(given.data, '\0', given.size))
        return "";
    memcpy(room, given.data, given.size);
    room[given.size] = '\0';
    return room;
}

static enum step
fail_word(struct script_call *call, const char *allowed, struct error *err)
{
    struct span given = call->arguments[0].text;

    error_set(err, ER_WRONG_ARGUMENTS, "%s takes one of %s, not '%.*s'",
              call->method->name, allowed, shown(given), given.data);
    return script_blame(call, 0);
}

enum step
chain_by(struct script_call *call, struct error *err)
{
    struct chain *chain = new_chain(call, err);
    char room[WORD_MAX];

    if (!chain)
        return STEP_FAIL;
    if (measure_parse(word(call, room), &chain->options.measure))
        return STEP_DONE;
    return fail_word(
        call, "inuse_space, inuse_objects, alloc_space, alloc_objects", err);
}

enum step
chain_granularity(struct script_call *call, struct error *err)
{
    struct chain *chain = new_chain(call, err);
    char room[WORD_MAX];

    if (!chain)
        return STEP_FAIL;
    if (granularity_parse(word(call, room), &chain->options.granularity))
        return STEP_DONE;
    return fail_word(call, "functions, lines, files, addresses", err);
}
