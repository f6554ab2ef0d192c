/*
 * tables_mappings.c - heapwire.mappings: what the database has mapped, one by
 * one, and whose it is.
 *
 * The list is made once per statement (NEED_MAPPINGS) from the kernel's
 * figures, jemalloc's and the threads' stacks.  What could not be read is a
 * row that says why, since a client that reads every table must not fail here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "catalog_tables.h"
#include "memory_map.h"
#include "sql.h"
#include "sql_cursor.h"

/* Columns from rss to permissions.  They, start and size are NULL where a row
 * only says what is missing. */
enum { FIGURES = 5 };

/* Adds the address with a fixed number of digits, so that they sort as
 * texts. */
static void
add_mapping_address(struct rowset *out, const struct memory_range *range)
{
    char text[24];

    snprintf(text, sizeof(text), "0x%012" PRIx64, range->start);
    rowset_text(out, range->end ? text : NULL);
}

static void
add_mapping_bytes(struct rowset *out, bool known, uint64_t bytes)
{
    rowset_int_if(out, known && bytes <= INT64_MAX, (int64_t)bytes);
}

static void
add_range_row(struct rowset *out, const struct memory_map *map,
              const struct memory_range *range)
{
    /* Without an address range it is no part of rss, unless it sums up the
     * mappings that the list has no room for. */
    bool counted =
        !range->uncounted && (range->end != 0 || range->kind == RANGE_OTHERS);
    bool whole = counted && !range->part;

    add_mapping_address(out, range);
    add_mapping_bytes(out, true, range->size);
    add_mapping_bytes(out, counted, range->rss);
    add_mapping_bytes(out, whole && !map->not_dirty, range->dirty);
    add_mapping_bytes(out, whole, range->anonymous);
    add_mapping_bytes(out, whole, range->swap);
    rowset_text(out, range->end ? range->permissions : NULL);
    rowset_text(out, range_kind_name(range->kind));
    rowset_text(out, range->owner);
    rowset_int_if(out, range->tid != 0, range->tid);
    rowset_text(out, range->name);
    rowset_time(out, range->first_seen_ms);
    rowset_text(out, range->evidence);
}

/* Adds a row that says what is missing. */
static void
add_missing(struct rowset *out, const char *why)
{
    rowset_nulls(out, 2 + FIGURES);
    ROWSET_TEXTS(out, range_kind_name(RANGE_UNKNOWN), "");
    rowset_null(out);
    rowset_text(out, why);
    rowset_null(out);
    rowset_text(out, "");
}

static void
produce_mappings(const struct catalog_scope *scope, struct rowset *out)
{
    const struct memory_map *map = scope->mappings;

    if (!map)
        return;
    if (map->failure)
        add_missing(out, map->failure);
    for (size_t i = 0; i < map->count; i++)
        add_range_row(out, map, &map->list[i]);
    if (map->cut)
        add_missing(out, "more mappings: the agent's text was cut");
}

static const struct catalog_column mappings[] = {
    CATALOG_NODE_ID,
    {"start", &type_name,
     "Its address; NULL: what the kernel has for the process or its cgroup"},
    {"size", &type_bigint, "Bytes of address space, or of the kernel's memory"},
    {"rss", &type_bigint,
     "Bytes in memory, also where others share them; all together memory.rss; "
     "NULL: not a part of that, or not counted"},
    {"dirty", &type_bigint,
     "Bytes of rss that were written and are in no file; NULL: the row is a "
     "part of a mapping, or the process is large"},
    {"anonymous", &type_bigint, "Bytes of rss that are no file's"},
    {"swap", &type_bigint, "Bytes swapped out"},
    {"permissions", &type_word, "rwx, p private or s shared"},
    {"kind", &type_name_nn,
     "jemalloc, glibc malloc, thread stack, file, foreign anonymous, shared "
     "memory, vdso, page tables, kernel; others: mappings beyond the first "
     "65536; unknown: name says why"},
    {"owner", &type_text_nn, "The thread's name, the file, what the memory is"},
    {"tid", &type_bigint, "The thread whose stack it is"},
    {"name", &type_text_nn,
     "As the kernel has it: a file, a word; the cgroup; empty: none"},
    {"first_seen", &type_time,
     "Of foreign memory: when heapwired saw it first, UTC"},
    {"evidence", &type_text_nn, "How the owner is known"},
};

const struct catalog_table tables_mappings[] = {
    {"heapwire", "mappings", CATALOG_OWN_COLUMNS(mappings), produce_mappings,
     "What the database has mapped, one by one, and whose it is; the kernel "
     "looks at all of its pages for it",
     PRIVILEGE_PROFILE, NEED_MAPPINGS},
    CATALOG_OF_ALL("mappings", mappings, PRIVILEGE_PROFILE,
                   &tables_mappings[0]),
    {NULL},
};
