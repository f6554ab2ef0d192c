/*
 * function_views.c - views of snapshots as functions of SELECT: dot('a'),
 * flamegraph('now'), export('b'); see function_views.h.
 *
 * A view is made by the view cache, perhaps from a snapshot that must first be
 * taken, loaded, sampled or gathered from other nodes; the function blocks
 * until it is there (fetch.h).  Its bytes are handed to SQLite without a copy,
 * since a view has up to megabytes, and so stay until the statement ends.  The
 * same call in several rows is one view, found by its key; number and bytes of
 * all are bounded.
 */
#include "function_views.h"

#include <string.h>

#include "arena.h"
#include "ascii.h"
#include "clock.h"
#include "cluster_ask.h"
#include "errors.h"
#include "fetch.h"
#include "function.h"
#include "handle.h"
#include "memory.h"
#include "observed_name.h"
#include "snapshot.h"
#include "sql.h"
#include "sql_session.h"
#include "view.h"
#include "view_cache.h"
#include "view_choice.h"

enum {
    FUNCTIONS_MAX = 32,
    VIEW_NAME_BYTES =
        CLUSTER_NAME_MAX + 2, /* room for a name that is too long, too */
    ARENA_MAX = 64 * 1024,    /* bytes: the options of one call */
    KEY_MAX = 2 * VIEW_NAME_BYTES + CHOICE_TEXT_MAX + 64
};

#define EXPORT "export"

struct read_view {
    struct read_view *next;
    struct buffer key;
    struct view *view;
};

/* The view that one call asks for. */
struct view_call {
    sqlite3_context *context;
    const struct view_form *form; /* NULL: EXPORT */
    char name[VIEW_NAME_BYTES];
    char base[VIEW_NAME_BYTES]; /* "": no base */
    struct view_choice choice;
    struct buffer key;
    struct arena *arena;
};

/* ---- the views of a statement ---- */

static void
remove_first(struct function_views *views)
{
    struct read_view *first = views->first;

    views->first = first->next;
    views->count--;
    views->bytes -= first->view->bytes.size;
    view_unref(first->view);
    buffer_fini(&first->key);
    mem_free(first);
}

void
function_views_fini(struct function_views *views)
{
    while (views->first)
        remove_first(views);
}

/* May the statement read one more view? */
static int
check_count(const struct function_views *views, struct error *err)
{
    if (views->count < FUNCTION_VIEWS_MAX)
        return 0;
    error_set(err, ER_NOT_SUPPORTED,
              "a SELECT reads at most %d views; select fewer rows",
              FUNCTION_VIEWS_MAX);
    return -1;
}

/* Adds a view to the statement's.  It takes the view, also on failure; the key
 * is taken on success. */
static int
add_first(struct function_views *views, struct buffer *key, struct view *view,
          struct error *err)
{
    struct read_view *read = mem_zalloc(1, sizeof(*read));

    if (!read) {
        view_unref(view);
        error_memory(err, "a view");
        return -1;
    }
    read->view = view;
    read->key = *key;
    memset(key, 0, sizeof(*key));
    read->next = views->first;
    views->first = read;
    views->count++;
    _Static_assert((int)VIEW_BYTES_MAX <= (int)FUNCTION_VIEWS_BYTES_MAX,
                   "the first view always fits");
    views->bytes += view->bytes.size;
    if (views->bytes <= FUNCTION_VIEWS_BYTES_MAX)
        return 0;
    error_set(err, ER_OUT_OF_SORT_MEMORY,
              "the views that this SELECT reads are larger than %d MB "
              "together; select fewer at once",
              FUNCTION_VIEWS_BYTES_MAX >> 20);
    return -1;
}

static const struct view *
find_requested_view(const struct function_views *views,
                    const struct buffer *key)
{
    for (const struct read_view *r = views->first; r; r = r->next)
        if (r->key.size == key->size &&
            memcmp(r->key.data, key->data, key->size) == 0)
            return r->view;
    return NULL;
}

static bool
is_current_heap_name(const char *name)
{
    return strcmp(name, SNAPSHOT_NOW) == 0;
}

static bool
is_sum(const struct view_call *call)
{
    return cluster_name_is(call->name) ||
           (*call->base && cluster_name_is(call->base));
}

static struct view *
await_view(struct handle *handle, const struct view_request *request)
{
    struct fetch *fetch = handle->fetch;
    struct view *view;

    if (fetch_begin_waiting(handle) != 0)
        return NULL;
    view = view_cache_get(fetch->views->cache, request, fetch->await,
                          &handle->failure);
    fetch_end_waiting(fetch);
    return view;
}

/* Takes a snapshot now and another when the time is over.  The first belongs
 * to the statement; the caller releases the second. */
static int
watch_heap_growth(struct handle *handle, const struct view_call *call,
                  struct view_request *request)
{
    int rc = fetch_fresh(handle, &request->before);
    uint64_t until_ms = clock_ms() + (uint64_t)call->choice.seconds * 1000;

    while (rc == SQLITE_OK &&
           function_wait(call->context, "watching the heap grow", until_ms))
        ;
    if (rc == SQLITE_OK && function_stopped(call->context))
        rc = SQLITE_INTERRUPT;
    return rc == SQLITE_OK ? fetch_another(handle, &request->snapshot) : rc;
}

/* Requests the view.  Returns SQLite's codes. */
static int
request_view_for_call(struct handle *handle, struct view_call *call,
                      const struct view **out)
{
    struct function_views *views = handle->fetch->views;
    struct view_request request = {.owner = handle->scope.session->who.user,
                                   .name = call->name,
                                   .base = *call->base ? call->base : NULL,
                                   .force = call->choice.force,
                                   .form = call->form,
                                   .options = &call->choice.options};
    struct cluster_sum sum;
    struct view *view = NULL;
    int rc;

    if (is_sum(call)) {
        rc = cluster_heap_need(handle, call->name, request.base,
                               call->choice.force, &call->choice.options, &sum);
        if (rc != SQLITE_OK)
            return rc;
        request.snapshot = sum.snapshot;
        request.name = request.base = NULL; /* cluster_heap.c made the
                                             * difference per node */
    } else if (is_current_heap_name(call->name)) {
        rc = call->choice.seconds ? watch_heap_growth(handle, call, &request)
                                  : fetch_fresh(handle, &request.snapshot);
        if (rc != SQLITE_OK)
            return rc;
        request.name = NULL;
    } else if (observed_name_is(call->name)) {
        rc = observed_need(handle, call->name, &request.snapshot);
        if (rc != SQLITE_OK)
            return rc;
        request.name = NULL;
    }
    /* Counted before the view is made: making it is what costs. */
    if (check_count(views, &handle->failure) == 0)
        view = await_view(handle, &request);
    if (request.before)
        snapshot_unref(request.snapshot); /* the second snapshot of
                                           * watch_heap_growth() */
    if (!view || add_first(views, &call->key, view, &handle->failure) != 0)
        return SQLITE_ERROR;
    *out = view;
    return SQLITE_OK;
}

/* ---- what a call asks for ---- */

/* Writes a name in lower case, as snapshots' names are; cuts one that is too
 * long. */
static void
read_view_snapshot_name(sqlite3_value *value, char out[VIEW_NAME_BYTES])
{
    struct span given = function_argument(value);
    size_t i = 0;

    for (; i < given.size && i < VIEW_NAME_BYTES - 1; i++)
        out[i] = to_lower(given.data[i]);
    out[i] = '\0';
}

/* Names of sums and of profiles to be taken are parsed where they are used. */
static int
check_view_snapshot_name(const char *name, struct error *err)
{
    if (cluster_name_is(name) || observed_name_is(name) ||
        snapshot_is_name(name, strlen(name)))
        return 0;
    error_set(err, ER_WRONG_ARGUMENTS,
              "'%s' is not a snapshot's name (1 to %d of a-z, 0-9, _); SELECT "
              "name FROM heapwire.snapshots lists those that are kept",
              name, SNAPSHOT_NAME_MAX);
    return -1;
}

static int
take_base(struct view_call *call, sqlite3_value *value, struct error *err)
{
    read_view_snapshot_name(value, call->base);
    if (check_view_snapshot_name(call->base, err) != 0)
        return -1;
    if (!call->form)
        error_set(err, ER_WRONG_ARGUMENTS,
                  EXPORT " gives one snapshot: leave the base out");
    else if (is_current_heap_name(call->base) || observed_name_is(call->base))
        error_set(err, ER_WRONG_ARGUMENTS,
                  "a base is a kept snapshot, and not '%s'", call->base);
    else
        return 0;
    return -1;
}

/* Reads the options; or, for top, the number of functions. */
static int
take_choice(struct view_call *call, sqlite3_value *value, struct error *err)
{
    struct span text = function_argument(value);
    const struct view_form *form = call->form;

    if (form && strcmp(form->name, "top") == 0 && function_is_number(value))
        return choice_count(form->name, function_real(value), 1,
                            CHOICE_COUNT_MAX, &call->choice.options.nodecount,
                            err);
    return choice_parse(&call->choice, text,
                        !form                  ? EXPORT
                        : !form->takes_options ? form->name
                                               : NULL,
                        call->arena, err);
}

/* Checks that `seconds` is given only with the heap of now and without a
 * base. */
static int
check_watch(const struct view_call *call, struct error *err)
{
    if (call->choice.seconds == 0 ||
        (is_current_heap_name(call->name) && !*call->base))
        return 0;
    error_set(err, ER_WRONG_ARGUMENTS,
              "seconds shows what grows from now on: the name is '" SNAPSHOT_NOW
              "', and there is no base");
    return -1;
}

/* Writes the key of the call: equal keys mean equal views. */
static int
write_view_key(struct view_call *call, struct span choice, struct error *err)
{
    buffer_init(&call->key, KEY_MAX);
    buffer_format(&call->key, "%s %s %s ",
                  call->form ? call->form->name : EXPORT, call->name,
                  call->base);
    buffer_add(&call->key, choice.data, choice.size);
    if (!call->key.failed)
        return 0;
    error_memory(err, "a view");
    return -1;
}

static bool
has_view_argument(int argc, sqlite3_value **argv, int i)
{
    return i < argc && sqlite3_value_type(argv[i]) != SQLITE_NULL;
}

static int
read_view_arguments(struct view_call *call, int argc, sqlite3_value **argv,
                    struct error *err)
{
    struct span choice = {"", 0};

    call->choice.options = view_defaults;
    call->arena = arena_new(ARENA_MAX);
    if (!call->arena) {
        error_memory(err, "a view");
        return -1;
    }
    read_view_snapshot_name(argv[0], call->name);
    if (check_view_snapshot_name(call->name, err) != 0)
        return -1;
    if (!call->form && cluster_name_is(call->name)) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  EXPORT " gives one node's snapshot, and not a sum; ask each "
                         "node for its own");
        return -1;
    }
    if ((has_view_argument(argc, argv, 1) &&
         take_base(call, argv[1], err) != 0))
        return -1;
    if (has_view_argument(argc, argv, 2)) {
        choice = function_argument(argv[2]);
        if (take_choice(call, argv[2], err) != 0 || check_watch(call, err) != 0)
            return -1;
    }
    return write_view_key(call, choice, err);
}

/* ---- the functions ---- */

static int
find_or_begin(struct handle *handle, struct view_call *call, int argc,
              sqlite3_value **argv, const struct view **out)
{
    if (privilege_check(handle->scope.session->who.privileges,
                        PRIVILEGE_PROFILE, &handle->failure) != 0 ||
        read_view_arguments(call, argc, argv, &handle->failure) != 0)
        return SQLITE_ERROR;
    *out = find_requested_view(handle->fetch->views, &call->key);
    return *out ? SQLITE_OK : request_view_for_call(handle, call, out);
}

static bool
is_binary(const struct view_form *form)
{
    return !form || (form->binary && !form->text);
}

/* Is the view a file, whose last newline belongs to it? */
static bool
is_file(const struct view_form *form)
{
    return !form || form->binary || !form->takes_options;
}

/* Returns the view's own bytes, which last as long as the statement.  A text is
 * given without its last newline: clients that print a value add one. */
static void
return_view_bytes(sqlite3_context *c, const struct view_form *form,
                  const struct view *view)
{
    const char *data = view->bytes.data ? view->bytes.data : "";
    size_t size = view->bytes.size;

    /* SQLite would refuse a longer value than its limit; it is raised for the
     * one handle, whose other values are checked by function_fits(). */
    if (size > SELECT_VALUE_MAX)
        sqlite3_limit(sqlite3_context_db_handle(c), SQLITE_LIMIT_LENGTH,
                      VIEW_BYTES_MAX);
    while (!is_file(form) && size > 0 && data[size - 1] == '\n')
        size--;
    if (is_binary(form))
        sqlite3_result_blob64(c, data, size, SQLITE_STATIC);
    else
        sqlite3_result_text64(c, data, size, SQLITE_STATIC, SQLITE_UTF8);
}

/* A view's function.  It leaves the event loop first, since making a view may
 * take seconds. */
static void
call_view(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct handle *handle = function_handle(c);
    struct view_call call = {.context = c,
                             .form = view_form_find(function_name(c))};
    const struct view *view = NULL;
    int rc;

    if (!has_view_argument(argc, argv, 0))
        return;
    if (handle->fetch && function_compute(c))
        return;
    rc = handle->fetch ? find_or_begin(handle, &call, argc, argv, &view)
                       : fetch_refuse(handle);
    if (rc == SQLITE_OK && view)
        return_view_bytes(c, call.form, view);
    else
        sqlite3_result_error_code(c, rc);
    handle->failed = handle->failed || rc == SQLITE_ERROR;
    buffer_fini(&call.key);
    arena_free(call.arena);
}

/* name(snapshot [, base [, options]]) */
static struct function
describe_view_function(const struct view_form *form)
{
    return (struct function){form ? form->name : EXPORT,
                             1,
                             3,
                             call_view,
                             is_binary(form) ? RETURNS_BYTES : RETURNS_LINES,
                             NULL};
}

static struct function functions[FUNCTIONS_MAX];

static void
list_functions(void)
{
    size_t count = 0;

    while (count < view_form_count && count < FUNCTIONS_MAX - 2) {
        functions[count] = describe_view_function(&view_forms[count]);
        count++;
    }
    functions[count] = describe_view_function(NULL);
}

const struct function *
function_views_list(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, list_functions);
    return functions;
}
