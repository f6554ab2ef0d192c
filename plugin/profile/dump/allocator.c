/* allocator.c - see allocator.h. */
#include "allocator.h"

#include <stddef.h>
#include <string.h>

#include "rust_name.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Also with jemalloc's prefixes before them, and "_default" behind. */
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
starts_with(const char *name, const char *start)
{
    return name[0] == start[0] && strncmp(name, start, strlen(start)) == 0;
}

/* Whether the first size bytes of name are one of the list. */
static bool
is_one_of(const char *name, size_t size, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i][0] == name[0] && strncmp(list[i], name, size) == 0 &&
            list[i][size] == '\0')
            return true;
    return false;
}

/* The size without compilers' suffixes: "malloc.part.0", "malloc [clone
 * .cold]". */
static size_t
plain_size(const char *name)
{
    const char *clone = strstr(name, " [clone ");

    return clone ? (size_t)(clone - name) : strcspn(name, ".");
}

/* Whether a name of the list, and more, begins name. */
static bool
starts_with_any(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (starts_with(name, list[i]) && name[strlen(list[i])])
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

    if (starts_with(name, "_Znw") || starts_with(name, "_Zna"))
        return true; /* operator new, mangled */
    if (starts_with_any(name, own_names, COUNT(own_names)) || is_rusts(name))
        return true;
    if (starts_with(name, rust))
        name += sizeof(rust) - 1;
    size = plain_size(name);
    if (is_one_of(name, size, other_functions, COUNT(other_functions)))
        return true;
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        if (starts_with(name, prefixes[i])) {
            name += strlen(prefixes[i]);
            size = plain_size(name);
            break;
        }
    }
    if (size > suffix_size &&
        memcmp(name + size - suffix_size, suffix, suffix_size) == 0)
        size -= suffix_size;
    return is_one_of(name, size, c_functions, COUNT(c_functions));
}

bool
allocator_is_symbol(const char *symbol)
{
    return starts_with(symbol, "operator new(") ||
           starts_with(symbol, "operator new[](") ||
           is_one_of(symbol, strlen(symbol), c_functions, COUNT(c_functions));
}

bool
allocator_is_skipped_by_jeprof(const char *name)
{
    if (strstr(name, "TCMalloc") || starts_with(name, "tcmalloc::"))
        return true;
    if (is_one_of(name, strlen(name), jeprof_skips, COUNT(jeprof_skips)))
        return true;
    return name[0] == '_' && is_one_of(name + 1, strlen(name + 1), jeprof_skips,
                                       COUNT(jeprof_skips));
}

struct allocator_cut
allocator_cut(const struct allocator_part *parts, const uint32_t *stack,
              uint32_t depth, uint32_t reach)
{
    struct allocator_cut cut = {0, 0};
    uint32_t end = 0;

    while (end < depth && parts[stack[end]].in_object)
        end++;
    end = depth - end > reach ? end + reach : depth;
    while (end > 0 && parts[stack[end - 1]].frames == 0)
        end--;
    if (end == 0)
        return cut;
    if (parts[stack[end - 1]].whole) {
        cut.location = end;
    } else {
        cut.location = end - 1;
        cut.frame = parts[stack[end - 1]].frames;
    }
    return cut;
}
