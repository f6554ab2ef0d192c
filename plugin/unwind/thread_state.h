/*
 * thread_state.h - a thread at one moment, from which its callers are found:
 * its registers, and a copy of the top of its stack.
 */
#ifndef HW_THREAD_STATE_H
#define HW_THREAD_STATE_H

#include <stddef.h>
#include <stdint.h>

/* Numbered as DWARF does: x86-64 rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to
 * r15, rip; AArch64 x0 to x30, sp, pc. */
#if defined(__x86_64__)
enum {
    REGISTER_FP = 6,
    REGISTER_SP = 7,
    REGISTER_PC = 16,
    REGISTER_COUNT = 17
};
#elif defined(__aarch64__)
enum {
    REGISTER_FP = 29,
    REGISTER_LR = 30,
    REGISTER_SP = 31,
    REGISTER_PC = 32,
    REGISTER_COUNT = 33
};
#else
#error "heapwire knows x86-64 and AArch64"
#endif

/* Those of user space, even if the thread is in the kernel. */
struct thread_registers {
    uint64_t values[REGISTER_COUNT];
    uint64_t missing; /* a bit per register whose value is unknown */
};

/* Borrowed. */
struct thread_stack {
    uint64_t start; /* address of the copy in the process: the stack pointer */
    const uint8_t *bytes;
    size_t size; /* of the copy; the stack may go on beyond it */
};

#endif
