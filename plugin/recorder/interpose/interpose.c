/* interpose.c - the malloc family, in front of the allocator's: family.h. */
#include <errno.h>

#include "claim_segment.h"
#include "family.h"
#include "interpose.h"
#include "interpose_new.h"
#include "patch_program.h"

static __attribute__((constructor)) void
begin_recorder(int argc, char **argv, char **envp)
{
    (void)argc, (void)argv;
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

/* glibc's calls realloc, through its table: ours. */
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
