/*
 * interpose.c - the malloc family, in front of the allocator's: family.h.
 *
 * Built into libheapwire-recorder.so, which is preloaded before all others, so
 * the program's calls come here.  The constructor runs before main, on the only
 * thread; a call that comes earlier still finds the real function by itself
 * (real.c).
 */
#include <errno.h>

#include "claim_segment.h"
#include "family.h"
#include "interpose.h"
#include "patch_program.h"

static __attribute__((constructor)) void
begin_recorder(int argc, char **argv, char **envp)
{
    (void)argc, (void)argv;
    /* The order matters: the operators are tried before the segment is there,
     * so that the trial is not recorded; code is patched last, once its calls
     * have where to go. */
    real_find();
    interpose_new_begin();
    claim_segment(envp);
    patch_program(envp);
}

#define INTERPOSE(result, name, parameters, arguments, missing)                \
    INTERPOSED result name parameters                                          \
    {                                                                          \
        return family_##name(&real FAMILY_AND arguments);                      \
    }
REAL_MALLOC(INTERPOSE)
#undef INTERPOSE

/* As in glibc, by way of realloc: the one above. */
INTERPOSED void *
reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, bytes);
}

INTERPOSED void
cfree(void *block)
{
    free(block);
}
