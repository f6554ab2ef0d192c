/*
 * user_quota.c - divides slots among users by one rule, without reserving any;
 * see user_quota.h.  All state is the caller's, under the caller's lock.
 */
#include "user_quota.h"

#include "errors.h"

int
user_quota_check(const struct user_quota *quota, size_t max, const char *what,
                 const char *remedy, struct error *err)
{
    size_t unused = quota->taken < max ? max - quota->taken : 0;

    if (user_quota_has_slot(quota, max))
        return 0;
    if (quota->user_taken == 0)
        error_set(err, ER_OUT_OF_RESOURCES,
                  "Out of resources: others have all %zu '%s'; try again "
                  "later",
                  max, what);
    else
        error_set(
            err, ER_USER_LIMIT_REACHED,
            "User '%s' has exceeded the '%s' resource (current value: %zu): "
            "users share %zu, %zu of them are free, and one user gets at most "
            "as many as stay free for the others; %s, or try again later",
            quota->user, what, quota->user_taken, max, unused, remedy);
    return -1;
}

const char **
user_quota_take(const char **slots, size_t *taken, size_t max, const char *user,
                const char *what, const char *remedy, struct error *err)
{
    struct user_quota quota = {.user = user};
    const char **slot = NULL;

    /* All taken slots are counted, also those behind the first free one; the
     * search ends once *taken of them were seen, so it is short while few are
     * in use. */
    for (size_t i = 0; i < max && (!slot || quota.taken < *taken); i++)
        if (slots[i])
            user_quota_count(&quota, slots[i]);
        else if (!slot)
            slot = &slots[i];
    if (user_quota_check(&quota, max, what, remedy, err) != 0)
        return NULL;
    *slot = user;
    ++*taken;
    return slot;
}

void
user_quota_release(const char **slot, size_t *taken)
{
    *slot = NULL;
    --*taken;
}
