/*
 * observed_name.h - names for profiles that are taken from outside, valid where
 * a snapshot's name is:
 *
 *      cpu[:seconds[:hz]][:kernel]
 *      wall[:seconds[:hz]]
 *
 * A statement that reads one samples so long; all that it calls so is one
 * profile.  No kept snapshot has such a name.
 */
#ifndef HW_OBSERVED_NAME_H
#define HW_OBSERVED_NAME_H

#include <stdbool.h>

#include "observe.h"

struct error;
struct handle;
struct snapshot;

enum { OBSERVED_MAX = 8 }; /* of one statement */

struct observed_name {
    enum observe_kind kind;
    uint32_t seconds, hz; /* hz 0: as the sampler has it */
    bool kernel;          /* with the kernel's functions */
};

/* Whether text begins as such a name does; it may still be wrong. */
bool observed_name_is(const char *text);
/* -1 with *err. */
int observed_name_parse(const char *text, struct observed_name *out,
                        struct error *err);

/* What a statement has sampled. */
struct observed {
    struct observed_name name;
    struct snapshot *snapshot; /* a reference */
};

/* Samples, unless the statement did.  Returns SQLite's codes, as fetch_needs
 * does; *out is borrowed. */
int observed_need(struct handle *handle, const char *name,
                  struct snapshot **out);

#endif
