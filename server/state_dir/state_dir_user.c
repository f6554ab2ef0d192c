/* state_dir_user.c - see state_dir_user.h. */
#include "state_dir_user.h"

#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { NAMES_MAX = 16384, USER_MAX = NAME_MAX + 16 };

/* "" without a passwd entry. */
static void
name_of(uid_t uid, char out[NAME_MAX])
{
    char names[NAMES_MAX];
    struct passwd entry, *found = NULL;

    out[0] = '\0';
    if (getpwuid_r(uid, &entry, names, sizeof(names), &found) == 0 && found)
        snprintf(out, NAME_MAX, "%s", found->pw_name);
}

/* "uid 999 (postgres)" */
static void
describe(uid_t uid, char *out, size_t size)
{
    char name[NAME_MAX];

    name_of(uid, name);
    snprintf(out, size, "uid %u%s%s%s", (unsigned)uid, *name ? " (" : "", name,
             *name ? ")" : "");
}

/* Judged without its supplementary groups. */
static bool
may_pass(const struct stat *st, uid_t uid)
{
    return st->st_uid == uid ? st->st_mode & S_IXUSR
                             : st->st_mode & (S_IXOTH | S_IXGRP);
}

/* The first directory on the way to path that it may not pass through. */
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
    describe(uid, user, sizeof(user));
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
    describe(owner, own, sizeof(own));
    name_of(uid, name);
    snprintf(out, size,
             "the database runs as %s, the state directory %s belongs to %s: "
             "start heapwire-run with --user %s",
             user, path, own, *name ? name : "and a name of that user");
    return true;
}
