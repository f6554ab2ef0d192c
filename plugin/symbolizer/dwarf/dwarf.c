/*
 * dwarf.c - see dwarf.h.
 *
 * libbfd reads all of an object's debug information and searches it in lists:
 * minutes and gigabytes for a large database.  A request's addresses lie in a
 * few per cent of the units; so each address is sent to its unit
 * (dwarf_units_at), and each unit concerned is read once, by threads that take
 * the heaviest first.  Everything that is kept (arrays, texts, answers) counts
 * against one budget, and an answer from an incomplete reading is withdrawn
 * (DWARF_OVER_BUDGET).  Zlib sections are inflated only as far as the units
 * concerned reach, if these are among the first.  In the helper, on its main
 * thread and those that it starts here.
 */
#include "dwarf.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "arena.h"
#include "dwarf_budget.h"
#include "dwarf_sections.h"
#include "elf_file.h"
#include "errors.h"
#include "line_table.h"
#include "memory.h"
#include "names.h"
#include "thread.h"
#include "dwarf_units.h"
#include "unit_code.h"

enum {
    MEMORY_DEFAULT = 256 << 20,
    THREADS_MAX = 16,
    STACK = 256 << 10,
    CHARGE_STEP = 64 << 10, /* bytes of answers that are charged at once */
    THREAD_WORTH = 1 << 20, /* bytes of .debug_info worth another thread */
    PART = 4 /* streaming pays off up to one PARTth of the section */
};

struct answer {
    const struct code_frame *frames;
    uint32_t count;
    uint8_t why; /* enum dwarf_why */
};

/* Texts and frames that one thread of one dwarf_resolve keeps. */
struct resolve_memory {
    struct resolve_memory *next;
    struct arena *arena;
    size_t charged; /* bytes taken of the budget */
};

struct dwarf {
    struct dwarf_options options;
    struct dwarf_sections *sections;
    struct dwarf_units *units; /* NULL: dwarf_resolve opens the units */
    bool part;                 /* some units were left out */
    struct answer *answers;    /* of the last dwarf_resolve */
    uint32_t answer_count;
    struct resolve_memory *kept;
};

/* The addresses in one unit. */
struct job {
    size_t unit;
    uint64_t weight;                /* bytes to read */
    const uint64_t *addresses;      /* ascending */
    const uint32_t *answer_indices; /* indices of their answers */
    uint32_t count;
};

struct work {
    struct dwarf *dwarf;
    struct job *jobs; /* heaviest first */
    size_t job_count;
    atomic_size_t next;
    uint64_t *addresses; /* of all jobs, one job after the other */
    uint32_t *answer_indices;
};

/* The state of one thread. */
struct worker {
    struct work *work;
    struct resolve_memory *kept;
    struct unit_code code;
    struct line_table *lines; /* of the current unit */
    struct span *paths;       /* by number of file; data NULL: not composed
                               * yet */
    size_t path_count;
    pthread_t thread;
};

/* ---- frames ---- */

static struct span
line_file_path(struct worker *w, uint32_t file)
{
    struct span none = {"", 0};
    char path[LINE_PATH_MAX];
    struct span *known;
    size_t size;

    if (!w->lines || file >= w->path_count)
        return none;
    known = &w->paths[file];
    if (!known->data) {
        /* composed once for each unit: inlined calls repeat a few files */
        size = line_table_file(w->lines, file, path);
        known->data = arena_strndup(w->kept->arena, path, size);
        if (!known->data)
            return none;
        known->size = size;
    }
    return *known;
}

static uint32_t
node_inline_depth(const struct unit_code *code, uint32_t node)
{
    uint32_t depth = 0;

    while (node != CODE_NONE && depth < NAMES_INLINE_MAX) {
        depth++;
        node = code->nodes[node].parent;
    }
    return depth;
}

/* Charges the answers so far to the budget, if they have grown by more than
 * step; false: it is used up. */
static bool
charge_answers(struct worker *w, size_t step)
{
    size_t used = arena_used(w->kept->arena) - w->kept->charged;

    if (used <= step)
        return true;
    if (!dwarf_budget_take(dwarf_sections_budget(w->work->dwarf->sections),
                           used))
        return false;
    w->kept->charged += used;
    return true;
}

/* Answers one address; node: the innermost one that has it, or CODE_NONE.  The
 * line table gives the line of the innermost frame; each call site that of the
 * frame outside. */
static void
answer_address(struct worker *w, uint64_t address, uint32_t node,
               struct answer *answer)
{
    const struct line_row *row =
        w->lines ? line_table_find(w->lines, address) : NULL;
    uint32_t count = node_inline_depth(&w->code, node);
    struct code_frame *frames;
    struct span file = {"", 0};
    uint32_t line = 0;

    if (row && row->file != LINE_END) {
        file = line_file_path(w, row->file);
        line = row->line;
    }
    answer->why = DWARF_KNOWN;
    /* known to be unknown: symbols will answer */
    if (count == 0 && file.size == 0 && line == 0)
        return;
    frames = arena_alloc(w->kept->arena,
                         (count ? count : 1) * sizeof(struct code_frame));
    if (!frames) {
        answer->why = DWARF_OVER_BUDGET;
        return;
    }
    if (count == 0)
        frames[0].name.data = "";
    frames[0].file = file;
    frames[0].line = line;
    for (uint32_t i = 0; i < count; i++) {
        const struct code_node *n = &w->code.nodes[node];

        frames[i].name = n->name;
        frames[i].linkage = n->linkage;
        frames[i].inlined = n->inlined;
        if (i + 1 < count) {
            frames[i + 1].file = line_file_path(w, n->call_file);
            frames[i + 1].line = n->call_line;
        }
        node = n->parent;
    }
    answer->frames = frames;
    answer->count = count ? count : 1;
}

/* ---- one unit ---- */

static void
open_lines(struct worker *w, const struct dwarf_unit *unit)
{
    struct dwarf *dwarf = w->work->dwarf;

    if (!dwarf->options.lines || unit->line.offset == UINT64_MAX)
        return;
    w->lines = line_table_new(dwarf->sections, &unit->line, NULL);
    if (!w->lines)
        return;
    w->path_count = line_table_file_count(w->lines) + 1;
    w->paths = mem_zalloc(w->path_count, sizeof(*w->paths));
    if (!w->paths)
        w->path_count = 0;
}

static void
close_lines(struct worker *w)
{
    line_table_free(w->lines);
    mem_free(w->paths);
    w->lines = NULL;
    w->paths = NULL;
    w->path_count = 0;
}

static void
answer_none(struct worker *w, const struct job *job, enum dwarf_why why)
{
    for (uint32_t i = 0; i < job->count; i++) {
        struct answer *answer =
            &w->work->dwarf->answers[job->answer_indices[i]];

        answer->count = 0;
        answer->why = (uint8_t)why;
    }
}

static void
do_job(struct worker *w, const struct job *job)
{
    struct dwarf *dwarf = w->work->dwarf;
    size_t refused =
        dwarf_budget_refusals(dwarf_sections_budget(dwarf->sections));
    const struct dwarf_unit *unit = dwarf_units_get(dwarf->units, job->unit);
    struct unit_code *code = &w->code;
    size_t at = 0;

    /* If earlier answers had no room, this job has none either. */
    if (!charge_answers(w, CHARGE_STEP)) {
        answer_none(w, job, DWARF_OVER_BUDGET);
        return;
    }
    if (unit_code_read(dwarf->units, unit, job->addresses, job->count, code,
                       NULL) != 0 ||
        unit_code_flatten(code, NULL) != 0) {
        answer_none(w, job, (enum dwarf_why)code->why);
        return;
    }
    open_lines(w, unit);
    for (uint32_t i = 0; i < job->count; i++) {
        uint64_t address = job->addresses[i];
        uint32_t node = CODE_NONE;

        while (at < code->range_count && code->ranges[at].end <= address)
            at++;
        if (at < code->range_count && code->ranges[at].start <= address)
            node = code->ranges[at].node;
        answer_address(w, address, node,
                       &dwarf->answers[job->answer_indices[i]]);
        if (!charge_answers(w, CHARGE_STEP))
            break;
    }
    close_lines(w);
    (void)charge_answers(w, 0);
    /* Names, lines or ranges may be missing.  Perhaps another thread was
     * refused and not this one, but then the budget is used up anyway. */
    if (dwarf_budget_refusals(dwarf_sections_budget(dwarf->sections)) !=
        refused)
        answer_none(w, job, DWARF_OVER_BUDGET);
}

/* ---- all of them ---- */

static void *
run_naming_worker(void *arg)
{
    struct worker *w = arg;
    size_t i;

    /* Relaxed: the jobs were made before the threads started. */
    while ((i = atomic_fetch_add_explicit(
                &w->work->next, 1, memory_order_relaxed)) < w->work->job_count)
        do_job(w, &w->work->jobs[i]);
    unit_code_fini(&w->code);
    return NULL;
}

static int
by_weight(const void *a, const void *b)
{
    const struct job *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return (x->unit > y->unit) - (x->unit < y->unit);
}

/* Sorts the addresses into jobs, one for each unit, by counting: two passes.
 * Addresses of no unit stay without an answer. */
static int
make_jobs(struct work *work, const uint64_t *addresses, uint32_t count,
          struct error *err)
{
    struct dwarf_units *units = work->dwarf->units;
    size_t unit_count = dwarf_units_count(units);
    uint32_t *starts = mem_zalloc(unit_count + 1, sizeof(*starts));
    uint32_t *unit_of = mem_zalloc(count, sizeof(*unit_of));
    size_t touched = 0, unit;
    int rc = -1;

    work->addresses = mem_zalloc(count, sizeof(*work->addresses));
    work->answer_indices = mem_zalloc(count, sizeof(*work->answer_indices));
    if (!starts || !unit_of || !work->addresses || !work->answer_indices)
        goto out;
    for (uint32_t i = 0; i < count; i++) {
        unit = dwarf_units_at(units, addresses[i]);
        unit_of[i] = unit == SIZE_MAX ? (uint32_t)unit_count : (uint32_t)unit;
        if (unit != SIZE_MAX)
            touched += starts[unit]++ == 0;
    }
    work->jobs = mem_zalloc(touched, sizeof(*work->jobs));
    if (!work->jobs)
        goto out;
    /* Turns each unit's count into its start among the addresses. */
    for (uint32_t i = 0, at = 0, n; i < unit_count; i++) {
        n = starts[i];
        starts[i] = at;
        if (n > 0)
            work->jobs[work->job_count++] = (struct job){
                i, dwarf_units_size(units, i), &work->addresses[at],
                &work->answer_indices[at], n};
        at += n;
    }
    for (uint32_t i = 0; i < count; i++)
        if (unit_of[i] < unit_count) {
            work->addresses[starts[unit_of[i]]] = addresses[i];
            work->answer_indices[starts[unit_of[i]]++] = i;
        }
    /* the heaviest first, or a thread would begin it when others are done */
    qsort(work->jobs, work->job_count, sizeof(*work->jobs), by_weight);
    rc = 0;
out:
    if (rc != 0)
        error_memory(err, "the addresses to be named");
    mem_free(starts);
    mem_free(unit_of);
    return rc;
}

static unsigned
naming_thread_count(const struct work *work)
{
    unsigned wanted = work->dwarf->options.threads;
    uint64_t bytes = 0;

    if (wanted == 0)
        wanted = thread_cores();
    for (size_t i = 0; i < work->job_count; i++)
        bytes += work->jobs[i].weight;
    if (wanted > THREADS_MAX)
        wanted = THREADS_MAX;
    if (wanted > work->job_count)
        wanted = (unsigned)work->job_count;
    if (wanted > 1 + bytes / THREAD_WORTH)
        wanted = (unsigned)(1 + bytes / THREAD_WORTH);
    return wanted;
}

static struct resolve_memory *
add_kept_arena(struct dwarf *dwarf)
{
    struct resolve_memory *kept = mem_zalloc(1, sizeof(*kept));

    if (kept)
        kept->arena = arena_new(dwarf->options.memory_bytes);
    if (!kept || !kept->arena) {
        mem_free(kept);
        return NULL;
    }
    kept->next = dwarf->kept;
    dwarf->kept = kept;
    return kept;
}

/* This thread is the first worker; others help if they can be started. */
static int
run_naming_jobs(struct work *jobs, struct error *err)
{
    struct thread_start start = {
        .name = "hw-dwarf", .stack_bytes = STACK, .body = run_naming_worker};
    struct worker *workers;
    unsigned wanted = naming_thread_count(jobs), count = 0;
    int rc = -1;

    if (jobs->job_count == 0)
        return 0;
    workers = mem_zalloc(wanted, sizeof(*workers));
    for (; workers && count < wanted; count++) {
        workers[count].work = jobs;
        workers[count].kept = add_kept_arena(jobs->dwarf);
        start.arg = &workers[count];
        /* each thread keeps texts in its own arena: no lock */
        if (!workers[count].kept ||
            (count > 0 &&
             thread_start(&workers[count].thread, &start, NULL) != 0))
            break;
    }
    if (count > 0) {
        run_naming_worker(&workers[0]);
        rc = 0;
    } else {
        error_memory(err, "naming addresses");
    }
    for (unsigned i = 1; i < count; i++)
        pthread_join(workers[i].thread, NULL);
    mem_free(workers);
    return rc;
}

/* ---- units, when addresses say which ---- */

static bool
units_have(struct dwarf *dwarf, const uint64_t *addresses, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (dwarf_units_at(dwarf->units, addresses[i]) == SIZE_MAX)
            return false;
    return true;
}

static int
open_units(struct dwarf *dwarf, struct error *err)
{
    dwarf_units_free(dwarf->units);
    dwarf->part = false;
    dwarf->units = dwarf_units_new(dwarf->sections, UINT64_MAX, err);
    return dwarf->units ? 0 : -1;
}

/* For packed sections: opens only the units up to the last one that these
 * addresses need, if that lies in the first quarter.  Otherwise inflating the
 * whole at once is faster. */
static void
open_part(struct dwarf *dwarf, const uint64_t *addresses, uint32_t count)
{
    struct dwarf_sections *sections = dwarf->sections;
    uint64_t reach = unit_aranges_reach(sections, addresses, count);

    if (reach >= dwarf_section_size(sections, DWARF_INFO) / PART)
        return;
    dwarf_section_stream(sections, DWARF_INFO);
    dwarf_section_stream(sections, DWARF_ABBREV);
    dwarf->part = true;
    dwarf->units = dwarf_units_new(sections, reach, NULL);
}

static int
resolve_once(struct dwarf *dwarf, const uint64_t *addresses, uint32_t count,
             struct error *err)
{
    struct work jobs = {.dwarf = dwarf};
    int rc = -1;

    if (make_jobs(&jobs, addresses, count, err) == 0)
        rc = run_naming_jobs(&jobs, err);
    mem_free(jobs.jobs);
    mem_free(jobs.addresses);
    mem_free(jobs.answer_indices);
    return rc;
}

int
dwarf_resolve(struct dwarf *dwarf, const uint64_t *addresses, uint32_t count,
              struct error *err)
{
    struct error why = {0};
    int rc = 0;

    mem_free(dwarf->answers);
    dwarf->answer_count = 0;
    dwarf->answers = mem_zalloc(count, sizeof(*dwarf->answers));
    if (!dwarf->answers) {
        error_memory(err, "the addresses to be named");
        return -1;
    }
    dwarf->answer_count = count;
    if (!dwarf->units)
        open_part(dwarf, addresses, count);
    if ((dwarf->units &&
         (!dwarf->part || units_have(dwarf, addresses, count))) ||
        open_units(dwarf, &why) == 0)
        rc = resolve_once(dwarf, addresses, count, err);
    /* An entry refers to a unit that was left out: again, with all units. */
    if (rc == 0 && dwarf->part && dwarf_units_fell_short(dwarf->units) &&
        open_units(dwarf, &why) == 0)
        rc = resolve_once(dwarf, addresses, count, err);
    for (uint32_t i = 0; why.text[0] && i < count; i++)
        dwarf->answers[i] = (struct answer){.why = why.code == ER_OUT_OF_MEMORY
                                                       ? DWARF_OVER_BUDGET
                                                       : DWARF_DAMAGED};
    return rc;
}

enum dwarf_why
dwarf_chain_at(const struct dwarf *dwarf, uint32_t i, struct code_chain *chain)
{
    const struct answer *answer = &dwarf->answers[i];

    chain->frames = answer->frames;
    chain->count = answer->count;
    return (enum dwarf_why)answer->why;
}

/* ---- opening ---- */

/* With addresses_only and a packed .debug_info opening is put off: which part
 * to inflate depends on the addresses (open_part). */
struct dwarf *
dwarf_new(const struct elf_file *elf, const struct dwarf_options *options,
          struct error *err)
{
    struct dwarf *dwarf = mem_zalloc(1, sizeof(*dwarf));

    if (!dwarf) {
        error_memory(err, "a reader of debug information");
        return NULL;
    }
    dwarf->options = *options;
    if (dwarf->options.memory_bytes == 0)
        dwarf->options.memory_bytes = MEMORY_DEFAULT;
    dwarf->sections = dwarf_sections_new(elf, dwarf->options.memory_bytes, err);
    if (dwarf->sections && options->addresses_only &&
        dwarf_section_packed(dwarf->sections, DWARF_INFO))
        return dwarf;
    if (!dwarf->sections || open_units(dwarf, err) != 0) {
        dwarf_free(dwarf);
        return NULL;
    }
    return dwarf;
}

void
dwarf_free(struct dwarf *dwarf)
{
    struct resolve_memory *next;

    if (!dwarf)
        return;
    for (struct resolve_memory *k = dwarf->kept; k; k = next) {
        next = k->next;
        arena_free(k->arena);
        mem_free(k);
    }
    mem_free(dwarf->answers);
    dwarf_units_free(dwarf->units);
    dwarf_sections_free(dwarf->sections);
    mem_free(dwarf);
}

struct dwarf_sections *
dwarf_get_sections(struct dwarf *dwarf)
{
    return dwarf->sections;
}

struct dwarf_units *
dwarf_get_units(struct dwarf *dwarf)
{
    return dwarf->units;
}
