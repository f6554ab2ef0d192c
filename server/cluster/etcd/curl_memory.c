/*
 * curl_memory.c - see curl_memory.h.
 *
 * Otherwise a password that was sent, and the token for it, would stay in freed
 * memory.
 */
#include "curl_memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

static void
wipe_free(void *data)
{
    if (data)
        explicit_bzero(data, malloc_usable_size(data));
    free(data);
}

static void *
copy_realloc(void *data, size_t size)
{
    void *more = malloc(size);
    size_t old = data ? malloc_usable_size(data) : 0;

    if (!more)
        return NULL;
    if (old > 0)
        memcpy(more, data, old < size ? old : size);
    wipe_free(data);
    return more;
}

void
curl_memory_init(void)
{
    curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, wipe_free, copy_realloc,
                         strdup, calloc);
}
