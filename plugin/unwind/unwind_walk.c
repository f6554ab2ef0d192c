/*
 * unwind_walk.c - see unwind_walk.h.
 *
 * Each step turns one frame's registers into its caller's. .eh_frame would have
 * an interpreter run and all registers restored; a table has one rule for each
 * place of the code, and only the registers that frames are found by (stack and
 * frame pointer, program counter) are carried on.  Code without a rule
 * (generated at run time, or written in assembler) may keep frame pointers, so
 * unwind_walk() guesses; it is used by heapwired on copies of other threads'
 * stacks, where a wrong frame costs a wrong line and no more.
 * unwind_walk_calls() runs in the database's threads at each sample: it never
 * guesses, as its caller can ask the library, and does most steps without
 * copying the rule.  Every load is checked against the stack's bounds: contents
 * of a stack are not trusted.
 */
#include "unwind_walk.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { WORD = 8, PLT_BYTES = 16 };

/* The kernel's struct rt_sigframe on the stack of a signal's handler: where its
 * saved registers lie, as seen from the trampoline that the handler returns to,
 * and for x86-64 their order in struct sigcontext, by DWARF's numbers. */
#if defined(__x86_64__)
enum { SAVED_REGISTERS = 40, SAVED_COUNT = 17 };
static const uint8_t saved_order[SAVED_COUNT] = {
    8, 9,           10, 11, 12, 13, 14,          15,         5,
    4, REGISTER_FP, 3,  1,  0,  2,  REGISTER_SP, REGISTER_PC};
#define CODE_MASK UINT64_MAX
#else
enum { SAVED_REGISTERS = 312, SAVED_COUNT = 33 };
/* Return addresses may be signed (pointer authentication): the signature lies
 * above the 48 bits of an address. */
#define CODE_MASK (((uint64_t)1 << 48) - 1)
#endif

/* The frame from which the next step goes to its caller. */
struct frame {
    const struct unwind_source *source;
    const struct thread_stack *stack;
    uint64_t values[REGISTER_COUNT];
    uint64_t known; /* bit per register */
    bool exact;     /* pc is the instruction itself (a leaf's, or one that a
                     * signal interrupted), not a return address */
    enum unwind_end why;
    struct unwind_rule rule; /* used without a cache: the rule of this frame */
};

static const struct unwind_code *
find_code_range(const struct unwind_source *source, uint64_t pc)
{
    size_t low = 0, high = source->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (source->list[middle].start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || pc >= source->list[low - 1].end)
        return NULL;
    return &source->list[low - 1];
}

static struct unwind_rule
look_up_unwind_rule(const struct unwind_source *source, uint64_t pc)
{
    const struct unwind_code *code = find_code_range(source, pc);

    if (code && code->table)
        return unwind_table_find(code->table,
                                 code->offset + (pc - code->start));
    return (struct unwind_rule){.cfa = UNWIND_NONE};
}

static const struct unwind_rule *
find_rule(struct frame *f, uint64_t pc)
{
    const struct unwind_source *source = f->source;
    struct unwind_cached *slot;

    if (!source->cache) {
        f->rule = look_up_unwind_rule(source, pc);
        return &f->rule;
    }
    slot =
        &source->cache
             ->slots[(pc * 0x9e3779b97f4a7c15ULL >> 32) % UNWIND_CACHE_SLOTS];
    if (slot->pc != pc) {
        slot->rule = look_up_unwind_rule(source, pc);
        slot->pc = pc;
    }
    return &slot->rule;
}

static bool
load_stack_word(struct frame *f, uint64_t address, uint64_t *value)
{
    uint64_t at = address - f->stack->start;

    if (address < f->stack->start) {
        f->why = UNWIND_END_LOOP;
        return false;
    }
    if (f->stack->size < WORD || at > f->stack->size - WORD) {
        f->why = UNWIND_END_STACK;
        return false;
    }
    memcpy(value, f->stack->bytes + at, WORD);
    return true;
}

static bool
read_known_register(struct frame *f, unsigned number, uint64_t *value)
{
    if (number >= REGISTER_COUNT || !(f->known >> number & 1)) {
        f->why = UNWIND_END_RULE;
        return false;
    }
    *value = f->values[number];
    return true;
}

/* Reads a register's value in the caller: number is the register, place where
 * the rule says that it is saved.  false: why is set. */
static bool
get_saved(struct frame *f, uint64_t cfa, unsigned number,
          struct unwind_location place, int32_t offset, uint64_t *value)
{
    uint64_t base;

    switch (place.where) {
    case UNWIND_SAME:
        return read_known_register(f, number, value);
    case UNWIND_AT_CFA:
        return load_stack_word(f, cfa + (uint64_t)(int64_t)offset, value);
    case UNWIND_AT:
        return read_known_register(f, place.base, &base) &&
               load_stack_word(f, base + (uint64_t)(int64_t)offset, value);
    case UNWIND_IN:
        return read_known_register(f, place.base, value);
    default:
        f->why = UNWIND_END_RULE;
        return false;
    }
}

/* Replaces the frame's registers by the caller's.  The caller's stack pointer
 * must be higher, so every walk ends; only a leaf may have pushed nothing
 * (AArch64 keeps the return address in a register). */
static bool
enter_caller(struct frame *f, uint64_t cfa, uint64_t pc, bool fp_known,
             uint64_t fp)
{
    uint64_t sp = f->values[REGISTER_SP];

    pc &= CODE_MASK;
    /* thread starts (clone, _start) leave 0 as return address */
    if (pc == 0) {
        f->why = UNWIND_END_OUTERMOST;
        return false;
    }
    if (cfa < sp || (cfa == sp && !f->exact)) {
        f->why = UNWIND_END_LOOP;
        return false;
    }
    f->values[REGISTER_SP] = cfa;
    f->values[REGISTER_FP] = fp;
    f->values[REGISTER_PC] = pc;
    f->known = (uint64_t)1 << REGISTER_SP | (uint64_t)1 << REGISTER_PC |
               (uint64_t)fp_known << REGISTER_FP;
    f->exact = false;
    return true;
}

static bool
step_by_rule(struct frame *f, const struct unwind_rule *rule)
{
    uint64_t cfa, pc, index, fp = 0;
    bool fp_known;

    if (!read_known_register(f, rule->base, &cfa))
        return false;
    cfa += (uint64_t)(int64_t)rule->offset;
    if (rule->cfa == UNWIND_DEREF) {
        if (rule->index) {
            if (!read_known_register(f, rule->index - 1U, &index))
                return false;
            cfa += index * WORD;
        }
        if (!load_stack_word(f, cfa, &cfa))
            return false;
        cfa += (uint64_t)(int64_t)rule->more;
    } else if (rule->cfa == UNWIND_PLT &&
               f->values[REGISTER_PC] % PLT_BYTES >= (uint32_t)rule->more) {
        cfa += WORD;
    }
    fp_known = get_saved(f, cfa, REGISTER_FP, rule->frame_pointer,
                         rule->frame_offset, &fp);
    /* A caller without a known frame pointer can still be unwound by rules of
     * the stack pointer; without a return address there is no caller. */
    return get_saved(f, cfa, REGISTER_PC, rule->return_address,
                     rule->return_offset, &pc) &&
           enter_caller(f, cfa, pc, fp_known, fp);
}

static bool
step_by_signal(struct frame *f)
{
    uint64_t from = f->values[REGISTER_SP] + SAVED_REGISTERS;
    uint64_t values[REGISTER_COUNT];

    for (unsigned i = 0; i < SAVED_COUNT; i++) {
#if defined(__x86_64__)
        unsigned number = saved_order[i];
#else
        unsigned number = i;
#endif
        if (!load_stack_word(f, from + (uint64_t)i * WORD, &values[number]))
            return false;
    }
    /* only now: a frame that is not whole must leave the registers as they
     * are */
    memcpy(f->values, values, sizeof(values));
    f->known = ((uint64_t)1 << REGISTER_COUNT) - 1;
    f->exact = true;
    return true;
}

/* A leaf that has not touched its stack yet has its return address on top of
 * it; so it is after a call to an address where there is no code. */
static bool
step_by_leaf(struct frame *f)
{
    uint64_t cfa = f->values[REGISTER_SP], pc;

#if defined(__x86_64__)
    if (!load_stack_word(f, cfa, &pc))
        return false;
    cfa += WORD;
#else
    if (!read_known_register(f, REGISTER_LR, &pc))
        return false;
#endif
    return find_code_range(f->source, pc & CODE_MASK) &&
           enter_caller(f, cfa, pc, f->known >> REGISTER_FP & 1,
                        f->values[REGISTER_FP]);
}

static bool
step_by_frame_pointer(struct frame *f)
{
    uint64_t sp = f->values[REGISTER_SP], fp, pc = 0, caller_fp;

    f->why = UNWIND_END_RULE;
    if (!read_known_register(f, REGISTER_FP, &fp))
        return false;
    if (fp == 0) {
        f->why = UNWIND_END_OUTERMOST;
        return false;
    }
    /* A register that is used for something else seldom looks like an aligned
     * address above the stack pointer, with an address of code behind it. */
    if (fp < sp || fp % WORD != 0 || !load_stack_word(f, fp, &caller_fp) ||
        !load_stack_word(f, fp + WORD, &pc))
        return false;
    if (pc == 0 || find_code_range(f->source, pc & CODE_MASK))
        return enter_caller(f, fp + WORD + WORD, pc, true, caller_fp);
    return false;
}

/* Tries both ways to leave code without a rule.  In a leaf on x86-64 the word
 * on top of the stack is the better guess, since the frame pointer may still be
 * the caller's; on AArch64 the link register may be of a call that has
 * returned, so frame pointers are tried first. */
static bool
step_by_guess(struct frame *f)
{
#if defined(__x86_64__)
    bool leaf_first = true;
#else
    bool leaf_first = !find_code_range(f->source, f->values[REGISTER_PC]);
#endif

    if (f->exact && leaf_first && step_by_leaf(f))
        return true;
    if (step_by_frame_pointer(f))
        return true;
    if (f->why == UNWIND_END_OUTERMOST || !f->exact || leaf_first)
        return false;
    return step_by_leaf(f);
}

static bool
step_to_caller(struct frame *f, uint64_t pc)
{
    const struct unwind_rule *rule = find_rule(f, pc);

    switch (rule->cfa) {
    case UNWIND_REGISTER:
    case UNWIND_DEREF:
    case UNWIND_PLT:
        return step_by_rule(f, rule);
    case UNWIND_SIGNAL:
        return step_by_signal(f);
    case UNWIND_OUTERMOST:
        f->why = UNWIND_END_OUTERMOST;
        return false;
    default:
        return step_by_guess(f);
    }
}

size_t
unwind_walk(const struct unwind_source *source,
            const struct thread_stack *stack,
            const struct thread_registers *registers, uint64_t *pcs,
            size_t room, enum unwind_end *why)
{
    struct frame f = {.source = source,
                      .stack = stack,
                      .known = (((uint64_t)1 << REGISTER_COUNT) - 1) &
                               ~registers->missing,
                      .exact = true,
                      .why = UNWIND_END_DEPTH};
    size_t count = 0;

    memcpy(f.values, registers->values, sizeof(f.values));
    while (count < room) {
        bool called = !f.exact;
        uint64_t pc = f.values[REGISTER_PC] - called;

        pcs[count++] = pc;
        if (!step_to_caller(&f, pc)) {
            *why = f.why;
            return count;
        }
        /* The frame was a signal's trampoline: nothing called it, its address
         * is exact, and the byte before it belongs to another function. */
        pcs[count - 1] += called && f.exact;
    }
    *why = UNWIND_END_DEPTH;
    return count;
}

/* ---- of a thread's own calls ---- */

enum { NUMBER_BITS = 16 };

/* The number of the rule of the code at pc; UNWIND_RULES_MAX: none.  A memo's
 * word holds the address (48 bits) and the number (16): threads race for slots,
 * but each reads a word whole, and so never another address's rule. */
static uint32_t
recall_number(const struct unwind_code *code, _Atomic uint64_t *memo,
              uint64_t pc)
{
    uint64_t hash = pc * 0x9e3779b97f4a7c15ULL >> 32;
    _Atomic uint64_t *word = &memo[hash % UNWIND_MEMO_WORDS];
    uint64_t known = atomic_load_explicit(word, memory_order_relaxed);
    uint32_t number;

    if (known >> NUMBER_BITS == pc)
        return known & ((1U << NUMBER_BITS) - 1);
    number =
        unwind_table_number(code->table, code->offset + (pc - code->start));
    if (number < UNWIND_RULES_MAX)
        atomic_store_explicit(word, pc << NUMBER_BITS | number,
                              memory_order_relaxed);
    return number;
}

static inline int32_t
load_offset(const uint8_t *rule, size_t field)
{
    int32_t value;

    memcpy(&value, rule + field, sizeof(value));
    return value;
}

/* Does what step_by_rule does, for the rules of nearly all code: the frame lies
 * at a distance from the stack or the frame pointer and has both registers
 * saved in it.  Reads the table's bytes in place, for this is the inner loop of
 * a sample.  false: nothing was changed, take the general way. */
static inline bool
step_plainly(struct frame *f, const uint8_t *rule)
{
    const uint64_t sp = f->values[REGISTER_SP];
    const uint64_t start = f->stack->start, size = f->stack->size;
    const uint8_t base = rule[offsetof(struct unwind_rule, base)];
    const uint8_t frame =
        rule[offsetof(struct unwind_rule, frame_pointer.where)];
    uint64_t cfa, pc, return_at, frame_at;

    if (rule[offsetof(struct unwind_rule, cfa)] != UNWIND_REGISTER ||
        rule[offsetof(struct unwind_rule, return_address.where)] !=
            UNWIND_AT_CFA ||
        !(f->known >> REGISTER_FP & 1) || size < WORD)
        return false;
    if (base == REGISTER_SP)
        cfa = sp;
    else if (base == REGISTER_FP)
        cfa = f->values[REGISTER_FP];
    else
        return false;
    cfa += (uint64_t)(int64_t)load_offset(rule,
                                          offsetof(struct unwind_rule, offset));
    return_at = cfa - start +
                (uint64_t)(int64_t)load_offset(
                    rule, offsetof(struct unwind_rule, return_offset));
    frame_at = cfa - start +
               (uint64_t)(int64_t)load_offset(
                   rule, offsetof(struct unwind_rule, frame_offset));
    if (cfa <= sp || return_at > size - WORD)
        return false;
    memcpy(&pc, f->stack->bytes + return_at, WORD);
    pc &= CODE_MASK;
    if (pc == 0)
        return false;
    if (frame == UNWIND_AT_CFA && frame_at <= size - WORD)
        memcpy(&f->values[REGISTER_FP], f->stack->bytes + frame_at, WORD);
    else if (frame != UNWIND_SAME)
        return false;
    f->values[REGISTER_SP] = cfa;
    f->values[REGISTER_PC] = pc;
    return true;
}

/* false: the walk ends, and *why is set */
static bool
step_to_call(struct frame *f, const uint8_t *bytes, enum unwind_end *why)
{
    struct unwind_rule rule;

    memcpy(&rule, bytes, sizeof(rule));
    switch (rule.cfa) {
    case UNWIND_REGISTER:
    case UNWIND_DEREF:
    case UNWIND_PLT:
        if (step_by_rule(f, &rule))
            return true;
        *why = f->why;
        break;
    case UNWIND_SIGNAL:
        *why = UNWIND_END_SIGNAL;
        break;
    case UNWIND_OUTERMOST:
        *why = UNWIND_END_OUTERMOST;
        break;
    default:
        *why = UNWIND_END_RULE;
    }
    return false;
}

size_t
unwind_walk_calls(const struct unwind_source *source, _Atomic uint64_t *memo,
                  const struct thread_stack *stack,
                  const struct unwind_call *call,
                  const struct unwind_calls *out, enum unwind_end *why)
{
    const struct unwind_code *code = NULL;
    struct frame f = {.source = source,
                      .stack = stack,
                      .known = (uint64_t)1 << REGISTER_PC |
                               (uint64_t)1 << REGISTER_SP |
                               (uint64_t)1 << REGISTER_FP,
                      .why = UNWIND_END_DEPTH};
    size_t count = 0;

    f.values[REGISTER_PC] = call->pc;
    f.values[REGISTER_SP] = call->sp;
    f.values[REGISTER_FP] = call->fp;
    while (count < out->capacity) {
        const uint64_t at = f.values[REGISTER_PC] - 1;
        const uint8_t *rule;
        uint32_t number;

        if (!code || at < code->start || at >= code->end)
            code = find_code_range(source, at);
        out->pcs[count] = at + 1;
        out->codes[count++] = (uint16_t)(code ? code - source->list : 0);
        *why = UNWIND_END_RULE;
        if (!code || !code->table)
            return count;
        number = recall_number(code, memo, at);
        if (number >= code->table->rule_count)
            return count;
        rule = code->table->rules + (size_t)number * UNWIND_RULE_BYTES;
        if (!step_plainly(&f, rule) && !step_to_call(&f, rule, why))
            return count;
    }
    *why = UNWIND_END_DEPTH;
    return count;
}

const char *
unwind_end_text(enum unwind_end why)
{
    static const char *const texts[] = {
        [UNWIND_END_OUTERMOST] = "",
        [UNWIND_END_STACK] = "its stack was copied only up to here",
        [UNWIND_END_RULE] =
            "neither an unwind table nor a frame pointer leads to its caller",
        [UNWIND_END_LOOP] = "its stack is damaged",
        [UNWIND_END_DEPTH] = "it has more calls than are kept",
        [UNWIND_END_SIGNAL] = "a signal has interrupted it"};

    return texts[why];
}
