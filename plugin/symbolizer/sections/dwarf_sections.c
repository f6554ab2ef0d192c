/*
 * dwarf_sections.c - see dwarf_sections.h.
 *
 * Debug sections have up to gigabytes, of which a request touches a few per
 * cent; mapping the file would give SIGBUS if it is cut meanwhile, and reading
 * it whole would cost the memory.  So each section has an anonymous mapping of
 * its full size without memory behind it, into which pread brings the blocks
 * that are touched.  Pointers into it stay valid, and an offset is an index.
 * Threads see a block by its flag, without a lock; the first to need it reads
 * it under the section's lock: the others that need it would wait anyway.
 */
#include "dwarf_sections.h"

#include <elf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "buffer.h"
#include "dwarf_budget.h"
#include "elf_file.h"
#include "errors.h"
#include "inflate.h"
#include "memory.h"

enum { ZDEBUG_HEAD = 12, COMPRESS_ZSTD = 2, BLOCK_BITS = 16 };

/* .debug_str and .debug_info are read in scattered places, so their blocks are
 * a page.  Short texts are copied instead, which is cheaper than their page,
 * until there are many. */
enum {
    SCATTERED_BITS = 12,
    SHORT = 512,
    MANY = 512 /* copies, up to one in so many bytes of the section */
};
enum { STREAM_STEP = 1 << 16 /* bytes inflated at once, at least */ };

struct section {
    uint64_t stored, stored_size; /* in the file */
    uint64_t size;                /* as a reader sees it: inflated */
    enum inflate_kind packing;
    unsigned block_bits;           /* a block's size */
    pthread_mutex_t lock;          /* guards reading into area */
    _Atomic(uint8_t *) area;       /* set when complete, if inflated whole */
    _Atomic(uint8_t) *loaded;      /* by block; NULL for packed sections */
    _Atomic(uint64_t) ready;       /* bytes inflated so far; set after area */
    bool tried;                    /* inflating was tried; under lock */
    bool streamed;                 /* inflated as far as needed */
    struct inflate_stream *stream; /* under lock */
    struct kept_texts texts;       /* copies of short texts */
    atomic_size_t copied;
    bool over_budget; /* inflating failed for lack of memory */
};

struct dwarf_sections {
    const struct elf_file *elf;
    struct dwarf_budget budget;
    struct section list[DWARF_SECTION_COUNT];
};

static const char *const section_names[DWARF_SECTION_COUNT] = {
    [DWARF_ABBREV] = "debug_abbrev",
    [DWARF_ADDR] = "debug_addr",
    [DWARF_ARANGES] = "debug_aranges",
    [DWARF_INFO] = "debug_info",
    [DWARF_LINE] = "debug_line",
    [DWARF_LINE_STR] = "debug_line_str",
    [DWARF_RANGES] = "debug_ranges",
    [DWARF_RNGLISTS] = "debug_rnglists",
    [DWARF_STR] = "debug_str",
    [DWARF_STR_OFFSETS] = "debug_str_offsets",
    [DWARF_FRAME] = "debug_frame",
};

/* ---- which there are ---- */

static void
open_packed(struct section *s, const struct elf_file *elf)
{
    uint8_t head[sizeof(Elf64_Chdr)] = {0};
    struct reader r = reader_of(head, sizeof(head));
    uint32_t type;

    if (s->stored_size < sizeof(head) ||
        elf_read_at(elf, s->stored, sizeof(head), head) != 0)
        return;
    type = reader_u32(&r);
    reader_u32(&r); /* reserved */
    s->size = reader_u64(&r);
    /* An unknown kind fails only if its section is needed. */
    s->packing = type == ELFCOMPRESS_ZLIB ? INFLATE_ZLIB
                 : type == COMPRESS_ZSTD  ? INFLATE_ZSTD
                                          : INFLATE_UNKNOWN;
    s->stored += sizeof(head);
    s->stored_size -= sizeof(head);
}

/* GNU's older format: "ZLIB" and the size, big-endian. */
static void
open_zdebug(struct section *s, const struct elf_file *elf)
{
    uint8_t head[ZDEBUG_HEAD] = {0};

    if (s->stored_size < sizeof(head) ||
        elf_read_at(elf, s->stored, sizeof(head), head) != 0 ||
        memcmp(head, "ZLIB", 4) != 0)
        return;
    for (size_t i = 4; i < sizeof(head); i++)
        s->size = s->size << 8 | head[i];
    s->packing = INFLATE_ZLIB;
    s->stored += sizeof(head);
    s->stored_size -= sizeof(head);
}

static void
open_section(struct section *s, const struct elf_file *elf, const char *name)
{
    const struct elf_section *plain, *zdebug, *found;
    char text[32];

    snprintf(text, sizeof(text), ".%s", name);
    plain = elf_section(elf, text);
    snprintf(text, sizeof(text), ".z%s", name);
    zdebug = elf_section(elf, text);
    found = plain ? plain : zdebug;
    /* a stripped object's debug sections may be left as NOBITS */
    if (!found || found->type == SHT_NOBITS || found->type == SHT_NULL ||
        found->offset > elf->size || found->size > elf->size - found->offset)
        return;
    s->stored = found->offset;
    s->stored_size = found->size;
    s->block_bits = BLOCK_BITS;
    if (!plain)
        open_zdebug(s, elf);
    else if (plain->flags & SHF_COMPRESSED)
        open_packed(s, elf);
    else
        s->size = s->stored_size;
    /* so that no sum of offset and size overflows */
    if (s->size > INT64_MAX)
        s->size = 0;
}

struct dwarf_sections *
dwarf_sections_new(const struct elf_file *elf, size_t memory_max,
                   struct error *err)
{
    struct dwarf_sections *sections = mem_zalloc(1, sizeof(*sections));

    if (!sections) {
        error_memory(err, "debug sections");
        return NULL;
    }
    sections->elf = elf;
    sections->budget.max = memory_max;
    for (size_t i = 0; i < DWARF_SECTION_COUNT; i++) {
        pthread_mutex_init(&sections->list[i].lock, NULL);
        kept_texts_init(&sections->list[i].texts);
        open_section(&sections->list[i], elf, section_names[i]);
    }
    sections->list[DWARF_STR].block_bits = SCATTERED_BITS;
    sections->list[DWARF_INFO].block_bits = SCATTERED_BITS;
    return sections;
}

void
dwarf_sections_free(struct dwarf_sections *sections)
{
    if (!sections)
        return;
    for (size_t i = 0; i < DWARF_SECTION_COUNT; i++) {
        struct section *s = &sections->list[i];
        uint8_t *area = atomic_load_explicit(&s->area, memory_order_relaxed);

        kept_texts_fini(&s->texts);
        if (area)
            (void)munmap(area, s->size);
        inflate_stream_free(s->stream);
        mem_free(s->loaded);
        pthread_mutex_destroy(&s->lock);
    }
    mem_free(sections);
}

struct dwarf_budget *
dwarf_sections_budget(struct dwarf_sections *sections)
{
    return &sections->budget;
}

uint64_t
dwarf_section_size(const struct dwarf_sections *sections,
                   enum dwarf_section which)
{
    return sections->list[which].size;
}

bool
dwarf_section_packed(const struct dwarf_sections *sections,
                     enum dwarf_section which)
{
    const struct section *s = &sections->list[which];

    return s->packing == INFLATE_ZLIB && !s->tried;
}

/* Without effect once inflating has begun: the pointers that readers have must
 * stay valid. */
void
dwarf_section_stream(struct dwarf_sections *sections, enum dwarf_section which)
{
    if (dwarf_section_packed(sections, which))
        sections->list[which].streamed = true;
}

/* ---- reading ---- */

static int
set_section_memory_error(struct dwarf_sections *sections,
                         enum dwarf_section which, struct error *err)
{
    dwarf_budget_count_refusal(&sections->budget);
    error_set(err, ER_OUT_OF_MEMORY,
              "no room for .%s in the %zu bytes for debug information",
              section_names[which], sections->budget.max);
    return -1;
}

/* Address space only: a page costs memory once it is written (NORESERVE).
 * dense: most of it will be written, so huge pages waste nothing. */
static uint8_t *
map_section_memory(uint64_t size, bool dense)
{
    void *area = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (area == MAP_FAILED)
        return NULL;
    if (dense)
        (void)madvise(area, size, MADV_HUGEPAGE);
    return area;
}

static bool
is_block_loaded(const struct section *s, uint64_t block)
{
    return atomic_load_explicit(&s->loaded[block], memory_order_acquire);
}

/* Reads the missing blocks from first to last, in as few calls as possible. */
static int
load_blocks(struct dwarf_sections *sections, enum dwarf_section which,
            uint8_t *area, uint64_t first, uint64_t last, struct error *err)
{
    struct section *s = &sections->list[which];

    for (uint64_t at = first, next; at <= last; at = next) {
        uint64_t start = at << s->block_bits, end;

        next = at + 1;
        if (is_block_loaded(s, at))
            continue;
        while (next <= last && !is_block_loaded(s, next))
            next++;
        end = next << s->block_bits < s->size ? next << s->block_bits : s->size;
        if (!dwarf_budget_take(&sections->budget, end - start))
            return set_section_memory_error(sections, which, err);
        if (elf_read_at(sections->elf, s->stored + start, end - start,
                        area + start) != 0) {
            dwarf_budget_give(&sections->budget, end - start);
            error_set(err, ER_UNKNOWN,
                      "cannot read .%s: the file was cut or replaced",
                      section_names[which]);
            return -1;
        }
        for (uint64_t i = at; i < next; i++)
            /* pairs with is_block_loaded: whoever sees the flag sees the
             * bytes */
            atomic_store_explicit(&s->loaded[i], 1, memory_order_release);
    }
    return 0;
}

/* Under the section's lock. */
static int
load_plain(struct dwarf_sections *sections, enum dwarf_section which,
           uint64_t offset, uint64_t size, struct error *err)
{
    struct section *s = &sections->list[which];
    uint8_t *area = atomic_load_explicit(&s->area, memory_order_relaxed);

    if (!s->loaded)
        s->loaded =
            mem_zalloc((s->size >> s->block_bits) + 1, sizeof(*s->loaded));
    if (s->loaded && !area) {
        area = map_section_memory(s->size, false);
        atomic_store_explicit(&s->area, area, memory_order_release);
    }
    if (!area)
        return set_section_memory_error(sections, which, err);
    return load_blocks(sections, which, area, offset >> s->block_bits,
                       (offset + size - 1) >> s->block_bits, err);
}

static int
cannot_inflate(const struct section *s, enum dwarf_section which,
               struct error *err)
{
    error_set(err, ER_UNKNOWN,
              ".%s cannot be inflated to the %llu bytes that it claims",
              section_names[which], (unsigned long long)s->size);
    return -1;
}

/* Starts a stream.  The whole section is charged, though less may be inflated:
 * how far readers will go is not known, and it must not fail halfway. */
static void
open_stream(struct dwarf_sections *sections, struct section *s)
{
    const struct inflate_from from = {sections->elf, s->stored, s->stored_size};
    uint8_t *area = NULL;

    s->tried = true;
    s->over_budget = !dwarf_budget_take(&sections->budget, s->size);
    if (s->over_budget)
        return;
    s->over_budget =
        !dwarf_budget_take(&sections->budget, INFLATE_STREAM_BYTES);
    if (!s->over_budget) {
        s->stream = inflate_stream_new(&from);
        area = s->stream ? map_section_memory(s->size, false) : NULL;
        s->over_budget = !area;
        if (!area)
            dwarf_budget_give(&sections->budget, INFLATE_STREAM_BYTES);
    }
    if (!area)
        dwarf_budget_give(&sections->budget, s->size);
    atomic_store_explicit(&s->area, area, memory_order_release);
}

/* Inflates up to end.  Under the section's lock. */
static int
load_stream(struct dwarf_sections *sections, enum dwarf_section which,
            uint64_t end, struct error *err)
{
    struct section *s = &sections->list[which];
    uint64_t ready = atomic_load_explicit(&s->ready, memory_order_relaxed);
    uint8_t *area;

    if (end <= ready)
        return 0;
    if (!s->tried)
        open_stream(sections, s);
    if (s->over_budget)
        return set_section_memory_error(sections, which, err);
    if (end < ready + STREAM_STEP)
        end = ready + STREAM_STEP < s->size ? ready + STREAM_STEP : s->size;
    area = atomic_load_explicit(&s->area, memory_order_relaxed);
    if (inflate_stream_next(s->stream, area + ready, end - ready) != 0)
        return cannot_inflate(s, which, err);
    atomic_store_explicit(&s->ready, end, memory_order_release);
    return 0;
}

/* Inflates the whole section.  Under the section's lock.  It is tried once: a
 * bomb costs its time once, and every later reader gets the same error. */
static int
load_packed(struct dwarf_sections *sections, enum dwarf_section which,
            struct error *err)
{
    struct section *s = &sections->list[which];
    struct inflate_from from = {sections->elf, s->stored, s->stored_size};
    uint8_t *area = NULL;
    size_t extra = inflate_extra(s->stored_size);
    bool room;

    if (atomic_load_explicit(&s->area, memory_order_relaxed))
        return 0;
    if (!s->tried) {
        s->tried = true;
        room = dwarf_budget_take(&sections->budget, s->size);
        if (room && dwarf_budget_take(&sections->budget, extra)) {
            area = map_section_memory(s->size, true);
            s->over_budget = !area;
            if (area && inflate_all(s->packing, &from, area, s->size) != 0) {
                (void)munmap(area, s->size);
                area = NULL;
            }
            dwarf_budget_give(&sections->budget, extra);
        } else {
            s->over_budget = true;
        }
        if (room && !area)
            dwarf_budget_give(&sections->budget, s->size);
        atomic_store_explicit(&s->area, area, memory_order_release);
        if (area)
            atomic_store_explicit(&s->ready, s->size, memory_order_release);
    }
    if (area)
        return 0;
    return s->over_budget ? set_section_memory_error(sections, which, err)
                          : cannot_inflate(s, which, err);
}

/* Under the section's lock. */
static int
load_dwarf_section(struct dwarf_sections *sections, enum dwarf_section which,
                   uint64_t offset, uint64_t size, struct error *err)
{
    const struct section *s = &sections->list[which];

    if (s->packing == INFLATE_NONE)
        return load_plain(sections, which, offset, size, err);
    return s->streamed ? load_stream(sections, which, offset + size, err)
                       : load_packed(sections, which, err);
}

/* Whether the bytes are there, without the lock.  An inflated section is ready
 * up to a point, a plain one block by block. */
static bool
at_hand(const struct section *s, const uint8_t *area, uint64_t ready,
        uint64_t offset, uint64_t size)
{
    if (s->packing != INFLATE_NONE)
        return offset + size <= ready;
    if (!area)
        return false;
    for (uint64_t i = offset >> s->block_bits;
         i <= (offset + size - 1) >> s->block_bits; i++)
        if (!is_block_loaded(s, i))
            return false;
    return true;
}

const uint8_t *
dwarf_section_bytes(struct dwarf_sections *sections, enum dwarf_section which,
                    uint64_t offset, uint64_t size, struct error *err)
{
    struct section *s = &sections->list[which];
    const uint8_t *area;
    uint64_t ready;
    int rc = 0;

    /* offsets come from other sections, and are not trusted */
    if (offset > s->size || size > s->size - offset || s->size == 0) {
        error_set(err, ER_UNKNOWN,
                  "the debug information wants %llu bytes at %llu of .%s, "
                  "which has %llu",
                  (unsigned long long)size, (unsigned long long)offset,
                  section_names[which], (unsigned long long)s->size);
        return NULL;
    }
    if (size == 0)
        return (const uint8_t *)"";
    /* The array of flags is set before area, and area before ready: so ready is
     * read first here, then area. */
    ready = atomic_load_explicit(&s->ready, memory_order_acquire);
    area = atomic_load_explicit(&s->area, memory_order_acquire);
    if (!at_hand(s, area, ready, offset, size)) {
        pthread_mutex_lock(&s->lock);
        rc = load_dwarf_section(sections, which, offset, size, err);
        area = atomic_load_explicit(&s->area, memory_order_relaxed);
        pthread_mutex_unlock(&s->lock);
    }
    return rc == 0 ? area + offset : NULL;
}

/* Reads and copies a short text's own bytes, while few texts are wanted.
 * false: read its blocks instead. */
static bool
short_text(struct dwarf_sections *sections, struct section *s, uint64_t offset,
           struct span *text)
{
    char bytes[SHORT];
    uint64_t size = s->size - offset < SHORT ? s->size - offset : SHORT;
    const char *nul, *kept;

    if (s->packing != INFLATE_NONE || s->block_bits != SCATTERED_BITS ||
        atomic_load_explicit(&s->copied, memory_order_relaxed) >=
            s->size / MANY ||
        elf_read_at(sections->elf, s->stored + offset, size, bytes) != 0)
        return false;
    nul = memchr(bytes, 0, size);
    if (!nul)
        return false;
    kept = kept_texts_put(&s->texts, &sections->budget, bytes,
                          (size_t)(nul - bytes));
    if (!kept)
        return false;
    atomic_fetch_add_explicit(&s->copied, 1, memory_order_relaxed);
    text->data = kept;
    text->size = (size_t)(nul - bytes);
    return true;
}

bool
dwarf_section_text(struct dwarf_sections *sections, enum dwarf_section which,
                   uint64_t offset, struct span *text)
{
    uint64_t size = sections->list[which].size, done = 0;
    uint64_t block = 1ULL << sections->list[which].block_bits;
    const uint8_t *start = NULL, *nul;

    if (offset < size &&
        short_text(sections, &sections->list[which], offset, text))
        return true;
    /* block by block, for the text's end is not known before */
    while (offset < size && done < DWARF_TEXT_MAX) {
        uint64_t at = offset + done, run = block - at % block;
        const uint8_t *bytes;

        if (at >= size)
            return false;
        if (run > size - at)
            run = size - at;
        bytes = dwarf_section_bytes(sections, which, at, run, NULL);
        if (!bytes)
            return false;
        if (!start)
            start = bytes;
        nul = memchr(bytes, 0, run);
        if (nul) {
            text->data = (const char *)start;
            text->size = (size_t)(nul - start);
            return true;
        }
        done += run;
    }
    return false;
}

/* A plain section is read past its blocks: a unit is read once, and must not
 * fill memory twice. */
int
dwarf_section_read(struct dwarf_sections *sections, enum dwarf_section which,
                   uint64_t offset, uint64_t size, void *place,
                   struct error *err)
{
    const struct section *s = &sections->list[which];
    const uint8_t *bytes;

    if (s->packing == INFLATE_NONE && offset <= s->size &&
        size <= s->size - offset) {
        if (elf_read_at(sections->elf, s->stored + offset, size, place) == 0)
            return 0;
        error_set(err, ER_UNKNOWN,
                  "cannot read .%s: the file was cut or replaced",
                  section_names[which]);
        return -1;
    }
    bytes = dwarf_section_bytes(sections, which, offset, size, err);
    if (!bytes)
        return -1;
    memcpy(place, bytes, size);
    return 0;
}

int
dwarf_section_copy(struct dwarf_sections *sections, enum dwarf_section which,
                   uint64_t offset, uint64_t size, struct buffer *out,
                   struct error *err)
{
    const struct section *s = &sections->list[which];
    char *place = NULL;

    /* Checked before memory is taken: the size comes from the file. */
    if (offset <= s->size && size <= s->size - offset) {
        place = buffer_reserve(out, size);
        if (!place)
            return set_section_memory_error(sections, which, err);
    }
    if (dwarf_section_read(sections, which, offset, size, place, err) != 0)
        return -1;
    buffer_claim(out, size);
    return 0;
}
