/* users.c - see users.h. */
#include "users.h"

#include <ctype.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "errors.h"
#include "memory.h"

struct users {
    uint8_t
        secret[AUTH_SHA256]; /* from which unknown users' verifiers are made */
    size_t count;
    struct user list[USERS_MAX];
};

struct users *
users_new(struct error *err)
{
    struct users *users = mem_zalloc(1, sizeof(*users));

    if (!users) {
        error_memory(err, "the accounts");
        return NULL;
    }
    if (RAND_bytes(users->secret, sizeof(users->secret)) != 1) {
        error_set(err, ER_UNKNOWN, "no random bytes for the accounts");
        users_free(users);
        return NULL;
    }
    return users;
}

void
users_free(struct users *users)
{
    if (!users)
        return;
    OPENSSL_cleanse(users, sizeof(*users));
    mem_free(users);
}

int
users_check_name(const char *name, struct error *err)
{
    size_t size = strlen(name);
    bool fits = size > 0 && size <= USERS_NAME_MAX;

    if (strcmp(name, USERS_RESERVED) == 0) {
        error_set(err, ER_WRONG_VALUE,
                  "the name '" USERS_RESERVED
                  "' is reserved for logins over the unix socket without a "
                  "password; choose another "
                  "one");
        return -1;
    }

    for (size_t i = 0; fits && i < size; i++)
        fits = isalnum((unsigned char)name[i]) || strchr("_.@-", name[i]);
    if (!fits) {
        error_set(err, ER_WRONG_VALUE,
                  "a user's name must be 1 to %d letters, digits, or any of "
                  "'_.@-'",
                  USERS_NAME_MAX);
        return -1;
    }
    return 0;
}

static bool
is_named(const struct user *user, struct span name)
{
    return span_is(name, user->name);
}

int
users_add(struct users *users, const struct user *user, struct error *err)
{
    struct span name = {user->name, strlen(user->name)};

    if (users_check_name(user->name, err) != 0)
        return -1;
    if (users->count == USERS_MAX) {
        error_set(err, ER_WRONG_VALUE, "more than %d users", USERS_MAX);
        return -1;
    }
    for (size_t i = 0; i < users->count; i++)
        if (is_named(&users->list[i], name)) {
            error_set(err, ER_WRONG_VALUE, "user '%s' exists already",
                      user->name);
            return -1;
        }
    users->list[users->count++] = *user;
    return 0;
}

size_t
users_count(const struct users *users)
{
    return users->count;
}

const struct user *
users_at(const struct users *users, size_t i)
{
    return &users->list[i];
}

const struct user *
users_named(const struct users *users, const char *name)
{
    for (size_t i = 0; i < users->count; i++)
        if (strcmp(users->list[i].name, name) == 0)
            return &users->list[i];
    return NULL;
}

bool
users_any_sha2_only(const struct users *users)
{
    for (size_t i = 0; i < users->count; i++)
        if (!users->list[i].verifier.has_native &&
            !users->list[i].verifier.is_token)
            return true;
    return false;
}

/* No early exit, and the fake is always made: an unknown name must not answer
 * sooner or later than a known one. */
int
users_find(const struct users *users, struct span name, struct user *out,
           struct error *err)
{
    struct user found = {.privileges = 0};

    if (verifier_fake(&found.verifier, users->secret, name, err) != 0)
        return -1;
    for (size_t i = 0; i < users->count; i++)
        if (is_named(&users->list[i], name))
            found = users->list[i];
    *out = found;
    return 0;
}
