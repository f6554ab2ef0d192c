/* memory.c - see memory.h. */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

void *
mem_alloc(size_t size)
{
    return malloc(size ? size : 1);
}

void *
mem_zalloc(size_t count, size_t size)
{
    return calloc(count ? count : 1, size ? size : 1);
}

void *
mem_realloc(void *old, size_t size)
{
    return realloc(old, size ? size : 1);
}

char *
mem_strndup(const char *text, size_t size)
{
    char *copy = mem_alloc(size + 1);

    if (copy) {
        if (size)
            memcpy(copy, text, size);
        copy[size] = '\0';
    }
    return copy;
}

char *
mem_strdup(const char *text)
{
    return mem_strndup(text, strlen(text));
}

void
mem_free(void *block)
{
    free(block);
}
