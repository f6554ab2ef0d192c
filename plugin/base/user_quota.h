/*
 * user_quota.h - each user's quota of a number of slots.
 *
 * The one rule: a user may take another slot while it holds fewer than are
 * free.  Alone it gets half of them, the next user half of the rest: whatever
 * some hold, another one still gets in.
 */
#ifndef HW_USER_QUOTA_H
#define HW_USER_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct error;

enum { USER_QUOTA_OWNER_MAX = 64 /* bytes of a user's name */ };

/* The slots as one user sees them: count each that is taken, then ask. */
struct user_quota {
    const char *user;
    size_t user_taken, taken;
};

static inline void
user_quota_count(struct user_quota *quota, const char *owner)
{
    quota->user_taken += strcmp(owner, quota->user) == 0;
    quota->taken++;
}

/* Whether the user may take one more of max slots. */
static inline bool
user_quota_has_slot(const struct user_quota *quota, size_t max)
{
    return quota->taken < max && quota->user_taken < max - quota->taken;
}

/* As user_quota_has_slot, with an error: -1 with 1226, or 1041 if the user
 * holds none (all slots are taken).  what: "open SELECTs"; remedy: what the
 * user can do. */
int user_quota_check(const struct user_quota *quota, size_t max,
                     const char *what, const char *remedy, struct error *err);

/* Takes one of the slots, each of which is NULL or points to its user's name.
 * *taken counts the taken ones, so that a search ends early while they are few.
 * This user sees only the first max slots; its name must outlive the slot. NULL
 * with *err as user_quota_check sets it. */
const char **user_quota_take(const char **slots, size_t *taken, size_t max,
                             const char *user, const char *what,
                             const char *remedy, struct error *err);
void user_quota_release(const char **slot, size_t *taken);

#endif
