/*
 * budgets.c - the node's budgets, and their file; see budgets.h.
 *
 * A budget must survive restarts of heapwired and tell a crossing once, so each
 * change is written before it counts: as a whole new file, which is renamed
 * over the old one.  With 64 lines at most that is simpler than a journal, and
 * a reader never sees half of it.  Changes are made in a copy of the list,
 * which replaces the list once it is on disk.
 *
 * budgets.disk puts changes and their writes in order, and is held during them;
 * budgets.lock guards the list and is held for no I/O, taken after disk.  The
 * file has a first line that names its format, and a line for each budget.
 */
#include "budgets.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "buffer.h"
#include "bytes_text.h"
#include "clean_text.h"
#include "errors.h"
#include "files.h"
#include "log.h"
#include "memory.h"
#include "own_file.h"
#include "profile.h"
#include "profile_root.h"

#define HEAD "heapwire budgets 1"

enum { NAME_SHOWN = 60 /* bytes of a name in a snapshot's reason */ };

struct budget_list {
    struct budget list[BUDGETS_MAX]; /* by name */
    size_t count;
};

struct budgets {
    pthread_mutex_t disk, lock;
    struct budget_list all;
    uint64_t changes;
    char *dir;   /* NULL: in memory alone */
    bool faulty; /* the last write failed; guarded by disk */
    void (*log)(const char *line);
};

/* ---- the file ---- */

static int
write_budgets(const char *dir, const struct budget_list *all)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct buffer text;
    int fd = -1, rc = -1;

    buffer_init(&text, BUDGETS_FILE_MAX);
    buffer_text(&text, HEAD "\n");
    for (size_t i = 0; i < all->count; i++)
        budget_format(&all->list[i], &text);
    snprintf(from, sizeof(from), "%s/" BUDGETS_NEW, dir);
    snprintf(to, sizeof(to), "%s/" BUDGETS_FILE, dir);
    errno = ENOMEM;
    if (text.failed)
        goto out;
    /* O_EXCL needs the leftover of a crash out of the way. */
    unlink(from);
    fd = own_file_open(dir, BUDGETS_NEW, O_WRONLY | O_CREAT | O_EXCL);
    if (fd >= 0 && fd_write_all(fd, text.data, text.size) == 0 &&
        fsync(fd) == 0 && rename(from, to) == 0)
        rc = 0;
    else if (fd >= 0)
        file_remove_at(AT_FDCWD, from);
out:
    fd_close(fd);
    buffer_fini(&text);
    return rc;
}

static struct budget *
find_budget(struct budget_list *all, struct span name)
{
    for (size_t i = 0; i < all->count; i++)
        if (span_is(name, all->list[i].name))
            return &all->list[i];
    return NULL;
}

static int
compare_budgets(const void *a, const void *b)
{
    const struct budget *x = a, *y = b;

    return strcmp(x->name, y->name);
}

/* Adds it, or replaces that of the same name; -1: there are too many. */
static int
insert_budget(struct budget_list *all, const struct budget *budget)
{
    struct span name = {budget->name, strlen(budget->name)};
    struct budget *found = find_budget(all, name);

    if (!found && all->count == BUDGETS_MAX)
        return -1;
    *(found ? found : &all->list[all->count++]) = *budget;
    qsort(all->list, all->count, sizeof(*all->list), compare_budgets);
    return 0;
}

/* False: the file is in another format. */
static bool
take_budget_lines(struct budgets *budgets, const struct buffer *text)
{
    struct reader r = reader_of(text->data, text->size);
    struct budget budget;
    struct span line;
    size_t wrong = 0;

    if (text->size == 0)
        return true;
    if (!reader_line(&r, &line) || !span_is(line, HEAD))
        return false;
    while (reader_line(&r, &line))
        if (line.size > BUDGET_LINE_MAX || !budget_parse(line, &budget) ||
            insert_budget(&budgets->all, &budget) != 0)
            wrong++;
    if (wrong > 0)
        log_to(budgets->log,
               "%s/" BUDGETS_FILE ": skipped %zu lines that are damaged or "
               "beyond %d budgets",
               budgets->dir, wrong, BUDGETS_MAX);
    return true;
}

/* A file in another format is renamed, not overwritten: it can be repaired. */
static void
load_budgets(struct budgets *budgets)
{
    int fd = own_file_open(budgets->dir, BUDGETS_FILE, O_RDONLY);
    bool good = fd < 0 && !own_file_is_foreign(errno);
    struct buffer text;

    if (fd < 0 && good && errno != ENOENT)
        log_to(budgets->log, "cannot read %s/" BUDGETS_FILE ": %m",
               budgets->dir);
    buffer_init(&text, BUDGETS_FILE_MAX);
    if (fd >= 0 && fd_read_all(fd, &text, BUDGETS_FILE, NULL) == 0)
        good = take_budget_lines(budgets, &text);
    buffer_fini(&text);
    fd_close(fd);
    if (!good && own_file_set_aside(budgets->dir, BUDGETS_FILE) == 0)
        log_to(budgets->log,
               "%s/" BUDGETS_FILE " is damaged or no file of budgets: renamed "
               "to " BUDGETS_FILE ".damaged, and no budget is kept",
               budgets->dir);
}

/* ---- public ---- */

struct budgets *
budgets_open(const char *dir, void (*log)(const char *line))
{
    struct budgets *budgets = mem_zalloc(1, sizeof(*budgets));

    if (!budgets)
        return NULL;
    pthread_mutex_init(&budgets->disk, NULL);
    pthread_mutex_init(&budgets->lock, NULL);
    budgets->log = log;
    budgets->dir = dir ? mem_strdup(dir) : NULL;
    if (dir && !budgets->dir) {
        budgets_close(budgets);
        return NULL;
    }
    if (budgets->dir)
        load_budgets(budgets);
    return budgets;
}

void
budgets_close(struct budgets *budgets)
{
    if (!budgets)
        return;
    pthread_mutex_destroy(&budgets->disk);
    pthread_mutex_destroy(&budgets->lock);
    mem_free(budgets->dir);
    mem_free(budgets);
}

static struct budget_list *
copy_budgets(struct budgets *budgets, struct error *err)
{
    struct budget_list *copy = mem_zalloc(1, sizeof(*copy));

    if (!copy) {
        error_memory(err, "the budgets");
        return NULL;
    }
    pthread_mutex_lock(&budgets->lock);
    *copy = budgets->all;
    pthread_mutex_unlock(&budgets->lock);
    return copy;
}

static void
put_budgets(struct budgets *budgets, const struct budget_list *all,
            bool changed)
{
    pthread_mutex_lock(&budgets->lock);
    budgets->all = *all;
    budgets->changes += changed;
    pthread_mutex_unlock(&budgets->lock);
}

/* Makes a user's change: on disk first, or not at all.  disk is held. */
static int
keep_budgets(struct budgets *budgets, const struct budget_list *all,
             struct error *err)
{
    if (budgets->dir && write_budgets(budgets->dir, all) != 0) {
        error_sys(err, errno == ENOSPC ? ER_DISK_FULL : ER_UNKNOWN,
                  "the budget is not changed: cannot write %s/" BUDGETS_FILE,
                  budgets->dir);
        return -1;
    }
    budgets->faulty = false;
    put_budgets(budgets, all, true);
    return 0;
}

int
budgets_set(struct budgets *budgets, struct span name, uint64_t limit,
            struct error *err)
{
    struct budget budget = {.limit = limit};
    struct budget_list *all;
    int rc = -1;

    if (budget_check_name(name, err) != 0)
        return -1;
    memcpy(budget.name, name.data, name.size);
    pthread_mutex_lock(&budgets->disk);
    all = copy_budgets(budgets, err);
    if (all && insert_budget(all, &budget) == 0)
        rc = keep_budgets(budgets, all, err);
    else if (all)
        error_set(err, ER_OUT_OF_RESOURCES,
                  "there are %d budgets already: remove one first, by CALL "
                  "heapwire.budget('...', NULL)",
                  BUDGETS_MAX);
    pthread_mutex_unlock(&budgets->disk);
    mem_free(all);
    return rc;
}

int
budgets_remove(struct budgets *budgets, struct span name, struct error *err)
{
    char pool[sizeof(PROFILE_POOL) + BUDGET_NAME_MAX];
    struct budget_list *all;
    struct budget *found;
    bool says_kind;
    int rc = -1;

    pthread_mutex_lock(&budgets->disk);
    all = copy_budgets(budgets, err);
    says_kind = budget_names_kind(name);
    name = budget_plain_name(name);
    snprintf(pool, sizeof(pool), PROFILE_POOL "%.*s",
             name.size < BUDGET_NAME_MAX ? (int)name.size : BUDGET_NAME_MAX,
             name.data);
    found = all ? find_budget(all, name) : NULL;
    if (all && !found && !says_kind)
        found = find_budget(all, (struct span){pool, strlen(pool)});
    if (found) {
        all->count--;
        memmove(found, found + 1,
                (size_t)(all->list + all->count - found) * sizeof(*found));
        rc = keep_budgets(budgets, all, err);
    } else if (all) {
        error_set(err, ER_KEY_NOT_FOUND,
                  "there is no budget of '%.*s': SELECT name FROM "
                  "heapwire.budgets lists them",
                  name.size < BUDGET_NAME_MAX ? (int)name.size
                                              : BUDGET_NAME_MAX,
                  name.data);
    }
    pthread_mutex_unlock(&budgets->disk);
    mem_free(all);
    return rc;
}

size_t
budgets_list(struct budgets *budgets, struct budget *out, size_t max)
{
    size_t count;

    pthread_mutex_lock(&budgets->lock);
    count = budgets->all.count < max ? budgets->all.count : max;
    memcpy(out, budgets->all.list, count * sizeof(*out));
    pthread_mutex_unlock(&budgets->lock);
    return count;
}

uint64_t
budgets_changes(struct budgets *budgets)
{
    uint64_t changes;

    pthread_mutex_lock(&budgets->lock);
    changes = budgets->changes;
    pthread_mutex_unlock(&budgets->lock);
    return changes;
}

/* ---- checks ---- */

/* Its name, cut to max bytes and cleaned, for logs and reasons. */
static void
show_budget(const struct budget *budget, size_t max,
            char out[BUDGET_NAME_MAX + 1])
{
    size_t size = strnlen(budget->name, max);

    clean_text((struct span){budget->name, size}, out);
    out[size] = '\0';
}

static void
log_budget_transition(const struct budgets *budgets,
                      const struct budget *budget,
                      enum budget_transition transition)
{
    char name[BUDGET_NAME_MAX + 1];

    show_budget(budget, BUDGET_NAME_MAX, name);
    if (transition == BUDGET_CROSSES)
        log_to(budgets->log, "%s is over its budget: %s in use (+-%s) of %s",
               name, bytes_text(budget->now).text,
               bytes_text(budget->margin).text,
               bytes_text((double)budget->limit).text);
    else
        log_to(budgets->log, "%s is within its budget again: %s in use of %s",
               name, bytes_text(budget->now).text,
               bytes_text((double)budget->limit).text);
}

/* Applies the profile to one budget; true if its line in the file changes. */
static bool
see_budget(const struct budgets *budgets, struct budget *budget,
           const struct snapshot *snapshot, bool named)
{
    enum budget_transition transition =
        budget_step(budget, snapshot->taken_ms, &snapshot->hello);
    bool lacks = budget->over && !budget->snapshot[0];

    if (transition != BUDGET_STAYS)
        log_budget_transition(budgets, budget, transition);
    if (lacks && named)
        memcpy(budget->snapshot, snapshot->name, sizeof(budget->snapshot));
    return transition != BUDGET_STAYS || (lacks && named);
}

/* disk is held while the profile is measured: a change of the list in between
 * would be lost when the copy replaces it. */
int
budgets_see(struct budgets *budgets, const struct snapshot *snapshot,
            bool named, struct error *err)
{
    struct budget_list *all;
    bool changed = false;
    int rc = -1;

    pthread_mutex_lock(&budgets->disk);
    all = copy_budgets(budgets, err);
    if (all &&
        budget_measure(snapshot->profile, all->list, all->count, err) == 0)
        rc = 0;
    for (size_t i = 0; rc == 0 && i < all->count; i++)
        changed |= see_budget(budgets, &all->list[i], snapshot, named);
    /* Unlike a user's change, a crossing counts even if it cannot be
     * written. */
    if (changed && budgets->dir) {
        bool faulty = write_budgets(budgets->dir, all) != 0;

        if (faulty && !budgets->faulty)
            log_to(budgets->log,
                   "cannot write %s/" BUDGETS_FILE
                   ": %m; that a budget was crossed is recorded only in memory",
                   budgets->dir);
        budgets->faulty = faulty;
    }
    if (rc == 0)
        put_budgets(budgets, all, false);
    pthread_mutex_unlock(&budgets->disk);
    mem_free(all);
    return rc;
}

void
budgets_miss(struct budgets *budgets, enum budget_state state)
{
    pthread_mutex_lock(&budgets->lock);
    for (size_t i = 0; i < budgets->all.count; i++)
        budgets->all.list[i].state = state;
    pthread_mutex_unlock(&budgets->lock);
}

bool
budgets_want_snapshot(struct budgets *budgets,
                      char reason[SNAPSHOT_REASON_MAX + 1])
{
    const struct budget *found = NULL;
    char name[BUDGET_NAME_MAX + 1];

    pthread_mutex_lock(&budgets->lock);
    for (size_t i = 0; i < budgets->all.count && !found; i++)
        if (budgets->all.list[i].state == BUDGET_OVER &&
            !budgets->all.list[i].snapshot[0])
            found = &budgets->all.list[i];
    if (found) {
        show_budget(found, NAME_SHOWN, name);
        snprintf(reason, SNAPSHOT_REASON_MAX + 1,
                 "%s%s is over its budget of %s (%s)", name,
                 found->name[strlen(name)] ? "..." : "",
                 bytes_text((double)found->limit).text,
                 bytes_text(found->now).text);
    }
    pthread_mutex_unlock(&budgets->lock);
    return found != NULL;
}
