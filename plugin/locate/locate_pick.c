/*
 * locate_pick.c - which function is which jemalloc's mallctl; see
 * locate_work.h.
 *
 * A file may have several jemallocs, each with a variable <PREFIX>MALLOC_CONF.
 * Symbols are certain and come first; they are matched to variables by prefix.
 * Where they are stripped, the calls that locate_code.c has counted decide: the
 * one function that nearly all callers agree on, or two where there are two
 * jemallocs.  A wrong address would be called in the database and end it, so
 * the thresholds below leave a file without an answer rather than guess: the
 * user can then give the address (locate_give.c).
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "locate_work.h"

enum {
    CANDIDATES_MAX = 16,
    SCAN_NAMES_MIN = 5,   /* distinct names in its calls */
    SCAN_SHARE_MIN = 80,  /* percent of all votes */
    SCAN_BALANCE_MIN = 25 /* of two: the second's, in percent of the first's */
};

/* Symbols that may be a mallctl. */
struct candidates {
    struct {
        char prefix[LOCATE_PREFIX_MAX];
        uint64_t address;
    } list[CANDIDATES_MAX];
    size_t count;
};

static bool
take_candidate(void *arg, const char *before, uint64_t address)
{
    struct candidates *all = arg;

    memcpy(all->list[all->count].prefix, before, strlen(before) + 1);
    all->list[all->count++].address = address;
    return all->count < CANDIDATES_MAX;
}

static bool
is_sibling(void *arg, const char *before, uint64_t address)
{
    const char **prefix = arg;

    (void)address;
    if (strcmp(before, *prefix) == 0)
        *prefix = NULL;
    return *prefix != NULL;
}

/* Does the same source have <prefix>mallctlnametomib?  A function that is only
 * called something like mallctl has no such sibling. */
static bool
has_sibling(const struct symbol_source *source, struct locate_work *work,
            const char *prefix)
{
    struct symbol_query query = {"mallctlnametomib", is_sibling, &prefix};

    source->find(source->elf, work, &query);
    return prefix == NULL;
}

static void
set_jemalloc_mallctl(struct locate_jemalloc *j, const char *prefix,
                     uint64_t address, enum locate_how how)
{
    memmove(j->prefix, prefix, strlen(prefix) + 1);
    j->mallctl = address;
    j->how = how;
}

static size_t
open_ones(const struct locate *out)
{
    size_t count = 0;

    for (size_t i = 0; i < out->count; i++)
        count += out->jemallocs[i].how == LOCATE_NOWHERE;
    return count;
}

struct picking {
    struct locate *out;
    struct locate_work *work;
};

/* Matches symbols to jemallocs: the prefix of the symbol is that of the
 * variable, in lower case.  A program may have renamed its symbols: where there
 * is just one jemalloc, another prefix counts if all candidates agree. */
static bool
pick_symbols(void *arg, const struct symbol_source *source)
{
    const struct picking *picking = arg;
    struct locate *out = picking->out;
    struct candidates all = {.count = 0};
    struct symbol_query query = {"mallctl", take_candidate, &all};
    bool agree = true;

    source->find(source->elf, picking->work, &query);
    for (size_t k = 0; k < all.count; k++) {
        agree = agree && all.list[k].address == all.list[0].address;
        for (size_t i = 0; i < out->count; i++) {
            struct locate_jemalloc *j = &out->jemallocs[i];

            if (j->how == LOCATE_NOWHERE &&
                strcasecmp(all.list[k].prefix, j->prefix) == 0)
                set_jemalloc_mallctl(j, all.list[k].prefix, all.list[k].address,
                                     source->how);
        }
    }
    if (out->count == 1 && open_ones(out) == 1 && all.count > 0 && agree &&
        has_sibling(source, picking->work, all.list[0].prefix))
        set_jemalloc_mallctl(&out->jemallocs[0], all.list[0].prefix,
                             all.list[0].address, source->how);
    return open_ones(out) > 0;
}

static uint32_t
names_of(const struct vote *vote)
{
    return (uint32_t)(__builtin_popcountll(vote->names[0]) +
                      __builtin_popcountll(vote->names[1]));
}

/* Drops targets that are no function's start.  A pattern that was matched in
 * the middle of an instruction "calls" anything; so does what a tool that moves
 * code (BOLT) leaves behind. */
static void
drop_inside(struct locate_work *work)
{
    for (size_t i = 0; i < VOTES_MAX; i++) {
        struct vote *vote = &work->votes[i];

        if (vote->count > 0 &&
            locate_starts(work->elf, vote->target) == LOCATE_START_ELSEWHERE) {
            work->voted -= vote->count;
            *vote = (struct vote){.count = 0};
        }
    }
}

/* Moves the targets with most votes to the front. */
static void
move_top_votes_first(struct vote *votes)
{
    for (size_t place = 0; place < LOCATE_CANDIDATES_MAX; place++) {
        for (size_t i = place + 1; i < VOTES_MAX; i++) {
            struct vote behind = votes[place];

            if (votes[i].count > behind.count) {
                votes[place] = votes[i];
                votes[i] = behind;
            }
        }
    }
}

/* How many of the first targets are mallctls: one that nearly all calls agree
 * on, or two where there may be two jemallocs. */
static size_t
count_elected(const struct locate_work *work, bool two)
{
    const struct vote *v = work->votes;
    uint64_t needed = (uint64_t)work->voted * SCAN_SHARE_MIN;

    if (names_of(&v[0]) < SCAN_NAMES_MIN)
        return 0;
    if ((uint64_t)v[0].count * 100 >= needed)
        return 1;
    if (two && names_of(&v[1]) >= SCAN_NAMES_MIN &&
        (uint64_t)v[1].count * 100 >= (uint64_t)v[0].count * SCAN_BALANCE_MIN &&
        ((uint64_t)v[0].count + v[1].count) * 100 >= needed)
        return 2;
    return 0;
}

/* The distance between a function and the code that reads the variable of
 * jemalloc i: both are in one source file of jemalloc, so they are near.  A
 * very large one if that jemalloc has its mallctl already, or no code reads its
 * variable. */
static uint64_t
variable_code_distance(const struct locate *out, const struct locate_work *work,
                       size_t i, uint64_t address)
{
    uint64_t at = work->variables[i].used_at;

    if (out->jemallocs[i].how != LOCATE_NOWHERE || at == 0)
        return UINT64_MAX / 2;
    return at > address ? at - address : address - at;
}

static void
give_one(struct locate *out, const struct locate_work *work, uint64_t target)
{
    size_t best = 0;

    for (size_t i = 1; i < out->count; i++) {
        if (out->jemallocs[best].how != LOCATE_NOWHERE ||
            variable_code_distance(out, work, i, target) <
                variable_code_distance(out, work, best, target))
            best = i;
    }
    if (out->jemallocs[best].how == LOCATE_NOWHERE)
        set_jemalloc_mallctl(&out->jemallocs[best], out->jemallocs[best].prefix,
                             target, LOCATE_SCAN);
}

/* Assigns both at once, by the least sum of distances: where the two jemallocs
 * lie side by side, the nearest variable may be the other one's. */
static void
give_two(struct locate *out, const struct locate_work *work, uint64_t first,
         uint64_t second)
{
    uint64_t best = UINT64_MAX;
    size_t a = 0, b = 1;

    for (size_t i = 0; i < out->count; i++) {
        for (size_t k = 0; k < out->count; k++) {
            uint64_t sum = variable_code_distance(out, work, i, first) / 2 +
                           variable_code_distance(out, work, k, second) / 2;

            if (i == k || sum >= best)
                continue;
            best = sum;
            a = i;
            b = k;
        }
    }
    set_jemalloc_mallctl(&out->jemallocs[a], out->jemallocs[a].prefix, first,
                         LOCATE_SCAN);
    set_jemalloc_mallctl(&out->jemallocs[b], out->jemallocs[b].prefix, second,
                         LOCATE_SCAN);
}

static bool
is_known_mallctl(const struct locate *out, uint64_t address)
{
    for (size_t i = 0; i < out->count; i++) {
        if (out->jemallocs[i].how != LOCATE_NOWHERE &&
            out->jemallocs[i].mallctl == address)
            return true;
    }
    return false;
}

static void
pick_scanned(struct locate *out, struct locate_work *work)
{
    size_t known = out->count - open_ones(out), elected;

    locate_code(work);
    drop_inside(work);
    move_top_votes_first(work->votes);
    out->votes = work->voted;
    for (size_t i = 0; i < LOCATE_CANDIDATES_MAX; i++)
        out->candidates[i] = (struct locate_candidate){
            work->votes[i].target, work->votes[i].count,
            names_of(&work->votes[i])};
    elected = count_elected(work, out->count > 1);
    if (elected == 2 && known == 0) {
        give_two(out, work, work->votes[0].target, work->votes[1].target);
        return;
    }
    for (size_t i = 0; i < elected && known < elected; i++) {
        uint64_t target = work->votes[i].target;

        if (is_known_mallctl(out, target))
            continue;
        give_one(out, work, target);
        known++;
    }
}

/* Drops jemallocs of which only a variable's name was found, as in a help text:
 * where some mallctl is known, those without one; otherwise those whose
 * variable no code loads, if some code loads another's. */
static void
drop_mentions(struct locate *out, const struct locate_work *work)
{
    bool known = open_ones(out) < out->count, used = false;
    size_t kept = 0;

    for (size_t i = 0; i < out->count; i++)
        used = used || work->variables[i].used_at != 0;
    for (size_t i = 0; i < out->count; i++) {
        bool found = out->jemallocs[i].how != LOCATE_NOWHERE;

        if (known ? found : !used || work->variables[i].used_at != 0)
            out->jemallocs[kept++] = out->jemallocs[i];
    }
    memset(&out->jemallocs[kept], 0,
           (out->count - kept) * sizeof(out->jemallocs[0]));
    out->count = kept;
}

void
locate_pick(struct locate *out, struct locate_work *work, const char *path)
{
    struct picking picking = {out, work};

    out->count = work->variable_count > 0 ? work->variable_count : 1;
    for (size_t i = 0; i < work->variable_count; i++) {
        struct locate_jemalloc *j = &out->jemallocs[i];
        const char *name = work->variables[i].name;
        size_t size = strlen(name) - strlen("MALLOC_CONF");

        memcpy(j->variable, name, strlen(name));
        for (size_t k = 0; k < size; k++)
            j->prefix[k] = (char)tolower((unsigned char)name[k]);
    }
    locate_symbols(work->elf, path, pick_symbols, &picking);
    if (open_ones(out) == 0)
        return;
    pick_scanned(out, work);
    drop_mentions(out, work);
}
