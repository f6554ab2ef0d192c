/* recorded_module.c - a library that keeps blocks, by KEEP; all are alike. */
#include <stddef.h>
#include <stdlib.h>

void *KEEP(size_t size);
void keep(void **blocks, int count, size_t size);

__attribute__((noinline)) void *
KEEP(size_t size)
{
    void *block = malloc(size);

    __asm__ volatile("" : "+r"(block)); /* no tail call */
    return block;
}

void
keep(void **blocks, int count, size_t size)
{
    for (int i = 0; i < count; i++)
        blocks[i] = KEEP(size);
}
