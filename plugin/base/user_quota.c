/* user_quota.c - see user_quota.h. */
#include "user_quota.h"

#include "errors.h"

int
user_quota_check(const struct share *share, size_t max, const char *what,
            const char *remedy, struct error *err)
{
    size_t unused = share->taken < max ? max - share->taken : 0;

    if (user_quota_has_slot(share, max))
        return 0;
    if (share->theirs == 0)
        error_set(err, ER_OUT_OF_RESOURCES,
                  "Out of resources: others have all %zu '%s'; try again "
                  "later",
                  max, what);
    else
        error_set(err, ER_USER_LIMIT_REACHED,
                  "User '%s' has exceeded the '%s' resource (current value: "
                  "%zu): users share %zu, %zu of them are free, and a user "
                  "gets no more than it leaves free; %s, or try again later",
                  share->user, what, share->theirs, max, unused, remedy);
    return -1;
}

const char **
user_quota_take(const char **places, size_t *taken, size_t max, const char *user,
           const char *what, const char *remedy, struct error *err)
{
    struct share share = {.user = user};
    const char **place = NULL;

    for (size_t i = 0; i < max && (!place || share.taken < *taken); i++)
        if (places[i])
            share_count(&share, places[i]);
        else if (!place)
            place = &places[i];
    if (user_quota_check(&share, max, what, remedy, err) != 0)
        return NULL;
    *place = user;
    ++*taken;
    return place;
}

void
user_quota_release(const char **place, size_t *taken)
{
    *place = NULL;
    --*taken;
}
