/*
 * reexec.c - executes the database again, with prof:true; see preload.h.
 *
 * jemalloc reads its options once, at its first use, and opt.prof cannot be
 * changed later.  heapwire-run sets the variable, but start scripts overwrite
 * it.  execve() keeps the process, its descriptors and its parent; the
 * program's constructors run twice, so it is only done before main, while there
 * is one thread.  A program where the options cannot take effect would execute
 * itself for ever: so its pid and start time are recorded in its environment
 * and, for programs that clear that, in the state directory.
 */
#include "preload.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "malloc_conf.h"
#include "agent.h"
#include "agent_tools.h"

enum {
    MARK_MAX = 64,       /* bytes: two numbers and a dot */
    VARIABLES_ADDED = 2, /* to the environment */
    NAMED_MS = 100,      /* time for jemalloc's new thread to name itself */
    ENTRY_MAX = MALLOC_CONF_MAX + AGENT_NAME_MAX + 2
};

#define MARK_FILE "agent.again"

struct plan {
    const char *variable;
    char mark[MARK_MAX]; /* "PID.START" of this process */
    char mark_file[AGENT_PATH_MAX + sizeof(MARK_FILE)];
    char exe[AGENT_PATH_MAX];
    char entry[ENTRY_MAX]; /* the variable, set */
    char mark_variable[MARK_MAX + sizeof(AGENT_ENV_AGAIN "=")];
};

/* Counts other threads except jemalloc's background thread, which execve may
 * end. */
static int
count_other_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *task;
    char path[300], name[32];
    int count = 0;

    if (!tasks)
        return 1;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): of a stream of its own */
    while ((task = readdir(tasks)) != NULL) {
        if (task->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
        if (agent_read_small(path, name, sizeof(name)) < 0 ||
            strcmp(name, "jemalloc_bg_thd\n") != 0)
            count++;
    }
    closedir(tasks);
    return count - 1;
}

/* jemalloc's thread sets its name shortly after its start: wait for that. */
static bool
is_program_single_threaded(const struct allocator *a)
{
    const struct timespec step = {.tv_nsec = 1000000};
    int left = 0;

    if (mallctl_read_bool(a->mallctl, "background_thread"))
        left = NAMED_MS;
    while (count_other_threads() > 0) {
        if (left-- <= 0)
            return false;
        nanosleep(&step, NULL);
    }
    return true;
}

/* The compiled-in options, read as jemalloc reads them. */
static const char *
compiled_conf(const struct allocator *a)
{
    int prefix = (int)(strlen(a->mallctl_name) - strlen("mallctl"));
    char name[AGENT_NAME_MAX + sizeof("malloc_conf")];
    const char *const *conf;

    snprintf(name, sizeof(name), "%.*smalloc_conf", prefix, a->mallctl_name);
    conf = (const char *const *)dlsym(RTLD_DEFAULT, name);
    return conf ? *conf : NULL;
}

static bool
was_program_reexecuted(const struct agent_start *start, const struct plan *plan)
{
    const char *mark = agent_settings_get(start->settings, AGENT_ENV_AGAIN);
    char text[MARK_MAX];

    return (mark && strcmp(mark, plan->mark) == 0) ||
           (agent_read_small(plan->mark_file, text, sizeof(text)) > 0 &&
            strcmp(text, plan->mark) == 0);
}

/* Writes a new file: the old one may be a fifo, or a hard link that the
 * directory's owner made to a file of ours. */
static bool
write_mark(const struct plan *plan)
{
    size_t size = strlen(plan->mark);
    bool done;
    int fd;

    unlink(plan->mark_file);
    fd = open(plan->mark_file,
              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    done = write(fd, plan->mark, size) == (ssize_t)size;
    return close(fd) == 0 && done;
}

/* Finds the path of the running file.  False: it leads to another one by
 * now. */
static bool
find_plan_executable(struct plan *plan)
{
    ssize_t n = readlink("/proc/self/exe", plan->exe, sizeof(plan->exe) - 1);
    struct stat there, self;

    plan->exe[n < 0 ? 0 : n] = '\0';
    return n > 0 && stat(plan->exe, &there) == 0 &&
           stat("/proc/self/exe", &self) == 0 && there.st_dev == self.st_dev &&
           there.st_ino == self.st_ino;
}

/* NULL: no memory. */
static char **
build_plan_environment(struct plan *plan, char **envp)
{
    size_t count = 0, used = 0;
    char **copy;

    while (envp[count])
        count++;
    copy = mmap(NULL, (count + VARIABLES_ADDED + 1) * sizeof(*copy),
                PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return NULL;
    for (; *envp; envp++)
        if (!agent_env_value(*envp, plan->variable) &&
            !agent_env_value(*envp, AGENT_ENV_AGAIN))
            copy[used++] = *envp;
    copy[used++] = plan->entry;
    copy[used++] = plan->mark_variable;
    copy[used] = NULL;
    return copy;
}

/* False if executing again would not help. */
static bool
make_execution_plan(struct plan *plan, const struct agent_start *start,
                    const struct allocator *a, char **envp)
{
    const char *wanted =
        agent_settings_get(start->settings, AGENT_ENV_PROFILING);
    const char *dir = agent_settings_get(start->settings, AGENT_ENV_STATE);
    struct agent_hello self;
    int size;

    if (!wanted || !dir || !a->config_prof || a->opt_prof || !*a->variable ||
        getauxval(AT_SECURE) != 0)
        return false;
    plan->variable = a->variable;
    size = snprintf(plan->entry, sizeof(plan->entry), "%s=", a->variable);
    if (!malloc_conf_merge(plan->entry + size, wanted,
                           agent_env(envp, a->variable), compiled_conf(a)))
        return false;
    agent_identify(&self);
    snprintf(plan->mark, sizeof(plan->mark), "%d.%llu", (int)self.pid,
             (unsigned long long)self.start_ticks);
    snprintf(plan->mark_variable, sizeof(plan->mark_variable),
             AGENT_ENV_AGAIN "=%s", plan->mark);
    snprintf(plan->mark_file, sizeof(plan->mark_file), "%s/" MARK_FILE, dir);
    return self.start_ticks != 0;
}

void
reexec_program(const struct agent_start *start, struct jemalloc *jemalloc,
               char **argv, char **envp)
{
    static struct plan plan;
    struct allocators *all = &jemalloc->all;
    char **copy;

    if (all->chosen < 0 ||
        !make_execution_plan(&plan, start, &all->list[all->chosen], envp))
        return;
    if (was_program_reexecuted(start, &plan)) {
        snprintf(all->why, sizeof(all->why),
                 "it was executed again with %.150s, and opt.prof is false "
                 "still",
                 plan.entry);
        return;
    }
    if (!is_program_single_threaded(&all->list[all->chosen])) {
        snprintf(all->why, sizeof(all->why),
                 "it has threads before its main: it is not executed again "
                 "with prof:true");
        return;
    }
    errno = 0;
    copy = find_plan_executable(&plan) && write_mark(&plan)
               ? build_plan_environment(&plan, envp)
               : NULL;
    if (copy)
        execve(plan.exe, argv, copy);
    snprintf(all->why, sizeof(all->why),
             "it cannot be executed again with prof:true: %.200s",
             errno != 0 ? strerror(errno) /* NOLINT(concurrency-mt-unsafe) */
                        : "another file has its path by now");
}
