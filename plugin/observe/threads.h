/*
 * threads.h - the threads of a process: what each does and waits for, and its
 * stack.
 */
#ifndef HW_THREADS_H
#define HW_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "errors.h"

struct arena;

enum { THREADS_MAX = 8192, THREAD_WHY_MAX = 160 };

struct thread_entry {
    int32_t tid;
    const char *name;
    char state;        /* as in /proc: R, S, D, T, t, Z, ... */
    const char *wchan; /* the kernel's function in which it waits; "" */
    uint64_t user_ms, system_ms; /* processor time since its start */
    const uint64_t *addresses;   /* leaf first; all but the first are one less
                                    than the return address */
    uint32_t depth;              /* 0: no stack */
    const char *why; /* the stack is missing, or ends too soon; "" */
    uint64_t futex;  /* the address that it waits for; 0: none */
    int32_t owner;   /* the tid that holds that mutex; 0: not known */
};

struct thread_list {
    struct thread_entry *list; /* ascending by tid */
    size_t count;
    size_t left_out; /* beyond THREADS_MAX */
    uint64_t stops, pause_total_us, pause_max_us;
    struct names *names; /* of all addresses (names.h); NULL: not named yet */
    int64_t taken_ms;    /* wall clock */
    int32_t pid;
    struct arena *arena; /* holds all of it but names */
    int references;      /* atomic */
};

struct thread_list *thread_list_ref(struct thread_list *list);
void thread_list_unref(struct thread_list *list); /* NULL is fine */

#endif
