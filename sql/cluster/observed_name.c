/*
 * observed_name.c - profiles that are taken when a statement names them:
 * cpu:10, wall:5:49, cpu:10:99:kernel.
 *
 * A statement that uses one name several times means one profile, so what was
 * sampled is kept until it ends, at most OBSERVED_MAX.  The seconds of
 * sampling are added to the statement's time limit.
 */
#include "observed_name.h"

#include <string.h>
#include <strings.h>

#include "await.h"
#include "errors.h"
#include "fetch.h"
#include "handle.h"
#include "snapshot.h"
#include "sql_session.h"

enum { SHOWN = 64, DIGITS_MAX = 6 };

static const char with_kernel[] = ":kernel";

/* ---- names ---- */

static const char *
skip_observed_word(const char *text, const char *word)
{
    size_t size = strlen(word);

    if (strncasecmp(text, word, size) != 0)
        return NULL;
    return text[size] == '\0' || text[size] == ':' ? text + size : NULL;
}

/* Returns what stands behind the first word; NULL: it is no such name. */
static const char *
skip_kind(const char *text, enum observe_kind *kind)
{
    const char *rest = skip_observed_word(text, SNAPSHOT_CPU);

    *kind = rest ? OBSERVE_CPU : OBSERVE_WALL;
    return rest ? rest : skip_observed_word(text, SNAPSHOT_WALL);
}

bool
observed_name_is(const char *text)
{
    enum observe_kind kind;

    return skip_kind(text, &kind) != NULL;
}

/* Reads ":10", from 1 to max, if there is one. */
static bool
parse_observed_number(const char **text, uint32_t max, uint32_t *out)
{
    uint32_t number = 0;
    size_t digits;

    if (**text == '\0' || strcasecmp(*text, with_kernel) == 0)
        return true;
    ++*text;
    digits = strspn(*text, "0123456789");
    /* More digits than any limit has: 0, which is refused below. */
    for (size_t i = 0; i < digits && digits <= DIGITS_MAX; i++)
        number = 10 * number + (uint32_t)((*text)[i] - '0');
    *text += digits;
    *out = number;
    return number >= 1 && number <= max && (**text == '\0' || **text == ':');
}

int
observed_name_parse(const char *text, struct observed_name *out,
                    struct error *err)
{
    const char *rest = skip_kind(text, &out->kind);

    out->seconds = OBSERVE_SECONDS;
    out->hz = 0;
    if (rest &&
        parse_observed_number(&rest, OBSERVE_SECONDS_MAX, &out->seconds) &&
        parse_observed_number(&rest, OBSERVE_HZ_MAX, &out->hz)) {
        out->kernel = out->kind == OBSERVE_CPU && *rest != '\0';
        if (*rest == '\0' ||
            (out->kernel && strcasecmp(rest, with_kernel) == 0))
            return 0;
    }
    error_set(err, ER_WRONG_ARGUMENTS,
              "'%.*s' names no profile that can be taken: write cpu:SECONDS or "
              "cpu:SECONDS:HZ, or wall instead of cpu, with 1 to %d seconds "
              "and 1 to %d samples a second; behind one of cpu, :kernel",
              SHOWN, text, OBSERVE_SECONDS_MAX, OBSERVE_HZ_MAX);
    return -1;
}

/* ---- profiles ---- */

static bool
observed_name_equals(const struct observed_name *a,
                     const struct observed_name *b)
{
    return a->kind == b->kind && a->seconds == b->seconds && a->hz == b->hz &&
           a->kernel == b->kernel;
}

static int
take_observed_snapshot(struct handle *handle, const struct observed_name *name,
                       struct snapshot **out)
{
    struct fetch *fetch = handle->fetch;
    const struct observe_request request = {
        .kind = name->kind,
        .seconds = name->seconds,
        .hz = name->hz,
        .kernel = name->kernel,
        .owner = handle->scope.session->who.user};
    struct observe_result result = {0};
    int rc;

    if (fetch_begin_waiting(handle) != 0)
        return -1;
    await_grant(fetch->await, (uint64_t)name->seconds * 1000);
    rc = controller_observe_wait(controller_observe(fetch->controller, &request,
                                                    await_waker(fetch->await),
                                                    &handle->failure),
                                 fetch->await, &result, &handle->failure);
    fetch_end_waiting(fetch);
    *out = result.snapshot;
    return rc;
}

static int
find_or_sample(struct handle *handle, const char *text, struct snapshot **out)
{
    struct fetch *fetch = handle->fetch;
    struct observed *observed;
    struct observed_name name;

    if (observed_name_parse(text, &name, &handle->failure) != 0)
        return -1;
    for (size_t i = 0; i < fetch->observed_count; i++)
        if (observed_name_equals(&fetch->observed[i].name, &name)) {
            *out = fetch->observed[i].snapshot;
            return 0;
        }
    if (fetch->observed_count == OBSERVED_MAX) {
        error_set(&handle->failure, ER_NOT_SUPPORTED,
                  "a SELECT takes at most %d profiles", OBSERVED_MAX);
        return -1;
    }
    if (take_observed_snapshot(handle, &name, out) != 0)
        return -1;
    observed = &fetch->observed[fetch->observed_count++];
    *observed = (struct observed){name, *out};
    return 0;
}

int
observed_need(struct handle *handle, const char *name, struct snapshot **out)
{
    if (!handle->fetch)
        return fetch_refuse(handle);
    if (find_or_sample(handle, name, out) == 0)
        return SQLITE_OK;
    handle->failed = true;
    return SQLITE_ERROR;
}
