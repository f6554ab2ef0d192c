/* zlib_memory.h - makes zlib allocate as memory.h does; link zlib for it. */
#ifndef HW_ZLIB_MEMORY_H
#define HW_ZLIB_MEMORY_H

#include <zlib.h>

#include "memory.h"

static inline voidpf
zlib_alloc(voidpf unused, uInt count, uInt size)
{
    (void)unused;
    return mem_zalloc(count, size);
}

static inline void
zlib_free(voidpf unused, voidpf block)
{
    (void)unused;
    mem_free(block);
}

#endif
