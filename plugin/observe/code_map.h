/*
 * code_map.h - where the code of another process lies, and the files that it is
 * of, found without asking the process.
 */
#ifndef HW_CODE_MAP_H
#define HW_CODE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mappings.h"
#include "objects.h"

struct arena;
struct error;

struct code_map {
    /* memfd_create() is allowed (CONFINED_MEMFD); else /tmp is used */
    bool memfd;
    int32_t pid;
    struct arena *arena;
    struct mappings maps;
    struct objects objects; /* the files of maps that can be opened */
    char program[512];      /* path of its program; "" unknown */
    char clash[64]; /* the first file whose range was taken, in a child; "" */
};

/* Whether this user may not read its mappings. */
bool code_map_is_refused(int32_t pid);
/* Fills a struct that is zeroed, apart from memfd.  -1 with *err: no such
 * process, or it may not be looked at. */
int code_map_open(struct code_map *map, int32_t pid, struct error *err);
/* Adds the code that a forked child loaded itself.  Returns how many of its
 * mappings overlap others and so were left out.  A child that cannot be looked
 * at adds nothing. */
size_t code_map_join(struct code_map *map, int32_t child);
void code_map_close(struct code_map *map); /* zeroed is fine */

#endif
