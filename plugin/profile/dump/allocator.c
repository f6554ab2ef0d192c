/*
 * allocator.c - see allocator.h.
 *
 * Nearly all stacks begin with several frames of the allocator, and charging
 * malloc with all memory tells nobody anything.  Names decide, because that is
 * what every dump has: a jemalloc linked into the program has no file of its
 * own.  Lists of exact names are used rather than patterns, for a pattern like
 * *alloc* would hide functions that users look for.
 *
 * Each short name is judged once and each location once (allocator_parts), so
 * that allocator_cut, which runs for every stack of every view, only looks into
 * an array.  No state; called on any thread that renders a view.
 */
#include "allocator.h"

#include <string.h>

#include "reader.h"
#include "buffer.h"
#include "errors.h"
#include "function_name.h"
#include "mappings.h"
#include "memory.h"
#include "names.h"
#include "rust_name.h"
#include "texts.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The C allocation functions.  jemalloc's prefixes may stand before them, and
 * "_default" behind them. */
static const char *const c_functions[] = {
    "malloc",         "calloc",        "realloc",  "reallocarray",
    "posix_memalign", "aligned_alloc", "memalign", "valloc",
    "pvalloc",        "mallocx",       "rallocx",  "xallocx",
};

static const char *const prefixes[] = {"_rjem_je_", "_rjem_", "je_", "je"};

/* Prefixes of jemalloc's own functions. */
static const char *const own_names[] = {"_rjem_", "je_", "prof_backtrace"};

/* Rust's library, and the crates that make jemalloc its allocator. */
static const char *const rust_paths[] = {
    "alloc::alloc::",   "alloc::boxed::box_new", /* formerly exchange_malloc */
    "alloc::raw_vec::", "core::alloc::",         "hashbrown::raw::alloc::",
    "std::alloc::",     "std::sys::alloc::",     "tikv_jemallocator::",
    "jemallocator::",
};

static const char *const other_functions[] = {
    "operator new",
    "operator new[]",
    "newImpl", /* of jemalloc's own operator new */
    "void* newImpl",
    "fallback_impl",
    "void* fallback_impl",
    "__rust_alloc",
    "__rust_alloc_zeroed",
    "__rust_realloc",
    "__rdl_alloc",
    "__rdl_alloc_zeroed",
    "__rdl_realloc",
    "__rg_alloc",
    "__rg_alloc_zeroed",
    "__rg_realloc",
};

/* The functions that jeprof skips in heap profiles, also with a leading '_'. */
static const char *const jeprof_skips[] = {
    "calloc",
    "cfree",
    "malloc",
    "newImpl",
    "void* newImpl",
    "free",
    "memalign",
    "posix_memalign",
    "aligned_alloc",
    "pvalloc",
    "valloc",
    "realloc",
    "mallocx",
    "rallocx",
    "xallocx",
    "dallocx",
    "sdallocx",
    "sdallocx_noflags",
    "tc_calloc",
    "tc_cfree",
    "tc_malloc",
    "tc_free",
    "tc_memalign",
    "tc_posix_memalign",
    "tc_pvalloc",
    "tc_valloc",
    "tc_realloc",
    "tc_new",
    "tc_delete",
    "tc_newarray",
    "tc_deletearray",
    "tc_new_nothrow",
    "tc_newarray_nothrow",
    "do_malloc",
    "::do_malloc",
    "::do_malloc_or_cpp_alloc",
    "DoSampledAllocation",
    "simple_alloc::allocate",
    "__malloc_alloc_template::allocate",
    "__builtin_delete",
    "__builtin_new",
    "__builtin_vec_delete",
    "__builtin_vec_new",
    "operator new",
    "operator new[]",
    "malloc_zone_malloc",
    "malloc_zone_calloc",
    "malloc_zone_valloc",
    "malloc_zone_realloc",
    "malloc_zone_memalign",
    "malloc_zone_free",
    "__start_google_malloc",
    "__stop_google_malloc",
    "__start_malloc_hook",
    "__stop_malloc_hook",
};

static bool
name_starts_with(const char *name, const char *start)
{
    return name[0] == start[0] && strncmp(name, start, strlen(start)) == 0;
}

/* Whether the first size bytes of name are one of the list. */
static bool
is_function_listed(const char *name, size_t size, const char *const *list,
                   size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i][0] == name[0] && strncmp(list[i], name, size) == 0 &&
            list[i][size] == '\0')
            return true;
    return false;
}

/* The size of name without the suffix that compilers append to parts of a
 * function: "malloc.part.0", "malloc [clone .cold]". */
static size_t
unsuffixed_name_size(const char *name)
{
    const char *clone = strstr(name, " [clone ");

    return clone ? (size_t)(clone - name) : strcspn(name, ".");
}

/* Whether name begins with an entry of the list and is longer than it. */
static bool
starts_with_any(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (name_starts_with(name, list[i]) && name[strlen(list[i])])
            return true;
    return false;
}

static bool
is_rusts(const char *name)
{
    if (rust_name_is_global_allocator((struct span){name, strlen(name)}))
        return true;
    return starts_with_any(name + strspn(name, "<&"), rust_paths,
                           COUNT(rust_paths));
}

bool
allocator_is_entry(const char *name)
{
    static const char suffix[] = "_default", rust[] = "__rustc::";
    const size_t suffix_size = sizeof(suffix) - 1;
    size_t size;

    if (name_starts_with(name, "_Znw") || name_starts_with(name, "_Zna"))
        return true; /* operator new, mangled */
    if (starts_with_any(name, own_names, COUNT(own_names)) || is_rusts(name))
        return true;
    /* Newer rustc puts the allocator's symbols into a crate of that name. */
    if (name_starts_with(name, rust))
        name += sizeof(rust) - 1;
    size = unsuffixed_name_size(name);
    if (is_function_listed(name, size, other_functions, COUNT(other_functions)))
        return true;
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        if (name_starts_with(name, prefixes[i])) {
            name += strlen(prefixes[i]);
            size = unsuffixed_name_size(name);
            break;
        }
    }
    if (size > suffix_size &&
        memcmp(name + size - suffix_size, suffix, suffix_size) == 0)
        size -= suffix_size;
    return is_function_listed(name, size, c_functions, COUNT(c_functions));
}

bool
allocator_is_symbol(const char *symbol)
{
    return name_starts_with(symbol, "operator new(") ||
           name_starts_with(symbol, "operator new[](") ||
           is_function_listed(symbol, strlen(symbol), c_functions,
                              COUNT(c_functions));
}

bool
allocator_is_skipped_by_jeprof(const char *name)
{
    if (strstr(name, "TCMalloc") || name_starts_with(name, "tcmalloc::"))
        return true;
    if (is_function_listed(name, strlen(name), jeprof_skips,
                           COUNT(jeprof_skips)))
        return true;
    return name[0] == '_' &&
           is_function_listed(name + 1, strlen(name + 1), jeprof_skips,
                              COUNT(jeprof_skips));
}

struct allocator_cut
allocator_cut(const struct allocator_part *parts, const uint32_t *stack,
              uint32_t depth, uint32_t reach)
{
    struct allocator_cut cut = {0, 0};
    uint32_t end = 0;

    /* The reach is counted from where jemalloc's own object ends: how deep a
     * stack begins within it depends on its build. */
    while (end < depth && parts[stack[end]].in_object)
        end++;
    end = depth - end > reach ? end + reach : depth;
    /* The rootmost allocator frame within reach ends the cut; what lies between
     * it and the leaf goes too, named or not. */
    while (end > 0 && parts[stack[end - 1]].frames == 0)
        end--;
    if (end == 0)
        return cut;
    if (parts[stack[end - 1]].all_frames) {
        cut.location = end;
    } else {
        cut.location = end - 1;
        cut.frame = parts[stack[end - 1]].frames;
    }
    return cut;
}

/* ---- wrappers ---- */

/* Only functions that return the memory to their caller are listed: one that
 * allocates for a structure of its own is what a user looks for. */
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

/* Whether the list's first name is "none". */
static bool
starts_with_none(const char *list)
{
    return strncmp(list, "none", 4) == 0 && (!list[4] || list[4] == ',');
}

const char *
known_wrappers(const char *program, const char *list)
{
    const char *name = base_name(program);

    if (list && starts_with_none(list))
        return "";
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        if (strncmp(name, programs[i].begins, strlen(programs[i].begins)) == 0)
            return programs[i].list;
    return "";
}

/* Takes the next name off *list, with its comma. */
static struct span
take_wrapper_name(const char **list)
{
    struct span name = {*list, strcspn(*list, ",")};

    *list += name.size;
    if (**list)
        ++*list;
    return name;
}

static unsigned
count_wrapper_names(const char *list)
{
    unsigned n = 0;

    while (*list) {
        take_wrapper_name(&list);
        n++;
    }
    return n;
}

/* A name must be printable; a '*' may stand only at its end, and not alone. */
static bool
is_allowed(struct span name)
{
    const char *star = memchr(name.data, '*', name.size);

    for (size_t i = 0; i < name.size; i++)
        if ((unsigned char)name.data[i] < ' ' || name.data[i] == 0x7f)
            return false;
    return name.size > 0 &&
           (!star || (name.size > 1 && star == name.data + name.size - 1));
}

int
wrappers_add(char *list, const char *value, struct error *err)
{
    /* The new list is put together here, so that a refused value leaves the
     * caller's list as it was. */
    char all[WRAPPERS_TEXT_BYTES];
    size_t size = strlen(list);

    memcpy(all, list, size);
    while (*value) {
        struct span name = span_trim(take_wrapper_name(&value));

        if (!is_allowed(name)) {
            error_set(err, ER_WRONG_VALUE,
                      "must be names of functions, separated by commas; a "
                      "name may end in *, but not be * alone");
            return -1;
        }
        if (size + name.size + 2 > sizeof(all)) {
            error_set(err, ER_WRONG_VALUE, "must be at most %d bytes",
                      WRAPPERS_TEXT_BYTES - 1);
            return -1;
        }
        if (size > 0)
            all[size++] = ',';
        memcpy(all + size, name.data, name.size);
        size += name.size;
    }
    all[size] = '\0';
    if (count_wrapper_names(all) > WRAPPERS_MAX) {
        error_set(err, ER_WRONG_VALUE, "must be at most %d names",
                  WRAPPERS_MAX);
        return -1;
    }
    memcpy(list, all, size + 1);
    return 0;
}

/* name without the suffix of a compiler: "f.part.0", "f [clone .cold]".  A dot
 * at the start belongs to the name. */
static struct span
without_suffix(struct span name)
{
    const char *clone = memmem(name.data, name.size, " [clone ", 8);
    const char *dot = memchr(name.data, '.', name.size);

    if (clone)
        name.size = (size_t)(clone - name.data);
    else if (dot && dot > name.data)
        name.size = (size_t)(dot - name.data);
    return name;
}

static bool
is_wrapper_in_list(const char *list, struct span name)
{
    while (*list) {
        struct span one = take_wrapper_name(&list);
        bool begins = one.data[one.size - 1] == '*';

        one.size -= begins;
        if ((begins ? name.size >= one.size : name.size == one.size) &&
            memcmp(name.data, one.data, one.size) == 0)
            return true;
    }
    return false;
}

bool
wrappers_have(const char *list, struct span name, struct buffer *scratch)
{
    if (!list || !*list)
        return false;
    buffer_clear(scratch);
    function_name_shorten(name, scratch);
    if (scratch->failed || scratch->size == 0)
        return false;
    name = (struct span){scratch->data, scratch->size};
    return is_wrapper_in_list(list, name) ||
           is_wrapper_in_list(list, without_suffix(name));
}

uint16_t
wrappers_count(const char *list, const struct location *location,
               struct buffer *scratch)
{
    uint32_t count = location->frame_count;

    while (count > location->wrapped) {
        const char *name = location->frames[count - 1].function;

        if (wrappers_have(list, (struct span){name, strlen(name)}, scratch))
            break;
        count--;
    }
    return (uint16_t)count;
}

/* ---- the parts of a profile's locations ---- */

enum { NAME_BYTES_MAX = 16 << 20, ENTRY_UNKNOWN = 0, ENTRY_NOT, ENTRY };

struct partition {
    const struct allocator_rule *rule;
    const struct texts *texts;
    /* by short name: ENTRY_UNKNOWN until is_entry() has judged it */
    uint8_t *entries;
    struct buffer scratch;
    /* the last symbol asked for, and whether it allocates */
    const char *symbol;
    bool symbol_allocates;
};

/* Whether the rule counts a short name as the allocator's.  Judging compares
 * with about a hundred names, so the answer is kept. */
static bool
is_entry(struct partition *p, uint32_t short_name)
{
    uint8_t *entry = &p->entries[short_name];
    struct span name;
    bool is;

    if (*entry == ENTRY_UNKNOWN) {
        name = (struct span){texts_get(p->texts, short_name),
                             texts_size(p->texts, short_name)};
        is = p->rule->jeprofs
                 ? allocator_is_skipped_by_jeprof(name.data)
                 : allocator_is_entry(name.data) ||
                       wrappers_have(p->rule->known, name, &p->scratch) ||
                       wrappers_have(p->rule->wrappers, name, &p->scratch);
        *entry = is ? ENTRY : ENTRY_NOT;
    }
    return *entry == ENTRY;
}

/* Locations ascend by address, so neighbors usually have the same symbol; equal
 * pointers show it without comparing texts. */
static bool
has_entry_symbol(struct partition *p, const struct location *location)
{
    if (location->symbol && location->symbol != p->symbol) {
        p->symbol = location->symbol;
        p->symbol_allocates = allocator_is_symbol(p->symbol);
    }
    return location->symbol && p->symbol_allocates;
}

static struct allocator_part
part_of(struct partition *p, const struct location *location,
        const uint32_t *short_names)
{
    struct allocator_part part = {0};
    uint32_t count = location->frame_count;

    if (p->rule->jeprofs) {
        /* jeprof knows one name per address, the outermost function's; inlined
         * ones go with it. */
        if (is_entry(p, short_names[count - 1]))
            part.frames = (uint16_t)count;
    } else if (location->in_allocator) {
        part.in_object = true;
        part.frames = (uint16_t)count;
    } else if (has_entry_symbol(p, location)) {
        part.frames = (uint16_t)count;
    } else {
        /* From the outermost frame inwards: all that an allocator function has
         * inlined is the allocator's too. */
        while (count > location->wrapped &&
               !is_entry(p, short_names[count - 1]))
            count--;
        part.frames = (uint16_t)count;
    }
    part.all_frames = part.frames == location->frame_count;
    return part;
}

int
allocator_parts(const struct allocator_rule *rule,
                const struct location *locations, size_t count,
                const struct texts *texts, const uint32_t *first,
                const uint32_t *short_names, struct allocator_part *parts)
{
    struct partition p = {
        .rule = rule,
        .texts = texts,
        .entries = mem_zalloc(texts_count(texts), sizeof(*p.entries))};
    bool enough = p.entries;

    buffer_init(&p.scratch, NAME_BYTES_MAX);
    for (size_t i = 0; enough && i < count; i++)
        parts[i] = part_of(&p, &locations[i], &short_names[first[i]]);
    enough = enough && !p.scratch.failed;
    buffer_fini(&p.scratch);
    mem_free(p.entries);
    return enough ? 0 : -1;
}
