/*
 * call_stack.c - see call_stack.h.
 *
 * The unwinder is linked statically: no library comes into the host with us.
 * It looks code up by _dl_find_object, which takes no lock.  Code that the host
 * has registered with its own unwinder (a JIT's) ends the stack.
 */
#include "call_stack.h"

#include <unwind.h>

struct call_stack {
    uint64_t *frames;
    uint32_t count;
};

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _etext[] __attribute__((visibility("hidden")));

static _Unwind_Reason_Code
on_frame(struct _Unwind_Context *context, void *data)
{
    struct call_stack *stack = data;
    uint64_t pc = _Unwind_GetIP(context);

    if (pc == 0 || pc > SEGMENT_PC_MASK)
        return _URC_END_OF_STACK;
    if (pc >= (uint64_t)__ehdr_start && pc < (uint64_t)_etext)
        return _URC_NO_REASON;
    stack->frames[stack->count++] = pc;
    return stack->count < SEGMENT_DEPTH_MAX ? _URC_NO_REASON
                                            : _URC_END_OF_STACK;
}

uint32_t
call_stack_take(uint64_t frames[SEGMENT_DEPTH_MAX])
{
    struct call_stack stack = {frames, 0};

    _Unwind_Backtrace(on_frame, &stack);
    return stack.count;
}

void
call_stack_warm_up(void)
{
    uint64_t frames[SEGMENT_DEPTH_MAX];

    call_stack_take(frames);
}
