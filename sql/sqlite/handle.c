/*
 * handle.c - what keeps one SELECT in SQLite from harming others: its memory,
 * its time, and MySQL's collations.
 *
 * SQLite has one heap limit for the whole process, and some statements take
 * exponential time or memory to prepare, so its allocator is wrapped and
 * counts for the statement that runs on this thread.  A thread-local pointer
 * says whose that is; memory that outlives the statement (the schema, the page
 * cache) is counted while it is allocated and forgotten at the reset.  The
 * cost is an addition per allocation.
 *
 * Time is bounded by asking: SQLite calls the progress handler every 64
 * operations, and functions charge for bytes as if they were operations.
 * About every quarter of a millisecond the statement leaves the event loop or
 * looks whether it is over.
 */
#include "handle.h"

#include <stddef.h>
#include <string.h>

#include "await.h"
#include "collate.h"

static sqlite3_mem_methods real;

/* The memory of the statement that runs on this thread; NULL: none does, as
 * while a handle is opened. */
static _Thread_local struct select_memory *counting;

static bool
is_statement_cancelled(const struct select_memory *memory)
{
    return memory->cancelled &&
           atomic_load_explicit(memory->cancelled, memory_order_relaxed);
}

/* Reserves memory of the budget that all clients share, in steps: a small
 * statement need not ask, and a large one asks once per megabyte. */
static bool
reserve_select_memory(struct select_memory *memory, int64_t used)
{
    int64_t steps;

    /* While it prepares, used begins at an offset, see
     * select_memory_prepare(). */
    if (memory->preparing)
        used -= SELECT_MEMORY_MAX - PREPARE_MEMORY_MAX;
    if (used <= MEMORY_BUDGET_SMALL || used <= (int64_t)memory->reserved.bytes)
        return true;
    steps = (used + SELECT_MEMORY_STEP - 1) / SELECT_MEMORY_STEP;
    if (memory_reserve(&memory->reserved, memory->owner,
                       (size_t)steps * SELECT_MEMORY_STEP))
        return true;
    memory->refused = true;
    return false;
}

/* Counts an allocation, and allows it or not.  A refusal is an out-of-memory
 * to SQLite, which unwinds cleanly; that is the only way to stop it while it
 * prepares, when it calls no progress handler.  It allocates all along then. */
static bool
may_take(int size)
{
    struct select_memory *memory = counting;

    if (!memory)
        return true;
    if (memory->preparing && is_statement_cancelled(memory))
        return false;
    if (memory->used + size <= SELECT_MEMORY_MAX &&
        !(memory->preparing && ++memory->blocks > PREPARE_BLOCKS_MAX) &&
        reserve_select_memory(memory, memory->used + size))
        return true;
    memory->exceeded = true;
    return false;
}

static void
count_statement_memory(int64_t difference)
{
    if (counting)
        counting->used += difference;
}

static void *
counted_malloc(int size)
{
    void *block = may_take(size) ? real.xMalloc(size) : NULL;

    if (block)
        count_statement_memory(real.xSize(block));
    return block;
}

static void
counted_free(void *block)
{
    count_statement_memory(-(int64_t)real.xSize(block));
    real.xFree(block);
}

static void *
counted_realloc(void *old, int size)
{
    int before = real.xSize(old);
    void *block = may_take(size - before) ? real.xRealloc(old, size) : NULL;

    if (block)
        count_statement_memory((int64_t)real.xSize(block) - before);
    return block;
}

void
select_memory_install(void)
{
    sqlite3_mem_methods counted;

    /* SQLite refuses if it is in use already; then its own limit is the only
     * one. */
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real) != SQLITE_OK)
        return;
    counted = real;
    counted.xMalloc = counted_malloc;
    counted.xFree = counted_free;
    counted.xRealloc = counted_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &counted);
}

int
select_memory_prepare(struct select_memory *memory, sqlite3 *db,
                      const char *sql, size_t size, unsigned flags,
                      sqlite3_stmt **out)
{
    int rc;

    /* So one comparison with SELECT_MEMORY_MAX serves both limits. */
    memory->used = SELECT_MEMORY_MAX - PREPARE_MEMORY_MAX;
    memory->blocks = 0;
    memory->preparing = true;
    counting = memory;
    rc = sqlite3_prepare_v3(db, sql, (int)size, flags, out, NULL);
    counting = NULL;
    memory->preparing = false;
    memory->used = 0; /* what remains belongs to the statement */
    return rc == SQLITE_NOMEM && is_statement_cancelled(memory)
               ? SQLITE_INTERRUPT
               : rc;
}

int
select_memory_step(struct select_memory *memory, sqlite3_stmt *statement)
{
    int rc;

    counting = memory;
    rc = sqlite3_step(statement);
    counting = NULL;
    return rc;
}

void
select_memory_reset(struct select_memory *memory)
{
    memory->used = 0;
    memory->cancelled = NULL;
    memory->exceeded = memory->refused = false;
    memory_reserve(&memory->reserved, memory->owner, 0);
}

void
slot_clear(struct slot *slot)
{
    sqlite3_value_free(slot->low);
    sqlite3_value_free(slot->high);
    memset(slot, 0, sizeof(*slot));
}

void
slots_fini(struct slots *slots)
{
    while (slots->used > 0)
        slot_clear(&slots->slots[--slots->used]);
}

static int
compare_collated_texts(void *arg, int a_size, const void *a, int b_size,
                       const void *b)
{
    (void)arg;
    return collate_compare((struct span){a, (size_t)a_size},
                           (struct span){b, (size_t)b_size});
}

static int
compare_bin(void *arg, int a_size, const void *a, int b_size, const void *b)
{
    (void)arg;
    return collate_compare_bin((struct span){a, (size_t)a_size},
                               (struct span){b, (size_t)b_size});
}

int
collation_add(sqlite3 *db)
{
    static const struct {
        const char *name;
        int (*compare)(void *, int, const void *, int, const void *);
    } all[] = {{"BINARY", compare_collated_texts},
               {COLLATION_TEXT, compare_collated_texts},
               {COLLATION_BIN, compare_bin}};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (sqlite3_create_collation(db, all[i].name, SQLITE_UTF8, NULL,
                                     all[i].compare) != SQLITE_OK)
            return -1;
    return 0;
}

/* 160 times 64 operations of SQLite's machine, or 64 bytes in a function for
 * each 64 operations, take about a quarter of a millisecond: then the statement
 * leaves the event loop, or looks at the clock. */
enum {
    PROGRESS_OPS = 64,   /* operations in a step */
    BYTES_PER_STEP = 64, /* bytes that a function handles in that time */
    STEPS_PER_CHECK = 160
};

bool
handle_is_cancelled(const struct handle *handle)
{
    return is_statement_cancelled(&handle->memory);
}

bool
handle_compute(struct handle *handle)
{
    handle->charged = 0;
    await_compute(handle->await);
    return handle_is_cancelled(handle);
}

bool
handle_charge(struct handle *handle, size_t bytes)
{
    handle->charged += bytes;
    return handle->charged >= (uint64_t)STEPS_PER_CHECK * BYTES_PER_STEP
               ? handle_compute(handle)
               : handle_is_cancelled(handle);
}

/* Non-zero stops this statement.  Each statement asks by itself:
 * sqlite3_interrupt() from the cancelling thread could stop the handle's next
 * one. */
static int
on_sqlite_progress(void *arg)
{
    return handle_charge(arg, BYTES_PER_STEP);
}

void
handle_watch(struct handle *handle)
{
    sqlite3_progress_handler(handle->db, PROGRESS_OPS, on_sqlite_progress,
                             handle);
}
