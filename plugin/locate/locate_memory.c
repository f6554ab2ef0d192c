/*
 * locate_memory.c - memory.h for the agent: each block is a mapping of its own,
 * because the malloc of the process is the database's, and is what is looked
 * at. A page and a system call for each block is no matter: there are few.
 */
#include "memory.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { HEAD = 16 }; /* the size, before the block */

static void *
block_from_mapping(void *mapping, size_t size)
{
    if (mapping == MAP_FAILED)
        return NULL;
    memcpy(mapping, &size, sizeof(size));
    return (char *)mapping + HEAD;
}

static size_t
mapped_block_size(const void *block)
{
    size_t size;

    memcpy(&size, (const char *)block - HEAD, sizeof(size));
    return size;
}

void *
mem_alloc(size_t size)
{
    if (size > SIZE_MAX - HEAD)
        return NULL;
    size += HEAD;
    return block_from_mapping(mmap(NULL, size, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                              size);
}

void *
mem_alloc_unset(size_t size)
{
    return mem_alloc(size);
}

void *
mem_zalloc(size_t count, size_t size)
{
    size_t bytes;

    return __builtin_mul_overflow(count, size, &bytes) ? NULL
                                                       : mem_alloc(bytes);
}

void *
mem_realloc(void *old, size_t size)
{
    if (!old)
        return mem_alloc(size);
    if (size > SIZE_MAX - HEAD)
        return NULL;
    size += HEAD;
    return block_from_mapping(mremap((char *)old - HEAD, mapped_block_size(old),
                                     size, MREMAP_MAYMOVE),
                              size);
}

void
mem_free(void *block)
{
    if (block)
        munmap((char *)block - HEAD, mapped_block_size(block));
}
