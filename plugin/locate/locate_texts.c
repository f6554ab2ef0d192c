/*
 * locate_texts.c - what a file's texts say; see locate_work.h.
 *
 * Texts survive stripping.  There are about ninety to find in files of up to
 * gigabytes, so all are looked for at once, in one pass: as Wu and Manber do,
 * the last two of the next TEXT_MIN bytes decide how far to skip, and most
 * pairs of bytes are in none of the texts.  The tables take 128 KB of
 * locate_work.  A match is only noted here: with its address, if code that
 * loads it will matter (locate_code.c), or as a mark.  Files are hostile: what
 * is read is bounded by LOCATE_BYTES_MAX, and what is noted by fixed arrays.
 */
#include <ctype.h>
#include <elf.h>
#include <string.h>

#include "locate_work.h"

static bool
has_flags(uint32_t flags, uint32_t some, uint32_t none)
{
    return (flags & some) && !(flags & none);
}

/* Pieces overlap, by PIECE_BACK before and PIECE_AHEAD behind, so that a
 * text or a call across a border is whole in one of them; each match begins
 * in one. */
static void
see_segment(struct locate_work *work, const struct elf_segment *s,
            void (*see)(struct locate_work *, const struct piece *))
{
    const struct elf_file *elf = work->elf;
    uint64_t size = 0;

    if (s->offset < elf->size)
        size = elf->size - s->offset;
    if (size > s->file_size)
        size = s->file_size;
    for (uint64_t done = 0; done < size; done += PIECE_BYTES) {
        uint64_t back = done < PIECE_BACK ? done : PIECE_BACK;
        uint64_t start = done - back, left = size - start;
        struct piece piece = {.bytes = work->piece,
                              .begin = back,
                              .size = sizeof(work->piece),
                              .address = s->address + start};

        if (piece.size > left)
            piece.size = left;
        piece.end = back + PIECE_BYTES;
        if (piece.end > piece.size)
            piece.end = piece.size;
        if (work->bytes_left < piece.size ||
            elf_read_at(elf, s->offset + start, piece.size, work->piece) != 0)
            return;
        work->bytes_left -= piece.size;
        see(work, &piece);
    }
}

void
locate_work_pieces(struct locate_work *work, uint32_t flags, uint32_t without,
                   void (*see)(struct locate_work *, const struct piece *))
{
    const struct elf_file *elf = work->elf;

    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *s = &elf->segments[i];

        if (s->type == PT_LOAD && has_flags(s->flags, flags, without))
            see_segment(work, s, see);
    }
}

/* Notes that a text that is loaded at address matters. */
static void
locate_work_refer(struct locate_work *work, uint64_t address, uint32_t what)
{
    if (work->reference_count < REFERENCES_MAX)
        work->references[work->reference_count++] =
            (struct reference){address, what};
}

enum { TEXT_MIN = 8 };

#define VARIABLE "MALLOC_CONF"

/* Names that programs and malloc_stats_print give to mallctl itself, without
 * those that they give to mallctlnametomib: the code that loads one of these
 * calls mallctl next. */
static const char *const names[] = {
    "arenas.dirty_decay_ms",
    "arenas.muzzy_decay_ms",
    "arenas.narenas",
    "arenas.nbins",
    "arenas.nhbins",
    "arenas.page",
    "arenas.quantum",
    "arenas.tcache_max",
    "config.cache_oblivious",
    "config.debug",
    "config.fill",
    "config.lazy_lock",
    "config.malloc_conf",
    "config.munmap",
    "config.opt_safety_checks",
    "config.prof",
    "config.prof_libgcc",
    "config.prof_libunwind",
    "config.stats",
    "config.tcache",
    "config.thp",
    "config.tls",
    "config.utrace",
    "config.xmalloc",
    "opt.abort",
    "opt.abort_conf",
    "opt.background_thread",
    "opt.cache_oblivious",
    "opt.confirm_conf",
    "opt.dirty_decay_ms",
    "opt.dss",
    "opt.hpa",
    "opt.junk",
    "opt.lg_extent_max_active_fit",
    "opt.lg_prof_interval",
    "opt.lg_prof_sample",
    "opt.lg_tcache_max",
    "opt.max_background_threads",
    "opt.metadata_thp",
    "opt.muzzy_decay_ms",
    "opt.narenas",
    "opt.oversize_threshold",
    "opt.percpu_arena",
    "opt.prof",
    "opt.prof_accum",
    "opt.prof_active",
    "opt.prof_final",
    "opt.prof_gdump",
    "opt.prof_leak",
    "opt.prof_prefix",
    "opt.prof_thread_active_init",
    "opt.retain",
    "opt.stats_interval",
    "opt.stats_print",
    "opt.tcache",
    "opt.tcache_max",
    "opt.thp",
    "opt.trust_madvise",
    "opt.utrace",
    "opt.xmalloc",
    "opt.zero",
    "opt.zero_realloc",
    "prof.active",
    "prof.gdump",
    "prof.interval",
    "prof.lg_sample",
    "prof.thread_active_init",
    "stats.active",
    "stats.allocated",
    "stats.mapped",
    "stats.metadata",
    "stats.metadata_thp",
    "stats.resident",
    "stats.retained",
    "stats.zero_reallocs",
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

static const struct {
    const char *text;
    unsigned mark; /* 0: the variable */
    bool ends;     /* its NUL belongs to it */
    bool option;   /* of a malloc_conf that is compiled in */
} marks[] = {
    {VARIABLE, 0, true},
    {"jemalloc>", LOCATE_JEMALLOC}, /* '<' in front: not in this file */
    {"heap_v2/", LOCATE_PROFILES},
    {"prof_stats", LOCATE_COUNTS, true},
    {"prof_sys_thread_name", LOCATE_NAMES, true},
    {"TCMALLOC_", LOCATE_TCMALLOC},
    {"__libc_start_main", LOCATE_LIBC_START, true},
    {"prof:true", LOCATE_SETS_PROF, .option = true},
    {"prof_active:", LOCATE_SETS_ACTIVE, .option = true},
    {"prof_thread_active_init:", LOCATE_SETS_THREADS, .option = true},
    {"lg_prof_sample:", LOCATE_SETS_SAMPLE, .option = true},
    {"prof_stats:", LOCATE_SETS_STATS, .option = true},
    {"prof_sys_thread_name:", LOCATE_SETS_NAMES, .option = true},
};

enum { MARKS = sizeof(marks) / sizeof(marks[0]), TEXTS = NAMES + MARKS };

_Static_assert((int)TEXTS < (int)REFERS_TO_VARIABLE,
               "a byte, and a bit, of each");

static const char *
searched_text_at(size_t i, size_t *size)
{
    const char *text = i < NAMES ? names[i] : marks[i - NAMES].text;

    *size = strlen(text) + (i < NAMES || marks[i - NAMES].ends);
    return text;
}

static size_t
pair_of(const uint8_t *p)
{
    return (size_t)p[0] | (size_t)p[1] << 8;
}

/* A pair's skip is its least distance from the end of the first TEXT_MIN bytes
 * of any text; texts whose pair ends there (skip 0) are chained by nexts. */
static void
build_text_skip_tables(struct locate_work *work)
{
    memset(work->skips, TEXT_MIN - 1, sizeof(work->skips));
    for (size_t i = 0; i < TEXTS; i++) {
        size_t size, pair = 0;
        const uint8_t *text = (const uint8_t *)searched_text_at(i, &size);

        for (size_t at = 0; at + 2 <= TEXT_MIN; at++) {
            uint8_t skip = (uint8_t)(TEXT_MIN - 2 - at);

            pair = pair_of(text + at);
            if (work->skips[pair] > skip)
                work->skips[pair] = skip;
        }
        work->nexts[i] = work->firsts[pair];
        work->firsts[pair] = (uint8_t)(i + 1);
    }
}

static bool
in_name(uint8_t c)
{
    return isalnum(c) || c == '_';
}

static bool
in_options(uint8_t c)
{
    return in_name(c) || c == ':' || c == ',' || c == '.' || c == '-' ||
           c == '|';
}

/* A compiled-in malloc_conf stands alone, up to a NUL, and its options have
 * values; a help text that mentions an option goes on with other characters. */
static bool
is_option(const struct piece *piece, size_t at, size_t size)
{
    size_t end = at + size;

    if (at > 0 && in_name(piece->bytes[at - 1]))
        return false;
    if (end < piece->size && piece->bytes[at + size - 1] == ':' &&
        !isalnum(piece->bytes[end]))
        return false;
    while (end < piece->size && in_options(piece->bytes[end]))
        end++;
    return end < piece->size && piece->bytes[end] == '\0';
}

/* Notes <PREFIX>MALLOC_CONF if it is a whole text.  Without a prefix, a linker
 * may have merged it with the end of a sentence about it; but such a sentence
 * is also in builds with a prefix, so that is only used if nothing better is
 * found. */
static void
record_conf_variable(struct locate_work *work, const struct piece *piece,
                     size_t at)
{
    size_t start = at, size;
    struct variable *v;

    while (start > 0 && in_name(piece->bytes[start - 1]))
        start--;
    if (at - start >= LOCATE_PREFIX_MAX)
        return;
    if (start > 0 && piece->bytes[start - 1] != '\0') {
        if (start == at && piece->bytes[start - 1] == ' ')
            work->unsure = piece->address + at;
        return;
    }
    size = at - start + sizeof(VARIABLE); /* with its NUL */
    for (size_t i = 0; i < work->variable_count; i++) {
        v = &work->variables[i];
        if (memcmp(v->name, piece->bytes + start, size) == 0) {
            locate_work_refer(work, piece->address + start,
                              REFERS_TO_VARIABLE + (uint32_t)i);
            return;
        }
    }
    if (work->variable_count == LOCATE_JEMALLOCS_MAX)
        return;
    v = &work->variables[work->variable_count];
    memcpy(v->name, piece->bytes + start, size);
    locate_work_refer(work, piece->address + start,
                      REFERS_TO_VARIABLE + (uint32_t)work->variable_count++);
}

static void
record_matched_text(struct locate_work *work, const struct piece *piece,
                    size_t at, size_t i, size_t size)
{
    if (i < NAMES) {
        locate_work_refer(work, piece->address + at, (uint32_t)i);
        return;
    }
    i -= NAMES;
    if (marks[i].mark == LOCATE_JEMALLOC) {
        if (at == 0 || piece->bytes[at - 1] != '<')
            return;
        work->own = piece->address + at;
    }
    if (marks[i].mark == 0)
        record_conf_variable(work, piece, at);
    else if (!marks[i].option || is_option(piece, at, size))
        work->marks |= marks[i].mark;
}

static void
see_texts(struct locate_work *work, const struct piece *piece)
{
    size_t at = piece->begin;

    while (at < piece->end && at + TEXT_MIN <= piece->size) {
        const uint8_t *p = piece->bytes + at;
        size_t pair = pair_of(p + TEXT_MIN - 2);

        if (work->skips[pair] > 0) {
            at += work->skips[pair];
            continue;
        }
        for (size_t next = work->firsts[pair]; next > 0;) {
            size_t i = next - 1, size;
            const char *text = searched_text_at(i, &size);

            if (size <= piece->size - at && memcmp(p, text, size) == 0)
                record_matched_text(work, piece, at, i, size);
            next = work->nexts[i];
        }
        at++;
    }
}

/* Takes a version such as "5.3.0-0-g" and 40 digits, as git describe writes it;
 * g is where the "-g" is. */
static void
take_version(struct locate_work *work, const struct piece *piece, size_t g)
{
    enum { HASH = 40 };
    size_t start = g, end = g + 2;

    while (start > 0 && g - start < 32 &&
           (isdigit(piece->bytes[start - 1]) ||
            piece->bytes[start - 1] == '.' || piece->bytes[start - 1] == '-'))
        start--;
    while (end < piece->size && isxdigit(piece->bytes[end]))
        end++;
    if (end == g + 2 + HASH && end < piece->size && piece->bytes[end] == '\0' &&
        isdigit(piece->bytes[start]) && end - start < sizeof(work->version))
        memcpy(work->version, piece->bytes + start, end - start);
}

static void
see_version(struct locate_work *work, const struct piece *piece)
{
    size_t at = piece->begin;
    const uint8_t *found;

    while (!work->version[0] && at < piece->end) {
        found = memmem(piece->bytes + at, piece->end - at, "-g", 2);
        if (!found)
            return;
        at = (size_t)(found - piece->bytes);
        take_version(work, piece, at++);
    }
}

void
locate_texts(struct locate_work *work)
{
    build_text_skip_tables(work);
    locate_work_pieces(work, PF_R | PF_W | PF_X, 0, see_texts);
    if (!(work->marks & LOCATE_JEMALLOC))
        return;
    if (work->variable_count == 0 && work->unsure) {
        memcpy(work->variables[0].name, VARIABLE, sizeof(VARIABLE));
        work->variable_count = 1;
        locate_work_refer(work, work->unsure, REFERS_TO_VARIABLE);
    }
    /* Old linkers put read-only data into the segment of the code: the version
     * is looked for where jemalloc's other texts are. */
    if (elf_is_code(work->elf, work->own))
        locate_work_pieces(work, PF_X, 0, see_version);
    else
        locate_work_pieces(work, PF_R, PF_X, see_version);
}
