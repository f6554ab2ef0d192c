/*
 * known_wrappers.c - see known_wrappers.h.
 *
 * Only what returns memory to its caller is here: a function that allocates for
 * a structure of its own is what a user looks for.
 */
#include "known_wrappers.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "mappings.h"

static const char of_redis[] =
    "zmalloc*,zcalloc*,zrealloc*,ztrymalloc*,ztrycalloc*,ztryrealloc*,zstrdup*,"
    "valkey_malloc*,valkey_calloc*,valkey_realloc*,valkey_strdup*";
static const char of_mysql[] =
    "my_malloc,my_raw_malloc,my_multi_malloc*,my_realloc,my_strdup,my_strndup,"
    "my_memdup,my_once_alloc,my_once_strdup,my_once_memdup,alloc_root,"
    "multi_alloc_root,strdup_root,safe_strdup_root,strmake_root,memdup_root,"
    "MEM_ROOT::Alloc*,MEM_ROOT::ForceNewBlock";
static const char of_postgres[] =
    "palloc*,repalloc*,MemoryContextAlloc*,MemoryContextStrdup,AllocSetAlloc*,"
    "AllocSetRealloc,GenerationAlloc*,GenerationRealloc,SlabAlloc*,SlabRealloc,"
    "BumpAlloc*,pstrdup,pnstrdup";

static const struct {
    const char *begins; /* how the name of the program's file begins */
    const char *list;
} programs[] = {
    {"redis-", of_redis},   {"valkey-", of_redis}, {"keydb-", of_redis},
    {"mariadbd", of_mysql}, {"mysqld", of_mysql},  {"postgres", of_postgres},
};

/* The list's first name. */
static bool
says_none(const char *list)
{
    return strncmp(list, "none", 4) == 0 && (!list[4] || list[4] == ',');
}

const char *
known_wrappers(const char *program, const char *list)
{
    const char *name = mapping_basename(program);

    if (list && says_none(list))
        return "";
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        if (strncmp(name, programs[i].begins, strlen(programs[i].begins)) == 0)
            return programs[i].list;
    return "";
}
