/*
 * recorded_modules.c - loads libraries one after the other, at one place.
 *
 * recorded_modules LINK SIZE [LIBRARY COUNT]...
 *
 * Each keeps so many blocks of SIZE, which stay when it is closed.  LINK: each
 * is loaded by that name, made a link to it; "-": by its own.  It begins at
 * once, or at SIGUSR1 where that is blocked.  "done", or "elsewhere" where one
 * has come to another place; then it waits.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS_MAX = 4096 };

static void *volatile blocks[BLOCKS_MAX];
static int block_count;

typedef void keep_blocks(void **blocks, int count, size_t size);

/* Where it lay; NULL: it has failed, or it stays. */
static void *
load(const char *link, const char *library, int count, size_t size)
{
    const char *path = strcmp(link, "-") == 0 ? library : link;
    keep_blocks *keep;
    void *handle;
    Dl_info info;

    if (path == link && (unlink(link), symlink(library, link)) != 0)
        return NULL;
    handle = dlopen(path, RTLD_NOW);
    if (!handle || block_count + count > BLOCKS_MAX)
        return NULL;
    *(void **)&keep = dlsym(handle, "keep");
    if (!keep || dladdr(*(void **)&keep, &info) == 0)
        return NULL;
    keep((void **)blocks + block_count, count, size);
    block_count += count;
    return dlclose(handle) == 0 && !dlopen(path, RTLD_NOW | RTLD_NOLOAD)
               ? info.dli_fbase
               : NULL;
}

int
main(int argc, char **argv)
{
    void *first = NULL, *place = NULL;
    sigset_t set;
    int got;

    sigprocmask(SIG_SETMASK, NULL, &set);
    if (sigismember(&set, SIGUSR1)) {
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        printf("ready\n");
        fflush(stdout);
        sigwait(&set, &got);
    }
    for (int i = 3; i + 1 < argc && place == first; i += 2) {
        place = load(argv[1], argv[i], atoi(argv[i + 1]),
                     strtoul(argv[2], NULL, 10));
        first = i == 3 ? place : first;
    }
    printf("%s\n", first && place == first ? "done" : "elsewhere");
    fflush(stdout);
    for (;;)
        pause();
}
