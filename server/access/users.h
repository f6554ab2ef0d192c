/*
 * users.h - the accounts of the configuration file.
 *
 * A set is built once, then only read; a reload makes another.
 */
#ifndef HW_USERS_H
#define HW_USERS_H

#include <stddef.h>
#include <stdint.h>

#include "auth.h"
#include "reader.h"

struct error;
struct users;

enum {
    USERS_MAX = 256,
    USERS_NAME_MAX = 32 /* MySQL's limit, too */
};

#define USERS_RESERVED "root" /* only the unix socket's: login.c */

struct user {
    char name[USERS_NAME_MAX + 1];
    struct verifier verifier; /* only in the keeper; elsewhere its kind alone */
    uint32_t privileges;      /* 0: the user does not exist */
    uint32_t max_connections; /* at once; 0: as many as there is room for */
};

struct users *users_new(struct error *err);
void users_free(struct users *users); /* NULL is fine */

/* -1 with *err: name used, unfit, or too many. */
int users_add(struct users *users, const struct user *user, struct error *err);
int users_check_name(const char *name, struct error *err);

size_t users_count(const struct users *users);
const struct user *users_at(const struct users *users, size_t i);
/* NULL: there is none. */
const struct user *users_named(const struct users *users, const char *name);
/* Does any user refuse the native plugin? */
bool users_any_sha2_only(const struct users *users);

/* For the keeper, which alone has verifiers: a copy of the user, or of a
 * made-up user whose password does not exist.  Both take the same path and
 * time.  -1 only without OpenSSL or memory. */
int users_find(const struct users *users, struct span name, struct user *out,
               struct error *err);

#endif
