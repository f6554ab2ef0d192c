/* profile_fixture.h - small profiles for tests, from text. */
#ifndef HW_PROFILE_FIXTURE_H
#define HW_PROFILE_FIXTURE_H

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "heap_dump.h"
#include "names.h"
#include "profile.h"

/* What an address (as written in the dump) is called.  Inlined frames are
 * separated by '|', innermost first; each may be "function\037file\037line". */
struct fixture_name {
    uint64_t address;
    const char *functions;
    bool in_allocator;
    const char *symbol; /* NULL: none */
    uint64_t symbol_start;
};

/* Both as an address of a leaf and as one that is returned to. */
static inline void
fixture_add(struct names *names, const struct fixture_name *from)
{
    char text[4096], *rest = text, *function;
    struct frame frames[NAMES_INLINE_MAX];
    uint32_t count = 0;

    ck_assert_uint_lt(strlen(from->functions), sizeof(text));
    strcpy(text, from->functions);
    while ((function = strsep(&rest, "|"))) {
        char *place = function, *file, *line;

        strsep(&place, "\037");
        file = strsep(&place, "\037");
        line = strsep(&place, "\037");
        frames[count++] = (struct frame){
            function, file, line ? (uint32_t)strtoul(line, NULL, 10) : 0};
    }
    for (uint64_t less = 0; less < 2; less++) {
        ck_assert_int_eq(names_add(names, from->address - less, frames, count,
                                   from->in_allocator),
                         0);
        if (from->symbol)
            ck_assert_int_eq(names_set_symbol(names, from->address - less,
                                              from->symbol, from->symbol_start),
                             0);
    }
}

/* The list ends with an empty entry. */
static inline struct profile *
fixture_profile(const char *dump_text, const struct fixture_name *list,
                const struct profile_origin *origin)
{
    struct names *names = names_new(16 << 20);
    struct error err = {0};
    struct heap_dump *dump =
        heap_dump_parse(dump_text, strlen(dump_text), &err);
    struct profile *profile;

    ck_assert_msg(dump != NULL, "%s", err.text);
    for (; list && list->functions; list++)
        fixture_add(names, list);
    profile = profile_new(dump, names, "/usr/bin/db", origin, &err);
    ck_assert_msg(profile != NULL, "%s", err.text);
    heap_dump_free(dump);
    names_free(names); /* a profile owns what it shows */
    return profile;
}

/* Turns a profile into a difference in which every second stack shrank. */
static inline void
fixture_make_signed(struct profile *profile)
{
    struct profile_stack *stacks = (struct profile_stack *)profile->stacks;

    profile->difference = true;
    for (size_t i = 1; i < profile->stack_count; i += 2) {
        profile->bytes -= 2 * stacks[i].bytes;
        profile->objects -= 2 * stacks[i].objects;
        stacks[i].bytes = -stacks[i].bytes;
        stacks[i].objects = -stacks[i].objects;
    }
}

#endif
