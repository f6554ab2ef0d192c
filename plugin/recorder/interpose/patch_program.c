/*
 * patch_program.c - see patch_program.h.
 *
 * The program's code is not written to.  A private copy of those pages, from
 * its file, gets the jumps, is made executable, and takes the place of the
 * pages by one mremap.  Whatever forbids that does so before anything has
 * changed, no call ever sees half of it, and no page is writable and executable
 * at once.  The name and the offsets in /proc/self/maps stay as they were, as
 * the copy is of the same file.
 *
 * Below the program lies the "island", with a slot for each function: a jump to
 * our replacement, which may be more than 2 GB away, and the moved entry.  It
 * is not above the program, where its heap grows.
 */
#include "patch_program.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "claim_segment.h"
#include "family.h"
#include "patch_plan.h"
#include "segment.h"

enum {
    PAGE_BYTES = 4096, /* of x86-64 */
    SLOT = 128,
    SLOT_MOVED = 32,
    ISLAND = PATCH_FUNCTIONS_MAX * SLOT,
    ISLAND_STEP = 64 << 10,
    ISLAND_TRIES = 1024,
    LINKS_OF_ONE_THREAD = 3, /* of /proc/self/task: ., .. and the thread */
    TEXT_MAX = 64 << 20
};

struct patching {
    struct patch_plan plan;
    uint64_t bias, base;  /* of the program; base is its lowest address */
    uint64_t low, high;   /* range of the pages, in the file's addresses */
    uint64_t file_offset; /* of low */
    uint8_t *copy;        /* a private copy of those pages; NULL: none */
    uint8_t *island;      /* NULL: none */
};

/* ---- the replacements ---- */

struct patched_entry {
    const char *name;
    void (*replacement)(void); /* has the type of the function of that name */
    size_t offset;
};

/* The moved entries; NULL: the program has no such function. */
static struct real_functions patched;

#define PATCHED(result, name, parameters, arguments, missing)                  \
    static result patched_##name parameters                                    \
    {                                                                          \
        return family_##name(&patched FAMILY_AND arguments);                   \
    }
REAL_MALLOC(PATCHED)
REAL_JEMALLOC(PATCHED)
#undef PATCHED

#define ENTRY(result, name, parameters, arguments, missing)                    \
    {#name, (void (*)(void))patched_##name,                                    \
     offsetof(struct real_functions, name)},
static const struct patched_entry entries[] = {REAL_MALLOC(ENTRY)
                                                   REAL_JEMALLOC(ENTRY)};
#undef ENTRY

static const struct patched_entry *
patched_find(const char *name)
{
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    return NULL;
}

/* Sets where the program's function goes on; call it before the replacement can
 * be called. */
static void
patched_set(const struct patched_entry *entry, const void *moved)
{
    memcpy((char *)&patched + entry->offset, &moved, sizeof(moved));
}

/* ---- the program ---- */

// NOLINTBEGIN(performance-no-int-to-ptr): addresses come from a plan

static bool
has_one_thread(void)
{
    struct stat status;

    return stat("/proc/self/task", &status) == 0 &&
           status.st_nlink == LINKS_OF_ONE_THREAD;
}

static void
widen_patched_range(struct patching *p, uint64_t address, uint64_t size)
{
    p->low = address < p->low ? address : p->low;
    p->high = address + size > p->high ? address + size : p->high;
}

static void
find_pages(struct patching *p)
{
    p->low = UINT64_MAX;
    for (size_t i = 0; i < p->plan.count; i++)
        widen_patched_range(p, p->plan.functions[i].address,
                            p->plan.functions[i].original_size);
    for (size_t i = 0; i < p->plan.call_count; i++)
        widen_patched_range(p, p->plan.calls[i].address,
                            sizeof(p->plan.calls[i].original));
    p->low &= ~(uint64_t)(PAGE_BYTES - 1);
    p->high = (p->high + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

/* Finds the one program segment, executable and not writable, that holds all of
 * the pages. */
static bool
find_program_text(struct patching *p)
{
    const ElfW(Phdr) *phdr = (const void *)getauxval(AT_PHDR);
    uint64_t count = phdr ? getauxval(AT_PHNUM) : 0;
    bool found = false;

    p->bias = _r_debug.r_map->l_addr;
    p->base = UINT64_MAX;
    find_pages(p);
    for (; count > 0; count--, phdr++) {
        if (phdr->p_type != PT_LOAD)
            continue;
        if (phdr->p_vaddr + p->bias < p->base)
            p->base = phdr->p_vaddr + p->bias;
        if (p->low + PAGE_BYTES <= phdr->p_vaddr || p->low >= p->high ||
            p->high - PAGE_BYTES >= phdr->p_vaddr + phdr->p_filesz ||
            (phdr->p_flags & (PF_R | PF_W | PF_X)) != (PF_R | PF_X))
            continue;
        p->file_offset = p->low - phdr->p_vaddr + phdr->p_offset;
        found = true;
    }
    return found && p->high - p->low <= TEXT_MAX;
}

/* Maps a private copy of the pages.  False: that failed, or the file is not
 * what runs, as something else has patched it or it was replaced. */
static bool
copy_program_text(struct patching *p)
{
    const uint8_t *live = (const uint8_t *)(p->low + p->bias);
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    void *copy = MAP_FAILED;

    if (fd >= 0) {
        copy = mmap(NULL, p->high - p->low, PROT_READ | PROT_WRITE, MAP_PRIVATE,
                    fd, (off_t)p->file_offset);
        close(fd);
    }
    if (copy == MAP_FAILED)
        return false;
    p->copy = copy;
    if (memcmp(copy, live, p->high - p->low) != 0)
        return false;
    for (size_t i = 0; i < p->plan.count; i++) {
        const struct patch_function *f = &p->plan.functions[i];

        if (memcmp(p->copy + (f->address - p->low), f->original,
                   f->original_size) != 0)
            return false;
    }
    return true;
}

static bool
make_island(struct patching *p)
{
    uint64_t place = p->base & ~(uint64_t)(ISLAND_STEP - 1);

    for (int i = 0; i < ISLAND_TRIES && place > (uint64_t)2 * ISLAND_STEP;
         i++) {
        void *got;

        place -= ISLAND_STEP;
        got = mmap((void *)place, ISLAND, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == (void *)place) {
            p->island = got;
            return true;
        }
        if (got != MAP_FAILED)
            /* kernels before 4.17 ignore MAP_FIXED_NOREPLACE */
            munmap(got, ISLAND);
    }
    return false;
}

/* Fills a slot of the island, and writes the jump to it into the copy. */
static bool
write_function(struct patching *p, size_t i)
{
    static const uint8_t jump_to_replacement[] = {0xff, 0x25, 0, 0,
                                                  0,    0}; /* jmp *(rip) */
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    const struct patch_function *f = &p->plan.functions[i];
    const struct patched_entry *entry = patched_find(f->name);
    uint8_t *slot = p->island + i * SLOT, *moved = slot + SLOT_MOVED;
    uint8_t *jump = p->copy + (f->address - p->low);

    _Static_assert(SLOT_MOVED + sizeof(endbr64) + PATCH_CODE_MAX <= SLOT,
                   "a slot has room");
    if (!entry)
        return false;
    memcpy(slot, jump_to_replacement, sizeof(jump_to_replacement));
    memcpy(slot + sizeof(jump_to_replacement), &entry->replacement,
           sizeof(entry->replacement));
    memcpy(moved, endbr64, sizeof(endbr64));
    patched_set(entry, moved);
    jump[0] = 0xe9;
    return patch_distance(f->address + p->bias + PATCH_JUMP, (uint64_t)slot,
                          jump + 1) &&
           patch_fix_code(f, (uint64_t)(moved + sizeof(endbr64)), p->bias,
                          moved + sizeof(endbr64));
}

/* Leads a call to the moved entry, past our replacement. */
static bool
write_call(struct patching *p, const struct patch_call *call)
{
    uint8_t *place = p->copy + (call->address - p->low);
    uint8_t *moved = p->island + (size_t)call->function * SLOT + SLOT_MOVED;

    return memcmp(place, call->original, sizeof(call->original)) == 0 &&
           patch_distance(call->address + p->bias + sizeof(call->original),
                          (uint64_t)moved, place);
}

static enum segment_patch
patch_program_text(struct patching *p)
{
    void *live;

    if (!has_one_thread())
        return SEGMENT_PATCH_THREADS;
    if (!find_program_text(p) || !copy_program_text(p))
        return SEGMENT_PATCH_OTHER;
    if (!make_island(p))
        return SEGMENT_PATCH_NO_ROOM;
    for (size_t i = 0; i < p->plan.count; i++)
        if (!write_function(p, i))
            return SEGMENT_PATCH_NO_ROOM;
    for (size_t i = 0; i < p->plan.call_count; i++)
        if (!write_call(p, &p->plan.calls[i]))
            return SEGMENT_PATCH_OTHER;
    live = (void *)(p->low + p->bias);
    if (mprotect(p->island, ISLAND, PROT_READ | PROT_EXEC) != 0 ||
        mprotect(p->copy, p->high - p->low, PROT_READ | PROT_EXEC) != 0 ||
        mremap(p->copy, p->high - p->low, p->high - p->low,
               MREMAP_MAYMOVE | MREMAP_FIXED, live) != live)
        return SEGMENT_PATCH_FORBIDDEN;
    return SEGMENT_PATCH_DONE;
}

// NOLINTEND(performance-no-int-to-ptr)

void
patch_program(char *const *envp)
{
    struct segment_header *header = heapwire_recorder_segment();
    const char *text = find_variable(envp, PATCH_ENV);
    struct patching p = {.copy = NULL};
    enum segment_patch result = SEGMENT_PATCH_NO_PLAN;
    int error = errno;

    if (!header)
        return;
    if (!text)
        result = SEGMENT_PATCH_NONE;
    else if (patch_plan_read(text, &p.plan))
        result = patch_program_text(&p);
    if (result != SEGMENT_PATCH_DONE) {
        if (p.copy)
            munmap(p.copy, p.high - p.low);
        if (p.island)
            munmap(p.island, ISLAND);
    }
    header->patch = result;
    errno = error;
}
