/*
 * allocators.c - see allocators.h.
 *
 * A jemalloc takes its options from its own variable, whose name depends on the
 * prefix that it was built with, and before the first allocation: so the
 * program and all libraries that the loader will load are examined on disk
 * before the database is started.  What is compiled in, or set by the user,
 * wins over what would be set here.  What that took is measured, and reported
 * above a second.
 */
#include "allocators.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_protocol.h"
#include "reader.h"
#include "buffer.h"
#include "clock.h"
#include "ascii.h"
#include "environment.h"
#include "errors.h"
#include "files.h"
#include "memory.h"
#include "needed.h"

enum { ALLOCATORS_TEXT_MAX = 64 * 1024 };

static int
add_allocator(struct allocators *a, const char *path,
              enum allocator_origin origin, const struct locate *file,
              struct error *err)
{
    struct allocator *list =
        mem_realloc(a->list, (a->count + 1) * sizeof(*list));
    char *copy = mem_strdup(path);

    if (list)
        a->list = list;
    if (!list || !copy) {
        mem_free(copy);
        error_memory(err, path);
        return -1;
    }
    a->list[a->count++] = (struct allocator){copy, origin, *file};
    return 0;
}

static int
examine_allocator_file(struct allocators *a, const char *path, int fd,
                       enum allocator_origin origin, struct error *err)
{
    const char *name = base_name(path);
    struct locate file;

    if (locate_read(&file, fd, path, err) != 0)
        return -1;
    /* The program itself is walked first. */
    if (a->files_scanned++ == 0) {
        a->kind = file.kind;
        a->marks = file.marks;
        memcpy(a->build_id, file.build_id, sizeof(a->build_id));
        a->own_malloc =
            (file.marks & LOCATE_JEMALLOC) || locate_exports_malloc(fd);
    }
    if (!a->asan && (text_starts_with(name, "libasan.so") ||
                     text_starts_with(name, "libclang_rt.asan")))
        a->asan = mem_strdup(path);
    if (file.marks & LOCATE_JEMALLOC)
        return add_allocator(a, path, origin, &file, err);
    /* Only the first of them is named in a message. */
    if (!a->other && ((file.marks & LOCATE_TCMALLOC) ||
                      text_starts_with(name, "libtcmalloc") ||
                      text_starts_with(name, "libmimalloc")))
        a->other = mem_strdup(path);
    return 0;
}

static int
on_needed_object(void *arg, const char *path, int fd, bool preloaded,
                 struct error *err)
{
    struct allocators *a = arg;

    return examine_allocator_file(a, path, fd,
                                  preloaded               ? ALLOCATOR_USERS
                                  : a->files_scanned == 0 ? ALLOCATOR_OWN
                                                          : ALLOCATOR_LINKED,
                                  err);
}

int
allocators_find(struct allocators *a, const char *program,
                const struct environment *env, struct error *err)
{
    struct needed needed = {program, environment_get(env, "LD_PRELOAD"),
                            environment_get(env, "LD_LIBRARY_PATH"),
                            on_needed_object, a};
    uint64_t began = clock_ms();
    int rc;

    memset(a, 0, sizeof(*a));
    rc = needed_walk(&needed, err);
    a->took_ms = clock_ms() - began;
    return rc;
}

void
allocators_fini(struct allocators *a)
{
    for (size_t i = 0; i < a->count; i++)
        mem_free(a->list[i].path);
    mem_free(a->list);
    mem_free(a->other);
    mem_free(a->asan);
    memset(a, 0, sizeof(*a));
}

int
allocators_add(struct allocators *a, const char *path,
               enum allocator_origin origin, struct error *err)
{
    uint64_t began = clock_ms();
    size_t before = a->count;
    int fd = file_open_regular(path), rc = -1;

    if (fd < 0)
        error_sys(err, ER_WRONG_VALUE, "cannot open %s", path);
    else
        rc = examine_allocator_file(a, path, fd, origin, err);
    fd_close(fd);
    if (rc == 0 && origin == ALLOCATOR_PRELOADED && a->count == before)
        fprintf(stderr,
                "heapwire-run: %s has no jemalloc; it is preloaded as it is\n",
                path);
    a->took_ms += clock_ms() - began;
    return rc;
}

bool
allocators_static(const struct allocators *a)
{
    return a->kind == LOCATE_STATIC || a->kind == LOCATE_STATIC_PIE ||
           a->kind == LOCATE_MUSL;
}

bool
allocators_profile(const struct allocators *a)
{
    for (size_t i = 0; i < a->count; i++) {
        if (a->list[i].file.marks & LOCATE_PROFILES)
            return !allocators_static(a);
    }
    return false;
}

/* name: a path, or its last part. */
static struct allocator *
find_file(struct allocators *a, const char *name)
{
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->list[i].path, name) == 0 ||
            strcmp(base_name(a->list[i].path), name) == 0)
            return &a->list[i];
    }
    return NULL;
}

int
allocators_name(struct allocators *a, const char *path, struct error *err)
{
    if (find_file(a, path))
        return 0;
    if (allocators_add(a, path, ALLOCATOR_NAMED, err) != 0)
        return -1;
    if (find_file(a, path))
        return 0;
    error_set(err, ER_WRONG_VALUE, "%s has no jemalloc", path);
    return -1;
}

static int
add_given_jemalloc(struct allocators *a, const char *path, const char *where,
                   struct error *err)
{
    const struct locate none = {.kind = LOCATE_OTHER};
    struct allocator *file = find_file(a, path);
    const char *symbol = where;
    uint64_t address = 0;
    int fd, rc = -1;
    char *end;

    /* An address needs no symbol. */
    if (is_digit(*where)) {
        errno = 0;
        address = strtoull(where, &end, 0);
        symbol = NULL;
        if (errno != 0 || *end) {
            error_set(err, ER_WRONG_VALUE, "%s is no address", where);
            return -1;
        }
    }
    fd = file_open_regular(file ? file->path : path);
    if (fd < 0)
        error_sys(err, ER_WRONG_VALUE, "cannot open %s", path);
    else if (!file &&
             examine_allocator_file(a, path, fd, ALLOCATOR_NAMED, err) == 0 &&
             !find_file(a, path))
        add_allocator(a, path, ALLOCATOR_NAMED, &none, err);
    file = find_file(a, path);
    if (fd >= 0 && file)
        rc = locate_give(&file->file, fd, file->path, symbol, address, err);
    fd_close(fd);
    return rc;
}

int
allocators_give(struct allocators *a, const char *program, const char *setting,
                struct error *err)
{
    const char *colon = strrchr(setting, ':');
    char *path;
    int rc;

    if (!colon)
        return add_given_jemalloc(a, program, setting, err);
    path = mem_strndup(setting, (size_t)(colon - setting));
    if (!path) {
        error_memory(err, setting);
        return -1;
    }
    rc = add_given_jemalloc(a, path, colon + 1, err);
    mem_free(path);
    return rc;
}

/* Does this malloc_conf set that option? */
static bool
has_malloc_conf_option(const char *options, const char *name)
{
    size_t size = strlen(name);

    for (const char *at = options; at && (at = strstr(at, name)); at += size) {
        if ((at == options || at[-1] == ',') && at[size] == ':')
            return true;
    }
    return false;
}

void
allocators_options(unsigned marks, const char *own, bool active,
                   char out[ALLOCATOR_OPTIONS_MAX])
{
    const char *threads = "",
               *state = active ? ",prof_active:true" : ",prof_active:false";
    bool counts = (marks & LOCATE_COUNTS) && !(marks & LOCATE_SETS_STATS) &&
                  !has_malloc_conf_option(own, "prof_stats");
    bool names = (marks & LOCATE_NAMES) && !(marks & LOCATE_SETS_NAMES) &&
                 !has_malloc_conf_option(own, "prof_sys_thread_name");

    out[0] = '\0';
    if (!(marks & LOCATE_PROFILES))
        return;
    /* prof:true alone makes it active, so a program that sets it means that. */
    if (has_malloc_conf_option(own, "prof_active") ||
        has_malloc_conf_option(own, "prof") ||
        (!active && (marks & (LOCATE_SETS_ACTIVE | LOCATE_SETS_PROF))))
        state = "";
    /* Otherwise threads that are alive when profiling is switched on are never
     * sampled. */
    if ((marks & LOCATE_SETS_THREADS) &&
        !has_malloc_conf_option(own, "prof_thread_active_init"))
        threads = ",prof_thread_active_init:true";
    snprintf(out, ALLOCATOR_OPTIONS_MAX, "prof:true%s%s%s%s", state, threads,
             counts ? ",prof_stats:true" : "",
             names ? ",prof_sys_thread_name:true" : "");
}

/* In 5.3.0 a dump may read a thread's name while that is being replaced (fixed
 * by 5fd55837), and crash, unless the compiler made one store of it.  Where
 * that was checked in a build, known by its build-id, names may be switched on.
 */
static bool
names_are_safe(const struct locate *file)
{
    static const char debian_12_amd64[] =
        "1d5163c246dc9cd2b4d339f2ac42efd95c6e0ae1";

    return !text_starts_with(file->version, "5.3.0") ||
           strcmp(file->build_id, debian_12_amd64) == 0;
}

/* The marks of all jemallocs that read variable (NULL: of all that can
 * profile): what each of them can do, and what any of them has compiled in.
 * One text serves them all, so an option that one does not know is left out. */
static unsigned
common_marks(const struct allocators *a, const char *variable)
{
    unsigned can = LOCATE_PROFILES | LOCATE_COUNTS | LOCATE_NAMES, any = 0;
    bool some = false;

    for (size_t i = 0; i < a->count; i++) {
        const struct locate *file = &a->list[i].file;
        bool reads = !variable && (file->marks & LOCATE_PROFILES);

        for (size_t k = 0; variable && k < file->count; k++)
            reads = reads || strcmp(file->jemallocs[k].variable, variable) == 0;
        if (!reads)
            continue;
        some = true;
        can &= file->marks;
        if (!names_are_safe(file))
            can &= ~(unsigned)LOCATE_NAMES;
        any |= file->marks &
               (LOCATE_SETS_PROF | LOCATE_SETS_ACTIVE | LOCATE_SETS_THREADS |
                LOCATE_SETS_STATS | LOCATE_SETS_NAMES);
    }
    return some ? can | any : 0;
}

/* Does a jemalloc before this one read the same variable? */
static bool
is_set_already(const struct allocators *a, size_t file, size_t jemalloc)
{
    const char *variable = a->list[file].file.jemallocs[jemalloc].variable;

    for (size_t i = 0; i <= file; i++) {
        size_t count = i < file ? a->list[i].file.count : jemalloc;

        for (size_t k = 0; k < count; k++) {
            if (strcmp(a->list[i].file.jemallocs[k].variable, variable) == 0)
                return true;
        }
    }
    return false;
}

static int
prepare_one(const struct allocators *a, const char *variable, bool active,
            struct environment *env, struct error *err)
{
    char options[ALLOCATOR_OPTIONS_MAX];

    allocators_options(common_marks(a, variable),
                       environment_get(env, variable), active, options);
    return options[0] ? environment_prepend(env, variable, options, err) : 0;
}

int
allocators_prepare(const struct allocators *a, bool active,
                   struct environment *env, struct error *err)
{
    char options[ALLOCATOR_OPTIONS_MAX];

    for (size_t i = 0; i < a->count; i++) {
        const struct locate *file = &a->list[i].file;

        for (size_t k = 0; k < file->count; k++) {
            const char *variable = file->jemallocs[k].variable;

            if (variable[0] && !is_set_already(a, i, k) &&
                prepare_one(a, variable, active, env, err) != 0)
                return -1;
        }
    }
    allocators_options(common_marks(a, NULL), NULL, active, options);
    return options[0] ? environment_set(env, AGENT_ENV_PROFILING, options, err)
                      : 0;
}

int
allocators_export(const struct allocators *a, struct environment *env,
                  struct error *err)
{
    struct buffer text;
    int rc = -1;

    buffer_init(&text, ALLOCATORS_TEXT_MAX);
    for (size_t i = 0; i < a->count; i++) {
        const struct locate *file = &a->list[i].file;

        for (size_t k = 0; k < file->count; k++) {
            const struct locate_jemalloc *j = &file->jemallocs[k];

            buffer_format(&text, "%s%s,%llx,%s,%s,%s", text.size ? ";" : "",
                          j->identity, (unsigned long long)j->mallctl,
                          j->prefix, j->variable, locate_how_text(j->how));
        }
    }
    if (text.failed)
        error_memory(err, AGENT_ENV_JEMALLOC);
    else
        rc = text.size == 0
                 ? 0
                 : environment_set(env, AGENT_ENV_JEMALLOC, text.data, err);
    buffer_fini(&text);
    return rc;
}

/* Writes "5.3.0, prefix je_", without git's suffix. */
static const char *
describe_jemalloc(const struct locate *file, const struct locate_jemalloc *j,
                  char out[128])
{
    int version = (int)strcspn(file->version, "-");

    snprintf(out, 128, "%.*s%s%s%s", version, file->version,
             version > 0 ? ", " : "", j->prefix[0] ? "prefix " : "no prefix",
             j->prefix);
    return out;
}

static void
warn_of(const struct allocator *allocator, const struct locate_jemalloc *j)
{
    const struct locate *file = &allocator->file;
    char what[128], why[256] = "no code that calls it was recognized";
    int size = 0;

    if (file->votes > 0)
        size = snprintf(
            why, sizeof(why),
            "of %u calls its code does not agree on one:", file->votes);
    for (size_t i = 0; i < LOCATE_CANDIDATES_MAX; i++) {
        const struct locate_candidate *c = &file->candidates[i];

        if (c->votes > 0)
            size +=
                snprintf(why + size, sizeof(why) - (size_t)size,
                         "%s 0x%llx %u times with %u names", i > 0 ? "," : "",
                         (unsigned long long)c->address, c->votes, c->names);
    }
    fprintf(stderr,
            "heapwire-run: %s has a jemalloc of its own (%s) whose mallctl was "
            "not found: it has no symbol of it, and %s; link it with "
            "-rdynamic, install its debug file, or set mallctl = ADDRESS\n",
            allocator->path, describe_jemalloc(file, j, what), why);
}

void
allocators_warn(const struct allocators *a)
{
    enum { SLOW_MS = 1000 };

    for (size_t i = 0; i < a->count; i++) {
        const struct locate *file = &a->list[i].file;

        for (size_t k = 0; k < file->count; k++) {
            if (file->jemallocs[k].how == LOCATE_NOWHERE)
                warn_of(&a->list[i], &file->jemallocs[k]);
        }
    }
    if (a->took_ms > SLOW_MS)
        fprintf(stderr,
                "heapwire-run: looking for jemalloc in %zu files took %.1f s\n",
                a->files_scanned, (double)a->took_ms / 1000);
}

static void
explain_one(const struct allocator *allocator, const struct locate_jemalloc *j,
            const struct environment *env)
{
    static const char *const origins[] = {
        [ALLOCATOR_OWN] = "its own",
        [ALLOCATOR_LINKED] = "linked",
        [ALLOCATOR_USERS] = "in LD_PRELOAD",
        [ALLOCATOR_PRELOADED] = "preloaded by heapwire-run",
        [ALLOCATOR_NAMED] = "named by a setting",
    };
    const struct locate *file = &allocator->file;
    const char *value = environment_get(env, j->variable);
    char what[128];

    printf("jemalloc    %s (%s): %s, %s\n", allocator->path,
           origins[allocator->origin], describe_jemalloc(file, j, what),
           file->marks & LOCATE_PROFILES
               ? "can profile"
               : "cannot profile (built without --enable-prof)");
    if (j->how == LOCATE_NOWHERE)
        printf("  mallctl   not found\n");
    else
        printf("  mallctl   0x%llx (%s)\n", (unsigned long long)j->mallctl,
               locate_how_text(j->how));
    if (!(file->marks & LOCATE_PROFILES))
        printf("  advice    %s\n",
               locate_advice(j->prefix, allocator->origin != ALLOCATOR_OWN));
    printf("  variable  %s%s%s\n", j->variable[0] ? j->variable : "unknown",
           value ? "=" : " is not set", value ? value : "");
}

void
allocators_explain(const struct allocators *a, const struct environment *env)
{
    static const char *const kinds[] = {
        [LOCATE_OTHER] = "no 64-bit ELF program",
        [LOCATE_SCRIPT] = "a script",
        [LOCATE_STATIC] = "static",
        [LOCATE_STATIC_PIE] = "static-pie",
        [LOCATE_DYNAMIC] = "dynamic",
        [LOCATE_LIBRARY] = "a shared library",
        [LOCATE_MUSL] = "dynamic, of musl",
    };
    const char *preload = environment_get(env, "LD_PRELOAD");

    printf("kind        %s, build-id %s\n", kinds[a->kind],
           a->build_id[0] ? a->build_id : "none");
    for (size_t i = 0; i < a->count; i++) {
        for (size_t k = 0; k < a->list[i].file.count; k++)
            explain_one(&a->list[i], &a->list[i].file.jemallocs[k], env);
    }
    if (a->count == 0)
        printf("jemalloc    none\n");
    if (a->other)
        printf("malloc      %s: not jemalloc\n", a->other);
    printf("LD_PRELOAD  %s\n", preload ? preload : "is not set");
    printf("looked at   %zu files in %llu ms\n", a->files_scanned,
           (unsigned long long)a->took_ms);
}
