/*
 * unwind_bench [FILE...] - what unwind tables cost: bytes and milliseconds per
 * MB of code of each file; and nanoseconds per frame of a walk of this
 * process's own stack, beside libunwind's and libgcc's.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "own_tables.h"

enum { DEPTH = 30, DEPTH_MAX = 128, ROUNDS = 20000, PF_EXECUTE = 1 };

static struct own_tables own;

static double
now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void
bench_file(const char *path)
{
    struct elf_file elf = {0};
    struct buffer bytes;
    struct error err = {0};
    double code = 0, took = now_ms();
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    buffer_init(&bytes, UNWIND_TABLE_BYTES_MAX);
    if (fd < 0 || elf_init(&elf, fd, path, &err) != 0 ||
        elf_load_sections(&elf, &err) != 0 ||
        unwind_make(&elf, &bytes, &err) != 0) {
        printf("%s: %s\n", path, err.text);
    } else {
        took = now_ms() - took;
        for (size_t i = 0; i < elf.segment_count; i++)
            if (elf.segments[i].flags & PF_EXECUTE)
                code += (double)elf.segments[i].file_size / 1e6;
        printf("%s: %.1f MB of code, table %.0f KB (%.1f KB per MB), %.0f ms "
               "(%.2f ms per MB)\n",
               path, code, (double)bytes.size / 1e3,
               (double)bytes.size / 1e3 / code, took, took / code);
    }
    elf_fini(&elf);
    buffer_fini(&bytes);
    if (fd >= 0)
        close(fd);
}

static void
say(const char *what, double began, size_t frames)
{
    printf("%s: %zu frames, %.1f ns per frame\n", what, frames,
           (now_ms() - began) * 1e6 / ROUNDS / (double)frames);
}

__attribute__((noinline)) static void
bench_walk(void)
{
    struct unwind_source source = own_source(&own);
    void *library = dlopen("libunwind.so.8", RTLD_NOW);
    int (*theirs)(void **, int) = NULL;
    struct thread_registers registers;
    struct thread_stack stack;
    void *pointers[DEPTH_MAX];
    uint64_t pcs[DEPTH_MAX];
    enum unwind_end why;
    ucontext_t context;
    size_t count = 0;
    double began;

    if (getcontext(&context) != 0)
        abort();
    registers = own_registers(&context);
    stack = own_stack(registers.values[REGISTER_SP]);
    began = now_ms();
    for (int i = 0; i < ROUNDS; i++)
        count = unwind_walk(&source, &stack, &registers, pcs, DEPTH_MAX, &why);
    say("unwind_walk, cached", began, count);
    source.cache = NULL;
    began = now_ms();
    for (int i = 0; i < ROUNDS; i++)
        count = unwind_walk(&source, &stack, &registers, pcs, DEPTH_MAX, &why);
    say("unwind_walk, no cache", began, count);
    count = (size_t)backtrace(pointers, DEPTH_MAX);
    began = now_ms();
    for (int i = 0; i < ROUNDS; i++)
        count = (size_t)backtrace(pointers, DEPTH_MAX);
    say("backtrace() of libgcc", began, count);
    if (library)
        *(void **)&theirs = dlsym(library, "unw_backtrace");
    if (!theirs)
        return;
    (void)theirs(pointers, DEPTH_MAX);
    began = now_ms();
    for (int i = 0; i < ROUNDS; i++)
        count = (size_t)theirs(pointers, DEPTH_MAX);
    say("unw_backtrace() of libunwind", began, count);
}

#define DEEP(name, next)                                                       \
    __attribute__((noinline)) static int name(int depth)                       \
    {                                                                          \
        int below;                                                             \
                                                                               \
        if (depth == 0) {                                                      \
            bench_walk();                                                      \
            return 1;                                                          \
        }                                                                      \
        below = next(depth - 1);                                               \
        __asm__ volatile("" : "+r"(below)); /* no tail call */                 \
        return below + 1;                                                      \
    }

static int first(int depth);
DEEP(third, first)
DEEP(second, third)
DEEP(first, second)

int
main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        bench_file(argv[i]);
    own_tables_init(&own);
    (void)first(DEPTH);
    own_tables_fini(&own);
    return 0;
}
