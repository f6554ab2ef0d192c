/* size_class.c - see size_class.h. */
#include "size_class.h"

enum {
    TINY = 8,    /* the classes in steps of 8 bytes, up to 64 */
    LG_TINY = 6, /* 64 */
    LG_PER = 2,  /* 2^2 = 4 classes to each doubling */
    PER = 1 << LG_PER,
    LG_MOST = 62
};

uint32_t
size_class_of(uint64_t size)
{
    uint32_t lg, step;

    if (size <= 1 << LG_TINY)
        return size > 0 ? (uint32_t)((size - 1) >> 3) : 0;
    if (size > (uint64_t)1 << LG_MOST)
        return SIZE_CLASSES - 1;
    lg = 63 - (uint32_t)__builtin_clzll(size - 1); /* 2^lg < size */
    step = (uint32_t)((size - 1) >> (lg - LG_PER)) & (PER - 1);
    return TINY + (lg - LG_TINY) * PER + step;
}

uint64_t
size_class_bytes(uint32_t number)
{
    uint32_t lg, step;

    if (number < TINY)
        return ((uint64_t)number + 1) << 3;
    lg = LG_TINY + (number - TINY) / PER;
    step = (number - TINY) % PER + 1;
    return lg < LG_MOST
               ? ((uint64_t)1 << lg) + ((uint64_t)step << (lg - LG_PER))
               : INT64_MAX;
}
