/*
 * modules.h - which files a profile's addresses lie in, with build-ids.
 */
#ifndef HW_MODULES_H
#define HW_MODULES_H

struct error;
struct mappings;
struct objects;
struct profile;

enum { MODULES_MAX = 1024 /* executable mappings of files */ };

/* Fills the profile's modules, before others see it.  objects has the mapped
 * files; NULL: no build-id is known.  Mappings past the ceiling are left out.
 * -1 with *err without memory. */
int modules_fill(struct profile *profile, const struct mappings *maps,
                 struct objects *objects, struct error *err);

#endif
