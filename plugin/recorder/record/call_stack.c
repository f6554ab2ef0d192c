/*
 * call_stack.c - see call_stack.h.
 *
 * The unwinder is libgcc's, linked statically: no library comes into the host
 * with us.  It looks code up by _dl_find_object, which takes no lock; any lock
 * could be held by the very thread that allocates.  Code that the host has
 * registered with its own unwinder (a JIT's) ends the stack.
 *
 * If the agent has brought unwind tables, stacks are walked by these, at a
 * tenth of the cost, from where the program called this library, whose own
 * functions keep frame pointers for that.
 */
#include "call_stack.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unwind.h>

#include "own_calls.h"
#include "recorder_state.h"

struct call_stack {
    uint64_t *frames;
    uint32_t count;
};

/* The code of this library. */
static uint64_t own_start, own_end;

static const struct given_tables *_Atomic tables;

_Static_assert((int)SEGMENT_DEPTH_MAX == (int)OWN_CALLS_MAX, "all frames");

#ifdef __x86_64__
enum { PAGE = 4096 };

/* Whether pc is __restore_rt, to which a signal handler returns.  The next
 * frame is where the signal came.  After a jump through a wild pointer that is
 * no code, and the unwinder would read there. */
static bool
is_signal_return_code(uint64_t pc)
{
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return pc % PAGE <= PAGE - sizeof(code) &&
           memcmp((const void *)pc, code, sizeof(code)) == 0;
}
#else
static bool
is_signal_return_code(uint64_t pc)
{
    (void)pc;
    return false;
}
#endif

static _Unwind_Reason_Code
on_frame(struct _Unwind_Context *context, void *data)
{
    struct call_stack *stack = data;
    uint64_t pc = _Unwind_GetIP(context);

    if (pc == 0 || pc > SEGMENT_PC_MASK)
        return _URC_END_OF_STACK;
    if (pc >= own_start && pc < own_end)
        return _URC_NO_REASON;
    stack->frames[stack->count++] = pc;
    return stack->count < SEGMENT_DEPTH_MAX && !is_signal_return_code(pc)
               ? _URC_NO_REASON
               : _URC_END_OF_STACK;
}

static uint32_t
take_by_library(const struct unwind_call *call, uint64_t *frames)
{
    struct call_stack stack = {frames, 0};

    (void)call;
    if (recorder_state.header)
        __atomic_fetch_add(&recorder_state.header->by_library, 1,
                           __ATOMIC_RELAXED);
    _Unwind_Backtrace(on_frame, &stack);
    return stack.count;
}

#ifdef __x86_64__
/* The program's call into this library, found by the frame pointers of our own
 * functions. */
static struct unwind_call
find_program_call(void)
{
    const uint64_t *frame = __builtin_frame_address(0);
    struct unwind_call call;

    do {
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        call = (struct unwind_call){frame[1], (uint64_t)(frame + 2), frame[0]};
        frame = (const uint64_t *)call.fp;
    } while (call.pc >= own_start && call.pc < own_end);
    return call;
}
#else
/* On AArch64 a frame pointer does not tell where the caller's stack pointer
 * was, and the address beside it may be signed.  So the walk begins at our own
 * caller, and needs this library's table, too. */
static __attribute__((always_inline)) inline struct unwind_call
find_program_call(void)
{
    const uint64_t *frame = __builtin_frame_address(0);

    return (struct unwind_call){
        (uint64_t)__builtin_extract_return_addr(__builtin_return_address(0)),
        (uint64_t)__builtin_dwarf_cfa(), frame[0]};
}
#endif

uint32_t
call_stack_take(uint64_t frames[SEGMENT_DEPTH_MAX])
{
    const struct given_tables *given =
        atomic_load_explicit(&tables, memory_order_acquire);
    const struct own_calls calls = {.library = take_by_library,
                                    .hidden_start = own_start,
                                    .hidden_end = own_end,
#ifdef __x86_64__
                                    .ends_at_signal = true
#endif
    };
    struct unwind_call call = {0};

    if (given)
        call = find_program_call();
    return own_calls_take(&calls, given, &call, frames);
}

void
heapwire_recorder_tables(const struct given_tables *given)
{
    atomic_store_explicit(&tables, given, memory_order_release);
}

void
call_stack_warm_up(void)
{
    uint64_t frames[SEGMENT_DEPTH_MAX];
    struct dl_find_object own;

    if (_dl_find_object((void *)call_stack_warm_up, &own) == 0) {
        own_start = (uint64_t)own.dlfo_map_start;
        own_end = (uint64_t)own.dlfo_map_end;
    }
    call_stack_take(frames);
}
