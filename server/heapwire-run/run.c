/*
 * run.c - where our own parts lie, which jemallocs the database has, whether
 * one of them or the recorder is preloaded, and the environments that follow
 * from that.
 *
 * Who samples is decided here once: jemalloc's own profiling if the database
 * has one that can, else the recorder, if it can stand in front of its malloc.
 * Three environments are made: with all of it, without options and preloads
 * that may keep a program from starting (plain), and with nothing of ours
 * (bare); start_watch.c says when which is used.
 */
#include "run.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "errors.h"
#include "files.h"
#include "run_patch.h"
#include "segment_layout.h"
#include "segment_make.h"
#include "supervise.h"
#include "supervised_env.h"
#include "wrapper.h"

enum {
    RECORDER_MEAN_BYTES = 512 * 1024,  /* jemalloc's default, too */
    RECORDER_SAMPLES_PER_SECOND = 2000 /* of one thread */
};

void
run_print_line(const char *text, const char *then)
{
    fprintf(stderr, "heapwire-run: %s%s\n", text, then);
}

/* Finds the first of paths with that access mode.  They are relative to our own
 * executable, as it lies in the build tree and as it is installed. */
static bool
find_installed_file(const char *self, const char *const paths[], int mode,
                    char out[PATH_MAX])
{
    for (; *paths; paths++) {
        if (snprintf(out, PATH_MAX, "%s/%s", self, *paths) < PATH_MAX &&
            access(out, mode) == 0)
            return true;
    }
    out[0] = '\0';
    return false;
}

int
run_find_parts(struct run *run, struct error *err)
{
    static const char *const servers[] = {"heapwired",
                                          "../lib/heapwire/heapwired", NULL};
    static const char *const libraries[] = {
        "../lib/libheapwire.so", "../lib/heapwire/libheapwire.so", NULL};
    static const char *const recorders[] = {
        "../lib/libheapwire-recorder.so",
        "../lib/heapwire/libheapwire-recorder.so", NULL};
    char self[PATH_MAX], library[PATH_MAX], recorder[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (n < 0) {
        error_sys(err, ER_UNKNOWN, "cannot read /proc/self/exe");
        return -1;
    }
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    if (!find_installed_file(self, servers, X_OK, run->heapwired_path)) {
        error_set(err, ER_UNKNOWN, "there is no heapwired beside %s", self);
        return -1;
    }
    if (!find_installed_file(self, libraries, R_OK, library) ||
        !realpath(library, run->library)) {
        error_set(err, ER_UNKNOWN, "there is no libheapwire.so beside %s",
                  self);
        return -1;
    }
    /* Not a fault: then profiling_source = interposed is refused with a reason.
     */
    if (!find_installed_file(self, recorders, R_OK, recorder) ||
        !realpath(recorder, run->recorder))
        run->recorder[0] = '\0';
    return 0;
}

/* The environment tells heapwired the period of its heartbeats, and what it may
 * call under seccomp filters. */
int
run_plan_heartbeat(struct run *run, struct error *err)
{
    uint64_t seconds =
        strtoull(run->options.value[SETTING_HEARTBEAT], NULL, 10);
    char text[24];

    /* Several heartbeats may be missed within the setting's time. */
    run->plan.beat_ms = seconds * 1000 / BEATS_MISSED;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)run->plan.beat_ms);
    if (*run->filters && environment_set(&run->heapwired, AGENT_ENV_FILTERS,
                                         run->filters, err) != 0)
        return -1;
    return environment_set(&run->heapwired, SUPERVISED_ENV, text, err);
}

/* heapwired --check has made sure that the name exists. */
static uid_t
look_up_user_id(const char *name)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads here */
    struct passwd *entry = *name ? getpwnam(name) : NULL;

    return entry ? entry->pw_uid : (uid_t)-1;
}

void
run_plan_heapwired(struct run *run)
{
    options_argv(&run->options, run->heapwired_path, NULL, run->heapwired_argv);
    run->plan.heapwired = run->heapwired_path;
    run->plan.heapwired_argv = (char *const *)run->heapwired_argv;
    run->plan.heapwired_envp = run->heapwired.list;
    run->plan.state_dir = run->options.value[SETTING_STATE_DIR];
    run->plan.user = look_up_user_id(run->options.value[SETTING_USER]);
    run->plan.linger_ms =
        strtoull(run->options.value[SETTING_LINGER], NULL, 10) * 1000;
}

/* Finds libjemalloc where the loader would, to preload it by its full path. */
static bool
find_jemalloc(char out[PATH_MAX])
{
    static const char *const paths[] = {
        HW_MULTIARCH_JEMALLOC, "lib64/libjemalloc.so.2", "lib/libjemalloc.so.2",
        "local/lib/libjemalloc.so.2", NULL};

    return find_installed_file("/usr", paths, R_OK, out);
}

static bool
profiling_is(const struct run *run, const char *wanted)
{
    return strcmp(run->options.value[SETTING_PROFILING], wanted) == 0;
}

static bool
has_own_allocator(const struct run *run)
{
    const char *preload = environment_get(&run->database, "LD_PRELOAD");

    /* A preload whose name has "malloc" is taken for one without a look. */
    return run->allocators.count > 0 || run->allocators.other ||
           run->allocators.own_malloc || run->allocators.asan ||
           (preload && strstr(preload, "malloc"));
}

/* Does the setting allocator permit a preload?  A name other than auto means a
 * jemalloc that is loaded later, and a second one would be in its way. */
static bool
may_be_chosen(const struct run *run, const char *jemalloc)
{
    const char *wanted = run->options.value[SETTING_ALLOCATOR];

    return !*wanted || strcmp(wanted, "auto") == 0 ||
           strcmp(wanted, "mallctl") == 0 || strcmp(wanted, jemalloc) == 0 ||
           strcmp(wanted, strrchr(jemalloc, '/') + 1) == 0;
}

/* Returns the path of the jemalloc to preload, which may be found; NULL: none.
 */
static const char *
choose_jemalloc(const struct run *run, char found[PATH_MAX])
{
    const char *wanted = run->options.value[SETTING_JEMALLOC];

    if (strcmp(wanted, "no") == 0 || allocators_static(&run->allocators))
        return NULL;
    if (*wanted && strcmp(wanted, "auto") != 0) {
        if (run->allocators.count > 0 &&
            run->allocators.list[0].origin == ALLOCATOR_OWN)
            run_print_line(run->exe,
                           " has a jemalloc of its own: the one that is "
                           "preloaded takes over a part of what it allocates");
        return wanted;
    }
    if (profiling_is(run, "off") || run->plan.segment >= 0 ||
        has_own_allocator(run))
        return NULL; /* with the recorder none is needed */
    if (find_jemalloc(found))
        return may_be_chosen(run, found) ? found : NULL;
    run_print_line(
        "libjemalloc.so.2 is not installed",
        "; unless the database has jemalloc, there is nothing to profile");
    return NULL;
}

static void
warn_about(struct run *run)
{
    run->plan.no_agent = true;
    if (run->allocators.kind == LOCATE_MUSL)
        run_print_line(run->exe,
                       " runs with musl: only glibc is supported, and there "
                       "will be no agent in it");
    else if (allocators_static(&run->allocators))
        run_print_line(
            run->exe,
            " is static: the agent cannot be loaded into it, and nothing is "
            "set for its jemalloc; the agent can be linked to it, and started "
            "by heapwire_start() of heapwire.h");
    else if (program_secure(run->exe))
        run_print_line(run->exe,
                       " runs with more privileges than its caller: the loader "
                       "ignores LD_PRELOAD, so there will be no agent in it");
    else
        run->plan.no_agent = false;
    allocators_warn(&run->allocators);
}

int
run_find_allocators(struct run *run, struct error *err)
{
    const char *given = run->options.value[SETTING_MALLCTL];
    const char *wanted = run->options.value[SETTING_ALLOCATOR];
    struct error why;

    if (allocators_find(&run->allocators, run->exe, &run->database, err) != 0)
        return -1;
    /* Settings that cannot be applied cost a line, not the start. */
    if (strchr(wanted, '/') &&
        allocators_name(&run->allocators, wanted, &why) != 0)
        run_print_line(why.text, "; it is looked for only in the database");
    if (*given && allocators_give(&run->allocators, run->exe, given, &why) != 0)
        run_print_line(why.text, "; the setting mallctl is ignored");
    return 0;
}

static int
set_unless(struct environment *env, const char *name,
           const struct options *options, enum setting setting,
           const char *usual, struct error *err)
{
    const char *value = options->value[setting];

    return *value && strcmp(value, usual) != 0
               ? environment_set(env, name, value, err)
               : 0;
}

int
run_prepare_agent(struct run *run, struct environment *env, struct error *err)
{
    const struct options *options = &run->options;

    environment_drop_agents(env);
    if ((!allocators_static(&run->allocators) &&
         environment_preload(env, run->library, false, err) != 0) ||
        /* AddressSanitizer's library refuses to run unless it is loaded first.
         */
        (run->allocators.asan &&
         environment_preload(env, run->allocators.asan, true, err) != 0) ||
        allocators_export(&run->allocators, env, err) != 0 ||
        set_unless(env, AGENT_ENV_ALLOCATOR, options, SETTING_ALLOCATOR, "auto",
                   err) != 0 ||
        set_unless(env, AGENT_ENV_PROCESS, options, SETTING_PROCESS, "parent",
                   err) != 0 ||
        set_unless(env, AGENT_ENV_DUMPABLE, options, SETTING_DUMPABLE, "yes",
                   err) != 0 ||
        environment_set(env, AGENT_ENV_EXE, run->exe, err) != 0 ||
        environment_set(env, AGENT_ENV_STATE, options->value[SETTING_STATE_DIR],
                        err) != 0 ||
        (*run->filters &&
         environment_set(env, AGENT_ENV_FILTERS, run->filters, err) != 0) ||
        (run->plan.start &&
         environment_set(env, AGENT_ENV_START, run->start.address, err) != 0))
        return -1;
    return 0;
}

/* Will the agent be loaded, and can it report main? */
static bool
can_watch(const struct run *run)
{
    return run->allocators.kind == LOCATE_DYNAMIC &&
           !program_secure(run->exe) &&
           (run->allocators.marks & LOCATE_LIBC_START);
}

static void
plan_start(struct run *run)
{
    struct plan *plan = &run->plan;

    plan->start_ms =
        strtoull(run->options.value[SETTING_START_TIMEOUT], NULL, 10) * 1000;
    if (can_watch(run) && start_watch_open(&run->start) == 0)
        plan->start = &run->start;
}

/* ---- the recorder (plugin/recorder) ---- */

/* With strict overcommit a page of a memfd is granted or refused only when it
 * is first written to; a refusal is a SIGBUS. */
static bool
is_overcommit_strict(void)
{
    char mode = '0';
    int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && read(fd, &mode, 1) != 1)
        mode = '0';
    fd_close(fd);
    return mode == '2';
}

/* Why the recorder cannot be used; NULL: it can stand in front of the
 * database's malloc. */
static const char *
why_no_recorder(const struct run *run)
{
    const struct allocators *allocators = &run->allocators;

    if (!*run->recorder)
        return "there is no libheapwire-recorder.so";
    if (strcmp(run->options.value[SETTING_PROCESS], "parent") != 0)
        return "the setting process names a forked process, and the recorder "
               "samples none";
    if (allocators->kind != LOCATE_DYNAMIC || program_secure(run->exe))
        return "nothing can be preloaded into it";
    if (allocators->asan)
        return "the malloc of -fsanitize=address has to come first";
    if (allocators->own_malloc && !run_wants_patch(run))
        return "its malloc is a part of the program, which calls it directly "
               "(profiling_source = patched may record it)";
    if (is_overcommit_strict())
        return "with vm.overcommit_memory = 2 the kernel may refuse a page of "
               "the recorder's, which would kill it";
    return NULL;
}

/* Is jemalloc to sample?  The database's own can, or the user names or preloads
 * one, or sets how it is to profile. */
static bool
wants_jemalloc(const struct run *run)
{
    const char *options = environment_get(&run->database, "MALLOC_CONF");
    const char *named = run->options.value[SETTING_ALLOCATOR];
    const char *preload = run->options.value[SETTING_JEMALLOC];

    return allocators_profile(&run->allocators) ||
           (options && strstr(options, "prof")) ||
           (*named && strcmp(named, "auto") != 0 &&
            strcmp(named, "mallctl") != 0) ||
           (*preload && strcmp(preload, "auto") != 0 &&
            strcmp(preload, "no") != 0);
}

static bool
wants_recorder(const struct run *run)
{
    const char *source = run->options.value[SETTING_PROFILING_SOURCE];

    if (profiling_is(run, "off"))
        return false;
    if (*source && strcmp(source, "auto") != 0)
        return strcmp(source, "jemalloc") != 0;
    return !wants_jemalloc(run) && !why_no_recorder(run);
}

/* Returns a descriptor above stderr, as 0 to 2 are stdio's even where those are
 * closed; only the database gets it.  SIGXFSZ is ignored meanwhile: a file that
 * may not grow is an error here, not a signal. */
static int
open_segment(const struct segment_header *header)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    int fd, above;

    sigaction(SIGXFSZ, &ignore, &before);
    fd = segment_make(header);
    sigaction(SIGXFSZ, &before, NULL);
    if (fd < 0)
        return -1;
    above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return above;
}

/* -1: there is no recorder, and jemalloc is prepared as if nobody had asked for
 * one. */
static int
make_segment(struct run *run)
{
    const char *source = run->options.value[SETTING_PROFILING_SOURCE];
    const char *without = run_wants_patch(run)
                              ? "; profiling_source = patched is ignored"
                          : strcmp(source, "interposed") == 0
                              ? "; profiling_source = interposed is ignored"
                              : "; it runs without a recorder";
    const char *why = why_no_recorder(run);
    struct error unpatched;
    struct segment_capacity capacity = segment_capacity_default();
    struct segment_header header;
    int fd = -1;

    if (!why && run_wants_patch(run) && run_plan_patch(run, &unpatched) != 0)
        why = unpatched.text;
    if (why) {
        fprintf(stderr, "heapwire-run: %s: %s%s\n", run->exe, why, without);
    } else if (!segment_plan(&capacity, &header)) {
        run_print_line("the recorder's segment cannot be planned", without);
    } else {
        header.settings.active = profiling_is(run, "on");
        header.settings.mean_bytes = RECORDER_MEAN_BYTES;
        header.settings.samples_per_second = RECORDER_SAMPLES_PER_SECOND;
        fd = open_segment(&header);
        if (fd < 0)
            run_print_line("a memfd cannot be made", without);
    }
    return fd;
}

/* Puts the recorder in front of all other preloads. */
static int
prepare_recorder(struct run *run, struct error *err)
{
    char number[16];

    snprintf(number, sizeof(number), "%d", run->plan.segment);
    return environment_preload(&run->database, run->recorder, true, err) != 0 ||
                   environment_set(&run->database, AGENT_ENV_RECORDER, number,
                                   err) != 0 ||
                   (*run->patch && environment_set(&run->database, PATCH_ENV,
                                                   run->patch, err) != 0) ||
                   environment_set(&run->heapwired, SUPERVISED_RECORDER, "1",
                                   err) != 0
               ? -1
               : 0;
}

int
run_prepare_environments(struct run *run, struct error *err)
{
    struct environment *database = &run->database;
    struct allocators *allocators = &run->allocators;
    const char *jemalloc;

    if (run_find_allocators(run, err) != 0)
        return -1;
    /* The recorder is chosen first: with it no jemalloc is preloaded. */
    if (wants_recorder(run))
        run->plan.segment = make_segment(run);
    jemalloc = choose_jemalloc(run, run->jemalloc);
    if (jemalloc &&
        allocators_add(allocators, jemalloc, ALLOCATOR_PRELOADED, err) != 0)
        return -1;
    warn_about(run);
    run->plan.prof = run->plan.segment < 0 && !profiling_is(run, "off") &&
                     allocators_profile(allocators);
    run->plan.jemalloc = jemalloc;
    plan_start(run);
    /* Children test the filters, so there must be no other child yet. */
    probe_filters(run->filters);
    if (run_prepare_agent(run, &run->plain, err) != 0 ||
        run_prepare_agent(run, database, err) != 0 ||
        (run->plan.prof &&
         allocators_prepare(allocators, profiling_is(run, "on"), database,
                            err) != 0) ||
        (run->plan.segment >= 0 && prepare_recorder(run, err) != 0) ||
        (jemalloc && environment_preload(database, jemalloc, false, err) != 0))
        return -1;
    environment_drop_agents(&run->bare);
    run->plan.plain_envp = run->plain.list;
    run->plan.bare_envp = run->bare.list;
    return 0;
}

static const char *
name_source(const struct run *run)
{
    if (run->plan.segment >= 0 && *run->patch)
        return "patched: heapwire's recorder samples, to which the program's "
               "own malloc jumps";
    if (run->plan.segment >= 0)
        return "interposed: heapwire's recorder samples, in front of malloc";
    if (run->plan.prof)
        return "jemalloc: its own profiling";
    if (profiling_is(run, "off"))
        return "none: profiling is off";
    if (run_may_patch(run))
        return "none: the setting profiling_source = patched may lead its own "
               "jemalloc to a recorder";
    return why_no_recorder(run)
               ? "none"
               : "none: the setting profiling_source = interposed needs no "
                 "jemalloc";
}

int
run_explain(struct run *run)
{
    struct error err;

    if (run_prepare_environments(run, &err) != 0) {
        run_print_line(err.text, "");
        return EX_OSERR;
    }
    printf("program     %s\n", run->exe);
    printf("source      %s\n", name_source(run));
    allocators_explain(&run->allocators, &run->database);
    return EX_OK;
}
