/* locate_real.c - a program that allocates through the jemalloc in it. */
#include <stdio.h>
#include <stdlib.h>

int
main(void)
{
    void *block = malloc(12345);

    printf("%p\n", block);
    free(block);
    return 0;
}
