/*
 * profile_stacks.h - a profile's stacks: made of a dump's, with estimates of
 * what they hold, each once.
 */
#ifndef HW_PROFILE_STACKS_H
#define HW_PROFILE_STACKS_H

struct heap_dump;
struct profile;

/* For profile.h: fills the stacks of a profile that has an arena, and their
 * totals.  Those of dump are gone then, and nothing else of it changes.  -1: no
 * memory or past the arena's limit. */
int profile_stacks_take(struct profile *profile, struct heap_dump *dump);

#endif
