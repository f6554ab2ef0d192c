/* locate_real_cxx.c - a program that allocates as C++ does, through the
 * jemalloc in it. */
#include <stdio.h>
#include <stdlib.h>

void *_Znwm(size_t size);                              /* operator new */
void *_ZnwmRKSt9nothrow_t(size_t size, void *nothrow); /* one more */

void *program_new(size_t size);
void *program_new_nothrow(size_t size);
void *program_malloc(size_t size);
void *program_wrapper(size_t size);
void *program_wrapped(size_t size);

/* No call is the last instruction: it would be a jump. */
static void *
touch(void *block)
{
    *(volatile char *)block = 1;
    return block;
}

__attribute__((noinline)) void *
program_new(size_t size)
{
    return touch(_Znwm(size));
}

__attribute__((noinline)) void *
program_new_nothrow(size_t size)
{
    return touch(_ZnwmRKSt9nothrow_t(size, NULL));
}

__attribute__((noinline)) void *
program_malloc(size_t size)
{
    return touch(malloc(size));
}

/* Looks as jemalloc's malloc does: it has a variable of its thread, and jumps
 * on. */
static __thread size_t counted;
__attribute__((noinline)) void *
program_wrapper(size_t size)
{
    counted += size;
    return calloc(size, 3);
}

__attribute__((noinline)) void *
program_wrapped(size_t size)
{
    return touch(program_wrapper(size));
}

int
main(int count, char **arguments)
{
    size_t size = (size_t)count * 100;

    (void)arguments;
    printf("%p %p %p %p %zu\n", program_new(size), program_new_nothrow(size),
           program_malloc(size), program_wrapped(size), counted);
    return 0;
}
