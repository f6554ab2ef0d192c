/*
 * safe_path.h - opens a directory that no other user can replace.
 *
 * Whoever owns a directory on the way, or may write to it, can put another one
 * in the place of what follows.
 */
#ifndef HW_SAFE_PATH_H
#define HW_SAFE_PATH_H

#include <limits.h>
#include <stdbool.h>

struct error;

/* Where the last name of a path lies. */
struct safe_path {
    int parent;              /* O_PATH; -1: it is not there */
    char name[NAME_MAX + 1]; /* the last, itself not looked at */
    bool roots_own;          /* only root can make names in the parent */
};

/* Walks from / to the directory before the last name.  make: what is missing on
 * the way is made.  -1 with *err, also where another user can lead the way
 * elsewhere; else the caller closes parent. */
int safe_path_walk(const char *path, bool make, struct safe_path *out,
                   struct error *err);

/* Opens the last name, which may be no symbolic link, below a parent that is
 * there; makes it, mode 0700, where it is missing.  -1 with errno. */
int safe_path_open(const struct safe_path *at);

#endif
