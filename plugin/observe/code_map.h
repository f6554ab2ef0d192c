/*
 * code_map.h - where the code of another process lies, and its files, found
 * without asking it.
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
    bool memfd; /* may be made here: CONFINED_MEMFD; else it is a file */
    int32_t pid;
    struct arena *arena;
    struct mappings maps;
    struct objects objects; /* of those maps, as far as they can be opened */
    char program[512];      /* its path; "" unknown */
    char clash[64]; /* the first file whose range was taken, in a child; "" */
};

/* Whether its memory and files are closed to us. */
bool code_map_is_refused(int32_t pid);
/* Into a struct that is zeroed, but for memfd.  -1 with *err: no such process,
 * or it may not be looked at. */
int code_map_open(struct code_map *map, int32_t pid, struct error *err);
/* Puts in the code that a process has which was forked from that one, where it
 * has more.  How many of its mappings lie where another's are: they are left
 * out.  A process that cannot be looked at has nothing more. */
size_t code_map_join(struct code_map *map, int32_t child);
void code_map_close(struct code_map *map); /* zeroed is fine */

#endif
