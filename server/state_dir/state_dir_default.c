/*
 * state_dir_default.c - see state_dir.h.
 *
 * Root has /run.  Other users have XDG_RUNTIME_DIR, or else /tmp, where anybody
 * can take a name that is known beforehand; then a random name is drawn, and
 * the next start finds it again by its owner, mode and prefix.  Runs before
 * there are threads.
 */
#include "state_dir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"

/* ---- another user's database ---- */

enum { NAMES_MAX = 16384, USER_MAX = NAME_MAX + 16 };

/* "" without a passwd entry. */
static void
look_up_user_name(uid_t uid, char out[NAME_MAX])
{
    char names[NAMES_MAX];
    struct passwd entry, *found = NULL;

    out[0] = '\0';
    if (getpwuid_r(uid, &entry, names, sizeof(names), &found) == 0 && found)
        snprintf(out, NAME_MAX, "%s", found->pw_name);
}

/* "uid 999 (postgres)" */
static void
describe_user_id(uid_t uid, char *out, size_t size)
{
    char name[NAME_MAX];

    look_up_user_name(uid, name);
    snprintf(out, size, "uid %u%s%s%s", (unsigned)uid, *name ? " (" : "", name,
             *name ? ")" : "");
}

/* Supplementary groups are not known here, so a group's bit counts for anybody.
 */
static bool
may_pass(const struct stat *st, uid_t uid)
{
    return st->st_uid == uid ? st->st_mode & S_IXUSR
                             : st->st_mode & (S_IXOTH | S_IXGRP);
}

/* Finds the first directory on the way to path that uid may not pass through.
 */
static bool
find_barrier(const char *path, uid_t uid, char *out, size_t size,
             struct stat *st)
{
    for (const char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        snprintf(out, size, "%.*s", (int)(p - path), path);
        if (stat(out, st) == 0 && !may_pass(st, uid))
            return true;
    }
    return false;
}

bool
state_dir_excludes(const char *path, uid_t owner, uid_t uid, char *out,
                   size_t size)
{
    char barrier[PATH_MAX], own[USER_MAX], user[USER_MAX], name[NAME_MAX];
    struct stat st;

    if (uid == 0)
        return false;
    describe_user_id(uid, user, sizeof(user));
    if (find_barrier(path, uid, barrier, sizeof(barrier), &st)) {
        snprintf(out, size,
                 "the database runs as %s, which may not pass through %s (mode "
                 "%04o), where its state directory lies: start heapwire-run "
                 "with another --state-dir",
                 user, barrier, (unsigned)st.st_mode & 07777);
        return true;
    }
    if (owner == uid)
        return false;
    describe_user_id(owner, own, sizeof(own));
    look_up_user_name(uid, name);
    snprintf(out, size,
             "the database runs as %s, the state directory %s belongs to %s: "
             "start heapwire-run with --user %s",
             user, path, own, *name ? name : "and a name of that user");
    return true;
}

/* ---- the default ---- */

#define SHARED "/tmp"

enum { RANDOM_LETTERS = 10, STATE_NAME_BYTES = 64, BASE_BYTES = PATH_MAX - 16 };

/* A directory of ours, not a link to one, that others cannot use. */
static bool
is_own_private_dir(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
           st.st_uid == geteuid() && (st.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

/* The user's own directory for runtime files.  False: there is none that is
 * safe; *instead then says why. */
static bool
find_runtime(char base[BASE_BYTES], struct error *instead)
{
    const char *run = getenv("XDG_RUNTIME_DIR"); /* NOLINT: one thread so far */
    struct stat st;

    if (!run || *run != '/')
        return false;
    if (stat(run, &st) == 0 && st.st_uid == geteuid() &&
        (st.st_mode & (S_IWGRP | S_IWOTH)) == 0 && access(run, W_OK) == 0 &&
        snprintf(base, BASE_BYTES, "%s/heapwire", run) < BASE_BYTES)
        return true;
    error_set(instead, ER_WRONG_VALUE,
              "XDG_RUNTIME_DIR (%s) is no directory of uid %u's own", run,
              (unsigned)geteuid());
    return false;
}

/* Of several, the first by name: each start then chooses the same. */
static bool
find_own_state_dir(const char *prefix, char name[STATE_NAME_BYTES])
{
    DIR *dir = opendir(SHARED);
    struct dirent *entry;
    char path[PATH_MAX];

    name[0] = '\0';
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread so far */
    while (dir && (entry = readdir(dir)) != NULL) {
        size_t size = strlen(entry->d_name);

        snprintf(path, sizeof(path), SHARED "/%s", entry->d_name);
        if (size < STATE_NAME_BYTES &&
            strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
            (!*name || strcmp(entry->d_name, name) < 0) &&
            is_own_private_dir(path))
            memcpy(name, entry->d_name, size + 1);
    }
    if (dir)
        closedir(dir);
    return *name != '\0';
}

static void
make_up(const char *prefix, char name[STATE_NAME_BYTES])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned char drawn[RANDOM_LETTERS] = {0};
    size_t size = strlen(prefix);

    memcpy(name, prefix, size);
    /* 32 letters, so % is without bias.  If no random bytes come, the name is
     * known, and safe_path still refuses another user's directory. */
    (void)!getrandom(drawn, sizeof(drawn), 0);
    for (int i = 0; i < RANDOM_LETTERS; i++)
        name[size++] = letters[drawn[i] % (sizeof(letters) - 1)];
    name[size] = '\0';
}

/* A known name is fit if it is free or already ours. */
static bool
is_free_or_own(const char *base)
{
    struct stat st;

    return is_own_private_dir(base) ||
           (lstat(base, &st) != 0 && errno == ENOENT);
}

void
state_dir_default(uint32_t node_id, char *out, size_t size,
                  struct error *instead)
{
    char base[BASE_BYTES], prefix[STATE_NAME_BYTES - RANDOM_LETTERS],
        name[STATE_NAME_BYTES];
    struct error why = {0}, fault;
    unsigned id = node_id;

    memset(instead, 0, sizeof(*instead));
    if (geteuid() == 0) {
        snprintf(out, size, "/run/heapwire/%u", id);
        return;
    }
    /* Tried in this order: runtime directory, known name, own random name, new
     * one. */
    if (find_runtime(base, &why)) {
        snprintf(out, size, "%s/%u", base, id);
        if (state_dir_check(out, &fault) == 0)
            return;
        why = fault;
    }
    snprintf(base, sizeof(base), SHARED "/heapwire-%u", (unsigned)geteuid());
    snprintf(out, size, "%s/%u", base, id);
    if (is_free_or_own(base) && state_dir_check(out, &fault) == 0)
        goto out;
    error_set(&why, ER_WRONG_VALUE, "%s is not safe", out);
    snprintf(prefix, sizeof(prefix), "heapwire-%u-", (unsigned)geteuid());
    if (!find_own_state_dir(prefix, name))
        make_up(prefix, name);
    snprintf(out, size, SHARED "/%s/%u", name, id);
out:
    if (*why.text)
        error_set(instead, ER_WRONG_VALUE,
                  "%s: the state directory is %s (--state-dir names another)",
                  why.text, out);
}
