/*
 * heapwire_run.c - heapwire-run: a database with heapwire in it and beside it.
 *
 * A wrong command line or configuration is refused before anything starts.
 * Whatever else fails costs one line, and the database runs without us.
 */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "allocators.h"
#include "attach.h"
#include "buffer.h"
#include "companion.h"
#include "confined.h"
#include "environment.h"
#include "errors.h"
#include "files.h"
#include "memory.h"
#include "notify_relay.h"
#include "options.h"
#include "probe.h"
#include "program.h"
#include "start_watch.h"
#include "state_dir.h"
#include "supervise.h"
#include "supervised_env.h"

enum { ENVIRONMENT_MAX = 2 << 20 };

/* One run; the plan borrows from it. */
struct run {
    struct options options;
    /* plain: the database's, without options and preloads that may keep it from
     * starting. */
    struct environment database, plain, heapwired;
    struct start_watch start;
    struct notify_relay notify;
    char *program, *exe, *user;
    struct allocators allocators;
    char heapwired_path[PATH_MAX], library[PATH_MAX], jemalloc[PATH_MAX];
    const char *heapwired_argv[OPTIONS_ARGV];
    struct plan plan;
    char filters[CONFINED_TEXT]; /* probe.h */
};

static void
say(const char *text, const char *then)
{
    fprintf(stderr, "heapwire-run: %s%s\n", text, then);
}

/* In the build tree and installed: both relative to our own executable. */
static bool
find_beside(const char *self, const char *const places[], int mode,
            char out[PATH_MAX])
{
    for (; *places; places++) {
        if (snprintf(out, PATH_MAX, "%s/%s", self, *places) < PATH_MAX &&
            access(out, mode) == 0)
            return true;
    }
    out[0] = '\0';
    return false;
}

static int
find_parts(struct run *run, struct error *err)
{
    static const char *const servers[] = {"heapwired",
                                          "../lib/heapwire/heapwired", NULL};
    static const char *const libraries[] = {
        "../lib/libheapwire.so", "../lib/heapwire/libheapwire.so", NULL};
    char self[PATH_MAX], library[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (n < 0) {
        error_sys(err, ER_UNKNOWN, "cannot read /proc/self/exe");
        return -1;
    }
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    if (!find_beside(self, servers, X_OK, run->heapwired_path)) {
        error_set(err, ER_UNKNOWN, "there is no heapwired beside %s", self);
        return -1;
    }
    if (!find_beside(self, libraries, R_OK, library) ||
        !realpath(library, run->library)) {
        error_set(err, ER_UNKNOWN, "there is no libheapwire.so beside %s",
                  self);
        return -1;
    }
    return 0;
}

/* Finds the database's executable.  Refuses a script without --exe. */
static int
find_database(struct run *run, int *exit_status, struct error *err)
{
    const char *exe = run->options.value[SETTING_EXE];
    const char *named = exe && *exe ? exe : NULL;
    char resolved[PATH_MAX];

    run->program = program_find(run->options.command[0], exit_status, err);
    if (!run->program)
        return -1;
    *exit_status = EX_CONFIG;
    if (!named && program_is_script(run->program)) {
        error_set(err, ER_WRONG_VALUE,
                  "%s is a script: name the database's executable with --exe",
                  run->program);
        return -1;
    }
    if (!realpath(named ? named : run->program, resolved)) {
        error_sys(err, ER_WRONG_VALUE, "cannot find the executable %s",
                  named ? named : run->program);
        return -1;
    }
    run->exe = mem_strdup(resolved);
    if (!run->exe)
        error_memory(err, resolved);
    return run->exe ? 0 : -1;
}

/* Finds libjemalloc where the loader would, to preload it by its path. */
static bool
find_jemalloc(char out[PATH_MAX])
{
    static const char *const places[] = {
        HW_MULTIARCH_JEMALLOC, "lib64/libjemalloc.so.2", "lib/libjemalloc.so.2",
        "local/lib/libjemalloc.so.2", NULL};

    return find_beside("/usr", places, R_OK, out);
}

static bool
profiling_is(const struct run *run, const char *wish)
{
    return strcmp(run->options.value[SETTING_PROFILING], wish) == 0;
}

static bool
has_own_allocator(const struct run *run)
{
    const char *preload = environment_get(&run->database, "LD_PRELOAD");

    return run->allocators.count > 0 || run->allocators.other ||
           (preload && strstr(preload, "malloc"));
}

/* Whether the setting allocator permits a preload: a name other than auto means
 * a jemalloc that is loaded later, and a second one would be in its way. */
static bool
may_be_chosen(const struct run *run, const char *jemalloc)
{
    const char *wanted = run->options.value[SETTING_ALLOCATOR];

    return !*wanted || strcmp(wanted, "auto") == 0 ||
           strcmp(wanted, "mallctl") == 0 || strcmp(wanted, jemalloc) == 0 ||
           strcmp(wanted, strrchr(jemalloc, '/') + 1) == 0;
}

/* The jemalloc to preload: a path, which may be found's; NULL: none. */
static const char *
choose_jemalloc(const struct run *run, char found[PATH_MAX])
{
    const char *wish = run->options.value[SETTING_JEMALLOC];

    if (strcmp(wish, "no") == 0 || allocators_static(&run->allocators))
        return NULL;
    if (*wish && strcmp(wish, "auto") != 0) {
        if (run->allocators.count > 0 &&
            run->allocators.list[0].place == ALLOCATOR_OWN)
            say(run->exe, " has a jemalloc of its own: the one that is "
                          "preloaded takes over a part of what it allocates");
        return wish;
    }
    if (profiling_is(run, "off") || has_own_allocator(run))
        return NULL;
    if (find_jemalloc(found))
        return may_be_chosen(run, found) ? found : NULL;
    say("libjemalloc.so.2 is not installed",
        "; unless the database has jemalloc, there is nothing to profile");
    return NULL;
}

static void
warn_about(const struct run *run)
{
    if (allocators_static(&run->allocators))
        say(run->exe,
            " is static: the agent cannot be loaded into it, and nothing is "
            "set for its jemalloc; the agent can be linked to it, and started "
            "by heapwire_start() of heapwire.h");
    if (program_secure(run->exe))
        say(run->exe, " runs with more privileges than its caller: the loader "
                      "ignores LD_PRELOAD, so there will be no agent in it");
    allocators_warn(&run->allocators);
}

/* Finds the jemallocs; a setting that cannot be applied costs one line. */
static int
find_allocators(struct run *run, struct error *err)
{
    const char *given = run->options.value[SETTING_MALLCTL];
    const char *wanted = run->options.value[SETTING_ALLOCATOR];
    struct error why;

    if (allocators_find(&run->allocators, run->exe, &run->database, err) != 0)
        return -1;
    if (strchr(wanted, '/') &&
        allocators_name(&run->allocators, wanted, &why) != 0)
        say(why.text, "; it is looked for in the database alone");
    if (*given && allocators_give(&run->allocators, run->exe, given, &why) != 0)
        say(why.text, "; the setting mallctl is not heeded");
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

/* Sets what the agent needs, and removes settings for another database's agent,
 * if its script started us. */
static int
prepare_agent(struct run *run, struct environment *env, struct error *err)
{
    const struct options *options = &run->options;

    environment_drop_agents(env);
    if ((!allocators_static(&run->allocators) &&
         environment_preload(env, run->library, err) != 0) ||
        allocators_tell(&run->allocators, env, err) != 0 ||
        set_unless(env, AGENT_ENV_ALLOCATOR, options, SETTING_ALLOCATOR, "auto",
                   err) != 0 ||
        set_unless(env, AGENT_ENV_PROCESS, options, SETTING_PROCESS, "parent",
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

/* Whether the agent will be loaded, and can report main. */
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

static int
prepare_environments(struct run *run, struct error *err)
{
    struct environment *database = &run->database;
    struct allocators *allocators = &run->allocators;
    const char *jemalloc;

    if (find_allocators(run, err) != 0)
        return -1;
    jemalloc = choose_jemalloc(run, run->jemalloc);
    if (jemalloc &&
        allocators_add(allocators, jemalloc, ALLOCATOR_PRELOADED, err) != 0)
        return -1;
    warn_about(run);
    run->plan.prof =
        !profiling_is(run, "off") && allocators_profile(allocators);
    run->plan.jemalloc = jemalloc;
    plan_start(run);
    probe_filters(run->filters);
    if (prepare_agent(run, &run->plain, err) != 0 ||
        prepare_agent(run, database, err) != 0 ||
        (run->plan.prof &&
         allocators_prepare(allocators, profiling_is(run, "on"), database,
                            err) != 0) ||
        (jemalloc && environment_preload(database, jemalloc, err) != 0))
        return -1;
    run->plan.plain_envp = run->plain.list;
    return 0;
}

/* --explain: prints what would be done. */
static int
explain(struct run *run)
{
    struct error err;

    if (prepare_environments(run, &err) != 0) {
        say(err.text, "");
        return EX_OSERR;
    }
    printf("program     %s\n", run->exe);
    allocators_explain(&run->allocators, &run->database);
    return EX_OK;
}

/* The environment gives heapwired the period of its signs of life. */
static int
plan_heartbeat(struct run *run, struct error *err)
{
    uint64_t seconds =
        strtoull(run->options.value[SETTING_HEARTBEAT], NULL, 10);
    char text[24];

    run->plan.beat_ms = seconds * 1000 / BEATS_MISSED;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)run->plan.beat_ms);
    return environment_set(&run->heapwired, SUPERVISED_ENV, text, err);
}

/* heapwired has checked that the name exists. */
static uid_t
find_user(const char *name)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads here */
    struct passwd *entry = *name ? getpwnam(name) : NULL;

    return entry ? entry->pw_uid : (uid_t)-1;
}

/* Relays the database's messages to systemd. */
static int
plan_notify(struct run *run, struct error *err)
{
    const char *manager = environment_get(&run->database, NOTIFY_ENV);

    run->plan.notify = &run->notify;
    if (!manager || notify_relay_open(&run->notify, manager) != 0)
        return 0;
    return environment_set(&run->database, NOTIFY_ENV, run->notify.address,
                           err) != 0 ||
                   environment_set(&run->plain, NOTIFY_ENV, run->notify.address,
                                   err) != 0
               ? -1
               : 0;
}

static void
plan_heapwired(struct run *run)
{
    options_argv(&run->options, run->heapwired_path, NULL, run->heapwired_argv);
    run->plan.heapwired = run->heapwired_path;
    run->plan.heapwired_argv = (char *const *)run->heapwired_argv;
    run->plan.heapwired_envp = run->heapwired.list;
    run->plan.state_dir = run->options.value[SETTING_STATE_DIR];
    run->plan.user = find_user(run->options.value[SETTING_USER]);
    run->plan.linger_ms =
        strtoull(run->options.value[SETTING_LINGER], NULL, 10) * 1000;
}

/* Prints where to find it: the only line of a faultless start. */
static void
say_places(const struct run *run)
{
    char *const *value = run->options.value;
    const char *listen = value[SETTING_LISTEN];
    bool tcp = strcmp(listen, "none") != 0;

    fprintf(stderr, "heapwire-run: socket %s%s%s, log %s\n",
            value[SETTING_SOCKET],
            tcp ? ", port (for accounts with a password) " : "",
            tcp ? listen : "", value[SETTING_LOG]);
}

/* 0; or the exit status, before anything was started. */
static int
prepare(struct run *run, char **envp)
{
    static const char without[] = "; the database runs without heapwire";
    static const char refused[] = "; nothing was started";
    enum check_result checked = CHECK_BROKEN;
    struct error err = {0};
    int exit_status = EX_CONFIG;

    if (environment_init(&run->database, envp, &err) != 0 ||
        environment_init(&run->plain, envp, &err) != 0 ||
        environment_init(&run->heapwired, envp, &err) != 0) {
        say(err.text, "");
        return EX_OSERR;
    }
    environment_clean(&run->heapwired);
    environment_unset(&run->heapwired, NOTIFY_ENV);
    if (plan_notify(run, &err) != 0)
        say(err.text, "");
    if (find_parts(run, &err) == 0)
        checked = options_check(&run->options, run->heapwired_path,
                                run->heapwired.list, &err);
    if (checked == CHECK_REFUSED) {
        say("the configuration is wrong", refused);
        return EX_CONFIG;
    }
    if (checked == CHECK_BROKEN)
        say(err.text, without);
    if (find_database(run, &exit_status, &err) != 0) {
        say(err.text, refused);
        return exit_status;
    }
    if (run->options.explain)
        return checked == CHECK_GOOD ? 0 : EX_OSERR;
    run->plan.program = run->program;
    run->plan.argv = run->options.command;
    run->plan.exe = run->exe;
    if (checked == CHECK_GOOD) {
        if (state_dir_make(run->options.value[SETTING_STATE_DIR], &err) == 0 &&
            prepare_environments(run, &err) == 0 &&
            plan_heartbeat(run, &err) == 0) {
            plan_heapwired(run);
            say_places(run);
        } else {
            say(err.text, without);
        }
    }
    run->plan.envp = run->database.list;
    return 0;
}

/* ---- a database that runs already ---- */

/* heapwired runs as the database's user, which owns the state directory. */
static void
follow_user(struct run *run, const struct target *target)
{
    struct passwd *user;

    if (run->options.given[SETTING_USER] || target->uid == geteuid())
        return;
    user = getpwuid(target->uid); /* NOLINT: one thread */
    if (user)
        run->options.given[SETTING_USER] = run->user =
            mem_strdup(user->pw_name);
    else
        say("the database's user has no name here",
            ": name with --user one that may use its state directory");
}

/* The target's LD_PRELOAD; "": none, or it is unreadable. */
static void
read_preload(pid_t pid, char out[PATH_MAX])
{
    static const char name[] = "LD_PRELOAD=";
    struct buffer text;
    char path[32];

    out[0] = '\0';
    buffer_init(&text, ENVIRONMENT_MAX);
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    if (file_read_all(path, &text, NULL) == 0) {
        for (size_t at = 0; at < text.size; at += strlen(text.data + at) + 1) {
            if (strncmp(text.data + at, name, strlen(name)) == 0)
                snprintf(out, PATH_MAX, "%s", text.data + at + strlen(name));
        }
    }
    buffer_fini(&text);
}

/* The executable that it runs, even if its name now has another file. */
static int
find_running(struct run *run, const struct target *target, struct error *err)
{
    struct stat now, running;
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)target->pid);
    run->exe = mem_strdup(
        stat(target->exe, &now) == 0 && stat(path, &running) == 0 &&
                now.st_ino == running.st_ino && now.st_dev == running.st_dev
            ? target->exe
            : path);
    if (!run->exe)
        error_memory(err, path);
    return run->exe ? 0 : -1;
}

/* The agent's settings, which its environment would hold otherwise. */
static int
plan_settings(struct run *run, const struct target *target, struct buffer *out,
              struct error *err)
{
    static char *const nothing[] = {NULL};
    struct environment *env = &run->database;
    char preload[PATH_MAX];

    read_preload(target->pid, preload);
    if (environment_init(env, nothing, err) != 0 ||
        find_running(run, target, err) != 0 ||
        (*preload && environment_set(env, "LD_PRELOAD", preload, err) != 0) ||
        find_allocators(run, err) != 0 || prepare_agent(run, env, err) != 0)
        return -1;
    allocators_warn(&run->allocators);
    for (size_t i = 0; i < env->count; i++) {
        if (strncmp(env->list[i], AGENT_ENV_PREFIX, strlen(AGENT_ENV_PREFIX)) ==
            0)
            buffer_format(out, "%s\n", env->list[i]);
    }
    if (out->failed)
        error_set(err, ER_WRONG_VALUE, "the agent's settings are too long");
    return out->failed ? -1 : 0;
}

static int
refuse(const struct error *err)
{
    say(err->text, "; nothing was attached");
    return err->code == ER_UNKNOWN ? EX_TEMPFAIL : EX_CONFIG;
}

static int
plan_attached(struct run *run, struct attach *attach, struct buffer *settings,
              struct error *err)
{
    attach->plan = &run->plan;
    attach->library = run->library;
    if (plan_settings(run, &attach->target, settings, err) != 0 ||
        plan_heartbeat(run, err) != 0 ||
        environment_set(&run->heapwired, SUPERVISED_ATTACHED, "1", err) != 0)
        return -1;
    attach->settings = settings->data;
    plan_heapwired(run);
    return 0;
}

static int
run_attached(struct run *run, char **envp)
{
    const struct options *options = &run->options;
    struct attach attach = {.pidfd = -1};
    enum check_result checked;
    struct buffer settings;
    struct error err = {0};
    int rc;

    buffer_init(&settings, AGENT_SETTINGS_MAX);
    if (environment_init(&run->heapwired, envp, &err) != 0 ||
        find_parts(run, &err) != 0 ||
        target_check(&attach.target, (pid_t)options->attach, options->force,
                     &err) != 0)
        return refuse(&err);
    environment_clean(&run->heapwired);
    follow_user(run, &attach.target);
    checked = options_check(&run->options, run->heapwired_path,
                            run->heapwired.list, &err);
    if (checked == CHECK_REFUSED)
        error_set(&err, ER_WRONG_VALUE, "the configuration is wrong");
    rc = checked == CHECK_GOOD ? plan_attached(run, &attach, &settings, &err)
                               : -1;
    if (rc == 0 && options->dry_run)
        rc = attach_try(&attach, &err);
    else if (rc == 0 && (rc = state_dir_make(run->plan.state_dir, &err)) == 0)
        rc = attach_start(&attach, &err);
    if (rc != 0) {
        rc = refuse(&err);
    } else if (!options->dry_run) {
        say_places(run);
        rc = attach_stay(&attach);
    }
    buffer_fini(&settings);
    return rc;
}

int
main(int argc, char **argv, char **envp)
{
    struct run run = {.start.fd = -1, .notify.fd = -1};
    enum options_result parsed = options_parse(&run.options, argc, argv);
    int status;

    if (parsed != OPTIONS_RUN)
        return parsed == OPTIONS_DONE ? EX_OK : EX_USAGE;
    status =
        run.options.attach ? run_attached(&run, envp) : prepare(&run, envp);
    if (status == 0 && !run.options.attach)
        status = run.options.explain ? explain(&run) : supervise(&run.plan);
    allocators_fini(&run.allocators);
    mem_free(run.user);
    mem_free(run.program);
    mem_free(run.exe);
    environment_fini(&run.database);
    environment_fini(&run.plain);
    start_watch_close(&run.start);
    notify_relay_close(&run.notify);
    environment_fini(&run.heapwired);
    options_fini(&run.options);
    return status;
}
