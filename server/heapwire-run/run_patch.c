/*
 * run_patch.c - see run_patch.h.  Only the plan is made here, on disk; the
 * recorder writes the jumps in the database (plugin/recorder/plan).
 */
#include "run_patch.h"

#include <string.h>

#include "errors.h"
#include "files.h"
#include "make_plan.h"
#include "run.h"

bool
run_wants_patch(const struct run *run)
{
    return strcmp(run->options.value[SETTING_PROFILING_SOURCE], "patched") == 0;
}

/* Finds the program's own jemalloc.  NULL: it has none, or several. */
static const struct locate_jemalloc *
find_own_jemalloc(const struct allocators *allocators)
{
    for (size_t i = 0; i < allocators->count; i++) {
        const struct allocator *a = &allocators->list[i];

        if (a->origin == ALLOCATOR_OWN)
            return a->file.count == 1 ? &a->file.jemallocs[0] : NULL;
    }
    return NULL;
}

bool
run_may_patch(const struct run *run)
{
    return find_own_jemalloc(&run->allocators) &&
           run->allocators.kind == LOCATE_DYNAMIC;
}

int
run_plan_patch(struct run *run, struct error *err)
{
    const struct locate_jemalloc *own = find_own_jemalloc(&run->allocators);
    struct patch_plan plan;
    int fd, rc;

    if (!own) {
        error_set(err, ER_FEATURE_DISABLED,
                  "it has no jemalloc of its own, or several");
        return -1;
    }
    fd = file_open_regular(run->exe);
    if (fd < 0) {
        error_sys(err, ER_FEATURE_DISABLED, "it cannot be read");
        return -1;
    }
    rc = patch_plan_make(fd, own->prefix, &plan, err);
    fd_close(fd);
    if (rc == 0 && !patch_plan_write(&plan, run->patch)) {
        error_set(err, ER_FEATURE_DISABLED, "the plan for it is too long");
        rc = -1;
    }
    if (rc != 0)
        run->patch[0] = '\0';
    return rc;
}
