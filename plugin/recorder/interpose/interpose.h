/* interpose.h - declares each function that replaces the allocator's. */
#ifndef HW_INTERPOSE_H
#define HW_INTERPOSE_H

#include <stddef.h>

#include "real.h"

#define INTERPOSED __attribute__((visibility("default")))

#define INTERPOSE(result, name, parameters, arguments, missing)                \
    INTERPOSED result name parameters;
REAL_FUNCTIONS(INTERPOSE)
#undef INTERPOSE
INTERPOSED void *reallocarray(void *block, size_t count, size_t size);
INTERPOSED void cfree(void *block);

/* Before main, once the real functions are found and before the recorder
 * begins: tries whether operator new calls malloc by its name
 * (interpose_new.c). */
void interpose_new_begin(void);

#endif
